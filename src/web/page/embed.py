#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""embed.py - turns the style and the script of the page into a C file.

    python3 embed.py page.css page.js OUT.c

Comments and indentation are left out. The build fails if a text could end its element, or refers to
anything outside of the page.
"""

import base64
import hashlib
import re
import sys

SVG = "http://www.w3.org/2000/svg"
POLICY = ("default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; connect-src 'self'; "
          "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")


def shorten(text):
    """Without comments that stand on lines of their own, indentation and empty lines."""
    text = re.sub(r"(?ms)^[ \t]*/\*.*?\*/[ \t]*$", "", text)
    lines = [line.strip() for line in text.splitlines()]
    return "\n".join(line for line in lines if line and not line.startswith("//")) + "\n"


def read(path):
    with open(path, encoding="ascii") as f:
        text = shorten(f.read())
    for bad in ("</", "<!--", "http:", "https:", "@import", "url("):
        if bad in text.replace(SVG, ""):
            sys.exit("%s: '%s' must not be in the page" % (path, bad))
    return text


def digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def literal(name, text):
    """A definition whose initializer has one string per line of the text."""
    lines = []
    for line in text.splitlines(keepends=True):
        escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("?", "\\?")
        lines.append('\t"%s"' % escaped)
    return "const char %s[] =\n%s;\n" % (name, "\n".join(lines))


def main():
    style, script = read(sys.argv[1]), read(sys.argv[2])
    with open(sys.argv[3], "w", encoding="ascii") as f:
        f.write('#include "web/page_assets.h"\n\n')
        f.write(literal("page_style", style))
        f.write(literal("page_script", script))
        f.write(literal("page_policy_text", POLICY % (digest(script), digest(style))))


if __name__ == "__main__":
    main()
