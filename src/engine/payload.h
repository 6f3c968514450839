/* SPDX-License-Identifier: MIT
 *
 * payload.h - which bytes of a session count as its client's.
 *
 * Our own PROXY header is in the flow's accounting, but in no figure that a person sees. A worker's thread.
 */
#ifndef WEIR_ENGINE_PAYLOAD_H
#define WEIR_ENGINE_PAYLOAD_H

#include <stdint.h>

struct session;

/* Bytes of the client that went to the server: all bytes except our header. */
uint64_t payload_to_server(const struct session *s);
/* Bytes that splice moved, in both directions, and that have left us. */
uint64_t payload_spliced(const struct session *s);

#endif
