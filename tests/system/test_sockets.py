# SPDX-License-Identifier: MIT
"""Danger: a configured socket option is set on no socket or on the wrong side, or turns out to be
impossible only when the first client connects."""

import os
import re
import shutil
import socket
import subprocess
import time

import pytest

from harness import exchange, peek
from harness.address import Address
from harness.daemon import BINARY
from harness.exchange import Leg
from harness.manager import passing
from harness.timing import wait_until

ROOT = os.geteuid() == 0
WEAK = ["setpriv", "--bounding-set=-net_admin,-net_raw"]


@pytest.fixture(autouse=True)
def _can_look():
    if peek.missing():
        pytest.skip(peek.missing())


def client_side(daemon, where):
    """The options of the one connection that was accepted at `where`."""
    return peek.of_daemon(daemon.pid, lambda s: not peek.is_listener(s)
                          and s.getsockname()[1] == where.port)


def server_side(daemon, listener):
    return peek.of_daemon(daemon.pid, lambda s: peek.peer_port(s) == listener.address.port)


def the_listener(daemon, where):
    return peek.of_daemon(daemon.pid, lambda s: peek.is_listener(s)
                          and s.getsockname()[1] == where.port)


def refused(weir, config, wrapper=(), status=3):
    daemon = weir(config, launch_only=True, wrapper=wrapper)
    daemon.ended = True
    assert daemon.wait_exit() == status, daemon.log()
    return daemon.log()


BOTH = """\
[frontend f]
bind = {bind}
default-backend = b
congestion = reno
dscp = ef
pacing = 5g
tcp-notsent-lowat = 64k
[backend b]
congestion = cubic
dscp = af21
pacing = 3g
tcp-notsent-lowat = 128k
server a = {server}
"""


# ---- options and the sockets that they are set on -----------------------------------------------

def kernel_keepalive():
    with socket.socket() as s:
        return tuple(s.getsockopt(level, name) for level, name in peek.KEEPALIVE[1:])


@pytest.mark.parametrize("lines, client, server", (
    ("tcp-keepalive = on\n", "kernel", "kernel"),
    ("client-keepalive = on count=4\n", (None, None, 4), None),
    ("server-keepalive = 77s interval=7s\ntcp-keepalive = on\n", "kernel", (77, 7, 3))))
def test_keepalive_of_each_side(weir, peers, lines, client, server):
    """A reload takes it away again. Clients inherit theirs from the listener, whose socket a reload keeps."""
    listener, kernel = peers.listen(), kernel_keepalive()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address}\n" + lines)
    where = daemon.address("l")

    def expect(wanted, got):
        if wanted is None:
            assert got["keepalive"][0] == 0
        else:
            times = kernel if wanted == "kernel" else tuple(t or k for t, k in zip(wanted, kernel))
            assert got["keepalive"] == (1, *times)
    pair = peers.pair(where, listener)
    expect(client, client_side(daemon, where))
    expect(server, server_side(daemon, listener))
    for side in pair:
        side.fin()
    daemon.wait_session_line()
    daemon.reload(lines, "")
    peers.pair(where, listener)
    expect(None, client_side(daemon, where))
    expect(None, server_side(daemon, listener))


@pytest.mark.smoke
@pytest.mark.parametrize("family", ("tcp4", "tcp6"))
def test_each_side_has_the_options_of_its_section(weir, peers, family):
    listener = peers.listen(family)
    bind = "127.0.0.1:0" if family == "tcp4" else "[::1]:0"
    daemon = weir(BOTH.format(bind=bind, server=listener.address))
    where = daemon.address("f")
    peers.pair(where, listener)
    client, server = client_side(daemon, where), server_side(daemon, listener)
    for side, congestion, tos, pacing, lowat in ((client, "reno", 46 << 2, 5 << 30, 64 << 10),
                                                 (server, "cubic", 18 << 2, 3 << 30, 128 << 10)):
        assert (side["congestion"], side["pacing"], side["lowat"]) == (congestion, pacing, lowat)
        assert side["tclass" if family == "tcp6" else "tos"] == tos, side


def test_a_listener_for_both_families_marks_ipv4_and_ipv6(weir, peers):
    listener = peers.listen()
    daemon = weir(BOTH.format(bind=":0", server=listener.address))
    port = daemon.address("f").port
    for family, host, key in (("tcp4", "127.0.0.1", "tos"), ("tcp6", "::1", "tclass")):
        where = Address(family, host=host, port=port)
        client, server = peers.pair(where, listener)
        assert client_side(daemon, where)[key] == 46 << 2
        client.close()
        server.close()
        wait_until(lambda: daemon.info()["sessions"] == 0, "the session ends")


def test_options_reach_what_a_passed_socket_accepts(weir, peers, closing):
    listener, sock = peers.listen(), socket.socket()
    closing.append(sock)
    sock.bind(("127.0.0.1", 0))
    sock.listen(16)
    daemon = weir(BOTH.format(bind="fd@web tfo", server=listener.address), **passing("web", sock))
    where = Address("tcp4", host="127.0.0.1", port=sock.getsockname()[1])
    peers.pair(where, listener)
    client = client_side(daemon, where)
    assert (client["congestion"], client["tos"], client["pacing"]) == ("reno", 46 << 2, 5 << 30)
    assert the_listener(daemon, where)["tfo"] > 0


def test_the_mark_is_on_both_sides(weir, peers):
    if not ROOT:
        pytest.skip("not root: a mark needs CAP_NET_ADMIN")
    listener = peers.listen()
    daemon = weir("[frontend f]\nbind = 127.0.0.1:0\ndefault-backend = b\nmark = 0x11\n"
                  f"[backend b]\nmark = 34\nserver a = {listener.address}\n")
    where = daemon.address("f")
    peers.pair(where, listener)
    assert client_side(daemon, where)["mark"] == 0x11
    assert server_side(daemon, listener)["mark"] == 34


def test_a_listener_has_tfo_and_interface(weir, peers):
    listener = peers.listen()
    daemon = weir("[listen l]\nbind = 127.0.0.1:0 backlog=100 tfo interface=lo\n"
                  f"server a = {listener.address}\n")
    found = the_listener(daemon, daemon.address("l"))
    assert (found["tfo"], found["device"]) == (100, "lo")
    peers.pair(daemon.address("l"), listener)


def test_freebind_listens_where_no_address_is_yet(weir, peers):
    listener = peers.listen()
    server = f"server a = {listener.address}\n"
    log = refused(weir, f"[listen l]\nbind = 192.0.2.77:0\n{server}")
    assert "192.0.2.77" in log and "ip addr" in log
    weir(f"[listen l]\nbind = 192.0.2.77:0 freebind\n{server}")


# ---- impossible options fail the start ----------------------------------------------------------

@pytest.mark.parametrize("section", ("frontend", "backend"))
def test_an_unknown_congestion_control_ends_the_start_with_those_there_are(weir, peers, section):
    listener = peers.listen()
    front = "congestion = bbbr\n" if section == "frontend" else ""
    back = "congestion = bbbr\n" if section == "backend" else ""
    log = refused(weir, f"[frontend f]\nbind = 127.0.0.1:0\n{front}default-backend = b\n"
                  f"[backend b]\n{back}server a = {listener.address}\n")
    assert "congestion" in log and "bbbr" in log and "cubic" in log, log


def test_an_unknown_interface_ends_the_start(weir, peers):
    listener = peers.listen()
    log = refused(weir, "[listen l]\nbind = 127.0.0.1:0 interface=nosuch0\n"
                  f"server a = {listener.address}\n")
    assert "interface" in log and "nosuch0" in log and "ip link" in log, log


@pytest.mark.parametrize("option,lines", (
    ("mark", "bind = 127.0.0.1:0\nmark = 1\nserver a = {0}\n"),
    ("transparent", "bind = 127.0.0.1:0 transparent\nserver a = {0}\n"),
    ("source=client", "bind = 127.0.0.1:0\nserver a = {0} source=client\n")))
def test_a_missing_capability_ends_the_start_and_is_named(weir, peers, option, lines):
    if not ROOT or shutil.which("setpriv") is None:
        pytest.skip("not root, or no setpriv: nothing to give up")
    listener = peers.listen()
    config = "[listen l]\n" + lines.format(listener.address)
    log = refused(weir, config, wrapper=WEAK)
    assert option in log and "AmbientCapabilities=CAP_NET_ADMIN" in log, log
    weir(config)  # and with it, it starts


def test_a_user_that_gives_the_capability_up_is_found_at_the_start(weir, peers):
    if not ROOT:
        pytest.skip("not root: there is no user to become")
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0\nserver a = {listener.address} source=client\n",
                  "user = nobody", launch_only=True)
    daemon.ended = True
    assert daemon.wait_exit() == 3, daemon.log()
    assert "source=client" in daemon.log() and "'user'" in daemon.log(), daemon.log()


def test_the_probe_finds_the_same_before_the_start(peers, folder):
    listener = peers.listen()
    path = os.path.join(folder, "probe.ini")
    with open(path, "w", encoding="ascii") as f:
        f.write("[frontend f]\nbind = 127.0.0.1:0 interface=nosuch0\ndefault-backend = b\n"
                f"[backend b]\ncongestion = bbbr\nserver a = {listener.address}\n")
    done = subprocess.run([BINARY, "check", "--probe", path], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 3, done.stdout + done.stderr
    assert re.search(r"^bind +f .*FAILED .*'interface=nosuch0'", done.stdout, re.M), done.stdout
    assert re.search(r"^options +b .*FAILED .*'congestion = bbbr'.*cubic", done.stdout, re.M), done.stdout


# ---- pacing -------------------------------------------------------------------------------------

def seconds_for(daemon, client, server, count):
    """How long `count` bytes take to the client."""
    begin = time.monotonic()
    exchange.run([Leg(client, receive=count), Leg(server, send=count)])
    took = time.monotonic() - begin
    client.close()
    server.close()
    line = daemon.wait_session_line()
    return took, int(line["bytes_spliced"])


def test_pacing_holds_a_client_back_and_keeps_splicing(weir, peers):
    count = 3 << 20
    listener = peers.listen()
    lines = f"bind = 127.0.0.1:0\nserver a = {listener.address}\n"
    daemon = weir(f"[listen l]\n{lines}", "splice = on")
    free = min(seconds_for(daemon, *peers.pair(daemon.address("l"), listener), count)[0] for _ in range(3))
    daemon = weir(f"[listen l]\n{lines}pacing = 2m\n", "splice = on")
    paced, spliced = seconds_for(daemon, *peers.pair(daemon.address("l"), listener), count)
    # 1.5 s by the rate; the first packets are not held back.
    assert paced > 0.7, f"{count} bytes at 2 MiB/s took {paced:.2f} s"
    assert paced > 3 * free, f"paced {paced:.2f} s, without {free:.2f} s"
    assert spliced > count / 2, f"{spliced} bytes of {count} were spliced"


# ---- mptcp --------------------------------------------------------------------------------------

def mptcp_missing():
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, peek.IPPROTO_MPTCP).close()
        return None
    except OSError as e:
        return f"no MPTCP here: {e.strerror}"


def mptcp_socket(_where):
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, peek.IPPROTO_MPTCP)


@pytest.mark.parametrize("splice", ("on", "off", "auto"))
def test_mptcp_and_plain_clients_get_every_byte(weir, peers, splice):
    if mptcp_missing():
        pytest.skip(mptcp_missing())
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0 mptcp\nserver a = {listener.address}\n",
                  f"splice = {splice}")
    where = daemon.address("l")
    assert the_listener(daemon, where)["protocol"] == peek.IPPROTO_MPTCP
    legs = []
    for maker in (mptcp_socket, None) * 3:
        client, server = peers.pair(where, listener, socket_maker=maker)
        legs += [Leg(client, send=3_000_000, receive=2_000_000),
                 Leg(server, send=2_000_000, receive=3_000_000)]
    with peek.sockets(daemon.pid) as found:
        spoken = sorted(s.getsockopt(socket.SOL_SOCKET, 38) for s in found
                        if not peek.is_listener(s) and s.getsockname()[1] == where.port)
    assert spoken == [socket.IPPROTO_TCP] * 3 + [peek.IPPROTO_MPTCP] * 3
    exchange.run(legs)


@pytest.mark.parametrize("first", ("client", "server"))
def test_mptcp_ends_pass_one_way_at_a_time(weir, peers, first):
    if mptcp_missing():
        pytest.skip(mptcp_missing())
    listener = peers.listen()
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0 mptcp\nserver a = {listener.address}\n")
    client, server = peers.pair(daemon.address("l"), listener, socket_maker=mptcp_socket)
    one, other = (client, server) if first == "client" else (server, client)
    exchange.run([Leg(one, send=500_000, receive=400_000),
                  Leg(other, send=400_000, receive=500_000, after_end=True)])
    client.close()
    server.close()
    assert daemon.wait_session_line(frontend="l")["ts_code"] == "--"


def test_options_that_an_mptcp_listener_refuses_reach_plain_clients(weir, peers):
    if mptcp_missing():
        pytest.skip(mptcp_missing())
    listener = peers.listen()
    daemon = weir(BOTH.format(bind=":0 mptcp", server=listener.address))
    assert re.search(r"does not support pacing .*MPTCP", daemon.log()), daemon.log()
    where = Address("tcp4", host="127.0.0.1", port=daemon.address("f").port)
    peers.pair(where, listener)
    found = client_side(daemon, where)
    assert (found["congestion"], found["tos"], found["pacing"], found["lowat"]) == \
        ("reno", 46 << 2, 5 << 30, 64 << 10)


def test_without_mptcp_in_the_kernel_it_is_plain_tcp_and_one_line(network, weir, peers):
    if mptcp_missing():
        pytest.skip(mptcp_missing())
    network.sysctl("mptcp.enabled", 0)
    listener = peers.listen(socket_maker=network.socket)
    daemon = weir(f"[listen l]\nbind = 127.0.0.1:0 mptcp\nserver a = {listener.address}\n",
                  wrapper=network.wrapper)
    assert daemon.log().count("instead of MPTCP") == 1, daemon.log()
    peers.pair(daemon.address("l"), listener, socket_maker=network.socket)
