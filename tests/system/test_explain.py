# SPDX-License-Identifier: MIT
"""Danger: `explain` says something else than what then happens to the client."""

import json
import select
import socket

from harness import proxy
from harness.port_service import free_run
from harness.timing import PATIENCE, stays, wait_until

ME = "127.0.0.1"
SPREAD = [f"127.0.0.{n}" for n in range(2, 10)]
# Why a session failed, and what `explain` calls that.
OUTCOMES = {"denied": "denied", "source_limit": "denied", "source_rate": "denied",
            "no_server": "no_server", "queue_full": "queue_full"}


def servers(*options):
    return "".join(f"server {name} = @{name}@ {words}\n" for name, words in zip("abc", options, strict=False))


# Frontend: its section, commands before, and the sources of its clients, which stay until its end.
CASES = {
    "turns": ("balance = roundrobin\n" + servers("", "weight=2", ""), (), [ME] * 6),
    "least": ("balance = leastconn\n" + servers("", "weight=3", ""), (), [ME] * 9),
    "chance": ("balance = random\n" + servers("", "weight=3", ""), (), [ME] * 9),
    "draws": ("balance = random(3)\n" + servers("", "weight=3", "maxconn=1"), (), [ME] * 9),
    "first": ("balance = first\n" + servers("maxconn=1", "maxconn=2", "maxconn=1"), (), [ME] * 6),
    "source": ("balance = source\n" + servers("", "weight=3", ""), (), SPREAD),
    "bounded": ("balance = source hash=consistent hash-balance-factor=110\n" + servers("", "", ""), (),
                SPREAD[:2] * 4),
    "maglev": ("balance = maglev\n" + servers("", "weight=3", ""), ("set server maglev/b state maint",),
               SPREAD),
    "states": ("balance = roundrobin\n" + servers("", "", ""),
               ("set server states/a health down", "set server states/b state drain"), [ME] * 2),
    "weightless": (servers("", "", ""), ("set server weightless/a weight 0",), [ME] * 3),
    "backup": (servers("", "backup", "backup"), ("set server backup/a state maint",), [ME] * 2),
    "backups": ("allbackups = on\n" + servers("", "backup", "backup"), ("set server backups/a state maint",),
                [ME] * 3),
    "spare": (servers("", "", "backup"), (), [ME] * 2),
    "panic": ("panic = on\n" + servers("", ""), ("set server panic/a health down",
                                                 "set server panic/b health down"), [ME] * 2),
    "closed": (servers(""), ("set server closed/a state maint",), [ME]),
    "reset": ("no-server = reset\n" + servers("disabled"), (), [ME]),
    "waits": ("no-server = queue\nmaxqueue = 1\n" + servers("disabled"), (), [ME] * 2),
    "full": ("maxqueue = 2\n" + servers("maxconn=1", "maxconn=1"), (), [ME] * 5),
    "own": ("balance = source\n" + servers(*["maxconn=1 maxqueue=1"] * 3), (), SPREAD),
    "stuck": ("balance = source\nredispatch = off\nmaxqueue = 3\n" +
              servers(*["maxconn=1 maxqueue=1"] * 3), (), SPREAD),
    "deny": ("deny-from = 127.0.0.2 127.0.0.4/31\n" + servers(""), (), SPREAD[:5]),
    "allow": ("allow-from = 127.0.0.2 127.0.0.4/31\ndeny-from = 127.0.0.5\n" + servers(""), (), SPREAD[:5]),
    "sources": ("maxconn-per-source = 1\n" + servers(""), (), [ME, ME, *SPREAD[:2], SPREAD[0]]),
    "rates": ("rate-limit-per-source = 1/1h burst=2\nmaxconn-per-source = 3\n" + servers(""), (),
              [ME, ME, ME, *SPREAD[:2], SPREAD[0], SPREAD[0]]),
    "exempt": (f"rate-limit-per-source = 1/1h\nmaxconn-per-source = 1\nlimit-exempt = {ME}\n" +
               servers(""), (), [ME, ME, ME, SPREAD[0], SPREAD[0]]),
    "crowded": ("maxconn = 1\n" + servers(""), (), [ME] * 2),
    "crowd": ("maxconn = 2\ndeny-from = 127.0.0.3\n" + servers("", ""), (), SPREAD[:2] + [ME] * 2),
    "disabled": (servers(""), ("disable frontend disabled",), [ME]),
    "away": ("unlisten = no-server\n" + servers(""), ("set server away/a state maint",), [ME]),
}
AFTERWARDS = ("enable frontend disabled", "set server away/a state ready")


class Scene:
    """A daemon, its three servers, and the clients that the current case keeps."""

    def __init__(self, daemon, listeners):
        self.daemon = daemon
        self.listeners = listeners
        self.kept = []
        self.waiting = []  # clients that are not accepted yet, with their addresses

    def explain(self, where, client, words=""):
        steps = json.loads(self.daemon.ask(f"explain listener={where} client={client} {words} json"))
        fates = {s["step"].split("/")[1]: s["verdict"] for s in steps if "verdict" in s}
        return steps[-1]["outcome"], fates, steps[-1]["text"]

    def queued(self, name):
        """Clients queued for each server."""
        rows = [row.split(",") for row in self.daemon.ask("show stat").splitlines() if row]
        return {row[1]: int(row[2]) for row in rows[1:] if row[0] == name and row[1] in "abc"}

    def _refusal(self, client, end):
        def failure():
            rows = json.loads(self.daemon.ask("show errors json"))
            return next((row["reason"] for row in rows if row.get("client") == client), None)
        return OUTCOMES[wait_until(failure, f"the failure of {client} is noted")], end

    def fate_of(self, sock, client):
        """What has happened to a client: its outcome with a detail; None so far."""
        ready, _, _ = select.select([sock, *(s.sock for s in self.listeners.values())], [], [], 0)
        for name, listener in self.listeners.items():
            if listener.sock in ready:
                self.kept.append(listener.accept())
                return "server", name
        if sock in ready:
            try:
                assert not sock.recv(1)
                return self._refusal(client, "closed")
            except ConnectionResetError:
                return self._refusal(client, "reset")
        if any(f"client={client} " in line and "state=queued" in line for line in self.daemon.sessions()):
            return "queue", None
        return None

    def compare(self, name, where, source):
        """One client: explains it first; returns how that differs from what happens."""
        said, fates, text = self.explain(name, source)
        before = self.queued(name)
        sock = socket.socket()
        self.kept.append(sock)
        sock.settimeout(PATIENCE)
        sock.bind((source, 0))
        client = ":".join(map(str, sock.getsockname()))
        fate = None
        try:
            sock.connect(where.sockaddr)
        except ConnectionResetError:
            fate = self._refusal(client, "reset")
        except ConnectionRefusedError:
            fate = "refused", None
        if said == "backlog":
            self.waiting.append((self.kept.pop(), client))
            alone = stays(lambda: self.fate_of(sock, client) is None, 0.05)
            return None if alone and not any(client in s for s in self.daemon.sessions()) else (name, text)
        outcome, detail = fate or wait_until(lambda: self.fate_of(sock, client), f"{name} {source}: {text}")
        agree = outcome == said
        if outcome == "server":
            takers = {s for s, fate in fates.items() if fate in ("taken", "candidate")}
            agree &= detail in takers and ("taken" not in fates.values() or len(takers) == 1)
        elif outcome == "queue":
            awaited = [s for s, fate in fates.items() if fate == "awaited"]
            agree &= [s for s, n in self.queued(name).items() if n > before[s]] == awaited
        elif outcome != "refused":
            agree &= outcome == "denied" or f"is {detail} (" in text
        return None if agree else (name, source, text, fates, outcome, detail)

    def _is_empty(self):
        """Clients that waited may get a server now; it closes their connections, too."""
        for listener in select.select([s.sock for s in self.listeners.values()], [], [], 0)[0]:
            listener.accept()[0].close()
        return not self.daemon.sessions()

    def _close(self):
        for sock in self.kept:
            sock.close()
        self.kept.clear()

    def leave(self):
        self._close()
        for sock, client in self.waiting:
            fate = wait_until(lambda s=sock, c=client: self.fate_of(s, c), f"{client} is accepted in the end")
            assert fate[0] == "server", fate
            sock.close()
        self.waiting.clear()
        self._close()
        wait_until(self._is_empty, "all sessions have ended")


def test_what_is_explained_is_what_happens(weir, peers):
    listeners = {name: peers.listen() for name in "abc"}
    config = "".join(f"[listen {name}]\nbind = 127.0.0.1:0\n{lines}" for name, (lines, _, _) in CASES.items())
    for name, listener in listeners.items():
        config = config.replace(f"@{name}@", str(listener.address))
    daemon = weir(config, "threads = 4")
    daemon.expected_alarms = "has no server left"
    scene, different = Scene(daemon, listeners), []
    for name, (_, commands, sources) in CASES.items():
        where = daemon.address(name)
        for command in commands:
            assert "error" not in daemon.ask(command), command
        if name == "away":
            wait_until(lambda: scene.explain("away", ME)[0] == "refused", "the address is left")
        different += [found for source in sources if (found := scene.compare(name, where, source))]
        scene.leave()
    for command in AFTERWARDS:
        daemon.ask(command)
    wait_until(lambda: scene.explain("away", ME)[0] == "server", "the address is back")
    daemon.reloaded = True  # the sockets of both are new
    assert not different, "\n".join(map(str, different))


ROUTES = """[frontend f]
bind = 127.0.0.1:0
bind = 127.0.0.1:0 accept-proxy
default-backend = a
use-backend c = src=127.0.0.3
use-backend b = src=127.0.0.2 dst-port={port}
[backend a]
server a = @a@
[backend b]
server b = @b@
[backend c]
server c = @c@
"""


def test_a_rule_that_is_explained_is_the_one_applied(weir, peers):
    listeners = {name: peers.listen() for name in "abc"}
    port = free_run(1, (ME,))
    config = ROUTES.replace("127.0.0.1:0\n", f"127.0.0.1:{port}\n", 1).format(port=port)
    for name, listener in listeners.items():
        config = config.replace(f"@{name}@", str(listener.address))
    daemon = weir(config)
    scene = Scene(daemon, listeners)
    plain, behind = (where for _, _, where in daemon.addresses())
    for source, to_port, wanted in ((ME, port, "a"), ("127.0.0.2", port, "b"), ("127.0.0.2", 4711, "a"),
                                    ("127.0.0.3", port, "c"), ("127.0.0.3", 4711, "c")):
        outcome, fates, _ = scene.explain(behind, source, f"port={to_port}")
        assert (outcome, fates) == ("server", {wanted: "taken"})
        with socket.create_connection(behind.sockaddr) as sock:
            sock.sendall(proxy.v2("tcp4", proxy.ip_pair(source, ME, 1, to_port)))
            assert wait_until(lambda s=sock: scene.fate_of(s, ""), "a server") == ("server", wanted)
        scene.leave()
        if to_port == port:
            assert scene.compare("f", plain, source) is None
            scene.leave()
    assert scene.explain("f", ME, "port=4711")[0] == "refused"
