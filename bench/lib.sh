# SPDX-License-Identifier: MIT
#
# lib.sh - what the scripts of bench/ share: packages and a release build. The caller sets `root`.

. "$root/tests/lib.sh"

# bench_packages PACKAGE... installs missing build packages, and these.
bench_packages() {
    need_packages "$root/build-bench/log/install.log" gcc libc6-dev meson ninja-build pkg-config libev-dev \
        libinih-dev liburing-dev libmicrohttpd-dev python3 "$@"
}

# A release build as a packager makes it, with the programs in bench/.
bench_build() {
    bench_log=$root/build-bench/log/build.log
    mkdir -p "$root/build-bench/log"
    if ! build_setup "$root/build-bench" -Dbuildtype=release -Dtests=false -Dbench=true >"$bench_log" 2>&1 ||
        ! ninja -C "$root/build-bench" >>"$bench_log" 2>&1; then
        tail -n 20 "$bench_log"
        echo "The build failed: $bench_log"
        return 1
    fi
}
