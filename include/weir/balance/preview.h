/* SPDX-License-Identifier: MIT
 *
 * preview.h - where a new client of a backend would go now, and why not to the other servers.
 *
 * Only reads: takes no place at a server, moves no turn, draws no random number. It predicts what
 * picker_choose() does, which tests compare. What depends on the turn of a worker or on chance is not
 * predicted: then several servers are candidates. Control thread.
 */
#ifndef WEIR_BALANCE_PREVIEW_H
#define WEIR_BALANCE_PREVIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/picker.h"
#include "weir/config/config.h"
#include "weir/net/addr.h"

struct backend;
struct roster;
struct server;

/* How a server fares. */
enum preview_fate {
#define PREVIEW(name, word, text) PREVIEW_##name,
#include "weir/balance/previews.tbl.h"
#undef PREVIEW
	PREVIEW_FATES
};

/* Valid until control changes the backend. */
struct preview {
	enum pick pick; /* PICK_FULL: the client waits in a queue */
	/* PICK_SERVER: where it goes, NULL = to one of the candidates. PICK_FULL: whose queue it waits in,
	 * NULL = that of the backend. */
	const struct server *server;
	size_t candidates; /* PICK_SERVER: servers that it may go to */
	bool behind;       /* PICK_FULL: only because clients are already queued */
	const struct server *stuck; /* = server, which the client keeps (sticky.h); NULL = it has none */
	bool refused;      /* PICK_FULL: the queue is full (maxqueue), so the client is closed */
	/* For preview_next(). */
	const struct roster *roster; /* borrows */
	enum config_balance algorithm; /* by which the candidates compete */
	uint64_t rank;   /* that of the candidates; the least wins */
	const struct roster_entry *most; /* random: servers with more load lose each draw; NULL = none */
	uint64_t slots;  /* the bound on load, see picker_parts.h */
	size_t next;     /* in roster->by_place */
};

/* For a client with the key client_key(). */
struct preview preview_client(const struct backend *b, uint64_t key);
/* The server that this client keeps, and where it may go; NULL = none. It connects to the address `to`, whose
 * family is 0 if that is not known. */
const struct server *preview_stuck(const struct backend *b, const struct addr_brief *client,
				   const struct addr_brief *to);
/* For such a client: the server that it keeps, or else what preview_client() says. */
struct preview preview_of(const struct backend *b, const struct addr_brief *client,
			  const struct addr_brief *to);
/* How `s` fares. Call it for all servers of the backend, in their order. */
enum preview_fate preview_next(struct preview *p, const struct server *s);
/* Its word and its text, static. */
const char *preview_word(enum preview_fate fate);
const char *preview_text(enum preview_fate fate);

#endif
