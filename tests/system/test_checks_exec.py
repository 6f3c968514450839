# SPDX-License-Identifier: MIT
"""Danger: a program that checks a server gets more than HAProxy gives it, outlives its check, leaves zombies
and descriptors, holds up the control loop, or is run although a stranger could have changed it."""

import csv
import io
import json
import mmap
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

import pytest

from harness import process
from harness import daemon as daemons
from harness.scripts import USER, Scripts
from harness.show_stat import NO_SERVER, listen, stat, wait_stat
from harness.timing import PATIENCE, SCALE, wait_until

ROOT = os.geteuid() == 0


def ms(number):
    """A time that a slow machine stretches."""
    return f"{int(number * SCALE)}ms"


CALM = f"check-interval = {ms(200)}\ncheck-timeout = {ms(4000)}"
ALLOW = USER + "exec-checks = 8"


@pytest.fixture
def scripts():
    one = Scripts()
    if one.folder is None:
        pytest.skip("no folder that others cannot change, for the programs")
    yield one
    one.close()


@pytest.fixture
def weir(weir):
    """A daemon whose programs have ended before its descriptors are counted at the end."""
    running = []

    def start(*args, **kw):
        daemon = weir(*args, **kw)
        daemon.expected_alarms = NO_SERVER
        running.append(daemon)
        return daemon

    yield start
    for daemon in running:
        if not daemon.ended:
            for row in csv.DictReader(io.StringIO(daemon.ask("show stat").lstrip("# "))):
                if row["svname"] not in ("FRONTEND", "BACKEND"):
                    daemon.ask(f"disable health {row['pxname']}/{row['svname']}")
            wait_until(lambda d=daemon: not children(d.pid), lambda d=daemon: children(d.pid))


def children(pid):
    """{process ID: state} of what has been started by its main thread and not been reaped."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        ids = f.read().split()
    found = {}
    for child in ids:
        try:
            found[int(child)] = process.state(int(child))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def is_gone(pid):
    try:
        return process.state(pid) == "Z"  # whoever inherits it takes its time
    except (FileNotFoundError, ProcessLookupError):
        return True


# ---- what a program gets ----

TELL = f"""#!{sys.executable}
import json, os, resource, signal, sys
def word(name):
    with open("/proc/self/status") as f:
        return next(line.split()[1] for line in f if line.startswith(name + ":"))
facts = {{
    "argv": sys.argv, "environ": {{k: v for k, v in os.environ.items() if k != "LC_CTYPE"}},
    "fds": {{fd: os.readlink("/proc/self/fd/" + fd) for fd in os.listdir("/proc/self/fd")
            if os.path.exists("/proc/self/fd/" + fd)}},
    "nofile": resource.getrlimit(resource.RLIMIT_NOFILE), "pgid": os.getpgid(0) == os.getpid(),
    "blocked": word("SigBlk"), "ignored": word("SigIgn"), "ambient": word("CapAmb"), "uid": os.getuid(),
}}
out = next(word[4:] for word in sys.argv + [os.environ.get("HAPROXY_SERVER_NAME", "")] if word[:4] == "out=")
where = out + "/" + os.environ["HAPROXY_PROXY_NAME"] + "." + os.environ["HAPROXY_SERVER_NAME"]
with open(where + ".new", "w") as f:
    json.dump(facts, f)
os.rename(where + ".new", where)
print("told")
"""


def wait_facts(scripts, name):
    wait_until(lambda: scripts.read(name), f"facts of {name}")
    return json.loads(scripts.read(name))


def sections(scripts, tcp, more=""):
    """Three kinds of sections, in our words; and two ports that nobody else has."""
    return (f"[listen l]\nbind = 127.0.0.1:{tcp[0]}\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:9 maxconn=7\n"
            f"server u = unix:{scripts.out}/server.sock\nserver six = [::1]:9\n{more}"
            f"[listen any]\nbind = :{tcp[1]}\nserver a = 127.0.0.1:9 check-port=77\n{more}"
            f"[listen un]\nbind = unix:{scripts.out}/un.sock\nserver a = 127.0.0.1:9\n{more}"
            f"[frontend f]\nbind = 127.0.0.1:0\ndefault-backend = b\n"
            f"[backend b]\nserver a = 127.0.0.1:9 maxconn=3\n{more}")


NAMES = ("l.a", "l.u", "l.six", "any.a", "un.a", "b.a")


def hold_everywhere():
    """A port that is reserved at every address: one of the binds is a wildcard."""
    sock = socket.socket(socket.AF_INET6)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.bind(("::", 0))
    return sock


def haproxy_of(folder, scripts, program, tcp):
    check = (f" option external-check\n external-check command {program}\n"
             ' external-check path "/usr/bin:/bin"\n')
    config = os.path.join(folder, "h.cfg")
    with open(config, "w", encoding="utf-8") as f:
        f.write("global\n external-check\n insecure-fork-wanted\ndefaults\n mode tcp\n timeout connect 1s\n"
                " timeout client 1s\n timeout server 1s\n"
                f"listen l\n{check} bind 127.0.0.1:{tcp[0]}\n bind 127.0.0.1:{tcp[2]}\n"
                f" server a 127.0.0.1:9 check maxconn 7\n server u unix@{scripts.out}/server.sock check\n"
                " server six [::1]:9 check\n"
                f"listen any\n{check} bind :{tcp[1]}\n server a 127.0.0.1:9 check port 77\n"
                f"listen un\n{check} bind unix@{scripts.out}/un.sock\n server a 127.0.0.1:9 check\n"
                f"frontend f\n bind 127.0.0.1:{tcp[3]}\n default_backend b\n"
                f"backend b\n{check} server a 127.0.0.1:9 check maxconn 3\n")
    with open(os.path.join(folder, "h.log"), "wb") as log:
        return subprocess.Popen(["haproxy", "-db", "-f", config], stdin=subprocess.DEVNULL, stdout=log,
                                stderr=log)


@pytest.mark.skipif(not shutil.which("haproxy"), reason="no haproxy")
def test_arguments_and_environment_are_those_of_haproxy(scripts, weir, folder, closing):
    held = [hold_everywhere() for _ in range(4)]
    closing.extend(held)
    tcp = [sock.getsockname()[1] for sock in held]
    # HAProxy passes no arguments of ours: its program has the folder in its text.
    text = TELL.replace("out = next(", f"out = {scripts.out + '/h'!r} or next(")
    os.mkdir(scripts.out + "/h", 0o777)
    os.chmod(scripts.out + "/h", 0o777)
    peer = haproxy_of(folder, scripts, scripts.write("tell-h", text), tcp)
    try:
        theirs = {name: wait_facts(scripts, "h/" + name) for name in NAMES}
    finally:
        peer.kill()
        peer.wait(PATIENCE)
    for name in ("un.sock", "server.sock"):
        if os.path.exists(scripts.path(name)):
            os.unlink(scripts.path(name))
    os.chmod(scripts.out, 0o777)
    program = scripts.write("tell", TELL)
    check = f"check = exec {program} out={scripts.out} 'a  b' \"\" path=/usr/bin:/bin\n{CALM}\n"
    weir(sections(scripts, tcp, check), ALLOW)
    for name in NAMES:
        ours = wait_facts(scripts, name)
        assert ours["argv"] == [program] + theirs[name]["argv"][1:] + [f"out={scripts.out}", "a  b", ""]
        # HAProxy numbers frontends before backends: ours have their own numbers.
        ids = ours["environ"].pop("HAPROXY_PROXY_ID"), theirs[name]["environ"].pop("HAPROXY_PROXY_ID")
        assert all(one.isdigit() for one in ids)
        assert ours["environ"] == theirs[name]["environ"], name


def test_a_program_gets_nothing_of_ours_but_its_output(scripts, weir):
    # Whoever starts weir may leave signals ignored, and descriptors open.
    wrapper = [sys.executable, "-c", "import os, resource, signal, sys\n"
               "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
               "resource.setrlimit(resource.RLIMIT_NOFILE, (777, hard))\n"
               "for number in (signal.SIGCHLD, signal.SIGUSR1, signal.SIGALRM):\n"
               "    signal.signal(number, signal.SIG_IGN)\n"
               "os.set_inheritable(os.dup2(os.open('/etc/passwd', os.O_RDONLY), 77), True)\n"
               "os.execvp(sys.argv[1], sys.argv[1:])"]
    if ROOT and shutil.which("setpriv"):
        # As the unit starts it: with a capability that programs would inherit.
        wrapper += ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                    "--inh-caps=+net_bind_service", "--ambient-caps=+net_bind_service"]
    program = scripts.write("tell", TELL)
    daemon = weir(listen(["a = 127.0.0.1:9"], f"check = exec {program} out={scripts.out}", CALM),
                  "exec-checks = 8", wrapper=wrapper)
    facts = wait_facts(scripts, "l.a")
    pipe = facts["fds"]["1"]
    assert facts["fds"] == {"0": "/dev/null", "1": pipe, "2": pipe}, facts["fds"]
    assert pipe.startswith("pipe:")
    assert facts["nofile"][0] == 777
    assert facts["pgid"] and int(facts["blocked"], 16) == 0 and int(facts["ambient"], 16) == 0
    # Python itself ignores SIGPIPE and SIGXFSZ.
    assert int(facts["ignored"], 16) & ~(1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1) == 0
    assert set(facts["environ"]) - {"PATH"} == {k for k in facts["environ"] if k.startswith("HAPROXY_")}
    assert facts["environ"]["PATH"] == "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    wait_stat(daemon, "a", check_status="PROCOK", last_chk="^told$", status="UP")


# ---- results ----

@pytest.mark.smoke
def test_status_and_last_line_are_the_result(scripts, weir):
    rows = {
        "fine": ("echo first; echo 'all is well'; echo", "PROCOK", "", "all is well"),
        "quiet": ("exit 0", "PROCOK", "", ""),
        "bad": ("echo one; printf 'disk \\033[1mfull' >&2; exit 3", "PROCERR", "3", r"disk \x1b[1mfull"),
        "mute": ("exit 4", "PROCERR", "4", "exit status 4"),
        "long": ("head -c 300 /dev/zero | tr '\\0' x; exit 1", "PROCERR", "1", "x" * 200),
        "segv": ("echo oops; kill -SEGV $$", "PROCERR", "", "killed by SIGSEGV (Segmentation fault): oops"),
        "sys": ("kill -SYS $$", "PROCERR", "",
                "killed by SIGSYS (Bad system call), "
                "a filter of system calls (SystemCallFilter= of the unit)"),
        "lost": ("#!/no/interpreter\n", "PROCERR", "",
                 "cannot run the program: its interpreter does not exist"),
        "junk": ("#!\n", "PROCERR", "", "cannot run the program: "
                 "it is neither a program of this machine nor a script that begins with #!"),
    }
    daemon = weir("".join(
        f"[listen {name}]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:9\n"
        f"check = exec {scripts.write(name, row[0])}\n{CALM}\ncheck-fall = 1\n"
        for name, row in rows.items()), ALLOW)
    for name, (_, code, status, detail) in rows.items():
        wait_until(lambda n=name: stat(daemon, "a", n)["check_duration"], f"a result of {name}")
        row = stat(daemon, "a", name)
        assert (row["check_status"].removeprefix("* "), row["check_code"], row["last_chk"]) == \
            (code, status, detail), name
        assert row["status"].startswith("UP" if code == "PROCOK" else "DOWN"), name
    wait_until(lambda: "PROCERR: exit status 4" in daemon.log(), daemon.log)


def test_a_program_that_changes_is_run_as_it_is_or_not_at_all(scripts, weir):
    path = scripts.write("chk", "echo first")
    daemon = weir(listen(["a = 127.0.0.1:9"], f"check = exec {path}", CALM, "check-fall = 1"), ALLOW)
    wait_stat(daemon, "a", last_chk="^first$", status="UP")
    scripts.write("chk", "echo second")
    wait_stat(daemon, "a", last_chk="^second$")
    os.chmod(path, 0o775)
    wait_stat(daemon, "a", last_chk=re.escape(f"not run: {path} is writable by others (mode 0775)"),
              status="DOWN")
    os.chmod(path, 0o644)
    wait_stat(daemon, "a", last_chk=re.escape(f"not run: {path} is not executable"))
    os.chmod(path, 0o755)
    wait_stat(daemon, "a", last_chk="^second$", status="UP")
    os.chmod(scripts.folder, 0o1777)
    wait_stat(daemon, "a", last_chk=re.escape(f"not run: {scripts.folder} is writable by others (mode 1777)"))
    os.chmod(scripts.folder, 0o755)
    os.unlink(path)
    wait_stat(daemon, "a", last_chk=re.escape(f"not run: {path} does not exist"))
    os.symlink("/tmp/anybody", path)
    wait_stat(daemon, "a", last_chk=r"not run: /tmp is writable by others")


# ---- the end of a program ----

def test_time_over_ends_the_whole_group(scripts, weir):
    """With SIGTERM, and with SIGKILL what ignores that, half a second later."""
    scripts.write("polite", f"trap 'echo term >>{scripts.path('heard')}; exit' TERM\nsleep 1000 & echo $! "
                  f">>{scripts.path('polite.pid')}\necho waiting\nwait")
    scripts.write("deaf", f"trap '' TERM\necho $$ >>{scripts.path('deaf.pid')}\n"
                  "while :; do sleep 1000; done")
    timeout = 300 * SCALE
    daemon = weir("".join(
        f"[listen {name}]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:9\ncheck-fall = 1\n"
        f"check = exec {scripts.folder}/{name}\ncheck-interval = {ms(3000)}\ncheck-timeout = {ms(300)}\n"
        for name in ("polite", "deaf")), ALLOW)
    for name in ("polite", "deaf"):
        wait_until(lambda n=name: stat(daemon, "a", n)["check_status"] == "PROCTOUT",
                   lambda n=name: stat(daemon, "a", n))
        assert stat(daemon, "a", name)["status"].startswith("DOWN")
        assert timeout <= int(stat(daemon, "a", name)["check_duration"]) < timeout + PATIENCE * 1000
    # On a busy machine the first one may be ended before it has said anything.
    words = re.compile(r"still running after \d+ ms: waiting")
    wait_until(lambda: words.fullmatch(stat(daemon, "a", "polite")["last_chk"]),
               lambda: stat(daemon, "a", "polite"))
    for name in ("polite", "deaf"):
        pids = wait_until(lambda n=name: scripts.read(f"{n}.pid").split(), f"the pid of {name}")
        pid = int(pids[0])
        wait_until(lambda p=pid: is_gone(p), f"process {pid} of {name} ends")
    wait_until(lambda: scripts.read("heard").startswith("term\n"), "SIGTERM came first")
    daemon.ask("set server polite/a state maint; set server deaf/a state maint")
    wait_until(lambda: not children(daemon.pid), lambda: children(daemon.pid))


def test_a_check_ends_with_its_process_whoever_holds_the_pipe(scripts, weir):
    left, stray = scripts.path("left.pid"), scripts.path("stray.pid")
    program = scripts.write("chk", f"sleep 1000 & echo $! >{left}\n"
                            f"[ -s {stray} ] || {{ setsid sleep 1000 & echo $! >{stray}; }}\n"
                            "while [ \"$(ps -o pgid= $(cat " + stray + ") | tr -d ' ')\" = $$ ]; do :; done\n"
                            "echo done")
    daemon = weir(listen(["a = 127.0.0.1:9"], f"check = exec {program}", "check-interval = 60s",
                         "check-timeout = 50s"), ALLOW)
    try:
        row = wait_stat(daemon, "a", check_status="PROCOK", last_chk="^done$")
        assert int(row["check_duration"]) < PATIENCE * 1000
        pid = int(scripts.read("left.pid"))
        wait_until(lambda: is_gone(pid), "what was left in the group ends")
        assert not is_gone(int(scripts.read("stray.pid")))  # it is nobody's business any more
        wait_until(lambda: not children(daemon.pid), lambda: children(daemon.pid))
    finally:
        os.kill(int(scripts.read("stray.pid")), signal.SIGKILL)


def test_output_is_drained_however_much_it_is(scripts, weir):
    program = scripts.write("chk", "head -c 20000000 /dev/zero | tr '\\0' '\\n'; head -c 5000000 /dev/zero; "
                            "echo; echo last; exec >&- 2>&-; sleep 0.05; exit 7")
    daemon = weir(listen(["a = 127.0.0.1:9"], f"check = exec {program}", "check-interval = 60s",
                         "check-timeout = 50s"), ALLOW)
    wait_stat(daemon, "a", check_status="PROCERR", check_code="^7$", last_chk="^last$")


# ---- how many ----

def test_waiting_is_in_order_and_not_charged(scripts, weir):
    """One place, and so many servers that each waits for longer than its timeout."""
    count, turns = 24, scripts.path("turns")
    program = scripts.write("chk", f"echo $HAPROXY_SERVER_NAME begin >>{turns}\nsleep {0.08 * SCALE}\n"
                            f"echo $HAPROXY_SERVER_NAME end >>{turns}\necho fine")
    daemon = weir(listen([f"s{n} = 127.0.0.1:9" for n in range(count)], f"check = exec {program}",
                         f"check-interval = {ms(500)}", f"check-timeout = {ms(1500)}"),
                  USER + "exec-checks = 1")
    wait_until(lambda: scripts.read("turns").count("end") >= 2 * count, lambda: scripts.read("turns"),
               PATIENCE * 3)
    lines = scripts.read("turns").splitlines()[:4 * count]
    begun = [line.split()[0] for line in lines if line.endswith("begin")]
    assert all(a.split()[0] == b.split()[0] for a, b in zip(lines[::2], lines[1::2])), lines  # never two
    assert begun[:count] == [f"s{n}" for n in range(count)]
    assert all(begun.count(f"s{n}") in (1, 2, 3) for n in range(count)), begun
    for n in range(count):
        assert stat(daemon, f"s{n}")["status"] == "UP" and stat(daemon, f"s{n}")["chkfail"] == "0"


def test_a_reload_allows_more_and_fewer_and_none(scripts, weir):
    now = scripts.path("now")
    os.mkdir(now)
    os.chmod(now, 0o777)
    program = scripts.write("chk", f"touch {now}/$$; ls {now} | wc -l; sleep {0.1 * SCALE}; rm {now}/$$")
    daemon = weir(listen([f"s{n} = 127.0.0.1:9" for n in range(6)], f"check = exec {program}",
                         f"check-interval = {ms(50)}", f"check-timeout = {ms(4000)}"),
                  USER + "exec-checks = 1")

    def most():
        return max(int(stat(daemon, f"s{n}")["last_chk"] or 0) for n in range(6))
    wait_until(lambda: all(stat(daemon, f"s{n}")["check_status"].endswith("PROCOK") for n in range(6)),
               "all are checked")
    assert most() == 1
    daemon.reload("exec-checks = 1", "exec-checks = 5")
    wait_until(lambda: most() >= 4, "several at once")
    daemon.reload("exec-checks = 5", "exec-checks = 2")
    wait_until(lambda: most() <= 2, "two at once")
    said = daemon.reload("exec-checks = 2", "exec-checks = 0", refused=True)
    assert "'check = exec' runs programs, which 'exec-checks' in [global] does not allow" in said
    daemon.reload("exec-checks = 0", "exec-checks = 0", "check = exec", "check = off #")
    wait_until(lambda: not children(daemon.pid), lambda: children(daemon.pid))


def test_a_reload_looks_at_the_program_again(scripts, weir):
    good, bad = scripts.write("good", "echo good"), scripts.write("bad", "echo bad", mode=0o775)
    daemon = weir(listen(["a = 127.0.0.1:9"], "check = tcp", CALM), ALLOW)
    said = daemon.reload("check = tcp", f"check = exec {bad}", refused=True)
    assert f"the program cannot be run: {bad} is writable by others (mode 0775)" in said
    daemon.reload(f"check = exec {bad}", f"check = exec {good}")
    wait_stat(daemon, "a", last_chk="^good$", status="UP")
    os.chmod(good, 0o757)
    assert "writable by others" in daemon.reload(refused=True)
    os.chmod(good, 0o755)
    daemon.reload()
    daemon.reload(f"check = exec {good}", "check = tcp")
    # A text that is kept was judged before, so that a rollback does not fail; the program is judged anew.
    os.chmod(good, 0o757)
    subprocess.run([daemons.BINARY, "rollback", "--pid", str(daemon.pid)], check=True, capture_output=True,
                   timeout=10 * PATIENCE)
    wait_stat(daemon, "a", last_chk=re.escape(f"not run: {good} is writable by others (mode 0757)"))
    os.chmod(good, 0o755)
    wait_stat(daemon, "a", last_chk="^good$")


def test_a_server_that_leaves_takes_its_program_along(scripts, weir):
    program = scripts.write("chk", f"trap '' TERM\necho $$ >>{scripts.path('pids')}\n"
                            "while :; do sleep 1000; done")
    daemon = weir(listen(["a = 127.0.0.1:9"], f"check = exec {program}", "check-interval = 60s"), ALLOW)
    wait_until(lambda: scripts.read("pids").count("\n"), "it runs")
    # It is ended, and the next one waits for that.
    daemon.reload(f"check = exec {program}", f"check = exec {program} more")
    wait_until(lambda: scripts.read("pids").count("\n") == 2, "it runs anew")
    first, second = (int(line) for line in scripts.read("pids").split())
    assert is_gone(first)
    daemon.ask("set server l/a state maint")
    wait_until(lambda: is_gone(second), "it ends")
    wait_until(lambda: not children(daemon.pid), lambda: children(daemon.pid))


def test_a_daemon_that_stops_leaves_no_program(scripts, weir):
    program = scripts.write("chk", f"trap '' TERM\necho $$ >{scripts.path('pid')}\n"
                            "while :; do sleep 1000; done")
    daemon = weir(listen(["a = 127.0.0.1:9"], f"check = exec {program}", "check-interval = 60s"), ALLOW)
    wait_until(lambda: scripts.read("pid"), "it runs")
    assert daemon.terminate() == 0
    wait_until(lambda: is_gone(int(scripts.read("pid"))), "it ends")


# ---- who may ----

@pytest.mark.skipif(not ROOT, reason="not root")
def test_root_runs_no_program(scripts, weir, tmp_path):
    program = scripts.write("chk", "exit 0")
    section = listen(["a = 127.0.0.1:9"], f"check = exec {program}")
    for user in ("", "user = root\n"):
        config = tmp_path / "root.ini"
        config.write_text(f"[global]\nexec-checks = 1\n{user}{section}")
        got = subprocess.run([daemons.BINARY, str(config)], capture_output=True, text=True, check=False,
                             timeout=PATIENCE)
        assert got.returncode == 1
        assert "'check = exec' of 'l'" in got.stderr and "is refused while weir runs as root" in got.stderr
        got = subprocess.run([daemons.BINARY, "-c", str(config)], capture_output=True, text=True,
                             check=False, timeout=PATIENCE)
        assert got.returncode == 0
        assert ("is refused while weir runs as root" in got.stderr) == (user == "")
    daemon = weir(listen(["a = 127.0.0.1:9"], "check = tcp", CALM), "exec-checks = 1")
    said = daemon.reload("check = tcp", f"check = exec {program}", refused=True)
    assert "is refused while weir runs as root" in said


def test_probe_runs_no_program(scripts, tmp_path):
    program = scripts.write("chk", f"touch {scripts.path('ran')}")
    config = tmp_path / "p.ini"
    config.write_text(f"[global]\nexec-checks = 1\n{USER}" +
                      listen([f"a = unix:{tmp_path}/none"], f"check = exec {program}"))
    got = subprocess.run([daemons.BINARY, "check", "--probe", str(config)], capture_output=True, text=True,
                         check=False, timeout=PATIENCE)
    assert re.search(rf"program +l +{program} +OK +not run: only a daemon runs it", got.stdout), got
    assert not scripts.read("ran") and not os.path.exists(scripts.path("ran"))


@pytest.mark.skipif(not ROOT or not shutil.which("unshare"), reason="not root, or no unshare")
def test_process_1_reaps_what_is_left_to_it(scripts, folder):
    """In a container, what leaves its group becomes a child of weir."""
    program = scripts.write("chk", "for n in 1 2 3 4 5; do setsid sh -c 'exit 1' & setsid sleep 0.05 & done; "
                            "wait; (setsid sleep 0.1 &); echo fine")
    config = os.path.join(folder, "one.ini")

    def write(allow, check):
        with open(config, "w", encoding="utf-8") as f:
            f.write(f"[global]\nadmin-socket = unix:{folder}/admin mode=666\nlog = stderr\n{allow}\n" +
                    listen(["a = 127.0.0.1:9"], check, f"check-interval = {ms(50)}",
                           f"check-timeout = {ms(4000)}"))

    def control(*words):
        return subprocess.run([daemons.BINARY, "ctl", "-s", f"{folder}/admin", *words], capture_output=True,
                              text=True, check=False, timeout=PATIENCE).stdout
    write(ALLOW, f"check = exec {program}")
    log = os.path.join(folder, "one.log")
    with open(log, "wb") as out:
        outer = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", daemons.BINARY, "-f", config],
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        def inner():
            return next(iter(children(outer.pid)), None)
        pid = wait_until(inner, "the daemon starts")

        def runs():
            return "PROCOK" in control("show", "stat")

        def reaps():
            wait_until(runs, lambda: open(log, encoding="utf-8").read())
            end = time.monotonic() + 1.0
            while time.monotonic() < end:
                assert sum(s == "Z" for s in children(pid).values()) < 20
                time.sleep(0.02)
        reaps()
        # No program is allowed any more, and then they are again.
        write(USER, "check = tcp")
        assert "reloaded" in control("reload")
        wait_until(lambda: not runs() and not children(pid), lambda: children(pid))
        write(ALLOW, f"check = exec {program}")
        assert "reloaded" in control("reload")
        reaps()
        control("set", "server", "l/a", "state", "maint")
        wait_until(lambda: not children(pid), lambda: children(pid))
    finally:
        for left in children(outer.pid):    # --kill-child ends where the daemon changes its user
            os.kill(left, signal.SIGKILL)
        outer.kill()
        outer.wait(PATIENCE)


# ---- hostile programs ----

KINDS = {
    "good": "echo fine",
    "bad": "echo broken >&2; exit 1",
    "hang": "exec sleep 1000",
    "deaf": "trap '' TERM HUP INT; while :; do sleep 1000; done",
    "stray": "setsid sleep 0.2 & exit 0",
    "forks": "for n in 1 2 3 4; do sleep 1000 & done; exit 0",
    "loud": "head -c 2000000 /dev/zero",
    "closes": "exec >&- 2>&-; exec sleep 1000",
    "killed": "kill -KILL $$",
    "lost": "#!/no/interpreter\n",
    "junk": "#!\n",
    "holds": "(setsid sleep 0.3; echo late) & exit 2",
}
TURN_MS = 10


@pytest.mark.smoke
def test_500_runs_of_hostile_programs_leave_nothing(scripts, weir, folder):
    preload = os.path.join(os.environ.get("WEIR_BUILD", ""), "tests", "storm", "control_turns.so")
    measured = os.path.exists(preload) and not daemons.sanitized()
    turns = os.path.join(folder, "turns")
    with open(turns, "wb") as f:
        f.write(bytes(16))
    counted = scripts.path("counted")
    for kind, text in KINDS.items():
        count = f"echo {kind} >>{counted}\n"
        scripts.write(kind, text if text.startswith("#!") else count + text)
    servers = "".join(
        f"[listen {kind}]\nbind = 127.0.0.1:0\ncheck = exec {scripts.folder}/{kind}\n"
        f"check-interval = {ms(40)}\n"
        f"check-timeout = {ms(40 if kind in ('hang', 'deaf', 'closes') else 2000)}\n"
        "server a = 127.0.0.1:9\nserver b = 127.0.0.1:9\n" for kind in KINDS)
    environment = {"LD_PRELOAD": preload, "WEIR_TURNS": turns} if measured else None
    daemon = weir(servers, USER + "exec-checks = 12\nlog = stderr level=notice", environment=environment)
    with open(turns, "r+b") as f, mmap.mmap(f.fileno(), 16) as longest:
        longest[:8] = bytes(8)
        wait_until(lambda: scripts.read("counted").count("\n") >= 500 or swap(scripts),
                   lambda: scripts.read("counted").count("\n"), 4 * PATIENCE)
        longest_ms = struct.unpack("q", longest[:8])[0] / 1e6
    runs = scripts.read("counted")
    rare = [kind for kind in KINDS if runs.count(f"{kind}\n") < 2 and kind not in ("lost", "junk")]
    assert not rare  # one that is deaf takes half a second longer
    daemon.reload(daemon.config.replace("check = exec", "check = off #"))
    wait_until(lambda: not children(daemon.pid), lambda: children(daemon.pid))
    print(f"longest turn of control: {longest_ms:.2f} ms")
    assert not measured or 0 < longest_ms < TURN_MS * SCALE


def swap(scripts):
    """Replaces the program that hangs by another, and removes one for a moment."""
    scripts.write("hang", f"echo hang >>{scripts.path('counted')}\nexec sleep 1000")
    path = os.path.join(scripts.folder, "bad")
    os.rename(path, path + ".away")
    os.rename(path + ".away", path)
    time.sleep(0.01)
    return False
