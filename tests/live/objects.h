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

/* AWAY: its frontend is disabled. */
enum place_state { PLACE_FREE, PLACE_OPEN, PLACE_LEAVING, PLACE_AWAY };

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

enum change_result {
	CHANGE_IMPOSSIBLE, /* nothing there is to be changed so */
	CHANGE_REFUSED,	   /* a call has failed, and nothing has changed */
	CHANGE_UNDONE,	   /* it was prepared, and given up */
	CHANGE_MADE,
};

/* A change of a frontend on its way. */
struct frontend_step {
	struct live_frontend *of, as;
	struct entry_change change;
	bool has_binds; /* new ones for its endpoints that stay */
	struct config_bind binds[TRAFFIC_PLACES];
	const struct config_bind *bind_list[TRAFFIC_PLACES];
};

struct objects {
	struct rig *rig; /* borrows */
	uint64_t random;
	const char *folder, *host; /* borrow */
	unsigned names;
	bool in_haste;	/* endpoints need not be deaf for long */
	bool is_strict; /* no call of a commit succeeds */
	struct live_network loopback, elsewhere;
	struct live_backend backends[OBJECTS_BACKENDS];
	struct live_frontend frontends[OBJECTS_FRONTENDS];
	struct live_place places[TRAFFIC_PLACES];
};

extern struct objects objects;

/* 0 .. below - 1 */
unsigned objects_draw(unsigned below);
void objects_draw_tcp(struct config_tcp *c);
struct live_backend *objects_backend(bool may_be_kept);
/* Call between the last prepare and the first commit. */
void objects_will_commit(void);
/* One change of a kind of changes.tbl.h, drawn by lot. */
enum change_result objects_change(unsigned kind);
/* Is everything as it is noted here? Aborts if not. */
void objects_check(void);

/* servers.c */
enum change_result objects_add_server(void);
enum change_result objects_change_server(void);
enum change_result objects_remove_server(void);
enum change_result objects_command_server(void);
void objects_new_server(struct config_server *c, bool is_first);
/* Notes what has been committed; `i` is the place of the server. */
void objects_note_added(struct live_backend *b, struct server *s, const struct config_server *config);
void objects_note_removed(struct live_backend *b, unsigned i);
void objects_draw_server(struct config_server *c, bool is_first);
void objects_draw_backend(struct config_backend *c);
void objects_check_servers(const struct live_backend *b);
struct server_updates *objects_updates(void);

/* run_time.c */
enum change_result objects_run_time_add(void);
enum change_result objects_run_time_delete(void);
enum change_result objects_run_time_move(void);

/* several.c */
enum change_result objects_several(void);

/* entrances.c */
void objects_begin(void);
void objects_end(void);
void objects_look_at_places(void);
struct live_frontend *objects_frontend(bool may_be_kept);
enum change_result objects_add_frontend(void);
enum change_result objects_change_frontend(void);
enum change_result objects_remove_frontend(void);
enum change_result objects_halt_frontend(void); /* disables one, or enables it again */
enum change_result objects_add_endpoint(void);
enum change_result objects_leave_endpoint(void);
enum change_result objects_stay_endpoint(void);
enum change_result objects_take_over_endpoint(void);
void objects_check_entrances(void);
void objects_leave_all(void);
struct live_place *objects_free_place(void);
void objects_draw_bind(struct live_place *p);
void objects_note_endpoint(struct live_place *p, struct endpoint *ep, struct live_frontend *f);

/* steps.c: changes of frontends, which are then committed or undone. */
void objects_draw_frontend(struct live_frontend *f);
void objects_copy_frontend(struct live_frontend *to, const struct live_frontend *from);
struct entry_wish objects_wish(const struct live_frontend *f, struct backend **routes);
bool objects_prepare(struct frontend_step *s);
void objects_commit(struct frontend_step *s);
void objects_undo(struct frontend_step *s);
/* As in rotation. */
void objects_plan_rotation(struct frontend_step *s, unsigned i);
/* Other settings of the frontend `f` and of its binds. */
void objects_plan_change(struct frontend_step *s, struct live_frontend *f);
/* No frontend leads to `b` any more. */
bool objects_prepare_lead_away(const struct live_backend *b);
void objects_commit_lead_away(void);
void objects_undo_lead_away(void);

#endif
