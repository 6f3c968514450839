/* SPDX-License-Identifier: MIT
 *
 * name_watch.c - one name that is looked up again and again.
 *
 * Owns its wish. Control thread.
 */
#include "weir/names/name_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct name_watch {
	struct name_wish wish;
	char host[256];
};

struct name_watch *name_watch_new(struct resolver *r, const struct name_wish *wish, int *err)
{
	struct name_watch *w;
	const size_t len = strlen(wish->host);

	(void)r;
	*err = wish->kind == NAME_SRV ? -ENOSYS : len >= sizeof(w->host) ? -EINVAL : -ENOMEM;
	w = *err == -ENOMEM ? calloc(1, sizeof(*w)) : NULL;
	if (w == NULL)
		return NULL;
	w->wish = *wish;
	memcpy(w->host, wish->host, len + 1);
	w->wish.host = w->host;
	*err = 0;
	return w;
}

void name_watch_start(struct name_watch *w)
{
	(void)w;
}

void name_watch_set_terms(struct name_watch *w, const struct name_terms *terms)
{
	w->wish.terms = *terms;
}

void name_watch_free(struct name_watch *w)
{
	free(w);
}
