/* SPDX-License-Identifier: MIT
 *
 * test_effects.c - options beside each other: what has no effect is warned about, once, where it
 * stands, and only where it stands.
 */
#include "same_config.h"

#define FRONT "[frontend f]\nbind = :1\ndefault-backend = b\n"

/* One warning, with these pieces; `text` is accepted. */
static void assert_warned(const char *text, const char *where, const char *piece)
{
	struct loaded l = load_text(text);

	if (l.config == NULL || count_of(l.said, ": warning: ") != 1 || strstr(l.said, where) == NULL ||
	    strstr(l.said, piece) == NULL)
		fail_msg("one warning '%s' with '%s' wanted for:\n%s\n%s", where, piece, text, l.said);
	assert_int_equal(l.config->warnings, 1);
	unload(&l);
}

static void what_has_no_effect_is_warned_about(void **state)
{
	static const struct {
		const char *text, *where, *piece;
	} rows[] = {
		{FRONT "trusted = 10.0.0.0/8\n[backend b]\nserver a = x:1\n", "t.ini:4:1: ",
		 "no bind line has 'accept-proxy'"},
		{FRONT "allow-uid = 0\n[backend b]\nserver a = x:1\n", "t.ini:4:1: ",
		 "no bind line is a Unix socket"},
		{FRONT "[backend b]\nserver a = x:1 maxqueue=3\n", "t.ini:5:16: ", "add maxconn=N"},
		{FRONT "[backend b]\nserver a = x:1 check-port=3\n", "t.ini:5:16: ", "add the word check"},
		{FRONT "[backend b]\ncheck = tcp\nserver a = x:1 check=off check-port=3\n", "t.ini:6:26: ",
		 "is not health-checked"},
		{FRONT "[backend b]\nserver a = x:1 proxy-v2-options=crc32c\n", "t.ini:5:16: ",
		 "add send-proxy=v2"},
		{FRONT "[backend b]\nserver a = x:1 send-proxy=v1 proxy-v2-options=pass\n", "t.ini:5:30: ",
		 "gets no version 2 header"},
		{FRONT "[backend b]\nobserve = connect\nserver a = x:1\n", "t.ini:5:1: ", "check = tcp"},
		{FRONT "[backend b]\nobserve = connect down=30s\ncheck = tcp\nserver a = x:1\n",
		 "t.ini:5:19: ", "'down' has no effect: every server is health-checked"},
		{FRONT "[backend b]\nobserve = connect on-error=mark-down\nserver a = x:1\nserver b = x:2\n",
		 "t.ini:5:19: ", "'on-error' has no effect: no server is health-checked"},
		{FRONT "[backend b]\nsticky = src\nserver a = x:1\n", "t.ini:5:1: ",
		 "'sticky' has no effect: there is one server"},
		{FRONT "[backend b]\nserver a = x:1\n[backend c]\nserver a = x:1\n", "t.ini:6:10: ",
		 "no frontend uses [backend c]"},
		{FRONT "[backend b]\nfallback-backend = c\ncheck = tcp\npanic = on\nserver a = x:1\n"
		 "[backend c]\nserver a = x:1\n", "t.ini:7:1: ",
		 "clients go to the fallback-backend instead"},
		{"[listen l]\nbind = :1\ndefault-backend = b\nfallback-backend = b\n"
		 "[backend b]\nserver a = x:1\n", "t.ini:4:1: ", "'l' has no servers of its own"},
		{FRONT "[backend b]\ncheck = send x\nserver a = x:1\n", "t.ini:5:9: ", "expects no answer"},
		{FRONT "[backend b]\ncheck-rise = 3\nserver a = x:1\n", "t.ini:5:1: ",
		 "no server is health-checked"},
		{FRONT "[backend b]\nmaxqueue = 3\nserver a = x:1\n", "t.ini:5:1: ", "has a 'maxconn'"},
		{FRONT "[backend b]\ntimeout-queue = 3s\nserver a = x:1\n", "t.ini:5:1: ", "has a 'maxconn'"},
		{FRONT "[backend b]\nbalance = first\nserver a = x:1\nserver b = x:2\n", "t.ini:6:8: ",
		 "never goes past 'a'"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_warned(rows[i].text, rows[i].where, rows[i].piece);
}

#define SNIFFING "[frontend f]\nbind = :1\ndefault-backend = b\nsniff = tls\n"
#define HEADERS	 "[frontend f]\nbind = :1 accept-proxy\ndefault-backend = b\n"
#define TWO	 "[backend b]\nserver a = x:1\n"

static void lines_and_names_that_never_match_are_warned_about(void **state)
{
	static const struct {
		const char *text, *where, *piece;
	} rows[] = {
		{FRONT "sniff = rdp\n" TWO, "t.ini:4:1: ",
		 "'sniff' has no effect: no backend of this frontend has 'persist = rdp'"},
		{FRONT "sniff = rdp required\nuse-backend b = sni=x\n" TWO, "t.ini:5:13: ",
		 "add a line: sniff = tls"},
		{SNIFFING "use-backend b = proto=ssh\n" TWO, "t.ini:5:13: ",
		 "does not read what clients speak"},
		{"[frontend f]\nbind = :1\nsniff = auto\nuse-backend b = proto=tls\n"
		 "use-backend b = sni=x.com\n" TWO, "t.ini:5:13: ", "'use-backend b' on line 4"},
		{FRONT "use-backend b = sni=x\n" TWO, "t.ini:4:13: ", "add a line: sniff = tls"},
		{FRONT "use-backend b = alpn=h2\n" TWO, "t.ini:4:13: ", "add a line: sniff = tls"},
		{HEADERS "trusted = ::1\nuse-backend b = sni=none\n" TWO, "t.ini:5:13: ", "sniff = tls"},
		{SNIFFING "use-backend b = sni=*.x.y\nuse-backend b = sni=a.b.X.y\n" TWO, "t.ini:6:13: ",
		 "'a.b.x.y' never matches here: '*.x.y' on line 5 covers it"},
		{SNIFFING "use-backend b = sni=*.x.y\nuse-backend b = sni=x.y,a.x.y\n" TWO, "t.ini:6:13: ",
		 "'a.x.y' never matches here: '*.x.y' on line 5 covers it"},
		{SNIFFING "use-backend b = sni=any\nuse-backend b = sni=x\n" TWO, "t.ini:6:13: ",
		 "'x' never matches here: 'any' on line 5 covers it"},
		{SNIFFING "use-backend b = sni=.x\nuse-backend b = sni=*.x,x\n" TWO, "t.ini:6:13: ",
		 "this line never matches: 'use-backend b' on line 5 takes all its clients"},
		{SNIFFING "use-backend b = sni=none,any\nuse-backend b = sni=none alpn=h2\n" TWO,
		 "t.ini:6:13: ", "on line 5 takes all"},
		{SNIFFING "use-backend b = dst-port=1-9\nuse-backend b = sni=x dst-port=2\n" TWO,
		 "t.ini:6:13: ", "on line 5 takes all"},
		{FRONT "use-backend b = src=10.0.0.0/8,::/0\nuse-backend b = src=10.1.0.0/16,::1\n" TWO,
		 "t.ini:5:13: ", "on line 4 takes all"},
		{FRONT "use-backend b = src=10.0.0.0/9\nuse-backend b = src=10.127.0.0/16\n" TWO,
		 "t.ini:5:13: ", "on line 4 takes all"},
	};
	static const char *const fine[] = {
		HEADERS "trusted = ::1\nuse-backend b = sni=x\n" TWO,
		"[frontend f]\nbind = unix:@a accept-proxy\ndefault-backend = b\nuse-backend b = sni=x\n" TWO,
		SNIFFING "use-backend b = sni=*.x\nuse-backend b = sni=x,none\nuse-backend b = sni=any\n" TWO,
		SNIFFING "use-backend b = sni=.x alpn=h2\nuse-backend b = sni=a.x alpn=h2,h3\n" TWO,
		SNIFFING "use-backend b = sni=.x src=::1\nuse-backend b = sni=a.x\n" TWO,
		SNIFFING "use-backend b = sni=any\nuse-backend b = dst-port=1\n" TWO,
		FRONT "use-backend b = src=10.0.0.0/9\nuse-backend b = src=10.128.0.0/16\n" TWO,
		FRONT "use-backend b = src=10.0.0.0/8\nuse-backend b = src=10.0.0.0/7\n" TWO,
		FRONT "use-backend b = dst-port=2-9\nuse-backend b = dst-port=1-2\n" TWO,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_warned(rows[i].text, rows[i].where, rows[i].piece);
	for (size_t i = 0; i < ARRAY_LEN(fine); i++) {
		struct loaded l = assert_accepted(fine[i]);

		if (l.config->warnings != 0)
			fail_msg("no warning wanted for:\n%s\n%s", fine[i], l.said);
		unload(&l);
	}
}

#define OPEN "[frontend f]\nbind = :1 accept-proxy\ndefault-backend = b\n"
#define BACK "[backend b]\nserver a = x:1\n"

/* A header that anybody may send is warned about where something goes by it, and that is named. */
static void what_relies_on_a_header_of_anybody_is_named(void **state)
{
	static const struct {
		const char *text, *piece;
	} rows[] = {
		{OPEN "allow-from = ::1\n" BACK, "rely on it: 'allow-from' (line 4)\n"},
		{OPEN "deny-from = ::1\n" BACK, "rely on it: 'deny-from' (line 4)\n"},
		{OPEN "maxconn-per-source = 3\n" BACK, "rely on it: 'maxconn-per-source' (line 4)\n"},
		{OPEN "use-backend b = src=::1\n" BACK, "rely on it: 'use-backend' (line 4)\n"},
		{OPEN "use-backend b = dst-port=1\nuse-backend b = dst-port=2\n" BACK,
		 "rely on it: 'use-backend' (line 4 and 1 more)\n"},
		{OPEN BACK "balance = source\n", "rely on it: 'balance' (line 6)\n"},
		{OPEN BACK "balance = maglev\n", "rely on it: 'balance' (line 6)\n"},
		{OPEN BACK "server c = x:2 source=client\n", "rely on it: 'source=client' (line 6)\n"},
		{OPEN BACK "send-proxy = v1\n", "rely on it: 'send-proxy' (line 5)\n"},
		{OPEN BACK "server c = x:2 send-proxy\nserver d = x:2 send-proxy=v2\n",
		 "rely on it: 'send-proxy' (line 6 and 1 more)\n"},
		{OPEN "deny-from = ::1\n" BACK "server c = x:2 send-proxy=v2 proxy-v2-options=pass\n",
		 "it: 'deny-from' (line 4), 'send-proxy' (line 7), 'proxy-v2-options=pass' (line 7)\n"},
		{OPEN BACK "server c = x:2 send-proxy=v2 proxy-v2-options=pass\n",
		 "(the addresses of the load balancer); without it no TLVs are passed on\n"},
		/* By a route alone; each backend once. */
		{OPEN "use-backend c = src=::1\nuse-backend c = src=::2\n" BACK
		      "[backend c]\nserver a = x:1 send-proxy\n",
		 "rely on it: 'use-backend' (line 4 and 1 more), 'send-proxy' (line 9)\n"},
		/* From [defaults]. */
		{"[defaults]\ndeny-from = ::1\nbalance = source\n"
		 "[listen f]\nbind = fd@x accept-proxy=always\nserver a = x:1\n",
		 "rely on it: 'deny-from' (line 2), 'balance' (line 3)\n"},
		{"[listen f]\nbind = :2\nbind = :1 accept-proxy\nbind = :3 accept-proxy\nserver a = x:1\n"
		 "deny-from = ::1\n",
		 "add a line such as: trusted = 10.0.0.0/8 (the addresses of the load balancer)\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_warned(rows[i].text, ": warning: 'accept-proxy' without 'trusted': any client",
			      rows[i].piece);
}

static void a_header_of_somebody_named_is_not_warned_about(void **state)
{
	static const char *const texts[] = {
		OPEN BACK, /* only the log has it */
		OPEN "rate-limit = 3\n" BACK "balance = leastconn\nserver c = x:2 source=::1 maxconn=3\n",
		OPEN "trusted = ::1\ndeny-from = ::1\n" BACK "send-proxy = v2\n",
		"[defaults]\ntrusted = ::1\n" OPEN "deny-from = ::1\n" BACK,
		/* Its mode says who may connect. */
		"[frontend f]\nbind = unix:/tmp/x accept-proxy\ndefault-backend = b\ndeny-from = ::1\n" BACK,
		/* Another frontend's. */
		OPEN BACK "[listen l]\nbind = :2\ndeny-from = ::1\nserver a = x:1 send-proxy\n",
		"[listen l]\nbind = :2 accept-proxy=off\ndeny-from = ::1\nserver a = x:1 send-proxy\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct loaded l = assert_accepted(texts[i]);

		unload(&l);
	}
}

static void what_has_an_effect_is_not(void **state)
{
	static const char *const texts[] = {
		"[frontend f]\nbind = :1\nbind = :2 accept-proxy\ntrusted = ::1\ndefault-backend = b\n"
		"[backend b]\nserver a = x:1\n",
		"[frontend f]\nbind = fd@x\nallow-uid = 0\ndefault-backend = b\n"
		"[backend b]\nserver a = x:1\n",
		FRONT "[backend b]\nserver a = x:1 maxconn=3 maxqueue=3\nmaxqueue = 9\ntimeout-queue = 3s\n",
		FRONT "[backend b]\nserver a = x:1 check check-port=3 slowstart=3s\nobserve = connect\n"
		      "check-rise = 9\npanic = on\n",
		/* A server of each kind; and a value as by default. */
		FRONT "[backend b]\nobserve = connect down=30s on-error=mark-down\nserver a = x:1 check\n"
		      "server b = x:2\n",
		FRONT "[backend b]\nobserve = connect down=10s\ncheck = tcp\nserver a = x:1\n",
		"[defaults]\nobserve = connect down=30s on-error=mark-down\n" GOOD "check = tcp\n",
		FRONT "[backend b]\nserver a = x:1 proxy-v2-options=crc32c\nsend-proxy = v2\n",
		FRONT "[backend b]\nbalance = first\nserver a = x:1 maxconn=3\nserver b = x:2\n"
		      "server c = x:3 backup\n",
		/* Maintenance ends with a slow start, too. */
		FRONT "[backend b]\nserver a = x:1 slowstart=3s\n",
		/* Every server may be a backup. */
		FRONT "[backend b]\nserver a = x:1 backup\nserver b = x:2 backup\n",
		/* A frontend that lets clients wait. */
		FRONT "no-server = queue\n[backend b]\nmaxqueue = 3\nserver a = x:1\n",
		"[frontend f]\nbind = :1\ndefault-backend = c\nuse-backend b = dst-port=1\n"
		"no-server = queue\n"
		"[backend b]\nmaxqueue = 3\nserver a = x:1\n[backend c]\nserver a = x:1\n",
		/* [defaults] is for other sections too. */
		"[defaults]\ntrusted = ::1\nallow-uid = 0\nobserve = connect\ncheck-rise = 5\n"
		"maxqueue = 3\n" GOOD,
		"[defaults]\nsticky = src\n" GOOD,
		FRONT "[backend b]\nsticky = src size=3\nserver a = x:1\nserver b = x:2\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct loaded l = assert_accepted(texts[i]);

		unload(&l);
	}
}

/* What -T prints, with the origins and without them, says no more than the file did. */
static void what_is_printed_reads_back_without_a_warning(void **state)
{
	static const char *const texts[] = {
		GOOD,
		"[frontend f]\nbind = :1\ndefault-backend = b\nuse-backend b = dst-port=1\n"
		"[backend b]\nserver a = x:1 slowstart=3s\n",
		"[listen a]\nbind = :1\nserver a = x:1\nmaxqueue = off\ntimeout-queue = 0\n"
		"check-interval = 2000ms\npanic = off\n",
		"[listen a]\nbind = :1\ndefault-backend = b\nuse-backend c = src=::1\n"
		"[backend b]\nserver a = x:1 check maxconn=2\n"
		"[backend c]\nserver a = x:1\n",
		/* In vain in `good`, and not in `b`. */
		"[defaults]\ntrusted = ::1 10.0.0.0/8\nallow-uid = 0 7\nobserve = connect\n"
		"check-interval = 5s\ncheck-fast = 1s\ncheck-down = 1s\ncheck-timeout = 1s\n"
		"check-rise = 5\ncheck-fall = 7\non-marked-down = close-sessions\npanic = on\n"
		"maxqueue = 3\ntimeout-queue = 9s\nretries = 1\nsend-proxy = v2\n" GOOD
		"[listen b]\nbind = :1 accept-proxy\nbind = unix:/tmp/x.sock\ncheck = tcp\n"
		"server a = x:1 maxconn=2\n"
		"[frontend f]\nbind = :2\ndefault-backend = c\n[backend c]\nserver a = x:1\n",
		"[defaults]\ncheck = http\ncheck-interval = 5s\n" GOOD "check = off\n",
		/* A fallback is a use, and clients may wait there; panic of [defaults] is for the last. */
		"[defaults]\npanic = on\ncheck = tcp\n[frontend f]\nbind = :1\nno-server = queue\n"
		"default-backend = b\n[backend b]\nserver a = x:1\nfallback-backend = c\n"
		"[backend c]\nserver a = x:1\nfallback-backend = d\n"
		"[backend d]\nserver a = x:1\ntimeout-queue = 9s\n",
		"[defaults]\nobserve = connect down=30s on-error=mark-down\n" GOOD "check = tcp\n",
		"[defaults]\nsticky = src expire=90m size=3k\n" GOOD
		"[listen b]\nbind = :1\nserver a = x:1\nserver b = x:2\n"
		"[listen c]\nbind = :2\nsticky = off\nserver a = x:1\nserver b = x:2\n",
		"[listen c]\nbind = :2\nsticky = dst expire=365d size=1\nserver a = x:1\nserver b = x:2\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct loaded l = assert_accepted(texts[i]);

		assert_round_trip(l.config);
		unload(&l);
	}
}

/* A line that failed may have had the word that is missed: one mistake, one message. */
static void a_mistake_has_no_consequences(void **state)
{
	static const char *const texts[] = {
		"[listen f]\nbind = :1 accept-proxi\ntrusted = ::1\nserver a = x:1\n",
		"[listen f]\nbind = :1\nserver a = x:1 check maxcon=3 slowstart=3s\nmaxqueue = 3\n",
		"[listen f]\nbind = :1\nserver a = x:1\nuse-backend x = dst-port=1\n",
		"[listen f]\nbind = :1\nserver a = x:1\nuse-backend f = dst-port=x\n",
		"[frontend f]\nbind = :1\nuse-backend b = dst-port=x\n[backend b]\nserver a = x:1\n",
		"[listen f]\nbind = :1 accept-proxy\ntrusted = x\ndeny-from = ::1\nserver a = x:1\n",
		"[listen f]\nbind = :1 accept-proxy\ntrustd = ::1\ndeny-from = ::1\nserver a = x:1\n",
		"[listen f]\nbind = :1 accept-proxy=optional\nserver a = x:1 send-proxy\n",
		"[listen f]\nbind = :1\ncheck = htp\ncheck-rise = 3\nobserve = connect\nserver a = x:1\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct loaded l = load_text(texts[i]);

		if (l.config != NULL || count_of(l.said, ": error: ") != 1 ||
		    count_of(l.said, ": warning: ") != 0)
			fail_msg("one error wanted for:\n%s\n%s", texts[i], l.said);
		unload(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_no_effect_is_warned_about),
		cmocka_unit_test(lines_and_names_that_never_match_are_warned_about),
		cmocka_unit_test(what_relies_on_a_header_of_anybody_is_named),
		cmocka_unit_test(a_header_of_somebody_named_is_not_warned_about),
		cmocka_unit_test(what_has_an_effect_is_not),
		cmocka_unit_test(what_is_printed_reads_back_without_a_warning),
		cmocka_unit_test(a_mistake_has_no_consequences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
