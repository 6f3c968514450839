/* SPDX-License-Identifier: MIT
 *
 * server_parts.h - what backend.c needs of server.c; nobody else includes it. Control thread. Floor 3.
 */
#ifndef SLUICE_BALANCE_SERVER_PARTS_H
#define SLUICE_BALANCE_SERVER_PARTS_H

#include "sluice/balance/server.h"

/* Begins the server `index` of `owner`; publishes nothing. 0 or -ENOMEM. */
int server_init(struct server *s, struct backend *owner, unsigned index);
void server_free(struct server *s);

#endif
