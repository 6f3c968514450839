/* SPDX-License-Identifier: MIT
 *
 * admin_answers.h - the answers of the admin protocol, one function each.
 *
 * For admin_commands.c, which selects the function and has checked the number of arguments. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_ANSWERS_H
#define WEIR_ADMIN_ADMIN_ANSWERS_H

#include <stdarg.h>
#include <stdint.h>

#include "weir/account/tally.h"
#include "weir/admin/admin_commands.h"
#include "weir/base/json.h"
#include "weir/config/options.h"

#define ADMIN_ARGS_MAX 64 /* as in HAProxy */

/* A command being answered. */
struct admin_call {
	const struct admin_context *ctx; /* borrows */
	const struct admin_peer *peer;   /* borrows */
	/* Borrows: the words after the command's own, without "json"; "" behind them. */
	const char *args[ADMIN_ARGS_MAX];
	unsigned arg_count;
	bool ours; /* wants our texts, not HAProxy's */
	struct text *out;  /* borrows */
	/* Borrows: the arguments of what the caller is to do. A function of a row whose verdict is not
	 * ANSWERED fills them in; if it refuses, it sets the verdict to ANSWERED. NULL = the row has none. */
	struct admin_question *question;
	struct json *json; /* borrows: writes to `out`; NULL = the answer is text */
};

/* Kinds of messages, with the numbers of syslog. */
enum admin_says { ADMIN_SAYS_ERROR = 3, ADMIN_SAYS_WARNING, ADMIN_SAYS_NOTICE, ADMIN_SAYS_INFO };

/* Begins a message to HAProxy's tools: with its kind, if they have asked for that. */
void admin_begin_message(const struct admin_call *c, enum admin_says kind);
/* Answers with a line. Not for what is printed of objects: HAProxy gives that no kind. */
void admin_say(const struct admin_call *c, enum admin_says kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void admin_vsay(const struct admin_call *c, enum admin_says kind, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));
/* Refuses the command: answers with the line `haproxy`, or with "error: " and the formatted text if the
 * client wants ours; neither has its newline. NULL = HAProxy has no such refusal: ours in any case. */
void admin_refuse(const struct admin_call *c, const char *haproxy, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The commands that this peer may use, with what they do. */
void admin_show_help(const struct admin_call *c);
/* Lines of "name: value": HAProxy's names first, then our own. */
void admin_show_info(const struct admin_call *c);
void admin_show_pools(const struct admin_call *c);
/* [PROXY TYPE SID] [typed] [up|no-maint]; PROXY is a number or a name, and -1 all. */
void admin_ask_stat(const struct admin_call *c);
/* In the form that the question wants; `sums` has a struct tally_sum at each slot. */
void admin_show_stat(const struct admin_context *ctx, const struct admin_question *q,
		     const struct chunks *sums, struct text *out);

/* admin_sessions.c: for workers to answer. */
void admin_ask_sess(const struct admin_call *c);         /* [ID|all|help] [older AGE] */
void admin_ask_fd(const struct admin_call *c);           /* [FD]; adds the listeners */
void admin_shutdown_session(const struct admin_call *c); /* ID */
/* What is said of the sessions that a question named when there was none; "" = nothing. Static. */
const char *admin_no_sessions(const struct admin_question *q);

/* admin_activity.c */
void admin_show_activity(const struct admin_call *c); /* [-1|0|THREAD] */

/* admin_clear.c: what HAProxy's clients are shown begins anew: maxima, or everything. */
void admin_ask_clear(const struct admin_call *c); /* [all] */
void admin_clear_counters(const struct admin_context *ctx, bool all, const struct chunks *sums);

/* admin_servers.c: [B] is an optional backend, [B/S] an optional backend or server. */
void admin_show_backend(const struct admin_call *c);
void admin_show_hash(const struct admin_call *c);          /* [B] */
void admin_show_servers_state(const struct admin_call *c); /* [B]; HAProxy's version 1 */
void admin_show_history(const struct admin_call *c);       /* [B[/S]] */

void admin_show_resolvers(const struct admin_call *c); /* [default]; admin_resolvers.c */

/* admin_table.c; B is a backend, ADDRESS a client. */
void admin_show_table(const struct admin_call *c);  /* [B [key ADDRESS]] */
void admin_clear_table(const struct admin_call *c); /* B [key ADDRESS] */

void admin_config_diff(const struct admin_call *c); /* admin_config.c */

/* admin_change.c: the commands that change something. Success prints nothing, as in HAProxy. */
void admin_set_server(const struct admin_call *c);        /* B/S state|weight VALUE */
void admin_set_weight(const struct admin_call *c);        /* B/S N|N% */
void admin_get_weight(const struct admin_call *c);        /* B/S */
void admin_set_maxconn(const struct admin_call *c);       /* B/S N */
void admin_enable_server(const struct admin_call *c);     /* B/S */
void admin_disable_server(const struct admin_call *c);    /* B/S */
void admin_shutdown_sessions(const struct admin_call *c); /* B/S */

void admin_show_generations(const struct admin_call *c); /* admin_wish.c */

/* admin_add.c; in HAProxy's grammar, W: its words for a server. */
void admin_add_server(const struct admin_call *c); /* B/S ADDRESS W... */
void admin_del_server(const struct admin_call *c); /* B/S */

/* admin_set.c and admin_agent.c. */
void admin_enable_health(const struct admin_call *c);  /* B/S */
void admin_disable_health(const struct admin_call *c); /* B/S */
void admin_enable_agent(const struct admin_call *c);   /* B/S */
void admin_disable_agent(const struct admin_call *c);  /* B/S */

/* admin_wait.c: DURATION [srv-removable B/S]. False if it was answered instead: what is wrong, or "-h". */
bool admin_read_wait(const struct admin_call *c, struct admin_question *q);

/* admin_frontends.c and admin_limits.c; F is a frontend. */
void admin_disable_frontend(const struct admin_call *c);     /* F */
void admin_enable_frontend(const struct admin_call *c);      /* F */
void admin_shutdown_frontend(const struct admin_call *c);    /* F */
void admin_set_maxconn_frontend(const struct admin_call *c); /* F N */
void admin_set_maxconn_global(const struct admin_call *c);   /* N */
void admin_set_rate_limit(const struct admin_call *c);       /* connections global N */

/* The frontend with that name, or "#N". If there is none, refuses the command and returns NULL. */
struct frontend *admin_find_frontend(const struct admin_call *c, const char *name);
/* admin_find.c. Find the backend with that name, the backend of "B/S" (and the name of the server, of which
 * there may be none), or the server "B/S". If there is no such thing, they refuse the command and return
 * NULL; `haproxy` is HAProxy's refusal, where that is not "No such backend.". */
struct backend *admin_find_backend(const struct admin_call *c, const char *name, const char *haproxy);
struct backend *admin_find_place(const struct admin_call *c, const char *name, const char **server);
struct server *admin_find_server(const struct admin_call *c, const char *name);
/* Refuses the command because there is no proxy with that name or number. */
void admin_refuse_proxy(const struct admin_call *c, const char *name);
/* The number of the frontend or backend with that name in HAProxy's answers, 0 if there is none. */
unsigned admin_proxy_iid(const struct engine *e, const char *name);
/* The algorithm that chooses a server, in the words of `balance`, which are HAProxy's. Written to `buf`. */
const char *admin_algorithm(const struct backend *b, char buf[static OPTION_WORD_MAX]);

/* admin_number.c: numbers as in HAProxy's grammar. A time is digits with one unit, us ms s m h d; without one
 * it counts units of `unit_ns`. A whole number has nothing before or behind it. False for anything else, or
 * if it is too large. */
bool admin_read_time(const char *word, int64_t unit_ns, int64_t *ns);
bool admin_read_number(const char *word, unsigned most, unsigned *number);

/* admin_haproxy.c: what HAProxy's tools ask for, and of which there is little to say here. */
void admin_show_version(const struct admin_call *c);
void admin_show_errors(const struct admin_call *c); /* [PROXY] */

void admin_show_failures(const struct admin_call *c); /* admin_errors.c: [PROXY], for our clients */
void admin_explain(const struct admin_call *c); /* admin_explain.c: listener=F client=A and more */
void admin_why(const struct admin_call *c);     /* admin_why.c: B[/S] */

/* Turns lines of "name: value" into an object. Whole numbers become numbers, everything else strings. */
void admin_json_of_lines(const char *lines, struct json *out);

#endif
