/* SPDX-License-Identifier: MIT
 *
 * settings.h - what sessions may still read of a backend or a server after it has changed: its versions.
 *
 * A version never changes once it is published. A worker may use the one in effect until the end of its
 * turn, and longer if it counts it (base/counted.h). A change that restores what a living version has
 * publishes that one again, so that switching to and fro costs no memory. Made, published and freed by
 * control.
 */
#ifndef WEIR_BALANCE_SETTINGS_H
#define WEIR_BALANCE_SETTINGS_H

#include <stdbool.h>

#include "weir/base/counted.h"
#include "weir/base/live.h"
#include "weir/config/config.h"
#include "weir/net/addr.h"

struct backend;
struct server;

/* The part that is common to both. */
struct version {
	struct counted counted; /* how many sessions use it; its number is one of live->versions */
	/* Control only. */
	struct retired retired;
	struct list link;  /* among the living versions of its object */
	struct live *live; /* borrows */
	unsigned prepared; /* changes that may publish it */
	bool published;    /* a worker may have seen it */
	bool orphaned;     /* its object has left */
};

struct backend_settings {
	struct version version;
	struct backend *backend;             /* borrows */
	const struct config_backend *config; /* owns: a copy without servers */
};

struct server_settings {
	struct version version;
	struct server *server;              /* borrows */
	const struct config_server *config; /* owns: a copy */
	struct addr addr;                   /* if `has_addr` */
	bool has_addr;
	bool is_open; /* control: of a change whose address is known only when it is committed */
	bool meets_itself; /* a connect to the address may reach itself: see net/self_connect.h */
	bool takes_client_port; /* the address has no port: each connect goes to the client's; or: */
	bool takes_client_name; /* it has no family: each goes where the client asks to go (sni@) */
};

#endif
