/* SPDX-License-Identifier: MIT
 *
 * payload.c - which bytes of a session count as its client's.
 *
 * A worker's thread.
 */
#include "payload.h"

#include "extra.h"
#include "session.h"

uint64_t payload_to_server(const struct session *s)
{
	const uint64_t sent = s->flows[FLOW_TO_SERVER].bytes_out;
	const uint32_t ours = s->extra != NULL ? s->extra->header_sent : 0;

	return sent > ours ? sent - ours : 0;
}
