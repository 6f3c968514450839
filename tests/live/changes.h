/* SPDX-License-Identifier: MIT
 *
 * changes.h - random changes of live objects, as control would make them, and the way back.
 *
 * The frontend, the backend and the server that the rig began with are kept: they only change. The first
 * server of each backend is always there to take clients, so that no client is turned away for want of one.
 * Main thread.
 */
#ifndef WEIR_TESTS_LIVE_CHANGES_H
#define WEIR_TESTS_LIVE_CHANGES_H

#include "rig.h"

/* `folder` is for Unix sockets; `host` is a loopback address that nobody else binds. */
void changes_begin(struct rig *r, uint64_t seed, const char *folder, const char *host);
/* The kinds of changes.tbl.h. */
unsigned changes_kinds(void);
const char *changes_name(unsigned kind);
/* One change, drawn by lot; it is in force at the end of this turn. */
void changes_make(void);
#define CHANGES_ROTATION 10u

/* Living versions of the objects that are kept. */
struct changes_versions {
	unsigned frontend, endpoint, backend, server;
};

/* The ten settings of each kept object, in rotation: the one at `i` % CHANGES_ROTATION. */
void changes_rotate(unsigned i);
struct changes_versions changes_count_versions(void);
/* Adds a server to the first backend, and turns; removes it. */
void changes_add_server(void);
void changes_remove_server(void);
/* The same as an administrator does it: adds one and makes it ready; takes it out, and deletes it as soon as
 * it may be deleted, which is what is returned. */
void changes_command_server(void);
bool changes_delete_server(void);
/* Endpoints that have left, and whose socket is closed, are there to be used again. */
void changes_look_at_places(void);
/* Everything that was added leaves, and what was kept is as it was. */
void changes_take_back(void);
/* After rig_close(). */
void changes_end(void);
/* How many of each kind were made. */
void changes_print(void);

#endif
