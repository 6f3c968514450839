/* SPDX-License-Identifier: MIT
 *
 * objects.h - what is there to be changed; for changes.c and entrances.c alone.
 *
 * Main thread.
 */
#ifndef WEIR_TESTS_LIVE_OBJECTS_H
#define WEIR_TESTS_LIVE_OBJECTS_H

#include "rig.h"
#include "traffic.h"
#include "weir/net/netset.h"

#define OBJECTS_BACKENDS  6u
#define OBJECTS_SERVERS	  8u
#define OBJECTS_FRONTENDS 8u
#define OBJECTS_ROUTES	  2u

struct live_backend {
	struct backend *live; /* NULL = none */
	struct server *servers[OBJECTS_SERVERS];
	struct config_server configs[OBJECTS_SERVERS]; /* of these */
	unsigned count;
	struct config_backend config;
	bool kept;
};

struct live_frontend {
	struct frontend *live; /* NULL = none */
	struct config_frontend config;
	struct config_route routes[OBJECTS_ROUTES];
	struct config_ports ports[OBJECTS_ROUTES];
	struct live_backend *to;
	struct live_backend *routes_to[OBJECTS_ROUTES];
	bool kept;
};

enum place_state { PLACE_FREE, PLACE_OPEN, PLACE_LEAVING };

struct live_place {
	enum place_state state;
	struct endpoint *live;
	struct live_frontend *frontend; /* NULL = it was removed */
	struct config_bind config;
};

struct live_network {
	struct net_prefix prefix;
	struct netset *set; /* owns */
};

struct objects {
	struct rig *rig; /* borrows */
	uint64_t random;
	const char *folder, *host; /* borrow */
	unsigned names;
	struct live_network loopback, elsewhere;
	struct live_backend backends[OBJECTS_BACKENDS];
	struct live_frontend frontends[OBJECTS_FRONTENDS];
	struct live_place places[TRAFFIC_PLACES];
};

extern struct objects objects;

/* 0 .. below - 1 */
unsigned objects_draw(unsigned below);
struct live_backend *objects_backend(bool may_be_kept);

void objects_begin(void);
void objects_end(void);
void objects_look_at_places(void);
bool objects_add_frontend(void);
bool objects_change_frontend(void);
bool objects_remove_frontend(void);
bool objects_add_endpoint(void);
bool objects_leave_endpoint(void);
bool objects_stay_endpoint(void);
void objects_rotate_frontend(unsigned i);
/* No frontend leads to `b` any more. */
bool objects_lead_away(const struct live_backend *b);
void objects_leave_all(void);

#endif
