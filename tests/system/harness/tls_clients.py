# SPDX-License-Identifier: MIT
"""Real TLS clients: each connects to a port of this machine, with a server name and protocols that the
caller chooses, and returns what the server sent. None of them verifies the certificate.

    for client in tls_clients.installed():
        page = client.ask(port, name="a.example.test", alpn=["http/1.1"])
"""

import contextlib
import os
import re
import shutil
import socket
import ssl
import subprocess
import tempfile

WAIT_S = 30
REQUEST = b"GET / HTTP/1.0\r\n\r\n"
GO_SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tls_client.go")


def run(command, said=b"", wait=WAIT_S, env=None):
    """What a command prints on stdout; its exit status does not count: the server may have hung up."""
    return subprocess.run(command, input=said, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          timeout=wait, check=False, env={**os.environ, **(env or {})}).stdout


class Openssl:
    name = "openssl"

    @staticmethod
    def installed():
        return shutil.which("openssl") is not None

    @staticmethod
    def ask(port, name=None, alpn=(), options=()):
        words = ["-servername", name] if name else ["-noservername"]
        words += ["-alpn", ",".join(alpn)] if alpn else []
        return run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-quiet", *words, *options],
                   REQUEST)


class Curl:
    """Offers http/1.1, or h2 and http/1.1, or nothing: other lists are not for curl to choose."""

    name = "curl"

    @staticmethod
    def installed():
        return shutil.which("curl") is not None

    @staticmethod
    def ask(port, name=None, alpn=(), options=()):
        offers = {(): "--no-alpn", ("http/1.1",): "--http1.1", ("h2", "http/1.1"): "--http2"}
        host = name or "127.0.0.1"
        resolve = ["--resolve", f"{name}:{port}:127.0.0.1"] if name else []
        return run(["curl", "-q", "-s", "-k", "--noproxy", "*", "--max-time", str(WAIT_S),
                    offers[tuple(alpn)], *resolve, *options, f"https://{host}:{port}/"])


class Python:
    name = "python"

    @staticmethod
    def installed():
        return True

    @staticmethod
    def ask(port, name=None, alpn=(), versions=(None, None)):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        if alpn:
            context.set_alpn_protocols(list(alpn))
        if versions[0]:
            context.minimum_version, context.maximum_version = versions
        got = b""
        with contextlib.suppress(ConnectionError, ssl.SSLError), \
                socket.create_connection(("127.0.0.1", port), WAIT_S) as plain, \
                context.wrap_socket(plain, server_hostname=name) as link:
            link.sendall(REQUEST)
            while block := link.recv(65536):
                got += block
        return got


class Go:
    """Go's crypto/tls in a program of our own. Builds it once per process, which needs no network but takes a
    minute on a machine that has never built one."""

    name = "go"
    oldest = (1, 24)
    folder = None

    @classmethod
    def installed(cls):
        found = re.search(rb"go(\d+)\.(\d+)", run(["go", "version"]) if shutil.which("go") else b"")
        return found is not None and tuple(map(int, found.groups())) >= cls.oldest

    @classmethod
    def program(cls):
        if cls.folder is None:
            cls.folder = tempfile.TemporaryDirectory(prefix="weir-go-")
            offline = {"GO111MODULE": "off", "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
            subprocess.run(["go", "build", "-o", cls.folder.name + "/tls_client", GO_SOURCE], check=True,
                           env={**os.environ, **offline})
        return cls.folder.name + "/tls_client"

    @classmethod
    def ask(cls, port, name=None, alpn=(), options=()):
        where = f"127.0.0.1:{port}"
        # Outside a module, Go keeps to the defaults of its version 1.20.
        return run([cls.program(), *options, where, name or "", ",".join(alpn)], REQUEST,
                   env={"GODEBUG": "tlsmlkem=1"})


class Chromium:
    """Always with a name; it chooses its protocols (h2 and http/1.1). Returns the page as it shows it. Takes
    seconds, not milliseconds."""

    name = "chromium"
    names = ("chromium", "chromium-browser", "google-chrome")

    @classmethod
    def installed(cls):
        return any(map(shutil.which, cls.names))

    @classmethod
    def ask(cls, port, name, alpn=(), options=()):
        assert not alpn, "Chromium chooses its protocols"
        program = next(filter(None, map(shutil.which, cls.names)))
        with tempfile.TemporaryDirectory(prefix="weir-browser-", ignore_cleanup_errors=True) as home:
            return run([program, "--headless=new", "--no-sandbox", "--disable-gpu",
                        "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
                        "--disable-component-update", "--disable-sync", "--ignore-certificate-errors",
                        "--user-data-dir=" + home, "--host-resolver-rules=MAP * 127.0.0.1", *options,
                        "--dump-dom", f"https://{name}:{port}/"], wait=4 * WAIT_S)


CLIENTS = (Openssl, Curl, Python, Go, Chromium)


def installed():
    return [client for client in CLIENTS if client.installed()]
