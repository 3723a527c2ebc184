#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The storage tests with as many rounds as take minutes: 200 of killing writers and compactions, 1,000 forks, long
# races. What it printed on one machine is in tests/storage/README.md.
#   --fuzz N   afterwards fuzz each target for N seconds (scripts/fuzz.sh)
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"

fuzz_seconds=
while [ $# -gt 0 ]; do
    case $1 in
        --fuzz)
            [ $# -gt 1 ] || fail "--fuzz needs a number of seconds" 2
            fuzz_seconds=$2
            shift
            ;;
        -h | --help)
            sed -n '3,5s/^# //p' "$0"
            exit 0
            ;;
        *) fail "no option is called $1; --help lists them" 2 ;;
    esac
    shift
done

"$root/scripts/install-deps.sh"
clean_environment
build_tree "$root/build" "storage_test"
step "Soaking"
STORAGE_SOAK=1 "$root/build/tests/storage/storage_test" --gtest_color=no
[ -z "$fuzz_seconds" ] || "$root/scripts/fuzz.sh" --seconds "$fuzz_seconds"
