# SPDX-License-Identifier: Apache-2.0
# Shared by the scripts of this folder, which source it. Sets `root`, the folder of the source tree.
# shellcheck shell=bash
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

fail() {
    echo "${0##*/}: $1" >&2
    exit "${2:-1}"
}

step() { printf '\n== %s\n' "$*"; }

# build_tree FOLDER TARGETS [CMAKE-ARGUMENT...]: configures and builds; does nothing for what is up to date. TARGETS are
# words: "all", or others of Ninja's, such as tests/unit/all.
build_tree() {
    local folder=$1 targets
    read -ra targets <<<"$2"
    shift 2
    step "Building ${folder#"$root"/}"
    mkdir -p "$folder"
    cmake -G Ninja -S "$root" -B "$folder" "$@" >"$folder/configure.log" 2>&1 || {
        cat "$folder/configure.log" >&2
        fail "cmake failed"
    }
    "${launcher[@]}" cmake --build "$folder" --parallel "$(nproc)" --target "${targets[@]}"
}
# What programs that were built are started with; test.sh changes it.
launcher=(env)

# A program must not see what the person who starts a script has set for other programs.
clean_environment() {
    local name
    unset LD_PRELOAD
    for name in $(compgen -e CUDNN_TUNE_); do
        unset "$name"
    done
}

# The folder that holds a real libcudnn.so.9 or .8: of CUDNN_ROOT, of Python's package, or of the loader's cache.
# Nothing if there is none.
find_cudnn_folder() {
    local folder
    for folder in "${CUDNN_ROOT:-}" "${CUDNN_ROOT:-}/lib" "${CUDNN_ROOT:-}/lib64" \
        "$(python3 -c 'import nvidia.cudnn as m; print(list(m.__path__)[0])' 2>/dev/null)/lib"; do
        if compgen -G "$folder/libcudnn.so.[89]" >/dev/null; then
            echo "$folder"
            return
        fi
    done
    { ldconfig -p 2>/dev/null || true; } | sed -n 's|.*libcudnn\.so\.[89] .*=> \(.*\)/libcudnn\.so\.[89]$|\1|p' | head -n 1
}

# The name of the first GPU; nothing if there is none that works.
find_gpu() { { nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null || true; } | head -n 1; }
