/* SPDX-License-Identifier: MIT
 *
 * admin_commands.h - the commands of the admin protocol, and the answers that need no worker.
 *
 * A command is words; an answer is lines. Knows nothing about sockets and loops. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_COMMANDS_H
#define WEIR_ADMIN_ADMIN_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "weir/admin/daemon_state.h"
#include "weir/admin/reload_wish.h"
#include "weir/balance/server_updates.h"
#include "weir/base/figure.h"
#include "weir/base/text.h"
#include "weir/config/config.h"
#include "weir/engine/engine.h"
#include "weir/engine/inquiry.h"
#include "weir/stats/name_servers.h"

/* The longest "backend/server", with its NUL. */
#define ADMIN_SERVER_MAX (2 * CONFIG_NAME_MAX)

/* Peers of the admin socket since the start, as reported by `show info`. */
struct admin_totals {
	uint64_t refused; /* not allowed to use the socket */
	uint64_t evicted; /* lost their places to other peers */
	uint64_t busy;    /* found all places taken by peers that they could not displace */
};

/* The sources of the answers. */
struct admin_context {
	struct engine *engine;             /* borrows */
	struct stats *stats;               /* borrows: for questions to the workers */
	struct stat_bases *bases;          /* borrows: for `clear counters`; NULL = nothing can be cleared */
	struct stat_pace *pace;            /* borrows: for `show info`; NULL = not measured */
	const char *driver;                /* static */
	const char *driver_reason;         /* borrows: why it is not io_uring; NULL or "" = as configured */
	enum daemon_state state;
	int64_t started_ns;                /* CLOCK_MONOTONIC */
	struct admin_totals *totals;       /* borrows; NULL = there is no socket */
	const char *control_socket;        /* borrows: its address; NULL = there is none */
	const char *config_note; /* borrows: what is in effect in place of the files; NULL or "" = they are */
	const struct figure_source *figures; /* borrows: what others publish for `show info`, in its order */
	size_t figure_count;
	struct name_servers_source name_servers; /* for `show resolvers`; `read` NULL = there are none */
	struct server_updates *updates;    /* borrows: for changing servers */
	const struct unlisten_rights *bind_rights; /* borrows: to enable a frontend; NULL = none are needed */
	const struct reload_asker *reload; /* borrows: takes `reload`; NULL = not in this state */
};

/* How an answer to HAProxy's tools says what kind of message it is, if at all: "[3]: ", "[err]: ". */
enum admin_severity { ADMIN_SEVERITY_NONE, ADMIN_SEVERITY_NUMBER, ADMIN_SEVERITY_STRING };

/* Who asks: the peer's credentials when it connected, SO_PEERCRED (unix(7)), and its way of talking. */
struct admin_peer {
	uid_t uid; /* (uid_t)-1 = unknown */
	gid_t gid;
	pid_t pid;   /* 0 = in a namespace not visible to us */
	bool trusted; /* root or the daemon's own user */
	enum config_admin_level level; /* what it may do */
	bool ours; /* the line began with VOICE_OURS: wants our texts, not HAProxy's */
	enum admin_severity severity;
};

enum admin_verdict {
	ADMIN_ANSWERED,     /* the answer has been appended */
	ADMIN_ASK_SESSIONS, /* the caller asks the workers: question.h */
	ADMIN_ASK_TALLIES,  /* the same, and then calls admin_show_stat() */
	ADMIN_RELOAD,       /* the caller passes the wish of the question to `reload` of the context */
	ADMIN_PLAN,         /* the same */
	ADMIN_ROLLBACK,     /* the same */
	ADMIN_CONFIRM,      /* the same */
	ADMIN_WAIT,         /* the caller waits `wait_ms`, or until `server` is removable */
	ADMIN_PROMPT,  /* the connection stays open, with a prompt after each answer */
	ADMIN_TIMEOUT, /* `timeout_ns` of the question is how long the client may be idle */
	ADMIN_SEVERITY, /* `severity` of the question is that of the client from now on */
	ADMIN_QUIT,
};

/* How sessions are shown. */
enum admin_shown {
	SHOWN_LINES, /* a line each; an object each in JSON */
	SHOWN_LARGE, /* in HAProxy's large form of several lines */
	SHOWN_DETAIL, /* all that is known of one, a line for each fact; an object in JSON */
	SHOWN_FDS,   /* a line for each of their sockets */
	SHOWN_NOT,   /* they are not: it is one session, which ends */
};

/* What is done with the sums of all tallies. */
enum admin_sums { SUMS_SHOWN, SUMS_CLEAR_MAXIMA, SUMS_CLEAR_ALL };

/* The arguments of a command; -1 = all, as in HAProxy. */
struct admin_question {
	enum admin_verdict verdict;
	bool ours;   /* as in struct admin_call */
	bool malformed; /* the arguments are those of no form of the command, which remains to be said */
	bool json;
	bool typed;  /* ADMIN_ASK_TALLIES: HAProxy's typed lines */
	bool up_only;  /* the same: without servers that are down or in maintenance */
	bool no_maint; /* the same: without servers in maintenance */
	enum admin_sums sums;         /* ADMIN_ASK_TALLIES */
	enum admin_shown shown;       /* ADMIN_ASK_SESSIONS */
	struct inquiry_filter filter; /* the same: which sessions */
	int fd;                       /* SHOWN_FDS: this one alone; -1 = all */
	int iid;     /* the proxy */
	int types;   /* a mask: 1 frontends, 2 backends, 4 servers */
	int sid;     /* the server */
	int64_t timeout_ns; /* ADMIN_TIMEOUT */
	enum admin_severity severity; /* ADMIN_SEVERITY */
	int64_t wait_ms;                /* ADMIN_WAIT */
	char server[ADMIN_SERVER_MAX]; /* the same: "backend/server", or "" */
	/* ADMIN_RELOAD to ADMIN_CONFIRM: what is wished, and by whom. Its `path` is the caller's, to free. */
	struct reload_wish wish;
};

/* Does the command change something at once? Such changes of a line may take effect together: run_time.h. */
bool admin_command_changes(const char *command);
/* Runs one command: appends its answer to `out`, or returns in `q` (always filled in) what the caller has to
 * do. White space around and between words does not matter; a backslash takes the meaning from the byte
 * behind it. */
enum admin_verdict admin_command(const struct admin_context *ctx, const struct admin_peer *peer,
				 const char *command, struct text *out, struct admin_question *q);

#endif
