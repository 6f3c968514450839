/* SPDX-License-Identifier: MIT
 *
 * handshake.h - PROXY headers: the client's, before anything else, and ours, first of all to a server.
 *
 * A worker's thread.
 */
#ifndef WEIR_ENGINE_HANDSHAKE_H
#define WEIR_ENGINE_HANDSHAKE_H

#include <stdbool.h>
#include <stdint.h>

struct session;

/* A session has just begun; its peer was not turned away (admission.h). True when its client must send a
 * PROXY header first: admission_enter() is called when the header is complete, and the session is closed when
 * none arrives. */
bool handshake_start(struct session *s);
/* The session is connected: puts our header, if its server gets one, and then the bytes that came behind the
 * client's header, in front of the flow to the server. False: the session is closing. */
bool handshake_say(struct session *s);
/* No header is read any more, as the server has been told or the session ends: gives their memory back. */
void handshake_drop(struct session *s);

#endif
