# SPDX-License-Identifier: MIT
"""Danger: without pipes, or with pipes too small to be useful, a flow waits, fails or crawls."""

import os
import shutil
import subprocess
import sys

import pytest

from harness import exchange
from harness.exchange import Leg

FLOWS = 100
BYTES = 400_000
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all",
          "--inh-caps=-all"]
# Takes pipe pages of its user until the kernel gives no more, says so, and holds them.
FILLER = """
import fcntl, os, sys
held = []
while True:
    r, w = os.pipe()
    held += [r, w]
    if fcntl.fcntl(w, 1032) < 65536:
        break
    try:
        fcntl.fcntl(w, 1031, 1 << 20)
    except PermissionError:
        pass
print("full", flush=True)
sys.stdin.read()
"""


def bulk(peers, daemon, listener):
    exchange.crossed([peers.pair(daemon.address("l"), listener) for _ in range(FLOWS)], BYTES)


@pytest.mark.smoke
@pytest.mark.parametrize("maxpipes", (0, 1, 7))
def test_flows_without_a_pipe_copy(weir, peers, maxpipes):
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n",
                  f"splice = on\nmaxpipes = {maxpipes}")
    bulk(peers, daemon, listener)
    info = daemon.info()
    assert info["maxpipes"] == maxpipes
    assert daemon.pools()["pipes_made"] <= maxpipes
    if maxpipes == 0:
        assert info["pipes_missing"] > 0 and info["bytes_spliced"] == 0


@pytest.mark.parametrize("when", ("before_start", "while_running"))
def test_a_user_whose_pipe_pages_are_used_up_is_served(weir, peers, when):
    """As user nobody, with all of fs.pipe-user-pages-soft taken: new pipes have two slots."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("not root or no setpriv: cannot become user nobody")
    listener = peers.listen()

    def start():
        return weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n",
                    "splice = on", wrapper=NOBODY)
    daemon = start() if when == "while_running" else None
    filler = subprocess.Popen(NOBODY + [sys.executable, "-c", FILLER], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    try:
        assert filler.stdout.readline() == "full\n"
        daemon = daemon or start()
        bulk(peers, daemon, listener)
        pools = daemon.pools()
        assert pools["pipes_too_small"] + pools["pipes_refused"] > 0, pools
        if pools["pipes_made"]:
            assert pools["pipes_bytes"] >= 65536 * pools["pipes_made"], pools
    finally:
        filler.stdin.close()
        filler.wait()
        filler.stdout.close()
    # With room again, pipes come back.
    spliced = daemon.info()["bytes_spliced"]
    client, server = peers.pair(daemon.address("l"), listener)
    exchange.run([Leg(client, send=BYTES, receive=0), Leg(server, send=0, receive=BYTES)])
    assert daemon.info()["bytes_spliced"] > spliced, "pipes are never used again"
