/* SPDX-License-Identifier: MIT
 *
 * test_print.c - the snapshot: what a file becomes, and that -T reads back to the same.
 */
#include "same_config.h"

#include "weir/base/clock.h"
#include "weir/base/log.h"

static void defaults_are_those_of_the_contract(void **state)
{
	struct loaded l = assert_accepted(GOOD);
	const struct config *c = l.config;
	const struct config_backend *b = &c->backends[0];
	const struct config_frontend *f = &c->frontends[0];

	(void)state;
	assert_int_equal(c->global.threads, 0);
	assert_int_equal(c->global.maxconn, 0);
	assert_int_equal(c->global.maxpipes, -1);
	assert_int_equal(c->global.pipe_size, 524288);
	assert_int_equal(c->global.splice, CONFIG_SPLICE_AUTO);
	assert_int_equal(c->global.driver, CONFIG_DRIVER_AUTO);
	assert_int_equal(c->global.affinity, CONFIG_AFFINITY_AUTO);
	assert_int_equal(c->global.hard_stop_after_ns, 30 * NS_PER_SEC);
	assert_int_equal(c->global.pipe_cycle_ns, 10 * NS_PER_SEC);
	assert_int_equal(c->global.log_count, 1);
	assert_int_equal(c->global.logs[0].kind, CONFIG_LOG_AUTO);
	assert_int_equal(c->global.logs[0].level, LOG_LEVEL_INFO);
	assert_int_equal(c->global.admin.kind, ADDR_NONE);
	assert_int_equal(b->timeouts.connect_ns, 5 * NS_PER_SEC);
	assert_int_equal(b->timeouts.server_ns, 600 * NS_PER_SEC);
	assert_int_equal(f->timeouts.client_ns, 600 * NS_PER_SEC);
	assert_int_equal(f->timeouts.half_closed_ns, 60 * NS_PER_SEC);
	assert_int_equal(f->timeouts.max_lifetime_ns, 0);
	assert_int_equal(b->timeouts.max_lifetime_ns, 0);
	assert_int_equal(b->retries, 3);
	assert_true(b->redispatch);
	assert_int_equal(b->resolve_interval_ns, 0);
	assert_int_equal(b->hold_nx_ns, 30 * NS_PER_SEC);
	assert_int_equal(b->hold_obsolete_ns, 0);
	assert_int_equal(c->global.resolver, CONFIG_RESOLVER_AUTO);
	assert_int_equal(c->global.resolvers.count, 0);
	assert_true(b->tcp.nodelay);
	assert_false(b->tcp.keepalive);
	assert_int_equal(b->tcp.user_timeout_ms, 0);
	assert_int_equal(b->servers[0].weight, 1);
	assert_int_equal(f->binds[0].backlog, 0);
	assert_int_equal(f->binds[0].owner.mode, -1);
	assert_round_trip(c);
	unload(&l);
}

static const char everything[] =
	"[global]\n"
	"threads = 4\ncpu-affinity = 0-2,7\ndriver = epoll\nmaxconn = 20_000\n"
	"maxpipes = 0\npipe-size = 1m\nsplice = off\nuser = nobody\ngroup = root\n"
	"log = file:'/tmp/a b#c\"d.log' level=debug\nlog = stderr\nlog = off level=error\n"
	"log = syslog:'/tmp/a b' facility=local7 format=json\nlog = syslog:[::1]:514 level=alert\n"
	"log = syslog:unix:@x facility=user\n"
	"admin-socket = unix:/tmp/x.sock mode=0660 user=0 group=0\n"
	"hard-stop-after = 0\nshutdown-delay = 10s\npipe-cycle = 1m30s\n"
	"resolver = system\nresolvers = 10.0.0.2 10.0.0.3:5353 fd00::2 [fd00::3]:54\n"
	"[stats]\n"
	"bind = 127.0.0.1:8404\nallow-from = 10.0.0.0/8\nper-server-histograms = on\n"
	"[defaults]\n"
	"timeout-idle = 1h\nretries = 0\ntcp-keepalive = 60s interval=5s count=4\n"
	"[frontend f]\n"
	"bind public = :8080 backlog=77 defer-accept\nbind = '/tmp/s #p.sock' mode=600\n"
	"bind = unix:@abstract\nbind = fd@web backlog=9\nbind = fd@5 defer-accept\n"
	"bind = [::1]:99 v6only\nbind = *:98\n"
	"maxconn = 7\ntimeout-client = 7s\nmax-lifetime = 2d\ndefault-backend = app\n"
	"client-keepalive = on count=9\n"
	"tcp-user-timeout = 1500ms\ntcp-nodelay = off\n"
	"[backend first]\nserver z = [::1]:90\n"
	"[listen web]\n"
	"bind = 127.0.0.1:1\ntimeout-server = 9s\ntimeout-idle = 20s\ntcp-keepalive = off\n"
	"server a = 10.0.0.1:80 weight=0 source=10.0.0.9\n"
	"server b = db.internal:80 weight=256\nserver c = unix:/run/c.sock\n"
	"redispatch = off\nresolve-interval = 250ms\nresolve-family = ipv6\n"
	"hold-nx = 1s\nhold-timeout = 2s\nhold-refused = 3s\nhold-other = 0\nhold-obsolete = 4s\n"
	"[frontend g]\nbind = 127.0.0.1:2\ndefault-backend = web\ntcp-keepalive = on\n"
	"use-backend first = src=::1\n"
	"[backend app]\nserver z = ipv4@db.internal:90\nretries = 7\nmax-lifetime = 3d\n"
	"servers pod = dns://ipv6@app.internal:90 max=7 weight=3 maxconn=9 backup source=::1\n"
	"servers srv = srv://_app._tcp.internal. slowstart=5s\non-empty = drain\n";

static void everything_reads_back_to_the_same_snapshot(void **state)
{
	struct loaded l = assert_accepted(everything);
	const struct config *c = l.config;

	(void)state;
	assert_int_equal(c->frontend_count, 3);
	assert_int_equal(c->backend_count, 3);
	assert_string_equal(c->global.logs[0].path, "/tmp/a b#c\"d.log");
	assert_int_equal(c->global.cpu_count, 4);
	assert_int_equal(c->global.cpus[3], 7);
	assert_string_equal(c->frontends[0].binds[1].addr.addr.un.sun_path, "/tmp/s #p.sock");
	assert_string_equal(c->backends[c->frontends[0].backend].name, "app");
	assert_string_equal(c->backends[c->frontends[2].backend].name, "web");
	assert_true(c->frontends[1].listen);
	assert_true(c->global.stats.per_server_histograms);
	assert_round_trip(c);
	unload(&l);
}

static void sections_win_over_defaults(void **state)
{
	struct loaded l = assert_accepted(everything);
	const struct config *c = l.config;

	(void)state;
	assert_int_equal(c->backends[0].retries, 0); /* [defaults] */
	assert_int_equal(c->backends[2].retries, 7); /* [backend app] */
	assert_int_equal(c->backends[2].timeouts.max_lifetime_ns, 3 * 86400 * NS_PER_SEC);
	assert_int_equal(c->frontends[0].timeouts.max_lifetime_ns, 2 * 86400 * NS_PER_SEC);
	assert_int_equal(c->backends[0].timeouts.server_ns, 3600 * NS_PER_SEC);
	assert_true(c->backends[0].tcp.keepalive);
	assert_int_equal(c->backends[0].tcp.keepalive_interval_s, 5);
	assert_false(c->backends[1].tcp.keepalive);
	unload(&l);
}

static void assert_keepalive(const struct config_tcp *tcp, bool on, int idle_s, int interval_s, int count)
{
	assert_int_equal(tcp->keepalive, on);
	if (!on)
		return;
	assert_int_equal(tcp->keepalive_idle_s, idle_s);
	assert_int_equal(tcp->keepalive_interval_s, interval_s);
	assert_int_equal(tcp->keepalive_count, count);
}

/* 0 = the kernel's own. */
static void the_nearer_keepalive_wins_and_then_the_one_of_the_side(void **state)
{
	struct loaded l = assert_accepted(
		"[defaults]\nclient-keepalive = 7s\nserver-keepalive = 8s\n"
		"[listen a]\nbind = :1\nserver a = 10.0.0.1:80\ntcp-keepalive = on\n"
		"[listen b]\nbind = :2\nserver a = 10.0.0.1:80\nserver-keepalive = off\ntcp-keepalive = 9s\n"
		"[listen c]\nbind = :3\nserver a = 10.0.0.1:80\ntcp-keepalive = 9s\n"
		"client-keepalive = on interval=3s\n"
		"[listen d]\nbind = :4\nserver a = 10.0.0.1:80\nserver-keepalive = 5s count=2\n"
		"[listen e]\nbind = :5\nserver a = 10.0.0.1:80\ntcp-keepalive = off\n");
	const struct config_frontend *f = l.config->frontends;
	const struct config_backend *b = l.config->backends;

	(void)state;
	assert_keepalive(&f[0].tcp, true, 0, 0, 0);
	assert_keepalive(&b[0].tcp, true, 0, 0, 0);
	assert_keepalive(&f[1].tcp, true, 9, 10, 3);
	assert_keepalive(&b[1].tcp, false, 0, 0, 0);
	assert_keepalive(&f[2].tcp, true, 0, 3, 0);
	assert_keepalive(&b[2].tcp, true, 9, 10, 3);
	assert_keepalive(&f[3].tcp, true, 7, 10, 3);
	assert_keepalive(&b[3].tcp, true, 5, 10, 2);
	assert_keepalive(&f[4].tcp, false, 0, 0, 0);
	assert_keepalive(&b[4].tcp, false, 0, 0, 0);
	assert_round_trip(l.config);
	unload(&l);
}

static void specific_timeouts_win_over_idle_in_any_order(void **state)
{
	struct loaded l = assert_accepted(everything);

	(void)state;
	assert_int_equal(l.config->backends[1].timeouts.server_ns, 9 * NS_PER_SEC);
	assert_int_equal(l.config->frontends[1].timeouts.client_ns, 20 * NS_PER_SEC);
	assert_int_equal(l.config->frontends[0].timeouts.client_ns, 7 * NS_PER_SEC);
	unload(&l);
}

static void places_name_file_and_line(void **state)
{
	struct loaded l = assert_accepted(GOOD);

	(void)state;
	assert_ptr_equal(l.config->backends[0].servers[0].place.file, l.config->files[0]);
	assert_int_equal(l.config->backends[0].servers[0].place.line, 3);
	assert_int_equal(l.config->frontends[0].binds[0].place.line, 2);
	assert_int_equal(l.config->frontends[0].place.line, 1);
	unload(&l);
}

static void the_summary_counts(void **state)
{
	struct loaded l = assert_accepted(everything);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_non_null(out);
	config_print_summary(l.config, out);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "t.ini: ok (3 frontends, 3 backends, 7 servers, 0 includes, 0 warnings)\n");
	free(text);
	unload(&l);
}

/* Each line of -T says where it is from: the section, [defaults], -o or the table. */
static void every_line_names_its_origin(void **state)
{
	static const char text[] = "[defaults]\nretries = 5\ntimeout-idle = 1h\ntimeout-connect = 1s\n"
				   "[listen web]\nbind = :80\ntimeout-idle = 20s\ntimeout-client = 3s\n"
				   "server a = x:1\n[global]\nthreads = 2\nlog = stderr\n"
				   "[frontend f]\nbind = :81\ndefault-backend = web\n";
	static const char *const pieces[] = {
		"\nthreads = 2                                  # t.ini:11\n",
		"\ncpu-affinity = auto                          # default\n",
		"\nsplice = on                                  # -o global.splice=on\n",
		"\nlog = stderr level=info format=text          # t.ini:12\n",
		"\n[listen web]                                 # t.ini:5\n",
		"\nbind = *:80                                  # t.ini:6\n",
		"\nmaxconn = 9                                  # -o 'listen web.maxconn=9'\n",
		"\ntimeout-client = 3s                          # t.ini:8\n",
		"\nretries = 5                                  # [defaults], t.ini:2\n",
		"\ntimeout-connect = 1s                         # [defaults], t.ini:4\n",
		"\ntimeout-server = 20s                         # t.ini:7\n",
		"\nserver a = x:1 weight=1                      # t.ini:9\n",
		"\ntimeout-client = 1h                          # [defaults], t.ini:3\n",
		"\ndefault-backend = web                        # t.ini:15\n",
	};
	const char *const overrides[] = {"global.splice=on", "listen web.maxconn=9"};
	struct config_input input = input_of_text(text, "t.ini");
	struct loaded l;
	char *said;

	(void)state;
	add_overrides(&input, overrides, ARRAY_LEN(overrides));
	l = load_input(&input);
	assert_non_null(l.config);
	said = print_with(l.config, config_print_origins);
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		if (strstr(said, pieces[i]) == NULL)
			fail_msg("'%s' is not in:\n%s", pieces[i], said);
	}
	free(said);
	assert_round_trip(l.config);
	unload(&l);
}

/* A comment is one line, however a file is called; a value full of quotes fits its line. */
static void names_of_any_kind_read_back(void **state)
{
	static char name[600], text[1400];
	struct config_input input;
	struct loaded l;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	memcpy(name + 500, "\n[x]\n\x1b'\"#", 9);
	(void)snprintf(text, sizeof(text), "%s[global]\nlog = \"file:%.*s\"\n", GOOD, 1023, "");
	memset(text + strlen(text) - 2, '\'', 1023);
	memcpy(text + strlen(text), "\"\n", 3);
	input = input_of_text(text, name);
	l = load_input(&input);
	if (l.config == NULL)
		fail_msg("%s", l.said);
	assert_int_equal(strlen(l.config->global.logs[0].path), 1023);
	assert_round_trip(l.config);
	unload(&l);
	text[strlen(text) - 2] = '\0';
	memcpy(text + strlen(text), "'\"\n", 4);
	input = input_of_text(text, name);
	l = load_input(&input);
	assert_null(l.config);
	assert_non_null(strstr(l.said, "a path has at most 1023 bytes"));
	unload(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_contract),
		cmocka_unit_test(everything_reads_back_to_the_same_snapshot),
		cmocka_unit_test(sections_win_over_defaults),
		cmocka_unit_test(the_nearer_keepalive_wins_and_then_the_one_of_the_side),
		cmocka_unit_test(specific_timeouts_win_over_idle_in_any_order),
		cmocka_unit_test(places_name_file_and_line),
		cmocka_unit_test(the_summary_counts),
		cmocka_unit_test(every_line_names_its_origin),
		cmocka_unit_test(names_of_any_kind_read_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
