#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the commands that README.md's walkthrough shows, with examples/train_resnet50.py as train.py, in a terminal of
# 100 columns, and keeps what a person would have seen: $OUT/walkthrough.txt (all of it), $OUT/<number>-<name>.txt
# (a command each), $OUT/times.txt, $OUT/cache.jsonl and $OUT/report.html.
#   scripts/gpu-walkthrough.sh              on this machine, from the build in build/
#   FOLDER/gpu-walkthrough.sh               there, from a folder that `gpu-check.sh --stage FOLDER` made
#   scripts/gpu-walkthrough.sh --simulated  with a client on the simulated libraries: a test of this script, no figures
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here
[ -x "$here/bin/cudnn-tune" ] || root=$(cd "$here/.." && pwd)
programs=$here/bin
[ -x "$programs/cudnn-tune" ] || programs=$root/build/bin
[ -x "$programs/cudnn-tune" ] || { echo "gpu-walkthrough.sh: nothing is built" >&2 && exit 1; }
program="python3 train.py"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case ${1:-} in
    "") ;;
    --simulated)
        echo "SIMULATED GPU and cuDNN: no figure below says anything about a GPU"
        program="legacy_client models.csv --filter resnet50-00 --repeat 1"
        export LD_LIBRARY_PATH=$root/build/sim/v9:$root/build/sim/cuda CUDNN_TUNE_SIM_SCRIPT=$work/script.json
        # A rule of thumb that is often wrong, so that there is something to see.
        echo '{"heuristic_order": {"forward": [0, 1], "backward_data": [0, 1], "backward_filter": [0, 1]}}' \
            >"$CUDNN_TUNE_SIM_SCRIPT"
        ;;
    *) echo "gpu-walkthrough.sh: no option is called $1" >&2 && exit 2 ;;
esac
OUT=${OUT:-out}
mkdir -p "$OUT" || exit 1
OUT=$(cd "$OUT" && pwd)
unset LD_PRELOAD
for name in $(compgen -e CUDNN_TUNE_); do [ "$name" = CUDNN_TUNE_SIM_SCRIPT ] || unset "$name"; done
export PATH=$programs:$PATH NO_COLOR=1
cp "$root/examples/train_resnet50.py" "$work/train.py"
cp "$root/benchmarks/shapes/models.csv" "$work"
cd "$work" || exit 1
: >"$OUT/walkthrough.txt"
: >"$OUT/times.txt"
failed=0

# Runs a command line as a person does, in a terminal, and prints what that shows at the end: of a line that was written
# over, the last state.
in_terminal='
import fcntl, os, pty, re, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    os.execvp("bash", ["bash", "-c", sys.argv[1]])
seen = b""
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:  # the program is gone
        break
    if not part:
        break
    seen += part
text = seen.decode("utf-8", "replace").replace("\r\n", "\n")
text = re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", text)
print("\n".join(line.rstrip("\r").split("\r")[-1].rstrip() for line in text.strip("\r\n").split("\n")))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
'

# step NAME COMMAND-LINE
number=0
step() {
    local file status=0 begun=$EPOCHREALTIME
    number=$((number + 1))
    file=$OUT/$number-$1.txt
    echo "\$ $2" >"$file"
    timeout --kill-after=5 150 python3 -c "$in_terminal" "$2" >>"$file" 2>&1 </dev/null || status=$?
    awk -v name="$1" -v status=$status -v a="$begun" -v b="$EPOCHREALTIME" \
        'BEGIN { printf "%-12s status %d  %6.1f s\n", name, status, b - a }' >>"$OUT/times.txt"
    { cat "$file" && echo; } | tee -a "$OUT/walkthrough.txt"
    [ $status -eq 0 ] || failed=1
}

# Not shown: it fills the page cache, so that what follows does not measure a disk.
step without "$program"
[ $failed -eq 0 ] || exit 1
: >"$OUT/walkthrough.txt"
step without "$program"
step doctor "cudnn-tune doctor --cache cache.jsonl -- $program"
step warm "cudnn-tune warm --cache cache.jsonl -- $program"
step run "cudnn-tune run --cache cache.jsonl --stats -- $program"
step list "cudnn-tune list cache.jsonl --biggest-gain --limit 5"
digest=$(cudnn-tune list cache.jsonl --biggest-gain --limit 1 --json | sed -n 's/.*"digest": *"\([0-9a-f]\{8\}\).*/\1/p' | head -n 1)
step show "cudnn-tune show cache.jsonl $digest"
step stats "cudnn-tune stats cache.jsonl"
step report "cudnn-tune report cache.jsonl -o report.html"
cp cache.jsonl report.html "$OUT" || failed=1
echo "== times"
cat "$OUT/times.txt"
exit $failed
