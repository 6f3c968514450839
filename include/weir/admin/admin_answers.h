/* SPDX-License-Identifier: MIT
 *
 * admin_answers.h - the answers of the admin protocol, one function each.
 *
 * For admin_commands.c, which knows when to call which and has checked how many words there are. Main
 * thread.
 */
#ifndef WEIR_ADMIN_ADMIN_ANSWERS_H
#define WEIR_ADMIN_ADMIN_ANSWERS_H

#include "weir/account/tally.h"
#include "weir/admin/admin_commands.h"
#include "weir/base/json.h"
#include "weir/config/options.h"

#define ADMIN_ARGS_MAX 3

/* A command that is being answered. */
struct admin_call {
	const struct admin_context *ctx; /* borrows */
	const struct admin_peer *peer;   /* borrows */
	const char *args[ADMIN_ARGS_MAX]; /* borrows: the words behind the command's own, "json" left out */
	unsigned arg_count;
	struct text *out;  /* borrows */
	struct json *json; /* borrows: writes to `out`; NULL = the answer is text */
};

/* Lines of "name: value": ours first, then the same under HAProxy's names. */
void admin_show_info(const struct admin_call *c);
void admin_show_pools(const struct admin_call *c);
/* HAProxy's CSV, or with `q->json` an array of objects; `sums` has tally_count() rows. */
void admin_show_stat(const struct admin_context *ctx, const struct admin_question *q,
		     const struct tally_sum *sums, struct text *out);

/* admin_servers.c: [B] is one backend, [B/S] one server too. */
void admin_show_backend(const struct admin_call *c);
void admin_show_hash(const struct admin_call *c);          /* [B] */
void admin_show_servers_state(const struct admin_call *c); /* [B]; HAProxy's version 1 */
void admin_show_history(const struct admin_call *c);       /* [B[/S]] */

/* admin_change.c: the changing commands. Nothing is said when all went well, as in HAProxy. */
void admin_set_server(const struct admin_call *c);        /* B/S state|weight VALUE */
void admin_set_weight(const struct admin_call *c);        /* B/S N|N% */
void admin_get_weight(const struct admin_call *c);        /* B/S */
void admin_set_maxconn(const struct admin_call *c);       /* B/S N */
void admin_enable_server(const struct admin_call *c);     /* B/S */
void admin_disable_server(const struct admin_call *c);    /* B/S */
void admin_shutdown_sessions(const struct admin_call *c); /* B/S */

/* The backend of that name, and the server of "B/S"; NULL after a refusal with the names that there are. */
struct backend *admin_find_backend(const struct admin_call *c, const char *name);
struct server *admin_find_server(const struct admin_call *c, const char *name);
/* The number of a proxy in HAProxy's answers: a [listen] is one, with one number. */
size_t admin_backend_iid(const struct config *c, size_t backend);
/* The number of the proxy called so, 0 when there is none. */
size_t admin_proxy_iid(const struct config *c, const char *name);
/* How a server is chosen: the word of `balance`, which is HAProxy's; written to `buf`. */
const char *admin_algorithm(const struct backend *b, char buf[static OPTION_WORD_MAX]);

/* An object of lines of "name: value". Whole numbers become numbers, all else text. */
void admin_json_of_lines(const char *lines, struct json *out);

#endif
