#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The selection benchmark on a real GPU, from the folder that `gpu-check.sh --stage` made: tunes the problems of
# shapes/selection.csv offline (normal twice, fast once), each into a cache of its own, then judges the choices against an
# exhaustive search. What was done is kept in --state FOLDER, and the same command goes on there; results go to $OUT.
#   --state FOLDER  default: selection-state in $OUT; give one that outlives the machine, to go on later
#   --seconds N     begin nothing after so many seconds (default 500)
#   --in-program    also as a program measures them, without cuDNN's second list, and then completed by `cudnn-tune tune`
#   --more          then tune the problems with twice the batch, beside the entries of the others and without them (what
#                   near entries save), and check the outputs of every candidate (policy `verify: all`: false alarms)
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
more=no
in_program=no
while [ $# -gt 0 ]; do
    case $1 in
        --state) state=$2 && shift ;;
        --seconds) seconds=$2 && shift ;;
        --more) more=yes ;;
        --in-program) in_program=yes ;;
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
# tune RUN EFFORT SHAPES: into the cache of that name, with the budget that a job has, not the larger one of offline tuning.
tune() {
    local budget=2
    [ "$2" != fast ] || budget=0.5
    [ "$(left)" -gt 5 ] || return 0
    CUDNN_TUNE_LOG=debug "$programs/cudnn-tune" tune --shapes "$3" --effort "$2" --cache "$state/$1.jsonl" \
        --cudnn "$cudnn" --budget $budget --time-limit "$(left)" >"$OUT/tune-$1.out" 2>&1 || status=$?
    grep -v "listing took" "$OUT/tune-$1.out" | sed "s/^/$1: /" | head -n 6
}
for run in normal1 normal2 fast; do
    tune $run "${run%[12]}" "$shapes"
done
choices=()
for run in normal1 normal2 fast; do choices+=(--cache "$run=$state/$run.jsonl"); done
if [ $in_program = yes ] && [ "$(left)" -gt 5 ]; then
    shim=$(dirname "$programs")/lib/libcudnn_tune.so
    for run in program1 program2; do
        # The problems of the tuned file, asked in a process that does not ask for the second list.
        python3 -c 'import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
    entry = json.loads(line)
    if entry.get("rev") == 1:
        print(entry["problem"], entry["api"], sep="\t")' "$state/normal1.jsonl" |
            LD_PRELOAD=$shim CUDNN_TUNE_CACHE=$state/$run.jsonl CUDNN_TUNE_BUDGET=2,100000 timeout "$(left)" \
                "$programs/cudnn-tune-replay" --cudnn "$cudnn" >"$OUT/$run.out" 2>&1 || status=$?
        completed=completed${run#program}
        cp "$state/$run.jsonl" "$state/$completed.jsonl"
        "$programs/cudnn-tune" tune --cache "$state/$completed.jsonl" --cudnn "$cudnn" --budget 2 --time-limit "$(left)" \
            >"$OUT/$completed.out" 2>&1 || status=$?
        choices+=(--cache "$run=$state/$run.jsonl" --cache "$completed=$state/$completed.jsonl")
    done
fi
[ "$(left)" -gt 5 ] && { "$programs/selection" "$shapes" --cudnn "$cudnn" --out "$state/selection.csv" --time-limit "$(left)" \
    "${choices[@]}" || status=$?; }
if [ $more = yes ]; then
    python3 - "$shapes" >"$state/doubled.csv" <<'EOF'
import csv, sys
rows = csv.DictReader(open(sys.argv[1], newline="", encoding="utf-8"))
out = csv.DictWriter(sys.stdout, rows.fieldnames)
out.writeheader()
for row in rows:
    out.writerow({**row, "id": row["id"] + "-doubled", "N": 2 * int(row["N"] or 1)})
EOF
    for effort in fast normal; do
        cp "$state/normal1.jsonl" "$state/near-$effort.jsonl"
        tune alone-$effort $effort "$state/doubled.csv"
        tune near-$effort $effort "$state/doubled.csv"
    done
    echo '{"verify": "all"}' >"$state/verify.json"
    CUDNN_TUNE_POLICY=$state/verify.json tune verified normal "$shapes"
    echo "verified: $(grep -c 'is wrong and not served' "$OUT/tune-verified.out") candidates called wrong"
fi
python3 "$root/benchmarks/selection/selection_report.py" "$state/selection.csv" --plot "$OUT/selection.svg" |
    tee "$OUT/selection.txt"
cp "$state/selection.csv" "$OUT/selection.csv" 2>/dev/null
exit $status
