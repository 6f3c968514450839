/* SPDX-License-Identifier: MIT
 *
 * admin_make.h - the answer to one line of a client, made a piece at a time.
 *
 * Knows commands and workers, but no socket: admin.c writes what is made here, and then wants more. So no
 * more than a piece is in memory. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_MAKE_H
#define WEIR_ADMIN_ADMIN_MAKE_H

#include <stdbool.h>

struct client;

/* Goes on with the answer, which is empty: runs commands until there is enough to be written, or it is whole.
 * True when there is nothing to be written yet, because a worker is waited for: the consumer of
 * `c->asked` will be called. */
bool admin_make(struct client *c);

#endif
