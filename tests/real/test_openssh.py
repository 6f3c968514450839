# SPDX-License-Identifier: MIT
"""OpenSSH behind the frontend `ssh` of edge.ini: commands, files both ways, a server that dies."""

import hashlib
import os
import subprocess

import pytest

import examples
from harness.show_stat import stat
from servers import ports, wait_for_port

SIZE = 20 << 20
SSHD = """\
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host_key
PidFile none
UsePAM no
StrictModes no
AuthorizedKeysFile {folder}/key.pub
PasswordAuthentication no
KbdInteractiveAuthentication no
Subsystem sftp internal-sftp
"""
WORDS = ["-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
         "-o", "LogLevel=ERROR", "-o", "IdentitiesOnly=yes", "-F", "none"]


class Ssh:
    """A server without root's rights: it lets in the user that it runs as, with a shell from nss_wrapper."""

    def __init__(self, servers):
        self.servers = servers
        self.home = servers.make_folder("home")
        for name in ("key", "host_key"):
            path = os.path.join(self.home, name)
            servers.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path)
        passwd = servers.write("passwd", f"root:x:0:0::/:/bin/sh\n"
                               f"weir-test:x:{servers.user}:{servers.group}::{self.home}:/bin/sh\n")
        group = servers.write("group", f"weir-test:x:{servers.group}:\n")
        for path in (passwd, group):
            os.chmod(path, 0o644)
        self.names = {"LD_PRELOAD": servers.tree.library("libnss_wrapper.so"), "NSS_WRAPPER_PASSWD": passwd,
                      "NSS_WRAPPER_GROUP": group}
        (self.port,) = ports(1)
        config = servers.write("sshd_config", SSHD.format(port=self.port, folder=self.home))
        child = servers.start("sshd", servers.program("sshd"), "-D", "-e", "-f", config,
                              prefix=servers.prefix, **self.names)
        wait_for_port(self.port, servers, "sshd", child)

    def words(self, port, flag):
        return [*WORDS, "-i", os.path.join(self.home, "key"), flag, str(port)]

    def run(self, port, *command, said=""):
        return self.servers.run("ssh", *self.words(port, "-p"), "weir-test@127.0.0.1", *command, said=said,
                                **self.names)

    def copy(self, port, source, target):
        return self.servers.run("scp", *self.words(port, "-P"), "-S", self.servers.program("ssh"), source,
                                target, **self.names)


@pytest.fixture
def ssh(servers):
    return Ssh(servers("openssh"))


def digest(path):
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").hexdigest()


def test_ssh_and_scp_work_through_weir(ssh, weir):
    config, options = examples.load("edge.ini", "10.0.0.5:22", f"127.0.0.1:{ssh.port}",
                                    "server elsewhere = app.internal.example:8080",
                                    "server elsewhere = 127.0.0.1:9")
    daemon = weir(config, options)
    port = daemon.address("ssh").port
    assert ssh.run(port, "echo", "$((6 * 7))") == "42\n"
    # Standard input ends before the answer is given: the shell sees FIN inside the channel.
    assert ssh.run(port, "wc", "-c", said="x" * 100000).strip() == "100000"

    sent, back = os.path.join(ssh.home, "sent"), os.path.join(ssh.home, "back")
    with open(sent, "wb") as f:
        f.write(os.urandom(SIZE))
    ssh.servers.give(sent)
    ssh.copy(port, sent, f"weir-test@127.0.0.1:{ssh.home}/there")
    ssh.copy(port, f"weir-test@127.0.0.1:{ssh.home}/there", back)
    assert digest(sent) == digest(os.path.join(ssh.home, "there")) == digest(back)
    assert int(stat(daemon, "bastion", "ssh")["stot"]) == 4


def test_a_server_that_dies_ends_the_session(ssh, weir):
    config, options = examples.load("edge.ini", "10.0.0.5:22", f"127.0.0.1:{ssh.port}",
                                    "server elsewhere = app.internal.example:8080",
                                    "server elsewhere = 127.0.0.1:9")
    daemon = weir(config, options)
    words = [*ssh.servers.prefix, ssh.servers.program("ssh"),
             *ssh.words(daemon.address("ssh").port, "-p"), "weir-test@127.0.0.1", "echo", "in;", "cat"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=ssh.servers.environment(**ssh.names)) as child:
        assert child.stdout.readline() == b"in\n"
        for one in ssh.servers.children:
            ssh.servers.kill(one)
        assert child.wait(30) == 255
