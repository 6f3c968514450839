/* SPDX-License-Identifier: MIT
 *
 * config_diff.c - which options differ between two versions of a section or line, with both values as text.
 *
 * Compares what the printers of the table write. Any thread.
 */
#include "weir/settings/config_diff.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/same_text.h"
#include "weir/config/bind_range.h"
#include "proxy_view.h"
#include "setting.h"

/* ---- values ---- */

/* A text in memory; NULL after running out of it. */
struct value {
	char *text; /* owns */
	size_t len;
	FILE *out;
};

static FILE *value_open(struct value *v)
{
	*v = (struct value){0};
	v->out = open_memstream(&v->text, &v->len);
	return v->out;
}

/* 0 or -ENOMEM. */
static int value_close(struct value *v)
{
	const bool fine = ferror(v->out) == 0;

	return fclose(v->out) == 0 && fine && v->text != NULL ? 0 : -ENOMEM;
}

static void report(const struct config_diff *to, const char *key, const struct value *before,
		   const struct value *after)
{
	to->differs(to->arg, key, before->text, after->text);
}

/* ---- options ---- */

static bool has_value(const struct option *o, const void *base)
{
	const struct setting_type *type = setting_type_of(o->type);

	return o->type == OPT_FLAG || type->is_set == NULL || type->is_set((const char *)base + o->offset);
}

/* Leaves `v` empty if the option is not set. */
static int print_value(struct value *v, const struct option *o, const void *base)
{
	const void *field = (const char *)base + o->offset;

	*v = (struct value){0};
	if (!has_value(o, base))
		return 0;
	if (value_open(v) == NULL)
		return -ENOMEM;
	if (o->type == OPT_FLAG)
		fputs(*(const bool *)field ? "on" : "off", v->out);
	else
		setting_type_of(o->type)->print(field, o, v->out);
	return value_close(v);
}

/* Most options are numbers that are the same, so that nothing has to be printed. */
static bool is_same_number(const struct option *o, const void *a, const void *b)
{
	return o->type <= OPT_CHOICE &&
	       memcmp((const char *)a + o->offset, (const char *)b + o->offset, o->size) == 0;
}

static int diff_option(const struct config_diff *to, const struct option *o, const void *a, const void *b)
{
	struct value before = {0}, after = {0};
	int err;

	if (is_same_number(o, a, b))
		return 0;
	err = print_value(&before, o, a);
	if (!err)
		err = print_value(&after, o, b);
	if (!err && !same_text(before.text, after.text))
		report(to, o->key, &before, &after);
	free(before.text);
	free(after.text);
	return err;
}

/* Every option that has a printer and an effect in `section`. */
static int diff_options(const struct config_diff *to, unsigned section, const void *a, const void *b)
{
	int err = 0;

	for (size_t i = 0; i < option_count && !err; i++) {
		const struct option *o = &options[i];

		if ((o->effect & section) != 0 && o->offset != SIZE_MAX &&
		    setting_type_of(o->type)->parse != NULL &&
		    setting_type_of(o->type)->is_set != setting_never_set)
			err = diff_option(to, o, a, b);
	}
	return err;
}

/* ---- lists ---- */

/* Two versions of a list. */
struct lists {
	const char *key;
	const char *between; /* two items */
	size_t counts[2];
	/* Is item `a` of the first list the same as item `b` of the second? */
	bool (*is_same)(const struct lists *l, size_t a, size_t b);
	void (*print)(const struct lists *l, unsigned which, size_t i, FILE *out);
	const void *from[2]; /* borrows */
};

/* The items that differ: those between what both lists begin with and what both end with. */
struct middle {
	size_t begin;
	size_t ends[2];
};

static struct middle middle_of(const struct lists *l)
{
	struct middle m = {0, {l->counts[0], l->counts[1]}};

	while (m.begin < m.ends[0] && m.begin < m.ends[1] && l->is_same(l, m.begin, m.begin))
		m.begin++;
	while (m.ends[0] > m.begin && m.ends[1] > m.begin && l->is_same(l, m.ends[0] - 1, m.ends[1] - 1)) {
		m.ends[0]--;
		m.ends[1]--;
	}
	return m;
}

static void print_items(const struct lists *l, unsigned which, size_t begin, size_t end, FILE *out)
{
	for (size_t i = begin; i < end; i++) {
		if (i > begin)
			fputs(l->between, out);
		l->print(l, which, i, out);
	}
}

/* "12 in all, of which: 10.0.0.0/8 10.1.0.0/16 and 3 more". */
static void print_middle(const struct lists *l, unsigned which, const struct middle *m, FILE *out)
{
	const size_t end = m->ends[which];
	size_t shown = end;

	if (end - m->begin > CONFIG_DIFF_LIST_MAX)
		shown = m->begin + CONFIG_DIFF_LIST_MAX;
	fprintf(out, "%zu in all", l->counts[which]);
	if (shown > m->begin)
		fputs(", of which: ", out);
	print_items(l, which, m->begin, shown, out);
	if (shown < end)
		fprintf(out, " and %zu more", end - shown);
}

/* Leaves `v` empty if the list is. */
static int print_list(struct value *v, const struct lists *l, unsigned which, const struct middle *m)
{
	*v = (struct value){0};
	if (l->counts[which] == 0)
		return 0;
	if (value_open(v) == NULL)
		return -ENOMEM;
	if (l->counts[0] > CONFIG_DIFF_LIST_MAX || l->counts[1] > CONFIG_DIFF_LIST_MAX)
		print_middle(l, which, m, v->out);
	else
		print_items(l, which, 0, l->counts[which], v->out);
	return value_close(v);
}

static int diff_lists(const struct config_diff *to, const struct lists *l)
{
	const struct middle m = middle_of(l);
	struct value before = {0}, after = {0};
	int err;

	if (m.begin == m.ends[0] && m.begin == m.ends[1])
		return 0;
	err = print_list(&before, l, 0, &m);
	if (!err)
		err = print_list(&after, l, 1, &m);
	if (!err)
		report(to, l->key, &before, &after);
	free(before.text);
	free(after.text);
	return err;
}

static const struct net_prefix *network_of(const struct lists *l, unsigned which, size_t i)
{
	return &((const struct config_networks *)l->from[which])->list[i];
}

static bool is_same_prefix(const struct net_prefix *a, const struct net_prefix *b)
{
	return a->family == b->family && a->bits == b->bits && memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

/* Behind the networks of the lines come their files; NULL = it is a network. */
static const struct config_list *file_of(const struct lists *l, unsigned which, size_t i)
{
	const struct config_networks *n = l->from[which];

	return i < n->count ? NULL : &n->files[i - n->count];
}

static bool is_same_network(const struct lists *l, size_t a, size_t b)
{
	const struct config_list *x = file_of(l, 0, a), *y = file_of(l, 1, b);

	if (x == NULL && y == NULL)
		return is_same_prefix(network_of(l, 0, a), network_of(l, 1, b));
	return x != NULL && y != NULL && setting_same_lists(x, 1, y, 1);
}

static void print_network(const struct lists *l, unsigned which, size_t i, FILE *out)
{
	const struct config_list *file = file_of(l, which, i);
	char buf[NETSET_TEXT_MAX];

	if (file != NULL)
		setting_print_list_facts(file, out);
	else
		fputs(net_prefix_format(network_of(l, which, i), buf), out);
}

static int diff_networks(const struct config_diff *to, const char *key, const struct config_networks *a,
			 const struct config_networks *b)
{
	const struct lists l = {.key = key,
				.between = " ",
				.counts = {a->count + a->file_count, b->count + b->file_count},
				.is_same = is_same_network,
				.print = print_network,
				.from = {a, b}};

	return diff_lists(to, &l);
}

static uid_t user_of(const struct lists *l, unsigned which, size_t i)
{
	return ((const struct config_frontend *)l->from[which])->allow_uids[i];
}

static bool is_same_user(const struct lists *l, size_t a, size_t b)
{
	return user_of(l, 0, a) == user_of(l, 1, b);
}

static void print_user(const struct lists *l, unsigned which, size_t i, FILE *out)
{
	fprintf(out, "%u", user_of(l, which, i));
}

static int diff_users(const struct config_diff *to, const struct config_frontend *a,
		      const struct config_frontend *b)
{
	const struct lists l = {.key = "allow-uid",
				.between = " ",
				.counts = {a->allow_uid_count, b->allow_uid_count},
				.is_same = is_same_user,
				.print = print_user,
				.from = {a, b}};

	return diff_lists(to, &l);
}

/* ---- where clients go ---- */

static const char *route_name(const struct lists *l, unsigned which, size_t i)
{
	const struct config_front *f = l->from[which];

	return f->backend_name(f->from, i);
}

static const struct config_route *route_of(const struct lists *l, unsigned which, size_t i)
{
	return &((const struct config_front *)l->from[which])->config->routes[i];
}

static bool is_same_route(const struct lists *l, size_t a, size_t b)
{
	const struct config_route *x = route_of(l, 0, a), *y = route_of(l, 1, b);
	bool same = x->src_list.count == y->src_list.count && x->port_count == y->port_count;

	for (size_t i = 0; same && i < x->src_list.count; i++)
		same = is_same_prefix(&x->src_list.list[i], &y->src_list.list[i]);
	same = same && setting_same_lists(x->src_list.files, x->src_list.file_count, y->src_list.files,
					  y->src_list.file_count);
	for (size_t i = 0; same && i < x->port_count; i++)
		same = x->ports[i].first == y->ports[i].first && x->ports[i].last == y->ports[i].last;
	same = same && setting_same_tls_words(x, y);
	return same && strcmp(route_name(l, 0, a), route_name(l, 1, b)) == 0;
}

/* " [@FILE (3 networks, hash ...)]": what the line itself does not show. */
static void print_route_files(const struct config_route *r, FILE *out)
{
	const char *before = " [";

	for (size_t i = 0; i < r->src_list.file_count + r->sni.file_count; i++) {
		const size_t src = r->src_list.file_count;

		fputs(before, out);
		setting_print_list_facts(i < src ? &r->src_list.files[i] : &r->sni.files[i - src], out);
		before = ", ";
	}
	if (r->src_list.file_count + r->sni.file_count > 0)
		fputc(']', out);
}

static void print_route(const struct lists *l, unsigned which, size_t i, FILE *out)
{
	fputs(route_name(l, which, i), out);
	setting_print_route(route_of(l, which, i), out);
	print_route_files(route_of(l, which, i), out);
}

static int diff_routes(const struct config_diff *to, const struct config_front *a,
		       const struct config_front *b)
{
	const struct lists l = {.key = "use-backend",
				.between = "; ",
				.counts = {a->config->route_count, b->config->route_count},
				.is_same = is_same_route,
				.print = print_route,
				.from = {a, b}};

	return diff_lists(to, &l);
}

static void diff_texts(const struct config_diff *to, const char *key, const char *a, const char *b)
{
	if (strcmp(a, b) != 0)
		to->differs(to->arg, key, a, b);
}

static const char *default_backend(const struct config_front *f)
{
	return f->config->routes_only ? "none" : f->backend_name(f->from, f->config->route_count);
}

/* ---- sections and lines ---- */

/* Other sections have keys of the same names. */
static void on_stats(void *arg, const char *key, const char *before, const char *after)
{
	const struct config_diff *to = arg;
	char name[64];

	(void)snprintf(name, sizeof(name), "stats.%s", key); /* it fits */
	to->differs(to->arg, name, before, after);
}

/* Which of its lines differ is nobody else's business. */
static void diff_auth(const struct config_diff *to, const struct config_auth *a, const struct config_auth *b)
{
	bool same = a->count == b->count;

	if (a->file == NULL || b->file == NULL || strcmp(a->file, b->file) != 0)
		return; /* the option itself differs, or there is none */
	for (size_t i = 0; i < a->count && same; i++)
		same = strcmp(a->list[i].name, b->list[i].name) == 0 &&
		       strcmp(a->list[i].hash, b->list[i].hash) == 0;
	if (!same)
		to->differs(to->arg, "auth-file", a->file, "the same file with other contents");
}

int config_diff_global(const struct config_global *before, const struct config_global *after,
		       const struct config_diff *to)
{
	const struct config_diff of_stats = {on_stats, (void *)(uintptr_t)to};
	int err = diff_options(to, IN_GLOBAL, before, after);

	if (!err)
		err = diff_options(&of_stats, IN_STATS, before, after);
	if (!err)
		err = diff_networks(&of_stats, "allow-from", &before->stats.allow_list,
				    &after->stats.allow_list);
	if (!err)
		diff_auth(&of_stats, &before->stats.auth, &after->stats.auth);
	return err;
}

int config_diff_frontend(const struct config_front *before, const struct config_front *after,
			 const struct config_diff *to)
{
	const struct config_frontend *a = before->config, *b = after->config;
	const struct config_proxy x = proxy_view_front(a), y = proxy_view_front(b);
	int err;

	diff_texts(to, "section", a->listen ? "listen" : "frontend", b->listen ? "listen" : "frontend");
	err = diff_options(to, IN_FRONTEND, &x, &y);
	if (!err)
		err = diff_networks(to, "allow-from", &a->allow_list, &b->allow_list);
	if (!err)
		err = diff_networks(to, "deny-from", &a->deny_list, &b->deny_list);
	if (!err)
		err = diff_networks(to, "trusted", &a->trusted_list, &b->trusted_list);
	if (!err)
		err = diff_networks(to, "limit-exempt", &a->exempt_list, &b->exempt_list);
	if (!err)
		err = diff_users(to, a, b);
	if (!err)
		err = diff_routes(to, before, after);
	if (!err)
		diff_texts(to, "default-backend", default_backend(before), default_backend(after));
	return err;
}

/* A file of certificates has other contents, which no line shows. */
static void diff_trust(const struct config_diff *to, const struct config_check *a,
		       const struct config_check *b)
{
	if (a->trust == b->trust || a->verify != b->verify || !same_text(a->ca_file, b->ca_file))
		return;
	to->differs(to->arg, "verify", a->ca_file != NULL ? a->ca_file : "system", "other certificates");
}

/* The same for a file of names or networks. */
static void diff_files(const struct config_diff *to, const char *key, const struct config_list *a,
		       const struct config_list *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(a[i].name, b[i].name) == 0 && a[i].list != b[i].list)
			to->differs(to->arg, key, a[i].name, "the same file with other contents");
}

int config_diff_backend(const struct config_backend *before, const struct config_backend *after,
			const struct config_diff *to)
{
	const struct config_proxy x = proxy_view_back(before), y = proxy_view_back(after);

	diff_trust(to, &before->check, &after->check);
	if (before->allow_sni.file_count == after->allow_sni.file_count)
		diff_files(to, "allow-sni", before->allow_sni.files, after->allow_sni.files,
			   after->allow_sni.file_count);
	if (before->allow_to_list.file_count == after->allow_to_list.file_count)
		diff_files(to, "allow-to", before->allow_to_list.files, after->allow_to_list.files,
			   after->allow_to_list.file_count);
	return diff_options(to, IN_BACKEND, &x, &y);
}

int config_diff_bind(const struct config_bind *before, const struct config_bind *after,
		     const struct config_diff *to)
{
	char was[ADDR_TEXT_MAX], is[ADDR_TEXT_MAX];

	if (strcmp(before->name, after->name) != 0)
		to->differs(to->arg, "name", before->name[0] != '\0' ? before->name : NULL,
			    after->name[0] != '\0' ? after->name : NULL);
	if (before->first_port != after->first_port || before->last_port != after->last_port)
		to->differs(to->arg, "address", bind_line_address(before, was), bind_line_address(after, is));
	return diff_options(to, IN_BIND, before, after);
}

int config_diff_server(const struct config_server *before, const struct config_server *after,
		       const struct config_diff *to)
{
	const unsigned words = after->set != CONFIG_SET_NONE ? IN_SERVER | IN_SET : IN_SERVER;

	return diff_options(to, words, before, after);
}
