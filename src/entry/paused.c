/* SPDX-License-Identifier: MIT
 *
 * paused.c - the listeners that wait for one limit to leave room.
 *
 * Owns the order in which they are woken. No callback runs with the lock held. Any thread.
 */
#include "weir/entry/paused.h"

#include "weir/base/check.h"

void paused_init(struct paused *p)
{
	spinlock_init(&p->lock);
	list_init(&p->list);
	atomic_init(&p->count, 0);
}

void paused_join(struct paused *p, struct paused_one *one)
{
	spinlock_lock(&p->lock);
	check(list_empty(&one->link));
	list_push_back(&p->list, &one->link);
	atomic_fetch_add(&p->count, 1);
	spinlock_unlock(&p->lock);
}

void paused_leave(struct paused *p, struct paused_one *one)
{
	int before;

	spinlock_lock(&p->lock);
	check(!list_empty(&one->link));
	list_remove(&one->link);
	before = atomic_fetch_sub(&p->count, 1);
	spinlock_unlock(&p->lock);
	check(before > 0);
}

void paused_wake_one(struct paused *p)
{
	void (*wake)(void *arg) = NULL;
	void *arg = NULL;

	if (paused_is_empty(p))
		return;
	spinlock_lock(&p->lock);
	if (!list_empty(&p->list)) {
		struct paused_one *one = list_entry(p->list.next, struct paused_one, link);

		wake = one->wake;
		arg = one->arg;
		list_remove(&one->link);
		list_push_back(&p->list, &one->link);
	}
	spinlock_unlock(&p->lock);
	if (wake != NULL)
		wake(arg);
}

void paused_wake_all(struct paused *p)
{
	for (int n = atomic_load(&p->count); n > 0; n--)
		paused_wake_one(p);
}
