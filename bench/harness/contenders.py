# SPDX-License-Identifier: MIT
"""contenders.py - the contenders, one row each.

To add one, add a row here, or use --contender NAME=PATH:ROW on the command line (the program at PATH,
started and configured like ROW). Words in capitals are replaced:

    CONFIG   the file made from the template bench/contenders/<config>
    PAIRS    port and server of each of the four forwards (TCP, Unix socket, redis, and the one that
             reads TLS hellos first and chooses a server by name; go and bare do not read them)
    BUILD    the build folder of bench/run.sh         SCRATCH  a folder that exists during the run
    $NAME    an environment variable; the row is left out if it is not set

`descriptors` is the number per session: Go's io.Copy holds a pipe per direction, idle or not.

HAProxy comes three times: copying, its default, which wins for small messages; forced splices
everything, which wins in bulk; what splice-auto does depends on the version. The three called "new" are
the same with the program named by $BENCH_HAPROXY_NEW. To be above HAProxy is to be above the best of the six.

Equal for all: one thread on one CPU, no log, TCP_NODELAY, backlog 4096, the same timeouts where there
are any. Logs are off by: haproxy - no `log` line; nginx - access_log off, error_log emerg;
weir - log = off; bare and go have none.
"""

import collections
import os
import shutil
import string

from process import Failed

Contender = collections.namedtuple("Contender", "name program arguments config values version descriptors",
                                   defaults=(2,))

HAPROXY, NEW, FLAGS = "haproxy", "$BENCH_HAPROXY_NEW", "-q -db -f CONFIG"
COPY, AUTO = {"SPLICE": ""}, {"SPLICE": "option splice-auto"}
FORCED = {"SPLICE": "option splice-request\n    option splice-response"}

CONTENDERS = [
    Contender("direct", "", "", "", {}, ""),
    Contender("haproxy", HAPROXY, FLAGS, "haproxy.cfg", COPY, "-v"),
    Contender("haproxy-splice", HAPROXY, FLAGS, "haproxy.cfg", AUTO, "-v"),
    Contender("haproxy-forced", HAPROXY, FLAGS, "haproxy.cfg", FORCED, "-v"),
    Contender("haproxy-new", NEW, FLAGS, "haproxy.cfg", AUTO, "-v"),
    Contender("haproxy-new-copy", NEW, FLAGS, "haproxy.cfg", COPY, "-v"),
    Contender("haproxy-new-forced", NEW, FLAGS, "haproxy.cfg", FORCED, "-v"),
    Contender("nginx", "nginx", "-p DIR -c CONFIG", "nginx.conf", {}, "-v"),
    Contender("go", "SCRATCH/io_copy", "PAIRS", "", {}, "", 6),
    Contender("bare", "BUILD/bench/bare_relay", "PAIRS", "", {}, ""),
    Contender("weir-epoll", "$WEIR_BIN", "-o global.driver=epoll -f CONFIG", "weir.ini", {}, "-V"),
    Contender("weir-io_uring", "$WEIR_BIN", "-o global.driver=io_uring -f CONFIG", "weir.ini", {},
              "-V"),
]

TEMPLATES = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "contenders")
NGINX_MODULES = ("/usr/lib/nginx/modules/ngx_stream_module.so",
                 "/usr/lib64/nginx/modules/ngx_stream_module.so",
                 "/usr/share/nginx/modules/ngx_stream_module.so")


def by_name(name):
    for contender in CONTENDERS:
        if contender.name == name:
            return contender
    raise Failed("no contender '%s'; there are: %s" % (name, " ".join(c.name for c in CONTENDERS)))


def from_argument(text):
    """NAME=PATH:ROW"""
    name, _, rest = text.partition("=")
    path, _, row = rest.rpartition(":")
    if not name or not path:
        raise Failed("--contender %s: write NAME=PATH:ROW, as in new=/opt/haproxy:haproxy-splice" % text)
    return by_name(row)._replace(name=name, program=path)


def program_path(contender, places):
    """The program, or None if it is not installed."""
    name = contender.program
    if name.startswith("$"):
        name = os.environ.get(name[1:], "")
    for word, value in places.items():
        name = name.replace(word, value)
    return shutil.which(name) if name else None


def limits(nofile):
    """A session has two descriptors, and HAProxy counts two more per pipe that it may use."""
    sessions = max(100, min(9500, (nofile - 1000) // 2))
    return {"NOFILE": nofile, "MAXCONN": sessions, "MAXSOCKETS": nofile - 200,
            "MAXPIPES": max(16, min(256, (nofile - 2 * sessions) // 4))}


def nginx_module():
    """The line that loads the stream module, if it is not built in."""
    found = [path for path in NGINX_MODULES if os.path.exists(path)]
    return "load_module %s;" % found[0] if found else ""


def argv_of(contender, path, forwards, folder, nofile):
    """The command line; writes the configuration into `folder`. forwards: {name: (port, server)}."""
    config = ""
    if contender.config:
        template = os.path.join(TEMPLATES, contender.config)
        values = dict(limits(nofile), DIR=folder, NGINX_MODULE=nginx_module(), **contender.values)
        for name, (port, server) in forwards.items():
            values["PORT_" + name.upper()] = port
            values["SERVER_" + name.upper()] = server
        config = os.path.join(folder, contender.name + "-" + contender.config)
        with open(template, encoding="utf-8") as stream:
            text = string.Template(stream.read()).substitute(values)
        with open(config, "w", encoding="utf-8") as stream:
            stream.write(text)
    argv = [path]
    for word in contender.arguments.split():
        if word == "PAIRS":
            for port, server in forwards.values():
                argv += [str(port), str(server)]
        else:
            argv.append({"CONFIG": config, "DIR": folder}.get(word, word))
    return argv
