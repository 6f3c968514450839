/* SPDX-License-Identifier: MIT
 *
 * server_words.h - one server in the words of HAProxy's `add server`.
 *
 * Translates them into the words of a server line of ours and has those parsed as in a file, so that the same
 * limits and combinations hold. Variables and quotes mean nothing: the words come from a socket. As in
 * HAProxy, only what is said holds: the section's `check` and `send-proxy` do not apply, but the times and
 * counts of its checks do. Control thread.
 */
#ifndef WEIR_SETTINGS_SERVER_WORDS_H
#define WEIR_SETTINGS_SERVER_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/config/arena.h"
#include "weir/config/config.h"

/* Must not be moved or copied until it is freed. */
struct server_words {
	struct config_server config; /* borrows from `memory` */
	struct addr check_addr;      /* `addr`: where its checks go; `len` 0 = to the server */
	bool enabled;                /* `enabled`: it is ready at once */
	const char *haproxy;         /* why it was refused, as HAProxy says it; borrows from `memory` */
	const char *ours;            /* the same with what to do */
	struct arena memory;         /* owns */
};

/* Reads the server `name` of `b` from `words`, of which the first is its address. With `ours`, words of a
 * server line of ours ("weight=2") are taken, too. Overwrites `w`; borrows nothing. 0; -EINVAL, with the
 * reasons; -ENOMEM. Free `w` in any case. */
int server_words_read(struct server_words *w, const struct config_backend *b, const char *name,
		      const char *const *words, size_t count, bool ours);
void server_words_free(struct server_words *w);

#endif
