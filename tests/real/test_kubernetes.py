# SPDX-License-Identifier: MIT
"""kubernetes.ini in front of stubs of kube-apiserver, which answer as recorded: clients reach only servers
that say they are ready, and a server that is about to stop keeps those that it has."""

import os
import subprocess

import pytest

import examples
from harness.certificates import Authority
from harness.daemon import BINARY
from harness.show_stat import NO_SERVER, stat
from harness.timing import wait_until
from kube_apiserver import ApiServer, Client, failure
from servers import SLOW, wait_server

NAMES = "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,IP:10.96.0.1"
BUILT = not os.path.exists(BINARY) or "OpenSSL" in subprocess.run(
    [BINARY, "-vv"], capture_output=True, text=True, check=False).stdout
pytestmark = pytest.mark.skipif(not BUILT, reason="this build has no OpenSSL")


@pytest.fixture
def authority(folder):
    return Authority(folder, "kubernetes-ca")


@pytest.fixture
def api_servers(authority):
    """api_servers(...): a server with a certificate of the cluster."""
    running = []

    def start(**how):
        running.append(ApiServer(authority.sign("apiserver", NAMES), **how))
        return running[-1]

    yield start
    for one in running:
        one.close()


def start(weir, servers, authority):
    """Each name is that of a line of the example; a server that is not given does not exist."""
    where = {name: servers[name].address if name in servers else "127.0.0.1:9"
             for name in ("CP_1", "CP_2", "CP_3", "CP_BOOT")}
    config, options = examples.load("kubernetes.ini")
    daemon = weir(config, options, environment={**where, "CP_CA": authority.path})
    daemon.expected_alarms = NO_SERVER
    return daemon


def wait_reason(daemon, server, text):
    wait_until(lambda: text in stat(daemon, server, "kubernetes")["last_chk"],
               lambda: f"{text!r} of {server}: {stat(daemon, server, 'kubernetes')}", SLOW)


def test_the_stub_writes_what_was_recorded():
    path = "/nice ports,/Trinity.txt.bak"  # nmap asks for it
    recorded = failure(403, "Forbidden", f'forbidden: User "system:anonymous" cannot get path "{path}"',
                       details={})
    assert (len(recorded), len(failure(401, "Unauthorized", "Unauthorized"))) == (212, 129)


def test_clients_reach_servers_that_are_ready_and_watches_go_on(api_servers, authority, weir):
    one, two, three = api_servers(), api_servers(failing="poststarthook/rbac/bootstrap-roles"), \
        api_servers(failing="etcd")
    daemon = start(weir, {"CP_1": one, "CP_2": two, "CP_3": three}, authority)
    wait_server(daemon, "kubernetes", "cp1", "UP")
    for server in ("cp2", "cp3"):
        wait_server(daemon, "kubernetes", server, "DOWN")
        wait_reason(daemon, server, "500")
    port = daemon.address("kubernetes").port
    watch = Client(port, authority.path)
    assert watch.ask("/api/v1/pods?watch=1") == b"HTTP/1.1 200 OK\r\n"
    assert one.watches and "GET /readyz HTTP/1." in one.asked[0]

    two.failing = None  # its start is complete
    wait_server(daemon, "kubernetes", "cp2", "UP")
    one.failing = "shutdown"
    wait_server(daemon, "kubernetes", "cp1", "DOWN")
    # Asked to stop, it serves for a while what it has, and takes whoever comes.
    one.send_event(7)
    assert watch.event() == 7
    for _ in range(4):
        client = Client(port, authority.path)
        assert client.ask("/version") == b"HTTP/1.1 200 OK\r\n"
        client.close()
    assert stat(daemon, "cp1", "kubernetes")["stot"] == "1"
    one.send_event(8)
    assert watch.event() == 8
    watch.close()


@pytest.mark.parametrize("anonymous,status", [("off", "401"), ("forbidden", "403")])
def test_a_server_that_answers_no_stranger_is_down_and_says_why(api_servers, authority, weir, anonymous,
                                                                status):
    daemon = start(weir, {"CP_1": api_servers(anonymous=anonymous), "CP_2": api_servers()}, authority)
    wait_server(daemon, "kubernetes", "cp2", "UP")
    wait_server(daemon, "kubernetes", "cp1", "DOWN")
    wait_reason(daemon, "cp1", status)


def test_a_server_of_another_cluster_is_down(api_servers, authority, folder, weir):
    stranger = ApiServer(Authority(folder, "other-ca").sign("stranger", NAMES))
    daemon = start(weir, {"CP_1": stranger, "CP_2": api_servers()}, authority)
    wait_server(daemon, "kubernetes", "cp2", "UP")
    wait_server(daemon, "kubernetes", "cp1", "DOWN")
    wait_reason(daemon, "cp1", "certificate refused")
    assert not stranger.asked
    stranger.close()
