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

static int copy_text(char **to, const char *from)
{
	*to = from != NULL ? strdup(from) : NULL;
	return *to != NULL || from == NULL ? 0 : -ENOMEM;
}

int log_settings_copy(struct config_log *to, const struct config_log *from)
{
	const struct config_log usual = {.kind = CONFIG_LOG_AUTO, .level = LOG_LEVEL_INFO};

	if (from == NULL)
		from = &usual;
	*to = *from;
	to->place = (struct config_place){0}; /* it borrows the name of a file */
	to->path = NULL;
	to->format = NULL;
	if (copy_text(&to->path, from->path) == 0 && copy_text(&to->format, from->format) == 0)
		return 0;
	log_settings_free(to);
	return -ENOMEM;
}

void log_settings_free(struct config_log *c)
{
	free(c->path);
	c->path = NULL;
	free(c->format);
	c->format = NULL;
}

static bool same_format(const struct config_log *a, const struct config_log *b)
{
	return strcmp(a->format != NULL ? a->format : "text", b->format != NULL ? b->format : "text") == 0;
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

/* What a name is resolved to does not count. */
static bool same_target(const struct addr_spec *a, const struct addr_spec *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind != ADDR_NAME)
		return same_address(&a->addr, &b->addr);
	return a->port == b->port && a->family == b->family && strcmp(a->host, b->host) == 0;
}

bool log_settings_equal(const struct config_log *a, const struct config_log *b)
{
	if (kind_of(a) != kind_of(b))
		return false;
	if (a->kind == CONFIG_LOG_OFF)
		return true;
	if (a->level != b->level || !same_format(a, b))
		return false;
	if (a->kind == CONFIG_LOG_FILE)
		return strcmp(a->path, b->path) == 0;
	return a->kind != CONFIG_LOG_SYSLOG ||
	       (a->facility == b->facility && same_target(&a->address, &b->address));
}
