/* SPDX-License-Identifier: MIT
 *
 * queueing.c - a session waits for a place at a server.
 *
 * A worker's thread. Floor 4.
 */
#include "sluice/engine/queueing.h"

#include "sluice/engine/session.h"
#include "sluice/engine/worker.h"

void queueing_wait(struct session *s, struct server *server)
{
	(void)server;
	session_close(s, CLOSE_QUEUE_FULL);
}

void queueing_leave(struct session *s)
{
	(void)s;
}

void queueing_take(struct worker *w)
{
	(void)w;
}
