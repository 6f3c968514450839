/* SPDX-License-Identifier: MIT
 *
 * validate_binds.c - validates that no address is bound twice, in whatever sections the binds are.
 *
 * There may be tens of thousands of them, so each is compared only with those that it can meet: sorted by
 * host and ports, these are neighbours. Main thread.
 */
#include "build.h"

#include <stdlib.h>
#include <string.h>

/* What two binds must have in common to be compared at all. */
enum kind { KIND_UNIX, KIND_FD, KIND_WILDCARD, KIND_HOST };

/* A bind. One of TCP without a port is none of these: it has another address each time. */
struct used {
	const struct config_bind *bind; /* borrows */
	struct at at;
	size_t number;	    /* among all, in the order of the lines */
	size_t place;	    /* among all, as they are sorted */
	struct used *same;  /* the first one of this very address, perhaps itself */
	struct used *first; /* the first one before it that it clashes with; NULL = none */
	uint16_t until; /* the last port of it and of all with the same host that are sorted before it */
};

struct all {
	struct used *list; /* in the order of the lines */
	struct used **sorted;
	size_t count;
};

/* ---- which addresses clash ---- */

static bool is_wildcard(const struct config_bind *b)
{
	return b->addr.kind == ADDR_ANY || addr_is_wildcard(&b->addr.addr);
}

/* Does a TCP bind accept IPv4? [::] accepts both families unless it has v6only, as in the kernel. */
static bool takes_four(const struct config_bind *b)
{
	if (b->addr.addr.sa.sa_family == AF_INET)
		return b->addr.kind != ADDR_ANY || !b->v6only;
	return is_wildcard(b) && !b->v6only;
}

static bool takes_six(const struct config_bind *b)
{
	return b->addr.kind == ADDR_ANY || b->addr.addr.sa.sa_family == AF_INET6;
}

static bool unix_clash(const struct addr_spec *x, const struct addr_spec *y)
{
	return x->kind == ADDR_UNIX && y->kind == ADDR_UNIX && addr_equal(&x->addr, &y->addr);
}

/* One inherited socket cannot belong to two binds. */
static bool fd_clash(const struct addr_spec *x, const struct addr_spec *y)
{
	return x->kind == ADDR_FD && y->kind == ADDR_FD && strcmp(x->host, y->host) == 0;
}

static uint16_t last_port(const struct config_bind *b)
{
	return b->addr.last_port != 0 ? b->addr.last_port : b->addr.port;
}

static bool is_same_host(const struct addr_spec *x, const struct addr_spec *y)
{
	struct addr a = x->addr, b = y->addr;

	addr_set_port(&a, 0);
	addr_set_port(&b, 0);
	return addr_equal(&a, &b);
}

/* Are there clients that both would take? Port 0 is a different port each time; a range is all its ports. */
static bool binds_overlap(const struct config_bind *x, const struct config_bind *y)
{
	if (x->addr.kind == ADDR_FD || y->addr.kind == ADDR_FD)
		return fd_clash(&x->addr, &y->addr);
	if (x->addr.kind == ADDR_UNIX || y->addr.kind == ADDR_UNIX)
		return unix_clash(&x->addr, &y->addr);
	if (x->addr.port == 0 || y->addr.port == 0 || last_port(x) < y->addr.port ||
	    last_port(y) < x->addr.port)
		return false;
	if (!(takes_four(x) && takes_four(y)) && !(takes_six(x) && takes_six(y)))
		return false;
	return is_wildcard(x) || is_wildcard(y) || is_same_host(&x->addr, &y->addr);
}

static bool is_tcp(const struct config_bind *b)
{
	return b->addr.kind != ADDR_UNIX && b->addr.kind != ADDR_FD;
}

/* Is it not decided whose the clients are that both would take? Of a wildcard and one address, they are that
 * one's. */
static bool binds_clash(const struct config_bind *x, const struct config_bind *y)
{
	return binds_overlap(x, y) && (!is_tcp(x) || is_wildcard(x) == is_wildcard(y));
}

/* ---- sorted ---- */

static enum kind kind_of(const struct config_bind *b)
{
	if (b->addr.kind == ADDR_UNIX)
		return KIND_UNIX;
	if (b->addr.kind == ADDR_FD)
		return KIND_FD;
	return is_wildcard(b) ? KIND_WILDCARD : KIND_HOST;
}

static int compare_numbers(size_t a, size_t b)
{
	return a < b ? -1 : a > b;
}

/* An abstract name may have any bytes; a path ends with the first NUL. */
static int compare_unix(const struct addr *a, const struct addr *b)
{
	const bool is_path = a->un.sun_path[0] != '\0', is_other = b->un.sun_path[0] != '\0';

	if (is_path != is_other)
		return is_path ? 1 : -1;
	if (is_path)
		return strncmp(a->un.sun_path, b->un.sun_path, sizeof(a->un.sun_path));
	return a->len != b->len ? compare_numbers(a->len, b->len) : memcmp(&a->un, &b->un, a->len);
}

static int compare_ip(const struct addr *a, const struct addr *b)
{
	if (a->sa.sa_family != b->sa.sa_family)
		return compare_numbers(a->sa.sa_family, b->sa.sa_family);
	if (a->sa.sa_family == AF_INET)
		return memcmp(&a->in.sin_addr, &b->in.sin_addr, sizeof(a->in.sin_addr));
	return memcmp(&a->in6.sin6_addr, &b->in6.sin6_addr, sizeof(a->in6.sin6_addr));
}

/* 0 = each of one could clash with each of the other, if their ports meet. */
static int compare_hosts(const struct config_bind *a, const struct config_bind *b)
{
	const enum kind kind = kind_of(a);

	if (kind != kind_of(b))
		return kind < kind_of(b) ? -1 : 1;
	switch (kind) {
	case KIND_UNIX:
		return compare_unix(&a->addr.addr, &b->addr.addr);
	case KIND_FD:
		return strcmp(a->addr.host, b->addr.host);
	case KIND_WILDCARD:
		return 0;
	case KIND_HOST:
		break;
	}
	return compare_ip(&a->addr.addr, &b->addr.addr);
}

/* The families of a wildcard, as a number. */
static size_t families_of(const struct config_bind *b)
{
	if (kind_of(b) != KIND_WILDCARD)
		return 0;
	return (takes_four(b) ? 1u : 0u) + (takes_six(b) ? 2u : 0u);
}

/* 0 = they are the very same address. */
static int compare_addresses(const struct config_bind *a, const struct config_bind *b)
{
	int order = compare_hosts(a, b);

	if (order == 0)
		order = compare_numbers(a->addr.port, b->addr.port);
	if (order == 0)
		order = compare_numbers(last_port(a), last_port(b));
	return order != 0 ? order : compare_numbers(families_of(a), families_of(b));
}

static int compare_used(const void *left, const void *right)
{
	const struct used *const *a = left, *const *b = right;
	const int order = compare_addresses((*a)->bind, (*b)->bind);

	return order != 0 ? order : compare_numbers((*a)->number, (*b)->number);
}

static bool has_many_addresses(const struct config_bind *b)
{
	return kind_of(b) >= KIND_WILDCARD && b->addr.port == 0;
}

static void collect(struct build *b, struct all *all)
{
	size_t room = 0;

	for (size_t i = 0; i < b->proxy_count; i++)
		room += b->proxies[i].bind_count;
	all->list = arena_alloc(b->diag->arena, (room + 1) * sizeof(struct used));
	all->sorted = arena_alloc(b->diag->arena, (room + 1) * sizeof(struct used *));
	for (size_t i = 0; i < b->proxy_count; i++) {
		const struct proxy *p = &b->proxies[i];

		for (size_t n = 0; n < p->bind_count; n++) {
			struct used *x = &all->list[all->count];

			if (has_many_addresses(&p->binds[n]))
				continue;
			*x = (struct used){.bind = &p->binds[n], .at = p->bind_at[n], .number = all->count};
			all->sorted[all->count++] = x;
		}
	}
}

/* Sorts them, and finds those of the very same address: they clash with the same others. */
static void sort(struct all *all)
{
	if (all->count > 0)
		qsort(all->sorted, all->count, sizeof(*all->sorted), compare_used);
	for (size_t i = 0; i < all->count; i++) {
		struct used *x = all->sorted[i], *before = i > 0 ? all->sorted[i - 1] : NULL;

		x->place = i;
		x->same = x;
		x->until = last_port(x->bind);
		if (before != NULL && compare_addresses(before->bind, x->bind) == 0)
			x->same = before->same;
		if (before != NULL && compare_hosts(before->bind, x->bind) == 0 && before->until > x->until)
			x->until = before->until;
	}
}

/* ---- who meets whom ---- */

static void meet(struct used *x, struct used *y)
{
	struct used *late = x->number > y->number ? x : y, *early = late == x ? y : x;

	if (binds_clash(x->bind, y->bind) && (late->first == NULL || early->number < late->first->number))
		late->first = early;
}

/* With those that are sorted before it and have the same host. */
static void meet_neighbours(const struct all *all, size_t at)
{
	struct used *x = all->sorted[at];

	while (at > 0) {
		struct used *y = all->sorted[at - 1]->same;

		if (compare_hosts(y->bind, x->bind) != 0 || y->until < x->bind->addr.port)
			return;
		meet(x, y);
		at = y->place;
	}
}

static void meet_all(const struct all *all)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->sorted[i]->same == all->sorted[i])
			meet_neighbours(all, i);
}

/* ---- reports ---- */

static void report(struct build *b, struct at at, struct at first)
{
	diag_error(b->diag, DIAG_ADDRESS_IN_USE, at, "this address is already bound");
	diag_hint(b->diag, "first on %s", diag_where(b->diag, at, first));
}

/* The first of the lines that this one clashes with, whatever the order of both. The HTTP endpoint is bound
 * without regard to others. */
static void report_first(struct build *b, const struct used *x)
{
	const struct used *first = x->same->first != NULL ? x->same->first : x->same;

	if (unix_clash(&x->bind->addr, &b->global.admin))
		report(b, x->at, b->admin_at);
	else if (binds_overlap(x->bind, &(struct config_bind){.addr = b->global.stats.addr}))
		report(b, x->at, b->stats_at);
	else if (first != x)
		report(b, x->at, first->at);
}

void build_validate_binds(struct build *b)
{
	struct all all = {.count = 0};

	collect(b, &all);
	sort(&all);
	meet_all(&all);
	for (size_t i = 0; i < all.count; i++)
		report_first(b, &all.list[i]);
}
