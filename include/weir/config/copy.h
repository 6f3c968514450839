/* SPDX-License-Identifier: MIT
 *
 * copy.h - copies of parts of a snapshot that outlive it.
 *
 * A copy is self-contained: every pointer in it points into the copy's own memory, down to texts, sets of
 * networks and routes; only certificates and the lists of files are shared, and it has references of its own
 * to them. It differs from the original only in what is left out, which is 0: the binds of a frontend and
 * the servers of a backend, which are copied one by one, and `origins`. `place` is copied, so that a message
 * can say where the original was written; a newer snapshot may have it on another line and still be the same
 * (same.h). `backend` of a frontend and of its routes is an index into the backends of the snapshot that the
 * original is in; it means nothing to any other.
 *
 * Each function returns NULL when out of memory, with nothing left behind. Free a copy with its own function,
 * once; NULL is allowed. Any thread, if the original does not change.
 */
#ifndef WEIR_CONFIG_COPY_H
#define WEIR_CONFIG_COPY_H

#include "weir/config/arena.h"
#include "weir/config/config.h"

struct config_frontend *config_frontend_copy(const struct config_frontend *original);
void config_frontend_copy_free(struct config_frontend *copy);

struct config_backend *config_backend_copy(const struct config_backend *original);
void config_backend_copy_free(struct config_backend *copy);

struct config_server *config_server_copy(const struct config_server *original);
void config_server_copy_free(struct config_server *copy);

struct config_bind *config_bind_copy(const struct config_bind *original);
void config_bind_copy_free(struct config_bind *copy);

struct config_check *config_check_copy(const struct config_check *original);
void config_check_copy_free(struct config_check *copy);

/* Room for a reference to certificates, which `a` gives back when it ends. */
struct tls_trust **config_trust_room(struct arena *a);
/* Another reference to `trust`, likewise. NULL is harmless. */
struct tls_trust *config_trust_hold(struct arena *a, struct tls_trust *trust);

/* The same for the list of a file. */
struct list_file **config_list_room(struct arena *a);
struct list_file *config_list_hold(struct arena *a, struct list_file *list);

struct config_log *config_log_copy(const struct config_log *original);
void config_log_copy_free(struct config_log *copy);

#endif
