/* SPDX-License-Identifier: MIT
 *
 * endpoint.h - a bound address at run time: its socket, its settings, and whether workers accept there.
 *
 * Made, changed and freed by control. Control thread, except for endpoint_accepted().
 */
#ifndef WEIR_ENTRY_ENDPOINT_H
#define WEIR_ENTRY_ENDPOINT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "weir/base/counted.h"
#include "weir/base/list.h"
#include "weir/base/retire.h"
#include "weir/config/config.h"
#include "weir/net/addr.h"
#include "weir/net/sock.h"
#include "weir/net/sock_path.h"

struct endpoint;
struct endpoint_options;
struct entries;
struct frontend;
struct frontend_settings;

/* One version of what a client came in by: the bind, and with it the frontend. Sessions count it. */
struct endpoint_settings {
	struct counted counted;
	struct retired retired;
	struct list link;		 /* among the living versions of its endpoint; control */
	struct endpoint *endpoint;	 /* borrows */
	struct frontend *frontend;	 /* borrows: that of the endpoint */
	struct frontend_settings *front; /* one of its users */
	const struct config_bind *config; /* owns: a copy */
	unsigned pins; /* changes that are prepared, and may publish it again; control */
};

/* How far it has left. */
enum endpoint_stage {
	ENDPOINT_OPEN,
	ENDPOINT_DEAF,	  /* it hears no new clients, and takes those who are on their way */
	ENDPOINT_LEAVING, /* workers take whom they find queued, then leave */
	ENDPOINT_CLOSED,
	/* Out for a while: see entry/unlisten.h and entry/halt.h. Without a socket, unless it is inherited:
	 * then it has left this one, and clients wait. */
	ENDPOINT_AWAY,
};

/* What workers are to do at it. */
enum endpoint_order {
	ENDPOINT_LISTEN,
	ENDPOINT_LEAVE,
	ENDPOINT_GIVE, /* they leave without a last accept: another endpoint has the socket now */
};

/* One bound address. The descriptor is shared by all workers. */
struct endpoint {
	/* Control only. */
	struct list link;	/* in its frontend */
	struct entries *entries; /* borrows */
	struct retired retired;
	struct retired socket;	/* the socket leaves before the rest */
	struct list deaf_link;	/* in entries->deaf */
	struct list bound_link; /* in entries->bound */
	struct list lent_link;	/* in entries->lent */
	struct endpoint *heir;	/* borrows: has taken over its socket, or is prepared to */
	bool claimed; /* its socket is not closed: a takeover of it, or its stay, is prepared */
	struct endpoint_options *options; /* owns: what a takeover that is prepared is to set */
	int64_t leave_ns;	/* while it is deaf: when workers leave */
	enum endpoint_stage stage;
	bool away; /* it leaves, or has left, only for a while */
	bool inherited; /* the socket was made by others: never changed, only closed */
	const struct config_bind *origin; /* borrows: the bind it was made from, for entries_adopt() */
	const struct config_bind *config; /* of the settings in effect */
	struct list versions;		  /* owns: struct endpoint_settings */
	bool unused; /* it is closed, and no worker uses its last settings any more */
	unsigned number;       /* of its bind in the frontend: 1, 2, ...; workers read it */
	unsigned part;	       /* 1, 2, ... if one bind has several sockets; else 0 */
	struct sock_path path; /* owns; for a Unix path that we created */
	enum sock_option refused; /* the option that made the bind fail, if one did */

	/* Control writes, workers read. */
	struct frontend *frontend; /* borrows */
	struct addr addr;	   /* as bound; for port 0, with the port that the kernel chose */
	int fd;			   /* owns; -1 = closed */
	uint32_t slot;
	bool mptcp; /* an MPTCP listener: see endpoint_accepted() */
	_Atomic(struct endpoint_settings *) settings; /* in effect */
	atomic_int order; /* enum endpoint_order */
	atomic_bool deaf; /* it is, or was: see sock_accepted_from_deaf() */
	/* Borrows: whose socket it has taken over, until that is closed. A worker begins here once it has
	 * left there; none of them misses a client, as what is queued is found at the beginning. */
	_Atomic(struct endpoint *) from;

	/* Workers write. */
	_Alignas(64) atomic_int listeners; /* workers that have a listener here */
};

/* Is it one of the addresses of its frontend, even if nobody accepts there right now? Control. */
static inline bool endpoint_belongs(const struct endpoint *ep)
{
	return ep->stage == ENDPOINT_OPEN || ep->away;
}

/* Is there a socket that it could go on with, or another endpoint could take over? Control. */
static inline bool endpoint_has_socket(const struct endpoint *ep)
{
	return ep->fd >= 0 && ep->stage != ENDPOINT_CLOSED &&
	       atomic_load_explicit(&ep->order, memory_order_relaxed) != ENDPOINT_GIVE;
}

/* The version in effect. A worker may use it until the end of its turn, and longer if it counts it. */
static inline struct endpoint_settings *endpoint_settings(struct endpoint *ep)
{
	return atomic_load_explicit(&ep->settings, memory_order_acquire);
}

/* The options of a section as net/sock.h takes them; borrows from `tcp`. Any thread. */
struct sock_tcp sock_tcp_of(const struct config_tcp *tcp);
/* The options of a listener; borrows from both. Any thread. */
struct sock_listen sock_listen_of(const struct config_frontend *fe, const struct config_bind *b);

/* Makes an endpoint of the frontend of `front` that has no socket yet and that nobody sees, with settings
 * that name these. NULL when out of memory. */
struct endpoint *endpoint_new(struct entries *e, struct frontend_settings *front,
			      const struct config_bind *config);
/* Of an endpoint that no worker has seen: closes its socket and frees it. */
void endpoint_free(struct entries *e, struct endpoint *ep);
/* Makes settings of `ep` that nobody sees. NULL when out of memory. */
struct endpoint_settings *endpoint_settings_new(struct entries *e, struct endpoint *ep,
						struct frontend_settings *front,
						const struct config_bind *config);
void endpoint_settings_free(struct entries *e, struct endpoint_settings *s);
/* A living version with this content; NULL = none. */
struct endpoint_settings *endpoint_settings_find(const struct endpoint *ep,
						 const struct frontend_settings *front,
						 const struct config_bind *config);

/* Binds where the configuration says; `share_port` as in net/sock.h. 0, or -errno with ep->refused. */
int endpoint_bind(struct endpoint *ep, bool share_port);
/* Then it listens. 0 or -errno. */
int endpoint_listen(struct endpoint *ep);
/* Takes ownership of an inherited descriptor, even on failure, and sets the options that can still be set. 0,
 * or -errno with ep->refused. */
int endpoint_adopt(struct endpoint *ep, int fd);
/* Removes the name of its socket, then closes it; harmless when that was done. */
void endpoint_close(struct endpoint *ep);
/* Call for each accepted TCP connection of an endpoint that is `mptcp`: sets what the listener could not pass
 * on. A worker's thread. */
void endpoint_accepted(const struct endpoint_settings *s, int fd);

/* ---- what its socket can be used for; endpoint_options.c ---- */

/* Can the socket of `ep` serve the bind `b` of `fe`, with other options set on it? That the addresses are the
 * same is for the caller to say (config_addr_same()). */
bool endpoint_can_become(const struct endpoint *ep, const struct config_frontend *fe,
			 const struct config_bind *b);
/* Would the TCP bind `b`, a wildcard, take every client that `ep` takes, so that the socket of `ep` can be
 * one more of b's? */
bool endpoint_is_covered(const struct endpoint *ep, const struct config_bind *b);

#endif
