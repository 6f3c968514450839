# SPDX-License-Identifier: MIT
#
# lib.sh - functions shared by the scripts: missing packages, build directories, test counts.
#
# Sourced by the scripts of tests/, bench/ and conf/demo.sh. POSIX sh. The caller sets `root` (the checkout)
# before it sources this file.

PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH
# Debian's Python: only this one has Debian's pytest. What it compiles goes to the build directory: without it
# each of the many processes of a run of the tests would compile all of them again, three seconds of work.
PYTHON=/usr/bin/python3
unset PYTHONDONTWRITEBYTECODE
export PATH PYTHONPYCACHEPREFIX="$root/build/pycache" LC_ALL=C.UTF-8

# Runs a command as root.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

can_be_root() {
    [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null
}

# leave_bare_chroot SCRIPT ARGUMENT... runs the script again where `/` is a mount point, if it is not one
# here: in a bare chroot, no process can make its mounts private, which network namespaces and many tests
# need. The new root is a private copy of this one, in a mount namespace that ends with the script; it is
# mounted below /proc, because /proc can be made private first, so no mount propagates to the outside.
leave_bare_chroot() {
    if [ "$(id -u)" != 0 ] || mountpoint -q / || ! mountpoint -q /proc ||
        ! unshare --mount --propagation unchanged true 2>/dev/null; then
        return 0
    fi
    # shellcheck disable=SC2016  # the inner shell expands it
    exec unshare --mount --propagation unchanged sh -c '
        mount --make-private /proc && mount -t tmpfs none /proc/fs && mkdir /proc/fs/root &&
            mount --rbind / /proc/fs/root && mount --make-rprivate /proc/fs/root || exit 3
        exec chroot /proc/fs/root sh -c '"'"'cd "$0" && exec sh "$@"'"'"' "$@"' sh "$(pwd)" "$@"
}

# missing_packages PACKAGE... prints the packages that are not installed.
missing_packages() {
    for package; do
        case $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) in
            installed) ;;
            *) printf ' %s' "$package" ;;
        esac
    done
}

apt_quietly() {
    as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 RUNLEVEL=1 \
        apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" </dev/null
}

# Installs under a policy that starts no service; an existing policy stays.
install_packages() (
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        trap 'as_root rm -f "$policy"' EXIT
        trap 'exit 130' INT TERM HUP
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
        as_root chmod 755 "$policy"
    fi
    apt_quietly update && apt_quietly install --no-install-recommends "$@"
)

# need_packages LOG PACKAGE... installs the missing packages and names them; silent if none is missing.
need_packages() {
    log=$1
    shift
    if ! command -v dpkg-query >/dev/null 2>&1; then
        echo "This is not Debian: install these packages yourself (names as in Debian):"
        echo "  $*"
        return 0
    fi
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    if ! can_be_root; then
        echo "Some packages are missing, and only root can install them. Run this first:"
        echo "  apt-get install --no-install-recommends$missing"
        return 1
    fi
    echo "installing:$missing"
    mkdir -p "$(dirname "$log")"
    # shellcheck disable=SC2086  # a list of words
    if ! install_packages $missing >"$log" 2>&1; then
        tail -n 20 "$log"
        echo "The installation failed (full output: $log). Install the missing packages:"
        echo "  apt-get install --no-install-recommends$missing"
        return 1
    fi
}

# build_setup FOLDER OPTION... prepares the directory for ninja; does nothing if it is ready.
# An option is written -Dname=value; CC takes effect only the first time.
build_setup() {
    folder=$1
    shift
    if [ -f "$folder/build.ninja" ] && build_is_here "$folder"; then
        wrong=$(build_options_wrong "$folder" "$@")
        [ -z "$wrong" ] || echo "$wrong" | tr '\n' '\0' | xargs -0 meson configure "$folder"
    else
        # Whatever a copy or a failed setup left; build/log and build/traffic stay.
        for thing in build.ninja .ninja_deps .ninja_log meson-info meson-private src tests bench; do
            rm -rf "${folder:?}/$thing"
        done
        meson setup "$folder" "$root" "$@"
    fi
}

# Was this directory created for this checkout, and not copied from another one?
build_is_here() {
    "$PYTHON" - "$1" "$root" <<'PY'
import json, os, sys
try:
    info = json.load(open(os.path.join(sys.argv[1], "meson-info", "meson-info.json")))
    dirs = info["directories"]
    ok = [os.path.realpath(dirs["source"]), os.path.realpath(dirs["build"])] == \
        [os.path.realpath(sys.argv[2]), os.path.realpath(sys.argv[1])]
except (OSError, ValueError, KeyError):
    ok = False
sys.exit(not ok)
PY
}

# Prints the options that the directory does not have yet, one a line.
build_options_wrong() {
    "$PYTHON" - "$@" <<'PY'
import json, os, sys
options = json.load(open(os.path.join(sys.argv[1], "meson-info", "intro-buildoptions.json")))
have = {o["name"]: o["value"] for o in options}
for option in sys.argv[2:]:
    name, want = option[2:].split("=", 1)
    value = have.get(name)
    if isinstance(value, bool):
        value = "true" if value else "false"
    elif isinstance(value, list):
        value = want if value == want.replace(",", " ").split() else " ".join(value)
    if str(value) != want:
        print(option)
PY
}

# count_meson JSON [fine] prints "N passed, N failed, N skipped" for a log of `meson test`: a cmocka program
# counts as its cases, any other program as one. Before that, why cases failed, as `meson test` shows only the
# end of an output. With `fine`, what failed passed later.
count_meson() {
    "$PYTHON" - "$@" <<'PY'
import json, re, sys
fine = len(sys.argv) > 2
passed = failed = skipped = 0
for line in open(sys.argv[1], errors="replace"):
    test = json.loads(line)
    text = (test.get("stdout") or "") + "\n" + (test.get("stderr") or "")
    names = lambda word: set(re.findall(r"(?m)^\[ +%s +\] (\w+)$" % word, text))
    good, bad, left = names("OK"), names("FAILED"), names("SKIPPED")
    if test["result"] == "SKIP":
        skipped += 1
        continue
    skipped += len(left)
    if test["result"] in ("OK", "EXPECTEDFAIL"):
        passed += len(good) or not left
        continue
    print(*re.findall(r"(?m)^\[ +(?:ERROR|LINE) +\] .*\n", text), sep="", end="")
    if fine:
        passed += len(good | bad) or 1
    else:
        passed += len(good - bad)
        failed += len(bad) or 1
print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
PY
}

# count_pytest LOG [fine] does the same for the output of pytest.
count_pytest() {
    "$PYTHON" - "$@" <<'PY'
import re, sys
text = open(sys.argv[1], errors="replace").read()
last = [line for line in text.splitlines() if re.search(r"\bin [\d.]+s\b", line)][-1:]
have = {word.rstrip("s"): int(n) for n, word in re.findall(r"(\d+) (\w+)", "".join(last))}
passed, failed = have.get("passed", 0) + have.get("xpassed", 0), have.get("failed", 0)
errors, skipped = have.get("error", 0), have.get("skipped", 0) + have.get("xfailed", 0)
if len(sys.argv) > 2:    # a test that passed before an error at its teardown is counted already
    passed += failed + len(re.findall(r"(?m)^_+ ERROR at setup of ", text))
    failed = errors = 0
print("%d passed, %d failed, %d skipped" % (passed, failed + errors, skipped))
PY
}
