# SPDX-License-Identifier: MIT
"""dnsmasq and nginx behind discovery.ini: servers come and go with the addresses of a name."""

import http.client
import os
import subprocess

import pytest

import examples
from dnsmasq import LONG, Dnsmasq
from harness.daemon import BINARY
from harness.timing import stays, wait_until
from nginx import Nginx
from servers import SLOW, ports
from writer import PATIENCE

HOSTS = [f"127.0.0.{n}" for n in (31, 32, 33)]
SRV = "_api._tcp.test"
BUILT = not os.path.exists(BINARY) or "c-ares" in subprocess.run(
    [BINARY, "-vv"], capture_output=True, text=True, check=False).stdout
pytestmark = pytest.mark.skipif(not BUILT, reason="this build has no c-ares")


@pytest.fixture
def web(servers):
    """One at each host, all at one port."""
    here = servers("nginx")
    (port,) = ports(1)
    return {host: Nginx(here, f"on{host}", address=f"{host}:{port}") for host in HOSTS}


@pytest.fixture
def names(servers, web):
    (port,) = {one.address.partition(":")[2] for one in web.values()}
    return Dnsmasq(servers("dnsmasq"), f"{SRV},first.test,{port},10,1", f"{SRV},spare.test,{port},20,1")


def asked(port, times=8):
    """The hosts that answer."""
    found = set()
    for _ in range(times):
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        line.request("GET", "/", headers={"Connection": "close"})
        found.add(line.getresponse().read().decode().split(" ")[0].removeprefix("on"))
        line.close()
    return found


def in_use(daemon, proxy):
    lines = daemon.ask(f"show servers state {proxy}").splitlines()[2:]
    return {line.split()[4] for line in lines if line and line.split()[5] == "2"}


def test_servers_come_and_go_with_the_addresses_of_a_name(web, names, weir):
    names.set(web=HOSTS[:2], first=[HOSTS[2]], spare=[HOSTS[0]])
    (port,) = {one.address.partition(":")[2] for one in web.values()}
    config, options = examples.load("discovery.ini")
    daemon = weir(config, f"{options}\nresolvers = 127.0.0.1:{names.port}",
                  environment={"WEB": f"web.test:{port}", "API": SRV})

    def wait_for(proxy, hosts):
        wait_until(lambda: in_use(daemon, proxy) == set(hosts), lambda: f"{hosts} are in use: "
                   f"{daemon.ask(f'show servers state {proxy}')}\n{daemon.log()[-2000:]}", SLOW)

    front, api = daemon.address("web").port, daemon.address("api").port
    # Whoever comes before the first answer waits for it.
    assert asked(front, 1) <= set(HOSTS[:2])
    wait_for("web", HOSTS[:2])
    assert asked(front) == set(HOSTS[:2])
    assert asked(api) == {HOSTS[2]}

    names.set(web=HOSTS[1:])
    wait_for("web", HOSTS[1:])
    assert asked(front) == set(HOSTS[1:])
    # The first of the SRV records has gone: what is left is a backup.
    web[HOSTS[2]].crash()
    wait_for("api", HOSTS[:1])
    assert asked(api) == {HOSTS[0]}

    names.crash()
    assert stays(lambda: asked(front, 1) == {HOSTS[1]}, 2)
    # Nothing is asked during the final check.
    names.start(LONG)
    wait_until(lambda: stays(lambda before=names.said(): names.said() == before, 1), "nothing is asked", SLOW)
