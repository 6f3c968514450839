/* SPDX-License-Identifier: MIT
 *
 * admin_make.h - the answer to one line of a client, generated in pieces.
 *
 * Knows commands and workers, but no socket: admin.c writes each piece before it requests the next one, so
 * only one piece is in memory. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_MAKE_H
#define WEIR_ADMIN_ADMIN_MAKE_H

#include <stdbool.h>

struct client;

/* Begins the answer to the line at the beginning of `c->request`, which ends with a NUL. */
void admin_make_begin(struct client *c);
/* Answers a request that is not a line, which may be incomplete: "error: `why`; try help". */
void admin_make_refusal(struct client *c, const char *why);
/* Continues the answer, which must be empty: runs commands until there is enough to write or the answer is
 * complete. True if there is nothing to write yet: a worker is being asked, and the consumer of `c->asked`
 * will be called; or there is a `c->asker`, and on_client() will be called when there is more of the
 * answer. */
bool admin_make(struct client *c);

#endif
