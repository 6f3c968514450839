# SPDX-License-Identifier: MIT
#
# debian.sh - a Debian in a folder, from the mirror and proxy that this machine's apt uses.
#
# Sourced by systemd.sh and image.sh after tests/lib.sh. A finished folder is kept for the next time.
# WEIR_TREES names another place than build/trees.

trees=${WEIR_TREES:-$root/build/trees}

# cannot_be REASON: nothing can be tested here
cannot_be() {
    echo "skipped: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

# The first mirror that apt knows for Debian itself.
mirror() {
    found=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        grep -E '/debian/?$' | head -n 1)
    echo "${found:-http://deb.debian.org/debian}"
}

# bootstrap NAME [PACKAGE,...] makes $trees/NAME, or leaves the reason in $trees/NAME.log.
bootstrap() {
    rm -rf "${trees:?}/$1"
    debootstrap --variant=minbase --cache-dir="$trees/debs" ${2:+--include="$2"} bookworm \
        "$trees/$1" "$(mirror)" >"$trees/$1.log" 2>&1
}

# debian_tree NAME [PACKAGE,...] makes $trees/NAME unless it is complete; prints what went wrong.
debian_tree() {
    [ ! -e "$trees/$1.complete" ] || return 0
    mkdir -p "$trees/debs"
    proxy=$(apt-config shell p Acquire::http::Proxy | sed "s/^p='\(.*\)'$/\1/")
    [ -z "$proxy" ] || export http_proxy="$proxy"
    # Once more when it fails, with what has come already: a mirror may be short of breath.
    if ! bootstrap "$@" && { tail -n 5 "$trees/$1.log"; ! bootstrap "$@"; }; then
        tail -n 5 "$trees/$1.log"
        return 1
    fi
    echo 'Acquire::Retries "3";' >"$trees/$1/etc/apt/apt.conf.d/80retries"
    [ -z "$proxy" ] || echo "Acquire::http::Proxy \"$proxy\";" >"$trees/$1/etc/apt/apt.conf.d/80proxy"
    : >"$trees/$1.complete"
}
