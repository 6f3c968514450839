/* SPDX-License-Identifier: MIT
 *
 * admin_find.c - finds backends and servers by the names that an administrator types.
 *
 * The answer to an unknown name lists the valid ones. Main thread.
 */
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/check.h"
#include "weir/config/suggest.h"

/* Maximum names to list in an error. */
#define NAMES_MAX 10
#define WORD_MAX  256

/* The word in a form that is safe to write to a terminal. */
static const char *printable(const char *word, char buf[static WORD_MAX])
{
	log_escape(word, strlen(word), buf, WORD_MAX);
	return buf;
}

static void list_backends(const struct engine *e, struct text *out)
{
	const size_t count = e->backend_count;

	for (size_t i = 0; i < count && i < NAMES_MAX; i++)
		text_printf(out, "%s%s", i == 0 ? "; available: " : ", ", e->backends[i]->config->name);
	text_printf(out, count > NAMES_MAX ? " and %zu more\n" : "\n", count - NAMES_MAX);
}

static void list_servers(const struct backend *b, struct text *out)
{
	for (size_t i = 0; i < b->server_count && i < NAMES_MAX; i++)
		text_printf(out, "%s%s", i == 0 ? "; available: " : ", ", b->servers[i]->config->name);
	text_printf(out, b->server_count > NAMES_MAX ? " and %zu more\n" : "\n",
		    b->server_count - NAMES_MAX);
}

static struct backend *backend_named(const struct engine *e, const char *name, size_t len)
{
	for (size_t i = 0; i < e->backend_count; i++) {
		const char *own = e->backends[i]->config->name;

		if (strlen(own) == len && memcmp(own, name, len) == 0)
			return e->backends[i];
	}
	return NULL;
}

struct backend *admin_find_backend(const struct admin_call *c, const char *name)
{
	struct backend *b = backend_named(c->ctx->engine, name, strlen(name));
	char word[WORD_MAX];

	if (b != NULL)
		return b;
	text_printf(c->out, "error: no backend '%s'", printable(name, word));
	list_backends(c->ctx->engine, c->out);
	return NULL;
}

struct server *admin_find_server(const struct admin_call *c, const char *name)
{
	const char *slash = strchr(name, '/');
	struct backend *b;
	char word[WORD_MAX];

	if (slash == NULL) {
		text_printf(c->out, "error: '%s' is not a server; write BACKEND/SERVER\n",
			    printable(name, word));
		return NULL;
	}
	b = backend_named(c->ctx->engine, name, (size_t)(slash - name));
	if (b == NULL) {
		/* Show only the part before the slash. */
		(void)printable(name, word);
		word[strcspn(word, "/")] = '\0';
		text_printf(c->out, "error: no backend '%s'", word);
		list_backends(c->ctx->engine, c->out);
		return NULL;
	}
	for (size_t i = 0; i < b->server_count; i++)
		if (strcmp(b->servers[i]->config->name, slash + 1) == 0)
			return b->servers[i];
	text_printf(c->out, "error: no server '%s' in backend '%s'", printable(slash + 1, word),
		    b->config->name);
	list_servers(b, c->out);
	return NULL;
}

unsigned admin_proxy_iid(const struct engine *e, const char *name)
{
	const struct frontend *fe = entries_find(&e->entries, name);
	const struct backend *b = fe == NULL ? backend_named(e, name, strlen(name)) : NULL;

	if (fe != NULL)
		return fe->iid;
	return b != NULL ? b->iid : 0;
}
