/* SPDX-License-Identifier: MIT
 *
 * option_text.h - the facts of an option's row as text, for `weir help` and for the reference pages.
 *
 * Main thread.
 */
#ifndef WEIR_CLI_OPTION_TEXT_H
#define WEIR_CLI_OPTION_TEXT_H

#include "weir/config/options.h"

#define OPTION_TEXT_MAX OPTION_PLACES_MAX

/* How a value looks: "auto, epoll" of a choice, else the words of the row. Written to `buf` or static;
 * "" = the key stands alone. */
const char *option_text_value(const struct option *o, char buf[static OPTION_TEXT_MAX]);
/* "1ms to 3d": what the value may be; "" = the row has no bounds. Returns `buf`. */
const char *option_text_range(const struct option *o, char buf[static OPTION_TEXT_MAX]);

#endif
