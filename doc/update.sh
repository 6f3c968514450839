#!/bin/sh
# SPDX-License-Identifier: MIT
#
# update.sh - puts the options table into weir.ini(5) and reference.md, what is counted into figures.md, and
# HAProxy's and nginx's directives into migrating.md, between their marks.
#
#   sh doc/update.sh [WEIR]      WEIR is the binary to ask, build/src/weir when not given
#
# tests/cli/test_reference.py fails when a page and its table differ.

set -eu
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
weir=${1:-$root/build/src/weir}

# put FILE FORMAT: what lies between the marks becomes what the binary says
put() {
    "$weir" help --reference="$2" >"$1.keys"
    awk -v keys="$1.keys" '
        /BEGIN KEYS/ { print; while ((getline line < keys) > 0) print line; inside = 1; next }
        /END KEYS/ { inside = 0 }
        !inside { print }' "$1" >"$1.new"
    rm "$1.keys"
    mv "$1.new" "$1"
}

put "$root/doc/man/weir.ini.5" man
put "$root/doc/reference.md" markdown
put "$root/doc/figures.md" figures
put "$root/doc/migrating.md" migrating
