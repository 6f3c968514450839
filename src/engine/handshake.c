/* SPDX-License-Identifier: MIT
 *
 * handshake.c - PROXY headers: the client's, before anything else, and ours, first of all to a server.
 *
 * A worker's thread. Floor 4.
 */
#include "sluice/engine/handshake.h"

#include "sluice/base/check.h"
#include "sluice/engine/session.h"

bool handshake_start(struct session *s)
{
	(void)s;
	return false;
}

void handshake_read_done(struct session *s, int result)
{
	(void)s;
	(void)result;
	check(!"no header is ever waited for");
}

bool handshake_say(struct session *s)
{
	(void)s;
	return true;
}

void handshake_drop(struct session *s)
{
	(void)s;
}
