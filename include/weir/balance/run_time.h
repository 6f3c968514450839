/* SPDX-License-Identifier: MIT
 *
 * run_time.h - what an administrator changes of servers without the file: they come, go and move.
 *
 * State, weight and limit change through server_updates.h. Each change has a mark (base/mark.h), by which
 * reports say what differs from the file, since when, and by whom. What is set at run time survives a reload
 * unless the file's value for it changes. `by` is copied. Control thread.
 */
#ifndef WEIR_BALANCE_RUN_TIME_H
#define WEIR_BALANCE_RUN_TIME_H

#include "weir/balance/server_updates.h"
#include "weir/base/mark.h"

/* All changes of servers from run_time_begin() to run_time_end() take effect together: each backend gets one
 * roster for all of them, and observers are told. Do not nest. The end returns 0, or -EAGAIN if memory ran
 * out for a roster: the changes were made, and putting them in force is tried again. */
void run_time_begin(struct server_updates *u);
int run_time_end(struct server_updates *u);

/* Adds a server in maintenance, the last of its backend, which is marked as ADDED; `config` is copied. The
 * observers first take what they need for it. 0 with `*out`; -EEXIST if the backend has a server of this
 * name, or a set that may give it to a member; -ENOMEM; -ENOSPC; -EMFILE or -ENFILE if no descriptor is left
 * for its health checks. */
int run_time_add_server(struct server_updates *u, struct backend *b, const struct config_server *config,
			const struct mark *by, struct server **out);
/* May it be deleted now: in no set, in maintenance, without sessions and waiting clients? Otherwise `*why` is
 * the reason, in HAProxy's words (static). */
bool run_time_is_removable(const struct server *s, const char **why);
/* Deletes it. 0; -EBUSY if it is not removable; -ENOMEM. A server that the file names leaves a tombstone, so
 * that a reload does not bring it back (tombstone.h). */
int run_time_delete_server(struct server_updates *u, struct server *s, const struct mark *by);

/* Moves it to another address (copied; port included); NULL, or the address in the file, moves it back. New
 * connections go there at once, sessions stay where they are, and its health is what it was. A name is looked
 * up all the same, for the way back. 0; -ENOMEM with nothing changed; -EAGAIN as in server_updates.h. */
int run_time_set_addr(struct server_updates *u, struct server *s, const struct addr *a,
		      const struct mark *by);

/* Where its health checks go: to another address (copied; its port does not count), NULL = that of the
 * server; and to another port, 0 = as in the file. Observers are told that the server has changed. 0, or
 * -ENOMEM with nothing changed. */
int run_time_set_check_addr(struct server_updates *u, struct server *s, const struct addr *a,
			    const struct mark *by);
void run_time_set_check_port(struct server_updates *u, struct server *s, uint16_t port,
			     const struct mark *by);
/* Suspends or resumes its health checks, or its agent; observers are told as above. */
void run_time_set_checks(struct server_updates *u, struct server *s, bool enabled, const struct mark *by);
void run_time_set_agent(struct server_updates *u, struct server *s, bool enabled, const struct mark *by);
/* As if its agent had said "up" or "down", until it says something else. */
void run_time_say_agent(struct server_updates *u, struct server *s, bool up, const char *cause);

/* Does it have another value than the file says? Always true of HEALTH, of which the file says nothing. For
 * a server that was added, the words that it was added with are its file; its state always differs. */
bool run_time_differs(const struct server *s, enum server_mark what);
/* Call after such a change: sets its mark, or clears it if the value is that of the file again. */
void run_time_mark(struct server *s, enum server_mark what, const struct mark *by);
/* Does what was set of it stay when new settings take effect: `next` of its line, NULL if none names it (it
 * was added), and `backend` of its backend? The rules of a reload, which its plan asks beforehand. One that
 * was added and that a line names is as the line says, but for what only an administrator can say. */
bool run_time_stays(const struct server *s, enum server_mark what, const struct config_server *next,
		    const struct config_backend *backend);
/* "state", "weight" ... Static. */
const char *run_time_mark_word(enum server_mark what);

#endif
