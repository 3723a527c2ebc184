#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the graph API and the store of compiled kernels on a real GPU with PyTorch and JAX, from the folder that
# `gpu-check.sh --stage` made. Runs with the library alternate with runs without; ends with a table; logs go to $OUT.
#   --parts "A B"   only these of: start where compile damage attention models matrix safety jax
#   --repeat N      runs of each kind for the parts start, where, compile, models and safety (default 5)
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here
[ -x "$here/bin/cudnn-tune" ] || root=$(cd "$here/.." && pwd)
programs=$here/bin
[ -x "$programs/cudnn-tune" ] || programs=$root/build/bin
benchmarks=$root/benchmarks
parts="start where compile damage attention models matrix safety jax"
repeat=5
while [ $# -gt 0 ]; do
    case $1 in
        --parts) parts=$2 && shift ;;
        --repeat) repeat=$2 && shift ;;
        *) echo "gpu-check-graph.sh: no option is called $1" >&2 && exit 2 ;;
    esac
    shift
done
OUT=${OUT:-out}
mkdir -p "$OUT" && OUT=$(cd "$OUT" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LD_PRELOAD
for name in $(compgen -e CUDNN_TUNE_); do unset "$name"; done
log=$OUT/graph.jsonl
: >"$log"
failures=0

# run LABEL LIMIT_S COMMAND...: the last line of JSON goes into the log with the label, and with the library's summary.
run() {
    local label=$1 limit=$2 status=0
    shift 2
    timeout --kill-after=10 "$limit" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
    cat "$work/out" >>"$OUT/graph.out"
    sed "s/^/$label: /" "$work/err" >>"$OUT/graph.err"
    [ $status -eq 0 ] || { failures=$((failures + 1)) && echo "$label: FAILED with status $status: $(tail -n 1 "$work/err" | cut -c 1-150)"; }
    grep '^{' "$work/out" | while IFS= read -r line; do
        printf '{"label": "%s", "status": %d, "summary": "%s", "report": %s}\n' "$label" $status \
            "$(sed -n 's/^cudnn-tune: summary //p' "$work/err" | tail -n 1)" "$line" >>"$log"
    done
}
wants() { [[ " $parts " == *" $1 "* ]]; }
step() { echo "== $1 ($((SECONDS - started)) s)"; }
started=$SECONDS
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || exit 1
tool=("$programs/cudnn-tune" run --cache)
export CUDNN_TUNE_LOG=info CUDNN_TUNE_BUDGET=5,600
echo '{"results": "best"}' >"$work/best.json"

if wants start; then
    step "First step of ResNet-50, AMP, channels-last, batch 64"
    model=(python3 "$benchmarks/torch_models.py" --model resnet50 --amp --channels-last --batch 64 --steps 10)
    run start-page-cache 120 "${model[@]}" --benchmark
    run start-cold 120 "${tool[@]}" "$work/start.jsonl" -- "${model[@]}"
    for ((i = 0; i < repeat; i++)); do
        run start-default-plain 60 "${model[@]}"
        run start-default-warm 60 "${tool[@]}" "$work/start.jsonl" -- "${model[@]}"
        run start-benchmark-plain 60 "${model[@]}" --benchmark
        run start-benchmark-warm 60 "${tool[@]}" "$work/start.jsonl" -- "${model[@]}" --benchmark
        CUDNN_TUNE_POLICY=$work/best.json run start-benchmark-best 60 "${tool[@]}" "$work/start.jsonl" -- \
            "${model[@]}" --benchmark
    done
    cp "$work/start.jsonl" "$OUT/resnet50.jsonl"
fi
if wants where; then
    step "Where the first step's time goes"
    model=(python3 "$benchmarks/torch_models.py" --model resnet50 --amp --channels-last --batch 64 --steps 0 --no-profile --call-times)
    lib=$(dirname "$programs")/lib
    cudnn=$(python3 -c 'import nvidia.cudnn as m; print(list(m.__path__)[0] + "/lib")')
    counted=(env LD_LIBRARY_PATH="$cudnn" LD_PRELOAD="$lib/libcall_times.so")
    tuned=(env LD_LIBRARY_PATH="$cudnn" LD_PRELOAD="$lib/libcall_times.so $lib/libcudnn_tune.so" CUDNN_TUNE_CACHE="$work/where.jsonl")
    run where-cold 120 "${tuned[@]}" "${model[@]}"
    for ((i = 0; i < repeat; i++)); do
        run where-default-plain 60 "${counted[@]}" "${model[@]}"
        run where-default-warm 60 "${tuned[@]}" "${model[@]}"
        run where-benchmark-plain 60 "${counted[@]}" "${model[@]}" --benchmark
        run where-benchmark-warm 60 "${tuned[@]}" "${model[@]}" --benchmark
        CUDNN_TUNE_POLICY=$work/best.json run where-benchmark-best 60 "${tuned[@]}" "${model[@]}" --benchmark
    done
    cp "$work/where.jsonl" "$OUT/where.jsonl"
fi
if wants compile; then
    for case in ${COMPILE_CASES:-mobilenet_v2 efficientnet_b0 convnext_tiny resnet50}; do
        step "Run-time compilation: $case"
        program=(python3 "$benchmarks/compile_start.py" "$case" --steps 10)
        # Compilation alone: with mode `read` and no entry, every choice is the library's own.
        export CUDNN_TUNE_MODE=read CUDNN_TUNE_COMPILE=on
        run "compile-$case-page-cache" 60 "${program[@]}"
        for ((i = 0; i < repeat; i++)); do
            run "compile-$case-plain" 60 "${program[@]}"
            run "compile-$case-first" 60 env CUDNN_TUNE_MODE=record "${tool[@]}" "$work/compile-$case-$i.jsonl" -- "${program[@]}"
            run "compile-$case-second" 60 env CUDNN_TUNE_MODE=record "${tool[@]}" "$work/compile-$case-$i.jsonl" -- "${program[@]}"
        done
        unset CUDNN_TUNE_MODE CUDNN_TUNE_COMPILE
    done
fi
if wants attention; then
    step "Attention and a depthwise convolution of JAX"
    for case in attention jax_depthwise; do
        for kind in first second; do
            run "attention-$case-$kind" 90 "${tool[@]}" "$work/attention-$case.jsonl" -- python3 "$benchmarks/compile_start.py" "$case" --steps 5
        done
    done
fi
if wants damage; then
    step "The store of compiled kernels, deleted and corrupted in mid-run"
    program=(python3 "$benchmarks/compile_start.py" mobilenet_v2 --steps 10)
    cache=$work/damage.jsonl
    run damage-plain 60 "${program[@]}"
    run damage-fill 60 env CUDNN_TUNE_MODE=record "${tool[@]}" "$cache" -- "${program[@]}"
    for kind in delete corrupt; do
        while sleep 0.02; do
            for file in "$cache.kernels"/*; do
                [ -f "$file" ] || continue
                if [ $kind = delete ]; then rm -f "$file"; else printf 'damaged' | dd of="$file" bs=1 seek=200 conv=notrunc status=none; fi
            done
        done &
        damager=$!
        run damage-$kind 60 env CUDNN_TUNE_MODE=record "${tool[@]}" "$cache" -- "${program[@]}"
        kill $damager 2>/dev/null
        wait $damager 2>/dev/null
    done
    run damage-after 60 env CUDNN_TUNE_MODE=record "${tool[@]}" "$cache" -- "${program[@]}"
fi
if wants models; then
    step "GPU time of the convolution kernels of four models"
    program=(python3 "$benchmarks/torch_convolution_times.py")
    run models-cold 200 "${tool[@]}" "$work/models.jsonl" -- "${program[@]}"
    for ((i = 0; i < repeat; i++)); do
        run models-default-plain 90 "${program[@]}"
        run models-default-warm 90 "${tool[@]}" "$work/models.jsonl" -- "${program[@]}"
        run models-benchmark-plain 150 "${program[@]}" --benchmark
        run models-benchmark-warm 90 "${tool[@]}" "$work/models.jsonl" -- "${program[@]}" --benchmark
    done
fi
if wants matrix; then
    for model in ${MATRIX_MODELS:-resnet50 unet wav2vec mobilenet_v2}; do
        step "A model in eight settings: $model"
        program=(python3 "$benchmarks/graph_matrix.py" --models "$model")
        # MobileNetV2 compiles for minutes without the library.
        run "matrix-plain-$model" 240 "${program[@]}" --save "$work/matrix-$model.pt"
        run "matrix-cold-$model" 240 "${tool[@]}" "$work/matrix.jsonl" -- "${program[@]}" --compare "$work/matrix-$model.pt"
        run "matrix-warm-$model" 120 "${tool[@]}" "$work/matrix.jsonl" -- "${program[@]}" --compare "$work/matrix-$model.pt"
    done
fi
if wants safety; then
    step "Captures, threads, forks"
    safety=(python3 "$benchmarks/torch_safety.py")
    for ((i = 0; i < repeat; i++)); do
        run safety-plain 60 "${safety[@]}"
        cache=$work/safety-$i.jsonl
        CUDNN_TUNE_LOG=debug run safety-cold 90 "${tool[@]}" "$cache" -- "${safety[@]}"
        # What a process died on, if it did.
        cat "$cache".trial-* 2>/dev/null
        run safety-warm 60 "${tool[@]}" "$cache" -- "${safety[@]}"
        cp "$cache" "$OUT/safety-$i.jsonl"
        grep -o '"digest":"[^"]*"' "$cache" | sort | uniq -c | awk '{ ++keys; if ($1 > 1) ++more }
            END { printf "safety: %d keys in the file, %d of them with more than one line\n", keys, more }'
    done
fi
if wants jax; then
    step "JAX"
    run jax-plain 60 python3 "$benchmarks/jax_convolution.py"
    run jax-cold 90 "${tool[@]}" "$work/jax.jsonl" -- python3 "$benchmarks/jax_convolution.py"
    run jax-warm 60 "${tool[@]}" "$work/jax.jsonl" -- python3 "$benchmarks/jax_convolution.py"
fi
python3 "$here/graph_report.py" "$log" | tee "$OUT/graph-tables.txt"
echo "$failures runs failed, $((SECONDS - started)) s"
[ $failures -eq 0 ]
