#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds in build/ and runs all tests. Options add to that:
#   --sanitize         in-process tests with AddressSanitizer and UBSan (build-asan/), and with ThreadSanitizer (build-tsan/)
#   --coverage         line coverage of cache, key and select by the unit tests (build-coverage/); below 95 % fails
#   --tidy             clang-tidy over src/
#   --browser          installs Chromium, without which the test of the report's page is skipped
#   --cudnn VERSION    tests/real with another cuDNN from Python's package registry (build/cudnn-VERSION)
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"

sanitize=false
coverage=false
tidy=false
browser=false
cudnn_versions=()
while [ $# -gt 0 ]; do
    case $1 in
        --sanitize) sanitize=true ;;
        --coverage) coverage=true ;;
        --tidy) tidy=true ;;
        --browser) browser=true ;;
        --cudnn)
            [ $# -gt 1 ] || fail "--cudnn needs a version" 2
            cudnn_versions+=("$2")
            shift
            ;;
        -h | --help)
            sed -n '3,9s/^# //p' "$0"
            exit 0
            ;;
        *) fail "no option is called $1; --help lists them" 2 ;;
    esac
    shift
done

packages=()
! $coverage || packages+=(gcovr)
! $tidy || packages+=(clang-tidy)
! $browser || packages+=(chromium)
[ ${#cudnn_versions[@]} -eq 0 ] || packages+=(python3-pip)
"$root/scripts/install-deps.sh" ${packages[@]+"${packages[@]}"}
clean_environment

failed=()
summaries=()

# A tests' run that fails does not keep the others from running. run_tests NAME FOLDER [CTEST-ARGUMENT...]
run_tests() {
    local name=$1 folder=$2
    shift 2
    step "Testing: $name"
    "${launcher[@]}" ctest --test-dir "$folder" --output-on-failure --no-tests=error --timeout 900 \
        --parallel "$(nproc)" "$@" 2>&1 | tee "$folder/ctest.log" || failed+=("$name")
    summaries+=("$name: $(grep -E 'tests passed|No tests' "$folder/ctest.log" | tail -n 1)")
}

build_tree "$root/build" all
run_tests "all tests" "$root/build"

for version in ${cudnn_versions[@]+"${cudnn_versions[@]}"}; do
    "$root/scripts/fetch-cudnn.sh" "$version" "$root/build/cudnn-$version"
    CUDNN_ROOT=$root/build/cudnn-$version run_tests "cuDNN $version" "$root/build" -L real
done

if $sanitize; then
    # ThreadSanitizer of GCC 12 cannot place its memory where newer kernels' randomised addresses leave it no room.
    ! setarch -R true 2>/dev/null || launcher=(setarch -R)
    in_process="tests/unit/all tests/storage/all tests/fuzz/all"
    # Optimised, instrumented code takes three times as long to compile, and hides what is optimised away.
    unoptimised=(-DCMAKE_BUILD_TYPE=Debug -DCUDNN_TUNE_BENCHMARKS=OFF)
    build_tree "$root/build-asan" "$in_process" -DCUDNN_TUNE_SANITIZE=address,undefined "${unoptimised[@]}"
    for folder in unit storage fuzz; do
        UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
            run_tests "AddressSanitizer and UBSan, $folder tests" "$root/build-asan/tests/$folder"
    done
    build_tree "$root/build-tsan" "$in_process" -DCUDNN_TUNE_SANITIZE=thread "${unoptimised[@]}"
    for folder in unit storage fuzz; do
        run_tests "ThreadSanitizer, $folder tests" "$root/build-tsan/tests/$folder"
    done
    launcher=(env)
fi

if $coverage; then
    build_tree "$root/build-coverage" tests/unit/all -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=--coverage \
        -DCUDNN_TUNE_BENCHMARKS=OFF
    find "$root/build-coverage" -name '*.gcda' -delete
    run_tests "coverage, unit tests" "$root/build-coverage/tests/unit"
    step "Line coverage"
    gcovr --root "$root" --exclude-throw-branches --filter "$root/src/(cache|key|select)/" --fail-under-line 95 \
        "$root/build-coverage" || failed+=("coverage")
fi

if $tidy; then
    step "clang-tidy"
    find "$root/src" -name '*.cpp' ! -name 'check_*.cpp' -print0 |
        xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "$root/build" --quiet || failed+=("clang-tidy")
fi

if [ ${#summaries[@]} -gt 1 ] || [ ${#failed[@]} -gt 0 ]; then
    step "Summary"
    printf '%s\n' "${summaries[@]}"
fi
if [ ${#failed[@]} -gt 0 ]; then
    printf 'FAILED: %s\n' "${failed[@]}"
    exit 1
fi
