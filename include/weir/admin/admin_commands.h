/* SPDX-License-Identifier: MIT
 *
 * admin_commands.h - what the admin protocol understands, and the answers that need no worker.
 *
 * A command is words; an answer is lines. Knows no socket and no loop. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_COMMANDS_H
#define WEIR_ADMIN_ADMIN_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "weir/admin/daemon_state.h"
#include "weir/balance/server_updates.h"
#include "weir/base/figure.h"
#include "weir/base/text.h"
#include "weir/config/config.h"
#include "weir/engine/engine.h"

/* Peers of the admin socket since the start, as `show info` has them. */
struct admin_totals {
	uint64_t refused; /* might not use the socket */
	uint64_t evicted; /* had to give up their place to another */
	uint64_t busy;    /* found all places with those who go before them */
};

/* What the answers are made of. */
struct admin_context {
	struct engine *engine;             /* borrows */
	struct stats *stats;               /* borrows: whom the workers are asked through */
	const char *driver;                /* static */
	const char *driver_reason;         /* borrows: why it is not io_uring; NULL or "" = as was asked */
	enum daemon_state state;
	int64_t started_ns;                /* CLOCK_MONOTONIC */
	struct admin_totals *totals;       /* borrows; NULL = no socket is served */
	const struct figure_source *figures; /* borrows: what others publish for `show info`, in its order */
	size_t figure_count;
	struct server_updates *updates;    /* borrows: by which servers are changed */
};

/* Who is at the other end: SO_PEERCRED, as it connected (unix(7)). */
struct admin_peer {
	uid_t uid; /* (uid_t)-1 = not known */
	gid_t gid;
	pid_t pid;   /* 0 = in a namespace that we do not see */
	bool trusted; /* root or the daemon's own user */
	enum config_admin_level level; /* what it may do */
};

enum admin_verdict {
	ADMIN_ANSWERED,     /* the answer has been added */
	ADMIN_ASK_SESSIONS, /* the caller asks the workers: question.h */
	ADMIN_ASK_TALLIES,  /* the same, and then calls admin_show_stat() */
	ADMIN_PROMPT,  /* the connection goes on, with a prompt after each answer */
	ADMIN_TIMEOUT, /* `seconds` of the question is how long the client may be silent */
	ADMIN_QUIT,
};

/* What a command wants besides its name; -1 = all of them, as in HAProxy. */
struct admin_question {
	enum admin_verdict verdict;
	bool json;
	int iid;     /* the proxy */
	int types;   /* a mask: 1 frontends, 2 backends, 4 servers */
	int sid;     /* the server */
	int seconds; /* ADMIN_TIMEOUT */
};

/* Runs one command: adds its answer to `out`, or says in `q` (filled in any case) what the caller shall
 * do. White space around and between words is free. */
enum admin_verdict admin_command(const struct admin_context *ctx, const struct admin_peer *peer,
				 const char *command, struct text *out, struct admin_question *q);

#endif
