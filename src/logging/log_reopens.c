/* SPDX-License-Identifier: MIT
 *
 * log_reopens.c - opening all log files again, for rotation: how often that was requested, and reported.
 *
 * A target that came later counts as if it had been there for the requests before it. Main thread.
 */
#include "log_reopens.h"

#include <stdbool.h>

static bool is_file(const struct log_target *t)
{
	return t->is_file && t->file != NULL;
}

void log_reopens_ask(struct log_reopens *r, struct log_outlets *all)
{
	r->asked++;
	log_outlets_foreach(all, o)
		(void)log_target_reopen(&o->target); /* a socket has nothing to reopen */
	log_reopens_tell(r, all);
}

void log_reopens_tell(struct log_reopens *r, const struct log_outlets *all)
{
	unsigned done = r->asked;
	bool failed = false;
	int err;

	log_outlets_foreach(all, o) {
		const unsigned opened =
			is_file(&o->target) ? o->reopens_before + log_target_opened(&o->target, &err) : done;

		done = opened < done ? opened : done;
	}
	if (done == r->told)
		return;
	log_outlets_foreach(all, o)
		failed = (is_file(&o->target) && !log_target_tell_opened(&o->target)) || failed;
	for (; r->told != done; r->told++)
		if (!failed)
			log_line(LOG_LEVEL_INFO, "SIGUSR1: log files opened again");
}
