/* SPDX-License-Identifier: MIT
 *
 * frontend_limit.c - the maxconn of a frontend: its own, that of the process, or one set at run time.
 *
 * Owns which of them holds. Control thread.
 */
#include "weir/entry/halt.h"
#include "parts.h"

static unsigned limit_of_file(const struct frontend *fe)
{
	return fe->own_limit > 0 ? fe->own_limit : fe->entries->maxconn;
}

/* A higher limit wakes those that wait for it. */
static void use_limit(struct frontend *fe)
{
	const unsigned limit = fe->is_limit_set ? fe->set_limit : limit_of_file(fe);

	if (atomic_exchange(&fe->limit, limit) < limit)
		paused_wake_all(&fe->paused);
}

void frontend_set_limit(struct frontend *fe, unsigned own)
{
	fe->own_limit = own;
	use_limit(fe);
}

void frontend_forget_override(struct frontend *fe)
{
	fe->is_limit_set = false;
	mark_clear(&fe->marks[FRONTEND_MARK_MAXCONN]);
}

void frontend_override_limit(struct frontend *fe, unsigned maxconn, const struct mark *by)
{
	fe->is_limit_set = maxconn != limit_of_file(fe);
	fe->set_limit = maxconn;
	if (fe->is_limit_set)
		fe->marks[FRONTEND_MARK_MAXCONN] = *by;
	else
		frontend_forget_override(fe);
	use_limit(fe);
}

bool frontend_limit_stays(const struct frontend *fe, const struct config_frontend *next)
{
	return next->maxconn == fe->config->maxconn;
}

void entries_set_maxconn(struct entries *e, unsigned maxconn)
{
	e->maxconn = maxconn;
	entries_foreach_frontend(e, fe)
		frontend_set_limit(fe, fe->own_limit);
	for (struct list *l = e->leaving.next; l != &e->leaving; l = l->next) {
		struct frontend *fe = list_entry(l, struct frontend, link);

		frontend_set_limit(fe, fe->own_limit);
	}
}
