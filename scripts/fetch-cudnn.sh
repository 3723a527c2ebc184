#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Downloads a real cuDNN library from the Python package registry that pip is set up for, for tests/real.
#   scripts/fetch-cudnn.sh VERSION DIR
# VERSION is 8.9, 9.1, 9.10.2.21, … (the newest release that begins so) or "newest". The wheel's lib/ and include/ end
# up in DIR, which is made and then fits CUDNN_ROOT. From 9.8 on the heuristics need cuBLAS: it is put beside cuDNN if
# the loader finds none. The last line on stdout is the version that was fetched. If DIR holds the asked version, nothing
# is downloaded. A version takes 1 to 2 GB on disk, and as much again while it is unpacked.
set -eu

fail() {
    echo "fetch-cudnn: $1" >&2
    exit 1
}

[ $# -eq 2 ] || fail "usage: $0 VERSION DIR"
version=$1
target=$2
case $(uname -s)-$(uname -m) in
    Linux-x86_64 | Linux-aarch64) ;;
    *) fail "there is no cuDNN wheel for $(uname -s) on $(uname -m)" ;;
esac
python=$(command -v python3) || fail "python3 is not installed"
"$python" -m pip --version >/dev/null 2>&1 || fail "python3 has no pip"

# The first release for CUDA 13 was 9.12; earlier ones exist for CUDA 12 only.
package=nvidia-cudnn-cu13
case $version in
    newest) requirement=$package ;;
    [0-9]*)
        case $version in
            *[!0-9.]* | *..* | *.) fail "'$version' is not a version such as 8.9 or 9.10.2.21" ;;
        esac
        case $version in
            [1-8] | [1-8].* | 9.? | 9.?.* | 9.1[01] | 9.1[01].*) package=nvidia-cudnn-cu12 ;;
        esac
        # ".*" also matches no further part: a complete version is found, too.
        requirement="$package==$version.*"
        ;;
    *) fail "'$version' is neither a version such as 8.9 nor \"newest\"" ;;
esac

stamp=$target/fetched-version
if [ -f "$stamp" ] && [ "$version" != newest ]; then
    case $(cat "$stamp") in
        "$version" | "$version".*)
            cat "$stamp"
            exit 0
            ;;
    esac
fi
if [ -e "$target" ]; then
    # Only a folder that an earlier run made is replaced.
    [ -f "$stamp" ] || rmdir "$target" 2>/dev/null || fail "'$target' exists and was not made by this script"
fi
mkdir -p "$(dirname "$target")"
work=$(mktemp -d "$target.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# download REQUIREMENT: its wheel is unpacked in $work/content, without what it depends on. Prints the version.
download() {
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-cache-dir --only-binary :all: \
        --dest "$work/wheel" "$1" >&2 || fail "pip found no $1 for this machine"
    wheel=$(ls "$work/wheel")
    "$python" -m zipfile -e "$work/wheel/$wheel" "$work/content" >&2
    rm -rf "$work/wheel"
    wheel=${wheel#*-}
    echo "${wheel%%-*}"
}

fetched=$(download "$requirement")
[ -d "$work/content/nvidia/cudnn/lib" ] || fail "the wheel of $requirement has no nvidia/cudnn/lib"
case $fetched in
    8.* | 9.[0-7].*) ;;
    *)
        cuda=${package#nvidia-cudnn-cu}
        if ! "$python" -c "import ctypes; ctypes.CDLL('libcublasLt.so.$cuda')" 2>/dev/null; then
            # For CUDA 12 the package's name says so; later ones are told apart by version.
            cublas="nvidia-cublas==$cuda.*"
            [ "$cuda" != 12 ] || cublas=nvidia-cublas-cu12
            download "$cublas" >/dev/null
            find "$work/content" -name 'libcublas*.so.*' -exec mv {} "$work/content/nvidia/cudnn/lib" \;
        fi
        ;;
esac
echo "$fetched" >"$work/content/nvidia/cudnn/fetched-version"
rm -rf "$target"
mv "$work/content/nvidia/cudnn" "$target"
echo "$fetched"
