/* SPDX-License-Identifier: MIT
 *
 * print.c - a snapshot as a file that reads back to the same snapshot (-T).
 *
 * Every option in force is printed, from the rows of the table, so a new row needs nothing here.
 * Variables and includes have been put in; there is no [defaults]. Main thread. Floor 2.
 */
#include "sluice/base/check.h"
#include "sluice/config/setting.h"

/* The lines of every option that has an effect in `section` and not in `without`. */
static void print_options(unsigned section, unsigned without, const void *base, FILE *out)
{
	for (size_t i = 0; i < option_count; i++) {
		const struct option *o = &options[i];

		if ((o->effect & section) == 0 || (o->effect & without) != 0 || !setting_is_set(o, base))
			continue;
		fprintf(out, "%s = ", o->key);
		setting_print(o, base, out);
		fputc('\n', out);
	}
}

static void print_global(const struct config_global *g, FILE *out)
{
	fputs("[global]\n", out);
	print_options(IN_GLOBAL, 0, g, out);
	for (size_t i = 0; i < g->log_count; i++) {
		fputs("log = ", out);
		setting_print_log(&g->logs[i], out);
		fputc('\n', out);
	}
}

/* A snapshot keeps of each option what its side uses; the rows want it as a section has it. */
static struct config_proxy proxy_of_frontend(const struct config_frontend *f)
{
	struct config_proxy p = {.maxconn = f->maxconn, .timeouts = f->timeouts, .tcp = f->tcp};

	return p;
}

static struct config_proxy proxy_of_backend(const struct config_backend *b)
{
	struct config_proxy p = {
		.balance = b->balance,
		.retries = b->retries,
		.redispatch = b->redispatch,
		.resolve_interval_ns = b->resolve_interval_ns,
		.timeouts = b->timeouts,
		.tcp = b->tcp,
	};

	return p;
}

static void print_binds(const struct config_frontend *f, FILE *out)
{
	for (size_t i = 0; i < f->bind_count; i++) {
		const struct config_bind *bind = &f->binds[i];

		fprintf(out, "bind%s%s = ", bind->name[0] != '\0' ? " " : "", bind->name);
		setting_print_address(&bind->addr, out);
		setting_print_words(IN_BIND, bind, out);
		fputc('\n', out);
	}
}

static void print_servers(const struct config_backend *b, FILE *out)
{
	for (size_t i = 0; i < b->server_count; i++) {
		const struct config_server *server = &b->servers[i];

		fprintf(out, "server %s = ", server->name);
		setting_print_address(&server->addr, out);
		setting_print_words(IN_SERVER, server, out);
		fputc('\n', out);
	}
}

static void print_listen(const struct config_frontend *f, const struct config_backend *b, FILE *out)
{
	struct config_proxy front = proxy_of_frontend(f), back = proxy_of_backend(b);

	fprintf(out, "\n[listen %s]\n", f->name);
	print_binds(f, out);
	print_options(IN_FRONTEND, 0, &front, out);
	print_options(IN_BACKEND, IN_FRONTEND, &back, out);
	print_servers(b, out);
}

static void print_frontend(const struct config *c, const struct config_frontend *f, FILE *out)
{
	struct config_proxy front = proxy_of_frontend(f);

	check(f->backend < c->backend_count);
	fprintf(out, "\n[frontend %s]\n", f->name);
	print_binds(f, out);
	print_options(IN_FRONTEND, 0, &front, out);
	fprintf(out, "default-backend = %s\n", c->backends[f->backend].name);
}

static void print_backend(const struct config_backend *b, FILE *out)
{
	struct config_proxy back = proxy_of_backend(b);

	fprintf(out, "\n[backend %s]\n", b->name);
	print_options(IN_BACKEND, 0, &back, out);
	print_servers(b, out);
}

/* The [listen] that this backend is half of; NULL when it is a [backend]. */
static const struct config_frontend *listen_of(const struct config *c, size_t backend)
{
	for (size_t i = 0; i < c->frontend_count; i++) {
		if (c->frontends[i].listen && c->frontends[i].backend == backend)
			return &c->frontends[i];
	}
	return NULL;
}

void config_print(const struct config *c, FILE *out)
{
	print_global(&c->global, out);
	/* Frontends keep their order, and so do backends, only if no [backend] is printed before a
	 * [listen] that it followed: both lists are walked at once. */
	for (size_t f = 0, b = 0; f < c->frontend_count || b < c->backend_count;) {
		if (b < c->backend_count && listen_of(c, b) == NULL) {
			print_backend(&c->backends[b++], out);
		} else if (f < c->frontend_count && !c->frontends[f].listen) {
			print_frontend(c, &c->frontends[f++], out);
		} else {
			check(f < c->frontend_count);
			check(c->frontends[f].backend == b);
			print_listen(&c->frontends[f++], &c->backends[b++], out);
		}
	}
}
