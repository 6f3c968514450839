/* SPDX-License-Identifier: MIT
 *
 * ask.h - asking a running weir through its admin socket: where it is, one line, a bounded wait.
 *
 * Main thread.
 */
#ifndef WEIR_CLI_ASK_H
#define WEIR_CLI_ASK_H

#include "weir/base/text.h"
#include "weir/cli/cli.h"
#include "weir/net/addr.h"

#define ASK_WAIT_MS 30000

/* The socket that -s names, or the configuration; says on stderr why there is none. */
enum exit_code ask_find(const struct cli_args *a, struct addr_spec *spec);
/* A connection within `wait_ms`, or -errno. */
int ask_connect(const struct addr_spec *spec, int wait_ms);
/* Sends `line` (with its newline) and adds all that comes to `answer`, within `wait_ms` in all. 0, or
 * -errno: -ETIMEDOUT when the time is over, -ECONNRESET when nothing came. */
int ask_once(const struct addr_spec *spec, const char *line, int wait_ms, struct text *answer);
/* The same, with words on stderr when it fails, or when the answer is a refusal. */
enum exit_code ask(const struct addr_spec *spec, const char *line, int wait_ms, struct text *answer);
/* The process that listens there, as the kernel knows it; -errno when nobody does. */
int ask_peer_pid(const struct addr_spec *spec, int wait_ms);

#endif
