/* SPDX-License-Identifier: MIT
 *
 * test_binds.c - addresses that are bound twice: each is reported with the first line that has it, whatever
 * the order of the lines.
 */
#include "config_test.h"

#include "weir/base/text.h"

#define LINES_MAX 12u
#define ROUNDS	  3000u
#define PORTS	  6u

/* Who comes in at an address. */
static const struct host {
	const char *host, *words; /* before and behind the ports */
	bool four, six, is_wildcard;
} hosts[] = {
	{"", "", true, true, true},
	{"0.0.0.0", "", true, false, true},
	{"", " v6only", false, true, true},
	{"10.0.0.1", "", true, false, false},
	{"10.0.0.2", "", true, false, false},
	{"[::1]", "", false, true, false},
	{"[2001:db8::1]", "", false, true, false},
};

static const char *const others[] = {"/run/a", "/run/ab", "unix:@a",   "unix:@ab",
				     "fd@a",   "fd@ab",	  "10.0.0.1:0"};

struct line {
	size_t host; /* of hosts, or behind them of `others` */
	unsigned first, last;
	unsigned number; /* in the file */
};

static bool clash(const struct line *a, const struct line *b)
{
	const struct host *x, *y;

	if (a->host >= ARRAY_LEN(hosts) || b->host >= ARRAY_LEN(hosts))
		return a->host == b->host && a->host != ARRAY_LEN(hosts) + ARRAY_LEN(others) - 1;
	x = &hosts[a->host];
	y = &hosts[b->host];
	if (a->first > b->last || b->first > a->last || !((x->four && y->four) || (x->six && y->six)))
		return false;
	return (x->is_wildcard && y->is_wildcard) || x == y;
}

/* The same run each time. */
static uint64_t chance;

static unsigned below(unsigned bound)
{
	chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)((chance >> 33) % bound);
}

static struct line draw(void)
{
	struct line l = {.host = below(ARRAY_LEN(hosts) + ARRAY_LEN(others)), .first = 1 + below(PORTS)};

	l.last = l.first + (below(2) == 0 ? 0 : below(PORTS));
	return l;
}

static void print_line(struct text *t, const struct line *l)
{
	if (l->host >= ARRAY_LEN(hosts)) {
		text_printf(t, "bind = %s\n", others[l->host - ARRAY_LEN(hosts)]);
		return;
	}
	text_printf(t, "bind = %s:%u", hosts[l->host].host, l->first);
	if (l->last > l->first)
		text_printf(t, "-%u", l->last);
	text_printf(t, "%s\n", hosts[l->host].words);
}

/* "LINE by LINE;" for each. */
static void expect(struct text *t, const struct line *lines, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			if (clash(&lines[i], &lines[j])) {
				text_printf(t, "%u by %u;", lines[i].number, lines[j].number);
				break;
			}
}

static void gather(struct text *t, const char *said)
{
	static const char head[] = "t.ini:", tail[] = "first on line ";

	for (const char *at = strstr(said, head); at != NULL; at = strstr(at + 1, head)) {
		const char *hint = strstr(at, tail);

		if (at[sizeof(head) - 1] == ' ')
			break; /* the sum */
		if (strstr(at, "already bound") == NULL || hint == NULL)
			fail_msg("%s", said);
		text_printf(t, "%u by %u;", (unsigned)strtoul(at + sizeof(head) - 1, NULL, 10),
			    (unsigned)strtoul(hint + sizeof(tail) - 1, NULL, 10));
	}
}

static void check_round(void)
{
	struct line lines[LINES_MAX];
	const size_t count = 2 + below(LINES_MAX - 1);
	unsigned number = 1;
	struct text file, wanted, got;
	struct loaded l;

	text_init(&file);
	text_init(&wanted);
	text_init(&got);
	text_printf(&file, "[listen l0]\n");
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && below(5) == 0) {
			text_printf(&file, "server a = 10.0.0.9:80\n[listen l%zu]\n", i);
			number += 2;
		}
		lines[i] = draw();
		lines[i].number = ++number;
		print_line(&file, &lines[i]);
	}
	text_printf(&file, "server a = 10.0.0.9:80\n");
	expect(&wanted, lines, count);
	l = load_text(file.bytes);
	if (wanted.len > 0)
		gather(&got, l.said);
	if ((l.config == NULL) != (wanted.len > 0) ||
	    (wanted.len > 0 && strcmp(got.bytes != NULL ? got.bytes : "", wanted.bytes) != 0))
		fail_msg("'%s' instead of '%s':\n%s", got.len > 0 ? got.bytes : "",
			 wanted.len > 0 ? wanted.bytes : "", l.said);
	unload(&l);
	text_free(&file);
	text_free(&wanted);
	text_free(&got);
}

static void each_is_reported_with_the_first_line_that_has_it(void **state)
{
	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++)
		check_round();
}

#define SERVER "server a = 10.0.0.9:80\n"

static void a_wildcard_may_have_the_port_of_an_address(void **state)
{
	static const char *const pairs[][2] = {
		{":80", "10.0.0.1:80"},		  {":80", "[::1]:80"},
		{"[::]:80", "10.0.0.1:80"},	  {"0.0.0.0:80", "10.0.0.1:70-90"},
		{":70-90", "10.0.0.1:80"},	  {":80 interface=eth0", "10.0.0.1:80 interface=eth1"},
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(pairs); i++) {
		const char *one = pairs[i / 2][i % 2], *other = pairs[i / 2][1 - i % 2];
		char text[512];
		struct loaded l;

		(void)snprintf(text, sizeof(text), "[listen a]\nbind = %s\nbind = %s\n" SERVER, one, other);
		l = assert_accepted(text);
		unload(&l);
		(void)snprintf(text, sizeof(text),
			       "[listen a]\nbind = %s\n" SERVER "[listen b]\nbind = %s\n" SERVER, one,
			       other);
		l = assert_accepted(text);
		unload(&l);
	}
}

/* The same address is the same, whatever words are behind it. */
static void an_address_is_bound_once(void **state)
{
	static const char *const words[] = {"", " interface=eth0", " accept-proxy", " mptcp", " backlog=9"};
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		(void)snprintf(text, sizeof(text),
			       "[listen a]\nbind = :80\nbind = 10.0.0.1:80\n" SERVER
			       "[listen b]\nbind = 10.0.0.1:80%s\n" SERVER, words[i]);
		assert_refused(text, "t.ini:6:8: error: this address is already bound", "first on line 3",
			       NULL);
		(void)snprintf(text, sizeof(text),
			       "[listen a]\nbind = 10.0.0.1:80\nbind = :80\n" SERVER
			       "[listen b]\nbind = 0.0.0.0:80%s\n" SERVER, words[i]);
		assert_refused(text, "t.ini:6:8: error: this address is already bound", "first on line 3",
			       NULL);
	}
}

static void the_http_endpoint_has_its_port_for_itself(void **state)
{
	static const char *const binds[][2] = {{":80", "127.0.0.1:80"},
					       {"127.0.0.1:80", ":80"},
					       {"[::1]:80", ":80"},
					       {"127.0.0.1:80", "127.0.0.1:80"}};
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(binds); i++) {
		(void)snprintf(text, sizeof(text), "[stats]\nbind = %s\n[listen a]\nbind = %s\n" SERVER,
			       binds[i][0], binds[i][1]);
		assert_refused(text, "t.ini:4:8: error: this address is already bound", "first on line 2",
			       NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_reported_with_the_first_line_that_has_it),
		cmocka_unit_test(a_wildcard_may_have_the_port_of_an_address),
		cmocka_unit_test(an_address_is_bound_once),
		cmocka_unit_test(the_http_endpoint_has_its_port_for_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
