# SPDX-License-Identifier: MIT
"""Certificates for servers of tests, made by openssl(1)."""

import os
import subprocess

from harness.programs import needs

SAME = "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"


class Authority:
    """Signs what a folder of certificates needs; `path` is its own certificate."""

    def __init__(self, folder, name="ca"):
        self.folder, self.name = folder, name
        self.openssl = needs("openssl")
        self.path = self.of(name, ".pem")
        self.run("req", "-x509", *SAME, "-keyout", self.of(name, ".key"), "-out", self.path,
                 "-subj", f"/CN={name}", "-days", "30")

    def of(self, name, suffix):
        return os.path.join(self.folder, name + suffix)

    def run(self, *words):
        subprocess.run([self.openssl, *words], check=True, capture_output=True, timeout=60)

    def sign(self, name, names, days=30, key=SAME):
        """A certificate of these names, NAME.pem with NAME.key; the path without the suffix. Negative days:
        it has expired."""
        request, extensions = self.of(name, ".csr"), self.of(name, ".ext")
        with open(extensions, "w", encoding="ascii") as f:
            f.write(f"subjectAltName={names}\n")
        self.run("req", *key, "-keyout", self.of(name, ".key"), "-out", request, "-subj", f"/CN={name}")
        self.run("x509", "-req", "-in", request, "-CA", self.path, "-CAkey", self.of(self.name, ".key"),
                 "-CAcreateserial", "-out", self.of(name, ".pem"), "-days", str(days), "-extfile", extensions)
        return self.of(name, "")
