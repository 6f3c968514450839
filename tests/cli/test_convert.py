# SPDX-License-Identifier: MIT
"""`weir convert`: what becomes of the lines of HAProxy and nginx, and how the result is handed over.

Runs the binary named by WEIR_BIN (build/src/weir). Each default of the other program that differs from
weir's has a test of its own.
"""

import json
import os
import pathlib
import random
import socket
import stat
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEIR = os.environ.get("WEIR_BIN", str(ROOT / "build/src/weir"))
WAIT_S = float(os.environ.get("WEIR_TEST_WAIT", "20"))

BUILT_WITH = subprocess.run([WEIR, "-vv"], capture_output=True, text=True, timeout=60, check=False).stdout
needs_libcrypt = pytest.mark.skipif("libcrypt" not in BUILT_WITH,
                                    reason="this weir was built without libcrypt")
needs_openssl = pytest.mark.skipif("OpenSSL" not in BUILT_WITH, reason="this weir was built without OpenSSL")

TIMES = "timeout connect 5s\ntimeout client 10m\ntimeout server 10m\n"
LISTEN = "listen a\n" + TIMES + "option redispatch\nbind 10.0.0.9:80\nserver s 10.0.0.1:80\n"


def run(*args, **more):
    return subprocess.run([WEIR, "convert", *map(str, args)], capture_output=True, text=True, timeout=60,
                          check=False, **more)


class Got:
    """A conversion: the INI by section and key, and the report as JSON."""

    def __init__(self, folder, text, *args, name="x.cfg"):
        path = folder / name
        path.write_text(text)
        self.report_path = folder / "report.json"
        self.process = run(path, "--json", "--report", self.report_path, *args, cwd=folder)
        assert self.process.returncode in (0, 1, 10, 11), self.process.stderr
        self.ini = self.process.stdout
        self.report = json.loads(self.report_path.read_text())
        self.sections = {}
        section = None
        for line in self.ini.splitlines():
            if line.startswith("["):
                section = self.sections.setdefault(line[1:-1], {})
            elif line and not line.startswith("#"):
                key, value = line.split(" = ", 1)
                section.setdefault(" ".join(key.split()), []).append(value.split("  # ")[0])

    @property
    def code(self):
        return self.process.returncode

    def value(self, section, key):
        """The value of a key: of the section, or else of [defaults]; None if neither has it."""
        for name in (section, "defaults"):
            if key in self.sections.get(name, {}):
                return self.sections[name][key][0]
        return None

    def state(self, begin):
        """The state and reason of the first line that begins so."""
        for line in self.report["lines"]:
            if " ".join(line["text"].split()).startswith(begin):
                return line["state"], line["why"]
        raise AssertionError(f"no line begins with {begin!r}")


def listen(more="", server="server s 10.0.0.1:80"):
    return LISTEN.replace("server s 10.0.0.1:80", server) + more


# ---- HAProxy: defaults that differ --------------------------------------------------------------------


@pytest.mark.parametrize("address, ours", [
    (":80", "0.0.0.0:80"), ("*:80", "0.0.0.0:80"), ("[::]:80 v6only", "[::]:80 v6only"),
    (":::80 v4v6", "[::]:80"), ("10.0.0.1:80-90", "10.0.0.1:80-90"), ("/run/a.sock mode 660",
                                                                      "unix:/run/a.sock mode=660"),
    ("abns@a", "unix:@a"), ("10.0.0.1:80 accept-proxy", "10.0.0.1:80 accept-proxy"),
])
def test_an_address_keeps_its_family(haproxy, address, ours):
    got = haproxy(listen().replace("bind 10.0.0.9:80", f"bind {address}"))
    assert got.sections["listen a"]["bind"] == [ours]
    assert got.code == 0


def test_both_families_of_a_port_are_one_line(haproxy):
    got = haproxy(listen("bind :81\nbind [::]:81 v6only\n"))
    assert got.sections["listen a"]["bind"] == ["10.0.0.9:80", ":81"]


def test_without_option_redispatch_it_is_off(haproxy):
    assert haproxy(listen().replace("option redispatch\n", "")).value("listen a", "redispatch") == "off"
    assert haproxy(listen()).value("listen a", "redispatch") is None
    assert haproxy(listen("no option redispatch\n")).value("listen a", "redispatch") == "off"


@pytest.mark.parametrize("number, balance, ours, state", [
    ("", "leastconn", None, "carried"), ("0", "roundrobin", None, "carried"),
    ("0", "leastconn", None, "carried"), ("4", "first", None, "carried"), ("1", "source", None, "carried"),
    ("-2", "source", None, "carried"), ("3", "source", None, "carried"), ("0", "source", "off", "different"),
    ("4", "hash src", "off", "different"),
])
def test_redispatch_at_no_retry(haproxy, number, balance, ours, state):
    got = haproxy(listen(f"balance {balance}\n").replace("redispatch\n", f"redispatch {number}\n"))
    assert got.value("listen a", "redispatch") == ours
    assert got.state("option redispatch")[0] == state and got.code == 0


@pytest.mark.parametrize("name", ["connect", "client", "server"])
def test_a_timeout_that_is_missing_is_0_and_noted(haproxy, name):
    lines = "".join(line + "\n" for line in LISTEN.splitlines() if not line.startswith(f"timeout {name} "))
    got = haproxy(lines)
    assert got.value("listen a", f"timeout-{name}") == "0"
    assert any(f"'timeout {name}'" in note for note in got.report["notes"])


def test_a_half_closed_connection_has_the_timeout_of_its_side(haproxy):
    assert haproxy(listen()).value("listen a", "timeout-half-closed") == "10m"
    got = haproxy(listen("timeout client-fin 5s\ntimeout server-fin 5s\n"))
    assert got.value("listen a", "timeout-half-closed") == "5s"
    assert haproxy(listen("timeout client 1m\ntimeout server 1m\n")).value("listen a",
                                                                           "timeout-half-closed") is None


def test_a_tunnel_timeout_is_of_both_sides(haproxy):
    got = haproxy(listen("timeout tunnel 1h\n"))
    assert got.value("listen a", "timeout-client") == got.value("listen a", "timeout-server") == "1h"
    assert got.state("timeout client")[0] == "different"


def test_a_header_may_take_as_long_as_a_client(haproxy):
    got = haproxy(listen("bind 10.0.0.9:81 accept-proxy\n"))
    assert got.value("listen a", "timeout-handshake") == "10m"
    got = haproxy(listen("bind 10.0.0.9:81 accept-proxy\ntimeout client-hs 3s\n"))
    assert got.value("listen a", "timeout-handshake") == "3s"


def test_a_program_that_checks_has_haproxys_times(haproxy):
    more = "option external-check\nexternal-check command /bin/true\n"
    server = "server s 10.0.0.1:80 check inter 9s"
    got = haproxy(listen(more, server))
    assert got.value("listen a", "check") == "exec /bin/true"
    assert got.value("listen a", "check-timeout") is None
    assert got.sections["global"]["exec-checks"] == ["4"]
    got = haproxy(listen(more + "timeout check 1s\ntimeout connect 3s\n", server))
    assert got.value("listen a", "check-timeout") == "3s"
    assert haproxy(listen(more + "timeout check 1s\n", "server s 10.0.0.1:80 check")).value(
        "listen a", "check-timeout") is None


# ---- HAProxy: sections and lines ----------------------------------------------------------------------


def test_several_defaults_each_hold_for_what_follows(haproxy):
    got = haproxy("defaults x\ntimeout connect 1s\ntimeout client 1h\ntimeout server 1h\noption redispatch\n"
                  "defaults y from x\ntimeout client 2h\n"
                  "listen a from x\nbind :1\nserver s 10.0.0.1:1\nlisten b from y\nbind :2\n"
                  "server s 10.0.0.1:1\n")
    assert got.value("listen a", "timeout-client") == "1h"
    assert got.value("listen b", "timeout-client") == "2h"
    assert got.sections["defaults"]["timeout-connect"] == ["1s"]
    assert got.code == 0


def test_words_of_all_servers_are_keys_of_the_section(haproxy):
    got = haproxy(listen("server t 10.0.0.2:80 check inter 3s maxconn 5 weight 2\n",
                         "default-server maxconn 5\nserver s 10.0.0.1:80 check inter 3s"))
    section = got.sections["listen a"]
    assert section["check"] == ["tcp"] and section["check-interval"] == ["3s"]
    assert section["server-defaults"] == ["maxconn=5"]
    assert section["server s"] == ["10.0.0.1:80"] and section["server t"] == ["10.0.0.2:80 weight=2"]


@pytest.mark.parametrize("words, ours", [
    ("backup weight 3 maxconn 5 maxqueue 2 slowstart 10s disabled", "backup weight=3 maxconn=5 maxqueue=2 "
     "slowstart=10s disabled"),
    ("send-proxy", "send-proxy=v1"), ("send-proxy-v2 proxy-v2-options crc32c", "send-proxy=v2 "
                                      "proxy-v2-options=crc32c"),
    ("source 10.0.0.8", "source=10.0.0.8"), ("source 0.0.0.0 usesrc clientip", "source=client"),
    ("cookie c id 5 init-addr none resolvers r", ""), ("weight 1", ""),
])
def test_words_of_a_server(haproxy, words, ours):
    got = haproxy(listen("server t 10.0.0.2:80\n", f"server s 10.0.0.1:80 {words}"))
    assert got.sections["listen a"]["server s"] == [f"10.0.0.1:80 {ours}".strip()]
    assert got.code == 0, got.report


@pytest.mark.parametrize("address, ours", [
    ("10.0.0.1", "10.0.0.1:*"), ("2001:db8::1:80", "[2001:db8::1]:80"), ("[::1]:80", "[::1]:80"),
    ("/a.sock", "unix:/a.sock"), ("ipv4@h:80", "ipv4@h:80"), ("\"${H}:80\"", "${H}:80"),
    ("\"${H}\"", "${H}"), ("\"${H-h}:80\"", "${H:-h}:80"),
])
def test_addresses_of_servers(haproxy, address, ours):
    assert haproxy(listen(server=f"server s {address}")).sections["listen a"]["server s"] == [ours]


@needs_openssl
def test_words_that_only_sections_have(haproxy):
    got = haproxy(listen(server="server s 10.0.0.1:80 check agent-check agent-port 99 agent-inter 5s "
                         "observe layer4 error-limit 5 on-error mark-down on-marked-down shutdown-sessions "
                         "tcp-ut 20s "
                         "check-ssl verify none check-sni x check-alpn h2 fastinter 1s downinter 5s"))
    section = got.sections["listen a"]
    assert section["observe"] == ["connect limit=5 on-error=mark-down"]
    assert section["on-marked-down"] == ["close-sessions"] and section["tcp-user-timeout"] == ["20s"]
    assert section["check"] == ["tls sni=x alpn=h2 verify=none"] and section["check-agent"] == ["99"]
    assert section["check-fast"] == ["1s"] and section["check-down"] == ["5s"]
    assert got.code == 0, got.report


def test_a_set_of_servers(haproxy):
    for line, ours in (("server-template pod 1-50 h.example:80", "dns://h.example:80 max=50"),
                       ("server-template pod 5 _a._tcp.example", "srv://_a._tcp.example max=5")):
        assert haproxy(listen(server=line)).sections["listen a"]["servers pod"] == [ours]


def test_maxconn_of_a_single_address_is_that_of_the_section(haproxy):
    got = haproxy(listen().replace("9:80", "9:80 maxconn 7"))
    assert got.value("listen a", "maxconn") == "7" and got.code == 0
    assert haproxy(listen("bind :81 maxconn 7\n")).state("bind :81")[0] == "lost"


def test_a_server_without_check_is_not_checked(haproxy):
    got = haproxy(listen("server t 10.0.0.2:80\n", "server s 10.0.0.1:80 check"))
    assert got.sections["listen a"]["check"] == ["tcp"]
    assert got.sections["listen a"]["server t"] == ["10.0.0.2:80 check=off"]


@pytest.mark.parametrize("lines, ours", [
    ("option httpchk", "http OPTIONS /"), ("option httpchk GET /x", "http GET /x"),
    ("option httpchk GET /x HTTP/1.1\\r\\nHost:\\ www\nhttp-check expect status 200-204",
     "http GET /x host=www expect=200-204"),
    ("option httpchk\nhttp-check send meth GET uri /y hdr Host h\nhttp-check disable-on-404",
     "http GET /y host=h soft-stop=404"),
    ("option httpchk\nhttp-check expect rstatus ^[23]", "http OPTIONS / expect=200-399"),
    ("option mysql-check user u", "mysql user=u"), ("option pgsql-check user u", "pgsql user=u database=u"),
    ("option redis-check", "redis"), ("option ldap-check", "ldap"), ("option ssl-hello-chk", "tls"),
    ("option smtpchk EHLO me", "smtp EHLO me"), ("option tcp-check", "tcp"),
    ("option tcp-check\ntcp-check send PING\\r\\n\ntcp-check expect string +PONG\n"
     "tcp-check expect string role:master",
     "redis role=master"),
    ("option tcp-check\ntcp-check send \"a b\\r\\n\"\ntcp-check expect ! string x\n"
     "tcp-check send-binary 00ff",
     "send \"a b\\r\\n\" expect=!\"x\" send \"\\x00\\xff\""),
])
def test_checks(haproxy, lines, ours):
    got = haproxy(listen(lines + "\n", "server s 10.0.0.1:80 check"))
    assert got.value("listen a", "check") == ours
    assert got.code == 0, got.report


ROUTES = TIMES + """
frontend f
bind :443
option redispatch
%s
default_backend y
backend x
%s
server s 10.0.0.1:80
backend y
%s
server s 10.0.0.2:80
"""


def routes(lines):
    return "defaults\n" + ROUTES % (lines, "", "")


@pytest.mark.parametrize("lines, ours", [
    ("use_backend x if { req_ssl_sni -i a.com }", "sni=a.com"),
    ("acl n req.ssl_sni -i a.com\nacl n req.ssl_sni -i b.com\nuse_backend x if n", "sni=a.com,b.com"),
    ("use_backend x if { req.ssl_sni -m end .a.com } { src 10.0.0.0/8 }", "src=10.0.0.0/8 sni=*.a.com"),
    ("use_backend x if { req.ssl_sni -m reg ^(.+\\.)?a\\.com$ }", "sni=.a.com"),
    ("use_backend x if { req.ssl_alpn h2 }", "alpn=h2"),
    ("use_backend x if { dst_port 80:90 }", "dst-port=80-90"),
    ("use_backend x if { dst_port ge 1024 }", "dst-port=1024-65535"),
    ("use_backend x if HTTP", "proto=http"),
    ("use_backend x if { req.payload(0,7) -m bin 5353482d322e30 }", "proto=ssh"),
    ("use_backend x if { req.payload(0,4) -m str SSH- }", "proto=ssh"),
    ("use_backend x if { req.payload(0,1) -m bin 16 }", "proto=tls"),
    ("use_backend x if { req.payload(0,3) -m bin 160301 160303 }", "proto=tls"),
    ("use_backend x if { src -f /etc/nets.lst }", "src=@/etc/nets.lst"),
    ("use_backend x unless !LOCALHOST", "src=127.0.0.0/8,::1"),
])
def test_routes(haproxy, lines, ours):
    got = haproxy(routes("tcp-request inspect-delay 2s\n" + lines))
    assert got.sections["frontend f"]["use-backend x"] == [ours]
    assert got.code == 0, got.report
    if "sni" in ours or "alpn" in ours:
        assert got.value("frontend f", "sniff") == "tls timeout=2s"
    if "proto" in ours:
        assert got.value("frontend f", "sniff") == "auto timeout=2s"


@pytest.mark.parametrize("line, why", [
    ("use_backend x if { req.ssl_sni -m sub a }", "part of a name"),
    ("use_backend x if { hdr(host) a }", "'hdr'"),
    ("use_backend x if { req.payload(0,3) -m bin 160303 }", "'req.payload'"),
    ("use_backend x if { req.payload(0,1) -m bin 160301 }", "'req.payload'"),
    ("use_backend x if { req.payload(1,1) -m bin 16 }", "'req.payload'"),
    ("use_backend x if { req.payload(0,1) -m bin 16 05 }", "'req.payload'"),
    ("use_backend x if { req.payload(0,7) -m str SSH- }", "'req.payload'"),
    ("use_backend x if !{ src 10.0.0.0/8 }\nuse_backend x if { hdr(host) a }", "no 'not'"),
    ("use_backend %[req.ssl_sni,field(1,.)] if TRUE", "computes"),
    ("use_backend x if nobody", "no acl 'nobody'"),
])
def test_a_route_that_weir_cannot_take_is_lost(haproxy, line, why):
    got = haproxy(routes(line))
    state, reason = got.state(line[:13])
    assert (state, got.code) == ("lost", 10)
    assert why in reason


@pytest.mark.parametrize("line", ["use_backend x", "use_backend x if TRUE"])
def test_a_route_without_a_condition_is_the_default(haproxy, line):
    got = haproxy(routes(line + "\nuse_backend y if HTTP"))
    assert got.sections["frontend f"]["default-backend"] == ["x"]
    assert got.state("use_backend y")[0] == got.state("default_backend")[0] == "no-effect"


def test_a_long_list_is_a_file(haproxy, tmp_path):
    names = [f"host{i}.example.com" for i in range(200)]
    text = routes("".join(f"acl n req.ssl_sni -i {' '.join(names[i:i + 50])}\n" for i in range(0, 200, 50)) +
                  "use_backend x if n")
    got = haproxy(text)
    assert got.state("use_backend x")[0] == "lost" and "-o DIR" in got.state("use_backend x")[1]
    got = haproxy(text, "-o", tmp_path / "out")
    assert got.code == 0, got.report
    assert (tmp_path / "out/lists/x.sni").read_text().split() == names
    assert "use-backend x       = sni=@lists/x.sni" in (tmp_path / "out/weir.ini").read_text()
    checked = subprocess.run([WEIR, "-c", tmp_path / "out/weir.ini"], capture_output=True, text=True,
                             timeout=60, check=False)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("kind, entries, ours", [
    ("map", "a.com x\nb.com y\nc.com x\n", ["x = sni=a.com,c.com", "y = sni=b.com"]),
    ("map_end", ".com y\n# comment\n.b.com x\n", ["y = sni=*.com", "x = sni=*.b.com"]),
])
def test_a_map_of_names_is_read(haproxy, tmp_path, kind, entries, ours):
    (tmp_path / "names.map").write_text(entries)
    got = haproxy(routes(f"use_backend %[req.ssl_sni,lower,{kind}({tmp_path}/names.map,y)]"))
    lines = [" ".join(line.split()).removeprefix("use-backend ") for line in got.ini.splitlines()
             if line.startswith("use-backend")]
    assert lines == ours
    assert got.value("frontend f", "default-backend") == "y" and got.value("frontend f", "sniff") == "tls"
    assert got.code == 0, got.report
    got = haproxy(routes(f"use_backend %[req.ssl_sni,{kind}(/nonexistent,y)]"))
    assert got.state("use_backend")[0] == "lost" and "convert where it is" in got.state("use_backend")[1]


def test_a_check_that_logs_in_with_bytes_only_asks_whether_a_server_is_alive(haproxy):
    got = haproxy(listen("option tcp-check\ntcp-check send-binary 4155544820780d0a\n"
                         "tcp-check expect string +OK\n"
                         "tcp-check send PING\\r\\n\ntcp-check expect string +PONG\n",
                         "server s 10.0.0.1:80 check"))
    assert got.value("listen a", "check") == "redis"
    assert got.state("tcp-check expect string +OK")[0] == "lost" and got.code == 10


def test_resolvers_hold_for_all_backends(haproxy):
    got = haproxy(listen(server="server s db.example:80 resolvers r") +
                  "resolvers r\nnameserver a 10.0.0.53:53\nnameserver b 10.0.0.54:5353\n"
                  "hold nx 5s\nhold valid 1m\nresolve_retries 3\n")
    assert got.sections["global"]["resolvers"] == ["10.0.0.53 10.0.0.54:5353"]
    assert got.sections["defaults"]["hold-nx"] == ["5s"]
    assert got.sections["defaults"]["resolve-interval"] == ["1m"]
    assert got.code == 0


def test_a_backend_that_may_be_down_gets_a_fallback(haproxy):
    got = haproxy(routes("use_backend x if { nbsrv(y) lt 1 }"))
    assert got.sections["backend y"]["fallback-backend"] == ["x"]


@pytest.mark.parametrize("lines, key, value", [
    ("tcp-request connection reject if { src 10.0.0.0/8 }", "deny-from", "10.0.0.0/8"),
    ("tcp-request connection reject if !{ src 10.0.0.0/8 ::1 }", "allow-from", "10.0.0.0/8 ::1"),
    ("tcp-request content reject unless { src 10.0.0.0/8 }", "allow-from", "10.0.0.0/8"),
    ("tcp-request connection accept if { src 10.0.0.0/8 }\ntcp-request connection reject", "allow-from",
     "10.0.0.0/8"),
    ("tcp-request connection reject if { src -f /x.lst }", "deny-from", "@/x.lst"),
    ("stick-table type ip size 1k store conn_rate(10s)\ntcp-request connection track-sc0 src\n"
     "tcp-request connection reject if { sc0_conn_rate gt 20 }", "rate-limit-per-source", "20/10s"),
    ("stick-table type ip size 1k store conn_cur\ntcp-request connection track-sc0 src\n"
     "tcp-request connection reject if { src_conn_cur ge 11 }", "maxconn-per-source", "10"),
    ("tcp-request inspect-delay 5s\ntcp-request content accept if { req_ssl_hello_type 1 }\n"
     "tcp-request content reject", "sniff", "tls timeout=5s required"),
    ("tcp-request content reject unless { req_ssl_hello_type 1 }", "sniff", "tls required"),
    ("stick-table type ip size 200k expire 30m\nstick on src", "sticky", "src size=200k expire=30m"),
    ("persist rdp-cookie", "persist", "rdp"),
])
def test_rules(haproxy, lines, key, value):
    got = haproxy(listen(lines + "\n"))
    assert got.value("listen a", key) == value
    assert got.code == 0, got.report


def test_who_was_accepted_before_is_exempt_from_limits(haproxy):
    got = haproxy(listen("stick-table type ip size 1k store conn_rate(1s)\n"
                         "tcp-request connection track-sc0 src\n"
                         "tcp-request connection accept if { src 10.0.0.0/8 }\n"
                         "tcp-request connection reject if { src_conn_rate gt 5 }\n"))
    assert got.value("listen a", "limit-exempt") == "10.0.0.0/8"
    assert got.state("tcp-request connection accept")[0] == "carried"


def test_global_and_logs(haproxy):
    got = haproxy("global\nnbthread 2\nmaxconn 99\ndaemon\nchroot /x\nlog /dev/log local0 notice\n"
                  "hard-stop-after 5m\n" + listen("log global\noption tcplog\n"))
    section = got.sections["global"]
    assert section["threads"] == ["2"] and section["maxconn"] == ["99"]
    assert section["log"] == ["syslog:/dev/log facility=local0 level=notice format=tcplog"]
    assert section["hard-stop-after"] == ["5m"]
    assert got.state("daemon")[0] == got.state("chroot")[0] == "no-effect"
    assert got.code == 0, got.report


@pytest.mark.parametrize("line", ["user haproxy", "group haproxy", "uid 99", "gid 99", "chroot /var/lib/x",
                                  "pidfile /run/x.pid", "daemon"])
def test_what_the_unit_decides_has_no_effect(haproxy, line):
    got = haproxy("global\nmaxconn 99\n" + line + "\n" + listen())
    state, why = got.state(line)
    assert state == "no-effect" and ("weir.service" in why or "systemd" in why)
    assert list(got.sections["global"]) == ["maxconn"] and got.code == 0


@pytest.mark.parametrize("line", ["user www-data;", "user www-data adm;", "daemon on;", "pid /run/n.pid;"])
def test_nginx_what_the_unit_decides_has_no_effect(nginx, line):
    got = nginx(line + "\n" + stream(ONE % ""))
    assert got.state(line.rstrip(";"))[0] == "no-effect"
    assert "global" not in got.sections and got.code == 0


@pytest.mark.parametrize("lines, ours, states", [
    (["/run/haproxy/admin.sock mode 660 level admin expose-fd listeners"],
     "unix:/run/weir/admin.sock mode=660 level=admin", ["carried"]),
    (["/var/lib/haproxy/stats user haproxy group haproxy"], "unix:/run/weir/admin.sock", ["different"]),
    (["unix@/a level operator", "/b level operator"], "unix:/run/weir/admin.sock level=operator",
     ["carried", "no-effect"]),
    (["/a level admin", "/b level user mode 666"], "unix:/run/weir/admin.sock level=user mode=666",
     ["no-effect", "carried"]),
    (["/a user haproxy mode 660", "/b level admin user root group root mode 0660"],
     "unix:/run/weir/admin.sock mode=660", ["different", "no-effect"]),
    (["/a level admin mode 600", "/b mode 660 group x"], "unix:/run/weir/admin.sock mode=660",
     ["no-effect", "different"]),
    (["/a level admin mode 666", "/b level user mode 660 group x"],
     "unix:/run/weir/admin.sock level=admin mode=666", ["carried", "lost"]),
    (["*:1999"], None, ["lost"]), (["*:1999 level user"], None, ["lost"]),
    (["ipv4@127.0.0.1:1999", "/a"], "unix:/run/weir/admin.sock", ["lost", "carried"]),
])
def test_an_admin_socket_is_where_the_unit_has_it(haproxy, lines, ours, states):
    got = haproxy("global\n" + "".join(f"stats socket {line}\n" for line in lines) + listen())
    assert got.value("global", "admin-socket") == ours
    assert [got.state(f"stats socket {line}")[0] for line in lines] == states
    assert "unix:/run/weir/admin.sock" in (ROOT / "conf/weir.ini").read_text()
    assert "haproxy" not in got.ini
    assert any("may still listen" in note for note in got.report["notes"]) == (ours is not None)


@pytest.mark.parametrize("own", ["", "stats socket /a level operator\n"])
def test_an_admin_socket_over_tcp_is_a_section_of_its_own(haproxy, own):
    got = haproxy("global\nstats socket ipv4@127.0.0.1:1999 level admin\n" + own +
                  "stats socket :2000 level admin expose-fd listeners\n" +
                  listen().replace("listen a", "listen admin"))
    assert got.sections["listen admin-2"] == {
        "bind": ["127.0.0.1:1999", "0.0.0.0:2000"], "server socket": ["unix:/run/weir/admin.sock"]}
    assert got.value("global", "admin-socket") == "unix:/run/weir/admin.sock" + " level=operator" * bool(own)
    state, why = got.state("stats socket :2000")
    assert state == "different" and "[listen admin-2]" in why and "everything" in why and got.code == 0


def test_an_admin_socket_over_tcp_is_no_reason_to_listen(haproxy):
    got = haproxy("global\nstats socket :2000 level admin\n" + listen("mode http\n"))
    assert got.state("stats socket")[0] == "lost" and got.code == 1


@pytest.mark.parametrize("line", ["description \"x\"", "id 5", "guid a",
                                  "option http-ignore-probes"])
def test_what_only_describes_has_no_effect(haproxy, line):
    got = haproxy(listen(line + "\n"))
    assert got.state(line.split(" \"", maxsplit=1)[0])[0] == "no-effect" and got.code == 0


@pytest.mark.parametrize("line", ["worker_connections 10;", "worker_rlimit_nofile 10;", "worker_priority 5;",
                                  "worker_rlimit_core 5m;"])
def test_nginx_what_the_machine_does_has_no_effect(nginx, line):
    got = nginx(line + stream(ONE % ""))
    assert got.state(line.rstrip(";"))[0] == "no-effect" and got.code == 0


def test_notes_have_what_is_not_written(haproxy):
    notes = [note.split()[1] for note in haproxy(listen()).report["notes"]]
    assert notes == ["logs", "ends", "sends", "tries"]
    got = haproxy("global\nlog /dev/log local0\nhard-stop-after 1m\n" + listen("log global\n"))
    assert [note.split()[1] for note in got.report["notes"]] == ["sends", "tries"]


def test_http_and_tls_are_not_ours_and_lose_nothing(haproxy):
    got = haproxy(listen() + "frontend h\nmode http\nbind :8080\ndefault_backend hb\nbackend hb\nmode http\n"
                  "server s 10.0.0.1:80\nfrontend t\nbind :8443 ssl crt /x.pem\ndefault_backend hb2\n"
                  "backend hb2\nserver s 10.0.0.1:443 ssl verify none\n")
    assert list(got.sections) == ["listen a"]
    assert {got.state(begin)[0] for begin in ("frontend h", "bind :8443", "backend hb2")} == {"not-ours"}
    assert got.code == 0


def test_what_weir_refuses_is_lost_with_its_words(haproxy):
    got = haproxy(listen("server t 10.0.0.2:80 weight 999\n"))
    state, why = got.state("server t")
    assert state == "lost" and "256" in why
    assert "server t" not in got.sections["listen a"] and got.code == 10


def test_an_unknown_line_is_lost(haproxy):
    assert haproxy(listen("frobnicate yes\n")).state("frobnicate")[0] == "lost"


# ---- passwords, files, exit codes ---------------------------------------------------------------------

PAGE = "listen stats\nmode http\nbind *:8404\nstats enable\nstats auth admin:sesame\n"


def test_a_password_is_nowhere_in_clear_text(haproxy, tmp_path):
    secret = (listen("# stats auth admin:sesame\noption tcp-check\ntcp-check send AUTH\\ sesame\\r\\n\n"
                     "tcp-check expect string +OK\n", "server s 10.0.0.1:80 check") + PAGE +
              "userlist u\nuser x insecure-password sesame\n")
    got = haproxy(secret)
    everything = got.process.stdout + got.process.stderr + got.report_path.read_text()
    assert "sesame" not in everything
    assert got.state("tcp-check send AUTH")[0] == "different"
    assert got.state("stats auth")[0] == "lost"
    assert "htpasswd -cB stats.htpasswd admin" in got.state("stats auth")[1]
    assert "allow-from" not in got.sections["stats"]  # a page without its password stays on this machine
    out = tmp_path / "out"
    got = haproxy(secret, "-o", out)
    assert got.process.stdout == ""
    assert not any("sesame" in path.read_text() for path in out.iterdir())


CHECK = "option tcp-check\ntcp-check "
AUTH_HEX = b"*2\r\n$4\r\nAUTH\r\n$6\r\nsesame\r\n".hex()


@pytest.mark.parametrize("lines", [
    "stats auth a:sesame", "no stats auth a:sesame", 'stats auth "a b:sesame"', CHECK + "send AUTH\\ sesame",
    CHECK + 'send "auth sesame\\r\\n"', CHECK + "send *2\\r\\n$4\\r\\nAUTH\\r\\n$6\\r\\nsesame\\r\\n",
    CHECK + 'send "LOGIN u sesame\\r\\n"', CHECK + 'send "USER u\\r\\nPASS sesame\\r\\n"',
    CHECK + 'send-lf "AUTH sesame"', CHECK + "send-binary " + AUTH_HEX,
    "option httpchk GET /x?password=sesame", "option httpchk GET /x?token=sesame",
    "option httpchk GET / HTTP/1.0\\r\\nAuthorization:\\ Basic\\ sesame",
    "option httpchk\nhttp-check send uri /x?apikey=sesame",
    'option httpchk\nhttp-check send uri / hdr Authorization "Basic sesame"',
    "option httpchk\nhttp-check send uri / hdr X-Auth-Token sesame body password=sesame",
    'default-server agent-check agent-port 9 agent-send "auth sesame\\n"',
    "option mysql-check user root password sesame", "source http://u:sesame@h",
    "http-request set-header Authorization \"Basic sesame\"", "frobnicate password sesame",
    "userlist u\nuser x insecure-password sesame", "userlist u\nuser x groups g password sesame",
    "global\nsetenv REDIS_PASSWORD sesame", "global\npresetenv DB_PASS sesame",
    "global\ncluster-secret sesame",
    "# stats auth a:sesame", "maxconn 5 # the password is sesame", "stats auth a:sesame\nbind \"",
    "stats auth a:sesame\nlisten\nstats auth \"a:sesame", "userlist u\nuser x insecure-password 'sesame",
    "setenv A \"sesame{{ x }}",
])
@pytest.mark.parametrize("json_too", [False, True])
def test_a_password_is_in_no_message(tmp_path, lines, json_too):
    path = tmp_path / "x.cfg"
    path.write_text(listen(lines + "\n", "server s 10.0.0.1:80 check"))
    for more in ([], ["-o", tmp_path / "out"]):
        got = run(path, *more, *(["--json"] if json_too else []))
        assert got.returncode in (0, 1, 10), got.stderr
        everything = got.stdout + got.stderr
        if (tmp_path / "out").exists():
            everything += "".join(p.read_text() for p in (tmp_path / "out").rglob("*") if p.is_file())
        assert "sesame" not in everything and b"sesame".hex() not in everything


@pytest.mark.parametrize("line", [
    'proxy_set_header Authorization "Basic sesame";', "proxy_pass http://u:sesame@h;",
    'set $api_token "sesame";', "x_password sesame;", "y ?password=sesame;", "# password sesame",
    "x_password \"sesame;",
])
def test_nginx_a_password_is_in_no_message(tmp_path, line):
    path = tmp_path / "x.conf"
    path.write_text("http {\n" + line + "\n}\n" + stream(ONE % ""))
    for more in ([], ["--json"]):
        got = run("--from", "nginx", path, *more)
        assert got.returncode in (0, 1, 10) and "sesame" not in got.stdout + got.stderr


@needs_libcrypt
def test_a_folder_gets_the_hashes_of_passwords(haproxy, tmp_path):
    out = tmp_path / "out"
    got = haproxy(listen() + PAGE, "-o", out)
    assert got.code == 0
    assert stat.S_IMODE((out / "stats.htpasswd").stat().st_mode) == 0o640
    assert (out / "stats.htpasswd").read_text().startswith("admin:$2y$")
    assert "auth-file  = stats.htpasswd" in (out / "weir.ini").read_text()
    checked = subprocess.run([WEIR, "-c", out / "weir.ini"], capture_output=True, text=True, timeout=60,
                             check=False)
    assert checked.returncode == 0, checked.stderr


def test_a_page_is_weirs(haproxy):
    got = haproxy(listen() + "listen stats\nmode http\nbind :8404\nstats enable\nstats uri /x\n"
                  "stats admin if LOCALHOST\n")
    assert got.sections["stats"] == {"bind": ["0.0.0.0:8404"], "allow-from": ["0.0.0.0/0 ::/0"]}
    assert got.state("listen stats")[0] == got.state("stats admin")[0] == "different"
    assert "admin socket" in got.state("stats admin")[1]
    assert got.state("stats enable")[0] == got.state("stats uri")[0] == "no-effect"
    assert got.code == 0
    assert haproxy(listen() + PAGE.replace("*:8404", ":1\nbind :2")).state("bind :2")[0] == "lost"


HASH = "$5$saltsalt$Pk6Vll9uMGNJUqZVRu0eQhJTqYFEzVJwRDxXWQ0pEb4"
USERS = ("userlist u\ngroup admins users root\nuser root insecure-password sesame\n"
         f"user ops password {HASH} groups admins,x\nuser guest insecure-password sesame\n")
LOGIN_PAGE = ("listen stats\nmode http\nbind :8404\nacl inside src 10.0.0.0/8\n"
              "acl admin http_auth_group(u) admins\n"
              "stats http-request deny unless inside\nstats http-request auth unless admin\n"
              "stats admin if admin\n")


@needs_libcrypt
@pytest.mark.parametrize("auth, users", [
    ("unless admin", ["root", "ops"]), ("realm x if !admin", ["root", "ops"]),
    ("unless { http_auth(u) }", ["root", "ops", "guest"]),
    ("unless { http_auth_group(u) admins }", ["root", "ops"]),
])
def test_a_list_of_users_is_an_auth_file(haproxy, tmp_path, auth, users):
    out = tmp_path / "out"
    page = LOGIN_PAGE.replace("auth unless admin", "auth " + auth)
    got = haproxy(listen() + page + USERS, "-o", out)
    assert got.code == 0, got.report
    lines = [line.split(":") for line in (out / "stats.htpasswd").read_text().splitlines()]
    assert [name for name, _ in lines] == users
    assert dict(lines)["root"].startswith("$2y$") and dict(lines)["ops"] == HASH
    assert stat.S_IMODE((out / "stats.htpasswd").stat().st_mode) == 0o640
    assert "allow-from = 10.0.0.0/8" in (out / "weir.ini").read_text()
    assert got.state("stats http-request auth")[0] == "carried"
    assert got.state("stats admin")[0] == "different"
    checked = subprocess.run([WEIR, "-c", out / "weir.ini"], capture_output=True, text=True, timeout=60,
                             check=False)
    assert checked.returncode == 0, checked.stderr


def test_a_list_of_users_without_a_folder_is_lost_and_the_page_closed(haproxy):
    got = haproxy(listen() + LOGIN_PAGE + USERS)
    state, why = got.state("stats http-request auth")
    assert state == "lost" and got.code == 10
    assert "htpasswd -cB stats.htpasswd root; htpasswd -B stats.htpasswd ops, and write auth-file" in why
    assert "allow-from" not in got.sections["stats"]
    assert got.state("stats http-request deny")[0] == "different"


def test_a_user_that_weir_cannot_take_is_lost(haproxy, tmp_path):
    users = USERS.replace(HASH, "$1$salt$qJH7.N4xYta3aEG/dfqo/0")
    got = haproxy(listen() + LOGIN_PAGE + users, "-o", tmp_path / "out")
    assert got.state("stats http-request auth")[0] == "lost" and got.code == 10
    assert not (tmp_path / "out/stats.htpasswd").exists()


def test_a_page_that_is_refused_to_some_in_another_way_is_closed(haproxy):
    got = haproxy(listen() + "listen stats\nmode http\nbind :8404\nstats enable\n"
                  "http-request deny if { hdr(x) y }\n")
    assert got.state("http-request deny")[0] == "lost" and "allow-from" not in got.sections["stats"]


def test_all_files_are_written_or_none(haproxy, tmp_path):
    out = tmp_path / "out"
    (out / "weir.ini").mkdir(parents=True)
    got = run(haproxy(listen() + PAGE).report_path.with_name("x.cfg"), "-o", out)
    assert got.returncode == 3
    assert [path.name for path in out.iterdir() if path.name.endswith(".new")] == []


def test_strict_writes_nothing(haproxy, tmp_path):
    got = haproxy(listen("timeout tunnel 1h\n"), "--strict", "-o", tmp_path / "out")
    assert got.code == 11 and not (tmp_path / "out").exists()
    assert haproxy(listen(), "--strict").code == 0


def test_nothing_that_is_ours_is_no_result(haproxy):
    got = haproxy("frontend h\nmode http\nbind :80\ndefault_backend b\nbackend b\nmode http\n"
                  "server s 10.0.0.1:80\n")
    assert (got.code, got.ini, got.report["result"]) == (1, "", False)


def test_every_line_has_a_state(haproxy):
    text = "global\nmaxconn 5\nfoo\n" + listen("option http-server-close\nacl z path /\n") + PAGE
    got = haproxy(text)
    assert [line["line"] for line in got.report["lines"]] == list(range(1, len(text.splitlines()) + 1))
    states = {"carried", "no-effect", "different", "lost", "not-ours"}
    assert {line["state"] for line in got.report["lines"]} <= states
    assert sum(got.report["counts"].values()) == len(got.report["lines"])


def test_the_report_is_on_standard_error(tmp_path):
    path = tmp_path / "x.cfg"
    path.write_text(listen("frobnicate yes\n"))
    got = run(path)
    assert f"{path}:1: carried: listen a" in got.stderr and f"{path}:8: lost: frobnicate yes" in got.stderr
    assert got.returncode == 10 and "[listen a]" in got.stdout
    brief = run("-q", path)
    assert "carried: listen" not in brief.stderr and "lost: frobnicate" in brief.stderr


# ---- the first minutes of a newcomer ------------------------------------------------------------------

APT = pathlib.Path("/etc/haproxy/haproxy.cfg")


def readme_path():
    """The three commands of README.md."""
    text = (ROOT / "README.md").read_text()
    (block,) = [b for b in text.split("```")[1::2] if "weir convert" in b]
    return block.strip().splitlines()


def free_port():
    """None that the kernel gives to a client before weir listens: the clients of a demo take many."""
    lowest = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        try:
            with socket.create_server(("127.0.0.1", random.randrange(lowest // 2, lowest))) as probe:
                return probe.getsockname()[1]
        except OSError:
            continue


def wait_until_ready(notify):
    """Reads what weir tells systemd until it accepts connections."""
    while b"READY=1" not in notify.recv(4096):
        pass


def test_the_path_of_a_newcomer(tmp_path):
    """HAProxy's file as Debian has it, with one section of mode tcp, converted, validated and run."""
    if not APT.exists():
        pytest.skip(f"{APT} is not there: apt-get install haproxy")
    if "mode\ttcp" in APT.read_text() or "listen" in APT.read_text():
        pytest.skip(f"{APT} is not the file of the package")
    config = tmp_path / "haproxy.cfg"
    port = free_port()
    with socket.create_server(("127.0.0.1", 0)) as server:
        config.write_text(APT.read_text() + f"\nlisten web\n\tmode tcp\n\tbind 127.0.0.1:{port}\n"
                          f"\tserver a 127.0.0.1:{server.getsockname()[1]}\n")
        convert, validate, start = [
            line.replace(str(APT), str(config)).replace("weir ", f"{WEIR} ", 1) for line in readme_path()]
        got = subprocess.run(convert, shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=60,
                             check=False)
        assert got.returncode == 0 and " 0 lost," in got.stderr, got.stderr
        result = tmp_path / "weir.ini"
        assert "admin-socket = unix:/run/weir/admin.sock mode=660 level=admin" in result.read_text()
        got = subprocess.run(validate.split(), cwd=tmp_path, capture_output=True, text=True, timeout=60,
                             check=False)
        assert got.returncode == 0 and "ok (1 frontend" in got.stdout, got.stdout + got.stderr
        # In place of the folder that the unit makes.
        result.write_text(result.read_text().replace("/run/weir/", f"{tmp_path}/"))
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        notify.bind(f"{tmp_path}/notify")
        with notify, subprocess.Popen(
                start.split(), cwd=tmp_path, stderr=subprocess.PIPE, text=True,
                env={**os.environ, "NOTIFY_SOCKET": f"{tmp_path}/notify"}) as weir:
            try:
                notify.settimeout(WAIT_S)
                server.settimeout(WAIT_S)
                wait_until_ready(notify)
                with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as client:
                    client.sendall(b"to weir")
                    with server.accept()[0] as accepted:
                        accepted.settimeout(WAIT_S)
                        assert accepted.recv(100) == b"to weir"
                        accepted.sendall(b"through weir")
                        assert client.recv(100) == b"through weir"
                assert stat.S_IMODE((tmp_path / "admin.sock").stat().st_mode) == 0o660
            finally:
                weir.terminate()
                weir.communicate(timeout=60)
        assert weir.returncode == 0


def test_tabs_are_blanks_in_the_report(tmp_path):
    path = tmp_path / "x.cfg"
    path.write_text(listen("option\ttcpka\n"))
    assert ": carried: option tcpka" in run(path).stderr


@pytest.mark.parametrize("args", [[], ["--from", "squid", "x"]])
def test_a_wrong_command_line(args):
    assert run(*args).returncode == 2


# ---- what cannot be read ------------------------------------------------------------------------------


@pytest.mark.parametrize("text, line, why", [
    ("listen a\nbind \"x\n", 2, "double quote"), ("listen a\nbind 'x\n", 2, "single quote"),
    ("listen a\nbind {{ port }}\n", 2, "'{{' is of a template"), ("listen a\n{% if x %}\n", 2, "'{%' is of"),
    ("listen a\nbind @@PORT@@\n", 2, "'@@'"), ("listen a\nbind $(hostname):80\n", 2, "'$('"),
    ("listen a\n.if feature(X)\nbind :80\n.endif\n", 2, "depends on the HAProxy"),
    ("listen a\n.if 1\nbind :80\n", 2, "no '.endif'"), ("listen a\n.endif\n", 2, "without '.if'"),
    ("listen a\nbind \\x0\n", 2, "\\x"), ("listen a\n\0\n", 2, "NUL"),
])
def test_haproxy_file_that_cannot_be_read(tmp_path, text, line, why):
    path = tmp_path / "x.cfg"
    path.write_text(text)
    got = run(path)
    assert got.returncode == 1 and got.stdout == ""
    assert got.stderr.startswith(f"{path}:{line}: error: ") and why in got.stderr


@pytest.mark.parametrize("text, line, why", [
    ("stream {\nserver {\n", 2, "not closed"), ("stream { } }\n", 1, "closes nothing"),
    ("stream {\nlisten 80\n}\n", 2, "without its ';'"), ("stream {\n a \"x;\n}\n", 2, "quote"),
    ("stream {\nserver { listen {{ port }}; }\n}\n", 2, "template"),
    ("include /dev/null;\n", 1, "cannot be read"), ("include x.conf;\n", 1, "includes itself"),
    ("a {" * 20 + "}" * 20, 1, "16 levels"),
])
def test_nginx_file_that_cannot_be_read(tmp_path, text, line, why):
    path = tmp_path / "x.conf"
    path.write_text(text)
    got = run("--from", "nginx", path)
    assert got.returncode == 1 and got.stdout == ""
    assert f":{line}: error: " in got.stderr and why in got.stderr


WHOLE_HAPROXY = ("global\nuser x\nstats socket /a mode 600\nsetenv A \"b\"\n.if 1\nlog /dev/log local0\n"
                 ".endif\n" + listen('tcp-check send "AUTH x\\r\\n"\n') +
                 routes("acl n req.ssl_sni -i a.com 'b.com'\nuse_backend x if n\n"
                        "use_backend y unless { src ::1 }") + LOGIN_PAGE + USERS +
                 "resolvers r\nnameserver a 10.0.0.53:53\n")
WHOLE_NGINX = ("user x;\nevents {\nworker_connections\n5;\n}\nhttp {\nserver {\nlisten 80;\n}\n}\nstream {\n"
               "map $ssl_preread_server_name $u {\nhostnames;\n*.a.com x;\ndefault \"y\";\n}\n"
               "upstream x {\nleast_conn;\nserver 10.0.0.1:1\nmax_fails=3;\n}\n"
               "upstream y {\nserver 10.0.0.2:1;\n}\nserver {\nlisten 443;\nssl_preread on;\nallow ::1;\n"
               "deny all;\nproxy_pass $u;\n}\n}\n")


@pytest.mark.parametrize("program, text", [("haproxy", WHOLE_HAPROXY), ("nginx", WHOLE_NGINX)],
                         ids=["haproxy", "nginx"])
def test_a_file_cut_after_any_line_has_a_result_or_an_error_with_its_line(tmp_path, program, text):
    lines = text.splitlines(keepends=True)
    codes = set()
    for count in range(len(lines) + 1):
        path = tmp_path / "x"
        path.write_text("".join(lines[:count]))
        got = run("--from", program, path)
        codes.add(got.returncode)
        if got.returncode == 1:
            assert got.stdout == ""
            assert got.stderr.startswith(f"{path}:") or "no result: nothing in it forwards TCP" in got.stderr
            error = next((line for line in got.stderr.splitlines() if ": error: " in line), None)
            assert error is None or 0 < int(error.removeprefix(f"{path}:").split(":")[0]) <= count + 1
        else:
            assert got.returncode in (0, 10) and "[" in got.stdout
    assert 1 in codes and got.returncode in (0, 10)


def test_a_large_file_is_refused(tmp_path):
    path = tmp_path / "x.cfg"
    path.write_text("#" * (10 << 20) + "\n\n")
    assert "10 MiB" in run(path).stderr


def test_conditions_and_folders(tmp_path):
    folder = tmp_path / "conf.d"
    folder.mkdir()
    (folder / "10.cfg").write_text("defaults\n" + TIMES + "option redispatch\n")
    (folder / "20.cfg").write_text(".if defined(NO_SUCH) || streq(\"$W\",\"1\")\nlisten a\nbind :1\n.else\n"
                                   "listen b\nbind :2\n.endif\nserver s \"${W}0.0.0.1:1\"\n")
    (folder / "30.txt").write_text("rubbish\n")
    got = run(folder, env={**os.environ, "W": "1"})
    assert got.returncode == 0, got.stderr
    assert "[listen a]" in got.stdout and "[listen b]" not in got.stdout and "${W}0.0.0.1:1" in got.stdout


# ---- nginx --------------------------------------------------------------------------------------------


def stream(inside):
    return "events { worker_connections 10; }\nstream {\n" + inside + "\n}\n"


ONE = "server { listen 10.0.0.9:80; proxy_pass 10.0.0.1:80; %s }"


def test_one_address_may_stand_beside_all_of_its_port(nginx):
    got = nginx(stream(ONE % "" + " server { listen 80; proxy_pass 10.0.0.2:80; }"))
    binds = sorted(section["bind"] for section in got.sections.values() if "bind" in section)
    assert binds == [["0.0.0.0:80"], ["10.0.0.9:80"]]
    assert [got.state(f"listen {x}")[0] for x in ("80", "10.0.0.9:80")] == ["carried"] * 2 and got.code == 0


@pytest.mark.parametrize("address, ours", [
    ("80", "0.0.0.0:80"), ("*:80", "0.0.0.0:80"), ("[::]:80", "[::]:80 v6only"), ("[::]:80 ipv6only=off",
                                                                                  "[::]:80"),
    ("127.0.0.1:80-90", "127.0.0.1:80-90"), ("unix:/run/a.sock", "unix:/run/a.sock mode=666"),
    ("80 reuseport backlog=9", "0.0.0.0:80 backlog=9"),
    ("80 deferred multipath", "0.0.0.0:80 defer-accept mptcp"),
])
def test_nginx_listens_on_the_same_family(nginx, address, ours):
    got = nginx(stream((ONE % "").replace("10.0.0.9:80", address)))
    (section,) = [s for name, s in got.sections.items() if name.startswith("listen")]
    assert section["bind"] == [ours]
    assert got.code == 0, got.report


def test_nginx_both_families_are_one_line(nginx):
    got = nginx(stream("server { listen 80; listen [::]:80; proxy_pass 10.0.0.1:80; }"))
    assert got.sections["listen port-80"]["bind"] == [":80"]


@pytest.mark.parametrize("more, key, value", [
    ("", "timeout-connect", "60s"), ("proxy_connect_timeout 5;", "timeout-connect", None),
    ("", "timeout-client", None), ("proxy_timeout 1m30s;", "timeout-client", "90s"),
    ("", "retries", "0"), ("proxy_protocol on;", "send-proxy", "v1"),
    ("proxy_socket_keepalive on;", "server-keepalive", "on"),
    ("deny 10.0.0.1; allow all;", "deny-from", "10.0.0.1"),
    ("allow 10.0.0.0/8; allow ::1; deny all;", "allow-from", "10.0.0.0/8 ::1"),
])
def test_nginx_defaults_and_directives(nginx, more, key, value):
    got = nginx(stream(ONE % more))
    assert got.value("listen port-80", key) == value
    assert got.code == 0, got.report


def test_nginx_a_header_may_take_30_seconds(nginx):
    got = nginx(stream((ONE % "set_real_ip_from 10.0.0.0/8;").replace("9:80;", "9:80 proxy_protocol;")))
    assert got.value("listen port-80", "timeout-handshake") == "30s"
    assert got.value("listen port-80", "trusted") == "10.0.0.0/8"


@pytest.mark.parametrize("words, observe, retries", [
    ("", "connect", "1"), ("max_fails=0", None, "1"), ("max_fails=1 fail_timeout=10s", "connect", "1"),
    ("max_fails=3", "connect limit=3", "1"), ("fail_timeout=30", "connect down=30s", "1"),
    ("max_fails=3 fail_timeout=30", "connect limit=3 down=30s", "1"),
])
def test_nginx_leaves_servers_out_as_max_fails_says(nginx, words, observe, retries):
    got = nginx(stream(f"upstream u {{ server 10.0.0.1:1 {words}; server 10.0.0.2:1 {words}; }}\n"
                       "server { listen 80; proxy_pass u; }"))
    assert got.value("listen u", "observe") == observe
    assert got.value("listen u", "retries") == retries


def test_nginx_servers_and_methods(nginx):
    got = nginx(stream("upstream u { least_conn; server db.example.com:1 weight=2 max_conns=5; "
                       "server 10.0.0.2:1 backup;"
                       " server 10.0.0.3:1 down; }\nserver { listen 80; proxy_pass u; }"))
    section = got.sections["listen u"]
    assert section["balance"] == ["leastconn"]
    assert section["server db.example.com"] == ["db.example.com:1 weight=2 maxconn=5"]
    assert section["server s2"] == ["10.0.0.2:1 backup"] and section["server s3"] == ["10.0.0.3:1 disabled"]


@pytest.mark.parametrize("method, ours", [
    ("random two least_conn", "random"), ("hash $remote_addr", "source"),
    ("hash $binary_remote_addr consistent", "source hash=consistent"), ("least_conn", "leastconn"),
])
def test_nginx_methods(nginx, method, ours):
    got = nginx(stream(f"upstream u {{ {method}; server 10.0.0.1:1; server 10.0.0.2:1; }}\n"
                       "server { listen 80; proxy_pass u; }"))
    assert got.value("listen u", "balance") == ours and got.code == 0


def test_nginx_protocols(nginx):
    text = stream('map $ssl_preread_protocol $u { "" s; "TLSv1.3" t; default %s; }\n'
                  "upstream s { server 10.0.0.1:1; } upstream t { server 10.0.0.2:1; }\n"
                  "server { listen 443; ssl_preread on; proxy_pass $u; }")
    got = nginx(text % "t")
    assert got.sections["frontend u"]["use-backend s"] == ["proto=http,ssh,other"]
    assert got.sections["frontend u"]["use-backend t"] == ["proto=tls"]
    assert got.value("frontend u", "sniff") == "auto timeout=30s" and got.code == 0
    assert got.state("TLSv1.3")[0] == "carried"
    assert nginx(text % "s").state("TLSv1.3")[0] == "different"


def test_nginx_resolver_and_logs(nginx):
    got = nginx("error_log syslog:server=10.0.0.1,facility=local3 warn;\n" +
                stream("resolver 10.0.0.53 valid=30s ipv6=off;\naccess_log /var/log/s.log f;\n" +
                       (ONE % "").replace("10.0.0.1:80", "app.example:80")))
    assert got.sections["global"]["log"] == ["syslog:10.0.0.1 facility=local3 level=warning",
                                             "file:/var/log/s.log"]
    assert got.sections["global"]["resolvers"] == ["10.0.0.53"]
    assert got.value("listen port-80", "resolve-family") == "ipv4"
    assert got.value("listen port-80", "resolve-interval") == "30s"
    assert "resolve-" not in nginx(stream("resolver 10.0.0.53 valid=30s;\n" + ONE % "")).ini


def test_nginx_the_most_specific_name_comes_first(nginx):
    names = ["*.example.com w", "a.b.example.com b", "*.b.example.com v", "www.example.com a", '"" n',
             "~^(.+\\.)?x\\.org$ x", "default d"]
    entries = "".join(name + "; " for name in names)
    got = nginx(stream("map $ssl_preread_server_name $u { hostnames; " + entries + "}\n" +
                       "".join(f"upstream {u} {{ server 10.0.0.1:1; }}\n" for u in "abdnvwx") +
                       "server { listen 443; ssl_preread on; preread_timeout 3s; proxy_pass $u; }"))
    lines = [line.split(" = ")[1] for line in got.ini.splitlines() if line.startswith("use-backend")]
    assert lines == ["sni=a.b.example.com", "sni=www.example.com", "sni=*.b.example.com",
                     "sni=*.example.com", "sni=.x.org", "sni=any"]
    assert got.value("frontend u", "default-backend") == "n"
    assert got.value("frontend u", "sniff") == "tls timeout=3s"
    assert got.code == 0, got.report


def test_nginx_hello_times_out_after_30_seconds(nginx):
    got = nginx(stream("map $ssl_preread_server_name $u { a.com 10.0.0.1:1; }\n"
                       "server { listen 443; ssl_preread on; proxy_pass $u; }"))
    assert got.value("frontend u", "sniff") == "tls timeout=30s"


def test_nginx_a_long_map_is_files(nginx, tmp_path):
    names = [f"host{i}.example.com" for i in range(300)]
    text = stream("map $ssl_preread_server_name $u { " + "".join(f"{n} u; " for n in names) + "}\n" +
                  "upstream u { server 10.0.0.1:1; }\n" +
                  "server { listen 443; ssl_preread on; proxy_pass $u; }")
    got = nginx(text)
    assert got.state("host0.example.com")[0] == "lost" and got.code == 1
    got = nginx(text, "-o", tmp_path / "out")
    assert got.code == 0, got.report
    assert (tmp_path / "out/lists/u.sni").read_text().split() == names
    assert "use-backend u = sni=@lists/u.sni" in (tmp_path / "out/weir.ini").read_text()


def test_nginx_many_networks_are_several_lines(nginx):
    got = nginx(stream(ONE % "".join(f"deny 10.0.{i // 256}.{i % 256}; " for i in range(500))))
    lines = got.sections["listen port-80"]["deny-from"]
    assert len(" ".join(lines).split()) == 500 and max(map(len, lines)) < 150 and got.code == 0


def test_nginx_networks_longest_first(nginx):
    got = nginx(stream("geo $u { default 10.0.0.1:1; 10.0.0.0/8 10.0.0.2:1; 10.1.0.0/16 10.0.0.3:1; }\n"
                       "server { listen 80; proxy_pass $u; }"))
    lines = [line.split(" = ")[1] for line in got.ini.splitlines() if line.startswith("use-backend")]
    assert lines == ["src=10.1.0.0/16", "src=10.0.0.0/8"]


def test_nginx_names_that_clients_choose(nginx):
    got = nginx(stream("server { listen 443; ssl_preread on; proxy_pass $ssl_preread_server_name:443; }"))
    assert got.sections["listen port-443"]["server any"] == ["sni@443"]
    assert got.sections["listen port-443"]["allow-sni"] == ["*"]
    assert got.state("proxy_pass")[0] == "different"


def test_nginx_one_upstream_in_two_ways_is_two_backends(nginx):
    got = nginx(stream("upstream u { server 10.0.0.1:1; }\nserver { listen 80; proxy_pass u; }\n"
                       "server { listen 81; proxy_pass u; proxy_protocol on; }\nserver { listen 82; "
                       "proxy_pass u; }"))
    assert sorted(name for name in got.sections if name.startswith("backend")) == ["backend u", "backend u-2"]
    assert got.sections["backend u-2"]["send-proxy"] == ["v1"]


def test_nginx_udp_tls_and_http_are_not_ours(nginx):
    got = nginx(stream(ONE % "" + "server { listen 53 udp; proxy_pass 10.0.0.1:53; }"
                       "server { listen 853 ssl; proxy_pass 10.0.0.1:53; "
                       "}") + "http { server { listen 80; } }\n")
    assert [name for name in got.sections if name != "defaults"] == ["listen port-80"]
    assert got.report["counts"]["not-ours"] == 9 and got.code == 0


def test_nginx_includes_are_relative_to_the_prefix(tmp_path):
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "b.conf").write_text(ONE % "")
    (tmp_path / "etc").mkdir()
    path = tmp_path / "etc" / "nginx.conf"
    path.write_text("include none/*.conf;\nstream { include conf.d/*.conf; }\n")
    got = run(path, "--prefix", tmp_path)
    assert got.returncode == 0 and "[listen port-80]" in got.stdout, got.stderr
    assert f"{tmp_path}/conf.d/b.conf:1: carried: server" in got.stderr


def test_nginx_notes_have_what_is_not_written(nginx):
    got = nginx(stream(ONE % ""))
    assert [note.split()[1] for note in got.report["notes"]] == ["closes", "sends", "logs", "has", "waits"]
    got = nginx("worker_processes auto; worker_shutdown_timeout 1m;" +
                stream("access_log /var/log/a f;\n" + ONE % ""))
    assert [note.split()[1] for note in got.report["notes"]] == ["closes", "sends"]
    assert got.sections["global"]["hard-stop-after"] == ["1m"]


def test_a_file_for_inside_of_stream(nginx):
    assert nginx(ONE % "").sections["listen port-80"]["bind"] == ["10.0.0.9:80"]


@pytest.mark.parametrize("text, whose", [
    ("global\nfrontend f\nbind :80\n", "HAProxy"), ("events { }\nstream {\n}\n", "nginx"),
    ("global\n[listen a]\nbind = :80\n", None), ("[listen a]\nbnd = :80\n", None),
    ("[listen a]\nbnd = :80\nserver a = ${WEIR_A}:80\nserver b = ${WEIR_A}:81\n", None),
])
def test_a_check_of_another_programs_file_names_the_converter(tmp_path, text, whose):
    path = tmp_path / "x"
    path.write_text(text)
    got = subprocess.run([WEIR, "-c", path], capture_output=True, text=True, timeout=60, check=False)
    assert got.returncode == 1
    line = f"{path} looks like a configuration of {whose}: 'weir convert {path}' converts it\n"
    assert got.stderr.endswith(line) if whose else "weir convert" not in got.stderr
