#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""record_hellos.py - records the ClientHello of real TLS clients into hellos.tbl.h, beside itself.

    python3 record_hellos.py [PART-OF-NAME...]

One row per hello: how it was made, the name and protocols that the client was given, and the bytes as they
came. A client that is not installed is left out, and its row stays as it is.
"""

import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "system"))

from harness import tls_clients  # noqa: E402
from harness.tls_clients import Chromium, Curl, Go, Openssl, Python  # noqa: E402

TABLE = os.path.join(HERE, "hellos.tbl.h")
HEADER = """/* SPDX-License-Identifier: MIT
 *
 * hellos.tbl.h - hellos of real TLS clients, as record_hellos.py has recorded them.
 *
 * HELLO(what, name, protocols, bytes): the name and the protocols (with blanks between) as the client was
 * given them; the bytes in hexadecimal.
 */
"""
NAME = "a.example.test"
WEB = ("h2", "http/1.1")
LONG = ".".join(["l" * 63, "o" * 63, "n" * 63, "g" * 61])
MANY = tuple(f"protocol-{i:02}/1.{i}" for i in range(60))

JAVA = """
import java.util.*;
import javax.net.ssl.*;
public class Client {
    public static void main(String[] words) throws Exception {
        SSLSocket link = (SSLSocket) SSLSocketFactory.getDefault().createSocket("127.0.0.1",
            Integer.parseInt(words[0]));
        SSLParameters p = link.getSSLParameters();
        p.setServerNames(List.of(new SNIHostName(words[1])));
        p.setApplicationProtocols(words[2].split(","));
        link.setSSLParameters(p);
        link.startHandshake();
    }
}
"""

NODE = """
const [port, servername, alpn] = process.argv.slice(1);
require('tls').connect({host: '127.0.0.1', port, servername, ALPNProtocols: alpn.split(','),
    rejectUnauthorized: false}).on('error', () => process.exit());
"""


def java(port, name, alpn):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "Client.java")
        with open(path, "w", encoding="ascii") as f:
            f.write(JAVA)
        tls_clients.run(["java", path, str(port), name, ",".join(alpn)])


def node(port, name, alpn):
    tls_clients.run(["node", "-e", NODE, str(port), name, ",".join(alpn)])


FIREFOX = """
user_pref("network.dns.localDomains", "%s");
user_pref("network.dns.disableIPv6", true);
"""


def firefox(port, name):
    """It shows its error page until it is ended."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        with open(os.path.join(home, "user.js"), "w", encoding="ascii") as f:
            f.write(FIREFOX % name)
        tls_clients.run(["timeout", "15", "firefox", "--headless", "--no-remote", "--profile", home,
                         f"https://{name}:{port}/"], env={"HOME": home})


def gnutls(port, name, alpn, priority="NORMAL"):
    words = [f"--alpn={word}" for word in alpn]
    words.append(f"--sni-hostname={name}" if name else "--disable-sni")
    tls_clients.run(["gnutls-cli", "--insecure", f"--port={port}", f"--priority={priority}", *words,
                     "127.0.0.1"])


def with_ticket(port, name, alpn, version):
    """openssl with a ticket of a server that it has visited before."""
    with tempfile.TemporaryDirectory() as folder:
        made = ["-keyout", f"{folder}/key", "-out", f"{folder}/cert", "-days", "9", "-subj", "/CN=test"]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *made], check=True,
                       stderr=subprocess.DEVNULL)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{folder}/cert", f"{folder}/key")
        with socket.create_server(("127.0.0.1", 0)) as listener:
            visit = threading.Thread(target=serve_one, args=(listener, context))
            visit.start()
            Openssl.ask(listener.getsockname()[1], name, alpn, [version, "-sess_out", f"{folder}/ticket"])
            visit.join()
        Openssl.ask(port, name, alpn, [version, "-sess_in", f"{folder}/ticket"])


def serve_one(listener, context):
    plain = listener.accept()[0]
    with context.wrap_socket(plain, server_side=True) as link:
        link.recv(1000)
        link.sendall(b"hello\n")


WEAK = ["-cipher", "DEFAULT@SECLEVEL=0"]

TLS12 = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2)
GNUTLS10 = "NORMAL:-VERS-ALL:+VERS-TLS1.0"

# The file, the name in the hello, its protocols, the program, how it is described, and what runs it.
HELLOS = [
    ("openssl-tls13", NAME, WEB, "openssl", "s_client", lambda p: Openssl.ask(p, NAME, WEB)),
    ("openssl-tls12", NAME, WEB, "openssl", "s_client -tls1_2",
     lambda p: Openssl.ask(p, NAME, WEB, ["-tls1_2"])),
    ("openssl-tls11", NAME, WEB, "openssl", "s_client -tls1_1",
     lambda p: Openssl.ask(p, NAME, WEB, ["-tls1_1", *WEAK])),
    ("openssl-tls10", NAME, (), "openssl", "s_client -tls1",
     lambda p: Openssl.ask(p, NAME, (), ["-tls1", *WEAK])),
    ("openssl-no-name", "", WEB, "openssl", "s_client -noservername", lambda p: Openssl.ask(p, None, WEB)),
    ("openssl-nothing", "", (), "openssl", "s_client -noservername -tls1_2",
     lambda p: Openssl.ask(p, None, (), ["-tls1_2"])),
    ("openssl-upper-case", "A.Example.TEST", ("h2",), "openssl", "s_client",
     lambda p: Openssl.ask(p, "A.Example.TEST", ("h2",))),
    ("openssl-trailing-dot", "a.example.test.", ("h2",), "openssl", "s_client",
     lambda p: Openssl.ask(p, "a.example.test.", ("h2",))),
    ("openssl-long-name", LONG, ("h2",), "openssl", "s_client", lambda p: Openssl.ask(p, LONG, ("h2",))),
    ("openssl-many-protocols", NAME, MANY, "openssl", "s_client", lambda p: Openssl.ask(p, NAME, MANY)),
    ("openssl-records", NAME, MANY, "openssl", "s_client -max_send_frag 512, which makes several records",
     lambda p: Openssl.ask(p, NAME, MANY, ["-max_send_frag", "512"])),
    ("openssl-ticket-tls13", NAME, WEB, "openssl", "s_client -tls1_3 -sess_in, with a pre-shared key",
     lambda p: with_ticket(p, NAME, WEB, "-tls1_3")),
    ("openssl-ticket-tls12", NAME, WEB, "openssl", "s_client -tls1_2 -sess_in, with a session ticket",
     lambda p: with_ticket(p, NAME, WEB, "-tls1_2")),
    ("curl-h2", NAME, WEB, "curl", "--http2", lambda p: Curl.ask(p, NAME, WEB)),
    ("curl-http11", NAME, ("http/1.1",), "curl", "--http1.1", lambda p: Curl.ask(p, NAME, ("http/1.1",))),
    ("curl-address", "", ("http/1.1",), "curl", "--http1.1 https://127.0.0.1",
     lambda p: Curl.ask(p, None, ("http/1.1",))),
    ("python-tls13", NAME, WEB, "python3", "the module ssl", lambda p: Python.ask(p, NAME, WEB)),
    ("python-tls12", NAME, (), "python3", "the module ssl, TLS 1.2",
     lambda p: Python.ask(p, NAME, (), TLS12)),
    ("go-hybrid", NAME, WEB, "go", "crypto/tls, with a post-quantum key share",
     lambda p: Go.ask(p, NAME, WEB)),
    ("go-classic", NAME, WEB, "go", "crypto/tls, without a post-quantum key share",
     lambda p: Go.ask(p, NAME, WEB, ["-no-hybrid"])),
    ("go-tls12", NAME, (), "go", "crypto/tls, TLS 1.2", lambda p: Go.ask(p, NAME, (), ["-max", "1.2"])),
    ("go-no-name", "", WEB, "go", "crypto/tls, without a name", lambda p: Go.ask(p, None, WEB)),
    ("go-encrypted", "outer.example.test", WEB, "go",
     "crypto/tls, Encrypted Client Hello for inner.example.test",
     lambda p: Go.ask(p, "inner.example.test", WEB, ["-ech", "outer.example.test"])),
    ("chromium-1", NAME, WEB, "chromium", "headless; it shuffles its extensions, with GREASE among them",
     lambda p: Chromium.ask(p, NAME)),
    ("chromium-2", "b.example.test", WEB, "chromium", "headless, another time",
     lambda p: Chromium.ask(p, "b.example.test")),
    ("firefox", NAME, WEB, "firefox", "headless", lambda p: firefox(p, NAME)),
    ("node", NAME, WEB, "node", "the module tls", lambda p: node(p, NAME, WEB)),
    ("java", NAME, WEB, "java", "SSLSocket", lambda p: java(p, NAME, WEB)),
    ("gnutls-tls13", NAME, WEB, "gnutls-cli", "NORMAL", lambda p: gnutls(p, NAME, WEB)),
    ("gnutls-tls10", NAME, (), "gnutls-cli", GNUTLS10, lambda p: gnutls(p, NAME, (), GNUTLS10)),
    ("gnutls-no-extensions", "", (), "gnutls-cli", GNUTLS10 + ":%NO_EXTENSIONS",
     lambda p: gnutls(p, None, (), GNUTLS10 + ":%NO_EXTENSIONS")),
]


def is_whole(data):
    """Are all records here that the length of the message asks for?"""
    at, message = 0, b""
    while len(data) >= at + 5:
        size = int.from_bytes(data[at + 3:at + 5], "big")
        message += data[at + 5:at + 5 + size]
        at += 5 + size
    return len(message) >= 4 and len(message) >= 4 + int.from_bytes(message[1:4], "big")


def read_hello(listener):
    with listener.accept()[0] as link:
        data = b""
        while not is_whole(data):
            block = link.recv(65536)
            if not block:
                return b""
            data += block
        return data


def record(ask, name):
    """The first hello that has the name: a browser may open connections of its own."""
    found = []

    def listen():
        while not found:
            data = read_hello(listener)
            if data and name.encode() in data:
                found.append(data)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(tls_clients.WAIT_S)
        thread = threading.Thread(target=listen)
        thread.start()
        ask(listener.getsockname()[1])
        thread.join()
    return found[0]


def version(program):
    for word in ("--version", "version"):
        got = subprocess.run([program, word], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                             stdin=subprocess.DEVNULL)
        number = re.search(rb"\d+(\.\d+)+", got.stdout)
        if number:
            return f"{program} {number[0].decode()}"
    return program


def literal(text):
    """A string of C, in several pieces of a line each."""
    pieces = [text[i:i + 96] for i in range(0, len(text), 96)] or [""]
    return "\n      ".join(f'"{piece}"' for piece in pieces)


def row(key, name, alpn, how, data):
    words = [f'"{key}"', literal(name), literal(" ".join(alpn)), literal(data.hex())]
    return f"/* {how} */\nHELLO(" + ",\n      ".join(words) + ")\n"


def read_table():
    """The rows by their names."""
    if not os.path.exists(TABLE):
        return {}
    with open(TABLE, encoding="ascii") as f:
        rows = f.read().split("\n\n")[1:]
    return {re.search(r'HELLO\("([^"]*)"', one)[1]: one.rstrip("\n") + "\n" for one in rows}


def main():
    parts = sys.argv[1:]
    rows = read_table()
    for key, name, alpn, program, how, ask in HELLOS:
        if parts and not any(part in key for part in parts):
            continue
        if not shutil.which(program):
            print(f"{key}: {program} is not installed")
            continue
        data = record(ask, name)
        rows[key] = row(key, name, alpn, f"{version(program)}: {how}", data)
        print(f"{key}: {len(data)} bytes")
    with open(TABLE, "w", encoding="ascii") as f:
        f.write("\n".join([HEADER, *(rows[hello[0]] for hello in HELLOS if hello[0] in rows)]))


if __name__ == "__main__":
    main()
