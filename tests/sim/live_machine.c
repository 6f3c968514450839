/* SPDX-License-Identifier: MIT
 *
 * live_machine.c - what a reload asks of the rest of the daemon, and of the machine, beside the engine.
 *
 * Stands in the place of what a reload prepares of limits, checks, names and logs; some of it fails now and
 * then. Owns nothing. One thread. Tests only.
 */
#include <errno.h>
#include <stdio.h>

#include "model.h"
#include "reload/apply_work.h"
#include "reload/plan_parts.h"
#include "weir/host/refusal.h"
#include "weir/host/socket_preflight.h"

#define REFUSED 8 /* percent of the times that checks cannot be prepared */

int plan_logs(struct plan *p, const struct logwriter *w)
{
	(void)p;
	(void)w;
	return 0;
}

void plan_global(struct plan *p, const struct plan_input *in)
{
	(void)p;
	(void)in;
}

int work_prepare_limits(struct work *w)
{
	(void)w;
	return 0;
}

/* By then backends are prepared. */
int work_prepare_services(struct work *w)
{
	return prng_chance(&model.rng, REFUSED) ? work_refuse(w, -EMFILE, "cannot check more servers") : 0;
}

/* There are no sets, and nothing that looks up names. */
int work_validate_sets(const struct work *w)
{
	(void)w;
	return 0;
}

int work_prepare_set(struct work *w, struct backend *b, const struct plan_server *s)
{
	(void)w;
	(void)b;
	(void)s;
	return 0;
}

int work_prepare_sets(struct work *w, struct backend *b)
{
	(void)w;
	(void)b;
	return 0;
}

int work_prepare_logs(struct work *w)
{
	(void)w;
	return 0;
}

int privileges_raise_bind(const struct privileges *p)
{
	(void)p;
	return 0;
}

void privileges_lower_bind(const struct privileges *p)
{
	(void)p;
}

int socket_preflight_backend(const struct config_backend *b, char *why, size_t room)
{
	(void)b;
	(void)why;
	(void)room;
	return 0;
}

void refusal_of_servers(const struct config_backend *b, const char *reason, char *why, size_t room)
{
	(void)b;
	(void)reason;
	(void)why;
	(void)room;
}

void refusal_of_bind(const struct refusal_bind *r, char *why, size_t room)
{
	(void)snprintf(why, room, "a bind is refused: %d", r->err); /* there is room */
}
