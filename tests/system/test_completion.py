# SPDX-License-Identifier: MIT
"""Danger: a shell completes a command line of weir with words that weir does not take."""

import os
import re
import shutil
import subprocess

import pytest

from harness.daemon import BINARY
from harness.terminal import Terminal
from harness.timing import PATIENCE

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPTS = os.path.join(ROOT, "conf/completion")


def complete(*words):
    """The candidates with what they mean."""
    got = subprocess.run([BINARY, "complete", "--", *words], capture_output=True, text=True, check=True,
                         timeout=PATIENCE)
    return dict((line.split("\t") + [""])[:2] for line in got.stdout.splitlines())


def in_bash(line):
    """What bash offers at the end of a line."""
    script = (f"PATH={os.path.dirname(BINARY)}:$PATH; source {SCRIPTS}/weir.bash; COMP_LINE=$1; "
              "COMP_POINT=${#1}; _weir weir; ((${#COMPREPLY[@]} == 0)) || printf '%s\\n' \"${COMPREPLY[@]}\"")
    got = subprocess.run(["bash", "--norc", "-c", script, "bash", line], capture_output=True, text=True,
                         check=True, timeout=PATIENCE)
    assert got.stderr == ""
    return got.stdout.split()


@pytest.fixture
def daemon(weir, peers):
    listener = peers.listen()
    return weir(f"[listen web]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n"
                f"server b = {listener.address} disabled\n[frontend in]\nbind = 127.0.0.1:0\n"
                f"default-backend = app\n[backend app]\nserver c = {listener.address}\n")


def test_names_come_from_the_running_weir(daemon):
    ctl = ("ctl", "-s", daemon.admin)
    servers = {"web/a": "up", "web/b": "maint", "app/c": "up"}
    assert complete(*ctl, "set", "server", "") == servers
    assert complete(*ctl, "set", "server", "web/") == {"web/a": "up", "web/b": "maint"}
    assert complete(*ctl, "disable", "frontend", "").keys() == {"web", "in"}
    assert complete(*ctl, "show", "servers", "state", "").keys() == {"web", "app", "json"}
    assert complete(*ctl, "show", "servers", "history", "").keys() == {"web", "app", "json", *servers}
    daemon.ask("add server web/new 127.0.0.1:9")
    assert "web/new" in complete(*ctl, "get", "weight", "")


def test_every_name_in_a_command_is_offered(daemon):
    """Of commands that somebody adds, too."""
    live = {"BACKEND": "app", "FRONTEND": "in", "PROXY": "web", "SERVER": "web/a", "FILE": ":files"}
    with open(os.path.join(ROOT, "src/admin/commands.tbl.h"), encoding="utf-8") as table:
        forms = re.findall(r'^COMMAND\("(.*?)", "(.*?)",', table.read(), re.M)
    seen = set()
    for form in map(" ".join, forms):
        words = form.split()
        for at, word in enumerate(words):
            before, name = re.fullmatch(r"\[*([a-z-]+=)?(.*)", word).groups(default="")
            kind = (re.findall("[A-Z]+", name) or [""])[-1]
            if kind not in live:
                continue
            typed = [re.sub("[][]", "", one).split("|")[0] for one in words[:at]]
            want = live[kind] if kind == "FILE" else before + live[kind]
            assert want in complete("ctl", "-s", daemon.admin, *typed, before), form
            seen.add(kind)
    assert seen == live.keys()


def test_bash_offers_them(daemon):
    assert in_bash(f"weir ctl -s {daemon.admin} set server we") == ["web/a", "web/b"]
    assert in_bash("weir ctl set server web/a st") == ["state"]
    assert in_bash("weir heal") == ["healthcheck"]
    assert in_bash("weir ctl reload ") == ["confirm=", "wait"]
    assert "check" in in_bash("weir ")
    assert in_bash("weir /etc/") == []


def on_terminal(shell, closing, daemon, begin):
    """Types the beginning of lines, which the shell completes."""
    shell = Terminal(250, 24, *shell)
    closing.append(shell)
    for line in (f"PATH={os.path.dirname(BINARY)}:$PATH; {begin}", "PS1='ready> '; clear"):
        shell.press(f"{line}\n".encode())
    shell.wait(lambda lines: lines[0] == "ready>", "a prompt")
    for keys, line in ((b"heal\t", "weir healthcheck"), (b"check --fo\tj\t", "weir check --format json"),
                       (b"check --format=j\t", "weir check --format=json"),
                       (b"-o global.thr\t2", "weir -o global.threads=2"),
                       (f"ctl -s {daemon.admin} set server app\t".encode(),
                        f"weir ctl -s {daemon.admin} set server app/c")):
        shell.press(b"\x15weir " + keys)
        shell.wait(lambda lines, want=line: lines[0] == f"ready> {want}", line)
    shell.press(b"\x15exit\n")
    assert shell.child.wait(PATIENCE) == 0


def test_bash_completes_on_a_terminal(daemon, closing):
    on_terminal(("bash", "--norc", "--noprofile"), closing, daemon, f"source {SCRIPTS}/weir.bash")


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh_completes_on_a_terminal(daemon, closing):
    os.symlink(f"{SCRIPTS}/weir.zsh", os.path.join(daemon.folder, "_weir"))
    on_terminal(("zsh", "-f"), closing, daemon,
                f"bindkey -e; fpath+=({daemon.folder}); autoload -U compinit; compinit -u -D")


def test_bash_replaces_only_what_it_took_apart():
    assert in_bash("weir check --format=j") == ["json"]
    assert in_bash("weir check --format=") == ["json", "text"]
    assert "threads=" in " ".join(in_bash("weir -o global.thr"))


@pytest.mark.parametrize("shell,script", (("bash", "weir.bash"), ("zsh", "weir.zsh"), ("fish", "weir.fish")))
def test_a_script_has_no_mistake(shell, script):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n", os.path.join(SCRIPTS, script)], check=True, timeout=PATIENCE)


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_offers_them(daemon):
    def offered(line):
        script = (f"set PATH {os.path.dirname(BINARY)} $PATH; source {SCRIPTS}/weir.fish; "
                  f"complete -C '{line}'")
        got = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True,
                             check=True, timeout=PATIENCE)
        return [one.split("\t")[0] for one in got.stdout.splitlines()]
    assert offered(f"weir ctl -s {daemon.admin} set server we") == ["web/a", "web/b"]
    assert offered("weir heal") == ["healthcheck"]
    assert "check" in offered("weir ")
