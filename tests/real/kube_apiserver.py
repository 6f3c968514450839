# SPDX-License-Identifier: MIT
"""A stub of kube-apiserver, which Debian does not have: TLS of a cluster's own authority, and the answers of
a 1.30 to /readyz and /version, header by header as recorded with curl and nmap.

Only dates and UUIDs differ. A watch sends an event whenever the test wants one.
"""

import contextlib
import email.utils
import json
import socket
import ssl
import threading
import uuid

from writer import PATIENCE

CHECKS = """\
ping log etcd etcd-readiness informer-sync poststarthook/start-apiserver-admission-initializer
poststarthook/generic-apiserver-start-informers poststarthook/priority-and-fairness-config-consumer
poststarthook/start-apiextensions-informers poststarthook/start-apiextensions-controllers
poststarthook/crd-informer-synced poststarthook/start-system-namespaces-controller
poststarthook/bootstrap-controller poststarthook/rbac/bootstrap-roles
poststarthook/scheduling/bootstrap-system-priority-classes poststarthook/start-kube-aggregator-informers
poststarthook/apiservice-registration-controller poststarthook/kube-apiserver-autoregistration
autoregister-completion poststarthook/apiservice-openapi-controller shutdown""".split()
VERSION = """\
{
  "major": "1",
  "minor": "30",
  "gitVersion": "v1.30.2",
  "gitTreeState": "clean",
  "goVersion": "go1.22.4",
  "compiler": "gc",
  "platform": "linux/amd64"
}"""
EVENT = '{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"%d"}}}\n'
TEXT = "text/plain; charset=utf-8"
JSON = "application/json"


def failure(code, reason, message, **more):
    """A `Status`, as the server writes it: one line."""
    said = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
            "reason": reason, **more, "code": code}
    return json.dumps(said, separators=(",", ":")) + "\n"


class ApiServer:
    """`failing` is the check that fails, None = ready. `anonymous`: may strangers ask? "yes", or the server
    has --anonymous-auth=false ("off"), or no role for them ("forbidden")."""

    def __init__(self, certificate, failing=None, anonymous="yes", host="127.0.0.1"):
        self.failing, self.anonymous = failing, anonymous
        self.asked = []      # the heads of requests for /readyz
        self.watches = []
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(f"{certificate}.pem", f"{certificate}.key")
        self.context.set_alpn_protocols(["h2", "http/1.1"])
        self.sock = socket.create_server((host, 0))
        self.address = f"{host}:{self.sock.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                sock, _ = self.sock.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        sock.settimeout(PATIENCE)
        with contextlib.suppress(OSError), sock, self.context.wrap_socket(sock, server_side=True) as link:
            file = link.makefile("rb")
            while True:
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = file.readline()
                    if not line:
                        return
                    head += line
                if not self._answer(link, head.decode()):
                    break
            while link.recv(4096):  # a client that was told to leave
                pass

    def _answer(self, link, head):
        """Answers a request; does the connection stay?"""
        _, path, version = head.split("\r\n", 1)[0].split(" ")
        stays = version == "HTTP/1.1" and "connection: close" not in head.lower()
        if path == "/readyz":
            self.asked.append(head)
        if path.endswith("?watch=1"):
            self.watches.append(link)
            link.sendall(self._head("200 OK", version, JSON) + b"Transfer-Encoding: chunked\r\n\r\n")
            return True
        status, kind, body = self._content(path)
        said = self._head(status, version, kind) + f"Content-Length: {len(body)}\r\n".encode()
        if not stays and version == "HTTP/1.1":
            said += b"Connection: close\r\n"
        link.sendall(said + b"\r\n" + body.encode())
        return stays

    @staticmethod
    def _head(status, version, kind):
        """In the order of Go's server: by name, then the date and how the body ends."""
        lines = [f"{version} {status}", f"Audit-Id: {uuid.uuid4()}", "Cache-Control: no-cache, private",
                 f"Content-Type: {kind}", "X-Content-Type-Options: nosniff",
                 f"X-Kubernetes-Pf-Flowschema-Uid: {uuid.uuid4()}",
                 f"X-Kubernetes-Pf-Prioritylevel-Uid: {uuid.uuid4()}",
                 f"Date: {email.utils.formatdate(usegmt=True)}"]
        return "".join(line + "\r\n" for line in lines).encode()

    def _content(self, path):
        if self.anonymous == "off":
            return "401 Unauthorized", JSON, failure(401, "Unauthorized", "Unauthorized")
        if self.anonymous == "forbidden" or path not in ("/readyz", "/version"):
            return "403 Forbidden", JSON, failure(
                403, "Forbidden", f'forbidden: User "system:anonymous" cannot get path "{path}"', details={})
        if path == "/version":
            return "200 OK", JSON, VERSION
        if self.failing is None:
            return "200 OK", TEXT, "ok"
        said = "".join(f"[-]{one} failed: reason withheld\n" if one == self.failing else f"[+]{one} ok\n"
                       for one in CHECKS)
        return "500 Internal Server Error", TEXT, said + "readyz check failed\n"

    def send_event(self, number):
        body = (EVENT % number).encode()
        for link in self.watches:
            link.sendall(b"%x\r\n%s\r\n" % (len(body), body))

    def close(self):
        self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


class Client:
    """One that trusts the cluster's authority, and asks for `kubernetes`."""

    def __init__(self, port, authority):
        context = ssl.create_default_context(cafile=authority)
        self.link = context.wrap_socket(socket.create_connection(("127.0.0.1", port), PATIENCE),
                                        server_hostname="kubernetes")
        self.file = self.link.makefile("rb")

    def ask(self, path):
        """The status line; the header is read, the body is not."""
        self.link.sendall(f"GET {path} HTTP/1.1\r\nHost: kubernetes\r\n\r\n".encode())
        first = self.file.readline()
        while self.file.readline() not in (b"\r\n", b""):
            pass
        return first

    def event(self):
        """The version that the next event of a watch names."""
        size = int(self.file.readline(), 16)
        said = json.loads(self.file.read(size))
        self.file.readline()
        return int(said["object"]["metadata"]["resourceVersion"])

    def close(self):
        self.file.close()
        self.link.close()
