# SPDX-License-Identifier: MIT
"""`weir convert` and files that are broken, huge, or meant to do harm.

Runs the binary named by WEIR_BIN (build/src/weir).
"""

import json
import os
import pathlib
import resource
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEIR = os.environ.get("WEIR_BIN", str(ROOT / "build/src/weir"))

LISTEN = "listen a\nbind 10.0.0.9:80\nserver s 10.0.0.1:80\n"
CONTROLS = {*map(chr, range(32)), "\x7f", *map(chr, range(0x80, 0xa0))} - {"\n"}


def run(*args, **more):
    return subprocess.run([WEIR, "convert", *map(str, args)], capture_output=True, timeout=60, check=False,
                          **more)


def convert(folder, text, *args, program="haproxy", name="x.cfg"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return run("--from", program, path, *args)


def is_clean(text):
    return not CONTROLS & set(text.decode(errors="replace"))


# ---- bytes that must not reach a terminal or begin a line of the result ----

@pytest.mark.parametrize("program, text", [
    ("haproxy", LISTEN + 'server t "10.0.0.2:80\\nuser = root"\n'),
    ("haproxy", LISTEN + 'server "t\\n[global]\\nuser = root\\n[listen b]\\nserver u" 10.0.0.2:80\n'),
    ("haproxy", 'listen "a]\\n[global]\\nuser = root\\n[listen b"\nbind :1\nserver s 10.0.0.1:80\n' + LISTEN),
    ("haproxy", 'global\nmaxconn "5\\nuser = root"\n' + LISTEN),
    ("haproxy", 'global\nlog "${X}\\nuser = root" local0\n' + LISTEN),
    ("nginx", 'error_log "/x\nuser = root";\nstream { server { listen 80; proxy_pass 10.0.0.1:80; } }\n'),
    ("nginx", 'stream { server { listen 80; proxy_pass "10.0.0.1:80\nuser = root"; } '
              "server { listen 81; proxy_pass 10.0.0.1:80; } }\n"),
])
def test_a_line_break_in_a_word_begins_no_line_of_the_result(tmp_path, program, text):
    got = convert(tmp_path, text, program=program)
    assert got.returncode == 10, got.stderr
    assert b"user = root" not in got.stdout and b"[global]" not in got.stdout.split(b"\n\n")[-1]
    assert b"a control character" in got.stderr


@pytest.mark.parametrize("text", [
    LISTEN + "\x1b]0;x\x07 frob\x7f\n", LISTEN + 'frob "\\x1b[2J"\n', LISTEN + "frob \u009b2J\n",
    LISTEN + "server t \x1b[2J:80\n", "listen \x1b[2J\n" + LISTEN, LISTEN + "\x1b{{ x\n",
    ".if streq(\x1b[2J,version())\n.endif\n", ".frob\x1b[2J\n", "frontend f\nbind :1\n\x1b\n" + LISTEN,
])
def test_no_byte_of_a_file_disturbs_the_terminal(tmp_path, text):
    for name in ("x.cfg", "\x1b[2J\n\u009b.cfg"):
        got = convert(tmp_path, text, name=name)
        assert got.returncode in (0, 1, 10)
        assert is_clean(got.stderr) and is_clean(got.stdout)
        got = convert(tmp_path, text, "--json", name=name)
        assert is_clean(got.stderr.replace(b"\xc2\x9b", b"")) and is_clean(got.stdout)
        assert json.loads(got.stderr)["result"] == (got.returncode != 1)


# ---- a result is one that weir takes ----

STREAM = "stream { server { listen 80; proxy_pass 10.0.0.1:80; } }\n"


@pytest.mark.parametrize("program, text, lost", [
    ("nginx", "error_log syslog:server=10.0.0.1:10.0.0.1:514;\n" + STREAM, b"error_log"),
    ("haproxy", "global\nlog $ local0\n" + LISTEN, b"log"),
    ("haproxy", 'global\nlog "${LOG_HOST-10.0.0.1}" nowhere\n' + LISTEN, b"log"),
    ("haproxy", LISTEN + "server t $ check\n", b"server t"),
    ("haproxy", LISTEN + 'server t "${HOST-10.0.0.1}:80" weight 1000000\n', b"server t"),
    ("haproxy", LISTEN + "bind $:1\n", b"bind $"),
])
def test_what_weir_refuses_is_lost(tmp_path, program, text, lost):
    got = convert(tmp_path, text, program=program)
    assert got.returncode == 10
    assert b": lost: " + lost in got.stderr
    assert_is_taken(tmp_path, got.stdout)


@pytest.mark.parametrize("lines, ours", [
    ('server t "${HOST-10.0.0.1}:80" weight "${W-5}" check',
     b"server t = ${HOST:-10.0.0.1}:80 weight=${W:-5}"),
    ('server t "${HOST-10.0.0.1}:80" agent-check agent-port 5 agent-send "a b\\n"',
     b'check-agent-send="a b\\n"'),
    ('server t 10.0.0.1:80\nglobal\nlog "${LOG-10.0.0.1}" "${FACILITY-local0}"',
     b"facility=${FACILITY:-local0}"),
])
def test_a_variable_stays(tmp_path, lines, ours):
    got = convert(tmp_path, LISTEN + lines + "\n")
    assert got.returncode == 0, got.stderr
    assert ours in b" ".join(got.stdout.split())
    assert_is_taken(tmp_path, got.stdout)


def assert_is_taken(tmp_path, ini):
    (tmp_path / "weir.ini").write_bytes(ini)
    checked = subprocess.run([WEIR, "-c", tmp_path / "weir.ini"], capture_output=True, timeout=60,
                             check=False)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("word, code", [("", 0), ("ca-file /no/ca.pem", 0), ("check-sni " + "x" * 300, 10)])
def test_the_certificates_of_this_machine_do_not_matter(tmp_path, word, code):
    (tmp_path / "x.cfg").write_text("listen a\nbind :1\noption httpchk GET /\n"
                                    f"server s 10.0.0.1:443 check check-ssl {word}\n")
    got = run(tmp_path / "x.cfg", env={"SSL_CERT_FILE": "/nonexistent", "SSL_CERT_DIR": "/nonexistent"})
    assert got.returncode == code, got.stderr
    assert (b"check = https GET / " in b" ".join(got.stdout.split())) == (code == 0)


# ---- files that are none ----

@pytest.mark.parametrize("program", ["haproxy", "nginx"])
@pytest.mark.parametrize("text, why", [
    (bytes(range(255, -1, -1)) * 16, b"a NUL byte"), (b"x" * (10 << 20) + b"\n\n", b"10 MiB"),
    (b"a " + b"x" * (1 << 20) + b"\n", b"bytes"), (b'listen "a\n', b"not closed"),
], ids=["binary", "large", "long", "quote"])
def test_what_is_no_configuration_is_refused_in_words(tmp_path, program, text, why):
    got = convert(tmp_path, text, program=program)
    assert got.returncode == 1 and got.stdout == b""
    assert why in got.stderr and len(got.stderr) < 1000


@pytest.mark.parametrize("text", [
    b"stream {", b"}", b"stream { " * 17 + b"}" * 17, b"a {" * 100000, b"{", b"'",
], ids=map(str, range(6)))
def test_nginx_braces_must_match(tmp_path, text):
    got = convert(tmp_path, text, program="nginx")
    assert got.returncode == 1 and b"x.cfg:1: error: " in got.stderr


@pytest.mark.parametrize("program", ["haproxy", "nginx"])
@pytest.mark.parametrize("path, why", [
    ("/dev/zero", b"10 MiB"), ("/proc/self/mem", b""), ("/", b""), ("no", b"No such"),
])
def test_a_name_of_no_file(tmp_path, program, path, why):
    got = run("--from", program, path, cwd=tmp_path)
    assert got.returncode == 1 and got.stdout == b""
    assert b"error: " in got.stderr or b"no result" in got.stderr
    assert why in got.stderr


@pytest.mark.parametrize("name, why", [
    ("fifo", b"not a regular file"), ("/dev/zero", b"not a regular file"), (".", b"Is a directory"),
    ("x.cfg", b"includes itself"), ("round.conf", b"includes itself"), ("deep*", b"16 levels"),
    ("many/*", b"1000 files"),
])
def test_what_nginx_includes_is_a_file(tmp_path, name, why):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "round.conf").write_text("include x.cfg;")
    for i in range(20):
        (tmp_path / f"deep{i}").write_text(f"include deep{i + 1};")
    (tmp_path / "many").mkdir()
    for i in range(1001 if "many" in name else 0):
        (tmp_path / f"many/{i}").write_text("")
    got = convert(tmp_path, f"include {name};\n" + STREAM, program="nginx")
    assert got.returncode == 1 and got.stdout == b""
    assert why in got.stderr


def test_a_folder_of_many_files_and_a_fifo(tmp_path):
    for i in range(1001):
        (tmp_path / f"{i}.cfg").write_text("")
    got = run("--from", "haproxy", tmp_path)
    assert got.returncode == 1 and b"more than 1000 files" in got.stderr


def test_a_map_is_a_file(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    got = convert(tmp_path, "frontend f\nbind :1\n"
                  f"use_backend %[req.ssl_sni,lower,map({tmp_path}/fifo)]\n" + LISTEN)
    assert got.returncode == 10 and b"cannot be read" in got.stderr


@pytest.mark.parametrize("value", ["x" * 100000, "\x1b[2J\n[global]\nuser = root", "${A}" * 1000],
                         ids=["long", "control", "variables"])
def test_a_variable_is_not_replaced(tmp_path, value):
    text = LISTEN + 'server t "${A}:80"\n.if streq("${A}","${A}${A}")\nbind 10.0.0.8:80\n.endif\n'
    path = tmp_path / "x.cfg"
    path.write_text(text)
    got = run("--from", "haproxy", path, env={"A": value})
    assert got.returncode in (0, 1) and is_clean(got.stderr) and is_clean(got.stdout)
    assert value.encode() not in got.stdout + got.stderr


# ---- results ----

NAMES = " ".join(f"n{i}.example.org" for i in range(200))
LONG_LIST = ("frontend f\nbind :1\nuse_backend b if { req.ssl_sni -i " + NAMES + " }\n"
             "backend b\nserver s 10.0.0.1:80\n")


def test_a_full_disk_is_an_error(tmp_path):
    for text in (LISTEN, LISTEN + "frob\n", LISTEN * 1000):
        with open("/dev/full", "wb") as full:
            (tmp_path / "x.cfg").write_text(text)
            got = subprocess.run([WEIR, "convert", tmp_path / "x.cfg"], stdout=full, stderr=subprocess.PIPE,
                                 timeout=60, check=False)
            assert got.returncode == 3 and b"No space left" in got.stderr
            got = subprocess.run([WEIR, "convert", tmp_path / "x.cfg"], stdout=subprocess.PIPE, stderr=full,
                                 timeout=60, check=False)
            assert got.returncode == 3
        got = convert(tmp_path, text, "--report", "/dev/full")
        assert got.returncode == 3 and got.stdout == b"" and b"/dev/full: No space left" in got.stderr


def test_a_closed_pipe_is_an_error(tmp_path):
    for which in ("stdout", "stderr"):
        (tmp_path / "x.cfg").write_text(LISTEN + "frob\n")
        reader, writer = os.pipe()
        os.close(reader)
        got = subprocess.run([WEIR, "convert", tmp_path / "x.cfg"], **{"stdout": subprocess.PIPE,
                             "stderr": subprocess.PIPE, which: writer}, timeout=60, check=False)
        os.close(writer)
        assert got.returncode in (3, -13)


@pytest.mark.parametrize("broken", ["weir.ini", "lists", "lists/b.sni", "weir.ini.new", "lists/b.sni.new"])
def test_all_files_are_written_or_none(tmp_path, broken):
    out = tmp_path / "out"
    (out / "lists").mkdir(parents=True)
    (out / "weir.ini").write_text("old")
    (out / "lists/b.sni").write_text("old")
    path = out / broken
    if broken == "lists":
        (out / "lists/b.sni").unlink()
        path.rmdir()
        path.write_text("old")
    elif path.exists():
        path.unlink()
        path.mkdir()
    else:
        path.mkdir()
    before = {p: p.is_dir() or p.read_text() for p in out.rglob("*")}
    got = convert(tmp_path, LONG_LIST, "-o", out)
    assert got.returncode == 3
    assert {p: p.is_dir() or p.read_text() for p in out.rglob("*")} == before


def test_a_link_is_replaced_and_not_followed(tmp_path):
    out = tmp_path / "out"
    (out / "lists").mkdir(parents=True)
    (tmp_path / "precious").write_text("old")
    for name in ("weir.ini", "lists/b.sni"):
        (out / name).symlink_to(tmp_path / "precious")
    assert convert(tmp_path, LONG_LIST, "-o", out).returncode == 0
    assert (tmp_path / "precious").read_text() == "old"
    assert not (out / "weir.ini").is_symlink() and "[frontend f]" in (out / "weir.ini").read_text()
    (out / "weir.ini.new").symlink_to(tmp_path / "precious")
    assert convert(tmp_path, LONG_LIST, "-o", out).returncode == 3
    assert (tmp_path / "precious").read_text() == "old" and (out / "weir.ini.new").is_symlink()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    for name in ("file", "no/such/folder", "file/below"):
        got = convert(tmp_path, LISTEN, "-o", tmp_path / name)
        assert got.returncode == 3 and got.stdout == b""


# ---- large files ----

MANY = 15000
FRONT = "frontend f\nbind :1\ndefault_backend b\n"
BACK = "backend b\nserver s 10.0.0.1:80\n"


def address(i):
    return f"10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}"


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize("head, each, tail", [
    (FRONT, "tcp-request connection accept if {{ src {ip} }}\n", "tcp-request connection reject\n" + BACK),
    (FRONT, "tcp-request connection reject if {{ src_conn_rate gt {n} }}\n", BACK),
    (FRONT, "tcp-request connection expect-proxy layer4 if {{ src {ip} }}\n", BACK),
    (FRONT, "acl a{n} src {ip}\n", BACK), (FRONT, "acl a src {ip}\n", "use_backend b if a\n" + BACK),
    ("global\n", "log {ip} local0\n", LISTEN), ("global\n", "stats socket /run/{n}\n", LISTEN),
    (LISTEN + "resolvers r\n", "nameserver a{n} {ip}:53\n", ""),
    (LISTEN + "resolvers r\n", "hold nx {n}s\n", ""),
    (LISTEN[:-1] + " check\noption tcp-check\n", "tcp-check send a{n}\n", ""),
    ("defaults\noption tcp-check\n", "tcp-check send a{n}\n", "listen a{n}\nbind :1\n" + LISTEN * 100),
    (LISTEN, "default-server weight {n}\n", "server t 10.0.0.2:80\n" * 100),
    (LISTEN, "timeout client {n}s\n", ""), (LISTEN, "frob{n}\n", ""), (LISTEN, "# {n}\n", ""),
    (LISTEN, "defaults d{n}\n", LISTEN), (LISTEN, ".if streq({n},1)\n.endif\n", ""),
    ("", "listen a{n}\nbind :1\nserver s 10.0.0.1:80\nmaxconn {n}\nmode http\n", LISTEN),
    (LISTEN, "server t{n} {ip}:80\n", ""), (LISTEN, "server t {ip}:80\n", ""),
], ids=map(str, range(20)))
def test_the_time_grows_with_the_lines(tmp_path, head, each, tail):
    check_time(tmp_path, "haproxy", head, each, tail)


@pytest.mark.parametrize("head, each, tail", [
    ("", "frob{n} x;\n", STREAM), ("stream {{\n", "upstream u{n} {{ server {ip}:1; }}\n", "}"),
    ("stream {{ server {{ listen 1; proxy_pass 10.0.0.1:1;\n", "allow {ip};\n", "deny all; } }"),
    ("stream {{ server {{ listen 1 proxy_protocol; proxy_pass 10.0.0.1:1;\n", "set_real_ip_from {ip};\n",
     "} }"),
    ("http {{\n", "server {{ listen {n}; location / {{ root x; }} }}\n", "}" + STREAM),
    ("stream {{\n", "server {{ listen 1 udp; proxy_pass {ip}:1; }}\n", "}" + STREAM),
    ("stream {{\n", "proxy_timeout {n}s;\n", "server { listen 1; proxy_pass 10.0.0.1:1; }" * 50 + "}"),
    ("stream {{ map $ssl_preread_server_name $b {{\n", "n{n}.org 10.0.0.1:1;\n",
     "} server { listen 1; proxy_pass $b; } }"),
    ("stream {{ upstream u {{\n", "# {ip}\n", "server 10.0.0.1:1; } server { listen 1; proxy_pass u; } }"),
    ("stream {{ map $ssl_preread_server_name $b {{\n", "~^a{n}(b|c)+$ 10.0.0.1:1;\n",
     "default 10.0.0.1:1; } server { listen 1; ssl_preread on; proxy_pass $b; } }"),
    ("stream {{ map $ssl_preread_protocol $b {{\n", "~^a{n}(b|c)+$ 10.0.0.1:1;\n",
     "default 10.0.0.1:1; } server { listen 1; ssl_preread on; proxy_pass $b; } }"),
    ("stream {{ server {{ listen 1; proxy_pass 10.0.0.1:1; allow 10.1.1.1; allow 192.0.2.1;\n",
     "deny 0.0.0.0/1; deny {ip};\n", "} }"),
    ("stream {{ upstream u {{\n", "server {ip}:1;\n", "} server { listen 1; proxy_pass u; } }"),
], ids=map(str, range(13)))
def test_nginx_the_time_grows_with_the_lines(tmp_path, head, each, tail):
    check_time(tmp_path, "nginx", head.format(), each, tail)


@pytest.mark.parametrize("front, back", [
    ("default_backend b{n}", "server s {ip}:80 check"), ("default_backend b{n}", "server s {ip}:+1"),
    ("default_backend b{n}", "tcp-request content reject if {{ src {ip} }}\nserver s {ip}:80"),
    ("default_backend b{n}", "persist rdp-cookie\nserver s {ip}:80\nserver t {ip}:81"),
    ("use_backend a if {{ nbsrv(b{n}) lt 1 }}\ndefault_backend b{n}", "server s {ip}:80 check"),
], ids=map(str, range(5)))
def test_the_time_grows_with_the_sections(tmp_path, front, back):
    """As their number does, which is twice as long. Other programs on the machine may disturb one look."""
    each = f"frontend f{{n}}\nbind {{ip}}:80\n{front}\nbackend b{{n}}\n{back}\n"
    looks = []
    while not looks or looks[-1][1] >= 3 * looks[-1][0]:
        assert len(looks) < 3, looks
        looks.append([seconds_for(tmp_path, "haproxy", "", each, "backend a\nserver s 10.0.0.1:80\n", n)
                      for n in (MANY // 4, MANY // 2)])


def check_time(tmp_path, program, head, each, tail):
    assert seconds_for(tmp_path, program, head, each, tail) < 2.5


def seconds_for(tmp_path, program, head, each, tail, count=MANY):
    """Of processor time."""
    text = head + "".join(each.format(n=n, ip=address(n)) for n in range(1, count)) + tail
    before = cpu_seconds()
    got = convert(tmp_path, text, "--report", tmp_path / "report", program=program)
    assert got.returncode in (0, 1, 10), got.stderr
    return cpu_seconds() - before
