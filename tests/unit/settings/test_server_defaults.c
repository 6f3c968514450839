/* SPDX-License-Identifier: MIT
 *
 * test_server_defaults.c - words that servers inherit: whose word holds, and what is said about mistakes.
 */
#include "same_config.h"

#include "weir/base/clock.h"
#include "weir/config/server_check.h"
#include "weir/settings/config_lines.h"

#define LISTEN "[listen web]\nbind = :80\n"

static char *server_line(const struct config_backend *b, size_t i)
{
	char *line = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&line, &len);

	assert_non_null(out);
	config_print_server(b, &b->servers[i], out);
	assert_int_equal(fclose(out), 0);
	return line;
}

/* What -T prints for the first server of the last backend, and what that reads back to. */
static void assert_server(const char *text, const char *wanted)
{
	struct loaded l = assert_accepted(text);
	const struct config_backend *b = &l.config->backends[l.config->backend_count - 1];
	char *line = server_line(b, 0);

	if (strcmp(line, wanted) != 0)
		fail_msg("'%s', but '%s' wanted for:\n%s", line, wanted, text);
	assert_round_trip(l.config);
	unload(&l);
	free(line);
}

static void a_word_holds_for_each_server_and_set(void **state)
{
	struct loaded l = assert_accepted(LISTEN "server a = 10.0.0.1:80\n"
						 "servers pod = dns://app:80\n"
						 "servers srv = srv://_a._tcp.x\n"
						 "server-defaults = maxconn=7 weight=3\n"
						 "server b = 10.0.0.2:80 maxconn=9\n");
	const struct config_server *s = l.config->backends[0].servers;

	(void)state;
	assert_int_equal(l.config->backends[0].server_count, 4);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(s[i].maxconn, 7);
	assert_int_equal(s[3].maxconn, 9);
	assert_int_equal(s[0].weight, 3);
	assert_int_equal(s[1].weight, 3);
	assert_int_equal(s[2].weight, 1); /* its records say that */
	assert_int_equal(s[3].weight, 3);
	unload(&l);
}

static void the_nearest_line_has_the_word(void **state)
{
	(void)state;
	/* [defaults] < its server-defaults < the section < its server-defaults < the server. */
	assert_server("[defaults]\ncheck-interval = 1s\nserver-defaults = check check-interval=2s\n" LISTEN
		      "server a = 10.0.0.1:80\n",
		      "server a = 10.0.0.1:80 weight=1 check-interval=2s");
	assert_server("[defaults]\nserver-defaults = check check-interval=2s\n" LISTEN
		      "check-interval = 3s\nserver a = 10.0.0.1:80\n",
		      "server a = 10.0.0.1:80 weight=1");
	assert_server("[defaults]\nserver-defaults = check check-interval=2s\n" LISTEN
		      "server a = 10.0.0.1:80\nserver-defaults = check-interval=4s\ncheck-interval = 3s\n",
		      "server a = 10.0.0.1:80 weight=1 check-interval=4s");
	assert_server("[defaults]\nserver-defaults = check check-interval=2s\n" LISTEN
		      "server-defaults = check-interval=4s\nserver a = 10.0.0.1:80 check-interval=5s\n",
		      "server a = 10.0.0.1:80 weight=1 check-interval=5s");
	/* Lines of one section are merged by word, and the later one holds. */
	assert_server(LISTEN "server-defaults = maxconn=1 weight=2\nserver-defaults = weight=4 backup\n"
			     "server a = 10.0.0.1:80\n",
		      "server a = 10.0.0.1:80 weight=4 backup maxconn=1");
	/* The key of [defaults] and the words of a section. */
	assert_server("[defaults]\nsend-proxy = v2\n" LISTEN
		      "server-defaults = send-proxy=v1\nserver a = 10.0.0.1:80\n",
		      "server a = 10.0.0.1:80 weight=1 send-proxy=v1");
	assert_server("[defaults]\nserver-defaults = send-proxy=v1 check-agent=7\n" LISTEN
		      "send-proxy = v2\ncheck-agent = 8\nserver a = 10.0.0.1:80\n",
		      "server a = 10.0.0.1:80 weight=1 send-proxy=v2");
	/* A section has these words on its check line. */
	assert_server("[defaults]\nserver-defaults = check=off check-port=1\n" LISTEN
		      "check = tcp port=2\nserver a = 10.0.0.1:80\n",
		      "server a = 10.0.0.1:80 weight=1");
	assert_server("[defaults]\nserver-defaults = check=off check-port=1\n" LISTEN
		      "check = tcp\nserver a = 10.0.0.1:80\n",
		      "server a = 10.0.0.1:80 weight=1 check-port=1");
	/* maxqueue of a section is another limit. */
	assert_server("[defaults]\nserver-defaults = maxconn=1 maxqueue=2\n" LISTEN
		      "maxqueue = 3\nserver a = 10.0.0.1:80\n",
		      "server a = 10.0.0.1:80 weight=1 maxconn=1 maxqueue=2");
}

static void flags_and_values_are_undone(void **state)
{
	(void)state;
	assert_server(LISTEN "server-defaults = backup disabled\nserver a = 10.0.0.1:80 backup=off\n",
		      "server a = 10.0.0.1:80 weight=1 disabled");
	assert_server(LISTEN "server-defaults = backup disabled\nserver-defaults = disabled=off\n"
			     "server a = 10.0.0.1:80\n",
		      "server a = 10.0.0.1:80 weight=1 backup");
	assert_server(LISTEN "server a = 10.0.0.1:80 backup=on\n", "server a = 10.0.0.1:80 weight=1 backup");
	assert_server(LISTEN "check = tcp\nserver-defaults = check=off maxconn=3 slowstart=1s send-proxy=v2\n"
			     "server a = 10.0.0.1:80 check maxconn=0 slowstart=0 send-proxy=off\n",
		      "server a = 10.0.0.1:80 weight=1");
	assert_server(LISTEN "server-defaults = proxy-v2-options=crc32c,pass send-proxy=v2\n"
			     "server a = 10.0.0.1:80 proxy-v2-options=unique-id\n",
		      "server a = 10.0.0.1:80 weight=1 send-proxy=v2 proxy-v2-options=unique-id");
	/* The word check alone means a TCP check, as on a server line. */
	assert_server(LISTEN "server-defaults = check\nserver a = 10.0.0.1:80\n",
		      "server a = 10.0.0.1:80 weight=1");
}

static void an_override_replaces_the_lines_of_files(void **state)
{
	static const char *const overrides[] = {"listen web.server-defaults=maxconn=8",
						"listen web.server-defaults=weight=5"};
	struct config_input input =
	    input_of_text(LISTEN "server-defaults = maxconn=7 backup\nserver a = 10.0.0.1:80\n", "t.ini");
	struct loaded l;

	(void)state;
	add_overrides(&input, overrides, ARRAY_LEN(overrides));
	l = load_input(&input);
	assert_non_null(l.config);
	assert_int_equal(l.config->backends[0].servers[0].maxconn, 8);
	assert_int_equal(l.config->backends[0].servers[0].weight, 5);
	assert_false(l.config->backends[0].servers[0].backup);
	unload(&l);
}

/* One message, at its place, with these words. */
static void assert_said(const char *text, size_t n, const char *where, const char *words)
{
	struct loaded l = load_text(text);
	const size_t said = count_of(l.said, ": error: ") + count_of(l.said, ": warning: ");

	if (said != n || strstr(l.said, where) == NULL || strstr(l.said, words) == NULL)
		fail_msg("%zu messages, '%s' and '%s' wanted for:\n%s\n%s", n, where, words, text, l.said);
	unload(&l);
}

#define TWO "server a = 10.0.0.1:80\nserver b = 10.0.0.2:80\n"

static void a_mistake_is_reported_once_where_it_is(void **state)
{
	(void)state;
	assert_said(LISTEN "server-defaults = weight=300\n" TWO, 1, "t.ini:3:26: error", "allowed: 0 to 256");
	assert_said("[defaults]\nserver-defaults = weigth=3\n" LISTEN TWO, 1, "t.ini:2:19: error",
		    "did you mean 'weight'?");
	assert_said(LISTEN "server-defaults = max=3\n" TWO, 1, "t.ini:3:19: error", "has no option 'max'");
	assert_said(LISTEN "server-defaults = weight=1 weight=2\n" TWO, 1, "t.ini:3:28: error",
		    "'weight' is given twice");
	assert_said(LISTEN "server-defaults =\n" TWO, 1, "t.ini:3:1: error", "needs a value");
	assert_said(LISTEN "server-defaults = backup=maybe\n" TWO, 1, "t.ini:3:26: error", "is on or off");
	assert_said(LISTEN "server a = 10.0.0.1:80 disabled=\n", 1, "t.ini:3:24: error", "needs a value");
	assert_said(LISTEN "server-defaults = inter 3s\n" TWO, 1, "t.ini:3:19: error",
		    "write 'check-interval=3s'");
	assert_said(
	    "[frontend f]\nbind = :1\ndefault-backend = b\nserver-defaults = backup\n[backend b]\n" TWO, 1,
	    "t.ini:4:1: error", "it belongs in [defaults] or [listen] or [backend]");
	/* A wrong word takes no right one with it: maxqueue has its maxconn. */
	assert_said("[defaults]\nserver-defaults = maxconn=1 bogus=2\n" LISTEN
		    "maxqueue = 3\nserver a = 10.0.0.1:80 maxqueue=4\n",
		    1, "t.ini:2:29: error", "has no option 'bogus'");
	assert_said(LISTEN "server-defaults = check-interval=1s\n" TWO, 1, "t.ini:3:19: warning",
		    "no server is health-checked");
	assert_said("[defaults]\nserver-defaults = check-interval=1s\n" LISTEN TWO "[backend b]\n" TWO
		    "check = tcp\n[listen c]\nbind = :81\ndefault-backend = b\n",
		    0, "", "");
}

static void what_does_not_go_together_says_where_it_comes_from(void **state)
{
	char text[6000], say[1100] = "", sources[3100] = "";
	int len = 0;

	(void)state;
	assert_said(LISTEN "server-defaults = source=10.0.0.9\nserver a = [::1]:80\n", 1, "t.ini:4:12: error",
		    "it inherits 'source' from line 3");
	assert_said(LISTEN "server-defaults = source=10.0.0.9\nserver a = unix:/a\n", 1, "t.ini:4:12: error",
		    "it inherits 'source' from line 3");
	assert_said(LISTEN "server a = unix:/a source=10.0.0.9\n", 1, "t.ini:3:12: error", "leave it out");
	/* What -T prints is one line, which must be readable. */
	for (int i = 0; i < 255; i++)
		memcpy(say + strlen(say), "\\x61", sizeof("\\x61"));
	for (int i = 0; i < 64; i++)
		len += snprintf(sources + len, sizeof(sources) - (size_t)len,
				"%s[2001:db8:1111:2222:3333:4444:5555:6666]:%d", i > 0 ? "," : "", 10000 + i);
	(void)snprintf(
	    text, sizeof(text),
	    LISTEN "check-agent = 9\nserver-defaults = check-agent-send=%s\nserver a = [::1]:1 source=%s\n",
	    say, sources);
	assert_said(text, 1, "t.ini:5:12: error", "with the words of 'server-defaults'");
}

static void the_line_of_haproxy_is_translated_and_what_is_lost_is_said(void **state)
{
	static const char text[] =
	    LISTEN "default-server inter 3s fastinter 500 downinter 5s rise 2 fall 4 "
		   "maxconn 250 slowstart 60s addr 10.0.0.9 port 8 check track b/c\n" TWO;

	(void)state;
	assert_said(text, 2, "t.ini:3:1: error: unknown key 'default-server'",
		    "write 'server-defaults = check-interval=3s check-fast=500ms check-down=5s check-rise=2 "
		    "check-fall=4 maxconn=250 slowstart=60s check-addr=10.0.0.9 check-port=8 check'");
	assert_said(text, 2, "'server-defaults' has no option 'track'", "");
	assert_said(LISTEN "server a 10.0.0.1:80 check inter 3000 fall 2 addr 10.0.0.3\n", 1,
		    "t.ini:3:1: error",
		    "write 'server a = 10.0.0.1:80 check check-interval=3000ms check-fall=2 "
		    "check-addr=10.0.0.3'");
}

static void checks_of_one_server_have_its_words(void **state)
{
	struct loaded l = assert_accepted(
	    LISTEN "check = tcp\nserver-defaults = check-interval=3s check-rise=100000\n"
		   "server a = 10.0.0.1:80 check-fast=1s check-down=7s check-fall=99999 check-addr=::9\n"
		   "retries = 10000\n");
	const struct config_backend *b = &l.config->backends[0];
	const struct config_check c = config_server_check(b, &b->servers[0]);

	(void)state;
	assert_int_equal(c.interval_ns, 3 * NS_PER_SEC);
	assert_int_equal(c.fast_ns, NS_PER_SEC);
	assert_int_equal(c.down_ns, 7 * NS_PER_SEC);
	assert_int_equal(c.rise, 100000);
	assert_int_equal(c.fall, 99999);
	assert_int_equal(b->servers[0].check_addr.sa.sa_family, AF_INET6);
	assert_int_equal(b->retries, 10000);
	unload(&l);
	assert_said(LISTEN "server a = 10.0.0.1:80 check check-rise=100001\n", 1, "t.ini:3:41: error",
		    "allowed: 1 to 100000");
	assert_said(LISTEN "retries = 10001\n" TWO, 1, "t.ini:3:11: error", "allowed: 0 to 10000");
}

static void an_address_for_checks_is_an_ip_address_that_can_be_reached(void **state)
{
	(void)state;
	assert_said(LISTEN "server a = x:1 check check-addr=y\n", 1, "t.ini:3:33: error",
		    "'check-addr' takes an IP address: 'y' is not one");
	assert_said(LISTEN "server a = x:1 check check-addr=10.0.0.1:80\n", 1, "t.ini:3:33: error",
		    "check-port=PORT");
	assert_said(LISTEN "server a = x:1 check-addr=10.0.0.1\n", 1, "t.ini:3:16: warning",
		    "this server is not health-checked");
	assert_said(LISTEN "server a = unix:/a check check-addr=10.0.0.1\n", 1, "t.ini:3:8: error",
		    "add check-port=PORT, or leave out check-addr");
	assert_said(LISTEN "server a = x:1 check check-addr=10.0.0.1 source=::1\n", 1, "t.ini:3:8: error",
		    "check-addr and source of 'a' are of different families");
	assert_server(LISTEN "server a = unix:/a check check-addr=10.0.0.1 check-port=7\n",
		      "server a = unix:/a weight=1 check-port=7 check-addr=10.0.0.1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_word_holds_for_each_server_and_set),
	    cmocka_unit_test(the_nearest_line_has_the_word),
	    cmocka_unit_test(flags_and_values_are_undone),
	    cmocka_unit_test(an_override_replaces_the_lines_of_files),
	    cmocka_unit_test(a_mistake_is_reported_once_where_it_is),
	    cmocka_unit_test(what_does_not_go_together_says_where_it_comes_from),
	    cmocka_unit_test(the_line_of_haproxy_is_translated_and_what_is_lost_is_said),
	    cmocka_unit_test(checks_of_one_server_have_its_words),
	    cmocka_unit_test(an_address_for_checks_is_an_ip_address_that_can_be_reached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
