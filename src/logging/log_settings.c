/* SPDX-License-Identifier: MIT
 *
 * log_settings.c - a target's own copy of its line in the configuration, which may be gone before it.
 *
 * Any thread.
 */
#include "log_settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/log.h"
#include "weir/net/addr.h"

int log_settings_copy(struct config_log *to, const struct config_log *from)
{
	const struct config_log usual = {
		.kind = CONFIG_LOG_AUTO, .format = LOG_STYLE_TEXT, .level = LOG_LEVEL_INFO};

	*to = from != NULL ? *from : usual;
	to->place = (struct config_place){0}; /* it borrows the name of a file */
	if (to->path == NULL)
		return 0;
	to->path = strdup(to->path);
	return to->path != NULL ? 0 : -ENOMEM;
}

void log_settings_free(struct config_log *c)
{
	free(c->path);
	c->path = NULL;
}

static enum config_log_kind kind_of(const struct config_log *c)
{
	return c->kind == CONFIG_LOG_AUTO ? CONFIG_LOG_STDERR : c->kind;
}

/* With the scope, which addr_equal() ignores. */
static bool same_address(const struct addr *a, const struct addr *b)
{
	return a->len == b->len && memcmp(&a->sa, &b->sa, a->len) == 0;
}

bool log_settings_equal(const struct config_log *a, const struct config_log *b)
{
	if (kind_of(a) != kind_of(b))
		return false;
	if (a->kind == CONFIG_LOG_OFF)
		return true;
	if (a->level != b->level || a->format != b->format)
		return false;
	if (a->kind == CONFIG_LOG_FILE)
		return strcmp(a->path, b->path) == 0;
	return a->kind != CONFIG_LOG_SYSLOG ||
	       (a->facility == b->facility && same_address(&a->address.addr, &b->address.addr));
}
