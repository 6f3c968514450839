/* SPDX-License-Identifier: MIT
 *
 * queue.c - who waits for a place at a server: first come, first served, across workers.
 *
 * Any thread. Floor 3.
 */
#include "sluice/balance/queue.h"

#include <errno.h>
#include <stdlib.h>

#include "sluice/balance/backend.h"
#include "sluice/base/check.h"

int queue_init(struct queue *q, size_t servers)
{
	spinlock_init(&q->lock);
	list_init(&q->any);
	q->of_server = calloc(servers + 1, sizeof(*q->of_server));
	if (q->of_server == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < servers; i++)
		list_init(&q->of_server[i]);
	return 0;
}

void queue_free(struct queue *q)
{
	free(q->of_server);
	q->of_server = NULL;
}

void queue_grants_init(struct queue_grants *g, void (*wake)(void *arg), void *arg)
{
	spinlock_init(&g->lock);
	list_init(&g->waiters);
	g->wake = wake;
	g->arg = arg;
}

int queue_enter(struct backend *b, struct waiter *w, struct server *server, struct queue_grants *g)
{
	(void)b;
	(void)w;
	(void)server;
	(void)g;
	return -EBUSY;
}

void queue_leave(struct waiter *w)
{
	(void)w;
}

struct waiter *queue_take_granted(struct queue_grants *g)
{
	(void)g;
	return NULL;
}

void queue_serve(struct server *s)
{
	(void)s;
}

void queue_rearrange(struct backend *b)
{
	(void)b;
}

bool queue_is_waiting(const struct backend *b)
{
	return atomic_load(&b->queue.waiting_any) > 0;
}
