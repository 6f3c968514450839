#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""pictures.py - takes pictures of the page in a headless Chromium.

    pictures.py WEIR FILE.png               writes one, of a daemon with clients and servers: doc/page.png
    pictures.py WEIR FOLDER SAMPLE_PAGES    writes several: both themes, a phone, 1,000 servers
"""

import http.server
import os
import sys
import threading
import time

import browser
import png
import sample_pages
import stage

WARM_S = 60  # until the lines have a history
SIZE = (1440, 930)
PHONE = (390, 844)


def take(b, path, size=SIZE, theme="light"):
    b.prefer(theme)
    b.resize(*size, mobile=size == PHONE)
    time.sleep(0.5)  # it is redrawn
    with open(path, "wb") as f:
        f.write(png.shrink(b.picture()))
    print(path, flush=True)


def take_more(b, folder, url):
    take(b, os.path.join(folder, "desktop.png"))
    take(b, os.path.join(folder, "dark.png"), theme="dark")
    take(b, os.path.join(folder, "phone.png"), PHONE)
    b.resize(*SIZE)
    b.ask("document.querySelector('tr[data-key=\"s:shop/web2\"] a').click()")
    b.wait("document.querySelector('dialog .cards .spark')")
    take(b, os.path.join(folder, "server.png"))
    b.open(url + "?backend=shop&server=web2")
    take(b, os.path.join(folder, "server-phone.png"), PHONE)


def take_samples(b, folder, program):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), sample_pages.handler_of(program))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    b.resize(*SIZE)
    for page in ("large", "hostile"):
        b.open("http://127.0.0.1:%d/%s" % (server.server_port, page))
        b.wait("document.querySelector('main .cards .spark')")
        take(b, os.path.join(folder, page + ".png"))
    server.shutdown()
    server.server_close()


def main():
    if len(sys.argv) not in (3, 4) or (len(sys.argv) == 3) != sys.argv[2].endswith(".png"):
        sys.exit(__doc__)
    with browser.Browser() as b, stage.Stage(sys.argv[1]) as s:
        s.play()
        b.resize(*SIZE)
        b.open(s.url)
        time.sleep(WARM_S)
        if len(sys.argv) == 3:
            take(b, sys.argv[2])
            return
        os.makedirs(sys.argv[2], exist_ok=True)
        take_more(b, sys.argv[2], s.url)
        take_samples(b, sys.argv[2], sys.argv[3])


if __name__ == "__main__":
    main()
