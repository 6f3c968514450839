# SPDX-License-Identifier: MIT
"""`weir plan`: what it asks, and what becomes of the answer.

Runs the binary named by WEIR_BIN (build/src/weir) against small servers that answer as a daemon would.
"""

import os

import pytest

from test_reload import daemon, path, run  # pylint: disable=unused-import

BEFORE = "web.ini:3:1: warning: something\n    odd\n"
NO = "plan: nothing has changed\nkept: 1 server\nwould change: no\n"
YES = "plan: server app/a added\n+ backend app: server a = x:1\nwould change: yes\n"
JSON = '{\n  "would_change": true,\n  "summary": "\\"would_change\\": false",\n  "items": []\n}\n'


@pytest.mark.parametrize("answer, code", [(NO, 0), (YES, 10)])
@pytest.mark.parametrize("words", [["plan"], ["ctl", "plan"]])
def test_a_plan_goes_to_stdout_and_what_precedes_it_to_stderr(path, words, answer, code):
    with daemon(path, (BEFORE + answer).encode()) as d:
        got = run(words[0], "-s", path, *words[1:])
    assert (got.returncode, got.stdout, got.stderr) == (code, answer, BEFORE)
    assert [line.removeprefix(b"@weir ") for line in d.seen] == [b"plan\n"]


def test_json_is_all_that_is_printed(path):
    with daemon(path, JSON.encode()) as d:
        got = run("plan", "-s", path, "--json")
    assert (got.returncode, got.stdout, got.stderr) == (10, JSON, "")
    assert d.seen[0].endswith(b"plan json\n")
    with daemon(path.with_name("two"), JSON.replace("true", "false", 1).encode()):
        assert run("plan", "-s", path.with_name("two"), "--json").returncode == 0


def test_quiet_prints_nothing_of_a_plan(path):
    with daemon(path, (BEFORE + YES).encode()):
        got = run("plan", "-q", "-s", path)
    assert (got.returncode, got.stdout, got.stderr) == (10, "", "")


@pytest.mark.parametrize("answer", ["web.ini:3:1: error: x\nnot planned: the configuration cannot be used\n",
                                    "error: uid 7 may not use 'plan' on this socket\n"])
@pytest.mark.parametrize("more", [[], ["--json"], ["-q"]])
def test_no_plan_ends_with_1(path, answer, more):
    with daemon(path, answer.encode()):
        got = run("plan", "-s", path, *more)
    assert (got.returncode, got.stdout, got.stderr) == (1, "", answer)


@pytest.mark.parametrize("answer", ["", "plan: server app/a added\n", "would change: yes\n", JSON[:-2],
                                    "x plan: y\nwould change: yes\n", YES[:-1], "\0\0"])
def test_a_part_of_a_plan_ends_with_3(path, answer):
    with daemon(path, answer.encode()):
        got = run("plan", "-s", path)
    assert (got.returncode, got.stdout) == (3, "")
    assert got.stderr.splitlines()[-1] == f"weir: lost the connection to unix:{path} before the plan"


def test_without_a_daemon_it_ends_with_3(path):
    assert run("plan", "-s", path).returncode == 3


def test_a_file_is_named_with_its_whole_path(path, tmp_path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    for word, wanted in (("x.ini", f"{tmp_path}/a\\ folder/x.ini"), ("/etc/a;b\\c", "/etc/a\\;b\\\\c")):
        where = path.with_name(str(len(word)))
        with daemon(where, NO.encode()) as d:
            assert run("plan", "-s", where, word, cwd=folder).returncode == 0
        assert d.seen[0].removeprefix(b"@weir ") == f"plan {wanted}\n".encode()


@pytest.mark.parametrize("words", [["a", "b"], ["a\nb"], [""]])
def test_a_wrong_command_line_ends_with_2(path, words):
    got = run("plan", "-s", path, *words)
    assert (got.returncode, got.stdout) == (2, "")
    assert got.stderr.startswith("weir: plan takes ")
    assert not os.path.exists(path)
