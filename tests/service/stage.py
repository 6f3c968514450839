# SPDX-License-Identifier: MIT
"""stage.py - runs the daemon in the unit's sandbox, in its own namespaces; for test_sandbox.py.

    unshare -m -n -i --propagation private python3 stage.py BINARY

Creates the mounts that the unit requests, starts servers outside the sandbox and weir inside, sends
keyed bytes through both listeners, and prints its findings as one line of JSON. Needs root.
"""

import contextlib
import csv
import ctypes
import io
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import unit_file

HERE = os.path.dirname(os.path.realpath(__file__))
UID = 64123  # no user has it
PATIENCE = float(os.environ.get("WEIR_TEST_WAIT", "20"))
BYTES = 8 << 20
CONFIG = """\
[global]
driver       = {driver}
admin-socket = unix:/run/weir/admin.sock mode=660 group={uid}
exec-checks  = 2

[listen web]
bind     = :80
server a = unix:/run/backend.sock
server b = {name}:9000

[listen db]
bind     = unix:/run/weir/db.sock mode=666
server a = 127.0.0.1:9000
check    = exec /run/test/rights
check-timeout = 20s

[listen denied]
bind     = unix:/run/weir/denied.sock mode=600
server a = 127.0.0.1:9000
check    = exec /run/test/denied
check-timeout = 20s
"""
# The last line is what `show stat` shows.
RIGHTS = """#!/bin/sh
grep CapPrm /proc/self/status
"""
DENIED = """#!/bin/sh
exec /usr/bin/python3 -c 'import socket; socket.socket(socket.AF_NETLINK)'
"""
PROBE = """
import ctypes, errno, json, mmap, os, socket
def refusal(call):
    try:
        call()
    except OSError as e:
        return errno.errorcode[e.errno]
    return "allowed"
libc = ctypes.CDLL(None, use_errno=True)
def unshare():
    if libc.unshare(0x10000000):
        raise OSError(ctypes.get_errno(), "unshare")
wx = mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
print(json.dumps({
    "chown": refusal(lambda: os.chown("/run/weir", -1, -1)),
    "netlink": refusal(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)),
    "packet": refusal(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)),
    "namespace": refusal(unshare),
    "write+exec": refusal(lambda: mmap.mmap(-1, 4096, prot=wx)),
    "write /usr": refusal(lambda: open("/usr/x", "w")),
    "write /proc/sys": refusal(lambda: open("/proc/sys/kernel/hostname", "w")),
}))
"""


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def name_of_this_machine():
    """A name for the daemon to look up, from /etc/hosts, because no name server answers in here."""
    try:
        with open("/etc/hosts", encoding="utf-8", errors="replace") as f:
            known = any("localhost" in line.split("#")[0].split()[1:] for line in f)
    except FileNotFoundError:
        known = False
    return "localhost" if known else "127.0.0.1"


def mount_like_the_unit(binary, driver):
    """ProtectSystem=strict, ProtectHome, PrivateTmp, RuntimeDirectory; the daemon and the files of the
    tests stay visible, wherever the checkout is."""
    run("mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run")
    os.makedirs("/run/test/service")
    shutil.copy(binary, "/run/test/weir")
    for name in ("confine.py", "unit_file.py"):
        shutil.copy(os.path.join(HERE, name), "/run/test/service/" + name)
    os.makedirs("/run/conf")
    shutil.copy(unit_file.UNIT, "/run/conf/weir.service")
    with open("/run/test/confine.ini", "w", encoding="utf-8") as f:
        f.write(CONFIG.format(uid=UID, driver=driver, name=name_of_this_machine()))
    for name, text in (("rights", RIGHTS), ("denied", DENIED)):
        with open("/run/test/" + name, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod("/run/test/" + name, 0o755)
    for folder in ("/tmp", "/home", "/root"):
        run("mount", "-t", "tmpfs", "-o", "mode=755", "empty", folder)
    attributes = (ctypes.c_uint64 * 4)(1, 0, 0, 0)  # MOUNT_ATTR_RDONLY, for all mounts
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(442, -100, b"/", 0x8000, attributes, ctypes.sizeof(attributes)):
        raise OSError(ctypes.get_errno(), "mount_setattr")
    run("mount", "-o", "remount,rw", "/run")
    os.mkdir("/run/weir")
    os.chown("/run/weir", UID, UID)
    run("ip", "link", "set", "lo", "up")


def confined(unit, *command):
    """The command line that runs `command` as the unit's process."""
    caps = unit["AmbientCapabilities"][-1].lower().removeprefix("cap_")
    assert unit["CapabilityBoundingSet"] == unit["AmbientCapabilities"]
    return ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", f"--bounding-set=-all,+{caps}",
            f"--inh-caps=-all,+{caps}", f"--ambient-caps=-all,+{caps}", "--no-new-privs",
            "/usr/bin/python3", "-B", "/run/test/service/confine.py", *command]


class Echo(threading.Thread):
    """Receives everything up to the end, then sends it back."""

    def __init__(self, listener):
        super().__init__(daemon=True)
        self.listener = listener
        self.served = 0

    def run(self):
        while True:
            with self.listener.accept()[0] as sock:
                data = b"".join(iter(lambda s=sock: s.recv(1 << 20), b""))
                sock.sendall(data)
                self.served += 1


def unix_listener(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    os.chmod(path, 0o666)
    listener.listen(64)
    return listener


def exchange(sock, key):
    """True if every byte came back unchanged."""
    data = random.Random(key).randbytes(BYTES)
    with sock:
        sock.settimeout(PATIENCE)
        sender = threading.Thread(target=lambda: (sock.sendall(data), sock.shutdown(socket.SHUT_WR)))
        sender.start()
        back = b"".join(iter(lambda: sock.recv(1 << 20), b""))
        sender.join()
    return back == data


def wait_for(what):
    end = time.monotonic() + PATIENCE
    while not (value := what()) and time.monotonic() < end:
        time.sleep(0.01)
    return value


def task_cpus(pid):
    lists = []
    for task in os.listdir(f"/proc/{pid}/task"):
        # A thread may end meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), \
                open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as f:
            lists.append(re.search(r"Cpus_allowed_list:\s*(\S+)", f.read())[1])
    return lists


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return dict(re.findall(r"(?m)^(\w+):\s*(.*)$", f.read()))


def checks():
    """{section: (check_status, last_chk)} of the servers that programs check, once both have a result."""
    done = subprocess.run(["/run/test/weir", "ctl", "-s", "/run/weir/admin.sock", "show stat"],
                          stdout=subprocess.PIPE, text=True, check=False)
    rows = csv.DictReader(io.StringIO(done.stdout.lstrip("# ")))
    found = {row["pxname"]: (row["check_status"].removeprefix("* "), row["last_chk"]) for row in rows
             if row["svname"] == "a" and row["check_duration"]}
    return found if len(found) == 2 else None


def unix_client(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(path)
    return sock


def play(unit):
    probe = subprocess.run(confined(unit, "/usr/bin/python3", "-c", PROBE), check=True,
                           stdout=subprocess.PIPE, text=True)
    version = subprocess.run(confined(unit, "/run/test/weir", "-vv"), check=True, stdout=subprocess.PIPE,
                             text=True)
    saw = {"probe": json.loads(probe.stdout), "version": version.stdout}
    echoes = [Echo(unix_listener("/run/backend.sock")), Echo(socket.create_server(("127.0.0.1", 9000)))]
    for echo in echoes:
        echo.start()
    with open("/run/test/log", "wb") as log:
        child = subprocess.Popen(confined(unit, "/run/test/weir", "-f", "/run/test/confine.ini"),
                                 stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                 env={**os.environ, "RUNTIME_DIRECTORY": "/run/weir"})

    def text():
        with open("/run/test/log", encoding="utf-8", errors="replace") as f:
            return f.read()

    try:
        wait_for(lambda: " ready: " in text() or child.poll() is not None)
        if child.poll() is None:
            saw["status"] = status_of(child.pid)
            saw["cpus"] = task_cpus(child.pid)
            addresses = [("127.0.0.1", 80), ("::1", 80), ("127.0.0.1", 80), ("::1", 80)]
            saw["web"] = [exchange(socket.create_connection(a), i) for i, a in enumerate(addresses)]
            saw["db"] = exchange(unix_client("/run/weir/db.sock"), 77)
            saw["checks"] = wait_for(checks)
            saw["served"] = [echo.served for echo in echoes]
            saw["modes"] = {name: oct(os.stat("/run/weir/" + name).st_mode & 0o777)
                            for name in sorted(os.listdir("/run/weir"))}
            child.send_signal(signal.SIGTERM)
        saw["code"] = child.wait(PATIENCE)
    finally:
        child.kill()
    saw["left"] = os.listdir("/run/weir")
    saw["log"] = text()
    with open("/proc/sys/fs/pipe-user-pages-soft", encoding="ascii") as f:
        saw["pipe_pages"] = int(f.read())
    return saw


def main():
    mount_like_the_unit(sys.argv[1], sys.argv[2])
    print(json.dumps(play(unit_file.read("/run/conf/weir.service"))))


if __name__ == "__main__":
    main()
