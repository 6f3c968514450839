# SPDX-License-Identifier: MIT
"""Danger: an operator locks himself out with a reload that nobody confirms, and weir does not come back by
itself; or a crash in the wrong moment starts a configuration that was never confirmed."""

import os
import random
import signal
import socket
import subprocess
import threading
import time

import pytest

from harness import confirmed
from harness.daemon import BINARY
from harness.manager import Manager
from harness.port_service import free_run
from harness.timing import PATIENCE, SCALE, wait_until

KILLS = int(os.environ.get("WEIR_TEST_KILLS", "10"))


def listen(name, bind="127.0.0.1:0", server="127.0.0.1:9"):
    return f"[listen {name}]\nbind = {bind}\nserver a = {server}\n"


def command(daemon, *words):
    return [BINARY, *words, "--pid", str(daemon.pid)]


def run(daemon, *words, code=0):
    """Returns what was printed, without the messages before the result if it went well."""
    got = subprocess.run(command(daemon, *words), capture_output=True, text=True, stdin=subprocess.DEVNULL,
                         timeout=10 * PATIENCE, check=False)
    assert got.returncode == code, (got, daemon.log()[-2000:])
    daemon.reloaded = True
    return got.stdout + got.stderr if code else got.stdout


def ctl(daemon, *words):
    return subprocess.run([BINARY, "ctl", "-s", daemon.admin, *words], capture_output=True, text=True,
                          timeout=PATIENCE, check=True).stdout


def frontends(daemon):
    return sorted({name.split(".")[1] for name in daemon.info() if name.startswith("listen.")})


def wait_frontends(daemon, *names):
    wait_until(lambda: frontends(daemon) == sorted(names),
               lambda: f"{frontends(daemon)}\n{daemon.log()[-2000:]}")


def restart(daemon):
    """After kill -9. What the log then has is of the new process."""
    daemon.child.kill()
    daemon.child.wait()
    os.truncate(daemon.log_path, 0)
    daemon.start()
    daemon.reloaded = False


@pytest.fixture
def start(weir, folder):
    """start(sections): a daemon with a folder for its state."""
    def make(sections, **environment):
        return weir(sections, environment={"STATE_DIRECTORY": folder, **environment})
    return make


# ---- a trial ----

@pytest.mark.smoke
def test_without_a_confirmation_it_returns(start, peers):
    server = peers.listen()
    daemon = start(listen("old", server=server.address))
    client, upstream = peers.pair(daemon.address("old"), server)
    client.send(1000)
    daemon.rewrite("[listen old]", "[listen new]")
    assert run(daemon, "reload", "--confirm", f"{int(5 * SCALE)}s").startswith("reloaded: generation 2, ")
    assert frontends(daemon) == ["new"]
    assert daemon.info()["config"].startswith("generation 2 on trial until 20")
    assert 1 <= daemon.info()["trial_left_s"] <= 5 * SCALE
    upstream.receive(500)
    wait_frontends(daemon, "old")
    wait_until(lambda: "returned: generation 3, as generation 1, " in daemon.log(), daemon.log)
    upstream.receive(500)  # the session outlives both
    assert daemon.info()["config"] == f"confirmed text, {daemon.config_path} was not confirmed"
    refused = run(daemon, "reload", code=1)
    assert "not reloaded: this text was not confirmed in time (generation 2, 20" in refused
    shown = ctl(daemon, "show", "generations").splitlines()
    assert [line.split(", ")[2:4] for line in shown] == [
        ["start", "replaced"], [f"reload by uid {os.getuid()}", "returned"],
        ["return to generation 1", "in effect"]]


@pytest.mark.smoke
def test_a_confirmed_one_stays_also_after_a_crash(start, folder):
    daemon = start(listen("old"))
    daemon.rewrite("[listen old]", "[listen new]")
    run(daemon, "reload", "--confirm", "1h")
    assert run(daemon, "confirm") == "confirmed: generation 2\n"
    assert daemon.info()["config"] == "files"
    assert daemon.info()["trial_left_s"] == 0
    assert "nothing is on trial" in run(daemon, "confirm", code=1)
    restart(daemon)
    assert frontends(daemon) == ["new"]
    assert os.listdir(folder) == ["confirmed"]


def test_a_crash_during_the_trial_starts_the_confirmed_text(start):
    daemon = start(listen("old"))
    daemon.rewrite("[listen old]", "[listen new]")
    run(daemon, "reload", "--confirm", "1h")
    for _ in range(2):
        restart(daemon)
        assert frontends(daemon) == ["old"]
        assert daemon.info()["config"] == f"confirmed text, {daemon.config_path} was not confirmed"
    assert "was never confirmed (generation 2, 20" in run(daemon, "reload", code=1)
    assert run(daemon, "confirm", "--file").startswith("confirmed: generation 2, ")
    assert frontends(daemon) == ["new"]
    restart(daemon)
    assert frontends(daemon) == ["new"]


def test_a_second_reload_is_refused(start):
    daemon = start(listen("old"))
    daemon.rewrite("[listen old]", "[listen new]")
    run(daemon, "reload", "--confirm", "1h")
    daemon.rewrite("[listen new]", "[listen newer]")
    assert "not reloaded: generation 2 is on trial until 20" in run(daemon, "reload", code=1)
    daemon.signal(signal.SIGHUP)
    wait_until(lambda: daemon.log().count("error not reloaded: generation 2 is on trial") == 2, daemon.log)
    assert frontends(daemon) == ["new"]
    run(daemon, "confirm")
    run(daemon, "reload")
    assert frontends(daemon) == ["newer"]


def test_without_a_folder_it_says_what_a_restart_does(weir):
    environment = {"STATE_DIRECTORY": ""}
    daemon = weir(listen("old"), environment=environment)
    daemon.rewrite("[listen old]", "[listen new]")
    got = subprocess.run(command(daemon, "reload", "--confirm", "1h"), capture_output=True, text=True,
                         timeout=PATIENCE, check=True)
    assert "there is no usable $STATE_DIRECTORY, so a restart starts from the new text" in got.stderr
    assert run(daemon, "rollback").startswith("rolled back: generation 3, as generation 1, ")
    assert frontends(daemon) == ["old"]
    restart(daemon)
    assert frontends(daemon) == ["new"]


def test_a_state_file_that_cannot_be_written_prevents_the_trial(start, folder):
    state = os.path.join(folder, "state")
    os.mkdir(state)
    daemon = start(listen("old"), STATE_DIRECTORY=state)
    daemon.expected_alarms = "confirmed"
    os.rmdir(state)
    daemon.rewrite("[listen old]", "[listen new]")
    assert f"{state}/confirmed" in run(daemon, "reload", "--confirm", "1h", code=1)
    assert frontends(daemon) == ["old"]
    os.mkdir(state)
    run(daemon, "reload", "--confirm", "1h")
    os.rename(state, state + ".away")
    assert run(daemon, "confirm", code=1).startswith("not confirmed: ")
    os.rename(state + ".away", state)
    assert run(daemon, "confirm") == "confirmed: generation 2\n"


def test_the_service_manager_and_the_page_say_so(start, closing):
    manager = Manager()
    closing.append(manager)
    daemon = start(listen("old"), **manager.environment)
    daemon.rewrite("[listen old]", "[listen new]")
    manager.wait("READY")
    run(daemon, "reload", "--confirm", "1h")
    about = daemon.info()["config"]
    assert about.startswith("generation 2 on trial until 20")
    assert manager.wait("READY", count=2)["STATUS"].startswith(f"{about}; 1 frontend")
    page = subprocess.run([BINARY, "status", "-s", daemon.admin], capture_output=True, text=True, check=True)
    assert f"config       {about}\n" in page.stdout
    run(daemon, "rollback")
    note = f"confirmed text, {daemon.config_path} was rolled back"
    assert manager.wait("READY", count=3)["STATUS"].startswith(f"{note}; 1 frontend")
    daemon.rewrite("[listen new]", "[listen newer]")
    run(daemon, "reload")
    assert manager.wait("READY", count=4)["STATUS"].startswith("1 frontend")


# ---- a command that holds ----

def hold(daemon, *more):
    child = subprocess.Popen(command(daemon, "reload", "--confirm", "1h", "--hold", *more), text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    assert child.stdout.readline().startswith("reloaded: generation 2, ")
    daemon.reloaded = True
    return child


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_end_of_the_command_that_holds_ends_the_trial(start, number):
    daemon = start(listen("old"))
    daemon.rewrite("[listen old]", "[listen new]")
    child = hold(daemon)
    assert frontends(daemon) == ["new"]
    child.send_signal(number)
    child.communicate(timeout=PATIENCE)
    wait_frontends(daemon, "old")
    wait_until(lambda: "the client that holds the trial has gone" in daemon.log(), daemon.log)


def test_the_command_that_holds_ends_with_the_trial(start):
    daemon = start(listen("old"))
    daemon.rewrite("[listen old]", "[listen new]")
    child = hold(daemon)
    run(daemon, "confirm")
    assert child.communicate(timeout=PATIENCE)[0] == "confirmed: generation 2\n"
    assert child.returncode == 0
    daemon.rewrite("[listen new]", "[listen newer]")
    child = subprocess.Popen(command(daemon, "reload", "--confirm", "1h", "--hold"), text=True,
                             stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    assert child.stdout.readline().startswith("reloaded: generation 3, ")
    run(daemon, "rollback")
    assert child.communicate(timeout=PATIENCE)[0].startswith("rolled back: generation 4, as generation 2, ")
    assert child.returncode == 1
    assert frontends(daemon) == ["new"]


# ---- rollbacks ----

def test_a_rollback_reads_no_file(start):
    daemon = start(listen("one"))
    daemon.rewrite("[listen one]", "[listen two]")
    run(daemon, "reload")
    os.rename(daemon.config_path, daemon.config_path + ".away")
    assert run(daemon, "rollback").startswith("rolled back: generation 3, as generation 1, ")
    assert frontends(daemon) == ["one"]
    assert "name where to go: 'weir rollback N'; texts are kept of 2\n" in run(daemon, "rollback", code=1)
    assert run(daemon, "rollback", "2").startswith("rolled back: generation 4, as generation 2, ")
    assert frontends(daemon) == ["two"]
    os.rename(daemon.config_path + ".away", daemon.config_path)
    run(daemon, "reload")


def test_what_was_rolled_back_is_not_started_again(start):
    daemon = start(listen("one"))
    daemon.rewrite("[listen one]", "[listen two]")
    run(daemon, "reload")
    run(daemon, "rollback")
    assert "this text was rolled back (generation 2, 20" in run(daemon, "reload", code=1)
    restart(daemon)
    assert frontends(daemon) == ["one"]
    daemon.rewrite("[listen two]", "[listen three]")
    run(daemon, "reload")
    assert frontends(daemon) == ["three"]
    restart(daemon)
    assert frontends(daemon) == ["three"]


def test_a_return_is_tried_until_its_port_is_free(start):
    """The port has been taken meanwhile: weir stays as it is, says so, and can still be confirmed."""
    port = free_run(1, ("127.0.0.1",))
    daemon = start(listen("old", f"127.0.0.1:{port}"))
    daemon.expected_alarms = "not returned|fails"
    daemon.rewrite(f"127.0.0.1:{port}", "127.0.0.1:0", "[listen old]", "[listen new]")
    run(daemon, "reload", "--confirm", "1h", "--wait")
    with socket.socket() as s:
        s.bind(("127.0.0.1", port))
        s.listen()
        assert "not rolled back: " in run(daemon, "rollback", code=1)
        assert daemon.info()["config"] == \
            "generation 2 was not confirmed, and the return to generation 1 fails"
        assert frontends(daemon) == ["new"]
        assert "and the return to generation 1 fails: see the log" in run(daemon, "reload", code=1)
    wait_frontends(daemon, "old")


def test_a_confirmation_remains_possible_while_the_return_fails(start):
    port = free_run(1, ("127.0.0.1",))
    daemon = start(listen("old", f"127.0.0.1:{port}"))
    daemon.expected_alarms = "not returned|fails"
    daemon.rewrite(f"127.0.0.1:{port}", "127.0.0.1:0", "[listen old]", "[listen new]")
    run(daemon, "reload", "--confirm", "1h", "--wait")
    with socket.socket() as s:
        s.bind(("127.0.0.1", port))
        s.listen()
        run(daemon, "rollback", code=1)
        wait_until(lambda: "generation 2 stays in effect; weir tries to return every 5 s" in daemon.log(),
                   daemon.log)
        assert run(daemon, "confirm") == "confirmed: generation 2\n"
    restart(daemon)
    assert frontends(daemon) == ["new"]


# ---- crashes ----

def is_marked(folder, daemon):
    """Does the state file have a mark of the text that the files have? Read without weir."""
    try:
        with open(os.path.join(folder, "confirmed"), "rb") as f:
            head = f.read().partition(b"\ntext ")[0]
    except FileNotFoundError:
        return False
    text = confirmed.text((daemon.config_path, daemon.config))
    return b"mark %016x %d " % (confirmed.xxh64(text), len(text)) in head


def kill_during(daemon, words, delay_s):
    """Runs the command and kills the daemon meanwhile. Returns what the command printed."""
    timer = threading.Timer(delay_s, daemon.child.kill)
    timer.start()
    got = subprocess.run(command(daemon, *words), capture_output=True, text=True, timeout=10 * PATIENCE,
                         stdin=subprocess.DEVNULL, check=False)
    timer.join()
    daemon.child.wait()
    return got.stdout


def test_a_crash_at_any_moment_starts_a_text_that_was_confirmed(start, folder):
    """An unconfirmed reload that took effect is never started from; a confirmed one always is. In between,
    what counts is whether the mark was on disk."""
    daemon = start(listen("old"))
    old = daemon.config
    seed = int.from_bytes(os.urandom(4), "big")
    chance = random.Random(seed)
    for turn in range(KILLS):
        daemon.rewrite(old)
        restart(daemon)
        assert frontends(daemon) == ["old"]
        daemon.rewrite("[listen old]", f"[listen n{turn}]")
        began = time.monotonic()
        said = ""
        if turn % 2 == 0:
            said = kill_during(daemon, ("reload", "--confirm", "1h"), chance.uniform(0, 0.02))
        else:
            run(daemon, "reload", "--confirm", "1h")
            assert is_marked(folder, daemon)
            said = kill_during(daemon, ("confirm",), chance.uniform(0, 0.02))
        about = f"seed {seed} turn {turn}: {said!r} after {time.monotonic() - began:.4f} s"
        marked = is_marked(folder, daemon)
        assert not said.startswith("reloaded: ") or marked, about
        assert not said.startswith("confirmed: ") or not marked, about
        restart(daemon)
        assert frontends(daemon) == (["old"] if marked else [f"n{turn}"]), about
