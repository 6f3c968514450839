/* SPDX-License-Identifier: MIT
 *
 * unlisten.c - frontends with `unlisten = no-server` leave their addresses while no server is up.
 *
 * Decides who leaves and who comes back; how is the business of endpoint_leave.c. Control thread.
 */
#include "weir/entry/unlisten.h"

#include <string.h>

#include "weir/balance/backend.h"
#include "weir/balance/fallback.h"
#include "weir/balance/roster.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/sys/sys.h"
#include "parts.h"

#define RETRY_NS NS_PER_SEC

/* Somebody may get its clients, if only in a panic, or by way of a fallback. */
static bool has_server(const struct backend *b)
{
	return backend_roster(backend_serving(b))->count > 0;
}

bool frontend_has_server(const struct frontend *fe)
{
	const struct frontend_settings *s = fe->settings;

	if (s->config->unlisten != CONFIG_UNLISTEN_NO_SERVER || has_server(s->backend))
		return true;
	for (size_t i = 0; i < s->config->route_count; i++)
		if (has_server(s->routes[i]))
			return true;
	return false;
}

static void leave(struct entries *e, struct frontend *fe, int64_t now_ns)
{
	unsigned left = 0;

	frontend_foreach_endpoint(fe, ep) {
		if (ep->stage != ENDPOINT_OPEN || ep->inherited)
			continue;
		entries_go_away(e, ep, now_ns);
		left++;
	}
	if (left > 0)
		log_line(LOG_LEVEL_WARNING, "frontend %s: no server is up; %u address%s left until one is",
			 fe->config->name, left, left == 1 ? "" : "es");
	if (left > 0)
		fe->changed_ns = now_ns;
	fe->is_away |= left > 0;
}

static void complain(struct frontend *fe, const struct endpoint *ep, const struct entry_error *error)
{
	char text[ADDR_TEXT_MAX];

	if (fe->is_shut)
		return;
	log_line(LOG_LEVEL_ERROR,
		 "frontend %s: a server is up, but cannot listen on %s again: %s; will retry each second",
		 fe->config->name, addr_format(&ep->addr, text), strerrordesc_np(-error->err));
	fe->changed_ns = sys_now_ns();
	fe->is_shut = true;
}

/* Returns how many are away on. */
static unsigned come_back(struct entries *e, struct frontend *fe)
{
	unsigned back = 0, away = 0;

	frontend_foreach_endpoint(fe, ep) {
		struct entry_error error;

		if (!ep->away)
			continue;
		if (entries_come_back(e, ep, &error) == 0) {
			back++;
			continue;
		}
		complain(fe, ep, &error);
		away++;
	}
	if (back > 0)
		log_line(LOG_LEVEL_NOTICE, "frontend %s: %u address%s taken again", fe->config->name, back,
			 back == 1 ? "" : "es");
	if (away == 0)
		fe->changed_ns = sys_now_ns();
	fe->is_away = away > 0;
	fe->is_shut = away > 0;
	return away;
}

static unsigned come_back_with(struct entries *e, struct frontend *fe, const struct unlisten_rights *rights)
{
	unsigned away;

	if (!fe->is_away)
		return 0;
	/* Without the right, what needs it fails. */
	const bool raised = rights->raise == NULL || rights->raise(rights->arg) == 0;

	away = come_back(e, fe);
	if (raised && rights->lower != NULL)
		rights->lower(rights->arg);
	return away;
}

int64_t entries_unlisten(struct entries *e, const struct unlisten_rights *rights, int64_t now_ns)
{
	unsigned away = 0;

	if (e->ending || e->is_open)
		return CLOCK_NEVER;
	entries_foreach_frontend(e, fe) {
		if (fe->admin != FRONTEND_ADMIN_READY)
			continue; /* its addresses are left anyway */
		if (!frontend_has_server(fe))
			leave(e, fe, now_ns);
		else
			away += come_back_with(e, fe, rights);
	}
	return away > 0 ? now_ns + RETRY_NS : CLOCK_NEVER;
}
