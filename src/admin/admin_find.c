/* SPDX-License-Identifier: MIT
 *
 * admin_find.c - finds backends and servers by the names that an administrator types.
 *
 * As in HAProxy, "#N" is the number of a proxy or server. Our answer to an unknown name lists the valid ones.
 * Main thread.
 */
#include <string.h>

#include "weir/admin/admin_answers.h"
#include "weir/base/check.h"
#include "weir/config/suggest.h"

/* Maximum names to list in an error. */
#define NAMES_MAX 10
#define NAMES_LEN 2048
#define WORD_MAX  256

/* The word in a form that is safe to write to a terminal. */
static const char *printable(const char *word, char buf[static WORD_MAX])
{
	log_escape(word, strlen(word), buf, WORD_MAX);
	return buf;
}

static const char *backend_name(const void *from, size_t i)
{
	return ((const struct engine *)from)->backends[i]->config->name;
}

static const char *server_name(const void *from, size_t i)
{
	return ((const struct backend *)from)->servers[i]->config->name;
}

/* "; available: a, b"; "" if there is none. As much as there is room for. */
static const char *list_names(const void *from, const char *(*name)(const void *from, size_t i), size_t count,
			      char buf[static NAMES_LEN])
{
	struct text names;

	text_over(&names, buf, NAMES_LEN);
	for (size_t i = 0; i < count && i < NAMES_MAX; i++)
		text_printf(&names, "%s%s", i == 0 ? "; available: " : ", ", name(from, i));
	if (count > NAMES_MAX)
		text_printf(&names, " and %zu more", count - NAMES_MAX);
	return buf;
}

static bool is_name(const char *own, const char *name, size_t len)
{
	return strlen(own) == len && memcmp(own, name, len) == 0;
}

/* The number of "#N"; 0 if it is none. */
static unsigned number_of(const char *name, size_t len)
{
	unsigned number = 0;

	if (len < 2 || len > 9 || name[0] != '#')
		return 0;
	for (size_t i = 1; i < len; i++) {
		if (name[i] < '0' || name[i] > '9')
			return 0;
		number = 10 * number + (unsigned)(name[i] - '0');
	}
	return number;
}

static struct backend *find_backend(const struct engine *e, const char *name, size_t len)
{
	const unsigned number = number_of(name, len);

	for (size_t i = 0; i < e->backend_count; i++)
		if (is_name(e->backends[i]->config->name, name, len))
			return e->backends[i];
	for (size_t i = 0; number > 0 && i < e->backend_count; i++)
		if (e->backends[i]->iid == number)
			return e->backends[i];
	return NULL;
}

static struct server *find_server(const struct backend *b, const char *name)
{
	const unsigned number = number_of(name, strlen(name));

	for (size_t i = 0; i < b->server_count; i++)
		if (strcmp(b->servers[i]->config->name, name) == 0)
			return b->servers[i];
	for (size_t i = 0; number > 0 && i < b->server_count; i++)
		if (b->servers[i]->id == number)
			return b->servers[i];
	return NULL;
}

/* The backend whose name is the first `len` bytes of `name`. */
static struct backend *need_backend(const struct admin_call *c, const char *name, size_t len,
				    const char *haproxy)
{
	const struct engine *e = c->ctx->engine;
	struct backend *b = find_backend(e, name, len);
	char word[WORD_MAX], names[NAMES_LEN];

	if (b != NULL)
		return b;
	log_escape(name, len, word, sizeof(word));
	admin_refuse(c, haproxy, "no backend '%s'%s", word,
		     list_names(e, backend_name, e->backend_count, names));
	return NULL;
}

struct backend *admin_find_backend(const struct admin_call *c, const char *name, const char *haproxy)
{
	return need_backend(c, name, strlen(name), haproxy);
}

struct backend *admin_find_place(const struct admin_call *c, const char *name, const char **server)
{
	const char *slash = strchr(name, '/');
	char word[WORD_MAX];

	if (slash == NULL || ((slash == name || slash[1] == '\0') && !c->ours)) {
		admin_refuse(c, "Require 'backend/server'.", "'%s' is not a server; write BACKEND/SERVER",
			     printable(name, word));
		return NULL;
	}
	*server = slash + 1;
	return need_backend(c, name, (size_t)(slash - name), "No such backend.");
}

struct server *admin_find_server(const struct admin_call *c, const char *name)
{
	char word[WORD_MAX], names[NAMES_LEN];
	const char *wanted;
	struct backend *b = admin_find_place(c, name, &wanted);
	struct server *s = b != NULL ? find_server(b, wanted) : NULL;

	if (b != NULL && s == NULL)
		admin_refuse(c, "No such server.", "no server '%s' in backend '%s'%s",
			     printable(wanted, word), b->config->name,
			     list_names(b, server_name, b->server_count, names));
	return s;
}

unsigned admin_proxy_iid(const struct engine *e, const char *name)
{
	const struct frontend *fe = entries_find(&e->entries, name);
	const struct backend *b = fe == NULL ? find_backend(e, name, strlen(name)) : NULL;

	if (fe != NULL)
		return fe->iid;
	return b != NULL ? b->iid : 0;
}

void admin_refuse_proxy(const struct admin_call *c, const char *name)
{
	char word[WORD_MAX];

	admin_refuse(c, "No such proxy.", "no frontend or backend '%s'", printable(name, word));
}
