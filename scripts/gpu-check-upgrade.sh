#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks on a real GPU what the policy `upgrade` does for programs of cuDNN's legacy API: their speed, how exact results
# are, and that training goes the same way. Ends with a table; logs go to $OUT (default: out).
#   --parts "A B"   only these of: client torch fused loss
#   --every N       of the problems of models.csv, one in so many (default 8)
#   --first N       after so many that are left out (default 0): others than those of another run
#   --simulated     the part client on the simulated libraries: a test of this script, no figures
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here
[ -x "$here/bin/cudnn-tune" ] || root=$(cd "$here/.." && pwd)
programs=$here/bin
[ -x "$programs/cudnn-tune" ] || programs=$root/build/bin
benchmarks=$root/benchmarks
parts="client torch fused loss"
every=8
first=0
mode=real
burst=20
rounds=9
while [ $# -gt 0 ]; do
    case $1 in
        --parts) parts=$2 && shift ;;
        --every) every=$2 && shift ;;
        --first) first=$2 && shift ;;
        --simulated) mode=simulated && parts=client ;;
        *) echo "gpu-check-upgrade.sh: no option is called $1" >&2 && exit 2 ;;
    esac
    shift
done
OUT=${OUT:-out}
mkdir -p "$OUT" && OUT=$(cd "$OUT" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LD_PRELOAD
for name in $(compgen -e CUDNN_TUNE_); do [ "$name" = CUDNN_TUNE_SIM_SCRIPT ] || unset "$name"; done
if [ $mode = simulated ]; then
    libraries=$root/build/sim/v9:$root/build/sim/cuda
    burst=1
    rounds=2
    echo "SIMULATED GPU and cuDNN: no figure below says anything about a GPU"
else
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || exit 1
    libraries=$(python3 -c 'import nvidia.cudnn as m; print(list(m.__path__)[0] + "/lib")' 2>/dev/null)
    for folder in "$libraries"/../../*/lib; do [ ! -d "$folder" ] || libraries=$libraries:$(cd "$folder" && pwd); done
fi
export CUDNN_TUNE_LOG=info CUDNN_TUNE_BUDGET=${GPU_CHECK_BUDGET:-2,120}
echo '{"upgrade": true}' >"$work/upgrade.json"
started=$SECONDS
failures=0

# run NAME LIMIT_S COMMAND...: output into $OUT/upgrade-NAME.out and .err.
run() {
    local name=$1 limit=$2 begun=$SECONDS status=0
    shift 2
    timeout --kill-after=10 "$limit" "$@" >"$OUT/upgrade-$name.out" 2>"$OUT/upgrade-$name.err" </dev/null || status=$?
    [ $status -eq 0 ] || failures=$((failures + 1))
    printf '%-24s status %d, %d s  %s\n' "$name" $status $((SECONDS - begun)) \
        "$(sed -n 's/^cudnn-tune: summary //p' "$OUT/upgrade-$name.err" | tail -n 1 | cut -c 1-150)"
    [ $status -eq 0 ] || tail -n 2 "$OUT/upgrade-$name.err"
}
wants() { [[ " $parts " == *" $1 "* ]]; }
with_libraries() { LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"; }
upgraded() { CUDNN_TUNE_POLICY=$work/upgrade.json "$@"; }
tool=("$programs/cudnn-tune" run --cache)

if wants client; then
    client=("$programs/legacy_client" "$benchmarks/shapes/models.csv" --every "$every" --first "$first" --mixed-precision
        --burst "$burst")
    cache=$work/client.jsonl
    # The best legacy algorithm of each problem, then the configurations in the same entries: each with a budget of its own.
    with_libraries run legacy-cold 100 "${tool[@]}" "$cache" -- "${client[@]}"
    with_libraries upgraded run upgrade-cold 200 "${tool[@]}" "$cache" -- "${client[@]}" --new-handle
    # With values whose sums are exact, so that only another kernel can give another result.
    with_libraries upgraded run upgrade-warm 60 "${tool[@]}" "$cache" -- "${client[@]}" --repeat 1
    with_libraries run legacy-checked 60 "${tool[@]}" "$cache" -- "${client[@]}" --check 64
    with_libraries upgraded run upgrade-checked 60 "${tool[@]}" "$cache" -- "${client[@]}" --check 64
    # The same kernel takes up to a quarter more in one process than in another: both sides of a ratio are of one process.
    for turn in 1 2 3; do
        with_libraries upgraded run paired-$turn 150 "${tool[@]}" "$cache" -- "${client[@]}" --against-own "$rounds"
    done
    # What the named algorithms do by themselves.
    with_libraries run named 60 "${client[@]}" --check 64 --answers "$OUT/upgrade-upgrade-checked.out"
    cp "$cache" "$OUT/upgrade-client.jsonl"
fi
if wants torch; then
    for model in resnet50 mobilenet_v2; do
        step=(--model $model --amp --channels-last --batch 64 --steps 10)
        graph=(python3 "$benchmarks/torch_models.py" "${step[@]}")
        legacy=(python3 "$benchmarks/torch_legacy.py" "${step[@]}")
        run $model-graph-cold 120 "${tool[@]}" "$work/$model-graph.jsonl" -- "${graph[@]}" --no-profile
        upgraded run $model-upgrade-cold 150 "${tool[@]}" "$work/$model.jsonl" -- "${legacy[@]}" --no-profile
        for turn in 1 2; do
            run $model-graph-$turn 40 "${tool[@]}" "$work/$model-graph.jsonl" -- "${graph[@]}"
            upgraded run $model-upgrade-$turn 40 "${tool[@]}" "$work/$model.jsonl" -- "${legacy[@]}"
        done
        run $model-legacy 40 "${tool[@]}" "$work/$model.jsonl" -- "${legacy[@]}"
        run $model-plain 40 "${legacy[@]}"
        cp "$work/$model.jsonl" "$OUT/upgrade-$model.jsonl"
        cp "$work/$model-graph.jsonl" "$OUT/upgrade-$model-graph.jsonl"
    done
fi
if wants fused; then
    fused=(python3 "$benchmarks/torch_fused.py")
    run fused-plain 60 "${fused[@]}"
    for turn in cold warm; do
        upgraded run fused-$turn 60 "${tool[@]}" "$work/fused.jsonl" -- "${fused[@]}"
    done
    tail -qn 1 "$OUT"/upgrade-fused-*.out
fi
if wants loss; then
    # Runs whose arithmetic differs as it does without this library, or that begin a hair apart; and one with plans.
    training=(python3 "$benchmarks/torch_legacy.py" --model resnet50 --batch 32 --steps 1 --no-profile --loss-curve 200)
    run loss-default 60 "${training[@]}"
    run loss-benchmark 60 "${training[@]}" --benchmark
    run loss-graph 60 env -u TORCH_CUDNN_V8_API_DISABLED python3 "$benchmarks/torch_models.py" "${training[@]:2}"
    for nudge in 1 2 3; do
        run loss-nudge-$nudge 60 "${training[@]}" --nudge $nudge
    done
    upgraded run loss-upgrade 150 "${tool[@]}" "$work/loss.jsonl" -- "${training[@]}"
    upgraded run loss-upgrade-again 60 "${tool[@]}" "$work/loss.jsonl" -- "${training[@]}"
fi
python3 "$here/upgrade_report.py" "$OUT" | tee "$OUT/upgrade-tables.txt"
echo "$failures runs failed, $((SECONDS - started)) s"
[ $failures -eq 0 ]
