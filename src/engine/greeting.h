/* SPDX-License-Identifier: MIT
 *
 * greeting.h - our PROXY header: the first bytes to a server that wants one.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_GREETING_H
#define WEIR_ENGINE_GREETING_H

#include <stdbool.h>

struct session;

/* The session is connected: puts our header, if its server gets one, at the front of the flow to the server,
 * followed by the bytes that came after the client's header. False: the session is closing. */
bool greeting_say(struct session *s);

#endif
