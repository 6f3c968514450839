/* SPDX-License-Identifier: MIT
 *
 * admin_client.h - a connection to the admin socket, shared by admin.c and admin_accept.c.
 *
 * Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_CLIENT_H
#define WEIR_ADMIN_ADMIN_CLIENT_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/admin/admin.h"
#include "weir/base/log.h"
#include "weir/stats/question.h"
#include "admin_access.h"
#include "admin_listing.h"
#include "admin_request.h"
#include "admin_reserve.h"
#include "admin_wait.h"

/* A client that waits for a reload may send more, or end its side, and still read the answer. So its socket
 * is not watched; instead, this often, control looks whether the client has gone. */
#define ADMIN_GONE_S 1.

enum client_state {
	CLIENT_FREE,
	CLIENT_READING,   /* the request is incomplete */
	CLIENT_ASKING,    /* waiting for a worker, until the deadline of `asked`; no output is left */
	CLIENT_RELOADING, /* waiting for the answer to its wish, or in `wait`; no output is left */
	CLIENT_WRITING,   /* the output so far is not fully written */
	CLIENT_LINGERING, /* the answer is complete. Further input is discarded, because closing with unread
			   * bytes would reset the connection and lose the answer */
};

struct client {
	struct admin *admin; /* borrows */
	enum client_state state;
	int fd; /* owns; -1 if free */
	struct admin_peer peer;
	struct ev_io io;
	struct ev_timer timer;
	struct admin_request request; /* owns */
	bool linger;     /* the client may still send more */
	bool prompt;     /* stays open after an answer */
	bool quit;       /* `quit` was received: no answer is due */
	double wait_s;   /* how long it may be idle */
	int64_t progress_ns; /* when it last sent or read bytes, or was served; CLOCK_MONOTONIC */
	int64_t line_ns;     /* when its last line began to be answered; CLOCK_MONOTONIC */
	int64_t answer_by_ns; /* deadline for the whole answer */
	char *rest;      /* commands still to be run, inside `request`; NULL = none */
	unsigned answered;
	bool due;        /* the empty line after the answer to a command */
	bool changing;   /* its changes are batched, within admin_make() */
	struct admin_question question; /* the last one; ADMIN_ANSWERED unless workers are being asked */
	struct question asked; /* its question to the workers */
	struct admin_listing listing;
	struct admin_wait waiting;
	struct reload_wish wish; /* owns its path */
	/* Borrows: takes `wish`, and its last answer has not come yet; NULL = no wish. */
	const struct reload_asker *asker;
	struct text answer; /* owns; not fully written yet */
	size_t sent;        /* bytes of `answer` written */
	bool said;          /* some of the answer has been written */
	bool whole;         /* nothing follows `answer` */
	size_t thrown_away;
};

/* A listening socket, and who is let in there. */
struct admin_door {
	struct admin *admin;         /* borrows */
	struct admin_socket *socket; /* borrows; may be closed */
	struct admin_access access;
	unsigned turn;   /* how many newcomers may still take the place of another in this turn */
	bool turn_due;   /* waiting for a place, not for a descriptor */
	struct ev_io accept; /* active while accepting */
	struct ev_timer accept_retry;
};

struct admin {
	struct ev_loop *loop;            /* borrows */
	const struct admin_context *ctx; /* borrows */
	struct admin_reserve reserve;    /* owns */
	struct log_limit limit; /* for log lines about peers that are refused or lose their place */
	double line_s, answer_s; /* ADMIN_LINE_S, ADMIN_ANSWER_S */
	double gone_s;           /* ADMIN_GONE_S */
	struct admin_door configured, control;
	struct client clients[ADMIN_CLIENTS_MAX];
};

/* Makes a free client serve `fd` and wait for a request. */
void client_begin(struct client *c, int fd, const struct admin_peer *peer);
/* Sends `c->answer`, then continues or ends. May have closed `c` when it returns. */
void client_answer(struct client *c);
/* Allowed in any state except free. */
void client_close(struct client *c);

#endif
