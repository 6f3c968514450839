/* SPDX-License-Identifier: MIT
 *
 * snapshot.c - the tree that the daemon uses: assembled from what was understood, and freed.
 *
 * Allocates every pointer of struct config, and frees them: nothing in a snapshot points into the
 * arena of the reading. Main thread. Floor 2.
 */
#include <stdlib.h>
#include <string.h>

#include "sluice/base/check.h"
#include "sluice/config/build.h"

/* Without memory for a configuration there is nothing to run (arena.h says so too). */
static void *take(size_t count, size_t size)
{
	void *p = calloc(count > 0 ? count : 1, size);

	check(p != NULL);
	return p;
}

static char *copy_text(const char *text)
{
	char *copy;

	if (text == NULL)
		return NULL;
	copy = strdup(text);
	check(copy != NULL);
	return copy;
}

/* A place whose file name lives in the snapshot. -o arguments are no file. */
static struct config_place place_in(const struct config *c, const char *file, unsigned line)
{
	for (size_t i = 0; i < c->file_count; i++) {
		if (strcmp(c->files[i], file) == 0)
			return (struct config_place){c->files[i], line};
	}
	return (struct config_place){"-o", line};
}

static void copy_name(char *to, const char *name)
{
	size_t len = strlen(name);

	check(len < CONFIG_NAME_MAX);
	memcpy(to, name, len + 1);
}

static void fill_global(struct config *c, const struct config_global *from)
{
	struct config_global *g = &c->global;

	*g = *from;
	g->user = copy_text(from->user);
	g->group = copy_text(from->group);
	g->logs = take(from->log_count, sizeof(*g->logs));
	for (size_t i = 0; i < from->log_count; i++) {
		g->logs[i] = from->logs[i];
		g->logs[i].path = copy_text(from->logs[i].path);
	}
}

static void fill_backend(const struct config *c, struct config_backend *to, const struct proxy *p)
{
	copy_name(to->name, p->section->name);
	to->balance = p->set.balance;
	to->retries = p->set.retries;
	to->redispatch = p->set.redispatch;
	to->resolve_interval_ns = p->set.resolve_interval_ns;
	to->timeouts.connect_ns = p->set.timeouts.connect_ns;
	to->timeouts.server_ns = p->set.timeouts.server_ns;
	to->timeouts.half_closed_ns = p->set.timeouts.half_closed_ns;
	to->tcp = p->set.tcp;
	to->place = place_in(c, p->section->at.source->name, p->section->at.line);
	to->servers = take(p->server_count, sizeof(*to->servers));
	to->server_count = p->server_count;
	for (size_t i = 0; i < p->server_count; i++) {
		struct config_server *server = &to->servers[i];

		*server = p->servers[i];
		server->place = place_in(c, server->place.file, server->place.line);
	}
}

static void fill_frontend(const struct config *c, struct config_frontend *to, const struct proxy *p)
{
	copy_name(to->name, p->section->name);
	to->listen = p->target == p;
	to->maxconn = p->set.maxconn;
	to->timeouts.client_ns = p->set.timeouts.client_ns;
	to->timeouts.half_closed_ns = p->set.timeouts.half_closed_ns;
	to->timeouts.max_lifetime_ns = p->set.timeouts.max_lifetime_ns;
	to->tcp = p->set.tcp;
	to->place = place_in(c, p->section->at.source->name, p->section->at.line);
	to->binds = take(p->bind_count, sizeof(*to->binds));
	to->bind_count = p->bind_count;
	for (size_t i = 0; i < p->bind_count; i++) {
		struct config_bind *bind = &to->binds[i];

		*bind = p->binds[i];
		bind->place = place_in(c, bind->place.file, bind->place.line);
	}
}

static size_t backend_index(const struct build *b, const struct proxy *target)
{
	size_t index = 0;

	check(target != NULL);
	for (const struct proxy *p = b->proxies; p != target; p++) {
		check(p < b->proxies + b->proxy_count);
		index += build_is_backend(p) ? 1 : 0;
	}
	return index;
}

struct config *build_snapshot(const struct build *b)
{
	struct config *c = take(1, sizeof(*c));

	check(b->diag->errors == 0);
	c->warnings = b->diag->warnings;
	c->files = take(b->doc->source_count, sizeof(*c->files));
	for (; c->file_count < b->doc->source_count; c->file_count++)
		c->files[c->file_count] = copy_text(b->doc->sources[c->file_count]->name);
	fill_global(c, &b->global);
	c->frontends = take(b->proxy_count, sizeof(*c->frontends));
	c->backends = take(b->proxy_count, sizeof(*c->backends));
	for (size_t i = 0; i < b->proxy_count; i++) {
		const struct proxy *p = &b->proxies[i];

		check(!p->duplicate);
		if (build_is_backend(p))
			fill_backend(c, &c->backends[c->backend_count++], p);
		if (p->section->kind == IN_BACKEND)
			continue;
		fill_frontend(c, &c->frontends[c->frontend_count], p);
		c->frontends[c->frontend_count++].backend = backend_index(b, p->target);
	}
	return c;
}

static void free_global(struct config_global *g)
{
	for (size_t i = 0; i < g->log_count; i++)
		free(g->logs[i].path);
	free(g->logs);
	free(g->user);
	free(g->group);
}

void config_free(struct config *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < c->frontend_count; i++)
		free(c->frontends[i].binds);
	for (size_t i = 0; i < c->backend_count; i++)
		free(c->backends[i].servers);
	for (size_t i = 0; i < c->file_count; i++)
		free(c->files[i]);
	free_global(&c->global);
	free(c->frontends);
	free(c->backends);
	free(c->files);
	free(c);
}
