/* SPDX-License-Identifier: MIT
 *
 * parts.h - what the sources of this room need of each other. Control thread.
 */
#ifndef WEIR_ENTRY_PARTS_H
#define WEIR_ENTRY_PARTS_H

#include "weir/entry/entries.h"

/* Puts `ep` into its frontend, in front of `before`, and lets workers find it. */
void entries_publish(struct entries *e, struct endpoint *ep, struct list *before);
/* Workers do not find it any more. */
void entries_withdraw(struct entries *e, struct endpoint *ep);
/* What no worker can find any more: frees it when nobody uses it. */
void endpoint_settings_retire(struct endpoint_settings *s);

/* Its socket hears again, if it leaves. 0 or -errno. */
int endpoint_hear(struct endpoint *ep);
/* The opposite, for one that leaves on. */
void endpoint_stop_hearing(struct endpoint *ep);
/* Workers leave it. */
void endpoint_leave_now(struct endpoint *ep, enum endpoint_order order);

/* ---- frontend.c ---- */

/* Makes the tables of sources that `config` needs and the frontend lacks. 0, or -ENOMEM with none made. */
int frontend_make_tables(const struct frontend *fe, const struct config_frontend *config,
			 struct frontend_tables *t);
/* Gives them to the frontend, for good; frees those that another change has brought meanwhile. */
void frontend_take_tables(struct frontend *fe, struct frontend_tables *t);
void frontend_free_tables(struct frontend_tables *t);

/* ---- unlisten.c ---- */

/* Does `unlisten = no-server` allow it to listen now? */
bool frontend_has_server(const struct frontend *fe);

/* ---- frontend_limit.c ---- */

/* That of the file holds again; frontend_set_limit() is to follow. */
void frontend_forget_override(struct frontend *fe);

/* ---- endpoint_options.c ---- */

/* What is to be set on the socket of `ep` for the bind `b` of `fe`: tries it and gives it in `*o`, NULL if
 * there is nothing to do. 0, or -errno with `*refused`. */
int endpoint_plan_options(struct endpoint_options **o, struct endpoint *ep, const struct config_frontend *fe,
			  const struct config_bind *b, enum sock_option *refused);
/* Sets them; a failure is logged. Frees `o`, which may be NULL. */
void endpoint_set_options(struct endpoint *ep, struct endpoint_options *o);

/* ---- overlap.c ---- */

/* endpoint_bind(), beside sockets of ours where the address overlaps; listens unless a transaction is open.
 * 0, or -errno with `error`. */
int endpoint_bind_beside(struct entries *e, struct endpoint *ep, struct entry_error *error);

/* ---- takeover.c ---- */

/* Prepares `ep`, which has no socket, to take over that of `from`. 0, or -errno with `error`. */
int endpoint_take(struct endpoint *ep, struct endpoint *from, struct entry_error *error);
/* From now on it has it; publish it after this. Harmless for one that takes over nothing. */
void endpoint_commit_take(struct endpoint *ep);
/* Nobody comes from it, or goes to it, any more: undoes a takeover that is only prepared. */
void endpoint_forget_take(struct endpoint *ep);

#endif
