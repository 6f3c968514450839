/* SPDX-License-Identifier: MIT
 *
 * test_keys.c - the keys of balancing, queues, PROXY headers and sockets: what they become, that -T
 * reads back, and what is refused at which place.
 */
#include "same_config.h"

#include "weir/base/clock.h"

static const char everything[] =
	"[global]\nadmin-socket = unix:@x level=admin allow-uid=root,7 allow-gid=8, allow-uid=9\n"
	"[defaults]\nallow-from = 10.0.0.0/8\nsend-proxy = v1\ncheck = tcp\nmark = 7\n"
	"[frontend f]\n"
	"bind = :4001 accept-proxy=optional interface=lo freebind transparent tfo mptcp\n"
	"bind = unix:/tmp/f.sock accept-proxy\nbind = :4002 accept-proxy=off\n"
	"rate-limit = 5_000\nmaxconn-per-source = 20\nrate-limit-per-source = 9/1m burst=20\n"
	"limit-exempt = 192.0.2.0/28 ::1\nno-server = queue\nlog-sample = 1/1_000\n"
	"allow-from = 192.0.2.0/24, 2001:db8::/32\nallow-from = 10.1.2.3\ndeny-from = 10.1.0.0/16\n"
	"trusted = 127.0.0.1 ::1\nallow-uid = root, 7 8\n"
	"use-backend app = src=10.0.0.0/8,::1 dst-port=80,90-99\nuse-backend big = dst-port=1\n"
	"use-backend app = src=127.0.0.1\nunlisten = no-server\n"
	"sniff = tls timeout=500ms required\nuse-backend big = sni=WWW.Example.com.,*.b.c,.d dst-port=2\n"
	"use-backend app = sni=any,none,x alpn='h2,http/1.1,a\"b'\n"
	"use-backend big = sni=none src=10.0.0.0/8\n"
	"use-backend app = alpn=h3\n"
	"timeout-handshake = 3s\ncongestion = reno\nmark = 0xffffffff\ndscp = af21\npacing = 10m\n"
	"tcp-notsent-lowat = 100k\ndefault-backend = app\n"
	"[backend app]\n"
	"balance = source hash=consistent hash-key=address hash-balance-factor=150\n"
	"server a = 10.0.0.1:80 weight=0 backup disabled maxconn=9 maxqueue=8 slowstart=30s check-port=7\n"
	"server b = 10.0.0.1:81 send-proxy=off check=off source=10.0.0.2,10.0.0.3:40 check-agent=off\n"
	"check-agent = 9000\ncheck-agent-interval = 7s\ncheck-agent-send = \"a\\\\b\\r\\n\"\n"
	"server c = [::1]:82 send-proxy=v2 proxy-v2-options=unique-id,pass,crc32c source=::1\n"
	"server d = 10.0.0.1:83 send-proxy source=client\n"
	"server e = 10.0.0.1:84 check-agent=[::1]:9000 check-agent-interval=1s check-agent-send=\"e \\x01\"\n"
	"server f = 10.0.0.1:85 check-agent=9001\n"
	"allbackups = on\npanic = on\nmaxqueue = 100\ntimeout-queue = 5s\nobserve = connect\n"
	"on-marked-down = close-sessions\ncheck-interval = 3s\ncheck-fast = 500ms\ncheck-down = 1m\n"
	"check-timeout = 2s\ncheck-rise = 4\ncheck-fall = 5\ncheck-share = on\ndscp = 0\ndrain = idle\n"
	"[backend big]\nbalance = random(3) hash-balance-factor=200\nserver a = x:1\nsend-proxy = v2\n"
	"on-removed = keep\n"
	"[listen m]\nbind = :4003\nlog-sample = errors\n"
	"balance = maglev\nserver a = x:1\nallow-from = ::/0\ncheck = off\n"
	"[listen n]\nbind = :4004\nbalance = random\nserver a = x:1\nserver b = x:2 check\ncheck = off\n"
	"[listen r]\nbind = :4005\nserver a = x:1\ncheck = redis role=replica port=7\n"
	"[listen p]\nbind = :4006\nserver a = x:1\ncheck = pgsql user=u database=d role=primary proxy\n"
	"[listen ex]\nbind = :4050\nserver a = x:1\ncheck = exec /bin/sh a 'b c' path=/bin\n"
	"[global]\nexec-checks = 3\n"
	"[listen my]\nbind = :4007\nserver a = x:1\ncheck = mysql user=u\n"
	"[listen ld]\nbind = :4008\nserver a = x:1\ncheck = ldap\n"
	"[listen sm]\nbind = :4009\nserver a = x:1\ncheck = smtp EHLO lb.example.com port=2525\n"
	"[listen so]\nbind = :4010\nserver a = x:1\ncheck = http GET /x expect=200 host=h soft-stop=404\n"
	"[global]\non-removed = close\nlog = stderr format=tcplog\n"
	"log = syslog:/dev/log format=\"<{{{client}}}> it's {bytes_in}\" facility=local0\n";

static void everything_reads_back_to_the_same_snapshot(void **state)
{
	struct loaded l = assert_accepted(everything);

	(void)state;
	assert_round_trip(l.config);
	unload(&l);
}

static void frontends_have_what_was_written(void **state)
{
	struct loaded l = assert_accepted(everything);
	const struct config_frontend *f = &l.config->frontends[0];

	(void)state;
	assert_int_equal(l.config->global.admin_level, CONFIG_ADMIN_ADMIN);
	assert_int_equal(l.config->global.admin_uids.count, 3);
	assert_int_equal(l.config->global.admin_uids.list[0], 0);
	assert_int_equal(l.config->global.admin_uids.list[2], 9);
	assert_int_equal(l.config->global.admin_gids.count, 1);
	assert_int_equal(l.config->global.admin_gids.list[0], 8);
	assert_int_equal(f->rate_limit, 5000);
	assert_int_equal(f->maxconn_per_source, 20);
	assert_int_equal(f->log_sample, 1000);
	assert_int_equal(f->no_server, CONFIG_NO_SERVER_QUEUE);
	assert_int_equal(f->unlisten, CONFIG_UNLISTEN_NO_SERVER);
	assert_int_equal(f->allow_uid_count, 3);
	assert_int_equal(f->allow_uids[0], 0);
	assert_int_equal(f->allow_uids[2], 8);
	assert_int_equal(f->timeouts.handshake_ns, 3 * NS_PER_SEC);
	assert_string_equal(f->tcp.congestion, "reno");
	assert_int_equal(f->tcp.mark, UINT32_MAX);
	assert_int_equal(f->tcp.dscp, 18);
	assert_int_equal(f->tcp.pacing, 10 * 1024 * 1024);
	assert_int_equal(f->tcp.notsent_lowat, 100 * 1024);
	assert_int_equal(f->binds[0].accept_proxy, CONFIG_ACCEPT_PROXY_OPTIONAL);
	assert_int_equal(f->binds[1].accept_proxy, CONFIG_ACCEPT_PROXY_ALWAYS);
	assert_int_equal(f->binds[2].accept_proxy, CONFIG_ACCEPT_PROXY_OFF);
	assert_string_equal(f->binds[0].interface, "lo");
	assert_true(f->binds[0].freebind && f->binds[0].transparent && f->binds[0].tfo && f->binds[0].mptcp);
	assert_null(f->binds[1].interface);
	unload(&l);
}

static void routes_name_their_backend(void **state)
{
	struct loaded l = assert_accepted(everything);
	const struct config_frontend *f = &l.config->frontends[0];
	struct addr_brief ten = {.family = AF_INET, .ip = {10, 9, 9, 9}};

	(void)state;
	assert_int_equal(f->route_count, 7);
	assert_string_equal(l.config->backends[f->routes[0].backend].name, "app");
	assert_string_equal(l.config->backends[f->routes[1].backend].name, "big");
	assert_true(netset_has(f->routes[0].src, &ten));
	assert_false(netset_has(f->routes[2].src, &ten));
	assert_null(f->routes[1].src);
	assert_int_equal(f->routes[0].port_count, 2);
	assert_int_equal(f->routes[0].ports[1].first, 90);
	assert_int_equal(f->routes[0].ports[1].last, 99);
	assert_int_equal(f->routes[0].place.line, 23);
	unload(&l);
}

static void backends_have_what_was_written(void **state)
{
	struct loaded l = assert_accepted(everything);
	const struct config_backend *app = &l.config->backends[0], *big = &l.config->backends[1];

	(void)state;
	assert_int_equal(app->balance.algorithm, CONFIG_BALANCE_SOURCE);
	assert_int_equal(app->balance.hash, CONFIG_HASH_CONSISTENT);
	assert_int_equal(app->balance.hash_key, CONFIG_HASH_KEY_ADDRESS);
	assert_int_equal(app->balance.balance_factor, 150);
	assert_int_equal(big->balance.algorithm, CONFIG_BALANCE_RANDOM);
	assert_int_equal(big->balance.draws, 3);
	assert_int_equal(l.config->backends[3].balance.draws, 2);
	assert_true(app->allbackups && app->panic);
	assert_int_equal(app->maxqueue, 100);
	assert_int_equal(app->timeouts.queue_ns, 5 * NS_PER_SEC);
	assert_int_equal(app->observe.what, CONFIG_OBSERVE_CONNECT);
	assert_int_equal(app->on_marked_down, CONFIG_MARKED_DOWN_CLOSE);
	assert_int_equal(app->drain, CONFIG_DRAIN_IDLE);
	assert_int_equal(big->drain, CONFIG_DRAIN_WAIT);
	assert_int_equal(app->check.interval_ns, 3 * NS_PER_SEC);
	assert_int_equal(app->check.fast_ns, 500 * NS_PER_MS);
	assert_int_equal(app->check.down_ns, 60 * NS_PER_SEC);
	assert_int_equal(app->check.timeout_ns, 2 * NS_PER_SEC);
	assert_int_equal(app->check.rise, 4);
	assert_int_equal(app->check.fall, 5);
	assert_int_equal(app->tcp.dscp, 0);
	assert_int_equal(app->tcp.mark, 7);
	assert_int_equal(big->tcp.dscp, -1);
	unload(&l);
}

/* The section's send-proxy and check are for servers that do not say, in any order of lines. */
static void servers_take_from_their_section_what_they_do_not_say(void **state)
{
	struct loaded l = assert_accepted(everything);
	const struct config_server *s = l.config->backends[0].servers;
	const struct config_backend *n = &l.config->backends[3];

	(void)state;
	assert_int_equal(s[0].send_proxy, CONFIG_SEND_PROXY_V1); /* [defaults] */
	assert_int_equal(s[1].send_proxy, CONFIG_SEND_PROXY_OFF);
	assert_int_equal(s[2].send_proxy, CONFIG_SEND_PROXY_V2);
	assert_int_equal(s[3].send_proxy, CONFIG_SEND_PROXY_V1); /* the word alone */
	assert_int_equal(l.config->backends[1].servers[0].send_proxy, CONFIG_SEND_PROXY_V2);
	assert_true(s[2].proxy_crc32c && s[2].proxy_unique_id && s[2].proxy_pass);
	assert_true(s[0].check);
	assert_false(s[1].check);
	assert_int_equal(s[0].check_port, 7);
	assert_int_equal(s[0].maxconn, 9);
	assert_int_equal(s[0].maxqueue, 8);
	assert_int_equal(s[0].slowstart_ns, 30 * NS_PER_SEC);
	assert_true(s[0].backup && s[0].disabled);
	assert_int_equal(s[1].source.count, 2);
	assert_int_equal(ntohs(s[1].source.list[1].in.sin_port), 40);
	assert_true(s[3].source.client);
	/* 'check' at one server of a section without a check: TCP, for that one alone. */
	assert_int_equal(n->check.kind, CONFIG_CHECK_TCP);
	assert_false(n->servers[0].check);
	assert_true(n->servers[1].check);
	assert_int_equal(l.config->backends[2].check.kind, CONFIG_CHECK_OFF);
	unload(&l);
}

/* [global], [defaults], the section: the nearest that sets it wins. */
static void sections_take_on_removed_from_global(void **state)
{
	static const struct {
		const char *global, *defaults, *section;
		enum config_on_removed wanted;
	} rows[] = {
		{"", "", "", CONFIG_ON_REMOVED_KEEP},
		{"on-removed = close\n", "", "", CONFIG_ON_REMOVED_CLOSE},
		{"on-removed = close\n", "", "on-removed = keep\n", CONFIG_ON_REMOVED_KEEP},
		{"on-removed = close\n", "on-removed = keep\n", "", CONFIG_ON_REMOVED_KEEP},
		{"", "on-removed = close\n", "", CONFIG_ON_REMOVED_CLOSE},
		{"", "on-removed = close\n", "on-removed = keep\n", CONFIG_ON_REMOVED_KEEP},
		{"on-removed = keep\n", "", "on-removed = close\n", CONFIG_ON_REMOVED_CLOSE},
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct loaded l;

		/* What [global] has counts wherever it stands. */
		(void)snprintf(text, sizeof(text),
			       "[defaults]\n%s[listen l]\nbind = :1\nserver a = x:1\n%s"
			       "[frontend f]\nbind = :2\ndefault-backend = l\n%s[global]\n%s",
			       rows[i].defaults, rows[i].section, rows[i].section, rows[i].global);
		l = assert_accepted(text);
		assert_int_equal(l.config->backends[0].timeouts.on_removed, rows[i].wanted);
		assert_int_equal(l.config->frontends[0].timeouts.on_removed, rows[i].wanted);
		assert_int_equal(l.config->frontends[1].timeouts.on_removed, rows[i].wanted);
		assert_round_trip(l.config);
		unload(&l);
	}
}

static void defaults_are_those_of_the_contract(void **state)
{
	struct loaded l = assert_accepted(GOOD);
	const struct config_backend *b = &l.config->backends[0];
	const struct config_frontend *f = &l.config->frontends[0];

	(void)state;
	assert_int_equal(l.config->global.admin_level, CONFIG_ADMIN_OPERATOR);
	assert_int_equal(b->balance.algorithm, CONFIG_BALANCE_ROUNDROBIN);
	assert_int_equal(b->check.kind, CONFIG_CHECK_OFF);
	assert_int_equal(b->check.interval_ns, 2 * NS_PER_SEC);
	assert_int_equal(b->check.fast_ns, 0);
	assert_int_equal(b->check.rise, 2);
	assert_int_equal(b->check.fall, 3);
	assert_int_equal(b->observe.what, CONFIG_OBSERVE_OFF);
	assert_int_equal(b->on_marked_down, CONFIG_MARKED_DOWN_KEEP);
	assert_false(b->allbackups || b->panic);
	assert_int_equal(b->maxqueue, 0);
	assert_int_equal(b->timeouts.queue_ns, 0);
	assert_int_equal(b->servers[0].send_proxy, CONFIG_SEND_PROXY_OFF);
	assert_int_equal(b->servers[0].maxconn, 0);
	assert_false(b->servers[0].check);
	assert_int_equal(f->rate_limit, 0);
	assert_int_equal(f->maxconn_per_source, 0);
	assert_int_equal(f->no_server, CONFIG_NO_SERVER_CLOSE);
	assert_int_equal(f->unlisten, CONFIG_UNLISTEN_NO);
	assert_null(f->allow);
	assert_null(f->deny);
	assert_null(f->trusted);
	assert_int_equal(f->allow_uid_count, 0);
	assert_int_equal(f->timeouts.handshake_ns, 5 * NS_PER_SEC);
	assert_int_equal(f->binds[0].accept_proxy, CONFIG_ACCEPT_PROXY_OFF);
	assert_null(f->tcp.congestion);
	assert_int_equal(f->tcp.dscp, -1);
	assert_int_equal(f->tcp.mark, 0);
	unload(&l);
}

#define TEN		  "1,2,3,4,5,6,7,8,9,10"
#define AN_ADMIN(line)	  "[global]\nadmin-socket = " line "\n" GOOD
#define IN_A_LISTEN(line) "[listen a]\nbind = :1\nserver a = 10.0.0.1:80\n" line "\n"
#define AS_A_SERVER(line) "[listen a]\nbind = :1\nserver a = 10.0.0.1:80 " line "\n"
#define AS_A_BIND(line)	  "[listen a]\nbind = " line "\nserver a = 10.0.0.1:80\n"

static void bad_values_are_refused_at_their_place(void **state)
{
	static const struct {
		const char *text, *where, *hint;
	} rows[] = {
		{AN_ADMIN("unix:/x level=root"), "t.ini:2:30: ", "cannot be 'root'"},
		{AN_ADMIN("unix:/x allow-uid=none-such"), "t.ini:2:34: ", "there is no user 'none-such'"},
		{AN_ADMIN("unix:/x allow-uid=1,,2"), "t.ini:2:36: ", "there is no user ''"},
		{AN_ADMIN("unix:/x allow-gid=0,NONE"), "t.ini:2:36: ", "there is no group 'NONE'"},
		{AN_ADMIN("unix:/x allow-uid"), "t.ini:2:24: ", "write allow-uid=NAME | UID,..."},
		{AN_ADMIN("unix:/x allow-uid=4294967295"), "t.ini:2:34: ", "a number from 0 to 4294967294"},
		{AN_ADMIN("unix:/x allow-gid=" TEN "," TEN "," TEN "," TEN "," TEN "," TEN "," TEN),
		 "t.ini:2:16: ", "'allow-gid' takes at most 64 entries"},
		{IN_A_LISTEN("balance = random(0)"), "t.ini:4:11: ", "of 1 to 100"},
		{IN_A_LISTEN("balance = random(2"), "t.ini:4:11: ", "write random(2)"},
		{IN_A_LISTEN("balance = leastcon"), "t.ini:4:11: ", "did you mean 'leastconn'?"},
		{IN_A_LISTEN("balance = static-rr"), "t.ini:4:11: ", "write roundrobin"},
		{IN_A_LISTEN("balance = leastconn hash=consistent"), "t.ini:4:21: ", "'hash' is for source"},
		{IN_A_LISTEN("balance = source hash-balance-factor=150"), "t.ini:4:18: ",
		 "write hash=consistent too"},
		{IN_A_LISTEN("balance = maglev hash-balance-factor=99"), "t.ini:4:38: ",
		 "allowed: off, or 101 to 65535"},
		{IN_A_LISTEN("rate-limit = fast"), "t.ini:4:14: ", "write off or a number"},
		{IN_A_LISTEN("no-server = unlisten"), "t.ini:4:13: ", "is not in this version"},
		{IN_A_LISTEN("no-server = drop"), "t.ini:4:13: ", "write one of close, reset, queue"},
		{IN_A_LISTEN("use-backend a ="), "t.ini:4:1: ", "'use-backend' needs a value"},
		{IN_A_LISTEN("use-backend b = dst-port=1"), "t.ini:4:13: ", "backend 'b' is not defined"},
		{IN_A_LISTEN("use-backend aa = dst-port=1"), "t.ini:4:13: ", "did you mean 'a' (line 1)?"},
		{IN_A_LISTEN("use-backend a = dst-port=9-8"), "t.ini:4:26: ", "'9-8' is not a port"},
		{IN_A_LISTEN("use-backend a = dst-port=1,,2"), "t.ini:4:28: ", "'' is not a port"},
		{IN_A_LISTEN("use-backend a = dst-port=65536"), "t.ini:4:26: ", "is not a port"},
		{IN_A_LISTEN("use-backend a = src=@x"), "t.ini:4:21: ", "cannot read 'x'"},
		{IN_A_LISTEN("maxqueue = -1"), "t.ini:4:12: ", "write off or a number"},
		{IN_A_LISTEN("timeout-queue = 5"), "t.ini:4:17: ", "needs a unit"},
		{IN_A_LISTEN("check-interval = 1ms"), "t.ini:4:18: ", "allowed: 10ms to 1d"},
		{IN_A_LISTEN("check-interval = off"), "t.ini:4:18: ", "allowed: 10ms to 1d"},
		{IN_A_LISTEN("check-fast = 1ms"), "t.ini:4:14: ", "allowed: off, or 10ms to 1d"},
		{IN_A_LISTEN("check-rise = 0"), "t.ini:4:14: ", "allowed: 1 to 1000"},
		{IN_A_LISTEN("check-fall = 0"), "t.ini:4:14: ", "allowed: 1 to 1000"},
		{IN_A_LISTEN("observe = layer4"), "t.ini:4:11: ", "write one of off, connect"},
		{IN_A_LISTEN("on-marked-down = close"), "t.ini:4:18: ", "write one of keep, close-sessions"},
		{IN_A_LISTEN("mark = red"), "t.ini:4:8: ", "16, or 0x10"},
		{IN_A_LISTEN("mark = 0x"), "t.ini:4:8: ", "is not a valid mark"},
		{IN_A_LISTEN("mark = 4294967296"), "t.ini:4:8: ", "allowed: 0 to 4294967295"},
		{IN_A_LISTEN("mark = 0x100000000"), "t.ini:4:8: ", "allowed: 0 to 4294967295"},
		{IN_A_LISTEN("dscp = 64"), "t.ini:4:8: ", "allowed: 0 to 63"},
		{IN_A_LISTEN("dscp = af99"), "t.ini:4:8: ", "af11 to af43"},
		{IN_A_LISTEN("pacing = 1"), "t.ini:4:10: ", "allowed: off, or 1k to 1024g"},
		{IN_A_LISTEN("pacing = fast"), "t.ini:4:10: ", "is not a valid size"},
		{IN_A_LISTEN("congestion = sixteen-letters-x"), "t.ini:4:14: ", "at most 15 bytes"},
		{AS_A_SERVER("check=maybe"), "t.ini:3:30: ", "'check' is on or off"},
		{AS_A_SERVER("check-port=0"), "t.ini:3:35: ", "allowed: 1 to 65535"},
		{AS_A_SERVER("check-port=http"), "t.ini:3:35: ", "is not a valid port"},
		{AS_A_SERVER("send-proxy=v3"), "t.ini:3:35: ", "cannot be 'v3'"},
		{AS_A_SERVER("proxy-v2-options=crc32c,ssl"), "t.ini:3:48: ", "unique-id, pass, or several"},
		{AS_A_SERVER("slowstart=30"), "t.ini:3:34: ", "needs a unit"},
		{AS_A_SERVER("backup=yes"), "t.ini:3:31: ", "'backup' is on or off"},
		{AS_A_SERVER("maxconn=auto"), "t.ini:3:32: ", "needs a number"},
		{AS_A_SERVER("source=10.0.0.1,x"), "t.ini:3:40: ", "several separated by commas"},
		{AS_A_SERVER("source=10.0.0.1,::1"), "t.ini:3:12: ", "different families"},
		{"[listen a]\nbind = :1\nserver a = /tmp/x source=client\n", "t.ini:3:12: ", "is for TCP"},
		{AS_A_BIND(":1 accept-proxy=optional"), "t.ini:2:11: ", "add a line such as: trusted ="},
		{AS_A_BIND(":1 interface=sixteen-letters-x"), "t.ini:2:21: ", "at most 15 bytes"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_refused(rows[i].text, rows[i].where, rows[i].hint, NULL);
}

static void an_agent_has_a_port_or_an_address(void **state)
{
	static const struct {
		const char *text, *where, *hint;
	} rows[] = {
		{IN_A_LISTEN("check-agent = 0"), "t.ini:4:15: ", "write a port (1 to 65535)"},
		{IN_A_LISTEN("check-agent = 65536"), "t.ini:4:15: ", "write a port (1 to 65535)"},
		{IN_A_LISTEN("check-agent = host:9000"), "t.ini:4:15: ", "an address such as 10.0.0.9:9000"},
		{IN_A_LISTEN("check-agent = :9000"), "t.ini:4:15: ", "an address such as 10.0.0.9:9000"},
		{IN_A_LISTEN("check-agent-send = \"a\\0\""), "t.ini:4:20: ", "without a zero byte"},
		{"[listen a]\nbind = :1\nserver a = /tmp/x check-agent=9\n", "t.ini:3:8: ",
		 "add check-agent=IP:PORT"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_refused(rows[i].text, rows[i].where, rows[i].hint, NULL);
}

static void names_that_no_client_can_ask_for_are_refused(void **state)
{
	static const struct {
		const char *text, *where, *hint;
	} rows[] = {
		{IN_A_LISTEN("use-backend a = sni=x..y"), "t.ini:4:21: ", "'x..y' is not a valid server"},
		{IN_A_LISTEN("use-backend a = sni=x,a*.y"), "t.ini:4:23: ", "'a*.y' is not a valid server"},
		{IN_A_LISTEN("use-backend a = sni=x,,y"), "t.ini:4:23: ", "'sni' has an empty item"},
		{IN_A_LISTEN("use-backend a = sni=x,@f"), "t.ini:4:23: ", "cannot read 'f'"},
		{IN_A_LISTEN("use-backend a = alpn=h2,\"a b\""), "t.ini:4:27: ", "not a valid ALPN protocol"},
		{IN_A_LISTEN("use-backend a = sni=x sni=y"), "t.ini:4:23: ", "'sni' is given twice"},
		{IN_A_LISTEN("sniff = ssl"), "t.ini:4:9: ", "'ssl' is not 'tls', 'auto', 'rdp' or 'off'"},
		{IN_A_LISTEN("sniff = off required"), "t.ini:4:13: ", "is off and takes no options"},
		{IN_A_LISTEN("sniff = tls timeout=5"), "t.ini:4:21: ", "needs a unit"},
		{IN_A_LISTEN("sniff = tls require"), "t.ini:4:13: ", "did you mean 'required'?"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_refused(rows[i].text, rows[i].where, rows[i].hint, NULL);
}

/* By the table, so that no spelling of a word gets by. */
static void words_that_an_address_has_no_use_for_are_refused(void **state)
{
	static const struct {
		const char *text, *where, *hint;
	} rows[] = {
		{AS_A_BIND("/tmp/x accept-proxy=optional"), "t.ini:2:8: ", "allow-uid"},
		{AS_A_BIND("/tmp/x tfo"), "t.ini:2:15: ", "'tfo' is for TCP"},
		{AS_A_BIND("/tmp/x interface=lo"), "t.ini:2:15: ", "'interface' is for TCP"},
		{AS_A_BIND("/tmp/x backlog=9 defer_accept"), "t.ini:2:25: ", "'defer-accept' is for TCP"},
		{AS_A_BIND("/tmp/x V6ONLY"), "t.ini:2:15: ", "'v6only' is for TCP"},
		{AS_A_BIND("unix:@x Freebind"), "t.ini:2:16: ", "'freebind' is for TCP"},
		{AS_A_BIND("unix:@x transparent"), "t.ini:2:16: ", "'transparent' is for TCP"},
		{AS_A_BIND("/tmp/x mptcp"), "t.ini:2:15: ", "'mptcp' is for TCP"},
		{AS_A_BIND("[::]:1 v6only V6ONLY"), "t.ini:2:22: ", "'V6ONLY' is given twice"},
		{AS_A_BIND("fd@x freebind"), "t.ini:2:13: ", "FreeBind= of the .socket unit"},
		{AS_A_BIND("fd@x V6ONLY"), "t.ini:2:13: ", "'v6only' is not for an inherited socket"},
		{AS_A_BIND("fd@x Mode=600"), "t.ini:2:13: ", "SocketMode="},
		{AN_ADMIN("unix:@x mode=660"), "t.ini:2:24: error: 'mode' has no effect on an abstract",
		 "write a path, as in unix:/run/weir/admin.sock mode=660; or allow-uid="},
		{AN_ADMIN("abns@x level=user USER=root"), "t.ini:2:34: ", "'user' has no effect"},
		{AN_ADMIN("unix:@x mode=660 group=root"), "t.ini:2:33: ", "'group' has no effect"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_refused(rows[i].text, rows[i].where, rows[i].hint, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_reads_back_to_the_same_snapshot),
		cmocka_unit_test(frontends_have_what_was_written),
		cmocka_unit_test(routes_name_their_backend),
		cmocka_unit_test(backends_have_what_was_written),
		cmocka_unit_test(servers_take_from_their_section_what_they_do_not_say),
		cmocka_unit_test(sections_take_on_removed_from_global),
		cmocka_unit_test(defaults_are_those_of_the_contract),
		cmocka_unit_test(bad_values_are_refused_at_their_place),
		cmocka_unit_test(an_agent_has_a_port_or_an_address),
		cmocka_unit_test(names_that_no_client_can_ask_for_are_refused),
		cmocka_unit_test(words_that_an_address_has_no_use_for_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
