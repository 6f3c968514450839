/* SPDX-License-Identifier: MIT
 *
 * shared.c - things that are made once for all that want the same. Any thread.
 */
#include "weir/base/shared.h"

#include "weir/base/check.h"

/* Under the lock. */
static struct shared *hold_found(struct shared_set *set, const void *key)
{
	for (struct list *l = set->all.next; l != &set->all; l = l->next) {
		struct shared *s = list_entry(l, struct shared, link);

		if (!set->is(s, key))
			continue;
		s->references++;
		return s;
	}
	return NULL;
}

struct shared *shared_find(struct shared_set *set, const void *key)
{
	struct shared *s;

	pthread_mutex_lock(&set->lock);
	s = hold_found(set, key);
	pthread_mutex_unlock(&set->lock);
	return s;
}

struct shared *shared_publish(struct shared_set *set, struct shared *made, const void *key)
{
	struct shared *s;

	pthread_mutex_lock(&set->lock);
	s = hold_found(set, key);
	if (s == NULL) {
		s = made;
		s->references = 1;
		list_push_back(&set->all, &s->link);
	}
	pthread_mutex_unlock(&set->lock);
	return s;
}

void shared_hold(struct shared_set *set, struct shared *s)
{
	pthread_mutex_lock(&set->lock);
	check(s->references > 0);
	s->references++;
	pthread_mutex_unlock(&set->lock);
}

bool shared_drop(struct shared_set *set, struct shared *s)
{
	bool last;

	pthread_mutex_lock(&set->lock);
	check(s->references > 0);
	last = --s->references == 0;
	if (last)
		list_remove(&s->link);
	pthread_mutex_unlock(&set->lock);
	return last;
}
