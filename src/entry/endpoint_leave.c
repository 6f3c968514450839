/* SPDX-License-Identifier: MIT
 *
 * endpoint_leave.c - an endpoint leaves without losing a client, or stays after all.
 *
 * Owns the stages of leaving. A socket of ours is deaf first, for long enough that handshakes in flight
 * finish and that a client who was not heard tries again elsewhere (net/sock_leave.h); then workers accept
 * whom they find queued and leave; then it is closed. A socket that others made is never changed: workers
 * leave it at once, and our copy is closed. Control thread.
 */
#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/net/sock_leave.h"
#include "parts.h"

#define DEAF_NS (900 * NS_PER_MS)
/* An endpoint has just come: by then some worker accepts there, and takes whom it finds queued. */
#define BEGIN_NS (20 * NS_PER_MS)

/* ---- what has left ---- */

static bool is_version_held(const struct retired *item)
{
	const struct endpoint_settings *s = container_of(item, struct endpoint_settings, retired);

	return s->pins > 0 || counted_sum(&s->endpoint->entries->live->versions, &s->counted) > 0;
}

/* The last one goes with its endpoint, which is among those of its frontend until then: control reads it. */
static void free_version(struct retired *item)
{
	struct endpoint_settings *s = container_of(item, struct endpoint_settings, retired);
	struct endpoint *ep = s->endpoint;

	if (s == endpoint_settings(ep))
		ep->unused = true;
	else
		endpoint_settings_free(ep->entries, s);
}

static const struct retired_kind version_kind = {
	.is_held = is_version_held, .free = free_version, .is_logged = true};

void endpoint_settings_retire(struct endpoint_settings *s)
{
	atomic_store_explicit(&s->counted.leaving, true, memory_order_relaxed);
	retire_add(&s->endpoint->entries->live->retire, &s->retired, &version_kind);
}

static bool is_endpoint_held(const struct retired *item)
{
	const struct endpoint *ep = container_of(item, struct endpoint, retired);

	return !ep->unused || ep->versions.next->next != &ep->versions;
}

/* Nobody comes in there any more. Whoever came since its frontend was removed is told now. */
static void endpoint_held(const struct retired *item)
{
	const struct endpoint *ep = container_of(item, struct endpoint, retired);
	const struct frontend *fe = ep->frontend;

	if (atomic_load(&fe->removed))
		live_end_sessions(ep->entries->live, fe->slot, !fe->closes);
}

static void free_endpoint(struct retired *item)
{
	struct endpoint *ep = container_of(item, struct endpoint, retired);

	endpoint_free(ep->entries, ep);
}

static const struct retired_kind endpoint_kind = {
	.is_held = is_endpoint_held, .held = endpoint_held, .free = free_endpoint};

static bool is_socket_held(const struct retired *item)
{
	const struct endpoint *ep = container_of(item, struct endpoint, socket);

	return ep->claimed || atomic_load(&ep->listeners) > 0;
}

/* No worker accepts there, and none will. Clients on their way to another worker may still name it. */
static void close_socket(struct retired *item)
{
	struct endpoint *ep = container_of(item, struct endpoint, socket);
	struct entries *e = ep->entries;

	endpoint_forget_take(ep);
	if (ep->away) {
		ep->stage = ENDPOINT_AWAY;
		if (!ep->inherited)
			endpoint_close(ep);
		return;
	}
	endpoint_close(ep);
	ep->stage = ENDPOINT_CLOSED;
	entries_withdraw(e, ep);
	endpoint_settings_retire(endpoint_settings(ep));
	retire_add(&e->live->retire, &ep->retired, &endpoint_kind);
}

static const struct retired_kind socket_kind = {.is_held = is_socket_held, .free = close_socket};

/* ---- the stages ---- */

static void order(struct endpoint *ep, enum endpoint_order what)
{
	struct entries *e = ep->entries;

	atomic_store(&ep->order, (int)what);
	if (e->changed != NULL)
		e->changed(e->changed_arg);
}

void endpoint_leave_now(struct endpoint *ep, enum endpoint_order what)
{
	const bool leaves = ep->stage == ENDPOINT_LEAVING;

	list_remove(&ep->deaf_link);
	ep->stage = ENDPOINT_LEAVING;
	if (what == ENDPOINT_GIVE)
		ep->away = false;
	order(ep, what);
	if (!leaves)
		retire_add(&ep->entries->live->retire, &ep->socket, &socket_kind);
}

/* False if it hears: then it leaves at once. */
static bool go_deaf(struct endpoint *ep)
{
	char text[ADDR_TEXT_MAX];
	int err;

	if (ep->inherited || addr_is_unix(&ep->addr) || ep->fd < 0)
		return false;
	err = sock_go_deaf(ep->fd);
	if (err && err != -EOPNOTSUPP) /* MPTCP */
		log_line(LOG_LEVEL_WARNING,
			 "%s cannot be made deaf: %s; it is closed at once, and clients who are on their "
			 "way may be reset",
			 addr_format(&ep->addr, text), strerrordesc_np(-err));
	return err == 0;
}

/* Until then workers accept there. */
static void leave_at(struct entries *e, struct endpoint *ep, int64_t at_ns)
{
	struct list *last = e->deaf.prev;

	while (last != &e->deaf && list_entry(last, struct endpoint, deaf_link)->leave_ns > at_ns)
		last = last->prev;
	ep->stage = ENDPOINT_DEAF;
	ep->leave_ns = at_ns;
	list_push_back(last->next, &ep->deaf_link); /* in front of that one */
	retire_want(&e->live->retire); /* so that control asks entries_wake() for the time */
}

static void leave(struct entries *e, struct endpoint *ep, int64_t now_ns)
{
	if (ep->stage != ENDPOINT_OPEN)
		return;
	/* First this, so that whoever is accepted from a deaf socket finds it. */
	atomic_store(&ep->deaf, true);
	/* While the process stops, it has come since, and no worker has accepted there. */
	if (!e->ending && go_deaf(ep))
		leave_at(e, ep, now_ns + DEAF_NS);
	else
		endpoint_leave_now(ep, ENDPOINT_LEAVE);
}

/* It will not come back. */
static void give_up(struct endpoint *ep)
{
	ep->away = false;
	if (ep->stage == ENDPOINT_AWAY)
		endpoint_leave_now(ep, ENDPOINT_LEAVE);
}

void entries_leave(struct entries *e, struct endpoint *ep, int64_t now_ns)
{
	give_up(ep);
	leave(e, ep, now_ns);
}

void entries_go_away(struct entries *e, struct endpoint *ep, int64_t now_ns)
{
	check(ep->stage == ENDPOINT_OPEN);
	check(!e->ending);
	ep->away = true;
	leave(e, ep, now_ns);
}

int entries_come_back(struct entries *e, struct endpoint *ep, struct entry_error *error)
{
	check(!e->is_open);
	if (entries_prepare_return(e, ep, error) == 0) /* it listens, too */
		entries_commit_return(e, ep);
	return error->err;
}

int entries_prepare_return(struct entries *e, struct endpoint *ep, struct entry_error *error)
{
	check(ep->away);
	check(!e->ending);
	*error = (struct entry_error){.err = 0};
	if (endpoint_has_socket(ep)) {
		error->err = entries_prepare_stay(e, ep);
		return error->err;
	}
	check(ep->stage == ENDPOINT_AWAY);
	error->err = endpoint_bind_beside(e, ep, error);
	error->refused = ep->refused;
	error->holder = ep->path.holder;
	if (error->err)
		entries_undo_return(e, ep); /* if it was bound, and cannot listen */
	return error->err;
}

/* A socket that never was deaf is not any more, either. */
void entries_commit_return(struct entries *e, struct endpoint *ep)
{
	const bool was_deaf = ep->claimed && !ep->inherited;

	check(ep->away);
	check(ep->fd >= 0);
	check(list_empty(&ep->bound_link)); /* it listens */
	if (!was_deaf)
		atomic_store(&ep->deaf, false);
	if (ep->claimed) {
		(void)entries_stay(e, ep); /* all that can fail is done */
		return;
	}
	ep->away = false;
	ep->stage = ENDPOINT_OPEN;
	order(ep, ENDPOINT_LISTEN);
}

void entries_undo_return(struct entries *e, struct endpoint *ep)
{
	if (!ep->away || ep->claimed || ep->stage != ENDPOINT_AWAY || ep->inherited) {
		entries_undo_stay(e, ep);
		return;
	}
	list_remove(&ep->bound_link);
	list_remove(&ep->lent_link);
	endpoint_close(ep);
	ep->fd = -1;
}

/* A loopback address is deaf all the same, so that nobody can connect between the last accept and the close.
 * A Unix path is removed first for that reason; its inode stays until the socket is closed. */
static void leave_for_good(struct entries *e, struct endpoint *ep, int64_t now_ns)
{
	bool is_deaf;

	give_up(ep);
	if (ep->stage != ENDPOINT_OPEN)
		return;
	if (!ep->inherited)
		sock_path_release(&ep->path, &ep->addr);
	atomic_store(&ep->deaf, true);
	is_deaf = go_deaf(ep);
	if (is_deaf && !addr_is_loopback(&ep->addr))
		leave_at(e, ep, now_ns + DEAF_NS);
	else if (atomic_load(&ep->listeners) == 0)
		leave_at(e, ep, now_ns + BEGIN_NS);
	else
		endpoint_leave_now(ep, ENDPOINT_LEAVE);
}

void entries_leave_all(struct entries *e, int64_t now_ns)
{
	e->ending = true;
	entries_foreach_frontend(e, fe) {
		frontend_foreach_endpoint(fe, ep)
			leave_for_good(e, ep, now_ns);
	}
}

int endpoint_hear(struct endpoint *ep)
{
	int err = 0;

	if (ep->stage != ENDPOINT_OPEN && !ep->inherited && !addr_is_unix(&ep->addr))
		err = sock_hear_again(ep->fd);
	return err == -EOPNOTSUPP ? 0 : err; /* one that could not be made deaf */
}

void endpoint_stop_hearing(struct endpoint *ep)
{
	if (ep->stage == ENDPOINT_DEAF || ep->stage == ENDPOINT_LEAVING)
		(void)go_deaf(ep); /* else it hears until it is closed */
}

int entries_prepare_stay(struct entries *e, struct endpoint *ep)
{
	int err;

	if (!endpoint_has_socket(ep) || e->ending)
		return -EBADF;
	check(!ep->claimed);
	if (ep->stage == ENDPOINT_OPEN)
		return 0;
	err = endpoint_hear(ep);
	ep->claimed = !err;
	return err;
}

void entries_undo_stay(struct entries *e, struct endpoint *ep)
{
	if (!ep->claimed)
		return;
	ep->claimed = false;
	endpoint_stop_hearing(ep);
	retire_want(&e->live->retire); /* it was held by this alone, perhaps */
}

int entries_stay(struct entries *e, struct endpoint *ep)
{
	const int err = ep->claimed ? 0 : entries_prepare_stay(e, ep);

	if (err || ep->stage == ENDPOINT_OPEN)
		return err;
	/* ep->deaf stays set: who is queued may have been accepted by the kernel while it was deaf. */
	ep->claimed = false;
	ep->away = false;
	list_remove(&ep->deaf_link);
	if (ep->stage == ENDPOINT_LEAVING)
		retire_take_back(&e->live->retire, &ep->socket);
	ep->stage = ENDPOINT_OPEN;
	order(ep, ENDPOINT_LISTEN);
	return 0;
}

int64_t entries_wake(struct entries *e, int64_t now_ns)
{
	while (!list_empty(&e->deaf)) {
		struct endpoint *ep = list_entry(e->deaf.next, struct endpoint, deaf_link);

		if (ep->leave_ns > now_ns)
			return ep->leave_ns;
		endpoint_leave_now(ep, ENDPOINT_LEAVE);
	}
	return CLOCK_NEVER;
}
