# SPDX-License-Identifier: MIT
"""What an administrator sets at run time: the commands, what is seen of it from outside, and what a plan and
`config diff` say about it."""

import collections
import csv
import datetime
import json
import os
import signal
import subprocess

from harness.daemon import BINARY
from harness.service import Service
from harness.timing import PATIENCE, wait_until

# Something else in the file, so that a reload has to do with everything.
OTHER = "[listen other]\nbind = 127.0.0.1:0\nserver x = 127.0.0.1:1\n"


def stat(daemon, name, column, proxy="app"):
    rows = csv.DictReader(daemon.ask("show stat").lstrip("# ").splitlines())
    return next((row[column] for row in rows if (row["pxname"], row["svname"]) == (proxy, name)), None)


def state(daemon, name, *wanted, proxy="app"):
    """Columns of a server in `show servers state`; None if there is no such server."""
    lines = daemon.ask(f"show servers state {proxy}").splitlines()
    columns = lines[1].lstrip("# ").split()
    for line in lines[2:]:
        row = dict(zip(columns, line.split()))
        if row.get("srv_name") == name:
            return tuple(row[column] for column in wanted)
    return None


def order(daemon, command, answer=""):
    """HAProxy's answer to a command, which ends with an empty line."""
    said = daemon.ask(command).strip()
    assert said == answer, (command, said)


# ---- what weir says about it ----

class Item(collections.namedtuple("Item", "kind backend name what now file by_uid since")):
    """One thing that differs from the file."""

    @property
    def thing(self):
        return self[:4]


def differing(daemon):
    """{thing: Item} of `config diff`, whose text and JSON must agree."""
    items = [Item(i["kind"], i.get("backend"), i.get("name"), i["what"], i["now"], i["file"], i["by_uid"],
                  i["since"]) for i in json.loads(daemon.ask("config diff json"))]
    lines = daemon.ask("config diff").splitlines()
    assert [line for line in lines if line] == [text_of(item) for item in items]
    return {item.thing: item for item in items}


def text_of(item):
    where = f"backend {item.backend}: " if item.backend else ""
    name = f" {item.name}" if item.name else ""
    now = f" {item.now}" if item.now is not None else ""
    file = f" instead of {item.file}" if item.file is not None else ""
    return f"{where}{item.kind}{name}: {item.what}{now}{file}, by uid {item.by_uid} at {item.since}"


def stays_text(item):
    by = f"by uid {item.by_uid} at {item.since}"
    if item.now is None:
        return f"    {item.what} at run time, {by}, and stays so"
    file = f"; the file says {item.file}" if item.file is not None else ""
    return f"    {item.what} stays {item.now}, set {by}{file}"


def staying(daemon, text, folder):
    """{thing: Item} of what stays, as a plan for this text of the file says; and whether it would change
    anything. Its text and its JSON must agree."""
    path = os.path.join(folder, "planned.ini")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    plan = json.loads(ask_plan(daemon, path, "--json"))
    items = [Item(i["kind"], i.get("backend"), i.get("name"), s["what"], s["now"], s["file"], s["by_uid"],
                  s["since"]) for i in plan["items"] for s in i.get("stays", [])]
    shown = ask_plan(daemon, path).splitlines()
    assert [line for line in shown if ", by uid " in line or ", set by uid " in line] == \
        [stays_text(item) for item in items]
    for i in plan["items"]:
        if i["what"] == "kept" and i.get("stays"):
            owner = f"backend {i['backend']}: " if "backend" in i else ""
            name = f" {i['name']}" if "name" in i else ""
            assert f"= {owner}{i['kind']}{name}" in shown, shown
    return {item.thing: item for item in items}, plan["would_change"]


def ask_plan(daemon, *words):
    got = subprocess.run([BINARY, "plan", *words, "--pid", str(daemon.pid)], capture_output=True, text=True,
                         stdin=subprocess.DEVNULL, timeout=10 * PATIENCE, check=False)
    assert got.returncode in (0, 10), got
    return got.stdout


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


# ---- the daemon ----

class World:
    """A daemon with two servers that take whatever comes, and a third that it does not know."""

    def __init__(self, weir, closing, words="", backend="", frontend="", **kw):
        self.services = [Service() for _ in range(3)]
        closing.extend(self.services)
        a, b, self.third = (service.address for service in self.services)
        self.line = f"server a = {a}{words}\n"
        self.text = (f"[frontend web]\nbind = 127.0.0.1:0\n{frontend}default-backend = app\n[backend app]\n"
                     f"{backend}{self.line}server b = {b}\n")
        self.daemon = weir(self.text, **kw)
        self.second = b

    def reload(self, *changes):
        """With these changes of the file, and whatever else."""
        if not changes:
            self.daemon.reload(self.daemon.config + OTHER, words=())
            self.daemon.reload(self.daemon.config.replace(OTHER, ""), words=())
        else:
            self.daemon.reload(*changes, words=())


class Turns:
    """There and back: another text takes effect, and then the one before does, by a rollback, or because
    nobody confirms. What a plan says stays must be what then differs."""

    WAYS = ("rollback", "return")

    def __init__(self, world, way, folder):
        self.daemon, self.way, self.folder = world.daemon, way, folder
        self.before = None
        self.child = None
        self.count = 0

    def there(self, *changes):
        """Pairs as for Daemon.rewrite(). No two texts are the same: what was left is not reloaded again."""
        self.count += 1
        self.before = text = self.daemon.config
        for old, new in zip(changes[::2], changes[1::2]):
            assert old in text, (old, text)
            text = text.replace(old, new)
        text += OTHER.replace("other", f"other{self.count}")
        planned = staying(self.daemon, text, self.folder)
        self.daemon.rewrite(text)
        if self.way == "return":
            self.child = subprocess.Popen(
                [BINARY, "reload", "--confirm", "1h", "--hold", "--pid", str(self.daemon.pid)], text=True,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
            assert self.child.stdout.readline().startswith("reloaded: "), self.daemon.log()[-2000:]
            self.daemon.reloaded = True
        else:
            self.daemon.reload(words=())
        assert planned == (differing(self.daemon), True)

    def back(self):
        planned = staying(self.daemon, self.before, self.folder)
        if self.way == "rollback":
            got = subprocess.run([BINARY, "rollback", "--pid", str(self.daemon.pid)], capture_output=True,
                                 text=True, timeout=10 * PATIENCE, check=False)
            assert got.stdout.startswith("rolled back: "), got
        else:
            returns = self.daemon.log().count("returned: generation ")
            self.child.send_signal(signal.SIGKILL)
            self.child.communicate(timeout=PATIENCE)
            wait_until(lambda: self.daemon.log().count("returned: generation ") > returns, self.daemon.log)
        self.daemon.rewrite(self.before)
        assert planned == (differing(self.daemon), True)


# ---- what is set ----

# On a server of the file: the words of its line, the commands, how to see it, what is seen then, other words
# of the line, what is seen of these; and what `config diff` says: what, now, in the file.
Row = collections.namedtuple("Row", "name words commands see set other file backend differs",
                             defaults=("", ()))

CHECKED = "check = tcp\ncheck-interval = 1h\n"

ROWS = [
    Row("weight", " weight=10", ["set weight app/a 5"],
        lambda d: state(d, "a", "srv_uweight"), ("5",), " weight=20", ("20",),
        differs=[("weight", "5", "10")]),
    Row("maxconn", " maxconn=10", ["set maxconn server app/a 5"],
        lambda d: stat(d, "a", "slim"), "5", " maxconn=20", "20", differs=[("maxconn", "5", "10")]),
    Row("drain", "", ["set server app/a state drain"],
        lambda d: stat(d, "a", "status"), "DRAIN", " disabled", "MAINT",
        differs=[("state", "drain", "ready")]),
    Row("ready", " disabled", ["enable server app/a", "set server app/a state drain"],
        lambda d: stat(d, "a", "status"), "DRAIN", "", "no check", differs=[("state", "drain", "maint")]),
    Row("check-port", " check-port=7", ["set server app/a check-port 8"],
        lambda d: state(d, "a", "srv_check_port"), ("8",), " check-port=9", ("9",), CHECKED,
        [("check-port", "8", "7")]),
    # Of these the file says nothing, unless the server is not checked at all.
    Row("checks", "", ["disable health app/a"],
        lambda d: state(d, "a", "srv_check_state"), ("2",),
        " check=off", ("0",), CHECKED, [("checks", "disabled", "enabled")]),
    Row("health", "", ["disable health app/a", "set server app/a health down"],
        lambda d: state(d, "a", "srv_op_state"), ("0",), " check=off", ("2",), CHECKED,
        [("checks", "disabled", "enabled"), ("health", "down", None)]),
]
