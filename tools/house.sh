# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# What ./try and ./check have in common. Sourced, POSIX sh, from the top of the checkout.

say() {
    printf '%s\n' "$*"
}

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

jobs_here() {
    nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1
}

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# The lines of a package list that are not satisfied: "name", "name | other", "name | -".
missing_lines() {
    sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$@" | while IFS= read -r line; do
        found=
        for name in $(printf '%s' "$line" | tr '|' ' '); do
            if is_installed "$name"; then
                found=yes
            fi
        done
        [ -n "$found" ] || printf '%s\n' "$line"
    done
}

# Of each line the first alternative that apt knows; "-" is none at all.
choose_packages() {
    for line in "$@"; do
        chosen=
        for name in $(printf '%s' "$line" | tr '|' ' '); do
            if [ -z "$chosen" ] && { [ "$name" = - ] ||
                [ -n "$(apt-cache madison "$name" 2>/dev/null)" ]; }; then
                chosen=$name
            fi
        done
        [ "$chosen" = - ] || printf '%s\n' "${chosen:-${line%%|*}}"
    done
}

# install_packages LIST…: what the lists name and the machine lacks, through apt.
install_packages() {
    if ! command -v dpkg-query >/dev/null 2>&1; then
        say "This is no Debian or Ubuntu: install what $* name (docs/dependencies.md) yourself."
        return 0
    fi
    missing=$(missing_lines "$@")
    [ -n "$missing" ] || return 0
    # What can be done without and apt, which has lists, does not know is no reason to begin.
    # shellcheck disable=SC2086
    if [ -n "$(apt-cache madison bash 2>/dev/null)" ] && [ -z "$(choose_packages $missing)" ]; then
        return 0
    fi
    root=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null 2>&1 ||
            die "needs as root: apt-get install $(printf '%s ' $missing)"
        root=sudo
    fi
    # shellcheck disable=SC2086
    say "Installing through apt${root:+ with sudo}:" $(printf "%s\n" $missing | sed "s/|.*//")
    log=$(mktemp)
    # The lists of a fresh machine are empty, those of an old one name packages that are gone.
    if ! $root apt-get -q update >"$log" 2>&1; then
        cat "$log" >&2
        say "apt-get update failed; going on with what apt knows." >&2
    fi
    # shellcheck disable=SC2046,SC2086
    if ! $root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install \
        $(choose_packages $missing) >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        die "apt-get install failed; see above"
    fi
    rm -f "$log"
}

# build_preset NAME [TARGET…]: configures and builds, quietly unless it fails.
build_preset() {
    preset=$1
    shift
    mkdir -p build
    log=build/$preset.log
    # A build folder that was made elsewhere (a copied checkout) cannot be used again.
    if [ -f "build/$preset/CMakeCache.txt" ] &&
        ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd -P)" "build/$preset/CMakeCache.txt"; then
        rm -rf "build/$preset"
    fi
    if cmake --preset "$preset" >"$log" 2>&1 &&
        cmake --build --preset "$preset" -j "$(jobs_here)" ${1:+--target "$@"} >>"$log" 2>&1; then
        return 0
    fi
    tail -n 40 "$log" >&2
    say "The whole log: $log" >&2
    return 1
}
