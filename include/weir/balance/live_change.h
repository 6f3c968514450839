/* SPDX-License-Identifier: MIT
 *
 * live_change.h - backends and servers that come, change and go while clients are served.
 *
 * A change is prepared, which may fail and changes nothing, and then either committed or undone, neither of
 * which can fail. Many changes may be prepared before the first is committed; they may be committed in any
 * order. Those of one turn of the loop get one roster per backend, at the end of the turn
 * (server_updates.h). If a change of a backend is committed while another one stays prepared and memory runs
 * out, that roster comes later.
 *
 * What leaves is freed once no worker can refer to it, no session has it, and no record names it
 * (base/retire.h): retire_go_on() must be called some time after. Configurations are borrowed for the call
 * alone: the settings have copies. Control thread.
 */
#ifndef WEIR_BALANCE_LIVE_CHANGE_H
#define WEIR_BALANCE_LIVE_CHANGE_H

#include "weir/balance/server_updates.h"

/* A server that is to be added, which nobody sees. NULL with `*err` -ENOMEM or -ENOSPC. */
struct server *server_prepare(struct backend *b, const struct config_server *config, int *err);
/* It becomes the last server of its backend. */
void server_commit_add(struct server_updates *u, struct server *s);
void server_undo_add(struct server *s);

/* Settings that are to replace those of `s`. NULL with `*err` as above. What the commit finds stays, however
 * long ago the change was prepared:
 * - the address of its name, unless the change names another: then it has none until that is looked up. The
 *   port is that of the change;
 * - its health, its history and its counts;
 * - weight, limit and administrative state as set at run time, each unless its value in the configuration in
 *   effect is another than in the change. A slow start goes on, by the new duration. */
struct server_settings *server_prepare_change(struct server *s, const struct config_server *config, int *err);
void server_commit_change(struct server_updates *u, struct server_settings *v);
void server_undo_change(struct server_settings *v);

/* 0 or -ENOMEM. */
int server_prepare_remove(struct server *s);
/* New clients do not find it any more at the end of this turn; those that wait for it wait for any
 * server. Its sessions go on. Nobody may use `s` from now on but those sessions. */
void server_remove(struct server_updates *u, struct server *s);
void server_undo_remove(struct server *s);

/* A backend with its servers, which nobody sees; for what it needs of workers see backend_new(). NULL
 * with `*err` as above. */
struct backend *backend_prepare(struct live *live, const struct config_backend *config, int *err);
void backend_commit_add(struct server_updates *u, struct backend *b);
void backend_undo_add(struct backend *b);

/* Settings that are to replace those of `b`, as for servers; its servers stay. */
struct backend_settings *backend_prepare_change(struct backend *b, const struct config_backend *config,
						int *err);
void backend_commit_change(struct server_updates *u, struct backend_settings *v);
void backend_undo_change(struct backend_settings *v);

/* 0 or -ENOMEM. */
int backend_prepare_remove(struct backend *b);
/* With all its servers, which clients on their way to it still find. No frontend leads to it any more, and no
 * other change of it is prepared. */
void backend_remove(struct server_updates *u, struct backend *b);
void backend_undo_remove(struct backend *b);

#endif
