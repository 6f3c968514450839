#!/bin/sh
# SPDX-License-Identifier: MIT
#
# install-config.sh - installs the first configuration, and leaves one alone that is there.
#
#   install-config.sh FILE FOLDER     called by `meson install`, with DESTDIR in the environment

set -e
folder=${DESTDIR:-}$2
file=$folder/$(basename "$1")
[ -z "${MESON_INSTALL_DRY_RUN:-}" ] || exit 0
[ ! -e "$file" ] && [ ! -L "$file" ] || exit 0
mkdir -p "$folder/conf.d"
install -m 644 "$1" "$file"
