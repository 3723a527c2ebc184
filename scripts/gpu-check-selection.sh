#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The selection benchmark on a real GPU, from the folder that `gpu-check.sh --stage` made: tunes the problems of
# shapes/selection.csv offline (normal twice, fast once), each into a cache of its own, then judges the choices against an
# exhaustive search. What was done is kept in --state FOLDER, and the same command goes on there; results go to $OUT.
#   --state FOLDER  default: selection-state in $OUT; give one that outlives the machine, to go on later
#   --seconds N     begin nothing after so many seconds (default 500)
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here
[ -x "$here/bin/cudnn-tune" ] || root=$(cd "$here/.." && pwd)
programs=$here/bin
[ -x "$programs/cudnn-tune" ] || programs=$root/build/bin
OUT=${OUT:-out}
mkdir -p "$OUT" && OUT=$(cd "$OUT" && pwd)
state=$OUT/selection-state
seconds=500
while [ $# -gt 0 ]; do
    case $1 in
        --state) state=$2 && shift ;;
        --seconds) seconds=$2 && shift ;;
        *) echo "gpu-check-selection.sh: no option is called $1" >&2 && exit 2 ;;
    esac
    shift
done
mkdir -p "$state"
unset LD_PRELOAD
for name in $(compgen -e CUDNN_TUNE_); do [ "$name" = CUDNN_TUNE_SIM_SCRIPT ] || unset "$name"; done
cudnn=${CUDNN:-$(python3 -c 'import nvidia.cudnn as m; print(list(m.__path__)[0] + "/lib/libcudnn.so.9")' 2>/dev/null)}
cudnn=${cudnn:-libcudnn.so.9}
for folder in "$(dirname "$cudnn")"/ "$(dirname "$cudnn")"/../../*/lib; do
    [ ! -d "$folder" ] || LD_LIBRARY_PATH=$(cd "$folder" && pwd)${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
done
export LD_LIBRARY_PATH
shapes=$root/benchmarks/shapes/selection.csv
left() { echo $((seconds - SECONDS)); }
status=0
for run in normal1 normal2 fast; do
    [ "$(left)" -gt 5 ] || break
    # The budget that a job has, not the larger one of offline tuning: that is what is judged.
    budget=2
    [ $run != fast ] || budget=0.5
    CUDNN_TUNE_LOG=debug "$programs/cudnn-tune" tune --shapes "$shapes" --effort "${run%[12]}" --cache "$state/$run.jsonl" --cudnn "$cudnn" \
        --budget $budget --time-limit "$(left)" >"$OUT/tune-$run.out" 2>&1 || status=$?
    sed "s/^/$run: /" "$OUT/tune-$run.out" | head -n 6
done
[ "$(left)" -gt 5 ] && { "$programs/selection" "$shapes" --cudnn "$cudnn" --out "$state/selection.csv" --time-limit "$(left)" \
    --cache "normal1=$state/normal1.jsonl" --cache "normal2=$state/normal2.jsonl" --cache "fast=$state/fast.jsonl" || status=$?; }
python3 "$root/benchmarks/selection/selection_report.py" "$state/selection.csv" --plot "$OUT/selection.svg" |
    tee "$OUT/selection.txt"
cp "$state/selection.csv" "$OUT/selection.csv"
exit $status
