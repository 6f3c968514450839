/* SPDX-License-Identifier: MIT
 *
 * entries.h - where clients come in: all frontends and their endpoints.
 *
 * Control makes and changes them; a worker finds an endpoint by its slot. Control thread, except for
 * entries_at().
 */
#ifndef WEIR_ENTRY_ENTRIES_H
#define WEIR_ENTRY_ENTRIES_H

#include <stddef.h>

#include "weir/base/live.h"
#include "weir/config/config.h"
#include "weir/entry/endpoint.h"
#include "weir/entry/frontend.h"

struct backend;

struct entries {
	struct live *live;	/* borrows */
	struct list frontends;	/* owns; in the order of the configuration */
	struct chunks by_slot;	/* _Atomic(struct endpoint *), NULL = none or not published */
	unsigned endpoint_count;
	struct list leaving; /* owns: frontends that were removed and are not freed */
	struct list deaf;    /* endpoints in ENDPOINT_DEAF, the one that leaves first in front */
	bool ending;	     /* entries_leave_all(): nothing stays, and what comes leaves at once */
	bool is_open;	     /* a transaction is: see entries_begin() */
	struct list bound;   /* endpoints bound in it that do not listen yet */
	struct list lent;    /* endpoints whose sockets share their port for now */
	unsigned maxconn;    /* of the process: the limit of frontends without one of their own */
	void (*changed)(void *arg); /* endpoints have come, or have another order: tell workers */
	void *changed_arg;
};

/* 0 or -ENOMEM. */
int entries_init(struct entries *e, struct live *live);
/* Makes the frontends of `c` and their endpoints, which are not bound yet; frontends[i].backend is the
 * index into `backends`, which are all that there are. Each of both gets its number for reports, from 1:
 * frontends first, and a [listen] has one for its two. What is added later gets a number that nothing has
 * had. 0 or -ENOMEM. */
int entries_build(struct entries *e, const struct config *c, struct backend *const *backends);
/* Gives the bind `b` its inherited sockets, which already listen and are nonblocking: one endpoint each.
 * Takes ownership of the descriptors; call before entries_bind(), once for each bind of ADDR_FD. 0, or
 * -errno: descriptors taken by then stay in their endpoints, and the caller still owns the others
 * (fds[i] < 0 = taken). */
int entries_adopt(struct entries *e, const struct config_bind *b, int *fds, size_t count);
/* Binds and listens wherever nothing was adopted; call before privileges are dropped. On failure returns
 * -errno with `*failed` set to the endpoint at fault, unless it is -ENOMEM; entries_free() closes what was
 * bound. */
int entries_bind(struct entries *e, struct endpoint **failed);
/* Closes all sockets: nobody accepts any more. */
void entries_close(struct entries *e);
/* Frees everything, closes the sockets and unlinks the paths that we created. */
void entries_free(struct entries *e);

/* The frontend with this name; NULL = none. */
struct frontend *entries_find(const struct entries *e, const char *name);
/* Is `fd` the socket of an endpoint? */
bool entries_have_fd(const struct entries *e, int fd);

static inline struct frontend *frontend_in(const struct list *l, const struct entries *e)
{
	return l != &e->frontends ? list_entry(l, struct frontend, link) : NULL;
}

static inline struct endpoint *endpoint_in(const struct list *l, const struct frontend *fe)
{
	return l != &fe->endpoints ? list_entry(l, struct endpoint, link) : NULL;
}

/* Walks all endpoints in the order of the configuration. */
#define entries_foreach_frontend(e, fe)                                                                      \
	for (struct frontend *fe = frontend_in((e)->frontends.next, e); (fe) != NULL;                        \
	     (fe) = frontend_in((fe)->link.next, e))
#define frontend_foreach_endpoint(fe, ep)                                                                    \
	for (struct endpoint *ep = endpoint_in((fe)->endpoints.next, fe); (ep) != NULL;                      \
	     (ep) = endpoint_in((ep)->link.next, fe))

/* The endpoint at `slot`; NULL = none. Any thread. */
static inline struct endpoint *entries_at(const struct entries *e, uint32_t slot)
{
	return atomic_load_explicit((_Atomic(struct endpoint *) *)chunks_at(&e->by_slot, slot),
				    memory_order_acquire);
}

/* ---- changes at run time; frontend_change.c ---- */

/* Brackets a transaction: several preparations that are then all committed, or all undone. Within it what is
 * prepared is bound, and nobody can connect there until entries_listen(). */
void entries_begin(struct entries *e);
/* All that was prepared listens: the last step that can fail. 0, or -errno with `*failed`; then everything is
 * to be undone. */
int entries_listen(struct entries *e, struct endpoint **failed);
/* After the commits or undos. Sockets no longer share their ports. */
void entries_end(struct entries *e);

/* What a frontend is to be. Borrows all of it; what is kept is copied. */
struct entry_wish {
	const struct config_frontend *config;
	struct backend *backend;	/* for clients that no route takes */
	struct backend *const *routes; /* for config->routes, in the same order */
	/* For a change: the binds of its endpoints that stay; NULL = as they are. */
	const struct config_bind *const *binds;
	/* Whose they are, `bind_count` in any order: an endpoint that leaves and is to stay after all may be
	 * among them. Others keep theirs. NULL = those that are open, in their order. */
	const struct endpoint *const *endpoints;
	size_t bind_count;
	/* For a frontend that comes: whose socket each of config->binds takes over; NULL = is bound anew. The
	 * whole NULL = all are. See entries_prepare_endpoint(). */
	struct endpoint *const *from;
	/* For a change: the frontend was shut down (halt.h), and its section has changed, so that it is back
	 * in service. Its endpoints that stay return by steps of their own: entries_prepare_return(). */
	bool revives;
};

/* Why something could not be prepared. */
struct entry_error {
	int err;		  /* -errno */
	size_t bind;		  /* index of the bind at fault */
	enum sock_option refused; /* the option that the kernel refused, if it was one */
	pid_t holder;		  /* after -EADDRINUSE of a Unix path: who has it; 0 = unknown */
	/* After -EADDRINUSE, our own endpoint whose address overlaps; NULL = none. If it is inherited, the
	 * socket belongs to whoever passed it, and is never shared; if it is in e->bound, the new
	 * configuration has the same address twice; else the socket belongs to another user, from before
	 * privileges were dropped, and only a restart can replace it. */
	const struct endpoint *in_way;
};

/* New settings of a frontend, prepared. */
struct entry_change {
	struct frontend *frontend;
	struct frontend_settings *front;    /* one of its users */
	struct endpoint_settings **entries; /* owns; pins each: one for each endpoint that stays */
	struct endpoint_options **options; /* owns: for each of them, what is to be set on its socket */
	size_t count;
	struct frontend_tables tables; /* owns */
	bool revives;	  /* see struct entry_wish */
	unsigned changes; /* of the frontend, when this one was prepared */
	/* After a failure, if an option of a socket was the reason; else NULL. */
	const struct endpoint *failed;
	enum sock_option refused;
};

/* Makes a frontend with its endpoints, bound and listening, that no worker accepts at yet; in a transaction
 * they do not listen. NULL with `*error`, and nothing has changed. */
struct frontend *entries_prepare_frontend(struct entries *e, const struct entry_wish *wish,
					  struct entry_error *error);
/* Workers accept there from now on; it is the last of all. */
void entries_commit_frontend(struct entries *e, struct frontend *fe);
/* Nothing has changed. Clients who came meanwhile are reset. */
void entries_undo_frontend(struct entries *e, struct frontend *fe);
/* Its endpoints leave; its sessions go on. */
void entries_remove_frontend(struct entries *e, struct frontend *fe, int64_t now_ns);

/* New settings for clients who come from now on; others keep theirs. Also for an endpoint that leaves, in
 * whatever stage: it has the current settings of its frontend if it stays after all. Options of sockets that
 * differ are tried now, and set at the commit: only a warning reports one that fails then. What cannot be set
 * late stays as it is, see endpoint_can_become(). 0, or with nothing changed: -ENOMEM, or another -errno with
 * c->failed. */
int entries_prepare_change(struct entries *e, struct frontend *fe, const struct entry_wish *wish,
			   struct entry_change *c);
void entries_commit_change(struct entries *e, struct entry_change *c);
void entries_undo_change(struct entries *e, struct entry_change *c);

/* One more endpoint of a frontend, in the same steps: under the settings of `c`, a change of `fe` that is
 * prepared, or if it is NULL under those in effect now. Commit the change or the frontend first, if they are
 * prepared; undo them last.
 *
 * Where the address overlaps with one that we listen on (the same port and address, or one of the two is a
 * wildcard), both sockets share the port until this endpoint listens, or the transaction ends: see
 * net/sock_leave.h.
 *
 * With `from`, which endpoint_has_socket() and nobody else takes over, it takes over the socket of that
 * endpoint, of whatever frontend: see endpoint_can_become(), endpoint_is_covered(). Until the commit nothing
 * changes, but that a socket that was deaf hears. From then on `from` has left, clients in the queue are this
 * one's, and a Unix path with its lock goes with the socket. If another endpoint of the frontend has the same
 * bind by then, this one is one more part of it.
 *
 * An endpoint of a frontend that is out of service, and that `c` does not revive, is not bound: it is away.
 *
 * NULL with `*error`, and nothing has changed. */
struct endpoint *entries_prepare_endpoint(struct entries *e, struct frontend *fe,
					  const struct entry_change *c, const struct config_bind *config,
					  struct endpoint *from, struct entry_error *error);
void entries_commit_endpoint(struct entries *e, struct endpoint *ep);
void entries_undo_endpoint(struct entries *e, struct endpoint *ep);

/* The frontend's own limit as its file has it, 0 = that of the process. One that was set at run time holds
 * all the same: halt.h. */
void frontend_set_limit(struct frontend *fe, unsigned own);
/* The limit of the process, and of the frontends that have none of their own. */
void entries_set_maxconn(struct entries *e, unsigned maxconn);

/* ---- leaving; endpoint_leave.c ---- */

/* The endpoint leaves politely; harmless if it does so already. `now_ns` is the monotonic clock. */
void entries_leave(struct entries *e, struct endpoint *ep, int64_t now_ns);
/* It leaves politely and keeps its place, under the settings that its frontend has, until it comes back. An
 * inherited socket, which could not, stays open. */
void entries_go_away(struct entries *e, struct endpoint *ep, int64_t now_ns);
/* It goes on listening, or is bound anew to the address that it had. 0; or -errno with `*error`, and it stays
 * away. The right to bind is for the caller to see to; not within a transaction. */
int entries_come_back(struct entries *e, struct endpoint *ep, struct entry_error *error);
/* The same in a transaction, for an endpoint that is away: it is bound, or hears again. 0; or -errno with
 * `*error`, and nothing has changed. It stays away until the commit, which is after entries_listen(). */
int entries_prepare_return(struct entries *e, struct endpoint *ep, struct entry_error *error);
void entries_commit_return(struct entries *e, struct endpoint *ep);
/* Harmless for one that was not prepared. */
void entries_undo_return(struct entries *e, struct endpoint *ep);
/* The process stops: all endpoints leave, also those that are committed later. No handshake is ever in flight
 * to a Unix socket or a loopback address, so workers leave these at once. endpoint_count is 0 when all have
 * left. `now_ns` as above. */
void entries_leave_all(struct entries *e, int64_t now_ns);
/* It stays after all. 0; -EBADF when it has no socket (endpoint_has_socket()) or the process stops; or
 * -errno, and it leaves. */
int entries_stay(struct entries *e, struct endpoint *ep);
/* All of that which can fail: its socket hears again, and is kept. The same results; then either
 * entries_stay(), which cannot fail, or the undo. */
int entries_prepare_stay(struct entries *e, struct endpoint *ep);
void entries_undo_stay(struct entries *e, struct endpoint *ep);
/* Goes on with those whose time has come. Returns when to call again, or CLOCK_NEVER. */
int64_t entries_wake(struct entries *e, int64_t now_ns);

/* ---- frontends; frontend.c ---- */

/* Makes a frontend that nobody sees, without endpoints. `routes` is for config->routes, in the same order.
 * NULL when out of memory. */
struct frontend *frontend_new(struct entries *e, const struct config_frontend *config,
			      struct backend *backend, struct backend *const *routes);
/* Of a frontend that has no endpoints. */
void frontend_free(struct entries *e, struct frontend *fe);
/* Makes settings that nobody sees, with one user. NULL when out of memory. */
struct frontend_settings *frontend_settings_new(struct frontend *fe, const struct config_frontend *config,
						struct backend *backend, struct backend *const *routes);
/* A living version with this content; NULL = none. */
struct frontend_settings *frontend_settings_find(const struct frontend *fe,
						 const struct config_frontend *config,
						 const struct backend *backend,
						 struct backend *const *routes);
/* One user fewer; the last one frees it. */
void frontend_settings_put(struct frontend_settings *s);

#endif
