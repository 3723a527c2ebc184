/* SPDX-License-Identifier: Apache-2.0 */
/* A program that may or may not run with cudnn-tune in front of it. It keeps the part that must not be held up free of
 * measuring, and says at the end what was tuned. */
#include <cudnn_tune/cudnn_tune.h>
#include <stdio.h>

static void warm_up(void) { /* convolutions of the usual shapes: those that are missing from the cache are measured */
}

static void answer_requests(void) { /* a new shape here gets cuDNN's own choice at once */
}

int main(void) {
    const char* version = cudnn_tune_try_version();
    if (version == NULL) {
        printf("running without cudnn-tune\n");
    } else {
        printf("running with cudnn-tune %s\n", version);
    }

    warm_up();
    cudnn_tune_try_pause();
    answer_requests();
    cudnn_tune_try_resume();

    cudnn_tune_statistics statistics;
    if (cudnn_tune_try_get_statistics(&statistics) == 0) {
        printf("%lld of %lld questions were answered from the cache, %lld problems were measured in %.1f s\n",
               (long long)statistics.hits, (long long)statistics.asked, (long long)statistics.measured,
               (double)statistics.measuring_ns / 1e9);
    } else {
        printf("nothing was tuned\n");
    }
    cudnn_tune_try_flush();
    return 0;
}
