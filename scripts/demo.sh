#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and shows what the library is for: an unmodified program of cuDNN is run twice. The
# first run measures and fills a cache file; the second one finds everything there, and measuring anything in it is a
# failure. Uses the GPU, cuDNN and PyTorch of this machine; without them, a simulated cuDNN, and says so first.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "$0")/lib.sh"
clean_environment

gpu=$(find_gpu)
cudnn=$(find_cudnn_folder)
mark=""
if [ -n "$gpu" ] && [ -n "$cudnn" ] && python3 -c 'import torch, torchvision; assert torch.cuda.is_available()' 2>/dev/null; then
    client=torch
    echo "cudnn-tune demo on $gpu with PyTorch: a training step of ResNet-50, run twice"
elif [ -n "$gpu" ] && [ -n "$cudnn" ]; then
    client=real
    echo "cudnn-tune demo on $gpu with the cuDNN in $cudnn: the convolutions of ResNet-50, run twice"
else
    client=simulated
    mark=" (simulated)"
    echo "cudnn-tune demo with a SIMULATED GPU and cuDNN (no GPU with cuDNN was found): every time below is simulated"
fi

"$root/scripts/install-deps.sh"
build_tree "$root/build" "cudnn_tune_shim cudnn_tune_engine cudnn_tune_cli cudnn_tune_replay legacy_client"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cache=$work/cache.jsonl
shapes=$root/benchmarks/shapes/models.csv
tool=$root/build/bin/cudnn-tune
case $client in
    torch) program=(python3 "$root/benchmarks/torch_legacy.py" --steps 5) ;;
    real)
        program=("$root/build/bin/legacy_client" "$shapes" --filter resnet50)
        export LD_LIBRARY_PATH=$cudnn${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
        ;;
    simulated)
        program=("$root/build/bin/legacy_client" "$shapes" --filter resnet50 --repeat 1)
        export LD_LIBRARY_PATH=$root/build/sim/v9:$root/build/sim/cuda
        # A rule of thumb that is often wrong, so that there is something to see.
        export CUDNN_TUNE_SIM_SCRIPT=$work/script.json
        echo '{"heuristic_order": {"forward": [0, 1], "backward_data": [0, 1], "backward_filter": [0, 1]}}' \
            >"$CUDNN_TUNE_SIM_SCRIPT"
        ;;
esac

for run in first second; do
    step "The $run run: cudnn-tune run --cache CACHE -- $(basename "${program[0]}") …"
    "$tool" run --cache "$cache" --stats -- "${program[@]}" >"$work/$run.out" 2>"$work/$run.err" || {
        tail -n 20 "$work/$run.out" "$work/$run.err" >&2
        fail "the program failed"
    }
    grep -v '^cudnn-tune: summary' "$work/$run.err" | tail -n 5 || true
done

step "What the library did"
status=0
python3 "$root/scripts/report.py" runs --last-measures-nothing --mark "$mark" \
    first="$work/first.err" second="$work/second.err" || status=1

step "The five slowest problems"
"$tool" list --json "$cache" >"$work/list.json"
python3 "$root/scripts/report.py" slowest "$work/list.json" --mark "$mark"

[ $status -eq 0 ] || fail "the second run measured, or found nothing"
echo
if [ -n "$mark" ]; then
    echo "Nothing here says anything about a real GPU."
fi
