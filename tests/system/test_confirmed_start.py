# SPDX-License-Identifier: MIT
"""Danger: after a crash, weir starts from a configuration that nobody confirmed and that locks its operator
out; or it starts from an old one although the files are fine."""

import os
import subprocess

import pytest

from harness import confirmed
from harness.daemon import BINARY
from harness.manager import Manager
from harness.timing import wait_until

NOTE = "confirmed text, {} was not confirmed"


def listen(name):
    return f"[listen {name}]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:9\n"


@pytest.fixture
def start(weir, folder):
    """start(sections): a daemon with a folder for its state."""
    def make(sections, more="", **environment):
        return weir(sections, more, environment={"STATE_DIRECTORY": folder, **environment})
    return make


def restart(daemon, fine=True):
    """After kill -9. What the log then has is of the new process."""
    daemon.child.kill()
    daemon.child.wait()
    os.truncate(daemon.log_path, 0)
    if fine:
        daemon.start()
        daemon.reloaded = False
    else:
        daemon.launch()


def text_of(daemon):
    return confirmed.text((daemon.config_path, daemon.config))


def frontends(daemon):
    return sorted({name.split(".")[1] for name in daemon.info() if name.startswith("listen.")})


def mark_new(daemon, folder, reason=confirmed.EXPIRED):
    """The file now has another frontend, which nobody confirmed."""
    old = text_of(daemon)
    daemon.rewrite("[listen old]", "[listen new]")
    confirmed.write(folder, confirmed.state(old, (text_of(daemon), reason)))


def test_sum_is_that_of_the_specification():
    assert confirmed.xxh64(b"") == 0xef46db3751d8e999
    assert confirmed.xxh64(b"Nobody inspects the spammish repetition") == 0xfbcea83c8a378bf1


@pytest.mark.smoke
@pytest.mark.parametrize("reason, words", [
    (confirmed.ON_TRIAL, "was never confirmed"), (confirmed.EXPIRED, "was not confirmed in time"),
    (confirmed.ROLLED_BACK, "was rolled back")])
def test_a_marked_text_is_not_started_from(start, folder, closing, reason, words):
    manager = Manager()
    closing.append(manager)
    daemon = start(listen("old"), **manager.environment)
    assert daemon.info()["config"] == "files"
    mark_new(daemon, folder, reason)
    note = NOTE.format(daemon.config_path)
    if reason == confirmed.ROLLED_BACK:
        note = note.replace("not confirmed", "rolled back")
    for _ in range(2):  # the next start does the same
        manager.collect().clear()
        restart(daemon)
        assert frontends(daemon) == ["old"]
        assert daemon.info()["config"] == note
        assert f"because {daemon.config_path} {words} (generation 2, 2025-11-24T16:00:00Z); change it" in \
            daemon.log()
        assert manager.wait("READY")["STATUS"] == f"{note}; 1 frontend, 1/1 servers usable, 0 sessions"
    page = subprocess.run([BINARY, "status", "-s", daemon.admin], capture_output=True, text=True, check=True)
    assert f"config       {note}\n" in page.stdout


def test_another_text_is_started_from(start, folder):
    daemon = start(listen("old"))
    mark_new(daemon, folder)
    daemon.rewrite("[listen new]", "[listen newer]")
    restart(daemon)
    assert frontends(daemon) == ["newer"]
    assert daemon.info()["config"] == "files"
    assert "confirmed" not in daemon.log()


def test_the_note_goes_with_a_reload_of_other_files(start, folder, closing):
    manager = Manager()
    closing.append(manager)
    daemon = start(listen("old"), **manager.environment)
    mark_new(daemon, folder)
    restart(daemon)
    daemon.reload("[listen new]", "[listen newer]")
    assert frontends(daemon) == ["newer"]
    assert daemon.info()["config"] == "files"
    wait_until(lambda: manager.collect()[-1].get("STATUS", "").startswith("1 frontend"),
               lambda: f"{manager.messages}")


def test_everything_comes_from_the_confirmed_text(start, folder):
    """What it includes and names is gone; -o and the environment are those of this start."""
    more = os.path.join(folder, "more")
    os.mkdir(more)
    files = {"more/one.ini": "[global]\ninclude = two.ini\n" + listen("one"), "more/two.ini": listen("two"),
             "net": "127.0.0.0/8\n"}
    paths = {os.path.join(folder, name): contents for name, contents in files.items()}
    for path, contents in paths.items():
        with open(path, "w", encoding="utf-8") as f:
            f.write(contents)
    daemon = start(listen("old") + f"allow-from = @{folder}/net\n",
                   f"include = {more}/o*.ini\nmaxconn = ${{WEIR_T_MAXCONN}}", WEIR_T_MAXCONN="11")
    assert frontends(daemon) == ["old", "one", "two"]
    (one, one_text), (two, two_text), (net, net_text) = paths.items()
    old = confirmed.text((daemon.config_path, daemon.config), ("pattern", f"{more}/o*.ini", [one]),
                         (one, one_text), (two, two_text), (net, net_text))
    lines = daemon.config.partition("[listen")[0].splitlines(True)
    daemon.rewrite("".join(li for li in lines if not li.startswith(("include", "maxconn"))) + listen("new"))
    confirmed.write(folder, confirmed.state(old, (text_of(daemon), confirmed.EXPIRED)))
    for path in paths:
        os.unlink(path)
    daemon.environment["WEIR_T_MAXCONN"] = "12"
    restart(daemon)
    assert frontends(daemon) == ["old", "one", "two"]
    assert daemon.info()["maxconn"] == 12


def test_a_marked_text_that_has_errors_does_not_prevent_the_start(start, folder):
    daemon = start(listen("old"))
    old = text_of(daemon)
    daemon.rewrite("[listen old]", "[lisssten new]")
    confirmed.write(folder, confirmed.state(old, (text_of(daemon), confirmed.ON_TRIAL)))
    restart(daemon)
    assert frontends(daemon) == ["old"]
    assert "lisssten" not in daemon.log()


@pytest.mark.parametrize("kept, why", [
    (confirmed.text(("/elsewhere.ini", "")), "cannot be used: cannot read '"),
    (b"", "cannot be used: there is none")])
def test_without_a_usable_confirmed_text_the_files_are_used(start, folder, kept, why):
    daemon = start(listen("old"))
    daemon.rewrite("[listen old]", "[listen new]")
    confirmed.write(folder, confirmed.state(kept, (text_of(daemon), confirmed.EXPIRED)))
    restart(daemon)
    assert frontends(daemon) == ["new"]
    assert daemon.info()["config"] == "files"
    assert "although it was not confirmed in time (generation 2, 2025-11-24T16:00:00Z), because the text " \
        "that was confirmed last cannot be used: " in daemon.log()
    assert why in daemon.log()


def test_a_confirmed_text_with_errors_is_not_used(start, folder):
    daemon = start(listen("old"))
    old = confirmed.text((daemon.config_path, daemon.config.replace("bind", "bnd")))
    confirmed.write(folder, confirmed.state(old, (text_of(daemon), confirmed.EXPIRED)))
    restart(daemon)
    assert frontends(daemon) == ["old"]
    assert "cannot be used: " + daemon.config_path + ":" in daemon.log()
    daemon.rewrite("[listen old]", "[lisssten new]")
    confirmed.write(folder, confirmed.state(old, (text_of(daemon), confirmed.EXPIRED)))
    restart(daemon, fine=False)
    daemon.ended = True
    assert daemon.wait_exit() == 1  # neither can be used: the errors are those of the files
    assert "lisssten" in daemon.log()


@pytest.mark.parametrize("damage, why", [
    (lambda data: data[:-1], "it is damaged"), (lambda data: b"", "it is damaged"),
    (lambda data: data.replace(b"old", b"odd", 1), "it is damaged")])
def test_a_damaged_state_file_is_named_and_not_used(start, folder, damage, why):
    daemon = start(listen("old"))
    old = text_of(daemon)
    daemon.rewrite("[listen old]", "[listen new]")
    confirmed.write(folder, damage(confirmed.state(old, (text_of(daemon), confirmed.EXPIRED))))
    restart(daemon)
    assert frontends(daemon) == ["new"]
    assert f"cannot use {folder}/confirmed: {why}; weir starts from {daemon.config_path}" in daemon.log()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_uses_no_state_file_of_another_user(start, folder):
    daemon = start(listen("old"))
    mark_new(daemon, folder)
    os.chown(os.path.join(folder, "confirmed"), 65534, 65534)
    restart(daemon)
    assert frontends(daemon) == ["new"]
    assert "it belongs to another user" in daemon.log()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_that_changes_its_user_says_that_nothing_is_kept(start):
    daemon = start(listen("old"), "user = nobody")
    assert "STATE_DIRECTORY is not used, because weir was started as root" in daemon.log()


def test_nothing_is_written_or_said_without_a_mark(start, weir, folder):
    daemon = start(listen("old"))
    daemon.reload("[listen old]", "[listen new]")
    assert os.listdir(folder) == []
    assert "STATE_DIRECTORY" not in daemon.log()
    other = weir(listen("old"), environment={"STATE_DIRECTORY": "relative"})
    assert "STATE_DIRECTORY" not in other.log()
