#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian or Ubuntu packages that building and testing need, and those named as arguments. Touches neither
# the network nor anything else if all are installed.
set -euo pipefail

packages=(
    g++ cmake ninja-build jq python3
    nlohmann-json3-dev libspdlog-dev libfmt-dev libxxhash-dev libcli11-dev libhiredis-dev redis-server
    libgtest-dev libgmock-dev libbenchmark-dev python3-jsonschema
    dpkg-dev file pkg-config groff-base fish
    "$@"
)

if ! command -v dpkg-query >/dev/null; then
    echo "install-deps.sh: this is neither Debian nor Ubuntu; what these packages hold is taken to be there:" \
        "${packages[*]}" >&2
    exit 0
fi
missing=()
for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "install-deps.sh: run this as root: apt-get update && apt-get install ${missing[*]}" >&2
        exit 1
    }
    as_root=(sudo)
fi
echo "Installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq </dev/null
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
    </dev/null >/dev/null
