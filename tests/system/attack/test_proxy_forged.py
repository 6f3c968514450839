# SPDX-License-Identifier: MIT
"""Danger: the daemon believes what a stranger writes into a PROXY header: a TLV reaches the server as if a
load balancer had sent it, a unique ID is taken for weir's own, and no warning says that all of it may be
forged."""

import socket

import pytest

from harness import proxy
from harness.timing import PATIENCE, wait_until
from test_proxy_in import TCP4, UNIX, call
from test_proxy_out import accept

SSL = 0x20
VERIFIED = bytes([7]) + bytes(4) + proxy.tlv(0x22, b"admin")  # a client certificate, checked, of "admin"
SAID = ((SSL, VERIFIED), (proxy.AUTHORITY, b"intern.example"), (0xe0, b"x" * 300))
FORGED = proxy.v2("tcp4", TCP4, b"".join(proxy.tlv(*t) for t in SAID) + proxy.tlv(proxy.NOOP, b".."),
                  checksum=True)
PASS = "send-proxy=v2 proxy-v2-options=pass"
HERE, ELSEWHERE = "trusted = 127.0.0.1\n", "trusted = 192.0.2.0/24\n"


def start(weir, peers, server, options="", bind="127.0.0.1:0 accept-proxy"):
    listener = peers.listen()
    return weir(f"[listen l]\nbind = {bind}\nserver a = {listener.address} {server}\n{options}"), listener


def what_the_server_gets(peers, daemon, listener, header=FORGED):
    client = call(peers, daemon.address("l"))
    client.sendall(header + b"glued")
    server = accept(peers, listener)
    got = proxy.Received(server)
    assert server.recv(100) == b"glued"
    client.close()
    server.close()
    return got


def is_sent_away(daemon, source):
    """The reset may be there before the header is sent, and before connect(2) is looked at."""
    with socket.socket() as client:
        client.settimeout(PATIENCE)
        client.bind((source, 0))
        try:
            client.connect(daemon.address("l").sockaddr)
            client.sendall(FORGED)
            client.recv(1)
            return False
        except (ConnectionResetError, BrokenPipeError):
            return True


@pytest.mark.parametrize("server, options", (
    ("send-proxy=v2", ""), ("send-proxy=v2", HERE), (PASS, ""),
    ("send-proxy=v2 proxy-v2-options=crc32c", HERE), (PASS + ",crc32c", "")),
    ids=("default", "trusted-alone", "pass-alone", "crc32c", "pass-and-crc32c"))
def test_no_server_gets_what_anybody_may_forge(weir, peers, server, options):
    daemon, listener = start(weir, peers, server, options)
    got = what_the_server_gets(peers, daemon, listener)
    assert got.addresses == TCP4
    assert [kind for kind, _ in got.tlvs if kind != proxy.CRC32C] == []


def test_a_sender_that_is_not_trusted_is_sent_away(weir, peers):
    daemon, listener = start(weir, peers, PASS, ELSEWHERE)
    assert is_sent_away(daemon, "127.0.0.1")
    daemon.wait_session_line(reason="proxy_untrusted")
    listener.sock.setblocking(False)
    with pytest.raises(BlockingIOError):
        listener.sock.accept()


@pytest.mark.parametrize("more", ("", ",crc32c", ",unique-id", ",crc32c,unique-id"))
def test_what_a_trusted_sender_says_is_passed_on(weir, peers, more):
    daemon, listener = start(weir, peers, PASS + more, HERE)
    got = what_the_server_gets(peers, daemon, listener)
    assert got.addresses == TCP4
    assert tuple(t for t in got.tlvs if t[0] not in (proxy.CRC32C, proxy.UNIQUE_ID)) == SAID
    assert (got.tlv(proxy.CRC32C) is not None) == ("crc32c" in more)
    assert (got.tlv(proxy.UNIQUE_ID) is not None) == ("unique-id" in more)
    assert "forge" not in daemon.log()


def test_a_unix_socket_is_trusted_by_its_mode(weir, peers, folder):
    daemon, listener = start(weir, peers, PASS, bind=f"unix:{folder}/front.sock accept-proxy")
    assert tuple(what_the_server_gets(peers, daemon, listener).tlvs) == SAID
    assert "forge" not in daemon.log()


def test_what_is_said_twice_is_passed_on_once(weir, peers):
    """A reader that takes the last of two would see another name than we."""
    twice = proxy.tlv(proxy.AUTHORITY, b"a") + proxy.tlv(SSL, b"") + proxy.tlv(proxy.AUTHORITY, b"b")
    daemon, listener = start(weir, peers, PASS, HERE)
    got = what_the_server_gets(peers, daemon, listener, proxy.v2("tcp4", TCP4, twice))
    assert got.tlvs == [(proxy.AUTHORITY, b"a"), (SSL, b"")]


@pytest.mark.parametrize("options, server", (
    ("", "send-proxy=v2 proxy-v2-options=unique-id"), (HERE, PASS + ",unique-id")),
    ids=("anybody", "trusted"))
def test_a_unique_id_of_ours_is_ours(weir, peers, options, server):
    header = proxy.v2("tcp4", TCP4, proxy.tlv(proxy.UNIQUE_ID, b"forged"))
    daemon, listener = start(weir, peers, server, options)
    given = what_the_server_gets(peers, daemon, listener, header).tlv(proxy.UNIQUE_ID).decode()
    assert given != "forged"
    assert daemon.wait_session_line(unique_id=given)["id"] == given.rpartition("-")[2]


def test_a_unique_id_of_anybody_is_not_even_logged(weir, peers):
    daemon, listener = start(weir, peers, "")
    header = proxy.v2("tcp4", TCP4, proxy.tlv(proxy.UNIQUE_ID, b"forged"))
    client = call(peers, daemon.address("l"))
    client.sendall(header)
    accept(peers, listener).close()
    client.close()
    assert "unique_id" not in daemon.wait_session_line(client="192.0.2.1:1000")
    assert "forged" not in daemon.log()


@pytest.mark.parametrize("server, wanted", (("send-proxy=v1", None), (PASS, UNIX)), ids=("v1", "v2"))
def test_what_a_server_cannot_get_is_left_out(weir, peers, server, wanted):
    """Paths of Unix sockets are addresses; v1 has no place for any of it."""
    header = proxy.v2("unix", UNIX, proxy.tlv(SSL, VERIFIED))
    daemon, listener = start(weir, peers, server)
    got = what_the_server_gets(peers, daemon, listener, header)
    if wanted is None:
        assert got.text == "PROXY UNKNOWN\r\n"
    else:
        assert (got.addresses, got.tlvs) == (wanted, [])


def test_a_header_that_is_not_passed_on_may_be_as_long_as_any(weir, peers):
    """The longest that is accepted; a unique ID in addition would not fit."""
    header = proxy.v2("tcp4", TCP4, proxy.tlv(0xe0, bytes(16384 - 16 - 12 - 3)))
    daemon, listener = start(weir, peers, "send-proxy=v2 proxy-v2-options=crc32c,unique-id")
    got = what_the_server_gets(peers, daemon, listener, header)
    assert [kind for kind, _ in got.tlvs] == [proxy.UNIQUE_ID, proxy.CRC32C]
    wait_until(lambda: daemon.info()["bufs_in_use"] == 0, "the header is not held any longer")


def test_the_start_says_what_may_be_forged(weir, peers):
    daemon, _ = start(weir, peers, "send-proxy=v2", "deny-from = 192.0.2.0/24\n")
    line, = [line for line in daemon.log().splitlines() if "without 'trusted'" in line]
    assert "warning" in line and "'deny-from' (line " in line and "'send-proxy' (line " in line
    assert daemon.log().count("trusted = 10.0.0.0/8 (the addresses of the load balancer)") == 1


def test_who_is_denied_by_its_own_address_may_not_claim_another(weir, peers):
    """The only safe way: a list of trusted senders."""
    daemon, _ = start(weir, peers, "", HERE + "deny-from = 127.0.0.0/8\n")
    assert is_sent_away(daemon, "127.0.0.2")
    daemon.wait_session_line(reason="proxy_untrusted")
