# SPDX-License-Identifier: MIT
"""Danger: a reload that fails half-way leaves something behind: a socket, a file, a server, a number. Each
step that this machine can refuse is refused once, in a file that also changes everything else."""

import os
import socket

import pytest

from harness import process
from harness.service import Service
from harness.timing import wait_until


def picture(daemon, folder):
    """What must not change."""
    info = daemon.info()
    stat = [line.split(",") for line in daemon.ask("show stat").splitlines() if line]
    head = stat[0]
    moving = [i for i, name in enumerate(head) if name in ("lastchg", "lastsess", "downtime", "rate",
                                                    "conn_rate")]
    rows = {f"{row[0]}/{row[1]} {head[i]}": cell for row in stat[1:] for i, cell in enumerate(row)
            if i not in moving}
    names = ("generation", "reloads", "pending_ops", "maxconn", "maxpipes", "sessions")
    return {**rows, "info": {name: info.get(name) for name in names},
            "listen": {k: v for k, v in info.items() if k.startswith(("listen.", "server."))},
            "listening": process.listening(daemon.pid), "files": sorted(os.listdir(folder)),
            "mode": os.stat(daemon.admin).st_mode, "admin": os.stat(daemon.admin).st_ino}


REFUSALS = {
    "port": ("bind = 127.0.0.1:0\n", "bind = 127.0.0.1:0\nbind = 127.0.0.1:{taken}\n",
             "address already in use"),
    "port of a new frontend": ("[backend app]\n", "[listen late]\nbind = 127.0.0.1:{taken}\nserver x = {b}\n"
                               "[backend app]\n", "address already in use"),
    "address": ("bind = 127.0.0.1:0\n", "bind = 127.0.0.1:0\nbind = 192.0.2.1:8080\n", "192.0.2.1:8080"),
    "path": ("bind = 127.0.0.1:0\n", "bind = 127.0.0.1:0\nbind = unix:{folder}/none/s\n", "none/s"),
    "path of another": ("bind = 127.0.0.1:0\n", "bind = 127.0.0.1:0\nbind = unix:{folder}/taken.sock\n",
                        "taken.sock"),
    "no socket": ("bind = 127.0.0.1:0\n", "bind = 127.0.0.1:0\nbind = unix:{folder}/plain\n", "plain"),
    "passed": ("bind = 127.0.0.1:0\n", "bind = 127.0.0.1:0\nbind = fd@none\n", "fd@none"),
    "interface": ("bind = 127.0.0.1:0\n", "bind = 127.0.0.1:0\nbind = 127.0.0.1:0 interface=none7\n",
                  "none7"),
    "option of what is there": ("[frontend web]\n", "[frontend web]\ncongestion = none\n", "congestion"),
    "option of servers": ("[backend app]\n", "[backend app]\ncongestion = none\n", "congestion"),
    "log": ("[global]\n", "[global]\nlog = file:{folder}/none/log\n", "none/log"),
    "limits": ("[global]\n", "[global]\nmaxconn = 100000000\n", "maxconn 100000000"),
}


def change_everything(text, folder, address):
    """The admin socket's mode, the log, servers, options, a frontend; the folder gets a path."""
    for old, new in (("mode=666", "mode=660"), ("[global]\n", f"[global]\nlog = file:{folder}/more.log\n"),
                     (f"server gone = {address} disabled\n", f"server new = {address}\n"),
                     ("[backend app]\n", "[backend app]\ncheck = tcp\ntimeout-connect = 77ms\n"),
                     ("[frontend web]\n", "[frontend added]\nbind = 127.0.0.1:0\n"
                      f"bind = unix:{folder}/new.sock\ndefault-backend = more\n"
                      "[frontend web]\ndeny-from = 10.0.0.0/8\n")):
        assert old in text
        text = text.replace(old, new)
    return text + f"[backend more]\nserver x = {address}\n"


@pytest.mark.parametrize("what", REFUSALS)
def test_what_is_refused_changes_nothing(weir, peers, closing, folder, what):
    service = Service()
    closing.append(service)
    other = peers.listen()
    daemon = weir("[frontend web]\nbind = 127.0.0.1:0\ndefault-backend = app\n"
                  f"[backend app]\nserver a = {service.address}\nserver gone = {other.address} disabled\n")
    with socket.socket() as taken, socket.socket(socket.AF_UNIX) as path:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        path.bind(os.path.join(folder, "taken.sock"))
        path.listen()
        with open(os.path.join(folder, "plain"), "w", encoding="utf-8"):
            pass
        words = {"{taken}": str(taken.getsockname()[1]), "{b}": str(other.address), "{folder}": folder}
        old, new, said = REFUSALS[what]
        for name, value in words.items():
            new = new.replace(name, value)
        before = picture(daemon, folder)
        wait_until(lambda: not process.passing_sockets(daemon.pid), "the admin connection has gone")
        descriptors = sorted(process.descriptors(daemon.pid))
        good = daemon.config
        everything = change_everything(good, folder, other.address)
        daemon.rewrite(change_everything(good.replace(old, new, 1), folder, other.address))
        for count in (1, 2):
            answer = daemon.reload(refused=True)
            assert said in answer and answer.strip().splitlines()[-1].startswith("not reloaded: "), answer
            assert daemon.info()["reloads_refused"] == count
            wait_until(lambda: sorted(process.descriptors(daemon.pid)) == descriptors,
                       lambda: f"descriptors: {process.descriptors(daemon.pid)}, before {descriptors}")
            now = picture(daemon, folder)
            assert {k: (before[k], now[k]) for k in now if now[k] != before[k]} == {}, answer
            with socket.create_connection(("127.0.0.1", daemon.address("web").port)) as client:
                client.sendall(b"x")
                wait_until(lambda: daemon.info()["sessions"] == 1, "it is served")
            wait_until(lambda: daemon.info()["sessions"] == 0, "it has ended")
            before = picture(daemon, folder)
        daemon.reload(everything)
        assert os.path.exists(os.path.join(folder, "new.sock"))
        daemon.reload(good)
        assert not os.path.exists(os.path.join(folder, "new.sock"))
