# SPDX-License-Identifier: MIT
"""What `meson install` installs where, and what the binary needs to run.

Installs WEIR_BUILD if that is a build for /usr; otherwise its own, build/package, and creates it if it does
not exist.
"""

import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/package"
# What the binary itself names; libmicrohttpd of Debian brings a library for TLS, which is not used.
LIBRARIES = {"libc.so.6", "libev.so.4", "libinih.so.1", "libm.so.6", "liburing.so.2", "libmicrohttpd.so.12",
             "libcares.so.2", "libssl.so.3", "libcrypto.so.3", "libcrypt.so.1"}
TREE = {
    "etc/weir/weir.ini", "usr/bin/weir", "usr/lib/systemd/system/weir.service",
    "usr/lib/sysusers.d/weir.conf", "usr/lib/tmpfiles.d/weir.conf",
    "usr/share/doc/weir/examples/90-weir.conf", "usr/share/bash-completion/completions/weir",
    "usr/share/zsh/site-functions/_weir", "usr/share/fish/vendor_completions.d/weir.fish"}
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def run(*words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, **more)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def is_for_usr(folder):
    """Like packages: weir in /usr, its configuration in /etc."""
    try:
        options = json.loads((Path(folder) / "meson-info/intro-buildoptions.json").read_text())
    except OSError:
        return False
    have = {option["name"]: option["value"] for option in options}
    return (have["prefix"], have["sysconfdir"]) == ("/usr", "/etc")


@pytest.fixture(scope="module")
def build():
    given = os.environ.get("WEIR_BUILD")
    if given and is_for_usr(given):
        return Path(given)
    if not (BUILD / "build.ninja").exists():
        run("meson", "setup", BUILD, ROOT, "-Dprefix=/usr", "-Dtests=false", "-Dbench=false")
    run("ninja", "-C", BUILD)
    return BUILD


def install(build, where):
    run("meson", "install", "-C", build, "--no-rebuild", "--destdir", where)
    return {str(p.relative_to(where)) for p in where.rglob("*") if p.is_file()}


def test_binary_needs_only_these_libraries(build):
    names = set(re.findall(r"\(NEEDED\).*\[(\S+)\]", run("readelf", "-d", build / "src/weir")))
    names -= {n for n in names if n.startswith("ld-linux")}
    assert names <= LIBRARIES
    assert {"libc.so.6", "libev.so.4", "libinih.so.1"} <= names


def test_installed_tree(build, tmp_path):
    have = install(build, tmp_path)
    examples = {f"usr/share/doc/weir/{p.parent.name}/{p.name}" for folder in ("examples", "monitoring")
                for p in (ROOT / "conf" / folder).iterdir()}
    pages = {p for p in have if re.fullmatch(r"usr/share/man/man\d/weir[\w.-]*", p)}
    read = {p for p in have if re.match(r"usr/share/doc/weir/(README\.md|LICENSE|doc/|bench/)", p)}
    assert have - pages - read == TREE | examples
    assert len(pages) == len([p for p in (ROOT / "doc/man").glob("weir*")])
    assert (tmp_path / "etc/weir/conf.d").is_dir()
    assert stat.S_IMODE((tmp_path / "usr/bin/weir").stat().st_mode) == 0o755


def test_what_is_installed_to_read_links_to_what_is_installed(build, tmp_path):
    have = install(build, tmp_path)
    root = tmp_path / "usr/share/doc/weir"
    pages = sorted(root.rglob("*.md"))
    assert {p.name for p in pages} >= {"README.md"} | {p.name for p in (ROOT / "doc").glob("*.md")}
    links = {(page, link) for page in pages for link in LINK.findall(page.read_text())}
    assert len(links) > 15
    dead = [f"{page.relative_to(root)}: {link}" for page, link in links if not (page.parent / link).exists()]
    assert not dead, dead
    # Nothing is installed that no page links to.
    led = {(page.parent / link).resolve() for page, link in links}
    lost = [p for p in have if "/bench/" in p and (tmp_path / p).resolve() not in led]
    assert not lost, lost


def test_the_image_is_built_from_all_that_the_build_needs(tmp_path):
    """The Dockerfile's build sees only what .dockerignore admits, by name."""
    lines = [x for x in (ROOT / ".dockerignore").read_text().splitlines() if x and not x.startswith("#")]
    assert lines.pop(0) == "*"
    for line in lines:
        assert line[0] == "!" and not set(line) & set("*?[")
        seen = tmp_path / "context" / line[1:]
        seen.parent.mkdir(parents=True, exist_ok=True)
        whole = ROOT / line[1:]
        if whole.is_dir():
            shutil.copytree(whole, seen)
        else:
            shutil.copy(whole, seen)
    run("meson", "setup", tmp_path / "build", tmp_path / "context", "--prefix=/usr", "-Dtests=false",
        "-Dbench=false")


def flags_of(folder, *options, **environment):
    """The words of the command that compiles main.c, and of the one that links the program."""
    run("meson", "setup", folder, ROOT, "-Dtests=false", "-Dbench=false", *options,
        env={k: v for k, v in os.environ.items() if k not in ("CFLAGS", "CPPFLAGS", "LDFLAGS")} | environment)
    commands = json.loads((folder / "compile_commands.json").read_text())
    compiles, = (c["command"].split() for c in commands if c["file"].endswith("src/main.c"))
    links = [words for words in map(str.split, run("ninja", "-C", folder, "-t", "commands").splitlines())
             if words and "src/weir" in words and "-c" not in words]
    return compiles, links[-1]


def fortify(words):
    return [word for word in words if "_FORTIFY_SOURCE" in word]


def test_a_build_is_hardened(tmp_path):
    compiles, links = flags_of(tmp_path)
    assert fortify(compiles) == ["-D_FORTIFY_SOURCE=2"]
    assert {"-fPIE", "-fstack-protector-strong"} <= set(compiles)
    assert {"-pie", "-Wl,-z,relro", "-Wl,-z,now"} <= set(links)


def test_a_distributions_own_flags_stand_alone(tmp_path):
    """Debian and Fedora build packages like this; a warning about two levels would fail with -Werror."""
    compiles, links = flags_of(tmp_path / "plain", "--buildtype=plain", CFLAGS="-O2 -fstack-protector",
                               CPPFLAGS="-D_FORTIFY_SOURCE=3", LDFLAGS="-Wl,-z,relro")
    assert fortify(compiles) == ["-D_FORTIFY_SOURCE=3"]
    assert "-fstack-protector-strong" not in compiles and "-Wl,-z,now" not in links
    compiles, links = flags_of(tmp_path / "own", "--buildtype=release", "-Db_pie=false",
                               CPPFLAGS="-D_FORTIFY_SOURCE=3")
    assert fortify(compiles) == ["-D_FORTIFY_SOURCE=3"]
    assert not {"-fPIE", "-pie"} & {*compiles, *links}, links


def test_a_configuration_that_is_there_is_kept(build, tmp_path):
    install(build, tmp_path)
    mine = tmp_path / "etc/weir/weir.ini"
    mine.write_text("# mine\n")
    install(build, tmp_path)
    assert mine.read_text() == "# mine\n"


def test_unit_runs_the_binary_of_its_prefix(build, tmp_path):
    other = tmp_path / "build"
    run("meson", "setup", other, ROOT, "-Dprefix=/usr/local", "-Dtests=false", "-Dbench=false")
    unit = (other / "conf/weir.service").read_text()
    assert "\nExecStart=/usr/local/bin/weir -f /usr/local/etc/weir/weir.ini\n" in unit
    assert "\nExecReload=/usr/local/bin/weir reload --wait --pid $MAINPID\n" in unit
    assert (build / "conf/weir.service").read_text() == (ROOT / "conf/weir.service").read_text()
