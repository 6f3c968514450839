/* SPDX-License-Identifier: MIT
 *
 * resolver_parts.h - what all names share: the thread of the system's resolver, DNS, and the choice between
 * them. Control thread.
 */
#ifndef WEIR_NAMES_RESOLVER_PARTS_H
#define WEIR_NAMES_RESOLVER_PARTS_H

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/base/list.h"
#include "weir/config/config.h"
#include "weir/names/name_watch.h"
#include "weir/names/resolver.h"
#include "dns.h"
#include "hosts_file.h"
#include "lookup.h"

struct egress_desk_state;

struct resolver {
	struct ev_loop *loop; /* borrows */
	struct resolver_calls calls;
	struct lookup *lookup;       /* owns; NULL while there has been no name */
	struct ev_async wake;        /* the lookup thread has an answer */
	struct dns *dns;             /* owns; the same, and NULL in a build without c-ares */
	struct name_server_counts counts_before; /* of DNS when there were names before */
	enum config_resolver choice; /* between the two */
	struct config_resolvers servers;
	struct hosts_file hosts;
	const char *hosts_path;
	size_t watches;              /* that exist */
	struct ev_timer no_watch;    /* ends DNS soon after the last of them */
	bool used;                   /* a name was looked up */
	uint64_t lookups;            /* ended, and how many of these failed */
	uint64_t failed;
	struct egress_desk_state *egress; /* owns; NULL without an engine */
	/* Of named_servers.c. */
	struct list names;     /* owns */
	size_t choices;        /* how many of them have several addresses */
	struct list spares;    /* owns: memory for more */
	size_t spare_count;
	size_t reserved;       /* spares that prepared changes may still need */
	struct server_updates *updates; /* borrows */
	struct server_observer observer;
};

/* Resolves the servers that have names. 0 or -errno; named_servers_end() is due in any case. */
int named_servers_begin(struct resolver *r, struct server_updates *u);
void named_servers_end(struct resolver *r);
/* A watch without a name: all the memory that one needs. NULL on failure, with `*err` = -errno. */
struct name_watch *name_watch_blank(struct resolver *r, int *err);
/* Gives it a name; name_watch_start() comes next. */
void name_watch_set(struct name_watch *w, const struct name_wish *wish);
/* The lookup thread has answers. */
void name_watch_take_answers(struct resolver *r);
/* Ends DNS if there is no watch, and the thread if there never was a lookup. */
void resolver_trim(struct resolver *r);
/* DNS alone, for callers without a watch: starts it if needed, and keeps it until resolver_let_go_dns(). 0 or
 * -errno. */
int resolver_hold_dns(struct resolver *r);
void resolver_let_go_dns(struct resolver *r);
/* Starts them if there are none. 0 or -errno. */
int resolver_ready(struct resolver *r);

#endif
