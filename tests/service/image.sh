#!/bin/sh
# SPDX-License-Identifier: MIT
#
# image.sh - builds the image of the Dockerfile, runs it, runs its health check and stops it.
#
#   sh tests/service/image.sh
#   sh tests/service/image.sh --prepare    only makes the base
#
# Needs root, buildah and debootstrap; prints the reason if it cannot run. Uses no registry: its
# debian:13-slim is a Debian from this machine's mirror, stored in build/trees like everything else. The
# image's command and health check run in a chroot as the image's user, in a network namespace of their own.
# The last line is `N passed, N failed` or `N passed, N failed, N skipped`.

root=$(CDPATH= cd -- "$(dirname -- "$0")/../.." && pwd)
. "$root/tests/lib.sh"
. "$root/tests/service/debian.sh"
cd "$root" || exit 1

[ "$(id -u)" = 0 ] || cannot_be "not root"
for program in buildah debootstrap unshare setpriv; do
    command -v "$program" >/dev/null || cannot_be "no $program"
done

storage() {
    buildah --root "$trees/storage" --runroot "$trees/storage-run" --storage-driver vfs "$@"
}

passed=0 failed=0
test_that() {
    what=$1
    shift
    if "$@"; then
        echo "ok  $what"
        passed=$((passed + 1))
    else
        echo "FAILED  $what"
        failed=$((failed + 1))
    fi
}

end() {
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
}

# Every change to the source leaves a layer, which is a full copy here: start over before there are many.
room=$(du -sm "$trees/storage" 2>/dev/null | cut -f 1)
[ "${room:-0}" -lt 6000 ] || rm -rf "${trees:?}/storage" "$trees/storage-run"

# The base image is created once; a kept layer has what the build stage installs.
base=localhost/debian:13-slim
start=$(date +%s)
debian_tree debian13 13 || cannot_be "Debian 13 could not be fetched"
if ! storage inspect --type image "$base" >/dev/null 2>&1; then
    from=$(storage from scratch) && storage copy --quiet "$from" "$trees/debian13" / >/dev/null &&
        storage commit --quiet "$from" "$base" >/dev/null && storage rm "$from" >/dev/null ||
        cannot_be "buildah cannot make an image here"
fi
echo "the base: $(($(date +%s) - start)) s"
[ "${1:-}" != --prepare ] || exit 0

start=$(date +%s)
log=$trees/image.log
if ! timeout --foreground 1500 buildah --root "$trees/storage" --runroot "$trees/storage-run" \
    --storage-driver vfs bud --isolation chroot --pull-never --from "$base" --layers --format docker \
    -t localhost/weir-test . >"$log" 2>&1 </dev/null; then
    tail -n 15 "$log"
    test_that "the image is built" false
    end
fi
test_that "the image is built" true
echo "the build: $(($(date +%s) - start)) s"

box=$(storage from --pull-never localhost/weir-test) || exit 1
folder=$(storage mount "$box")
about=$(storage inspect --type image localhost/weir-test)
work=$(mktemp -d)
cleanup() {
    [ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null
    storage umount "$box" >/dev/null
    storage rm "$box" >/dev/null
    rm -rf "$work"
}
daemon=
trap cleanup EXIT
trap 'exit 130' INT TERM HUP

# about KEY: a value of the image's configuration; for a list, one word per line
about() {
    printf '%s' "$about" | "$PYTHON" -c '
import json, sys
value = json.load(sys.stdin)["Docker"]["config"].get(sys.argv[1])
value = value["Test"][1:] if sys.argv[1] == "Healthcheck" else value
print("\n".join(value) if isinstance(value, (list, dict)) else value or "")' "$1"
}

user=$(about User)
command="$(about Entrypoint | tr '\n' ' ') $(about Cmd | tr '\n' ' ')"
health=$(about Healthcheck | tr '\n' ' ')

# in_image WORD...: a command in the image's files, as the image's user
in_image() {
    # shellcheck disable=SC2086  # words
    env -i PATH=/usr/bin "$CHROOT" --userspec="$user" --groups="" "$folder" $*
}
CHROOT=$(command -v chroot)

log_of_it=$work/log
starts() {
    # shellcheck disable=SC2086  # words
    env -i PATH=/usr/bin /usr/bin/unshare --net "$CHROOT" --userspec="$user" --groups="" "$folder" \
        $command >"$log_of_it" 2>&1 </dev/null &
    daemon=$!
    for _ in $(seq 1200); do
        ! grep -q ' ready: ' "$log_of_it" || return 0
        kill -0 "$daemon" 2>/dev/null || break
        sleep 0.05
    done
    cat "$log_of_it"
    return 1
}

code_is() {
    want=$1
    shift
    "$@" >"$work/out" 2>&1
    code=$?
    [ "$code" = "$want" ] || { cat "$work/out"; echo "exit code $code, not $want"; return 1; }
}

ends_by_term() {
    kill -TERM "$daemon"
    wait "$daemon"
    code=$?
    daemon=
    [ "$code" = 0 ] || { cat "$log_of_it"; echo "exit code $code"; return 1; }
}

is_number() { case ${user%:*} in '' | 0 | *[!0-9]*) return 1 ;; esac; }
runs_as_it() { [ "$(stat -c %u "/proc/$daemon")" = "${user%:*}" ]; }
exposes() { about ExposedPorts | grep -qx 8080/tcp; }
is_small() { [ "$kilobytes" -lt 20000 ]; }

kilobytes=$(du -sk "$folder" | cut -f 1)
echo "the image: $kilobytes KiB; files: $(find "$folder" -type f | wc -l)"
test_that "it is small" is_small
test_that "its user is a number, and not root" is_number
test_that "it exposes port 8080" exposes
test_that "its configuration is valid" in_image /usr/bin/weir -c
test_that "it starts with its own command" starts
test_that "as its user" runs_as_it
test_that "its health check says 0 while it runs" code_is 0 in_image "$health"
test_that "SIGTERM ends it with 0" ends_by_term
test_that "its health check says 3 afterwards" code_is 3 in_image "$health"
end
