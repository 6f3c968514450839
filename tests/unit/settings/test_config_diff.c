/* SPDX-License-Identifier: MIT
 *
 * test_config_diff.c - which options differ, for every row of the table, and without memory.
 *
 * Linked with --wrap, so that a stream into memory can fail.
 */
#include "config_test.h"

#include <errno.h>

#include "weir/base/text.h"
#include "weir/config/options.h"
#include "weir/config/same.h"
#include "weir/settings/config_diff.h"
#include "weir/settings/config_lines.h"

#define KEY_MAX 128

FILE *__real_open_memstream(char **bytes, size_t *len);
FILE *__wrap_open_memstream(char **bytes, size_t *len);

static long until_failure = -1; /* streams that still open; -1 = all */

FILE *__wrap_open_memstream(char **bytes, size_t *len)
{
	if (until_failure == 0)
		return NULL;
	until_failure -= until_failure > 0;
	return __real_open_memstream(bytes, len);
}

/* ---- differences as text ---- */

static void add_difference(void *arg, const char *key, const char *before, const char *after)
{
	text_printf(arg, "%s: %s -> %s\n", key, before != NULL ? before : "-", after != NULL ? after : "-");
}

/* The name of the backend in its snapshot. */
struct names {
	const struct config *config;
	const struct config_frontend *frontend;
};

static const char *backend_name(const void *from, size_t i)
{
	const struct names *n = from;
	const struct config_frontend *f = n->frontend;

	return n->config->backends[i == f->route_count ? f->backend : f->routes[i].backend].name;
}

static int diff_frontends(const struct config *a, const struct config_frontend *x, const struct config *b,
			  const struct config_frontend *y, const struct config_diff *to)
{
	const struct names from_a = {a, x}, from_b = {b, y};
	const struct config_front before = {x, backend_name, &from_a}, after = {y, backend_name, &from_b};

	return config_diff_frontend(&before, &after, to);
}

/* The first of everything in both: [global], frontend, its bind, backend, its server. */
static int diff_all(const struct config *a, const struct config *b, struct text *out)
{
	const struct config_diff to = {add_difference, out};
	int err = config_diff_global(&a->global, &b->global, &to);

	if (!err)
		err = diff_frontends(a, &a->frontends[0], b, &b->frontends[0], &to);
	if (!err)
		err = config_diff_bind(&a->frontends[0].binds[0], &b->frontends[0].binds[0], &to);
	if (!err)
		err = config_diff_backend(&a->backends[0], &b->backends[0], &to);
	if (!err)
		err = config_diff_server(&a->backends[0].servers[0], &b->backends[0].servers[0], &to);
	return err;
}

static struct config *take_config(const char *text)
{
	struct loaded l = load_text(text);
	struct config *c = l.config;

	if (c == NULL)
		fail_msg("refused:\n%s\n%s", text, l.said);
	free(l.said);
	return c;
}

static void assert_diff(const char *before, const char *after, const char *wanted)
{
	struct config *a = take_config(before), *b = take_config(after);
	struct text out;

	text_init(&out);
	assert_int_equal(diff_all(a, b, &out), 0);
	assert_false(out.failed);
	assert_string_equal(out.len > 0 ? out.bytes : "", wanted);
	text_free(&out);
	config_free(a);
	config_free(b);
}

/* ---- goldens ---- */

#define WEB(options) "[listen web]\nbind = :80\nserver a = 10.0.0.1:80\n" options
#define BIND(words)  "[listen web]\nbind = :80" words "\nserver a = 10.0.0.1:80\n"
#define SERVER(words) "[listen web]\nbind = :80\nserver a = 10.0.0.1:80" words "\n"

static void options_are_reported_with_both_values(void **state)
{
	(void)state;
	assert_diff(WEB(""), WEB(""), "");
	assert_diff("[global]\nmaxconn = 100\n" WEB(""), "[global]\nmaxconn = 2_000\nsplice = on\n" WEB(""),
		    "maxconn: 100 -> 2000\nsplice: auto -> on\n");
	assert_diff("[global]\nadmin-socket = unix:/run/a mode=600\n" WEB(""), WEB(""),
		    "admin-socket: unix:/run/a mode=600 level=operator -> -\n");
	assert_diff(WEB("timeout-client = 30s\n"), WEB("timeout-client = 90s\n"),
		    "timeout-client: 30s -> 1m30s\n");
	assert_diff(WEB(""), WEB("check = http GET /health expect=200\n"),
		    "check: off -> http GET /health expect=200\ncheck: off -> on\n");
	assert_diff(SERVER(" check"), SERVER(""), "check: tcp -> off\ncheck: on -> off\n");
	assert_diff(BIND(""), BIND(" backlog=9 v6only"), "backlog: - -> 9\nv6only: off -> on\n");
	assert_diff("[listen web]\nbind one = :80\nserver a = 10.0.0.1:80\n", BIND(""), "name: one -> -\n");
	assert_diff(SERVER(" weight=3 maxconn=7"), SERVER(" backup"),
		    "weight: 3 -> 1\nbackup: off -> on\nmaxconn: 7 -> 0\n");
	assert_diff(WEB("send-proxy = v2\n"), WEB(""), "send-proxy: v2 -> off\n");
	assert_diff(WEB(""), "[frontend web]\nbind = :80\ndefault-backend = b\n[backend b]\n"
			     "server a = 10.0.0.1:80\n",
		    "section: listen -> frontend\ndefault-backend: web -> b\n");
}

/* What applies to both sides is in both. */
static void an_option_of_both_sides_is_reported_for_each(void **state)
{
	(void)state;
	assert_diff(WEB(""), WEB("max-lifetime = 5s\n"),
		    "max-lifetime: off -> 5s\nmax-lifetime: off -> 5s\n");
}

static void lists_are_reported_whole_while_they_are_short(void **state)
{
	(void)state;
	assert_diff(WEB("allow-from = 10.0.0.0/8 ::1\n"), WEB("allow-from = 10.0.0.0/8\n"),
		    "allow-from: 10.0.0.0/8 ::1 -> 10.0.0.0/8\n");
	assert_diff(WEB(""), WEB("deny-from = 10.0.0.7\ntrusted = ::/0\n"),
		    "deny-from: - -> 10.0.0.7\ntrusted: - -> ::/0\n");
	assert_diff("[listen web]\nbind = unix:/t\nserver a = 10.0.0.1:80\n",
		    "[listen web]\nbind = unix:/t\nserver a = 10.0.0.1:80\nallow-uid = 7 8\n",
		    "allow-uid: - -> 7 8\n");
	assert_diff(WEB("use-backend web = src=10.0.0.0/8\n"),
		    WEB("use-backend web = dst-port=80\nuse-backend web = src=10.0.0.0/8\n"),
		    "use-backend: web src=10.0.0.0/8 -> web dst-port=80; web src=10.0.0.0/8\n");
	assert_diff(WEB("use-backend web = dst-port=80\n"), WEB("use-backend web = dst-port=80-81\n"),
		    "use-backend: web dst-port=80 -> web dst-port=80-81\n");
	assert_diff(WEB("rate-limit-per-source = 1/1s\nlimit-exempt = ::1\n"),
		    WEB("rate-limit-per-source = 1/1s burst=2\nlimit-exempt = ::1 10.0.0.1\n"),
		    "rate-limit-per-source: 1/1s -> 1/1s burst=2\nlimit-exempt: ::1 -> ::1 10.0.0.1\n");
	assert_diff(WEB("sniff = tls\nuse-backend web = sni=a\n"),
		    WEB("sniff = tls timeout=1s\nuse-backend web = sni=a,b alpn=h2\n"),
		    "sniff: tls -> tls timeout=1s\n"
		    "use-backend: web sni=a -> web sni=a,b alpn=h2\n");
}

#define TEN(n)                                                                                               \
	n ".1 " n ".2 " n ".3 " n ".4 " n ".5 " n ".6 " n ".7 " n ".8 " n ".9 " n ".10"

static void long_lists_are_shortened_to_what_differs(void **state)
{
	(void)state;
	assert_diff(WEB("allow-from = " TEN("10.0.0") "\n"), WEB("allow-from = " TEN("10.0.0") " 10.9.9.9\n"),
		    "allow-from: 10 in all -> 11 in all, of which: 10.9.9.9\n");
	assert_diff(WEB("allow-from = 10.1.1.1 " TEN("10.0.0") "\n"),
		    WEB("allow-from = 10.2.2.2 " TEN("10.0.0") "\n"),
		    "allow-from: 11 in all, of which: 10.1.1.1 -> 11 in all, of which: 10.2.2.2\n");
	assert_diff(WEB("allow-from = " TEN("10.0.0") "\n"), WEB("allow-from = ::1\n"),
		    "allow-from: 10 in all, of which: 10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5 10.0.0.6 "
		    "10.0.0.7 10.0.0.8 and 2 more -> 1 in all, of which: ::1\n");
}

static void lines_are_as_in_a_file(void **state)
{
	struct config *c = take_config("[global]\nlog = file:/tmp/l level=debug\n"
				       "[listen web]\nbind one = :80 backlog=5\nbind = unix:/t mode=600\n"
				       "check = tcp\nserver a = 10.0.0.1:80 weight=2 check=off\n");
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_non_null(out);
	config_print_log(&c->global.logs[0], out);
	fputc('\n', out);
	config_print_bind(&c->frontends[0].binds[0], out);
	fputc('\n', out);
	config_print_bind(&c->frontends[0].binds[1], out);
	fputc('\n', out);
	config_print_server(&c->backends[0], &c->backends[0].servers[0], out);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "log = file:/tmp/l level=debug format=text\n"
				  "bind one = *:80 backlog=5\n"
				  "bind = unix:/t mode=600\n"
				  "server a = 10.0.0.1:80 weight=2 check=off");
	free(text);
	config_free(c);
}

/* ---- every row ---- */

/* For options whose example is their default: another value. */
static const char *const other_values[] = {
	"threads = 3",		    "maxpipes = 7",	     "pipe-size = 1m",
	"splice = on",		    "hard-stop-after = 31s", "pipe-cycle = 11s",
	"retries = 4",		    "redispatch = off",	     "resolve-interval = 31s",
	"check-interval = 3s",	    "check-rise = 3",	     "check-fall = 4",
	"timeout-connect = 6s",	    "timeout-client = 11m",  "timeout-server = 11m",
	"timeout-half-closed = 1s", "timeout-handshake = 6s", "tcp-nodelay = off",
	"hold-nx = 1s",		    "hold-timeout = 1s",     "hold-refused = 1s",
	"hold-other = 1s",
};

static const char *other_value(const struct option *o)
{
	for (size_t i = 0; (o->sections & IN_SERVER) == 0 && i < ARRAY_LEN(other_values); i++) {
		const size_t len = strlen(o->key);

		if (strncmp(other_values[i], o->key, len) == 0 && other_values[i][len] == ' ')
			return other_values[i];
	}
	return o->example;
}

/* The key under which a word of a line is reported. */
static const char *reported_key(const struct option *o, char buf[static KEY_MAX])
{
	if ((o->sections & (IN_BIND | IN_SERVER | IN_SET)) != 0 ||
	    (o->sections & (IN_GLOBAL | IN_LISTEN | IN_FRONTEND | IN_BACKEND)) != 0)
		return o->key;
	(void)snprintf(buf, KEY_MAX, "%.*s", (int)strcspn(o->example, " "), o->example);
	return buf;
}

/* Not every machine has the users and groups of the examples. */
static void rename_users(char *line)
{
	static const char *const names[] = {"=www-data", "=telegraf", "=weir", "=adm", "= weir"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const size_t len = strlen(names[i]);
		char *at = strstr(line, names[i]);

		if (at == NULL || strchr(",\n", at[len]) == NULL)
			continue;
		memmove(at + 1 + strlen("root"), at + len, strlen(at + len) + 1);
		memcpy(at + 1, "root", strlen("root"));
	}
}

/* Two configurations, without and with the example of the option. */
static void make_pair(const struct option *o, char *before, char *after, size_t room)
{
	const char *line = other_value(o);
	const size_t value = strcspn(line, "=") + 2, words = value + strcspn(line + value, " ");
	/* It needs this one. */
	const char *web = strcmp(o->key, "persist") == 0 ? WEB("sniff = rdp required\n") : WEB("");

	if ((o->sections & IN_BIND) != 0) {
		(void)snprintf(before, room, "[listen web]\n%.*s\nserver a = 10.0.0.1:80\n", (int)words,
			       line);
		(void)snprintf(after, room, "[listen web]\n%s\nserver a = 10.0.0.1:80\n", line);
	} else if ((o->sections & (IN_SERVER | IN_SET)) != 0) {
		(void)snprintf(before, room, "[listen web]\nbind = :80\n%.*s\n", (int)words, line);
		(void)snprintf(after, room, "[listen web]\nbind = :80\n%s\n", line);
	} else if ((o->sections & (IN_GLOBAL | IN_ADMIN)) != 0) {
		(void)snprintf(before, room, "%s", WEB(""));
		(void)snprintf(after, room, "[global]\n%s\n" WEB(""), line);
	} else if ((o->sections & (IN_STATS | IN_STATS_BIND)) != 0) {
		(void)snprintf(before, room, "%s", WEB(""));
		(void)snprintf(after, room, "[stats]\n%s\n" WEB(""), line);
	} else {
		(void)snprintf(before, room, "%s[backend app]\nserver a = 10.0.0.1:80\n", web);
		(void)snprintf(after, room, "%s%s\n[backend app]\nserver a = 10.0.0.1:80\n", web, line);
	}
	rename_users(after);
}

/* What is compared one by one, has no value of its own, or comes with another option. */
static bool is_elsewhere(const struct option *o)
{
	return o->type == OPT_LATER || o->type == OPT_LOG || o->type == OPT_INCLUDE || o->type == OPT_BIND ||
	       o->type == OPT_SERVER || o->type == OPT_SERVERS || o->type == OPT_SERVER_WORDS ||
	       o->type == OPT_BACKEND || o->type == OPT_IDLE || o->type == OPT_KEEPALIVES ||
	       o->type == OPT_AUTH || o->type == OPT_CHECK_PATH ||
	       (o->sections & (IN_LOG | IN_SYSLOG)) != 0;
}

static void assert_reported(const struct option *o)
{
	char before[1024], after[1024], key[KEY_MAX], wanted[KEY_MAX + 2];
	struct config *a, *b;
	struct text out;

	make_pair(o, before, after, sizeof(before));
	a = take_config(before);
	b = take_config(after);
	text_init(&out);
	assert_int_equal(diff_all(a, b, &out), 0);
	(void)snprintf(wanted, sizeof(wanted), "%s: ", reported_key(o, key));
	if (out.len == 0 || strstr(out.bytes, wanted) == NULL)
		fail_msg("'%s' is not reported for:\n%s(if that is its default, add another value to "
			 "other_values)",
			 o->key, after);
	text_free(&out);
	config_free(a);
	config_free(b);
}

static void each_option_of_the_table_is_reported(void **state)
{
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < option_count; i++) {
		if (is_elsewhere(&options[i]))
			continue;
		assert_reported(&options[i]);
		count++;
	}
	assert_true(count > 70);
}

/* ---- beside same.h ---- */

static const char *const worlds[] = {
	WEB(""),
	WEB("maxconn = 5\n"),
	WEB("balance = source hash=consistent\n"),
	WEB("balance = random(3)\ncheck = http GET / expect=200,301 host=h\n"),
	WEB("check = send \"a\" expect=b\ntcp-keepalive = 9s\n"),
	WEB("check = pgsql user='a b' role=primary\n"),
	WEB("check = mysql user=a\n"),
	"[global]\nexec-checks = 1\n" WEB("check = exec /bin/sh a b\n"),
	"[global]\nexec-checks = 1\n" WEB("check = exec /bin/sh a path=/b\n"),
	WEB("check = http GET / soft-stop=404\n"),
	WEB("check = smtp EHLO a\n"),
	WEB("check = smtp HELO b\n"),
	WEB("allow-from = 10.0.0.0/8\ndeny-from = 10.0.0.1\nunlisten = no-server\n"),
	WEB("maxconn-per-source = 3\nrate-limit-per-source = 9/1m burst=3\nlimit-exempt = ::1\n"),
	WEB("use-backend web = src=10.0.0.0/8 dst-port=80\non-removed = close\n"),
	WEB("sniff = rdp required\n"),
	WEB("sniff = rdp\npersist = rdp\n"),
	WEB("sniff = tls required\nuse-backend web = sni=*.a,b alpn=h2\nuse-backend web = sni=none\n"),
	BIND(" interface=lo tfo accept-proxy"),
	SERVER(" source=10.0.0.9 slowstart=3s check-port=9 disabled"),
	SERVER(" send-proxy=v2 proxy-v2-options=crc32c,unique-id"),
	"[frontend web]\nbind = :80\ndefault-backend = web\n[backend web]\nserver a = 10.0.0.1:80\n",
	("[frontend web]\nbind = :80\ndefault-backend = b\n[backend web]\nserver a = 10.0.0.1:80\n"
	 "[backend b]\nserver a = 10.0.0.1:80\n"),
};

static size_t count_lines(struct text *out)
{
	size_t n = 0;

	for (size_t i = 0; i < out->len; i++)
		n += out->bytes[i] == '\n';
	out->len = 0;
	return n;
}

static void assert_agrees(const struct config *a, const struct config *b)
{
	const struct config_frontend *f = &a->frontends[0], *g = &b->frontends[0];
	const bool same_way = strcmp(a->backends[f->backend].name, b->backends[g->backend].name) == 0;
	struct text out;
	const struct config_diff to = {add_difference, &out};

	text_init(&out);
	assert_int_equal(diff_frontends(a, f, b, g, &to), 0);
	assert_int_equal(count_lines(&out) == 0, config_frontend_same(f, g) && same_way);
	assert_int_equal(config_diff_bind(&f->binds[0], &g->binds[0], &to), 0);
	assert_int_equal(count_lines(&out) == 0, config_bind_same(&f->binds[0], &g->binds[0]));
	assert_int_equal(config_diff_backend(&a->backends[0], &b->backends[0], &to), 0);
	assert_int_equal(count_lines(&out) == 0, config_backend_same(&a->backends[0], &b->backends[0]));
	assert_int_equal(config_diff_server(&a->backends[0].servers[0], &b->backends[0].servers[0], &to), 0);
	assert_int_equal(count_lines(&out) == 0,
			 config_server_same(&a->backends[0].servers[0], &b->backends[0].servers[0]));
	text_free(&out);
}

static void what_is_not_the_same_has_a_difference(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
		struct config *a = take_config(worlds[i]);

		for (size_t k = 0; k < ARRAY_LEN(worlds); k++) {
			struct config *b = take_config(worlds[k]);

			assert_agrees(a, b);
			config_free(b);
		}
		config_free(a);
	}
}

/* ---- without memory ---- */

static void running_out_of_memory_is_reported(void **state)
{
	struct config *a = take_config("[global]\nmaxconn = 5\n" WEB("timeout-client = 1s\nretries = 5\n"
								     "allow-from = ::1\n"));
	struct config *b = take_config("[listen web]\nbind = :80 backlog=4\nserver a = 10.0.0.1:80 weight=3\n"
				       "use-backend web = dst-port=5\n");
	struct text out;
	long n = 0;
	int err;

	(void)state;
	text_init(&out);
	do {
		until_failure = n++;
		err = diff_all(a, b, &out);
		until_failure = -1;
		assert_true(err == 0 || err == -ENOMEM);
	} while (err);
	assert_true(n > 10); /* it needs some */
	text_free(&out);
	config_free(a);
	config_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_are_reported_with_both_values),
		cmocka_unit_test(an_option_of_both_sides_is_reported_for_each),
		cmocka_unit_test(lists_are_reported_whole_while_they_are_short),
		cmocka_unit_test(long_lists_are_shortened_to_what_differs),
		cmocka_unit_test(lines_are_as_in_a_file),
		cmocka_unit_test(each_option_of_the_table_is_reported),
		cmocka_unit_test(what_is_not_the_same_has_a_difference),
		cmocka_unit_test(running_out_of_memory_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
