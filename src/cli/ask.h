/* SPDX-License-Identifier: MIT
 *
 * ask.h - queries to a running weir through its admin socket: finding it, one line, a bounded wait.
 *
 * Main thread.
 */
#ifndef WEIR_CLI_ASK_H
#define WEIR_CLI_ASK_H

#include "weir/base/text.h"
#include "weir/cli/cli.h"
#include "weir/net/addr.h"

#define ASK_WAIT_MS 30000

/* Takes an answer in pieces, as they arrive. */
struct ask_sink {
	void (*take)(struct ask_sink *sink, const char *bytes, size_t len);
};

/* The socket given by -s or by the configuration. If there is none, explains why on stderr. */
enum exit_code ask_find(const struct cli_args *a, struct addr_spec *spec);
/* A connection within `wait_ms`, or -errno. */
int ask_connect(const struct addr_spec *spec, int wait_ms);
/* Sends `line` (with its newline) over the connection `fd`, which stays open, and hands on everything
 * received until the other side closes, within `wait_ms` in total. 0 or -errno: -ETIMEDOUT when the time is
 * up. */
int ask_talk(int fd, const char *line, int wait_ms, struct ask_sink *sink);
/* Says on stderr why there is no answer; `err` is the -errno of ask_connect() or ask_once(). */
void ask_explain(const struct addr_spec *spec, int err, int wait_ms);
/* Sends `line` (with its newline) and appends everything received to `answer`, within `wait_ms` in total. 0,
 * or -errno: -ETIMEDOUT when the time is up, -ECONNRESET if nothing was received. */
int ask_once(const struct addr_spec *spec, const char *line, int wait_ms, struct text *answer);
/* The same, with a message on stderr if it fails or the answer is an error. */
enum exit_code ask(const struct addr_spec *spec, const char *line, int wait_ms, struct text *answer);
/* The process that listens there, as reported by the kernel; -errno if there is none. */
int ask_peer_pid(const struct addr_spec *spec, int wait_ms);

#endif
