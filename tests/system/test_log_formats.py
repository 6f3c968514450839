# SPDX-License-Identifier: MIT
"""Danger: a format of one's own says something else than the log beside it, or a sample leaves out an error.
HAProxy's format: test_tcplog.py."""

import re

import pytest

from harness.timing import wait_until


def lines_of(path):
    with open(path, encoding="ascii") as f:
        return f.read().splitlines()


def normal(peers, where, listener):
    client, server = peers.pair(where, listener)
    server.send(700)
    client.receive(700)
    client.fin()
    server.receive_to_end()
    server.fin()
    client.receive_to_end()
    return client


def client_resets(peers, where, listener):
    client, server = peers.pair(where, listener)
    server.send(300)
    client.receive(300)
    client.reset()
    server.receive_to_end()
    return client


def server_resets(peers, where, listener):
    client, server = peers.pair(where, listener)
    server.send(200)
    client.receive(200)
    server.reset()
    client.receive_to_end()
    return client


@pytest.mark.smoke
def test_a_format_of_ones_own_says_what_the_log_beside_it_says(weir, peers, folder):
    path = f"{folder}/own.log"
    listener = peers.listen()
    daemon = weir(f"log = file:{path} " "format='<{{{client}}}> {server} {bytes_out} {reason} {id}'\n"
                  f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n")
    normal(peers, daemon.address("l"), listener)
    line = daemon.wait_session_line(reason="normal")
    own = f"<{{{line['client']}}}> a 700 normal {line['id']}"
    wait_until(lambda: own in lines_of(path), lambda: f"{own} in {lines_of(path)}")
    # All other lines are those of format=text.
    assert any(re.match(r"\d{4}-\d\d-\d\dT\S+Z notice ready:", x) for x in lines_of(path))


@pytest.mark.smoke
def test_a_sample_has_every_error_and_stands_for_the_others(weir, peers, folder):
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\nlog-sample = 1/10\n"
                  f"[listen quiet]\nbind = 127.0.0.1:0\nserver a = {listener.address}\nlog-sample = errors\n",
                  global_options="threads = 1")
    for _ in range(200):
        normal(peers, daemon.address("l"), listener)
    for _ in range(20):
        normal(peers, daemon.address("quiet"), listener)
        server_resets(peers, daemon.address("quiet"), listener)
    for _ in range(20):
        client_resets(peers, daemon.address("l"), listener)
    daemon.wait_session_line(20, frontend="l", reason="client_reset")
    daemon.wait_session_line(20, frontend="quiet", reason="server_reset")
    lines = daemon.session_lines()
    assert not [x for x in lines if x["frontend"] == "quiet" and x["reason"] == "normal"]
    ended_well = [x for x in lines if x["reason"] == "normal"]
    assert {x["sample"] for x in ended_well} == {"10"}
    assert 5 <= len(ended_well) <= 45, len(ended_well)
    assert not [x for x in lines if x["reason"] != "normal" and "sample" in x]
