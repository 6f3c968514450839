/* SPDX-License-Identifier: MIT
 *
 * portrait.c - everything that control knows of live objects, as text.
 *
 * Main thread.
 */
#include "portrait.h"

#include <dirent.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "weir/balance/tombstone.h"
#include "weir/base/check.h"

__attribute__((format(printf, 2, 3))) static void put(struct portrait *p, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(p->text + p->len, PORTRAIT_MAX - p->len, format, args);
	va_end(args);
	check(n >= 0);
	p->len += (size_t)n;
	check(p->len < PORTRAIT_MAX);
}

/* ---- memory that only grows ---- */

static void leave_out(struct portrait *p, const void *memory)
{
	if (memory == NULL)
		return;
	p->own.bytes -= (long)malloc_usable_size((void *)(uintptr_t)memory);
	p->own.blocks--;
}

static void leave_out_space(struct portrait *p, const struct slot_space *s)
{
	leave_out(p, s->taken);
	for (const struct list *l = s->tables.next; l != &s->tables; l = l->next) {
		const struct chunks *table = list_entry(l, struct chunks, link);

		for (unsigned i = 0; i < CHUNKS_PARTS; i++)
			leave_out(p, atomic_load(&table->parts[i]));
	}
}

static void leave_out_tables(struct portrait *p, const struct engine *e)
{
	leave_out_space(p, &e->live.objects);
	leave_out_space(p, &e->live.endpoints);
	leave_out_space(p, &e->live.versions);
	leave_out(p, e->backends);
	for (size_t i = 0; i < e->backend_count; i++)
		leave_out(p, e->backends[i]->servers);
}

/* ---- versions ---- */

static void put_versions(struct portrait *p, const struct list *versions)
{
	for (const struct list *l = versions->next; l != versions; l = l->next) {
		const struct version *v = list_entry(l, struct version, link);

		put(p, "  version %p slot %u prepared %u published %d orphaned %d retired %d leaving %d\n",
		    (const void *)v, v->counted.slot, v->prepared, v->published, v->orphaned,
		    v->retired.stage != RETIRE_NONE, atomic_load(&v->counted.leaving));
	}
}

/* ---- entries ---- */

static void put_endpoint(struct portrait *p, struct endpoint *ep)
{
	put(p, " endpoint %p slot %u number %u fd %d stage %d order %d deaf %d leave %lld config %p now %p\n",
	    (void *)ep, ep->slot, ep->number, ep->fd, (int)ep->stage, atomic_load(&ep->order),
	    atomic_load(&ep->deaf), (long long)ep->leave_ns, (const void *)ep->config,
	    (void *)endpoint_settings(ep));
	put(p, "  socket %d, endpoint %d, path %d %d\n", (int)ep->socket.stage, (int)ep->retired.stage,
	    ep->path.locked, ep->path.bound);
	for (const struct list *l = ep->versions.next; l != &ep->versions; l = l->next) {
		const struct endpoint_settings *s = list_entry(l, struct endpoint_settings, link);

		put(p, "  version %p slot %u front %p pins %u retired %d leaving %d\n", (const void *)s,
		    s->counted.slot, (void *)s->front, s->pins, s->retired.stage != RETIRE_NONE,
		    atomic_load(&s->counted.leaving));
	}
}

static void put_frontend(struct portrait *p, struct frontend *fe)
{
	put(p, "frontend %s %p slot %u iid %u own limit %u limit %u choice %d config %p now %p\n",
	    fe->config->name, (void *)fe, fe->slot, fe->iid, fe->own_limit, frontend_limit(fe),
	    fe->has_choice, (const void *)fe->config, (void *)fe->settings);
	put(p, " sources %p rate %u stage %d\n", (void *)atomic_load(&fe->sources), rate_limit(&fe->rate),
	    (int)fe->retired.stage);
	for (const struct list *l = fe->versions.next; l != &fe->versions; l = l->next) {
		const struct frontend_settings *s = list_entry(l, struct frontend_settings, link);

		put(p, " version %p users %u backend %p\n", (const void *)s, s->users, (void *)s->backend);
	}
	frontend_foreach_endpoint(fe, ep)
		put_endpoint(p, ep);
}

static void put_entries(struct portrait *p, const struct entries *e)
{
	const uint32_t peak = slot_space_peak(&e->live->endpoints);

	put(p, "entries %u maxconn %u\n", e->endpoint_count, e->maxconn);
	entries_foreach_frontend(e, fe)
		put_frontend(p, fe);
	for (const struct list *l = e->leaving.next; l != &e->leaving; l = l->next) {
		const struct frontend *fe = list_entry(l, struct frontend, link);

		put(p, "leaving frontend %p stage %d\n", (const void *)fe, (int)fe->retired.stage);
		frontend_foreach_endpoint(fe, ep)
			put_endpoint(p, ep);
	}
	for (const struct list *l = e->deaf.next; l != &e->deaf; l = l->next)
		put(p, "deaf %p\n", (const void *)list_entry(l, struct endpoint, deaf_link));
	for (uint32_t slot = 0; slot < peak; slot++)
		if (entries_at(e, slot) != NULL)
			put(p, "at %u: %p\n", slot, (void *)entries_at(e, slot));
}

/* ---- backends ---- */

static void put_server(struct portrait *p, const struct server *s)
{
	put(p, " server %s %p slot %u id %u key %llx healthy %d admin %d weight %u maxconn %u\n",
	    s->config->name, (const void *)s, s->slot, s->id, (unsigned long long)s->key, s->healthy,
	    (int)s->admin, s->weight, s->maxconn);
	put(p, "  state %d eweight %u limit %u in roster %d slow %lld %lld config %p %p now %p stage %d\n",
	    atomic_load(&s->state), atomic_load(&s->eweight), atomic_load(&s->limit),
	    atomic_load(&s->in_roster), (long long)s->slow_since_ns, (long long)s->slow_at_ns,
	    (const void *)s->config, (const void *)s->backend, (const void *)server_settings(s),
	    (int)s->retired.stage);
	put(p, "  added %d moved %p check %p port %u off %d %d marks", s->added, (void *)s->moved,
	    (void *)s->check_addr, s->check_port, s->checks_off, s->agent_off);
	for (unsigned what = 0; what < SERVER_MARKS; what++)
		put(p, " %lld", (long long)s->marks[what].wall_ns);
	put(p, "\n");
	put_versions(p, &s->versions);
}

static void put_backend(struct portrait *p, const struct backend *b)
{
	put(p, "backend %s %p slot %u iid %u config %p now %p roster %p spare %p size %u\n", b->config->name,
	    (const void *)b, b->slot, b->iid, (const void *)b->config, (const void *)backend_settings(b),
	    (const void *)backend_roster(b), (const void *)b->spare, atomic_load(&b->size));
	put(p, " frontends %u prepared %u more %zu %zu usable %zu told %zu held %d stale %d leaving %d\n",
	    b->frontends, b->prepared, b->more, b->more_weight, b->usable, b->told_usable, b->held, b->stale,
	    b->leaving);
	put(p, " limited %d v2 %d tlvs %d stage %d\n", atomic_load(&b->limited), atomic_load(&b->sends_v2),
	    atomic_load(&b->passes_tlvs), (int)b->retired.stage);
	put_versions(p, &b->versions);
	for (size_t i = 0; i < b->server_count; i++)
		put_server(p, b->servers[i]);
	for (const struct list *l = b->left.next; l != &b->left; l = l->next)
		put(p, " has left: %p\n", (const void *)list_entry(l, struct server, link));
	for (const struct list *l = b->tombstones.next; l != &b->tombstones; l = l->next)
		put(p, " tombstone %p of %s\n", (void *)tombstone_at(l), tombstone_at(l)->config->name);
}

/* ---- all ---- */

/* Each name is a line of its own: "/name". */
static void list_files(struct portrait *p, const char *folder)
{
	DIR *d = opendir(folder);
	const struct dirent *entry;

	check(d != NULL);
	p->files[0] = '\0';
	while ((entry = readdir(d)) != NULL) {
		const size_t len = strlen(p->files);

		check(len + strlen(entry->d_name) + 3 < sizeof(p->files));
		(void)snprintf(p->files + len, sizeof(p->files) - len, "/%s\n", entry->d_name); /* fits */
	}
	closedir(d);
}

void portrait_draw(struct portrait *p, struct rig *r, const char *folder)
{
	const struct engine *e = &r->engine;

	p->own = memory_own();
	p->len = 0;
	leave_out_tables(p, e);
	put(p, "descriptors %ld, memory %ld bytes in %ld blocks\n", p->own.fds, p->own.bytes, p->own.blocks);
	put(p, "objects %u endpoints %u versions %u retired %zu last %u\n", e->live.objects.count,
	    e->live.endpoints.count, e->live.versions.count, retire_count(&e->live.retire),
	    e->live.last_iid);
	put(p, "maxconn %u splice %d cycle %lld\n", atomic_load(&e->settings.maxconn),
	    atomic_load(&e->settings.splice), (long long)atomic_load(&e->settings.pipe_cycle_ns));
	put(p, "wake %lld\n", (long long)r->updates.updates.wake_ns);
	put_entries(p, &e->entries);
	for (size_t i = 0; i < e->backend_count; i++)
		put(p, "backends[%zu] %p\n", i, (void *)e->backends[i]);
	server_updates_foreach(&r->updates.updates, b)
		put_backend(p, b);
	list_files(p, folder);
}

static const char *line_of(const char *text, size_t at)
{
	while (at > 0 && text[at - 1] != '\n')
		at--;
	return text + at;
}

static bool has_new_file(const struct portrait *before, const struct portrait *after)
{
	const char *at = after->files;
	char name[300];

	for (size_t len; *at != '\0'; at += len) {
		len = strcspn(at, "\n") + 1;
		(void)snprintf(name, sizeof(name), "%.*s", (int)len, at); /* fits */
		if (strstr(before->files, name) != NULL)
			continue;
		printf("new file: %s", name);
		return true;
	}
	return false;
}

bool portrait_same(const struct portrait *before, const struct portrait *after)
{
	size_t at = 0;
	const char *was, *is;

	while (before->text[at] != '\0' && before->text[at] == after->text[at])
		at++;
	if (before->text[at] == after->text[at])
		return !has_new_file(before, after);
	was = line_of(before->text, at);
	is = line_of(after->text, at);
	printf("before: %.*s\nafter:  %.*s\n", (int)strcspn(was, "\n"), was, (int)strcspn(is, "\n"), is);
	return false;
}
