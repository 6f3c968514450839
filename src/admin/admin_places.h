/* SPDX-License-Identifier: MIT
 *
 * admin_places.h - who has a place at the admin socket, and who must leave when there is none.
 *
 * Root and our own user are trusted. Others have ADMIN_OTHERS_MAX of the ADMIN_CLIENTS_MAX places. Nobody
 * loses a place while there is one for whoever comes. When there is none, newcomers wait in the kernel's
 * backlog until a place is free, or for ADMIN_TURN_S, so that a crowd that behaves is served one after the
 * other. Then up to ADMIN_TURN_CLIENTS of them come in. Each takes the place
 *   of the one among the others who has the most places; so a user who fills them loses his own to the next;
 *   of a trusted connection only when it is trusted itself and there are no others;
 * and of these places that of the connection which has made no progress for the longest time. An idle prompt
 * goes after those that are stuck in a request or an answer.
 *
 * Chooses only: admin.c closes. Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_PLACES_H
#define WEIR_ADMIN_ADMIN_PLACES_H

#include <stdbool.h>

#include "admin_client.h"

#define ADMIN_OTHERS_MAX      12 /* of ADMIN_CLIENTS_MAX */
#define ADMIN_ONE_PROMPTS_MAX 4  /* of ADMIN_PROMPTS_MAX, for one of the others */
#define ADMIN_TURN_S          0.2
#define ADMIN_TURN_CLIENTS    ADMIN_OTHERS_MAX

/* May the next newcomer cost somebody his place? */
bool admin_places_full(const struct admin *a);
/* A place for `peer`: a free one, or that of a connection to be closed; NULL when there is none for it. */
struct client *admin_places_find(struct admin *a, const struct admin_peer *peer);
/* A free place for a peer that is only told why it may not come in; NULL: it is told so and closed. */
struct client *admin_places_find_spare(struct admin *a);
/* May `c` begin a prompt? `*victim`: the prompt to be closed for it, or NULL. */
bool admin_places_prompt(struct client *c, struct client **victim);
/* It has sent or taken bytes, or been served. */
void admin_places_progress(struct client *c);
/* For how many seconds it has not. */
double admin_places_idle_s(const struct client *c);

#endif
