# SPDX-License-Identifier: MIT
#
# debian.sh - a Debian in a folder, from the mirror and proxy that this machine's apt uses.
#
# Sourced by systemd.sh, image.sh and tests/release.sh after tests/lib.sh. A complete folder is kept for
# the next run. WEIR_TREES names another place than build/trees.

trees=${WEIR_TREES:-$root/build/trees}

# cannot_be REASON: nothing can be tested here
cannot_be() {
    echo "skipped: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

# The first mirror of Debian itself that apt knows; nothing where there is none, and debootstrap has its own.
mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        grep -E '/debian/?$' | head -n 1
}

# release_name NUMBER: what the mirror calls Debian 12, 13
release_name() {
    case $1 in
        12) echo bookworm ;;
        13) echo trixie ;;
        *) return 1 ;;
    esac
}

# The release of this machine: what is built here runs there. 13 where this is not one of the two.
own_release() {
    (. /etc/os-release && release_name "${VERSION_ID:-}" >/dev/null && echo "$VERSION_ID") || echo 13
}

# bootstrap NAME RELEASE [PACKAGE,...] makes $trees/NAME, or leaves the reason in $trees/NAME.log.
bootstrap() {
    rm -rf "${trees:?}/$1"
    # shellcheck disable=SC2046  # no mirror is no word
    debootstrap --variant=minbase --cache-dir="$trees/debs" ${3:+--include="$3"} "$(release_name "$2")" \
        "$trees/$1" $(mirror) >"$trees/$1.log" 2>&1
}

# debian_tree NAME RELEASE [PACKAGE,...] makes $trees/NAME unless it is complete; prints what went wrong.
debian_tree() {
    [ "$(cat "$trees/$1.complete" 2>/dev/null)" != "$*" ] || return 0
    mkdir -p "$trees/debs"
    proxy=$(apt-config shell p Acquire::http::Proxy | sed "s/^p='\(.*\)'$/\1/")
    [ -z "$proxy" ] || export http_proxy="$proxy"
    # Once more when it fails, with what has been fetched already: mirrors have short outages.
    if ! bootstrap "$@" && { tail -n 5 "$trees/$1.log"; ! bootstrap "$@"; }; then
        tail -n 5 "$trees/$1.log"
        return 1
    fi
    echo 'Acquire::Retries "3";' >"$trees/$1/etc/apt/apt.conf.d/80retries"
    [ -z "$proxy" ] || echo "Acquire::http::Proxy \"$proxy\";" >"$trees/$1/etc/apt/apt.conf.d/80proxy"
    echo "$*" >"$trees/$1.complete"
}
