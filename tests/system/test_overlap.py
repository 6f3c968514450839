# SPDX-License-Identifier: MIT
"""Danger: a wildcard and one address with the same port take each other's clients, or a reload, or a frontend
that goes and comes back, loses one of them."""

import os
import signal
import socket
import threading

import pytest

from harness import storm
from harness.address import Address
from harness.labelled import Client, Server
from harness.manager import passing
from harness.port_service import free_run
from harness.timing import wait_until
from test_reload import free_port
from test_reload_user import low_port
from test_sockets import mptcp_missing

# Wildcard and address as written, and a client of each.
PAIRS = (("0.0.0.0:{}", "127.0.0.1:{}", "127.0.0.2", "127.0.0.1"),
         (":{}", "127.0.0.1:{}", "::1", "127.0.0.1"),
         (":{}", "[::1]:{}", "127.0.0.1", "::1"),
         ("[::]:{}", "127.0.0.1:{}", "127.0.0.2", "127.0.0.1"))
IDS = [f"{wide}-{narrow}".replace("{}", "P") for wide, narrow, _, _ in PAIRS]
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="not root: there is nothing to give up")
USERS = ("", pytest.param("user = nobody", marks=ROOT))
NARROW, WIDE = PAIRS[0][1], PAIRS[0][0]


class World:
    """Two servers that say who they are, each behind a frontend of its name."""

    def __init__(self, weir, closing, pair, port=None):
        self.weir = weir
        self.servers = {name: Server(name) for name in ("one", "two")}
        closing.extend(self.servers.values())
        self.port = port or free_port()
        self.wide, self.narrow = (text.format(self.port) for text in pair[:2])
        self.others, self.host = (self.address_of(host) for host in pair[2:])
        self.daemon = None

    def address_of(self, host):
        return Address("tcp6" if ":" in host else "tcp4", host=host, port=self.port)

    def text(self, one, two, words=""):
        """A configuration whose frontends have these addresses; one without any is left out."""
        front = "".join(f"[frontend {name}]\n" + "".join(f"bind = {b}{words}\n" for b in binds) +
                        f"default-backend = b{name}\n"
                        for name, binds in (("one", one), ("two", two)) if binds)
        back = "".join(f"[backend b{name}]\nserver a = {server.where}\n"
                       for name, server in self.servers.items())
        return "[listen spare]\nbind = 127.0.0.1:0\nserver a = 127.0.0.1:1\n" + front + back

    def start(self, *binds, global_options="", words="", **kw):
        self.daemon = self.weir(self.text(*binds, words=words), global_options, **kw)
        self.daemon.expected_alarms = "no server left"
        return self.daemon

    def reload(self, *binds, refused=False):
        text = self.daemon.config
        self.daemon.rewrite(text[:text.index("[listen spare]")] + self.text(*binds))
        return self.daemon.reload(words=(), refused=refused)

    def ask(self, where):
        """Which server a client of this address gets."""
        client = Client(where)
        try:
            return client.label()
        finally:
            client.close()

    def both(self):
        return self.ask(self.others), self.ask(self.host)

    def end(self):
        self.daemon.reloaded = True  # the same addresses, but perhaps other sockets


@pytest.fixture
def world(weir, closing):
    return lambda pair=PAIRS[0], **kw: World(weir, closing, pair, **kw)


class Knocking:
    """Clients of one address, one after another, in threads: none may be refused or cut off."""

    def __init__(self, world, where, count=2):
        self.world, self.where = world, where
        self.failures, self.resent = [], 0
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self._run) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def _run(self):
        while not self.stop.is_set():
            try:
                label, resent = self._knock()
            except OSError as e:
                label, resent = repr(e), 0
            self.resent += resent
            if label not in self.world.servers:
                self.failures.append(label)

    def _knock(self):
        client = Client(self.where)
        try:
            return client.label(), client.resent()
        finally:
            client.close()

    def end(self, expected=()):
        """How often a client had to try again, which its kernel does after a second."""
        self.stop.set()
        for thread in self.threads:
            thread.join()
        assert set(self.failures) <= set(expected), self.failures[:3]
        return self.resent


# ---- who gets whom ------------------------------------------------------------------------------

@pytest.mark.smoke
@pytest.mark.parametrize("swapped", (False, True), ids=("wildcard first", "address first"))
@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_clients_of_the_address_come_in_there_and_all_others_at_the_wildcard(world, pair, swapped):
    w = world(pair)
    w.start(*((w.narrow,), (w.wide,)) if swapped else ((w.wide,), (w.narrow,)))
    for _ in range(3):
        assert w.both() == (("two", "one") if swapped else ("one", "two"))


@pytest.mark.parametrize("options", USERS, ids=("same user", "nobody"))
def test_both_may_be_of_one_frontend(world, options):
    w = world()
    w.start((w.narrow, w.wide), (), global_options=options)
    assert w.both() == ("one", "one")
    assert sorted(str(b) for name, b, _ in w.daemon.addresses() if name == "one") == ["1", "2"]
    for command in ("disable", "enable"):
        w.daemon.ask(f"{command} frontend one")
        wait_until(lambda c=command: w.both() == (("one",) * 2 if c == "enable" else ("refused",) * 2),
                   lambda: w.both())
    w.end()


def test_a_range_may_meet_a_wildcard(world):
    w = world(port=free_run(3, ("0.0.0.0",)))
    ports = range(w.port, w.port + 3)
    last = ports[-1]
    w.start((w.wide,), (f"127.0.0.1:{ports[0]}-{last}", f"127.0.0.3:{ports[0]}"))
    assert w.both() == ("one", "two")
    for host, port, label in (("127.0.0.1", last, "two"), ("127.0.0.3", ports[0], "two"),
                              ("127.0.0.2", last, "refused")):
        assert w.ask(Address("tcp4", host=host, port=port)) == label


def test_mptcp(world):
    if mptcp_missing():
        pytest.skip(mptcp_missing())
    w = world()
    w.start((w.wide,), (w.narrow,), words=" mptcp")
    assert w.both() == ("one", "two")


@ROOT
def test_mptcp_of_another_user_stays_disabled(world):
    """The kernel compares the owners of the sockets, and that of one of MPTCP cannot be changed."""
    if mptcp_missing():
        pytest.skip(mptcp_missing())
    w = world()
    w.start((w.wide,), (w.narrow,), global_options="user = nobody", words=" mptcp")
    assert w.both() == ("one", "two")
    w.daemon.ask("disable frontend two")
    wait_until(lambda: w.ask(w.host) == "one", "they come in at the wildcard")
    assert "ddress already in use" in w.daemon.ask("enable frontend two")
    assert w.both() == ("one", "one")
    w.end()


def test_clients_of_a_full_frontend_wait_there(world):
    w = world()
    w.daemon = w.weir(w.text((w.wide,), (w.narrow,)).replace("[frontend two]\n",
                                                             "[frontend two]\nmaxconn = 1\n"))
    first = Client(w.host)
    assert first.label() == "two"
    second = Client(w.host)
    assert second.quiet(0.3)
    first.close()
    assert second.label() == "two"
    second.close()


# ---- nobody else -----------------------------------------------------------------------------------

def may_bind(where, *options):
    with where.socket() as sock:
        for option in options:
            sock.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            sock.bind(where.sockaddr)
            sock.listen()
            return True
        except OSError:
            return False


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_another_process_does_not_get_the_port(world, pair):
    w = world(pair)
    w.start((w.wide,), (w.narrow,))
    for _ in range(2):
        for where in (w.host, w.others):
            assert not may_bind(where)
            assert not may_bind(where, socket.SO_REUSEADDR)
        w.reload((w.wide,), ())
        w.reload((w.wide,), (w.narrow,))
    assert w.both() == ("one", "two")


def refused(weir, text, **kw):
    daemon = weir(text, launch_only=True, **kw)
    assert daemon.wait_exit() == 3, daemon.log()
    daemon.ended = True
    return daemon.log()


def test_a_second_daemon_is_refused(world, weir):
    w = world()
    text = w.text((w.wide,), (w.narrow,))
    w.daemon = weir(text)
    assert "ddress already in use" in refused(weir, text)
    assert w.both() == ("one", "two")


@pytest.mark.parametrize("taken", ("0.0.0.0", "127.0.0.1", "127.0.0.3"))
def test_an_address_of_another_process_is_refused(world, weir, taken):
    """Even if that process would share the port."""
    w = world()
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind((taken, w.port))
        sock.listen()
        for both in ((w.wide, w.narrow), (w.narrow, w.wide)):
            assert "ddress already in use" in refused(weir, w.text(both, ()))
        w.start((f"127.0.0.4:{free_port()}",), ())
        assert "ddress already in use" in w.reload((w.narrow,), (w.wide,), refused=True)
    w.reload((w.narrow,), (w.wide,))
    assert w.both() == ("two", "one")


@pytest.mark.parametrize("passed", (WIDE, NARROW), ids=("wildcard", "address"))
def test_a_passed_socket_is_never_shared(world, weir, passed):
    w = world()
    ours = w.narrow if passed == WIDE else w.wide
    with socket.socket() as sock:
        sock.bind((passed.partition(":")[0], w.port))
        sock.listen()
        assert "ddress already in use" in refused(weir, w.text(("fd@web",), (ours,)), **passing("web", sock))
        w.start(("fd@web",), (), **passing("web", sock))
        said = w.reload(("fd@web",), (ours,), refused=True)
        assert "which the service manager passed, and which is never shared" in said, said
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT) == 0
        w.reload(("fd@web",), ())


def test_the_same_address_twice_is_refused_also_as_ipv6(world, weir):
    w = world()
    log = refused(weir, w.text((w.wide, w.narrow), (f"[::ffff:127.0.0.1]:{w.port}",)))
    assert "ddress already in use" in log


# ---- across a reload ---------------------------------------------------------------------------------

@pytest.mark.parametrize("options", USERS, ids=("same user", "nobody"))
@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_a_reload_adds_moves_swaps_and_removes_it_without_losing_anybody(world, pair, options):
    w = world(pair, port=low_port() if options else None)
    w.start((w.wide,), (), global_options=options)
    knocking = Knocking(w, w.host)
    both, none = (w.wide, w.narrow), ()
    for _ in range(2):
        for one, two, expected in (((w.wide,), (w.narrow,), "two"), ((w.wide,), none, "one"),
                                   ((w.wide,), (w.narrow,), "two"), ((w.narrow,), (w.wide,), "one"),
                                   (none, both, "two"), (both, none, "one"), ((w.narrow,), none, "one"),
                                   (none, (w.wide,), "two"), ((w.narrow,), (w.wide,), "one"),
                                   ((w.wide,), (w.narrow,), "two"), (none, (w.narrow,), "two"),
                                   (both, none, "one"), ((w.wide,), none, "one")):
            w.reload(one, two)
            for _ in range(3):
                assert w.ask(w.host) == expected, (one, two, w.daemon.log()[-2000:])
            if w.wide in one + two:
                assert w.ask(w.others) == ("one" if w.wide in one else "two"), (one, two)
    assert knocking.end() == 0, "none has been sent away for a second"
    w.daemon.reload()


STATES = [(one, two) for one in range(4) for two in range(4) if one | two and not one & two]


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_any_order_of_reloads_and_commands(world, pair):
    """With a frontend out of service in between."""
    w = world(pair)
    rng = storm.draw()
    part = {0: (), 1: (w.wide,), 2: (w.narrow,), 3: (w.narrow, w.wide)}
    state, out = (1, 2), set()
    w.start(part[1], part[2])
    for _ in range(15):
        name = rng.choice(("one", "two"))
        if rng.random() < 0.4 and state[int(name == "two")]:
            w.daemon.ask(f"{'enable' if name in out else 'disable'} frontend {name}")
            out ^= {name}
        else:
            state = rng.choice(STATES)
            w.reload(*(part[x] for x in state))
            out -= {n for n, x in zip(("one", "two"), state) if not x}
        serving = [x * (n not in out) for n, x in zip(("one", "two"), state)]
        for where, bits in ((w.host, (2, 1)), (w.others, (1,))):
            expected = next((n for bit in bits for n, x in zip(("one", "two"), serving) if x & bit),
                            "refused")
            # What was left is deaf for a while, and then a client tries again.
            wait_until(lambda a=where, e=expected: w.ask(a) == e,
                       lambda a=where, e=expected: f"{a}: {w.ask(a)} for {e}, {state} {out}\n" +
                       w.daemon.log()[-3000:])
    for name in out:
        w.daemon.ask(f"enable frontend {name}")
    w.end()


def test_a_reload_that_fails_changes_nothing(world):
    w = world()
    w.start((w.wide,), ())
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        taken = "127.0.0.1:%d" % sock.getsockname()[1]
        for binds in ((w.narrow, taken), (taken, w.narrow)):
            w.reload((w.wide,), binds, refused=True)
            assert w.both() == ("one", "one")
    w.reload((w.wide,), (w.narrow, taken))
    assert w.both() == ("one", "two")


# ---- out of service ----------------------------------------------------------------------------------

@pytest.mark.parametrize("options", USERS, ids=("same user", "nobody"))
@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_while_it_is_disabled_its_clients_come_in_at_the_wildcard(world, pair, options):
    w = world(pair, port=low_port() if options else None)
    w.start((w.wide,), (w.narrow,), global_options=options)
    knocking = Knocking(w, w.host)
    for _ in range(2):
        w.daemon.ask("disable frontend two")
        wait_until(lambda: w.ask(w.host) == "one", "they come in at the wildcard")
        assert w.ask(w.others) == "one"
        w.daemon.ask("enable frontend two")
        assert w.both() == ("one", "two")
    # And at once.
    w.daemon.ask("disable frontend two; enable frontend two")
    assert w.both() == ("one", "two")
    knocking.end()
    w.end()


@pytest.mark.parametrize("pair", PAIRS, ids=IDS)
def test_while_the_wildcard_is_disabled_the_address_goes_on(world, pair):
    w = world(pair)
    w.start((w.wide,), (w.narrow,))
    knocking = Knocking(w, w.host)
    for _ in range(2):
        w.daemon.ask("disable frontend one")
        wait_until(lambda: w.ask(w.others) == "refused", "the others are refused")
        assert w.ask(w.host) == "two"
        w.daemon.ask("enable frontend one")
        assert w.both() == ("one", "two")
    assert knocking.end() == 0
    w.end()


def test_without_a_server_it_leaves_and_comes_back(world):
    """A client who has come in by then is closed, as without a wildcard."""
    w = world()
    w.daemon = w.weir(w.text((w.wide,), (w.narrow,)).replace("[frontend two]\n",
                                                             "[frontend two]\nunlisten = no-server\n"))
    w.daemon.expected_alarms = "no server left"
    knocking = Knocking(w, w.host)
    for _ in range(2):
        w.daemon.ask("set server btwo/a state maint")
        wait_until(lambda: w.ask(w.host) == "one", "they come in at the wildcard")
        w.daemon.ask("set server btwo/a state ready")
        wait_until(lambda: w.ask(w.host) == "two", "it is back")
    knocking.end(expected=("fin",))
    w.end()


def test_a_frontend_that_was_shut_down_stays_out(world):
    w = world()
    w.start((w.wide,), (w.narrow,))
    w.daemon.ask("shutdown frontend two")
    wait_until(lambda: w.ask(w.host) == "one", "they come in at the wildcard")
    w.daemon.reload(words=())
    assert w.both() == ("one", "one")
    w.daemon.reload("[frontend two]\n", "[frontend two]\nmaxconn = 9\n", words=())
    assert w.both() == ("one", "two")
    w.end()


def test_a_stop_lets_both_finish(world):
    w = world()
    daemon = w.start((w.wide,), (w.narrow,))
    clients = [Client(where) for where in (w.host, w.others)]
    assert [c.label() for c in clients] == ["two", "one"]
    daemon.ended = True
    daemon.signal(signal.SIGTERM)
    for where in (w.host, w.others):
        wait_until(lambda a=where: w.ask(a) in ("refused", "reset"), "it refuses")
    for client in clients:
        client.send(b"x" * 1000).fin()
        end, said, _ = client.finish()
        assert end == "fin" and said.endswith(b"x" * 1000)
        client.close()
    assert daemon.wait_exit() == 0
