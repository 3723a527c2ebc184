#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints what preloading costs a program that has nothing to do with cuDNN, and runs the micro-benchmarks. No GPU needed.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"
clean_environment

"$root/scripts/install-deps.sh"
build_tree "$root/build" all

step "Start-up, without and with the library (medians of interleaved runs)"
python3 - "$root/build/lib/libcudnn_tune.so" "$(mktemp -u)" <<'PYTHON'
import os
import statistics
import subprocess
import sys
import time

shim, cache = sys.argv[1:]
plain = dict(os.environ)
preloaded = dict(plain, LD_PRELOAD=shim, CUDNN_TUNE_CACHE=cache)
print(f"{'program':24}{'without':>12}{'with':>12}{'added':>12}{'ratio':>8}{'runs':>6}")
for command, count in ((["sh", "-c", ":"], 400), (["gcc", "--version"], 300), (["python3", "-c", "pass"], 150)):
    times = ([], [])
    for i in range(count + 5):
        for which in (0, 1) if i % 2 == 0 else (1, 0):
            start = time.perf_counter()
            subprocess.run(command, env=(plain, preloaded)[which], stdout=subprocess.DEVNULL, check=True)
            if i >= 5:  # the first ones fill the page cache
                times[which].append(time.perf_counter() - start)
    without, with_library = (1e6 * statistics.median(series) for series in times)
    print(f"{' '.join(command):24}{without:9.0f} us{with_library:9.0f} us{with_library - without:9.1f} us"
          f"{with_library / without:8.3f}{count:6}")
PYTHON

if [ -x "$root/build/bin/variant_pack" ]; then
    step "A variant pack created, filled, finalized and destroyed, without and with the library"
    cudnn=$(find_cudnn_folder)
    for ((i = 0; i < 5; i++)); do
        without=$(LD_LIBRARY_PATH=$cudnn "$root/build/bin/variant_pack")
        with=$(LD_LIBRARY_PATH=$cudnn LD_PRELOAD=$root/build/lib/libcudnn_tune.so CUDNN_TUNE_CACHE=$(mktemp -u) \
            "$root/build/bin/variant_pack")
        awk -v a="$without" -v b="$with" 'BEGIN { printf "%.1f ns, %.1f ns: %.3f\n", a, b, b / a }'
    done
fi

if [ -x "$root/build/bin/micro" ]; then
    step "Micro-benchmarks"
    cudnn=$(find_cudnn_folder)
    LD_LIBRARY_PATH=$cudnn${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$root/build/bin/micro" "$@"
fi
