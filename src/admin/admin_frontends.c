/* SPDX-License-Identifier: MIT
 *
 * admin_frontends.c - the commands that take a frontend out of service and back, in HAProxy's syntax.
 *
 * Success prints nothing, and is logged. Main thread.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/entry/halt.h"

#define WORD_MAX  256
#define NAMES_MAX 10u /* in an error */

static void refuse_name(const struct admin_call *c, const char *name)
{
	const char *sign = "; available: ";
	char word[WORD_MAX];
	struct text names;
	size_t count = 0;

	text_init(&names);
	entries_foreach_frontend(&c->ctx->engine->entries, fe) {
		if (count++ < NAMES_MAX)
			text_printf(&names, "%s%s", sign, fe->config->name);
		sign = ", ";
	}
	if (count > NAMES_MAX)
		text_printf(&names, " and %zu more", count - NAMES_MAX);
	log_escape(name, strlen(name), word, sizeof(word));
	admin_refuse(c, "No such frontend.", "no frontend '%s'%s", word,
		     names.failed || names.len == 0 ? "" : names.bytes);
	text_free(&names);
}

/* As in HAProxy, "#N" is a number. */
static struct frontend *frontend_named(const struct entries *e, const char *name)
{
	unsigned iid;

	if (name[0] != '#' || !admin_read_number(name + 1, INT_MAX, &iid))
		return entries_find(e, name);
	entries_foreach_frontend(e, fe) {
		if (fe->iid == iid)
			return fe;
	}
	return NULL;
}

struct frontend *admin_find_frontend(const struct admin_call *c, const char *name)
{
	struct frontend *fe = frontend_named(&c->ctx->engine->entries, name);

	if (name[0] == '\0')
		admin_refuse(c, "A frontend name is expected.", "write the name of a frontend");
	else if (fe == NULL)
		refuse_name(c, name);
	return fe;
}

/* ---- out of service ---- */

static unsigned count_addresses(const struct frontend *fe)
{
	unsigned n = 0;

	frontend_foreach_endpoint(fe, ep)
		n += endpoint_belongs(ep);
	return n;
}

static void log_change(const struct admin_call *c, const struct frontend *fe, const char *what,
		       const char *addresses)
{
	const struct mark by = {.by = c->peer->uid};
	const unsigned count = count_addresses(fe);
	char who[MARK_WHO_MAX];

	log_line(LOG_LEVEL_NOTICE, "frontend %s: %s by %s over the admin socket; %u address%s %s",
		 fe->config->name, what, mark_who(&by, who), count, count == 1 ? "" : "es", addresses);
}

void admin_disable_frontend(const struct admin_call *c)
{
	const struct mark by = mark_now(c->peer->uid);
	struct frontend *fe = admin_find_frontend(c, c->args[0]);

	if (fe == NULL)
		return;
	switch (fe->admin) {
	case FRONTEND_ADMIN_SHUT:
		admin_refuse(c, "Frontend was previously shut down, cannot disable.",
			     "frontend '%s' is shut down", fe->config->name);
		return;
	case FRONTEND_ADMIN_DISABLED:
		admin_refuse(c, "All sockets are already disabled.", "frontend '%s' is already disabled",
			     fe->config->name);
		return;
	case FRONTEND_ADMIN_READY:
		break;
	}
	entries_disable(&c->ctx->engine->entries, fe, &by, clock_mono_ns());
	log_change(c, fe, "disabled", "left until it is enabled");
}

void admin_shutdown_frontend(const struct admin_call *c)
{
	const struct mark by = mark_now(c->peer->uid);
	struct frontend *fe = admin_find_frontend(c, c->args[0]);

	if (fe == NULL)
		return;
	if (fe->admin == FRONTEND_ADMIN_SHUT) {
		admin_refuse(c, "Frontend was already shut down.", "frontend '%s' is already shut down",
			     fe->config->name);
		return;
	}
	entries_shut_down(&c->ctx->engine->entries, fe, &by, clock_mono_ns());
	log_change(c, fe, "shut down", "left until a reload finds its section changed");
}

/* ---- back ---- */

static void refuse_enable(const struct admin_call *c, const struct frontend *fe,
			  const struct endpoint *failed, int err)
{
	const char *haproxy = "Failed to resume frontend, check logs for precise cause (port conflict?).";
	char address[ADDR_TEXT_MAX] = "its addresses";

	if (err == -ESHUTDOWN) {
		admin_refuse(c, haproxy, "frontend '%s' stays disabled: the daemon is stopping",
			     fe->config->name);
		return;
	}
	if (failed != NULL)
		(void)addr_format(&failed->addr, address);
	log_line(LOG_LEVEL_ERROR,
		 "frontend %s: cannot be enabled: cannot listen on %s: %s; it stays disabled",
		 fe->config->name, address, strerrordesc_np(-err));
	admin_refuse(c, haproxy, "frontend '%s' stays disabled: cannot listen on %s: %s", fe->config->name,
		     address, strerrordesc_np(-err));
}

void admin_enable_frontend(const struct admin_call *c)
{
	static const struct unlisten_rights none = {.raise = NULL};
	const struct unlisten_rights *rights = c->ctx->bind_rights != NULL ? c->ctx->bind_rights : &none;
	struct frontend *fe = admin_find_frontend(c, c->args[0]);
	const struct endpoint *failed;
	int err;

	if (fe == NULL)
		return;
	switch (fe->admin) {
	case FRONTEND_ADMIN_SHUT:
		admin_refuse(c, "Frontend was previously shut down, cannot enable.",
			     "frontend '%s' is shut down; change its section and reload, or restart the "
			     "daemon", fe->config->name);
		return;
	case FRONTEND_ADMIN_READY:
		admin_refuse(c, "All sockets are already enabled.", "frontend '%s' is already enabled",
			     fe->config->name);
		return;
	case FRONTEND_ADMIN_DISABLED:
		break;
	}
	err = entries_enable(&c->ctx->engine->entries, fe, rights, &failed);
	if (err)
		refuse_enable(c, fe, failed, err);
	else
		log_change(c, fe, "enabled",
			   fe->is_away ? "left until a server is up" : "taken again");
}
