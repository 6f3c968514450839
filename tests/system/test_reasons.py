# SPDX-License-Identifier: MIT
"""Danger: the log names the wrong side or the wrong cause. The other rows of close_reasons.tbl.h are
covered where their causes are tested: timeouts, stops, refusals, shortages."""

import pytest


@pytest.mark.smoke
@pytest.mark.parametrize("side, code", (("client", "CD"), ("server", "SD")))
def test_a_reset_names_who_made_it(weir, peers, side, code):
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n")
    client, server = peers.pair(daemon.address("l"), listener)
    resetting, other = (client, server) if side == "client" else (server, client)
    resetting.reset()
    assert other.receive_to_end() == "reset"
    line = daemon.wait_session_line(reason_text=f"{side} reset the connection")
    assert line["ts_code"] == code, line


@pytest.mark.smoke
def test_a_server_that_is_not_there_could_not_be_reached(weir, peers, folder):
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = unix:{folder}/missing\nretries = 0\n")
    assert peers.connect(daemon.address("l")).receive_to_end() == "reset"
    line = daemon.wait_session_line(reason_text="server could not be reached")
    assert line["ts_code"] == "SC", line
