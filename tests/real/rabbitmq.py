# SPDX-License-Identifier: MIT
"""A cluster of RabbitMQ nodes."""

import glob
import os

from servers import ports, wait_for_port

CONFIG = """\
listeners.tcp.1 = 127.0.0.1:{port}
cluster_formation.peer_discovery_backend = classic_config
cluster_formation.discovery_retry_interval = 500
log.console = true
log.console.level = info
log.file = false
vm_memory_high_watermark.absolute = 200MB
disk_free_limit.absolute = 1MB
"""
# Debian's erl knows only the path at which it is installed.
ERL = """\
#!/bin/sh
ROOTDIR={root} BINDIR={binaries} EMU=beam PROGNAME=erl
export ROOTDIR BINDIR EMU PROGNAME
exec "$BINDIR/erlexec" "$@"
"""


class RabbitMq:
    """As many nodes as asked for; children and ports in the same order."""

    def __init__(self, servers, count=2):
        self.servers = servers
        root = servers.tree.path("usr/lib/erlang")
        self.scripts = servers.tree.path("usr/lib/rabbitmq/lib")
        binaries = glob.glob(os.path.join(root, "erts-*", "bin"))[0]
        self.home = servers.make_folder("home")
        self.tools = servers.make_folder("bin")
        os.chmod(servers.write("bin/erl", ERL.format(root=root, binaries=binaries)), 0o700)
        servers.write("home/.erlang.cookie", "of-a-test")
        os.chmod(os.path.join(self.home, ".erlang.cookie"), 0o400)
        servers.write("plugins", "[].\n")
        (self.names,) = ports(1)
        servers.start("epmd", os.path.join(binaries, "epmd"), "-address", "127.0.0.1",
                      "-port", str(self.names))
        wait_for_port(self.names, servers, "epmd")
        self.ports = ports(count)
        self.nodes = [f"mq{n}@localhost" for n in range(1, count + 1)]
        self.children = [self.start(n) for n in range(count)]
        for n, child in enumerate(self.children):
            wait_for_port(self.ports[n], servers, f"mq{n + 1}", child)

    def start(self, n):
        name = f"mq{n + 1}"
        where = self.servers.make_folder(name)
        config = CONFIG.format(port=self.ports[n]) + "".join(
            f"cluster_formation.classic_config.nodes.{i} = {node}\n" for i, node in enumerate(self.nodes, 1))
        self.servers.write(f"{name}.conf", config)
        return self.servers.start(
            name, glob.glob(f"{self.scripts}/rabbitmq_server-*/sbin/rabbitmq-server")[0],
            HOME=self.home, PATH=f"{self.tools}:{self.servers.tree.environment['PATH']}",
            ERL_EPMD_PORT=str(self.names), RABBITMQ_NODENAME=self.nodes[n],
            RABBITMQ_DIST_PORT=str(ports(1)[0]),
            RABBITMQ_CONF_ENV_FILE="/dev/null", RABBITMQ_CONFIG_FILE=f"{self.servers.folder}/{name}.conf",
            RABBITMQ_MNESIA_BASE=where, RABBITMQ_LOG_BASE=where,
            RABBITMQ_ENABLED_PLUGINS_FILE=f"{self.servers.folder}/plugins",
            RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+S 1:1 +sbwt none")

    def crash(self, port):
        self.servers.kill(self.children[self.ports.index(port)])
