#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sample_pages.py - makes sample pages from the program sample_pages: to look at, or to check.

    sample_pages.py SAMPLE_PAGES FOLDER         writes each page to FOLDER
    sample_pages.py --serve SAMPLE_PAGES PORT   serves them at 127.0.0.1, with counters that grow
    sample_pages.py --check SAMPLE_PAGES        checks them as a browser reads them, without one
"""

import base64
import contextlib
import hashlib
import html.parser
import http.server
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.parse

LINKS = ("data:,", "metrics", ";csv", "api/v1/servers")
PAGES = ("list", "calm", "trouble", "large", "hostile", "server", "missing")


def make(program, *args):
    return subprocess.run([program, *args], check=True, capture_output=True, timeout=60).stdout


# ---- checking --------------------------------------------------------------------------------

class Reader(html.parser.HTMLParser):
    """Keeps what the page is made of, and fails if elements are not paired."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.raw, self.text = [], [], [], {}, []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, "</%s> ends nothing" % tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("style", "script"):
            self.raw[self.open[-1]] = self.raw.get(self.open[-1], "") + data
        else:
            self.text.append(data)


def digest(text):
    return "'sha256-%s'" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def check_page(name, page, policy):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open, "%s: %s is not ended" % (name, reader.open)
    assert reader.tags.count("script") == 1 and reader.tags.count("style") == 1, name
    assert not set(reader.tags) & {"img", "iframe", "object", "embed", "base", "form"}, name
    for tag, attribute, value in reader.attributes:
        assert not attribute.startswith("on") and attribute not in ("src", "style"), (name, tag, attribute)
        assert attribute != "href" or value.startswith("?") or value in LINKS, (name, value)
    assert "script-src %s;" % digest(reader.raw["script"]) in policy, name
    assert "style-src %s;" % digest(reader.raw["style"]) in policy, name
    assert not re.search(r"https?:", page.replace("http://www.w3.org/2000/svg", "")), name
    return reader


def check_script(script):
    """Its grammar, where there is a program that knows it."""
    node = shutil.which("node")
    if node:
        subprocess.run([node, "--check", "-"], input=script.encode(), check=True, timeout=60)


def check(program):
    policy = make(program, "policy").decode()
    for name in PAGES:
        reader = check_page(name, make(program, name).decode("ascii"), policy)
    check_script(reader.raw["script"])
    text = "".join(check_page("hostile", make(program, "hostile").decode(), policy).text)
    assert "<script>document.title='taken'</script>" in text, "a name is not shown as it is"
    print("%d pages are well formed, and refer to nothing outside" % len(PAGES))


# ---- to look at ------------------------------------------------------------------------------

def write(program, folder):
    os.makedirs(folder, exist_ok=True)
    for name in PAGES:
        with open(os.path.join(folder, name + ".html"), "wb") as f:
            f.write(make(program, name))
    print("written to " + folder)


def handler_of(program):
    began = time.monotonic()
    policy = make(program, "policy").decode().strip()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            url = urllib.parse.urlsplit(self.path)
            query = urllib.parse.parse_qs(url.query, keep_blank_values=True)
            name = "server" if "server" in query else url.path.strip("/") or "list"
            if name not in PAGES:
                self.send_error(404)
                return
            tick = str(int((time.monotonic() - began) * 10))
            page = make(program, name, tick, *(["update"] if "update" in query else []))
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            with contextlib.suppress(OSError):  # the browser went to another page
                self.wfile.write(page)

        def log_message(self, *args):
            pass

    return Handler


def main():
    args = sys.argv[1:]
    if len(args) == 2 and args[0] == "--check":
        check(args[1])
    elif len(args) == 3 and args[0] == "--serve":
        server = http.server.ThreadingHTTPServer(("127.0.0.1", int(args[2])), handler_of(args[1]))
        print("http://127.0.0.1:%d/" % server.server_port, flush=True)
        server.serve_forever()
    elif len(args) == 2:
        write(*args)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
