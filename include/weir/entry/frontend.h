/* SPDX-License-Identifier: MIT
 *
 * frontend.h - a frontend at run time: where its clients go, and how many of them there are.
 *
 * Made and freed by the engine; its counts are atomics, touched once per connection.
 */
#ifndef WEIR_ENTRY_FRONTEND_H
#define WEIR_ENTRY_FRONTEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/base/rate.h"

struct backend;
struct config_frontend;
struct source_table;

struct frontend {
	const struct config_frontend *config; /* borrows */
	struct backend *backend;              /* borrows: when no route fits */
	struct backend **routes;              /* owns: of config->routes, in their order */
	struct source_table *sources;         /* owns; NULL without maxconn-per-source */
	unsigned index;
	unsigned limit; /* maxconn */
	bool guarded;   /* admission.c has something to ask */
	bool choosy;    /* and some of it of the peer's own address, before it is a session */
	_Alignas(64) atomic_int sessions;
	atomic_int paused; /* listeners that are paused because of the limit */
	atomic_int rate_paused; /* the same because of rate-limit */
	_Atomic uint64_t total;
	_Atomic uint64_t denied; /* clients that admission.c sent away */
	struct rate rate;        /* of rate-limit; without one, limit is 0 */
};

#endif
