#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the fuzz targets of tests/fuzz with libFuzzer, AddressSanitizer and UBSan, one after the other.
#   --seconds N   each for so long (default 600)
#   TARGET ...    only these
# What it finds is left in build-fuzz/found; a file there goes to tests/fuzz/corpus/TARGET with the fix.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"

seconds=600
targets=()
while [ $# -gt 0 ]; do
    case $1 in
        --seconds)
            [ $# -gt 1 ] || fail "--seconds needs a number" 2
            seconds=$2
            shift
            ;;
        -h | --help)
            sed -n '3,6s/^# //p' "$0"
            exit 0
            ;;
        -*) fail "no option is called $1; --help lists them" 2 ;;
        *) targets+=("$1") ;;
    esac
    shift
done
[ ${#targets[@]} -gt 0 ] || targets=(index journal key_texts lines policy record record_writer)

# Clang before 15 does not understand the ranges of libstdc++.
compiler=${CXX:-clang++-16}
command -v "$compiler" >/dev/null ||
    fail "fuzzing needs clang 15 or later with libFuzzer, in CXX or as clang++-16 (packages clang-16, libclang-rt-16-dev)"
clean_environment
build_tree "$root/build-fuzz" "${targets[*]/#/fuzz_}" -DCMAKE_CXX_COMPILER="$compiler" -DCUDNN_TUNE_FUZZ=ON \
    -DCUDNN_TUNE_BENCHMARKS=OFF

export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
mkdir -p "$root/build-fuzz/found"
failed=()
for target in "${targets[@]}"; do
    step "Fuzzing: $target, $seconds s"
    grown=$root/build-fuzz/corpus/$target
    mkdir -p "$grown"
    "$root/build-fuzz/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
        -verbosity=0 -artifact_prefix="$root/build-fuzz/found/$target-" "$grown" "$root/tests/fuzz/corpus/$target" 2>&1 |
        tail -n 20 || failed+=("$target")
done
if [ ${#failed[@]} -gt 0 ]; then
    printf 'FAILED: %s\n' "${failed[@]}"
    exit 1
fi
