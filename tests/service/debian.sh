# SPDX-License-Identifier: MIT
#
# debian.sh - creates a Debian in a folder, from the mirror and proxy that this machine's apt uses.
#
# Sourced by systemd.sh, image.sh, tests/release.sh and tests/arm64.sh after tests/lib.sh. A complete folder
# is kept for the next run. WEIR_TREES sets another place than build/trees.

trees=${WEIR_TREES:-$root/build/trees}

# cannot_be REASON: nothing can be tested here
cannot_be() {
    echo "skipped: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

# The first Debian mirror that apt knows; empty if there is none: debootstrap then uses its default.
mirror() {
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        grep -E '/debian/?$' | head -n 1
}

# release_name NUMBER: the mirror's name for Debian 12, 13
release_name() {
    case $1 in
        12) echo bookworm ;;
        13) echo trixie ;;
        *) return 1 ;;
    esac
}

# The release of this machine, so that a binary built here runs there; 13 if it is neither of the two.
own_release() {
    (. /etc/os-release && release_name "${VERSION_ID:-}" >/dev/null && echo "$VERSION_ID") || echo 13
}

# bootstrap NAME RELEASE [PACKAGE,...] makes $trees/NAME, or leaves the reason in $trees/NAME.log.
bootstrap() {
    rm -rf "${trees:?}/$1"
    # shellcheck disable=SC2046  # no mirror: no word
    debootstrap --variant=minbase --cache-dir="$trees/debs" ${3:+--include="$3"} "$(release_name "$2")" \
        "$trees/$1" $(mirror) >"$trees/$1.log" 2>&1
}

# debian_tree NAME RELEASE [PACKAGE,...] makes $trees/NAME unless it is complete; prints the error on failure.
debian_tree() {
    [ "$(cat "$trees/$1.complete" 2>/dev/null)" != "$*" ] || return 0
    mkdir -p "$trees/debs"
    proxy=$(apt-config shell p Acquire::http::Proxy | sed "s/^p='\(.*\)'$/\1/")
    [ -z "$proxy" ] || export http_proxy="$proxy"
    # Try once more after a failure, with the packages fetched so far: mirrors have short outages.
    if ! bootstrap "$@" && { tail -n 5 "$trees/$1.log"; ! bootstrap "$@"; }; then
        tail -n 5 "$trees/$1.log"
        return 1
    fi
    echo 'Acquire::Retries "3";' >"$trees/$1/etc/apt/apt.conf.d/80retries"
    [ -z "$proxy" ] || echo "Acquire::http::Proxy \"$proxy\";" >"$trees/$1/etc/apt/apt.conf.d/80proxy"
    echo "$*" >"$trees/$1.complete"
}

# in_fresh_debian RELEASE NAME SCRIPT ARGUMENT...: runs a script as root in a fresh Debian, with the checkout,
# including uncommitted changes, in /weir. Its output goes to $trees/NAME.out, the logs of the build folder to
# $trees/NAME.logs. Returns its exit code. What it installs or builds goes to an overlay that is removed;
# downloaded packages are kept. Its own namespaces ensure that no mount and no process is left behind; network
# and kernel are this machine's.
in_fresh_debian() (
    release=$1 name=$2
    shift 2
    rm -rf "${trees:?}/$name.out" "$trees/$name.logs"
    grep -q 'nodev.*overlay$' /proc/filesystems || cannot_be "no overlay file system"
    start=$(date +%s)
    debian_tree "debian$release" "$release" || cannot_be "Debian $release could not be fetched"
    echo "a tree of Debian $release: $(($(date +%s) - start)) s"
    run=$trees/$name.run
    packages=$trees/debian$release.packages
    rm -rf "$run"
    mkdir -p "$run/upper/weir" "$run/work" "$run/tree" "$packages/partial"
    trap 'rm -rf "$run"' EXIT
    trap 'exit 130' INT TERM HUP
    tar -c -C "$root" --exclude=./.git --exclude='./build*' --exclude=__pycache__ . |
        tar -x -C "$run/upper/weir"
    mkdir -p "$run/upper/etc"
    cp -L /etc/resolv.conf "$run/upper/etc/resolv.conf" 2>/dev/null || : >"$run/upper/etc/resolv.conf"
    # The installer writes it; debootstrap does not.
    printf '127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost\n' >"$run/upper/etc/hosts"
    # shellcheck disable=SC2016  # the inner shell expands it
    unshare --mount --propagation private --pid --fork --kill-child sh -c '
        run=$1 lower=$2 packages=$3
        shift 3
        mount -t overlay overlay -o "lowerdir=$lower,upperdir=$run/upper,workdir=$run/work" "$run/tree" &&
            mount -t proc proc "$run/tree/proc" && mount --rbind /sys "$run/tree/sys" &&
            mount --rbind /dev "$run/tree/dev" && mount -t tmpfs tmpfs "$run/tree/run" &&
            mount --bind "$packages" "$run/tree/var/cache/apt/archives" || exit 77
        exec chroot "$run/tree" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
            sh -c "cd /weir && exec sh \"\$@\"" sh "$@"' \
        sh "$run" "$trees/debian$release" "$packages" "$@" >"$trees/$name.out" 2>&1 </dev/null
    code=$?
    [ "$code" != 77 ] || { tail -n 5 "$trees/$name.out"; cannot_be "the tree cannot be mounted"; }
    cp -R "$run/upper/weir/build/log" "$trees/$name.logs" 2>/dev/null
    return $code
)
