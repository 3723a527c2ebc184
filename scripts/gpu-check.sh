#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks the library on a real GPU: a C++ client and PyTorch, without the library, with an empty cache and with a full
# one. Ends with a table; logs go to $OUT (default: out).
#   scripts/gpu-check.sh                 runs on this machine, from the build in build/
#   scripts/gpu-check.sh --stage FOLDER  copies all that it needs into FOLDER, for a machine without network or packages;
#                                        there: FOLDER/gpu-check.sh
#   scripts/gpu-check.sh --simulated     runs the client on the simulated libraries: a test of this script, no figures
#   --parts "A B"                        only these of: micro client-get client-find hit torch-legacy torch-graph
# A part that fails or takes too long is named in the table and does not stop the others.
set -uo pipefail

here=$(cd "$(dirname "$0")" && pwd)
if [ -x "$here/bin/cudnn-tune" ]; then
    root=$here # staged
    programs=$here/bin
    scripts=$here
else
    root=$(cd "$here/.." && pwd)
    programs=$root/build/bin
    scripts=$here
fi
benchmarks=$root/benchmarks
mode=real
stage=""
parts="micro client-get client-find hit torch-legacy torch-graph"
most_stage_bytes=60000000
mark=""

fail() {
    echo "gpu-check.sh: $1" >&2
    exit "${2:-1}"
}

while [ $# -gt 0 ]; do
    case $1 in
        --stage | --parts)
            [ $# -gt 1 ] || fail "$1 needs a value" 2
            [ "$1" = --stage ] && stage=$2 || parts=$2
            shift
            ;;
        --simulated) mode=simulated ;;
        *) fail "no option is called $1" 2 ;;
    esac
    shift
done

if [ -n "$stage" ]; then
    set -e
    [ "$root" != "$here" ] || fail "this copy is staged already"
    mkdir -p "$stage"/{bin,lib,examples,benchmarks/{shapes,selection}}
    cp "$root"/build/bin/{cudnn-tune,cudnn-tune-replay,legacy_client,selection} "$stage/bin"
    [ ! -x "$root/build/bin/micro" ] || cp "$root/build/bin/micro" "$stage/bin"
    cp "$root"/build/lib/libcudnn_tune{,_engine}.so "$root"/build/lib/libcall_times.so "$stage/lib"
    strip --strip-unneeded "$stage"/bin/* "$stage"/lib/*
    cp "$root"/benchmarks/*.py "$stage/benchmarks"
    cp "$root"/benchmarks/shapes/*.csv "$stage/benchmarks/shapes"
    cp "$root"/benchmarks/selection/*.py "$stage/benchmarks/selection"
    cp "$root"/examples/*.py "$stage/examples"
    cp "$here"/gpu-walkthrough.sh "$stage"
    cp "$here"/gpu-check{,-graph,-upgrade,-selection}.sh "$here"/{report,graph_report,upgrade_report}.py "$stage"
    bytes=$(du -sb "$stage" | cut -f 1)
    [ "$bytes" -lt $most_stage_bytes ] || fail "$stage takes $bytes bytes: more than $most_stage_bytes"
    echo "$stage: $bytes bytes; run $stage/gpu-check.sh there"
    exit 0
fi

OUT=${OUT:-out}
mkdir -p "$OUT" || fail "cannot make $OUT"
OUT=$(cd "$OUT" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LD_PRELOAD
for name in $(compgen -e CUDNN_TUNE_); do
    [ "$name" = CUDNN_TUNE_SIM_SCRIPT ] || unset "$name"
done
if [ ! -x "$programs/cudnn-tune" ] || [ ! -x "$programs/legacy_client" ]; then
    fail "nothing is built; run scripts/test.sh first"
fi

if [ $mode = simulated ]; then
    libraries=$root/build/sim/v9:$root/build/sim/cuda
    mark=" (SIMULATED)"
    echo "SIMULATED GPU and cuDNN: no figure below says anything about a GPU"
else
    cudnn=${CUDNN_ROOT:+$CUDNN_ROOT/lib}
    [ -n "$cudnn" ] || cudnn=$(python3 -c 'import nvidia.cudnn as m; print(list(m.__path__)[0] + "/lib")' 2>/dev/null)
    # cuDNN finds the other CUDA libraries of Python's packages beside its own.
    libraries=$cudnn
    for folder in "$cudnn"/../../*/lib; do
        [ ! -d "$folder" ] || libraries=$libraries:$(cd "$folder" && pwd)
    done
    nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || fail "no GPU answers here"
fi

# Enough that no problem is left out because of time; the cold runs' own limits are those of the parts.
export CUDNN_TUNE_BUDGET=${GPU_CHECK_BUDGET:-1,150}
results=()
started=$SECONDS

# attempt NAME SECONDS COMMAND...: output into $OUT/NAME.out and .err; remembers how it ended.
attempt() {
    local name=$1 limit=$2 begun=$SECONDS status=0
    shift 2
    printf '%-28s ' "$name"
    timeout --kill-after=10 "$limit" "$@" >"$OUT/$name.out" 2>"$OUT/$name.err" </dev/null || status=$?
    case $status in
        0) verdict=ok ;;
        124 | 137) verdict="TOO LONG (over $limit s)" ;;
        *) verdict="FAILED with status $status: $(tail -n 1 "$OUT/$name.err" | cut -c 1-100)" ;;
    esac
    echo "$verdict, $((SECONDS - begun)) s"
    results+=("$name|$verdict|$((SECONDS - begun)) s")
    return $status
}

table() { # table TITLE COMMAND...: into the log of tables and onto the screen
    {
        printf '\n== %s%s\n' "$1" "$mark"
        shift
        python3 "$scripts/report.py" "$@" 2>&1 || echo "(no table)"
    } | tee -a "$OUT/tables.txt"
}

wants() { [[ " $parts " == *" $1 "* ]]; }
with_libraries() { LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"; }
shapes=("$benchmarks"/shapes/reported.csv "$benchmarks"/shapes/models.csv)
every=${GPU_CHECK_EVERY:-4} # of the problems of the shapes files, one in so many

tool=$programs/cudnn-tune
: >"$OUT/tables.txt"

if wants micro && [ -x "$programs/micro" ]; then
    with_libraries attempt micro 60 "$programs/micro" --benchmark_min_time=0.1
fi

for api in get find; do
    wants client-$api || continue
    name=client-$api
    cache=$work/$api.jsonl
    client=("$programs/legacy_client" "${shapes[@]}" --every "$every" --api "$api")
    with_libraries attempt $name-plain 100 "${client[@]}"
    with_libraries attempt $name-cold 170 "$tool" run --stats --cache "$cache" -- "${client[@]}"
    with_libraries attempt $name-warm 100 "$tool" run --stats --cache "$cache" -- "${client[@]}"
    [ ! -f "$cache" ] || cp "$cache" "$OUT/$name.jsonl"
    table "C++ client, $api: what the library did" runs cold="$OUT/$name-cold.err" warm="$OUT/$name-warm.err"
    table "C++ client, $api: times of the program" client plain="$OUT/$name-plain.out" cold="$OUT/$name-cold.out" \
        warm="$OUT/$name-warm.out"
    if "$tool" list --json "$cache" >"$OUT/$name.list.json" 2>/dev/null; then
        table "C++ client, $api: the ten slowest problems" slowest "$OUT/$name.list.json" --count 10 --mark "$mark"
        table "C++ client, $api: the ten that gained most" slowest "$OUT/$name.list.json" --count 10 --by gain \
            --mark "$mark"
    fi
done

if wants hit; then
    client=("$programs/legacy_client" "${shapes[@]}" --every "$every" --only-ask --ask-again 100)
    with_libraries attempt hit-plain 60 "${client[@]}"
    # What the part client-get has not measured is measured here first.
    with_libraries attempt hit-cold 170 "$tool" run --stats --cache "$work/get.jsonl" -- \
        "$programs/legacy_client" "${shapes[@]}" --every "$every" --only-ask
    with_libraries attempt hit-warm 60 "$tool" run --stats --cache "$work/get.jsonl" -- "${client[@]}"
    table "A question that was asked before (cudnnGet…_v7)" again "$OUT/hit-plain.out" "$OUT/hit-warm.out"
fi

# torch_part NAME SCRIPT ARGUMENT...: without and with benchmark=True; outputs are compared with the first run's.
torch_part() {
    local name=$1 benchmark runs=()
    shift
    for benchmark in default benchmark; do
        local options=() cache=$work/$name-$benchmark.jsonl saved=(--compare "$work/$name.pt")
        [ $benchmark = default ] || options=(--benchmark)
        [ $benchmark = benchmark ] || saved=(--save "$work/$name.pt")
        attempt "$name-$benchmark-plain" 70 python3 "$@" "${options[@]}" "${saved[@]}"
        saved=(--compare "$work/$name.pt")
        attempt "$name-$benchmark-cold" 150 "$tool" run --stats --cache "$cache" -- python3 "$@" "${options[@]}" \
            "${saved[@]}"
        attempt "$name-$benchmark-warm" 70 "$tool" run --stats --cache "$cache" -- python3 "$@" "${options[@]}" \
            "${saved[@]}"
        [ ! -f "$cache" ] || cp "$cache" "$OUT/$name-$benchmark.jsonl"
        for run in plain cold warm; do
            runs+=("$benchmark-$run=$OUT/$name-$benchmark-$run.out")
        done
        table "PyTorch, $name, $benchmark: what the library did" runs cold="$OUT/$name-$benchmark-cold.err" \
            warm="$OUT/$name-$benchmark-warm.err"
    done
    table "PyTorch, $name (off by: the largest RMS difference from default-plain, relative)" torch "${runs[@]}"
}

if [ $mode = simulated ] || ! python3 -c 'import torch, torchvision; assert torch.cuda.is_available()' 2>/dev/null; then
    results+=("torch-*|left out: no PyTorch with a GPU here|")
else
    ! wants torch-legacy || torch_part torch-legacy "$benchmarks/torch_legacy.py"
    ! wants torch-graph || torch_part torch-graph "$benchmarks/torch_models.py" --amp --channels-last --batch 64
fi

{
    printf '\n== %s\n' "Parts, $((SECONDS - started)) s"
    printf '%s\n' "${results[@]}" | while IFS='|' read -r name verdict time; do
        printf '%-30s %6s  %s\n' "$name" "$time" "$verdict"
    done
} | tee -a "$OUT/tables.txt"
for result in "${results[@]}"; do
    case $result in *FAILED* | *"TOO LONG"*) exit 1 ;; esac
done
