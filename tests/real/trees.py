# SPDX-License-Identifier: MIT
"""Foreign servers that are never installed: Debian's packages, unpacked below the build folder.

    /usr/bin/python3 trees.py [NAME...]     fetches what is missing, and prints what cannot be fetched

A tree holds what this machine does not have installed: the packages and what they depend on. A second run
fetches nothing. No script of a package runs. Programs find their libraries through LD_LIBRARY_PATH.
"""

import functools
import glob
import os
import re
import shutil
import subprocess
import sys

REPOSITORY = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
FOLDER = os.path.join(os.environ.get("WEIR_REAL", os.path.join(REPOSITORY, "build", "real")), "trees")
PACKAGES = {
    "openssh": ["openssh-server", "openssh-client", "openssh-sftp-server", "libnss-wrapper"],
    "redis": ["redis-server", "redis-tools"],
    "haproxy": ["haproxy"],
    "nginx": ["nginx"],
    "dnsmasq": ["dnsmasq-base"],
    "php": ["php-fpm"],
    "patroni": ["patroni", "etcd-server", "python3-etcd", "postgresql"],
    "mariadb": ["mariadb-server", "galera-4", "rsync"],
    "rabbitmq": ["rabbitmq-server", "python3-pika"],
    "mail": ["postfix", "dovecot-imapd"],
}
# Of the dependencies of a package, those that no test needs; perl is large, and serves scripts only.
UNWANTED = re.compile(r"perl|^lib(dbi|config-inifiles)-|^(gawk|libsigsegv2|logrotate|cpio|systemd.*)$")


class Failed(Exception):
    """Why there is no tree."""


def apt(*words, folder="/"):
    got = subprocess.run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=2",
                          "-o", "Acquire::http::Timeout=20", *words], cwd=folder, capture_output=True,
                         text=True, stdin=subprocess.DEVNULL, timeout=200, check=False,
                         env={**os.environ, "LC_ALL": "C.UTF-8"})
    if got.returncode != 0:
        lines = [line for line in got.stderr.splitlines() if line.startswith("E:")]
        raise Failed(f"apt-get {words[0]}: {(lines or ['failed'])[-1]}")
    return got.stdout


def wanted(name):
    """The packages to unpack, with their versions. One that is installed in another version counts."""
    said = apt("install", "-s", "--no-install-recommends", *PACKAGES[name])
    found = re.findall(r"(?m)^Inst (\S+) \((\S+) ", said)
    return [f"{package}={version}" for package, version in found if not UNWANTED.search(package)]


def unpack(tree):
    """A tree is complete or not there."""
    target = os.path.join(FOLDER, tree)
    unfinished = target + ".new"
    packages = os.path.join(FOLDER, "packages")
    shutil.rmtree(unfinished, ignore_errors=True)
    os.makedirs(unfinished)
    os.makedirs(packages, exist_ok=True)
    words = wanted(tree)
    if words:
        apt("download", *words, folder=packages)
    for word in words:
        package, _, version = word.partition("=")
        name = f"{package.split(':')[0]}_{version.replace(':', '%3a')}_*.deb"
        path = glob.glob(os.path.join(packages, name))
        subprocess.run(["dpkg", "-x", path[0], unfinished], check=True, stdin=subprocess.DEVNULL)
        os.remove(path[0])
    os.rename(unfinished, target)


def missing(name):
    """Why there is no tree, or None."""
    if os.path.isdir(os.path.join(FOLDER, name)):
        return None
    try:
        with open(os.path.join(FOLDER, name + ".why"), encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return "not yet: run sh tests/real/run.sh"


def fetch(names):
    """Fetches what is missing. Nothing more is tried after a failure that an update does not mend."""
    given_up = None if shutil.which("apt-get") else "no apt-get: this is not Debian"
    os.makedirs(FOLDER, exist_ok=True)
    for name in names:
        if os.path.isdir(os.path.join(FOLDER, name)):
            continue
        given_up = given_up or attempt(name)
        if given_up:
            with open(os.path.join(FOLDER, name + ".why"), "w", encoding="utf-8") as f:
                f.write(given_up)


def attempt(name):
    """None, or why there is no tree. The list of packages may be old, or missing."""
    try:
        try:
            unpack(name)
        except (Failed, IndexError):
            if os.geteuid() != 0:
                raise
            apt("update")
            unpack(name)
        return None
    except (Failed, OSError, IndexError, subprocess.SubprocessError) as e:
        return str(e)


class Tree:
    """One unpacked tree: where its programs are, and the environment that they need."""

    def __init__(self, name):
        self.root = os.path.join(FOLDER, name)
        system = os.environ.get("PATH", "").split(":")
        own = [self.path(f) for f in ("usr/sbin", "usr/bin", "sbin", "bin")]
        postgres = sorted(glob.glob(self.path("usr/lib/postgresql/*/bin")) +
                          glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
        self.folders = own + postgres[:1] + system + ["/usr/sbin", "/sbin"]
        libraries = [f for where in ("usr/lib", "lib")
                     for f in (glob.glob(self.path(where, "*-linux-gnu")) + [self.path(where)])]
        self.environment = {
            "PATH": ":".join(self.folders), "LD_LIBRARY_PATH": ":".join(filter(os.path.isdir, libraries)),
            "PYTHONPATH": self.path("usr/lib/python3/dist-packages"), "PYTHONDONTWRITEBYTECODE": "1",
            "LC_ALL": "C.UTF-8", "TZ": "UTC"}

    def path(self, *words):
        return os.path.join(self.root, *words)

    @functools.cache
    def program(self, name):
        found = shutil.which(name, path=":".join(self.folders))
        if found is None:
            raise Failed(f"no program {name}")
        return found

    def library(self, pattern):
        """A library of the tree or of the system."""
        found = sorted(glob.glob(self.path("usr/lib/*", pattern)) + glob.glob(f"/usr/lib/*/{pattern}"))
        if not found:
            raise Failed(f"no library {pattern}")
        return found[0]


def main():
    names = sys.argv[1:] or list(PACKAGES)
    fetch(names)
    for name in names:
        why = missing(name)
        if why:
            print(f"{name} cannot be fetched: {why}")


if __name__ == "__main__":
    main()
