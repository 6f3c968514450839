# SPDX-License-Identifier: MIT
"""The command line: what each verb and flag prints, where, and with which exit code.

Runs the binary named by WEIR_BIN (build/src/weir). Needs no network and binds no port.
"""

import json
import os
import pty
import re
import socket
import subprocess
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WEIR = os.environ.get("WEIR_BIN", str(ROOT / "build/src/weir"))
WAIT_S = float(os.environ.get("WEIR_TEST_WAIT", "20"))
# So that root, who runs the tests, is not warned of staying root.
NOT_ROOT = "[global]\nuser = root\n"
GOOD = "[listen web]\nbind = 127.0.0.1:0\nserver a = 10.0.0.1:80\n"


def run(*args, env=None, cwd=None):
    return subprocess.run(
        [WEIR, *map(str, args)], capture_output=True, text=True, timeout=WAIT_S, cwd=cwd,
        env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL)


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.ini"
    path.write_text(GOOD)
    return path


@pytest.fixture
def bad(tmp_path):
    path = tmp_path / "bad.ini"
    path.write_text(GOOD + "timeout-connect = 5000\n")
    return path


SUMMARY = "ok (1 frontend, 1 backend, 1 server, 0 includes, 0 warnings)\n"


@pytest.mark.parametrize("args", [
    ["-c"], ["-t"], ["check"], ["-c", "-f"], ["check", "-f"], ["check", "--format=text"]])
def test_check_says_one_line_for_a_good_file(good, args):
    good.write_text(GOOD + NOT_ROOT)
    got = run(*args, good)
    assert (got.returncode, got.stdout, got.stderr) == (0, f"{good}: {SUMMARY}", "")


def test_check_shows_every_error_and_ends_with_1(bad):
    got = run("-c", bad)
    assert (got.returncode, got.stdout) == (1, "")
    assert got.stderr == (
        f"{bad}:4:19: error: 'timeout-connect' needs a unit\n"
        "  4 | timeout-connect = 5000\n"
        "    |                   ^^^^ write 5000ms or 5s"
        " (HAProxy reads a bare number as milliseconds, nginx as seconds)\n"
        f"{bad}: 1 error, 0 warnings. The running configuration is unchanged.\n")


def test_check_as_json_shows_every_message_to_stdout(tmp_path, good):
    path = tmp_path / "bad.ini"
    path.write_bytes(GOOD.encode() + b"user = '\xff\"\t'\n" + b"zzz = 1\n" * 30 + b"[backend empty]\n")
    got = run("check", "--format=json", path)
    assert (got.returncode, got.stderr) == (1, "")
    said = json.loads(got.stdout)
    assert (said["file"], said["ok"], said["errors"], said["warnings"]) == (str(path), False, 31, 1)
    assert len(said["messages"]) == 32  # no cap
    assert said["messages"][1] == {
        "file": str(path), "line": 5, "col": 1, "len": 3, "severity": "error", "code": "unknown-key",
        "message": "unknown key 'zzz'", "hint": "see 'weir help'"}
    assert said["messages"][31]["severity"] == "warning"
    assert run("check", "--json", path).stdout == got.stdout

    got = run("check", "--format=json", good)
    assert (got.returncode, got.stderr) == (0, "")
    assert json.loads(got.stdout) == {
        "file": str(good), "ok": True, "errors": 0, "warnings": 0, "frontends": 1, "backends": 1,
        "servers": 1, "includes": 0, "ranges": [], "source_rates": [], "sticky_tables": [],
        "messages": []}


def test_check_as_json_has_what_lines_cost(tmp_path):
    path = tmp_path / "costs.ini"
    path.write_text("[global]\nthreads = 2\n[listen ftp]\nbind = 127.0.0.1:20000-20999\nbind = :2121\n"
                    "server a = 127.0.0.1:*\nrate-limit-per-source = 5/1s\nsticky = src size=100k\n" + GOOD)
    said = json.loads(run("check", "--json", path).stdout)
    each = 2304 + 2 * 256, 3840 + 2 * 256
    assert said["ranges"] == [{
        "frontend": "ftp", "address": "127.0.0.1:20000-20999", "file": str(path), "line": 4,
        "descriptors": 1000, "memory_bytes": 1000 * sum(each), "kernel_memory_bytes": 1000 * each[1]}]
    rate = said["source_rates"].pop()
    assert 2_000_000 < rate.pop("memory_bytes") < 3 * 2**20
    assert rate == {"frontend": "ftp", "file": str(path), "line": 3, "sources": 100_000}
    assert said["source_rates"] == []
    table = said["sticky_tables"].pop()
    assert 4_000_000 < table.pop("memory_bytes") < 5_000_000
    assert table == {"backend": "ftp", "file": str(path), "line": 3, "clients": 100 * 1024}
    assert said["sticky_tables"] == []
    path.write_text("[listen a]\nbind = 127.0.0.1:1\nsticky = dst size=1000\nserver a = 127.0.0.1:2\n"
                    "server b = 127.0.0.1:3\n")
    (addresses,) = json.loads(run("check", "--json", path).stdout)["sticky_tables"]
    path.write_text(path.read_text().replace("dst", "src"))
    (clients,) = json.loads(run("check", "--json", path).stdout)["sticky_tables"]
    assert addresses.pop("addresses") == clients.pop("clients") == 1000
    assert addresses.pop("memory_bytes") - clients.pop("memory_bytes") == 1001 * 8
    assert addresses == clients
    # A file that is refused has none of it.
    path.write_text("[listen ftp]\nbind = 127.0.0.1:20000-20999\n")
    said = json.loads(run("check", "--json", path).stdout)
    assert not {"ranges", "source_rates", "sticky_tables"} & set(said)


def test_an_include_that_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for name, why in [("fifo", "it is not a regular file"), ("/dev/zero", "it is not a regular file"),
                      (".", "Is a directory"), ("fif*", "it is not a regular file")]:
        path = tmp_path / "main.ini"
        path.write_text(f"[global]\ninclude = {name}\n" + GOOD)
        got = run("-c", path)
        assert got.returncode == 1
        assert f"{path}:2:11: error: cannot read" in got.stderr
        assert why in got.stderr
    (tmp_path / "d").mkdir()
    os.mkfifo(tmp_path / "d" / "x.ini")
    assert "it is not a regular file" in run("-c", tmp_path / "d").stderr


def test_run_refuses_a_bad_file_with_the_same_text(bad):
    assert run(bad).stderr == run("-c", bad).stderr
    assert run(bad).returncode == 1
    assert run("-q", bad).stderr == run("-c", bad).stderr


def test_quiet_check_says_nothing(good):
    got = run("-q", "-c", good)
    assert (got.returncode, got.stdout, got.stderr) == (0, "", "")


def test_quiet_leaves_warnings_out(tmp_path):
    path = tmp_path / "w.ini"
    path.write_text(GOOD + "[backend empty]\n")
    assert "warning: [backend empty] has no server" in run("-c", path).stderr
    got = run("-q", "-c", path)
    assert (got.returncode, got.stderr) == (0, "")


def without_origins(text):
    return [line.split(" # ")[0].rstrip() for line in text.splitlines()[1:]]


def test_effective_file_reads_back(good, tmp_path):
    first = run("-T", good)
    assert first.returncode == 0
    assert first.stdout.startswith(f"# {good}: ok (")
    again = tmp_path / "again.ini"
    again.write_text(first.stdout)
    second = run("-T", again)
    assert second.returncode == 0
    # All but the comments: they name the file that it was read from.
    assert without_origins(second.stdout) == without_origins(first.stdout)
    assert f"\nbind = 127.0.0.1:0{' ' * 27}# {good}:2\n" in first.stdout


def test_effective_file_of_sections_without_checks_and_queues_does_not_warn(tmp_path):
    plain, again = tmp_path / "plain.ini", tmp_path / "again.ini"
    plain.write_text("[defaults]\ntimeout-queue = 9s\ncheck-rise = 5\n"
                     "[listen a]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:1\n"
                     "[frontend f]\nbind = 127.0.0.1:0\ndefault-backend = b\n"
                     "[backend b]\nserver a = 127.0.0.1:1 maxconn=1\n")
    first = run("-T", plain)
    assert (first.returncode, first.stderr) == (0, "")
    again.write_text(first.stdout)
    second = run("-T", again)
    assert (second.returncode, second.stderr) == (0, "")
    assert without_origins(second.stdout) == without_origins(first.stdout)
    assert "timeout-queue = 9s" in second.stdout.split("[listen a]")[0]
    assert "timeout-queue = 9s" in second.stdout.split("[backend b]")[1]


def test_overrides_are_in_the_effective_file(good):
    got = run("-T", "-o", "global.threads=2", "-o", "listen web.maxconn=10", good)
    assert got.returncode == 0
    assert f"\nthreads = 2{' ' * 34}# -o global.threads=2\n" in got.stdout
    assert f"\nmaxconn = 10{' ' * 33}# -o 'listen web.maxconn=10'\n" in got.stdout
    got = run("-c", "-o", "global.thread=2", good)
    assert got.returncode == 1
    assert "-o:1:8: error: unknown key 'thread'" in got.stderr
    assert "did you mean 'threads'?" in got.stderr


def test_a_directory_and_several_files_are_one_configuration(tmp_path, good):
    other = tmp_path / "d"
    other.mkdir()
    (other / "x.ini").write_text("[listen two]\nbind = 127.0.0.1:0\nserver a = 10.0.0.1:80\n")
    got = run("-c", "-f", good, "-f", other)
    assert got.returncode == 0
    assert "(2 frontends, 2 backends, 2 servers," in got.stdout


def test_a_missing_file_is_named(tmp_path):
    got = run("-c", tmp_path / "none.ini")
    assert got.returncode == 1
    assert "none.ini: error: cannot read" in got.stderr


def test_a_pipe_is_a_file(good):
    got = subprocess.run(
        [WEIR, "-c", "/dev/stdin"], input=GOOD, capture_output=True, text=True, timeout=WAIT_S)
    assert (got.returncode, got.stdout) == (0, f"/dev/stdin: {SUMMARY}")


@pytest.mark.parametrize("args, nearest", [
    (["chekc"], "check"), (["forwrad", ":80", "x:80"], "forward"),
    (["forward", "--print-confg"], "--print-config"), (["check", "--fromat=text"], "--format"),
    (["help", "timout-connect"], "timeout-connect"), (["-s", "reopne"], "reopen"),
    (["-s", "relaod"], "reload"), (["relaod"], "reload"), (["reload", "--wiat"], "--wait"),
    (["top", "--onec"], "--once"), (["help", "helthcheck"], "healthcheck"), (["helthcheck"], "healthcheck")])
def test_unknown_words_suggest_the_nearest(args, nearest):
    got = run(*args)
    assert (got.returncode, got.stdout) == (2, "")
    assert f"did you mean '{nearest}'?" in got.stderr


@pytest.mark.parametrize("args", [
    ["-Z"], ["-f"], ["-o"], ["a.ini", "b.ini"], ["ctl"], ["forward"], ["forward", ":80"], ["-Z", "check"],
    ["forward", ":80\n[x]", "a:1"], ["forward", "", "a:1"], [""], ["--probe"], ["-s"], ["-s", "kill"],
    ["-p"], ["ctl", "a\nb"], ["status", "-D"]])
def test_a_wrong_command_line_ends_with_2(args):
    got = run(*args)
    assert (got.returncode, got.stdout) == (2, "")
    assert got.stderr.startswith("weir: ")


def test_forward_shows_the_file_that_it_would_be(tmp_path):
    got = run("forward", "--print-config", ":8080", "10.0.0.1:80", "unix:/run/app.sock weight=2")
    assert (got.returncode, got.stderr) == (0, "")
    assert got.stdout == ("[listen forward]\nbind = :8080\nserver s1 = 10.0.0.1:80\n"
                          "server s2 = unix:/run/app.sock weight=2\n")
    path = tmp_path / "f.ini"
    path.write_text(got.stdout)
    assert run("-c", path).returncode == 0


def test_forward_shows_an_error_in_its_arguments():
    got = run("forward", ":8080", "10.0.0.1")
    assert (got.returncode, got.stdout) == (1, "")
    assert "forward:3:" in got.stderr
    assert "  3 | server s1 = 10.0.0.1\n" in got.stderr
    assert run("forward", "-o", "listen forward.maxconn=x", ":8080", "10.0.0.1:80").returncode == 1


@pytest.mark.parametrize("args", [["version"], ["-v"], ["-V"], ["--version"]])
def test_version_is_one_line(args):
    got = run(*args)
    assert (got.returncode, got.stderr) == (0, "")
    assert got.stdout.startswith("weir ")
    assert got.stdout.count("\n") == 1


def test_build_names_compiler_drivers_and_libraries():
    got = run("-vv")
    assert got.returncode == 0
    for word in ("build:     ", "compiler:  ", "drivers:   epoll", "; driver = auto is ", "glibc 2.",
                 "libev 4.", "inih ", "kernel:    Linux ", "\nio_uring:  "):
        assert word in got.stdout
    built = "epoll, io_uring;" in got.stdout
    assert bool(re.search(r"(?m)^libraries: .*, liburing \d+\.\d+(, |$)", got.stdout)) == built


def test_the_documents_say_what_auto_is():
    auto = re.search(r"; driver = auto is (\w+)", run("-vv").stdout)[1]
    assert f"auto = {auto}" in run("help", "driver").stdout
    assert f"; auto = {auto};" in (ROOT / "doc/reference.md").read_text()
    manual = (ROOT / "doc/man/weir.8").read_text()
    assert f".B auto\nIn this version\n.BR {auto} .\n" in manual
    # The line of a start, as this version writes it.
    assert f"ready: 2 workers, {auto}, maxconn" in manual


@pytest.mark.parametrize("args, instead", [
    (["-sf", "1"], "weir reload; to stop one by hand: weir -s quit"), (["-st", "1"], "weir -s stop"),
    (["-x", "/s"], "take over"),
    (["-W"], "leave it out"), (["-db"], "leave it out"), (["-n", "10"], "global.maxconn"),
    (["-n10"], "global.maxconn"), (["-m", "10"], "MemoryMax="), (["-dM"], "leave it out"),
    (["-dS"], "global.splice=off"), (["-g", "daemon off;"], "-o SECTION.KEY=VALUE")])
def test_habits_of_others_are_told_what_to_do_instead(args, instead):
    got = run(*args)
    assert (got.returncode, got.stdout) == (2, "")
    assert got.stderr.startswith(f"weir: there is no '{args[0]}' here: ")
    assert got.stderr.count("\n") == 1
    assert instead in got.stderr


@pytest.mark.parametrize("args, instead", [
    (["stop"], "systemctl stop weir"), (["restart"], "systemctl restart weir"), (["start"], "weir FILE"),
    (["quit"], "weir -s quit"), (["run", "x.ini"], "weir FILE"), (["test"], "weir check FILE"),
    (["show", "stat"], "weir ctl show stat\n"), (["set", "server", "a/b", "state", "maint"],
                                                "weir ctl set server a/b state maint\n")])
def test_words_of_others_are_told_what_to_type_instead(args, instead):
    got = run(*args)
    assert (got.returncode, got.stdout) == (2, "")
    assert got.stderr.startswith(f"weir: there is no command '{args[0]}': ")
    assert got.stderr.count("\n") == 1
    assert instead in got.stderr


def test_flags_may_stand_before_the_verb(good, tmp_path):
    assert run("-f", good, "check").stdout == run("check", "-f", good).stdout != ""
    got = run("-q", "forward", "--print-config", ":8080", "10.0.0.1:80")
    assert got.stdout.startswith("[listen forward]\n")
    assert run("-h", "ctl").stdout == run("help", "ctl").stdout
    # Where a file has that name it is the file.
    (tmp_path / "check").write_text(GOOD)
    assert run("-c", "check", cwd=tmp_path).stdout.startswith("check: ok (")


@pytest.mark.parametrize("verb", ["check", "forward", "ctl", "status", "top", "healthcheck", "doctor",
                                  "demo", "help", "version", "reload", "plan", "confirm",
                                  "rollback"])
def test_every_verb_has_a_page(verb):
    got = run("help", verb)
    assert (got.returncode, got.stderr) == (0, "")
    assert got.stdout.startswith(f"weir {verb}")
    assert "The smallest useful file" not in got.stdout
    assert all(len(line) <= 100 for line in got.stdout.splitlines())
    if verb != "help":
        assert got.stdout.startswith(run(verb, "-h").stdout)


@pytest.mark.parametrize("args", [["help"], ["-h"], ["--help"]])
def test_help_goes_to_stdout(args):
    got = run(*args)
    assert (got.returncode, got.stderr) == (0, "")
    for word in ("weir forward LISTEN SERVER...", "timeout-connect", "weir status", "weir reload [--wait]",
                 "quit|reopen|reload", "-p PIDFILE"):
        assert word in got.stdout


def test_help_of_a_key_comes_from_the_table():
    got = run("help", "timeout", "connect")
    assert got.returncode == 0
    for word in ("timeout-connect\n", "default  5s\n", "example  timeout-connect = 5s\n"):
        assert word in got.stdout
    assert "not in this version" in run("help", "no-server").stdout
    assert "\ncheck\n" in run("help", "check").stdout  # a verb and a key
    assert "write 'threads = ...'" in run("help", "nbthread").stderr


@pytest.mark.parametrize("value, key", [("io_uring", "driver"), ("epoll", "driver"), ("maglev", "balance")])
def test_help_of_a_value_is_that_of_its_only_key(value, key):
    got = run("help", value)
    assert (got.returncode, got.stderr) == (0, "")
    assert got.stdout == run("help", key).stdout
    assert run("help", "off").returncode == 2  # of many keys
    assert run("help", value[:-1]).returncode == 2


def answer_once(path, answer, seen):
    """A daemon's admin socket that answers one line."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen(1)

    def serve():
        conn, _ = server.accept()
        line = b""
        while not line.endswith(b"\n"):
            line += conn.recv(4096)
        seen.append(line)
        conn.sendall(answer)
        conn.close()
        server.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("answer, code", [
    (b"pid: 1\nuptime: 3s\n", 0), (b"error: no such command\n", 1), (b"ok\n", 0),
    (b"x" * 300000 + b"\n", 0)], ids=("lines", "refused", "ok", "long"))
def test_ctl_sends_one_line_and_prints_the_answer(tmp_path, answer, code):
    path, seen = tmp_path / "a.sock", []
    thread = answer_once(path, answer, seen)
    got = run("ctl", "-s", path, "show", "info", "-x")
    thread.join(WAIT_S)
    assert seen == [b"@weir show info -x\n"]
    assert got.returncode == code
    assert (got.stderr if code else got.stdout) == answer.decode()
    assert (got.stdout if code else got.stderr) == ""


@pytest.mark.parametrize("args, line", [
    (["--json", "show", "info"], b"@weir show info json\n"),
    (["show", "stat", "1", "4", "-1"], b"@weir show stat 1 4 -1\n")])
def test_ctl_asks_for_json_by_a_word(tmp_path, args, line):
    path, seen = tmp_path / "a.sock", []
    thread = answer_once(path, b"{}\n", seen)
    got = run("ctl", "-s", path, *args)
    thread.join(WAIT_S)
    assert (got.returncode, got.stdout, seen) == (0, "{}\n", [line])


@pytest.mark.parametrize("verb", ["status", "top", "healthcheck"])
def test_verbs_that_ask_say_that_nobody_answers(tmp_path, good, verb):
    got = run(verb, "-s", tmp_path / "none.sock")
    assert (got.returncode, got.stdout) == (3, "")
    assert "is weir running?" in got.stderr
    got = run(verb, "-f", good)
    assert (got.returncode, got.stdout) == (3, "")
    assert "no 'admin-socket'" in got.stderr


@pytest.mark.parametrize("verb", ["status", "top", "healthcheck"])
@pytest.mark.parametrize("answer", [
    b"", b"HTTP/1.1 400 no\n", b"pid: 7\n\n# \n", b"\0\0", b"a: \n\n# x\n\"\n"])
def test_verbs_that_ask_survive_what_is_no_weir(tmp_path, verb, answer):
    path, seen = tmp_path / "a.sock", []
    thread = answer_once(path, answer, seen)
    got = run(verb, "-s", path, *(["--once"] if verb == "top" else []))
    thread.join(WAIT_S)
    assert got.returncode == 3
    assert got.stderr.startswith("weir: ")


def test_ctl_finds_the_socket_in_the_configuration(tmp_path, good):
    path, seen = tmp_path / "a.sock", []
    conf = tmp_path / "c.ini"
    conf.write_text(f"[global]\nadmin-socket = unix:{path}\n" + GOOD)
    thread = answer_once(path, b"fine\n", seen)
    got = run("ctl", "-f", conf, "show", "info")
    thread.join(WAIT_S)
    assert (got.returncode, got.stdout, seen) == (0, "fine\n", [b"@weir show info\n"])


def test_ctl_without_a_socket_ends_with_3(tmp_path, good):
    got = run("ctl", "-s", tmp_path / "none.sock", "show", "info")
    assert (got.returncode, got.stdout) == (3, "")
    assert "is weir running?" in got.stderr
    got = run("ctl", "-f", good, "show", "info")
    assert (got.returncode, got.stdout) == (3, "")
    assert "no 'admin-socket'" in got.stderr


def on_terminal(args, env):
    """What the program writes to a terminal as its stderr."""
    master, slave = pty.openpty()
    proc = subprocess.Popen([WEIR, *map(str, args)], stderr=slave, stdout=subprocess.DEVNULL,
                            env={**os.environ, "TERM": "xterm", **env})
    os.close(slave)
    text = b""
    while True:
        try:
            chunk = os.read(master, 4096)
        except OSError:  # EIO: the other side is closed
            break
        if not chunk:
            break
        text += chunk
    os.close(master)
    proc.wait(WAIT_S)
    return text


def test_colour_is_for_terminals_that_want_it(bad):
    plain = {"NO_COLOR": ""}
    assert b"\x1b[" in on_terminal(["-c", bad], plain)
    assert b"\x1b[" not in on_terminal(["-c", bad], {"NO_COLOR": "1"})
    assert b"\x1b[" not in on_terminal(["-c", bad], {"NO_COLOR": "", "TERM": "dumb"})
    assert "\x1b[" not in run("-c", bad, env=plain).stderr


def test_a_full_disk_is_not_success(good):
    with open("/dev/full", "w") as full:
        got = subprocess.run(
            [WEIR, "-T", str(good)], stdout=full, stderr=subprocess.PIPE, text=True, timeout=WAIT_S)
    assert got.returncode == 3


# What a newcomer types.

@pytest.mark.skipif(os.path.exists("/etc/weir/weir.ini"), reason="this machine has the default file")
@pytest.mark.parametrize("args, code, words", [
    ([], 1, "weir forward :8080 10.0.0.1:80"),
    (["-c"], 1, "weir demo"),
    (["status"], 3, "give -f FILE, or -s SOCKET"),
    (["healthcheck"], 3, "give -f FILE, or -s SOCKET"),
    (["-s", "stop"], 3, "give -f FILE, or -p PIDFILE")])
def test_without_any_file_the_way_on_is_said(args, code, words):
    got = run(*args)
    assert (got.returncode, got.stdout) == (code, "")
    assert words in got.stderr


@pytest.mark.parametrize("verb", ["status", "top", "healthcheck", "doctor"])
def test_a_file_without_its_flag_is_not_lost(verb, good):
    got = run(verb, good)
    assert (got.returncode, got.stdout) == (2, "")
    assert got.stderr == f"weir: {verb} takes -f FILE, not '{good}'\n"


def test_json_of_a_check_has_one_meaning(good):
    assert run("-c", "--json", good).stdout == run("check", "--format=json", good).stdout != ""
    for args in (["-T", "--json", good], ["check", "-T", "--json", good], ["--json", good]):
        got = run(*args)
        assert (got.returncode, got.stdout) == (2, "")
        assert "--json" in got.stderr


def test_a_folder_and_many_files_have_a_name(good, tmp_path):
    other = tmp_path / "other.ini"
    other.write_text(GOOD.replace("web", "other"))
    two = "ok (2 frontends, 2 backends, 2 servers, 0 includes, 0 warnings)\n"
    assert run("-c", tmp_path).stdout == f"{tmp_path}: {two}"
    assert run("-c", "-f", good, "-f", other).stdout == f"{good} and 1 more: {two}"
    other.write_text(GOOD)
    got = run("-c", tmp_path)
    assert f"as [listen web] on line 1 of {good}\n" in got.stderr
    assert f"\n{tmp_path}: 1 error" in got.stderr


@pytest.mark.parametrize("section", ["global", "defaults", "listen", "frontend", "backend"])
def test_help_knows_the_sections(section):
    got = run("help", section)
    assert (got.returncode, got.stderr) == (0, "")
    assert got.stdout == run("help", f"[{section}]").stdout
    assert ("\n  bind " in got.stdout) == (section in ("listen", "frontend"))


@pytest.mark.parametrize("listen, words", [
    ("8080", "write ':' before a port without an address"), ("tcp://1.2.3.4:80", "leave out the scheme"),
    (":80,:443", "only one address per line"), ("./a.sock", "a socket's path begins with '/'")])
def test_addresses_of_other_programs_are_explained(listen, words):
    got = run("forward", "-c", listen, "10.0.0.1:80")
    assert got.returncode == 1
    assert words in got.stderr


@pytest.mark.parametrize("key", ("user", "group"))
def test_a_check_looks_for_the_user(tmp_path, key):
    path = tmp_path / "user.ini"
    path.write_text(f"[global]\n{key} = no-such-name\n" + GOOD)
    got = run("-c", path)
    assert got.returncode == 1
    assert f"{path}:2:{len(key) + 4}: error: there is no {key} 'no-such-name' on this machine\n" in got.stderr
    assert f"create it with '{key}add --system no-such-name'" in got.stderr
    path.write_text(f"[global]\n{key} = 12345\n" + GOOD)  # a number needs no name
    assert run("-c", path).returncode == 0


@pytest.mark.parametrize("line, hint", [
    ("log 127.0.0.1 local0", "write 'log = syslog:127.0.0.1:514'"),
    ("log = 127.0.0.1", "write syslog:127.0.0.1:514"),
    ("log stdout format raw local0", "write 'log = auto'")])
def test_a_log_line_of_haproxy_becomes_one_of_ours(tmp_path, line, hint):
    path = tmp_path / "log.ini"
    path.write_text(f"[global]\n{line}\n{GOOD}")
    got = run("-c", path)
    assert got.returncode == 1
    assert hint in got.stderr


def test_a_busy_port_comes_with_the_command_that_names_its_owner():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        got = run("forward", f"127.0.0.1:{port}", "10.0.0.1:80")
    assert got.returncode == 3
    assert f"\"ss -ltnp 'sport = :{port}'\"" in got.stderr
