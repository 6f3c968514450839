/* SPDX-License-Identifier: MIT
 *
 * print.c - prints a snapshot as a file that reads back to the same snapshot (-T).
 *
 * Every option in force is printed, from the rows of the table, so a new row needs no code here. Variables
 * and includes are expanded. [defaults] contains only options without effect in a section that inherits them:
 * as a line of that section they would cause a warning. The origin of each line can follow it as a comment,
 * which does not affect reading it back. Main thread.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/bind_range.h"
#include "weir/config/reader.h"
#include "weir/settings/config_lines.h"
#include "proxy_view.h"
#include "setting.h"

/* Where the comments begin, unless a line is longer. */
#define ORIGIN_COLUMN 44
/* If a file name is longer, only its end is shown. */
#define ORIGIN_NAME_MAX 200
/* Networks or users per line. */
#define LIST_LINE 8

/* Files whose facts belong to the comment of a line; a line shows at most these. */
#define LISTS_SHOWN_MAX 4
#define FACTS_BYTES_MAX (2 * LISTS_SHOWN_MAX * 48)

struct lists {
	const struct config_list *list; /* borrows */
	size_t count;
};

struct printer {
	const struct config *config;
	FILE *out;
	bool origins;
	FILE *line; /* memory; NULL = the line goes straight to `out` */
	char *text; /* owns, while `line` is open */
	size_t len;
	struct lists lists[2]; /* of the next line to end */
};

/* The stream for the next line; end_line() writes it out. */
static FILE *begin_line(struct printer *p)
{
	p->line = p->origins ? open_memstream(&p->text, &p->len) : NULL;
	/* When out of memory the line only lacks its comment. */
	return p->line != NULL ? p->line : p->out;
}

/* A comment is one line, whatever the name of a file. */
static void print_clean(FILE *out, const char *text)
{
	size_t len = strlen(text), skip = len > ORIGIN_NAME_MAX ? len - ORIGIN_NAME_MAX : 0;

	if (skip > 0)
		fputs("...", out);
	for (const char *c = text + skip; *c != '\0'; c++)
		fputc((unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c, out);
}

static void print_place(const struct printer *p, const struct config_place *place, bool defaults, FILE *out)
{
	if (place == NULL || place->line == 0) {
		fputs("default", out);
		return;
	}
	if (defaults)
		fputs("[defaults], ", out);
	print_clean(out, place->file);
	/* -o arguments are not a file; they are shown as a shell accepts them. */
	if (strcmp(place->file, "-o") == 0 && place->line <= p->config->override_count) {
		const char *text = p->config->overrides[place->line - 1];

		fputc(' ', out);
		if (strlen(text) <= ORIGIN_NAME_MAX)
			words_print_quoted(text, out);
		else
			print_clean(out, text);
	} else {
		fprintf(out, ":%u", place->line);
	}
}

/* "; 100000 networks, hash 0123456789abcdef" for each file of the line. */
static void print_facts(const struct lists *lists, FILE *out)
{
	for (size_t i = 0; i < lists->count && i < LISTS_SHOWN_MAX; i++) {
		const struct list_file *l = lists->list[i].list;

		fprintf(out, "; %zu %s, hash %016" PRIx64, list_file_count(l),
			list_kind_word(list_file_kind(l)), list_file_hash(l));
	}
}

static void end_line(struct printer *p, const struct config_place *place, bool defaults)
{
	const struct lists lists[] = {p->lists[0], p->lists[1]};
	FILE *line = p->line;

	p->line = NULL;
	memset(p->lists, 0, sizeof(p->lists));
	if (line == NULL) {
		fputc('\n', p->out);
		return;
	}
	if (fclose(line) == 0 && p->text != NULL) {
		fwrite(p->text, 1, p->len, p->out);
		/* The reader's limit counts comments too. */
		if (p->len + 2 * ORIGIN_NAME_MAX + FACTS_BYTES_MAX < READER_LINE_MAX) {
			fprintf(p->out, "%*s # ", p->len < ORIGIN_COLUMN ? (int)(ORIGIN_COLUMN - p->len) : 0,
				"");
			print_place(p, place, defaults, p->out);
			print_facts(&lists[0], p->out);
			print_facts(&lists[1], p->out);
		}
	}
	fputc('\n', p->out);
	free(p->text);
	p->text = NULL;
}

static const struct config_place *find_origin(const struct config_origins *o, size_t option)
{
	for (size_t i = 0; i < o->count; i++) {
		if (o->list[i].option == option && !o->list[i].idle)
			return &o->list[i].place;
	}
	return NULL;
}

static bool is_idle(const struct config_origins *o, const struct option *option)
{
	for (size_t i = 0; i < o->count; i++) {
		if (o->list[i].option == (size_t)(option - options) && o->list[i].idle)
			return true;
	}
	return false;
}

/* Ends the line of an option, whose origin is the section's own line, else [defaults], else the table. */
static void end_option(struct printer *p, const struct option *o, const struct config_origins *own)
{
	const struct config_place *place = find_origin(own, (size_t)(o - options));
	bool defaults = false;

	if (place == NULL && (o->sections & IN_DEFAULTS) != 0) {
		place = find_origin(&p->config->defaults, (size_t)(o - options));
		defaults = place != NULL;
	}
	end_line(p, place, defaults);
}

static void print_option(struct printer *p, const struct option *o, const void *base,
			 const struct config_origins *own)
{
	FILE *out = begin_line(p);

	fprintf(out, "%s = ", o->key);
	setting_print(o, base, out);
	end_option(p, o, own);
}

/* The lines of every option that has an effect in `section` and not in `without`. */
static void print_options(struct printer *p, unsigned section, unsigned without, const void *base,
			  const struct config_origins *own)
{
	for (size_t i = 0; i < option_count; i++) {
		const struct option *o = &options[i];

		if ((o->effect & section) != 0 && (o->effect & without) == 0 && setting_is_set(o, base) &&
		    !is_idle(own, o))
			print_option(p, o, base, own);
	}
}

void config_print_log(const struct config_log *log, FILE *out)
{
	fputs("log = ", out);
	setting_print_log(log, out);
}

static void print_networks(struct printer *p, const struct config_origins *own, const struct option *o,
			   const struct config_networks *n);

static void print_global(struct printer *p, const struct config_global *g)
{
	fputs("[global]\n", p->out);
	print_options(p, IN_GLOBAL, 0, g, &g->origins);
	for (size_t i = 0; i < g->log_count; i++) {
		FILE *out = begin_line(p);

		config_print_log(&g->logs[i], out);
		end_line(p, &g->logs[i].place, false);
	}
	if (g->stats.addr.kind == ADDR_NONE && !config_has_networks(&g->stats.allow_list) &&
	    !g->stats.per_server_histograms && g->stats.auth.file == NULL)
		return;
	fputs("\n[stats]\n", p->out);
	print_options(p, IN_STATS, 0, g, &g->stats.origins);
	print_networks(p, &g->stats.origins, option_find(IN_STATS, "allow-from").option,
		       &g->stats.allow_list);
}

/* Begins a line "KEY =" of a list that may need several. */
static FILE *begin_list(struct printer *p, const char *key)
{
	FILE *out = begin_line(p);

	fprintf(out, "%s =", key);
	return out;
}

static void print_networks(struct printer *p, const struct config_origins *own, const struct option *o,
			   const struct config_networks *n)
{
	char buf[NETSET_TEXT_MAX];

	for (size_t i = 0; i < n->count; i += LIST_LINE) {
		FILE *out = begin_list(p, o->key);

		for (size_t k = i; k < n->count && k < i + LIST_LINE; k++)
			fprintf(out, " %s", net_prefix_format(&n->list[k], buf));
		end_option(p, o, own);
	}
	for (size_t i = 0; i < n->file_count; i++) {
		FILE *out = begin_list(p, o->key);

		fputc(' ', out);
		setting_print_list(&n->files[i], out);
		p->lists[0] = (struct lists){&n->files[i], 1};
		end_option(p, o, own);
	}
}

static void print_users(struct printer *p, const struct config_frontend *f, const struct option *o)
{
	for (size_t i = 0; i < f->allow_uid_count; i += LIST_LINE) {
		FILE *out = begin_list(p, o->key);

		for (size_t k = i; k < f->allow_uid_count && k < i + LIST_LINE; k++)
			fprintf(out, " %u", f->allow_uids[k]);
		end_option(p, o, &f->origins);
	}
}

/* Prints a list of a frontend, which its row cannot print. */
static void print_list(struct printer *p, const struct config_frontend *f, const struct option *o)
{
	const struct {
		const char *key;
		const struct config_networks *list;
	} lists[] = {
		{"allow-from", &f->allow_list},
		{"deny-from", &f->deny_list},
		{"trusted", &f->trusted_list},
		{"limit-exempt", &f->exempt_list},
	};

	if (o->type == OPT_USERS)
		print_users(p, f, o);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (strcmp(o->key, lists[i].key) == 0)
			print_networks(p, &f->origins, o, lists[i].list);
}

static void print_access(struct printer *p, const struct config_frontend *f)
{
	static const char *const lists[] = {"allow-from", "deny-from", "trusted", "allow-uid",
					   "limit-exempt"};

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		const struct option *o = option_find(IN_FRONTEND, lists[i]).option;

		if (!is_idle(&f->origins, o))
			print_list(p, f, o);
	}
	for (size_t i = 0; i < f->route_count; i++) {
		const struct config_route *route = &f->routes[i];
		FILE *out = begin_line(p);

		fprintf(out, "use-backend %s =", p->config->backends[route->backend].name);
		setting_print_route(route, out);
		p->lists[0] = (struct lists){route->src_list.files, route->src_list.file_count};
		p->lists[1] = (struct lists){route->sni.files, route->sni.file_count};
		end_line(p, &route->place, false);
	}
}

void config_print_bind(const struct config_bind *bind, FILE *out)
{
	char range[ADDR_TEXT_MAX];

	fprintf(out, "bind%s%s = ", bind->name[0] != '\0' ? " " : "", bind->name);
	if (bind_is_in_range(bind))
		fputs(bind_line_address(bind, range), out);
	else
		setting_print_address(&bind->addr, out);
	setting_print_words(IN_BIND, bind, out);
}

static void print_binds(struct printer *p, const struct config_frontend *f)
{
	for (size_t i = 0; i < f->bind_count; i += bind_line_ports(&f->binds[i])) {
		const struct config_bind *bind = &f->binds[i];
		FILE *out = begin_line(p);

		config_print_bind(bind, out);
		end_line(p, &bind->place, false);
	}
}

static bool is_agent_of_section(const struct config_backend *b, const struct config_server *server)
{
	const struct config_agent *a = &server->check_agent, *of = &b->check_agent;

	return a->port == of->port && a->addr.len == of->addr.len &&
	       (a->addr.len == 0 || addr_equal(&a->addr, &of->addr));
}

/* Settings that a server inherits from its section are not repeated. */
static void print_server_words(const struct config_backend *b, const struct config_server *server, FILE *out)
{
	struct config_server own = *server;

	own.check = false;
	if (is_agent_of_section(b, server))
		memset(&own.check_agent, 0, sizeof(own.check_agent));
	setting_print_words(server->set != CONFIG_SET_NONE ? IN_SET | IN_SERVER : IN_SERVER, &own, out);
	if (b->check.kind != CONFIG_CHECK_OFF && !server->check)
		fputs(" check=off", out);
	if (b->check_agent.port != 0 && server->check_agent.port == 0)
		fputs(" check-agent=off", out);
}

void config_print_server(const struct config_backend *b, const struct config_server *server, FILE *out)
{
	if (server->set != CONFIG_SET_NONE) {
		fprintf(out, "servers %s = ", server->name);
		setting_print_set(server, out);
	} else {
		fprintf(out, "server %s = ", server->name);
		setting_print_address(&server->addr, out);
	}
	print_server_words(b, server, out);
}

static void print_servers(struct printer *p, const struct config_backend *b)
{
	for (size_t i = 0; i < b->server_count; i++) {
		const struct config_server *server = &b->servers[i];
		FILE *out = begin_line(p);

		config_print_server(b, server, out);
		end_line(p, &server->place, false);
	}
}

/* "[listen web]", with the place of its header. */
static void print_header(struct printer *p, unsigned kind, const char *name, const struct config_place *place)
{
	FILE *out;

	fputc('\n', p->out);
	out = begin_line(p);
	fprintf(out, "[%s %s]", section_word(kind), name);
	end_line(p, place, false);
}

static void print_listen(struct printer *p, const struct config_frontend *f, const struct config_backend *b)
{
	struct config_proxy front = proxy_view_front(f), back = proxy_view_back(b);

	print_header(p, IN_LISTEN, f->name, &f->place);
	print_binds(p, f);
	print_options(p, IN_FRONTEND, 0, &front, &f->origins);
	print_access(p, f);
	print_options(p, IN_BACKEND, IN_FRONTEND, &back, &b->origins);
	print_servers(p, b);
}

static void print_frontend(struct printer *p, const struct config_frontend *f)
{
	struct config_proxy front = proxy_view_front(f);
	const struct config *c = p->config;

	check(f->backend < c->backend_count);
	print_header(p, IN_FRONTEND, f->name, &f->place);
	print_binds(p, f);
	print_options(p, IN_FRONTEND, 0, &front, &f->origins);
	print_access(p, f);
	if (f->routes_only)
		return;
	fprintf(begin_line(p), "default-backend = %s", c->backends[f->backend].name);
	end_option(p, option_find(IN_FRONTEND, "default-backend").option, &f->origins);
}

static void print_backend(struct printer *p, const struct config_backend *b)
{
	struct config_proxy back = proxy_view_back(b);

	print_header(p, IN_BACKEND, b->name, &b->place);
	print_options(p, IN_BACKEND, 0, &back, &b->origins);
	print_servers(p, b);
}

/* The first frontend, or else backend, in which this option of [defaults] has no effect. */
static const struct config_frontend *idle_frontend(const struct config *c, const struct option *o)
{
	for (size_t i = 0; (o->effect & IN_FRONTEND) != 0 && i < c->frontend_count; i++) {
		if (is_idle(&c->frontends[i].origins, o))
			return &c->frontends[i];
	}
	return NULL;
}

static const struct config_backend *idle_backend(const struct config *c, const struct option *o)
{
	for (size_t i = 0; (o->effect & IN_BACKEND) != 0 && i < c->backend_count; i++) {
		if (is_idle(&c->backends[i].origins, o))
			return &c->backends[i];
	}
	return NULL;
}

/* An option without effect in some sections has the same value in all of them: that of [defaults]. */
static void print_defaults(struct printer *p)
{
	bool begun = false;

	for (size_t i = 0; i < p->config->defaults.count; i++) {
		const struct option *o = &options[p->config->defaults.list[i].option];
		const struct config_frontend *f = idle_frontend(p->config, o);
		const struct config_backend *b = idle_backend(p->config, o);

		if (f == NULL && b == NULL)
			continue;
		if (!begun)
			fputs("\n[defaults]\n", p->out);
		begun = true;
		if (f != NULL) {
			print_list(p, f, o);
		} else {
			struct config_proxy back = proxy_view_back(b);

			print_option(p, o, &back, &b->origins);
		}
	}
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

static void print_all(struct printer *p)
{
	const struct config *c = p->config;

	print_global(p, &c->global);
	print_defaults(p);
	/* Frontends keep their order, and so do backends, only if no [backend] is printed before a
	 * [listen] that it followed: both lists are walked at once. */
	for (size_t f = 0, b = 0; f < c->frontend_count || b < c->backend_count;) {
		if (b < c->backend_count && listen_of(c, b) == NULL) {
			print_backend(p, &c->backends[b++]);
		} else if (f < c->frontend_count && !c->frontends[f].listen) {
			print_frontend(p, &c->frontends[f++]);
		} else {
			check(f < c->frontend_count);
			check(c->frontends[f].backend == b);
			print_listen(p, &c->frontends[f++], &c->backends[b++]);
		}
	}
}

void config_print(const struct config *c, FILE *out)
{
	struct printer p = {.config = c, .out = out};

	print_all(&p);
}

void config_print_origins(const struct config *c, FILE *out)
{
	struct printer p = {.config = c, .out = out, .origins = true};

	print_all(&p);
}
