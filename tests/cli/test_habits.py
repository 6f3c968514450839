# SPDX-License-Identifier: MIT
"""Files as HAProxy and nginx users write them by habit: every line gets its own useful message.

habits/FILE.txt is what `weir check --json habits/FILE` must print, one line per message. Rewrite it
with `WEIR_WRITE=1 pytest tests/cli/test_habits.py`, and review the difference.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
WEIR = os.environ.get("WEIR_BIN", str(HERE.parents[1] / "build/src/weir"))
FILES = ["haproxy.cfg", "nginx.conf", "mistakes.ini"]


def judged(path):
    got = subprocess.run([WEIR, "check", "--json", str(path)], capture_output=True, text=True, timeout=60)
    found = json.loads(got.stdout)["messages"]
    errors = sum(m["severity"] == "error" for m in found)
    assert (got.returncode, got.stderr) == (1 if errors else 0, "")
    return found


def messages(path):
    found = judged(path)
    assert found
    return found


@pytest.mark.parametrize("name", FILES)
def test_every_message_is_as_it_was_read_and_approved(name):
    lines = (HERE / "habits" / name).read_text().splitlines()
    said = ""
    for m in messages(HERE / "habits" / name):
        if m["code"] == "not-in-this-version":
            continue  # fewer with each version; the texts below must outlive that
        written = lines[m["line"] - 1].encode()[m["col"] - 1:m["col"] - 1 + m["len"]].decode()
        hint = (m["hint"] or "-").replace("; not in this version", "")
        said += f"{m['line']}:{m['col']} {m['code']}: {written}\n    {m['message']}\n    {hint}\n"
    expected = HERE / "habits" / (name + ".txt")
    if os.environ.get("WEIR_WRITE"):
        expected.write_text(said)
    assert said == expected.read_text()


@pytest.mark.parametrize("name", FILES)
def test_what_a_hint_says_to_write_is_no_mistake_of_form(name, tmp_path):
    """Each line without '=' becomes what its hint says: no such mistake is left, and no missing unit."""
    lines = (HERE / "habits" / name).read_text().splitlines()
    changed = set()
    for m in messages(HERE / "habits" / name):
        match = re.fullmatch(r"write '([^']*)'", m["hint"] or "")
        if m["code"] == "no-equals" and match:
            lines[m["line"] - 1] = match.group(1).replace("NAME", f"s{m['line']}")
            changed.add(m["line"])
    assert changed
    path = tmp_path / "x.ini"
    path.write_text("\n".join(lines) + "\n")
    left = [m for m in messages(path) if m["line"] in changed
            and m["code"] in ("no-equals", "no-unit", "unknown-word", "unknown-key", "bad-name", "syntax")]
    assert left == []


def test_ten_kinds_are_ten_messages():
    codes = [m["code"] for m in messages(HERE / "habits" / "mistakes.ini")]
    assert len(codes) == len(set(codes)) == 10


# One line, and all that its hints say to write; nothing else may be suggested.
RULES = [
    ("tcp-request connection reject if { src 192.0.2.0/24 }", "write 'deny-from = 192.0.2.0/24'"),
    ("tcp-request connection reject if { src 192.0.2.0/24 198.51.100.7 2001:db8::/32 }",
     "write 'deny-from = 192.0.2.0/24 198.51.100.7 2001:db8::/32'"),
    ("tcp-request connection reject if { src 10.1.2.3/8 }", "write 'deny-from = 10.0.0.0/8'"),
    ("tcp-request session reject if { src 192.0.2.0/24 }", "write 'deny-from = 192.0.2.0/24'"),
    ("tcp-request content reject if { src 192.0.2.0/24 }", "write 'deny-from = 192.0.2.0/24'"),
    ("tcp-request connection reject if !{ src 10.0.0.0/8 ::1 }",
     "write 'allow-from = 10.0.0.0/8 ::1': nobody else may connect"),
    ("tcp-request connection reject if ! { src 10.0.0.0/8 }",
     "write 'allow-from = 10.0.0.0/8': nobody else may connect"),
    ("tcp-request connection reject unless { src 10.0.0.0/8 ::1 }",
     "write 'allow-from = 10.0.0.0/8 ::1': nobody else may connect"),
    ("tcp-request session reject unless { src 10.0.0.0/8 }",
     "write 'allow-from = 10.0.0.0/8': nobody else may connect"),
    ("tcp-request content reject unless { src 10.0.0.0/8 }",
     "write 'allow-from = 10.0.0.0/8': nobody else may connect"),
    ("tcp-request connection expect-proxy layer4 if { src 10.0.0.0/8 ::1 }",
     "write 'accept-proxy=optional' on the bind line, and 'trusted = 10.0.0.0/8 ::1'"),
    ("persist rdp-cookie", "write 'persist = rdp' + add to [listen x]: sniff = rdp"),
    ("persist rdp-cookie(msts)", "write 'persist = rdp' + add to [listen x]: sniff = rdp"),
    ("tcp-request content accept if RDP_COOKIE", "write 'sniff = rdp', and 'persist = rdp' in the backend"),
    ("tcp-request content accept if { req_rdp_cookie(msts) -m found }",
     "write 'sniff = rdp', and 'persist = rdp' in the backend"),
    ("balance rdp-cookie", "write 'balance = source' + "
     "write 'persist = rdp', and 'sniff = rdp' in its frontends: other clients are balanced"),
    ("tcp-request connection expect-proxy layer4", "write 'accept-proxy' on the bind line"),
    ("allow 10.1.1.0/16;", "write 'allow-from = 10.1.0.0/16'; 'deny-from' overrides it, "
     "whereas nginx uses the first match"),
    ("deny 192.168.1.1;", "write 'deny-from = 192.168.1.1'; it overrides 'allow-from', "
     "whereas nginx uses the first match"),
    ("deny all;", "leave this line out: with 'allow-from' nobody else may connect; "
     "without it, nobody at all could"),
    ("set_real_ip_from 10.0.0.0/8;", "write 'trusted = 10.0.0.0/8'"),
    ("option httpchk", "write 'check = http OPTIONS /'"),
    ("option httpchk /x", "write 'check = http OPTIONS /x'"),
    ("option httpchk GET /x", "write 'check = http GET /x'"),
    ("option httpchk HEAD /x?a=b HTTP/1.1\\r\\nHost:\\ www", "write 'check = http HEAD /x?a=b'"),
    ("option httpchk GET", "write 'check = http GET /'"),
    ("option httpchk OPTIONS *", "write 'check = http OPTIONS *'"),
    ("option httpchk OPTIONS * HTTP/1.1\\r\\nHost:\\ www", "write 'check = http OPTIONS *'"),
    ("option httpchk GET *", "write 'check = http GET /PATH'"),
    ("option httpchk get x", "write 'check = http GET /PATH'"),
    ("http-check expect string \"all is well\"", "write 'check = http GET / expect=\"all is well\"'"),
    ("option mysql-check", "write 'check = mysql'"),
    ("option mysql-check user haproxy", "write 'check = mysql user=haproxy'"),
    ("option mysql-check user haproxy post-41", "write 'check = mysql user=haproxy'"),
    ("http-check disable-on-404", "write 'check = http GET / soft-stop=404'"),
    ("option ldap-check", "write 'check = ldap'"),
    ("external-check command /opt/check.sh",
     "write 'check = exec /opt/check.sh', and 'exec-checks = 4' in [global]"),
    ("external-check path /usr/bin:/bin",
     "write 'check = exec PROGRAM path=/usr/bin:/bin'"),
    ("option smtpchk", "write 'check = smtp'"),
    ("option smtpchk HELO mail.example.org", "write 'check = smtp HELO mail.example.org'"),
    ("option smtpchk EHLO mail.example.org", "write 'check = smtp EHLO mail.example.org'"),
    ("tcp-check send PING\\r\\n",
     "write 'check = send PING\\r\\n expect=TEXT': all steps go on one line"),
    ("proxy_bind $remote_addr transparent;", "write 'source=client' on the server line"),
    ("proxy_bind 10.0.0.200;", "write 'source=10.0.0.200' on the server line"),
    ("source 0.0.0.0 usesrc clientip", "write 'source=client' on the server line"),
    ("source 10.0.0.200:0 usesrc client", "write 'source=client' on the server line"),
    ("source 10.0.0.200", "write 'source=10.0.0.200' on the server line"),
    ("hash $remote_addr;", "write 'balance = source'"),
    ("hash $binary_remote_addr;", "write 'balance = source'"),
    ("hash $binary_remote_addr consistent;", "write 'balance = source hash=consistent'"),
    ("hash $remote_addr consistent;", "write 'balance = source hash=consistent'"),
    ("fullconn 100", "leave this line out: it is no limit, only the load at which a server with minconn "
     "gets its maxconn"),
    ("timeout tunnel 3600000", "write 'timeout-idle = 3600000ms' (client and server side)"),
    ("tcp-keepalive 60 interval 10", "write 'tcp-keepalive = 60s interval=10s'"),
    ("server s 10.0.0.1:80 slowstart 60000", "write 'server s = 10.0.0.1:80 slowstart=60000ms'"),
    ("server s 10.0.0.1:80 slow_start=60", "write 'server s = 10.0.0.1:80 slowstart=60s'"),
    ("server s 10.0.0.1:80 source 0.0.0.0 usesrc clientip",
     "write 'server s = 10.0.0.1:80 source=client'"),
    ("server s 10.0.0.1:80 send-proxy-v2 proxy-v2-options crc32c,ssl",
     "write 'server s = 10.0.0.1:80 send-proxy=v2 proxy-v2-options=crc32c'"
     " + write crc32c, unique-id, pass, or several separated by commas"),
    ("server s 10.0.0.1:80 send-proxy-v2 proxy-v2-options ssl",
     "write 'server s = 10.0.0.1:80 send-proxy=v2'"
     " + write crc32c, unique-id, pass, or several separated by commas"),
    ("server s 10.0.0.1:80 check inter 5000 fall 4",
     "write 'server s = 10.0.0.1:80 check check-interval=5000ms check-fall=4'"),
    ("server s 10.0.0.1:80 send-proxy check-send-proxy",
     "write 'server s = 10.0.0.1:80 send-proxy' + write 'check = tcp proxy=v1' in the section"),
    ("server s 10.0.0.1:80 check-send-proxy send-proxy-v2",
     "write 'server s = 10.0.0.1:80 send-proxy=v2' + write 'check = tcp proxy=v2' in the section"),
    ("check inter 5s", "write 'check = tcp' + write 'check-interval = 5s' in the section"),
    ("check port 8008", "write 'check = tcp port=8008'"),
    ("check http GET /x", "write 'check = http GET /x'"),
    ("balance static-rr", "write 'balance = roundrobin' + write roundrobin"),
    ("stats socket /run/x.sock mode 660 level admin expose-fd listeners",
     "write 'admin-socket = unix:/run/weir/admin.sock mode=660 level=admin' in [global]"),
    ("stats socket unix@/run/x.sock user root gid 0 mode 600",
     "write 'admin-socket = unix:/run/weir/admin.sock mode=600' in [global]"),
    ("stats socket abns@x mode 660 user root level admin",
     "write 'admin-socket = unix:/run/weir/admin.sock mode=660 level=admin' in [global]"),
    ("stats socket ipv4@127.0.0.1:9999 level operator",
     "write 'admin-socket = unix:/run/weir/admin.sock level=operator' in [global]"),
    ("allow-from = 10.0.0.1-10.0.0.5", "a range is not a network: write 10.0.0.1 10.0.0.2/31 10.0.0.4/31"),
    ("allow-from = 0.0.0.0-255.255.255.255", "a range is not a network: write 0.0.0.0/0"),
    ("allow-from = 10.0.0.7-10.0.0.7", "a range is not a network: write 10.0.0.7"),
    ("allow-from = 10.0.0.1-3", "a range is not a network: write 10.0.0.1 10.0.0.2/31"),
    ("use-backend x = src=10.0.0.1-10.0.0.5",
     "a range is not a network: write 10.0.0.1,10.0.0.2/31,10.0.0.4/31"),
    *((f"deny-from = {text}", f"a range is not a network: write the networks it has, as in {example}")
      for text, example in (("10.0.0.5-10.0.0.1", "192.168.0.0/24"),
                            ("192.168.0.1-192.168.0.254", "192.168.0.0/24"),
                            ("10.0.0.0/24-10.0.9.0/24", "192.168.0.0/24"),
                            ("2001:db8::1-2001:db8::9", "2001:db8::/64"))),
    ("allow-from = a-b.example", "names are not looked up here: write an address or a network"),
    ("server s = 10.0.0.1-10.0.0.5:80",
     "address ranges are not accepted here: write one line per address"),
    ("server s = 10.0.0.1:80-90",
     "a server has one port: write a line for each, or :* for the port that the client connected to"),
    ("server s = 10.0.0.1:+0", "write :* for the port that the client connected to"),
    ("server s = 10.0.0.1:+1000", "weir adds nothing to the client's port: write :* for that port itself, or "
     "one [listen] per port"),
    ("bind = :8082-0", "the second port of a range is not below the first"),
    ("bind = 8082-8090", "write ':' before ports without an address, as in :8080-8089"),
    ("proxy_pass 10.0.0.1:80;", "write 'server NAME = 10.0.0.1:80'"),
    ("proxy_pass 10.0.0.1:$server_port;", "write 'server NAME = ADDRESS:*'"),
    ("proxy_pass $ssl_preread_server_name:443;",
     "write 'server NAME = sni@443' and 'allow-sni' in the backend, and 'sniff = tls' in the frontend"),
    ("proxy_pass $ssl_preread_server_name:$server_port;",
     "write 'server NAME = sni@*' and 'allow-sni' in the backend, and 'sniff = tls' in the frontend"),
    ("tcp-request content do-resolve(txn.dst,r,ipv4) req.ssl_sni",
     "weir can look up the name in a TLS hello and connect to it: see 'allow-sni'"),
    ("tcp-request content set-dst var(txn.dst)",
     "weir can look up the name in a TLS hello and connect to it: see 'allow-sni'"),
    ("bind = sni@443", "sni@ is for 'server': clients are sent to the name they ask for"),
    ("server a = sni@", "write sni@ and a port, as in sni@443, or sni@* for the port that the client "
     "connected to"),
    ("servrs = a", "did you mean 'servers'?"),
    ("state-fil = a", "did you mean 'state-file' in [global]? (not in this version)"),
    ("retries = yes", "write a number from 0 to 10000, as in 'retries = 3'"),
    ("timeout = 30s", "possible keys: 'timeout-queue', 'timeout-connect', 'timeout-client', "
     "'timeout-server', 'timeout-idle', 'timeout-half-closed', 'timeout-handshake'"),
    ("timeout 30s", "possible keys: 'timeout-queue', 'timeout-connect', 'timeout-client', "
     "'timeout-server', 'timeout-idle', 'timeout-half-closed', 'timeout-handshake'"),
]

# Rules that are more, or other, than a list of networks: nothing is to be copied from their hints.
NOT_RULES = [f"tcp-request {rest}" for rest in [
    "connection reject", "connection accept", "connection accept if { src 10.0.0.0/8 }",
    "connection accept unless { src 10.0.0.0/8 }", "connection accept if !{ src 10.0.0.0/8 }",
    "session accept if { src 10.0.0.0/8 }", "content accept if { src 10.0.0.0/8 }",
    "connection reject unless !{ src 10.0.0.0/8 }", "connection reject if !!{ src 10.0.0.0/8 }",
    "connection reject if { src 10.0.0.0/8 } { dst_port 80 }",
    "connection reject if { src 10.0.0.0/8 } || { src 192.0.2.0/24 }",
    "connection reject if local { src 10.0.0.0/8 }", "connection reject if { src 10.0.0.0/8 } !local",
    "connection reject if { src -f /etc/black.list }", "connection reject if { src 10.0.0.0/8 www }",
    "connection reject if { src ::ffff:10.0.0.1/24 }", "connection reject if { src }",
    "connection reject if { dst 10.0.0.0/8 }", "connection reject if local",
    "connection reject unless local", "content reject if { src 10.0.0.0/8 x }", "content accept",
    "connection reject if { src 10.0.0.0/8", "connection reject if { src_http_req_rate gt 10 }",
    "connection expect-proxy layer4 unless { src 10.0.0.0/8 }",
    "connection expect-proxy layer4 if !{ src 10.0.0.0/8 }", "connection expect-proxy layer4 if local",
]]


def hints_of(path, line, section="listen x", more="bind = :80\nserver first = 10.0.0.1:80\n"):
    path.write_text(f"[{section}]\n{line}\n{more}")
    return [m["hint"] or "-" for m in judged(path) if m["line"] == 2 and m["severity"] == "error"]


@pytest.mark.parametrize("line,expected", RULES)
def test_a_hint_means_what_the_line_meant(line, expected, tmp_path):
    assert " + ".join(hints_of(tmp_path / "x.ini", line)) == expected


@pytest.mark.parametrize("line,expected", RULES)
@pytest.mark.parametrize("blank", ("   ", "\t"))
def test_blanks_between_words_are_free(line, expected, blank, tmp_path):
    spaced = line if '"' in line or "\\" in line or "=" in line else line.replace(" ", blank)
    assert " + ".join(hints_of(tmp_path / "x.ini", spaced)) == expected


@pytest.mark.parametrize("line", NOT_RULES)
def test_a_rule_that_cannot_be_turned_is_not_filled_in(line, tmp_path):
    hint, = hints_of(tmp_path / "x.ini", line)
    assert "see '" in hint and "write" not in hint and "10.0.0.0" not in hint
    if " accept" in line and "content accept" != line[12:]:
        assert "with 'allow-from' nobody else may connect" in hint


TABLE = "".join(path.read_text()
                for path in sorted((HERE.parents[1] / "src/config").glob("foreign_*.tbl.h")))
OPTIONS = "".join((HERE.parents[1] / "include/weir/config" / name).read_text()
                  for name in ("options.tbl.h", "backend_options.tbl.h"))
TEXT = r'"((?:[^"\\]|\\.)*)"'
WORDS_OF_LINES = {"BIND_WORD", "SERVER_WORD", "LOG_WORD"}


def rows_of_table():
    """(area, word, hint) of each row that `weir -c` gives as advice."""
    text = r'"(?:[^"\\]|\\.)*"'
    for area, word, hint in re.findall(rf"^FOREIGN\(\w+, (\w+), \w+,\s+({text}),\s+(?:NULL|{text}),\s+"
                                       rf"((?:{text}\s*)+)\)$", TABLE, re.M):
        yield area, word[1:-1], "".join(re.findall(TEXT, hint))


ROWS = [row for row in rows_of_table() if row[0] != "SECTION"]
KEYS = set(re.findall(r'^(?:OPTION|LATER)\("([^"]+)"', OPTIONS, re.M))
WORDS = {"off", "option", "#"}
# What a user has behind the word, by the first key that the hint has its "..." for.
VALUES = {"timeout-": "5000", "max-lifetime": "5000", "hard-stop-after": "5000", "tcp-user-timeout": "5000",
          "check-interval": "5000", "check-fast": "500", "check-down": "5000", "check = http GET": "200",
          "check = http": "GET /x", "check = https GET / verify": "none",
          "check = https GET / sni": "app", "check-port": "8008", "check-addr": "10.0.0.9",
          "check = send": "PING\\r\\n", "check = exec": "/bin/sh",
          "check = exec PROGRAM path": "/usr/bin:/bin",
          "server NAME": "10.0.0.9:81", "source": "10.0.0.200",
          "hash-balance-factor": "150", "balance = source hash=consistent hash-balance-factor": "150",
          "pipe-size": "65536", "pacing": "1m", "slowstart": "60", "bind": "443", "user": "root",
          "group": "root", "level": "operator", "mode": "660", "default-backend": "app",
          "resolve-family": "ipv4"}
USERS = "app:$5$rounds=1000$saltsalt$DqtkTIG04cmrnEJ0mkoECt9ibZmoxRHB02bHnTLkpZD\n"
STAND_INS = {"NETWORK": "10.0.0.0/8", "ADDRESS": "10.0.0.9:81", "NAME": "app", "HOST": "localhost",
             "PROGRAM": "/bin/sh",
             "PORT": "8080", "PATH": "/var/log/x", "FILE": "n.cidr", "TEXT": "abc", "N": "9"}


def example(word, hint):
    """The line that a user has: the word of the row, its '*' as some letters, and a value for '...'."""
    line = word.replace("*", "x")
    line = re.sub(r"(if|unless) \{src\}$", r"\1 { src 10.0.0.0/8 ::1 }", line)
    mark = re.search(r"'([^'.]*)\.\.\.", hint)
    if mark:
        line += " " + next((VALUES[k] for k in sorted(VALUES, key=len, reverse=True)
                            if mark.group(1).startswith(k)), "10")
    elif "NETWORK" in hint and "{" not in line:
        line += " 10.0.0.0/8"
    elif line == "source usesrc client":
        line = "source 10.0.0.200 usesrc client"
    return line


def refused(path, quoted):
    """What is wrong with a quoted piece of a hint, tried wherever it may belong; None when nothing is."""
    text = quoted
    for name, value in STAND_INS.items():
        text = re.sub(rf"(?<![A-Z]){name}(?![A-Z])", lambda _: value, text)
    users = text.startswith("auth-file")
    (path.parent / "n.cidr").write_text(USERS if users else "10.0.0.0/8\n")
    word = "" if " = " in text else text
    key = "" if word else text
    server = "server first = 10.0.0.1:80"
    # Without a list of those who may, accept-proxy=optional is refused; the hint names it too.
    bind = ("trusted = 10.0.0.0/8\n" if text == "accept-proxy=optional" else "") + "bind = :80"
    bind = ("sniff = rdp\n" if text == "persist = rdp" else "") + bind
    log, admin = "log = stderr", "admin-socket = unix:/run/x.sock"
    tries = []
    if users:
        tries = [(f"[stats]\nbind = 127.0.0.1:8404\n{key}", f"{bind}\n{server}\n")]
    elif key:
        listen = f"{key}\n" + ("" if key.startswith("default-backend") else server + "\n")
        tries = [("", f"{bind}\n{listen}"), (key, f"{bind}\n{server}\n")]
    else:
        tries = [("", f"{bind} {word}\n{server}\n"), ("", f"{bind}\n{server} {word}\n"),
                 (f"{log} {word}", f"{bind}\n{server}\n"), (f"{admin} {word}", f"{bind}\n{server}\n"),
                 ("", f"bind = unix:/run/x {word}\n{server}\n")]
    said = []
    allow = "exec-checks = 1\n" if "check = exec" in text else ""
    for in_global, listen in tries:
        path.write_text(f"[global]\n{allow}{in_global}\n[listen x]\n{listen}[backend app]\n{server}\n")
        errors = [m for m in judged(path)
                  if m["severity"] == "error" and m["code"] != "not-in-this-version"]
        if not errors:
            return None
        said += [(text, m["message"]) for m in errors]
    return said


def pieces(hint):
    """The quoted pieces of a hint that are to be written, and the keys that it names."""
    written = re.findall(r"'((?:[^']|'\$\{)*?)'(?![a-z])", hint)
    return [p for p in written if "=" in p and not p.endswith("=")], \
           [p.rstrip("=") for p in written if "=" not in p or p.endswith("=")]


@pytest.mark.parametrize("kind,word,hint", ROWS, ids=[f"{k}:{w}" for k, w, _ in ROWS])
def test_what_a_row_of_the_table_suggests_is_accepted(kind, word, hint, tmp_path):
    line = example(word, hint)
    path = tmp_path / "x.ini"
    first = re.split(r"[ .*{(']", hint)[0]
    if kind not in WORDS_OF_LINES:
        got = hints_of(path, line)
    else:
        listen = "bind = :80\nserver a = 10.0.0.1:80\n"
        got = [hint for start in ("server s = 10.0.0.2:80", "bind = :81")
               for hint in hints_of(path, f"{start} {line}", "listen x", listen)]
        got += [hint for start in ("log = stderr", "admin-socket = unix:/run/x.sock")
                for hint in hints_of(path, f"{start} {line}", "global", "[listen x]\n" + listen)]
        got = [hint for hint in got if hint.startswith(first)]
    assert got, line
    for one in got[:1]:
        assert one.startswith(first)
        written, named = pieces(one)
        for piece in written:
            assert "..." not in piece, (line, one)
            assert refused(path, piece) is None, (line, one, refused(path, piece))
        for section in re.findall(r"\[(\w+)", one):
            assert section in ("global", "stats", "defaults", "listen", "frontend", "backend"), (line, one)
        for key in named:
            assert key in KEYS | WORDS or key.startswith(("${", "[", "weir ")), (line, key)


@pytest.mark.parametrize("head, guess", [
    ("[listn web]", "did you mean [listen web]?"), ("[fronted web]", "did you mean [frontend web]?"),
    ("[web]", "write [listen web], [frontend web] or [backend web]; the others are [global] and "
     "[defaults]"),
    ("[we b]", "the sections are [global], [defaults], [listen NAME], [frontend NAME] and [backend NAME]"),
    ("[listen]", "write [listen NAME]"), ("[listen a/b]", None), ("[globl]", "did you mean [global]?"),
    ("[listen web", "write [listen web]"),
    ("[listn web", "did you mean [listen web]?"), ("[defaults foo]", "write [defaults]"),
    ("[global x]", "write [global]"), ("[]", "write [global], [defaults] or [listen NAME]"),
    ("[upstream x]", "write '[backend NAME]' and 'server NAME = ADDRESS' lines"), ("[server web]", None),
    ("", "begin with [global], [defaults] or [listen NAME]")])
def test_lines_below_a_wrong_header_are_judged(head, guess, tmp_path):
    """Each mistake below it is found in the same run; what only follows from the header is not said."""
    path = tmp_path / "x.ini"
    mistakes = ["retries = yes", "threads = many", "maxcon = 5"]
    if head in ("[globl]", "[global x]"):
        mistakes[0] = "hard-stop-after = 5"
    path.write_text("\n".join([head, *mistakes, "maxconn = 5", "[listen web2]", "bind = :80",
                               "server a = 10.0.0.1:80"]) + "\n")
    found = judged(path)
    assert sorted({m["line"] for m in found}) == ([1] if head else []) + [2, 3, 4]
    assert not guess or guess in [m["hint"] for m in found]
    assert not any("no bind" in m["message"] or "no server" in m["message"] for m in found)


def test_half_a_pair_of_brackets_is_not_part_of_the_name(tmp_path):
    path = tmp_path / "x.ini"
    path.write_text("listen web]\nbind = :80\nserver a = 10.0.0.1:80\n")
    assert [m["hint"] for m in judged(path)] == ["write [listen web]"]


def test_a_bracket_alone_is_an_empty_header(tmp_path):
    path = tmp_path / "x.ini"
    path.write_text("[\nretries = 1\n")
    assert [m["hint"] for m in judged(path)] == [None, "write [global], [defaults] or [listen NAME]"]


def test_a_section_below_a_slip_can_be_referred_to(tmp_path):
    path = tmp_path / "x.ini"
    path.write_text("[listn web]\nserver a = 10.0.0.1:80\n[frontend f]\nbind = :80\ndefault-backend = web\n")
    assert [m["line"] for m in judged(path)] == [1]


def test_a_line_of_nginx_before_any_section_keeps_its_value(tmp_path):
    path = tmp_path / "x.ini"
    for line in ("listen = 0.0.0.0:8080", "listen 0.0.0.0:8080;"):
        path.write_text(f"{line}\n")
        assert "write 'bind = 0.0.0.0:8080' in a [listen NAME]" in [m["hint"] for m in judged(path)]


def test_every_row_of_the_table_was_tried():
    rows = re.findall(r"^FOREIGN\(\w+, (\w+),", TABLE, re.M)
    assert len(ROWS) == len([area for area in rows if area != "SECTION"]) > 300
