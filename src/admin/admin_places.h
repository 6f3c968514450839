/* SPDX-License-Identifier: MIT
 *
 * admin_places.h - who has a place at the admin socket, and who must leave when there is none.
 *
 * Root and our own user are trusted. All others share ADMIN_OTHERS_MAX of the ADMIN_CLIENTS_MAX places. While
 * all places or all of the others' are taken, newcomers, trusted ones too, wait in the kernel's backlog, so
 * that well-behaved clients are served in turn. If no place is free after ADMIN_TURN_S, up to
 * ADMIN_TURN_CLIENTS newcomers take the places of others. The loser is
 *   the untrusted user with the most places, so a user who fills them loses his own to the next one;
 *   or a trusted connection, but only if there is no untrusted one, and only to a trusted newcomer.
 * Its connection without progress for the longest time leaves, but an idle prompt only if none is stuck in a
 * request or an answer, and one that waits for a worker only ADMIN_ASKING_S after its line has come: on a
 * busy machine the workers may be late, which is not its fault. Nor does one whose first bytes have come, but
 * have not been read yet.
 *
 * Only chooses: admin.c closes. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_PLACES_H
#define WEIR_ADMIN_ADMIN_PLACES_H

#include <stdbool.h>

#include "admin_client.h"

#define ADMIN_OTHERS_MAX      12 /* of ADMIN_CLIENTS_MAX */
#define ADMIN_ONE_PROMPTS_MAX 4  /* of ADMIN_PROMPTS_MAX, for one untrusted user */
#define ADMIN_TURN_S          0.2
#define ADMIN_TURN_CLIENTS    ADMIN_OTHERS_MAX
#define ADMIN_ASKING_S	      1.

/* Might there be no free place for the next newcomer, so that it would take someone else's? */
bool admin_places_full(const struct admin *a);
/* Is there anybody whose place a newcomer may take? */
bool admin_places_may_end(const struct admin *a);
/* A place for `peer`: a free one, or that of a connection to be closed; NULL if there is none for it. */
struct client *admin_places_find(struct admin *a, const struct admin_peer *peer);
/* A free place for a refused peer while it reads the reason. NULL: send the reason and close. */
struct client *admin_places_find_spare(struct admin *a);
/* May `c` start a prompt? `*victim` is the prompt to be closed for it, or NULL. */
bool admin_places_prompt(struct client *c, struct client **victim);
/* The client has sent or read bytes, or has been served. */
void admin_places_progress(struct client *c);
/* Seconds since its last progress. */
double admin_places_idle_s(const struct client *c);

#endif
