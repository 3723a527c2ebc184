/* SPDX-License-Identifier: Apache-2.0 */
/**
 * \file
 * Talks to the cudnn-tune library that is preloaded into this process, if there is one.
 *
 * Nothing has to be linked (but compilers other than GCC must make position-independent code, as they do by default):
 * the functions are weak, and null in a process without the library. Call the `cudnn_tune_try_…` functions below, which
 * do nothing then, or compare a function with NULL before it is called. (From other languages: look the names up in the
 * process, for example `ctypes.CDLL(None)` in Python.)
 *
 * All functions may be called from any thread at any time, also in a process that never uses cuDNN; none of them loads
 * anything, ends the process, or writes to standard output.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "version.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef CUDNN_TUNE_IMPLEMENTATION /* only the library itself */
#define CUDNN_TUNE_API __attribute__((visibility("default")))
/* Called through the global offset table, since a direct call of what may be missing cannot be linked everywhere. */
#elif defined(__GNUC__) && !defined(__clang__)
#define CUDNN_TUNE_API __attribute__((weak, noplt))
#else
#define CUDNN_TUNE_API __attribute__((weak))
#endif

/** What the library did in this process since it started. Counters only grow. */
typedef struct cudnn_tune_statistics {
    int64_t asked;              /**< questions "which algorithm?" that the library saw */
    int64_t hits;               /**< answered from the cache file, or from what this process had chosen before */
    int64_t measured;           /**< problems that were measured */
    int64_t candidates;         /**< algorithms and engine configurations that ran at least once for that */
    int64_t forwarded;          /**< left to cuDNN, whatever the reason */
    int64_t not_stored;         /**< measured, but could not be written to the cache file */
    int64_t choosing_ns;        /**< nanoseconds spent in questions that were not plain hits */
    int64_t measuring_ns;       /**< of that, measuring */
    int64_t compilations;       /**< run-time compilations that cuDNN asked for */
    int64_t compilations_saved; /**< of those, answered from kept ones */
} cudnn_tune_statistics;

/** The version of the library that is loaded, for example "0.1.0". The text is the library's: never free it. */
CUDNN_TUNE_API const char* cudnn_tune_version(void);

/**
 * Copies the counters to `*statistics`, which belongs to the caller. `size_bytes` is sizeof(cudnn_tune_statistics): of
 * an older or newer structure the members are filled that both know, and the rest is set to 0.
 * Returns 0; 1 if nothing is tuned in this process (yet): CUDNN_TUNE_CACHE is not set, or cuDNN was not used, and all
 * counters are 0; -1 if `statistics` is null.
 */
CUDNN_TUNE_API int cudnn_tune_get_statistics(cudnn_tune_statistics* statistics, size_t size_bytes);

/**
 * From now on every question goes to cuDNN as if the library were absent: nothing is looked up and nothing measured, in
 * all threads. Measurements that are under way go on. What was answered before stays valid. Calls nest: each needs a
 * cudnn_tune_resume(). Use it around parts of a program that must not be held up, or whose algorithms must not change.
 */
CUDNN_TUNE_API void cudnn_tune_pause(void);

/** Takes one cudnn_tune_pause() back; does nothing if there is none. */
CUDNN_TUNE_API void cudnn_tune_resume(void);

/**
 * Writes out what is otherwise written when the process ends: the counters. (Measurements need no flush; each is in the
 * cache file before the call that measured returns.) For programs that end without running exit handlers.
 * Returns 0, or 1 if nothing is tuned in this process (yet).
 */
CUDNN_TUNE_API int cudnn_tune_flush(void);

#ifndef CUDNN_TUNE_IMPLEMENTATION

/** Like the function of that name; NULL without the library. */
static inline const char* cudnn_tune_try_version(void) {
    return cudnn_tune_version != NULL ? cudnn_tune_version() : (const char*)NULL;
}

/** Like the function of that name. Without the library: returns 1, and all counters are 0. */
static inline int cudnn_tune_try_get_statistics(cudnn_tune_statistics* statistics) {
    const cudnn_tune_statistics none = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    if (cudnn_tune_get_statistics != NULL) {
        return cudnn_tune_get_statistics(statistics, sizeof *statistics);
    }
    if (statistics == NULL) {
        return -1;
    }
    *statistics = none;
    return 1;
}

/** Like the function of that name; does nothing without the library. */
static inline void cudnn_tune_try_pause(void) {
    if (cudnn_tune_pause != NULL) {
        cudnn_tune_pause();
    }
}

/** Like the function of that name; does nothing without the library. */
static inline void cudnn_tune_try_resume(void) {
    if (cudnn_tune_resume != NULL) {
        cudnn_tune_resume();
    }
}

/** Like the function of that name; returns 1 without the library. */
static inline int cudnn_tune_try_flush(void) { return cudnn_tune_flush != NULL ? cudnn_tune_flush() : 1; }

#endif

#ifdef __cplusplus
}
#endif
