#!/bin/sh
# SPDX-License-Identifier: MIT
#
# install-config.sh - installs the initial configuration, unless one exists already.
#
#   install-config.sh FILE FOLDER     run by `meson install`, with DESTDIR in the environment

set -e
folder=${DESTDIR:-}$2
file=$folder/$(basename "$1")
[ -z "${MESON_INSTALL_DRY_RUN:-}" ] || exit 0
[ ! -e "$file" ] && [ ! -L "$file" ] || exit 0
mkdir -p "$folder/conf.d"
install -m 644 "$1" "$file"
