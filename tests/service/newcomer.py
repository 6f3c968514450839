# SPDX-License-Identifier: MIT
"""newcomer.py - README's path from HAProxy, as it is written there, with the file of Debian's package.

Appends a `listen` section to /etc/haproxy/haproxy.cfg: only for a machine that is thrown away. Runs as root
in tests/release.sh; `weir` must be in PATH. Prints what was run; exits with 0 if a page came through weir.
"""

import http.server
import pathlib
import random
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIG = pathlib.Path("/etc/haproxy/haproxy.cfg")
PATIENCE = 60
PAGE = b"a page"


def readme_path():
    """The three commands of README.md."""
    (block,) = [b for b in (ROOT / "README.md").read_text().split("```")[1::2] if "weir convert" in b]
    return block.strip().splitlines()


class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_args):
        pass


def free_port():
    """None that the kernel gives to a client before weir listens, not even to our own."""
    lowest = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        try:
            with socket.create_server(("", random.randrange(lowest // 2, lowest))) as probe:
                return probe.getsockname()[1]
        except OSError:
            continue


def page_of(port, weir):
    """What a client gets, as soon as weir listens."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE) as answer:
                return answer.read()
        except OSError:
            assert weir.poll() is None, f"weir ended with {weir.returncode}"
            assert time.monotonic() < end, "weir does not listen"
            time.sleep(0.05)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = free_port()
    with CONFIG.open("a") as config:
        config.write(f"\nlisten web\n\tmode tcp\n\tbind :{port}\n\tserver a 127.0.0.1:{server.server_port}\n")
    subprocess.run(["haproxy", "-c", "-f", str(CONFIG)], check=True)
    convert, validate, start = readme_path()
    with tempfile.TemporaryDirectory() as here:
        for command in convert, validate:
            print(f"$ {command}", flush=True)
            subprocess.run(command, shell=True, cwd=here, check=True)
        print(f"$ {start}", flush=True)
        with subprocess.Popen(start.split(), cwd=here) as weir:
            try:
                assert page_of(port, weir) == PAGE
                subprocess.run(["weir", "ctl", "-s", "/run/weir/admin.sock", "show stat"], check=True)
            finally:
                weir.terminate()
        assert weir.returncode == 0, f"weir ended with {weir.returncode}"
    print("a page came through weir")


if __name__ == "__main__":
    main()
