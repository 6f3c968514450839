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

/* The form of a value: "auto, epoll" for a choice, else the text of the row. Written to `buf` or static; "" =
 * the key takes no value. */
const char *option_text_value(const struct option *o, char buf[static OPTION_TEXT_MAX]);
/* "1ms to 3d": the range of a value; "" = the row has no bounds. Returns `buf`. */
const char *option_text_range(const struct option *o, char buf[static OPTION_TEXT_MAX]);

#endif
