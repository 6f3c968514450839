# SPDX-License-Identifier: MIT
"""Danger: packets without their mark or class, a source address that is not the client's, a foreign
destination that is refused; and ports that run out, so that a server counts as down."""

import re

import pytest

from harness import netns, routed
from harness.address import Address, fresh
from harness.peer import introduce
from harness.timing import stays, wait_until

FEW_PORTS = 4


def counted(network, rule):
    """A counter of the namespace's packets that leave and fit `rule`; returns how to read it."""
    chain = f"c{abs(hash(rule)) % 10**8}"
    network.run("nft", f"add counter inet t {chain}; add chain inet t {chain} "
                f"{{ type filter hook output priority 0; }}; "
                f"add rule inet t {chain} {rule} counter name {chain}")

    def read():
        text = netns.output(*network.wrapper, "nft", "list", "counter", "inet", "t", chain)
        return int(text.split("packets ")[1].split()[0])
    return read


def talk(client, server, count=20_000):
    client.send(count)
    server.receive(count)
    server.send(count)
    client.receive(count)


# ---- on the wire --------------------------------------------------------------------------------

@pytest.mark.parametrize("family", ("tcp4", "tcp6"))
def test_class_and_mark_are_on_packets_of_each_side(network, weir, peers, family):
    listener = peers.listen(family, socket_maker=network.socket)
    bind = "127.0.0.1:0" if family == "tcp4" else "[::1]:0"
    daemon = weir(f"[frontend f]\nbind = {bind}\ndefault-backend = b\ndscp = ef\nmark = 17\n"
                  f"[backend b]\ndscp = af21\nmark = 34\nserver a = {listener.address}\n",
                  wrapper=network.wrapper)
    where, ip = daemon.address("f"), "ip" if family == "tcp4" else "ip6"
    to_client, to_server = f"tcp sport {where.port}", f"tcp dport {listener.address.port}"
    right = [counted(network, f"{to_client} {ip} dscp ef meta mark 17"),
             counted(network, f"{to_server} {ip} dscp af21 meta mark 34")]
    # The first SYN has them too; the SYN-ACK of a listener may not.
    wrong = [counted(network, f"{to_client} {ip} dscp != ef"),
             counted(network, f"{to_client} meta mark != 17"),
             counted(network, f"{to_server} {ip} dscp != af21"),
             counted(network, f"{to_server} meta mark != 34")]
    client, server = peers.pair(where, listener, socket_maker=network.socket)
    talk(client, server)
    assert all(read() >= 2 for read in right), [read() for read in right]
    assert not any(read() for read in wrong), [read() for read in wrong]


def test_an_interface_keeps_the_others_out(network, weir, peers):
    network.run("ip", "link", "add", "va", "type", "veth", "peer", "name", "vb")
    network.run("ip", "address", "add", "10.72.0.1/24", "dev", "va")
    network.run("ip", "link", "set", "va", "up")
    network.run("ip", "link", "set", "vb", "up")
    listener = peers.listen(socket_maker=network.socket)
    daemon = weir(f"[listen on]\nbind = 0.0.0.0:0 interface=lo\nserver a = {listener.address}\n"
                  f"[listen off]\nbind = 0.0.0.0:0 interface=va\nserver a = {listener.address}\n",
                  wrapper=network.wrapper)
    peers.pair(daemon.address("on"), listener, socket_maker=network.socket)
    with pytest.raises(ConnectionRefusedError):
        peers.connect(daemon.address("off"), socket_maker=network.socket)


# ---- addresses that are not ours ----------------------------------------------------------------

@pytest.fixture
def routes():
    """Three namespaces in a row; name it before `weir`."""
    if netns.missing():
        pytest.skip(netns.missing())
    three = routed.Routed()
    yield three
    three.close()


def far_listener(routes, peers, family="tcp4"):
    host = routed.SERVER if family == "tcp4" else routed.SERVER6
    return peers.listen(where=Address(family, host=host), socket_maker=routes.server.socket)


@pytest.mark.parametrize("family", ("tcp4", "tcp6"))
def test_servers_see_the_clients_own_address(routes, weir, peers, family):
    listener = far_listener(routes, peers, family)
    bind, host = ("10.71.1.1:0", routed.CLIENT) if family == "tcp4" else ("[fd71:1::1]:0", routed.CLIENT6)
    daemon = weir(f"[listen l]\nbind = {bind}\nserver a = {listener.address} source=client\n",
                  wrapper=routes.proxy.wrapper)
    for _ in range(3):
        client, server = peers.pair(daemon.address("l"), listener, socket_maker=routes.client.socket)
        assert server.sock.getpeername()[0] == host
        assert server.sock.getpeername()[1] != client.sock.getsockname()[1]  # its port is the kernel's
        talk(client, server)


def test_the_clients_address_may_be_from_its_proxy_header(routes, weir, peers):
    listener = far_listener(routes, peers)
    daemon = weir("[listen l]\nbind = 10.71.1.1:0 accept-proxy\n"
                  f"server a = {listener.address} source=client\n", wrapper=routes.proxy.wrapper)
    client = peers.connect(daemon.address("l"), socket_maker=routes.client.socket, hello=False)
    client.sock.sendall(b"PROXY TCP4 10.71.1.99 10.71.1.1 5000 80\r\n")
    introduce(client.sock, client.conn)
    server = peers.accept(listener)
    assert server.sock.getpeername()[0] == "10.71.1.99"
    talk(client, server)


def test_a_client_of_another_family_is_our_own_shortage(routes, weir, peers):
    listener = far_listener(routes, peers, "tcp6")
    daemon = weir("[listen l]\nbind = 10.71.1.1:0\nretries = 0\n"
                  f"server a = {listener.address} source=client\n", wrapper=routes.proxy.wrapper)
    client = peers.connect(daemon.address("l"), socket_maker=routes.client.socket)
    assert client.receive_to_end() == "reset"
    line = daemon.wait_session_line(frontend="l")
    assert line["ts_code"].startswith("R"), line
    assert "have different address families" in daemon.log()
    assert failures(daemon) == 0


def test_a_transparent_listener_takes_connections_to_foreign_addresses(routes, weir, peers):
    listener = far_listener(routes, peers)
    daemon = weir(f"[listen l]\nbind = 0.0.0.0:0 transparent\nserver a = {listener.address}\n",
                  wrapper=routes.proxy.wrapper)
    port = daemon.address("l").port
    routes.proxy.run("nft", "add table ip m; add chain ip m p { type filter hook prerouting priority "
                     f"mangle; }}; add rule ip m p ip daddr 10.99.0.9 tcp dport 80 tproxy to :{port} "
                     "meta mark set 1 accept")
    client, server = peers.pair(Address("tcp4", host="10.99.0.9", port=80), listener,
                                socket_maker=routes.client.socket)
    assert client.sock.getpeername() == ("10.99.0.9", 80)
    talk(client, server)


# ---- ports --------------------------------------------------------------------------------------

def failures(daemon):
    """Failed connects that the servers answer for."""
    rows = [line.split(",") for line in daemon.ask("show stat").splitlines() if line.strip()]
    names = [name.lstrip("# ") for name in rows[0]]
    econ = names.index("econ")
    return sum(int(row[econ] or 0) for row in rows[1:] if row[1] not in ("FRONTEND", "BACKEND"))


def states(daemon):
    rows = [line.split(",") for line in daemon.ask("show stat").splitlines() if line.strip()]
    status = [name.lstrip("# ") for name in rows[0]].index("status")
    return {row[1]: row[status] for row in rows[1:]}


def exhausted(network, weir, peers, folder, sources, more="", family="tcp4"):
    """A daemon whose clients come by a path, so that the few ports are the servers' alone."""
    listener = peers.listen(family, socket_maker=network.socket)
    # Beyond the range that the listener's port is from.
    network.sysctl("ipv4.ip_local_port_range", f"61000 {61000 + FEW_PORTS - 1}")
    path = fresh("path", folder)
    source = f" source={','.join(sources)}" if sources else ""
    daemon = weir(f"[listen l]\nbind = {path} mode=666\n{more}server a = {listener.address}{source}\n",
                  "threads = 1", wrapper=network.wrapper)
    return daemon, path, listener


def fill(peers, path, listener, count):
    return [peers.pair(path, listener) for _ in range(count)]


@pytest.mark.smoke
@pytest.mark.parametrize("family,sources", (("tcp4", ("127.0.0.2", "127.0.0.3")),
                                            ("tcp6", ("fd72::2", "fd72::3"))))
def test_exhausted_ports_spill_to_the_next_source(network, weir, peers, folder, family, sources):
    for address in sources if family == "tcp6" else ():
        network.run("ip", "address", "add", f"{address}/128", "dev", "lo", "nodad")
    daemon, path, listener = exhausted(network, weir, peers, folder, sources, family=family)
    pairs = fill(peers, path, listener, 2 * FEW_PORTS)
    hosts = [server.sock.getpeername()[0] for _, server in pairs]
    assert hosts.count(sources[0]) == hosts.count(sources[1]) == FEW_PORTS, hosts
    info = daemon.info()
    assert info["source_spills"] >= 1
    assert info["ports_exhausted"] == info["source_spills"]
    assert info["connect_failures"] == 0 and info["retries"] == 0, info
    told = rf"no port is left at source \[?({'|'.join(sources)})\]? for"
    wait_until(lambda: re.search(told, daemon.log()), "it is told")
    assert failures(daemon) == 0 and states(daemon)["a"].startswith(("UP", "no check")), states(daemon)
    for client, server in pairs:
        talk(client, server, 1000)


def test_with_all_sources_exhausted_a_client_waits_and_is_served(network, weir, peers, folder):
    daemon, path, listener = exhausted(network, weir, peers, folder, ("127.0.0.2", "127.0.0.3"),
                                       "retries = 20\ntimeout-connect = 200ms\n")
    pairs = fill(peers, path, listener, 2 * FEW_PORTS)
    waiting = peers.connect(path)
    wait_until(lambda: daemon.info()["retries"] >= 2, "the client waits, and is tried again")
    assert stays(lambda: daemon.info()["connect_failures"] < 40, 0.3), "it spins"
    wait_until(lambda: "clients wait for one to become free" in daemon.log(), daemon.log)
    assert failures(daemon) == 0 and not states(daemon)["a"].startswith("DOWN")
    pairs[3][1].reset()  # no TIME_WAIT: the port is free
    server = peers.accept(listener)
    assert server.conn == waiting.conn
    talk(waiting, server, 1000)


def test_with_all_sources_exhausted_and_no_retry_it_is_our_own_shortage(network, weir, peers,
                                                                       folder):
    daemon, path, listener = exhausted(network, weir, peers, folder, ("127.0.0.2",), "retries = 0\n")
    pairs = fill(peers, path, listener, FEW_PORTS)
    for _ in range(20):
        client = peers.connect(path)
        assert client.receive_to_end() in ("reset", "fin")
    line = daemon.wait_session_line(count=20, frontend="l")
    assert line["ts_code"] == "RC", line
    assert daemon.info()["ports_exhausted"] >= 20 and daemon.info()["source_spills"] == 0
    assert daemon.log().count("no port is left") <= 3, "the log is flooded"
    assert failures(daemon) == 0 and not states(daemon)["a"].startswith("DOWN")
    pairs[0][1].reset()
    wait_until(lambda: daemon.info()["sessions"] == FEW_PORTS - 1, "a session ends")
    peers.pair(path, listener)


def test_ports_that_the_kernel_chooses_run_out_and_are_told(network, weir, peers, folder):
    daemon, path, listener = exhausted(network, weir, peers, folder, (), "retries = 0\n")
    fill(peers, path, listener, FEW_PORTS)
    assert peers.connect(path).receive_to_end() in ("reset", "fin")
    assert daemon.wait_session_line(frontend="l")["ts_code"] == "RC"
    assert "no port is left for connections" in daemon.log()
    assert failures(daemon) == 0


def test_a_source_that_this_machine_has_not_is_passed_over(network, weir, peers, folder):
    daemon, path, listener = exhausted(network, weir, peers, folder, ("192.0.2.1", "127.0.0.2"))
    pairs = fill(peers, path, listener, FEW_PORTS)
    assert {server.sock.getpeername()[0] for _, server in pairs} == {"127.0.0.2"}
    assert daemon.info()["ports_exhausted"] == 0
    if daemon.info()["source_spills"]:
        told = "192.0.2.1 of server l/a is not an address of this machine"
        wait_until(lambda: told in daemon.log(), "it is told")
    assert failures(daemon) == 0


def test_a_pool_uses_all_its_sources_from_the_start(network, weir, peers, folder):
    listener = peers.listen(socket_maker=network.socket)
    path = fresh("path", folder)
    daemon = weir(f"[listen l]\nbind = {path} mode=666\n"
                  f"server a = {listener.address} source=127.0.0.2,127.0.0.3\n"
                  f"server b = {listener.address} source=127.0.0.4,127.0.0.5\n",
                  "threads = 1", wrapper=network.wrapper)
    pairs = fill(peers, path, listener, 64)
    hosts = [server.sock.getpeername()[0] for _, server in pairs]
    for host in ("127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"):
        assert hosts.count(host) >= 8, {h: hosts.count(h) for h in hosts}
    assert daemon.info()["source_spills"] == 0
