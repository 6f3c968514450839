/* SPDX-License-Identifier: MIT
 *
 * test_errors.c - what is said about mistakes: all of them, at their place, and nothing else.
 */
#include "config_test.h"

static const char ten_mistakes[] = "[global]\n"
				   "thread = 4\n" /* 2: unknown */
				   "\n"
				   "[defaults]\n"
				   "timeout-connect = 5000\n" /* 5: no unit */
				   "mode = tcp\n"	      /* 6: HAProxy's */
				   "\n"
				   "[backend app]\n"
				   "server a = 10.0.0.1:80 weight=300\n" /* 9: range */
				   "server a = 10.0.0.2:80\n"		 /* 10: twice */
				   "  bind = :81\n"			 /* 11: wrong section */
				   "\n"
				   "[frontend web]\n"
				   "bind = :80\n"
				   "default-backend = ap\n" /* 15: undefined */
				   "maxconn = 10\n"
				   "maxconn = 20\n" /* 17: twice */
				   "\n"
				   "[listen two]\n"
				   "bind = :80\n"  /* 20: bound already */
				   "check-agent = x\n" /* 21: not a port */
				   "server z = 10.0.0.3:80\n";

static void ten_mistakes_are_ten_reports(void **state)
{
	struct loaded l = load_text(ten_mistakes);

	(void)state;
	assert_null(l.config);
	assert_string_equal(l.said,
			    "t.ini:2:1: error: unknown key 'thread'\n"
			    "  2 | thread = 4\n"
			    "    | ^^^^^^ did you mean 'threads'?\n"
			    "t.ini:5:19: error: 'timeout-connect' needs a unit\n"
			    "  5 | timeout-connect = 5000\n"
			    "    |                   ^^^^ write 5000ms or 5s (HAProxy reads a bare number as "
			    "milliseconds, nginx as "
			    "seconds)\n"
			    "t.ini:6:1: error: unknown key 'mode'\n"
			    "  6 | mode = tcp\n"
			    "    | ^^^^ weir forwards TCP and Unix sockets only: leave this line out\n"
			    "t.ini:9:31: error: 'weight' is 300; allowed: 0 to 256\n"
			    "  9 | server a = 10.0.0.1:80 weight=300\n"
			    "    |                               ^^^\n"
			    "t.ini:10:8: error: server 'a' is already defined in 'app'\n"
			    " 10 | server a = 10.0.0.2:80\n"
			    "    |        ^ first on line 9\n"
			    "t.ini:11:3: error: 'bind' does not belong in [backend]\n"
			    " 11 |   bind = :81\n"
			    "    |   ^^^^ it belongs in [listen] or [frontend]\n"
			    "t.ini:15:19: error: backend 'ap' is not defined\n"
			    " 15 | default-backend = ap\n"
			    "    |                   ^^ did you mean 'app' (line 8)?\n"
			    "t.ini:17:1: error: 'maxconn' is given twice\n"
			    " 17 | maxconn = 20\n"
			    "    | ^^^^^^^ first on line 16\n"
			    "t.ini:20:8: error: this address is already bound\n"
			    " 20 | bind = :80\n"
			    "    |        ^^^ first on line 14\n"
			    "t.ini:21:15: error: 'check-agent' cannot be 'x'\n"
			    " 21 | check-agent = x\n"
			    "    |               ^ write a port (1 to 65535) of each server, an address such "
			    "as 10.0.0.9:9000, or off\n"
			    "t.ini: 10 errors, 0 warnings. The running configuration is unchanged.\n");
	unload(&l);
}

/* Exactly `n` errors: nothing follows from a mistake. */
static void assert_errors(const char *text, size_t n)
{
	struct loaded l = load_text(text);

	if (l.config != NULL || count_of(l.said, ": error: ") != n)
		fail_msg("%zu errors wanted for:\n%s\n%s", n, text, l.said);
	unload(&l);
}

static void set_refused(const char *line, const char *wanted)
{
	char text[1024];
	struct loaded l;

	(void)snprintf(text, sizeof(text), "[listen web]\nbind = :80\n%s\n", line);
	l = load_text(text);
	if (l.config != NULL || strstr(l.said, wanted) == NULL)
		fail_msg("'%s' is not in:\n%s\n%s", wanted, text, l.said);
	unload(&l);
}

static void a_set_is_refused_in_words(void **state)
{
	(void)state;
	set_refused("servers pod = app:80", "'app:80' is not dns://HOST:PORT or srv://NAME");
	set_refused("servers pod = dns://", "'dns://' needs a name and a port");
	set_refused("servers pod = dns://app", "the port is missing");
	set_refused("servers pod = dns://app:0", "a server needs a port");
	set_refused("servers pod = dns://10.0.0.1:80", "'10.0.0.1:80' is not a name to look up");
	set_refused("servers pod = dns://unix:/a", "is not a name to look up");
	set_refused("servers pod = srv://", "'srv://' needs a name");
	set_refused("servers pod = srv://a b", "'servers' has no option 'b'");
	set_refused("servers pod = srv://a:80", "leave out the port: SRV records have their own");
	set_refused("servers pod = srv://a/b", "'a/b' is not a valid name");
	set_refused("servers pod = srv://a weight=2", "the weights of a srv:// set come from its records");
	set_refused("servers pod = dns://app:80 max=0", "'max' is 0; allowed: 1 to 10000");
	set_refused("servers pod = dns://app:80 max=1 max=1", "'max' is given twice");
	set_refused("servers = dns://app:80", "'servers' needs a name");
	set_refused("server pod = app:80 max=3", "'server' has no option 'max'");
	set_refused("servers aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = dns://app:80",
		       "the name of a set has at most 52 bytes");
}

static void names_that_a_set_gives_are_taken(void **state)
{
	(void)state;
	set_refused("servers pod = dns://app:80\nserver pod = app:80", "server 'pod' is already defined");
	set_refused("servers pod = dns://app:80\nserver pod12 = app:80",
		       "'pod12' is a name that the set 'pod' gives to its servers");
	set_refused("server pod1 = app:80\nservers pod = dns://app:80",
		       "'pod1' is a name that the set 'pod' gives to its servers");
	set_refused("servers pod = dns://app:80\nservers pod1 = dns://app:80",
		       "'pod1' is a name that the set 'pod' gives to its servers");
}

static void on_empty_without_a_set_is_warned_of(void **state)
{
	struct loaded l = load_text("[listen web]\nbind = :80\nserver a = app:80\non-empty = drain\n");

	(void)state;
	assert_non_null(l.config);
	assert_non_null(strstr(l.said, "'on-empty' has no effect: no server comes from a set"));
	unload(&l);
	l = load_text("[listen web]\nbind = :80\nservers pod = dns://app:80 backup\nserver podium = app:80\n"
		      "on-empty = drain\n");
	assert_non_null(l.config);
	assert_int_equal(count_of(l.said, "warning"), 0);
	unload(&l);
}

static void a_mistake_has_no_consequences(void **state)
{
	(void)state;
	/* The bind line, the server line and the reference are wrong, not missing. */
	assert_errors("[listen a]\nbind = :80 accept-proxy=sometimes\nserver a = 10.0.0.1:80\n", 1);
	assert_errors("[listen a]\nbnd = :80\nserver a = 10.0.0.1:80\n", 1);
	assert_errors("[listen a]\nbind :80\nserver a = 10.0.0.1:80\n", 1);
	assert_errors("[listen a]\nbind = :80\nserver a = 10.0.0.1\n", 1);
	assert_errors("[listen a]\nbind = :80\nserver = 10.0.0.1:80\n", 1);
	assert_errors("[listen a]\nbind = :80\nservers a = dns://x\n", 1);
	assert_errors("[frontend a]\nbind = :80\nuse-backend x = sni=a..b\n", 1);
	assert_errors(
		"[frontend a]\nbind = :80\ndefault-backend = b c\n[backend b]\nserver a = 10.0.0.1:80\n", 1);
	/* A header that is wrong still says which name it meant; its lines are not judged. */
	assert_errors("[frontend a]\nbind = :80\ndefault-backend = b\n[backnd b]\nserver a = 10.0.0.1:80\n",
		      1);
	assert_errors("[frontend a]\nbind = :80\ndefault-backend = b\n[backend b\nserver a = 10.0.0.1:80\n",
		      1);
	assert_errors("[stats]\nbind = 127.0.0.1:8404\nfoo\n" GOOD, 1);
	/* HAProxy's spelling is one mistake, not two. */
	assert_errors("[listen a]\nbind = :80\nserver a = 10.0.0.1:80 weight 10\n", 1);
	assert_errors("[listen a]\nbind = :80\nserver a = 10.0.0.1:80 check inter 2s\n", 1);
}

static void sections_that_lack_something_are_named(void **state)
{
	(void)state;
	assert_refused("[frontend f]\ndefault-backend = b\n[backend b]\nserver a = 10.0.0.1:80\n",
		       "t.ini:1:11: error: [frontend f] has no 'bind'", NULL);
	assert_refused("[frontend f]\nbind = :80\n", "t.ini:1:11: error: [frontend f] has no backend", NULL);
	assert_refused("[listen f]\nbind = :80\n", "t.ini:1:9: error: [listen f] has no server", NULL);
	assert_refused("", "t.ini: error: this configuration does nothing", NULL);
	assert_refused(GOOD "[listen good]\nbind = :81\nserver a = 10.0.0.1:80\n",
		       "t.ini:4:9: error: [listen good] is already defined", "as [listen good] on line 1",
		       NULL);
}

static void words_of_others_are_translated(void **state)
{
	(void)state;
	assert_refused("[listen a]\nbind = :80\ntimeout client 5s\nserver a = 10.0.0.1:80\n",
		       "t.ini:3:1: error: ", "write 'timeout-client = 5s'", NULL);
	assert_refused("[listen a]\nbind = :80\nserver a 10.0.0.1:80 check\n",
		       "t.ini:3:1: error: ", "write 'server a = 10.0.0.1:80 check'", NULL);
	assert_refused("[global]\noption splice-auto\n" GOOD, "write 'splice = auto' in [global]", NULL);
	assert_refused("[listen a]\nlisten = 80\nproxy_pass = app\n", "write 'bind = :80'",
		       "write 'default-backend = app'", NULL);
	assert_refused("[upstream app]\nserver = 10.0.0.1:80\n" GOOD, "[backend NAME]", NULL);
	assert_refused("[frontend a]\nbind = :80\ndefault_backend app\n", "write 'default-backend = app'",
		       NULL);
	assert_refused("[listen a]\nbind = :80\nserver a 10.0.0.1:80 weight=2\n",
		       "t.ini:3:1: error: '=' is missing after 'server a'", NULL);
	assert_refused("[listen a]\nbind = :80\nserver a /run/x weight=2\n",
		       "t.ini:3:1: error: '=' is missing after 'server a'", NULL);
}

static void headers_without_brackets_open_their_section(void **state)
{
	(void)state;
	assert_refused("frontend web\n bind *:80\n default_backend ap\nbackend app\n"
		       " server a 10.0.0.1:80 weight 10\n",
		       "t.ini:1:1: error: a section name must be in brackets", "write [frontend web]",
		       "t.ini:2:2: error: '=' is missing after 'bind'", "write 'bind = *:80'",
		       "t.ini:3:18: error: backend 'ap' is not defined", "did you mean 'app' (line 4)?",
		       "write 'server a = 10.0.0.1:80 weight=10'", "t.ini: 6 errors, 0 warnings.", NULL);
	assert_refused("defaults\n timeout connect 5000\n" GOOD, "write [defaults]",
		       "write 'timeout-connect = 5000ms'", "2 errors", NULL);
	assert_refused("listen stats :8404\n server a = 10.0.0.1:80\n" GOOD,
		       "write [listen stats], and below it: bind = :8404", "1 error,", NULL);
	assert_refused("peers x\n peer a 10.0.0.1:1\n" GOOD, "weir has no peers", "1 error,", NULL);
	assert_refused("[peers x]\n peer a 10.0.0.1:1\n" GOOD, "weir has no peers", "1 error,", NULL);
}

#define LEADS_TO_B "[listen a]\nbind = :80\nserver s = 10.0.0.1:80\nfallback-backend = b"

static void mistakes_in_fallbacks_name_the_chain(void **state)
{
	static const char two[] = LEADS_TO_B "\n[backend b]\nserver s = 10.0.0.1:80\n";
	char chain[2048] = LEADS_TO_B "0\n", text[4096];

	(void)state;
	(void)snprintf(text, sizeof(text), "%sfallback-backend = c\n", two);
	assert_refused(text, "t.ini:7:20: error: backend 'c' is not defined", NULL);
	(void)snprintf(text, sizeof(text), "%sfallback-backend = b\n", two);
	assert_refused(text, "t.ini:7:20: error: the fallbacks go round in a circle: b -> b", "1 error,",
		       NULL);
	(void)snprintf(text, sizeof(text), "%sfallback-backend = a\n", two);
	assert_refused(text, "t.ini:4:20: error: the fallbacks go round in a circle: a -> b -> a", "1 error,",
		       NULL);
	for (int i = 0; i < 9; i++) {
		const size_t len = strlen(chain);

		(void)snprintf(chain + len, sizeof(chain) - len, "[backend b%d]\nserver s = 10.0.0.1:80\n",
			       i);
		if (i < 8)
			(void)snprintf(chain + strlen(chain), sizeof(chain) - strlen(chain),
				       "fallback-backend = b%d\n", i + 1);
	}
	assert_refused(chain, "t.ini:4:20: error: more than 8 fallbacks in a row: a -> b0 -> b1", "-> b8",
		       "1 error,", NULL);
	assert_refused("[frontend w]\nbind = :80\nuse_backend b if { nbsrv(a) lt 1 }\n" GOOD,
		       "write 'fallback-backend = b' in [backend a]", NULL);
	assert_refused("[frontend w]\nbind = :80\nuse_backend b if { nbsrv(a) lt 2 }\n" GOOD,
		       "weir has no ACLs: write 'use-backend b = ", NULL);
}

static void braces_and_semicolons_of_nginx_are_named(void **state)
{
	(void)state;
	assert_refused("upstream app {\n server 10.0.0.1:80;\n}\n" GOOD, "write [backend app]",
		       "write 'server NAME = 10.0.0.1:80'", "2 errors", NULL);
	assert_refused("http {\n server {\n listen 80;\n location / {\n } } \n }\n}\n}\n" GOOD,
		       "this block out", "1 error,", NULL);
	assert_refused("global {\nthrads = 2\n}\nbackend app {\nserver a = 10.0.0.1\n}\n" GOOD,
		       "write [global], its lines below it, and no '}'", "write [backend app], its lines",
		       "did you mean 'threads'?", "the port is missing", "4 errors", NULL);
	assert_refused("}\n" GOOD, "t.ini:1:1: error: this '}' closes nothing", "1 error,", NULL);
	assert_refused(GOOD "maxconn = 10;\n", "t.ini:4:13: error: a line does not end with ';'", "1 error,",
		       NULL);
	assert_refused(GOOD "maxconn 10;\n", "t.ini:4:1: ", "write 'maxconn = 10'", "1 error,", NULL);
}

static void slips_of_a_key_are_seen_without_equals_too(void **state)
{
	(void)state;
	assert_refused(GOOD "tiemout connect 5s\n", "t.ini:4:1: ", "has no '='",
		       "did you mean 'timeout-connect = ...'?", "1 error,", NULL);
	assert_refused(GOOD "blance roundrobin\n", "did you mean 'balance = ...'?", "1 error,", NULL);
	assert_refused(GOOD "sevrer b 10.0.0.1:80\n", "did you mean 'server NAME = ...'?", "1 error,", NULL);
	assert_refused(GOOD "timeout server\n", "for example: timeout-server = 10m", "1 error,", NULL);
	assert_refused("[global]\nserver a 10.0.0.1:80\n" GOOD, "'server' does not belong in [global]",
		       "it belongs in [listen] or [backend]", "1 error,", NULL);
}

static void one_slip_is_one_message_that_helps(void **state)
{
	(void)state;
	assert_refused(GOOD "weight = 3\n", "t.ini:4:1: error: 'weight' is not a key",
		       "it belongs in a server line: server a = 10.0.0.1:80 weight=2", "1 error,", NULL);
	assert_refused("[satts]\n" GOOD, "did you mean [stats]?", "1 error,", NULL);
	assert_refused(GOOD "timeout-connect = 5 s\n", "t.ini:4:21: ", "write 5s, without the blank", NULL);
	assert_refused(GOOD "timeout-connect = 1h30\n", "needs a unit", "write 1h30m or 1h30s", NULL);
	assert_refused(GOOD "retries = 1__0\n", "needs a number",
		       "write a number from 0 to 10000, as in 'retries = 3'", NULL);
	assert_refused(GOOD "maxconn = -5\n", "needs a number", "write auto or a number", NULL);
	assert_refused(GOOD "server b = 10.0.0.1:80 weight = 5\n", "write weight=N, without blanks",
		       "1 error,", NULL);
	assert_refused("[listen a]\nbind = :80 ssl crt /x alpn h2 verify none\nserver a = 10.0.0.1:80\n",
		       "'bind' has no option 'ssl'", "weir does not terminate TLS", "1 error,", NULL);
	assert_refused(GOOD "server b = 10.0.0.1:80 weight =5 source=10.0.0.1\n", "without blanks",
		       "1 error,", NULL);
}

static void shares_of_sessions_are_judged(void **state)
{
	(void)state;
	assert_refused(GOOD "log-sample = 100\n", "t.ini:4:14: ", "is not a share", "write 1/N", NULL);
	assert_refused(GOOD "log-sample = 1/\n", "is not a share", NULL);
	assert_refused(GOOD "log-sample = 2/3\n", "is not a share", NULL);
	assert_refused(GOOD "log-sample = 1/0\n", "allowed: 1 to 1000000", NULL);
	assert_refused(GOOD "log-sample = 1/99999999999999999999\n", "allowed: 1 to 1000000", NULL);
}

static void log_targets_are_judged_at_their_place(void **state)
{
	(void)state;
	assert_refused("[global]\nlog = stderr format=tcplgo\n" GOOD,
		       "t.ini:2:21: ", "'format' cannot be 'tcplgo'", "did you mean 'tcplog'?", NULL);
	assert_refused("[global]\nlog = stderr format=xyz\n" GOOD, "'format' cannot be 'xyz'",
		       "format='{client} {server} {bytes_in}'", NULL);
	assert_refused("[global]\nlog = stderr format='{client} {byts_in}'\n" GOOD, "t.ini:2:32: ",
		       "a log line has no field 'byts_in'", "did you mean 'bytes_in'?", NULL);
	assert_refused("[global]\nlog = stderr format='{client'\n" GOOD, "t.ini:2:22: ",
		       "'format' is not valid: this brace is never closed", NULL);
	assert_refused("[global]\nlog = syslog:loghost:0\n" GOOD, "t.ini:2:14: ",
		       "needs a port, and 0 is not one", NULL);
	assert_refused("[global]\nlog = syslog::514\n" GOOD, "t.ini:2:14: ", "not by a port alone", NULL);
	assert_refused("[global]\nlog = syslog:514\n" GOOD, "t.ini:2:14: ", "is not a valid address", NULL);
	assert_refused("[global]\nlog = syslog:10.0.0.1:0\n" GOOD, "needs a port, and 0 is not one", NULL);
	assert_refused("[global]\nlog = syslog:\n" GOOD, "t.ini:2:7: ", "needs an address", NULL);
	assert_refused("[global]\nlog = syslog:/dev/log facility=local8\n" GOOD,
		       "t.ini:2:32: ", "'facility' cannot be 'local8'", NULL);
	assert_refused("[global]\nlog = stderr facility=local0\n" GOOD, "t.ini:2:14: ",
		       "'log' has no option 'facility'", NULL);
	assert_refused("[global]\nlog = /dev/log\n" GOOD, "write syslog:/dev/log", NULL);
	assert_refused("[global]\nlog = 127.0.0.1:514\n" GOOD, "write syslog:127.0.0.1:514", NULL);
	assert_refused("[global]\nlog = /var/log/x\n" GOOD, "write file:/var/log/x", NULL);
	assert_refused("[global]\nlog = stdout\n" GOOD, "write stderr", NULL);
	assert_refused("[global]\nlog = journal\n" GOOD, "or syslog:ADDRESS", NULL);
}

static void values_are_judged_at_their_place(void **state)
{
	(void)state;
	assert_refused("[global]\nthreads = 0\n" GOOD,
		       "t.ini:2:11: error: 'threads' is 0; allowed: 1 to 256", NULL);
	assert_refused("[global]\npipe-size = 100k\n" GOOD, "t.ini:2:13: ", "write 64k or 128k", NULL);
	assert_refused("[global]\ndriver = kqueue\n" GOOD, "'driver' cannot be 'kqueue'",
		       "auto, epoll, io_uring", NULL);
	assert_refused("[defaults]\nno-server = unlisten\n" GOOD,
		       "'no-server = unlisten' is not in this version", NULL);
	assert_refused("[global]\nsplice = yes\n" GOOD, "'splice' cannot be 'yes'", NULL);
	assert_refused("[global]\nadmin-socket = 127.0.0.1:99\n" GOOD, "must be a Unix socket", NULL);
	assert_refused("[global]\nuser =\n" GOOD, "t.ini:2:1: error: 'user' needs a value", NULL);
	assert_refused("[global]\nuser = a b\n" GOOD, "t.ini:2:10: error: 'user' takes one value", NULL);
	assert_refused("[global]\nuser = \"a\n" GOOD, "t.ini:2:8: error: this quote is never closed", NULL);
	assert_refused("[global]\ncpu-affinity = 3-1\n" GOOD, "is not a list of CPUs", NULL);
	assert_refused("[global]\npipe-cycle = 2h\n" GOOD, "allowed: 100ms to 1h", NULL);
	assert_refused("[defaults]\nbalance = leastconn hash=consistent\n" GOOD,
		       "t.ini:2:21: error: 'hash' is for source", NULL);
	assert_refused("[defaults]\nbalance = random(0)\n" GOOD, "is not random(N)", NULL);
	assert_refused("[defaults]\nredispatch = 1\n" GOOD, "'redispatch' is on or off", NULL);
	assert_refused("[defaults]\ntcp-keepalive = 500ms\n" GOOD, "takes whole seconds", NULL);
}

static void a_client_is_kept_by_its_address_for_a_while(void **state)
{
	(void)state;
	assert_refused("[defaults]\nsticky = on\n" GOOD, "t.ini:2:10: error: 'sticky' cannot be 'on'",
		       "clients are told apart by their address", NULL);
	assert_refused("[defaults]\nsticky = cookie\n" GOOD, "'sticky' cannot be 'cookie'",
		       "does not read HTTP", NULL);
	assert_refused("[defaults]\nsticky = rdp_cookie(mstshash)\n" GOOD, "'sticky' cannot be",
		       "write persist = rdp, and sniff = rdp in the frontend", NULL);
	assert_refused("[defaults]\nsticky = req.rdp_cookie\n" GOOD, "'sticky' cannot be",
		       "write persist = rdp, and sniff = rdp in the frontend", NULL);
	assert_refused("[defaults]\nsticky = src,ipmask(24)\n" GOOD, "'sticky' cannot be", "the /64", NULL);
	assert_refused("[defaults]\nsticky = dst,ipmask(24)\n" GOOD, "'sticky' cannot be", "write dst", NULL);
	assert_refused("[defaults]\nsticky = dst_port\n" GOOD, "'sticky' cannot be", "whatever the port",
		       NULL);
	assert_refused("[defaults]\nsticky = dstx\n" GOOD, "'sticky' cannot be", "sticky = dst expire", NULL);
	assert_refused("[defaults]\nsticky = expire=3s\n" GOOD, "'sticky' cannot be", "write src first",
		       NULL);
	assert_refused("[defaults]\nsticky = off size=3\n" GOOD, "t.ini:2:14: error: 'sticky' is off", NULL);
	assert_refused("[defaults]\nsticky = src expire=0\n" GOOD, "'expire' is 0; allowed: 1s to 365d",
		       NULL);
	assert_refused("[defaults]\nsticky = src expire=9\n" GOOD, "'expire' needs a unit", NULL);
	assert_refused("[defaults]\nsticky = src expire=400d\n" GOOD, "allowed: 1s to 365d", NULL);
	assert_refused("[defaults]\nsticky = src size=0\n" GOOD, "'size' is 0; allowed: 1 to 16m", NULL);
	assert_refused("[defaults]\nsticky = src size=17m\n" GOOD, "'size' is 17m; allowed: 1 to 16m", NULL);
	assert_refused("[defaults]\nsticky = src siez=3\n" GOOD, "has no option 'siez'", "'size'", NULL);
	assert_refused("[defaults]\nstick on dst\n" GOOD, "unknown key 'stick on dst'", "sticky = dst", NULL);
	assert_refused("[defaults]\nstick on src\n" GOOD, "unknown key 'stick on src'", "sticky = src", NULL);
	assert_refused("[defaults]\nstick-table type ip size 1m\n" GOOD, "unknown key 'stick-table type ip'",
		       "sticky = src expire=30m", NULL);
	assert_refused("[frontend f]\nbind = :1\nsticky = src\ndefault-backend = b\n[backend b]\n"
		       "server a = x:1\n", "'sticky' does not belong in [frontend]", NULL);
}

static void addresses_must_fit_their_place(void **state)
{
	(void)state;
	assert_refused("[listen a]\nbind = :80\nserver a = fd@3\n", "t.ini:3:12: error: fd@ is for 'bind'",
		       NULL);
	assert_refused("[global]\nadmin-socket = fd@admin\n" GOOD, "must be a Unix socket",
		       "could not find an inherited one", NULL);
	assert_refused("[listen a]\nbind = fd@\nserver a = 10.0.0.1:80\n", "name is missing", NULL);
	assert_refused("[listen a]\nbind = fd@web backlog=9 mode=600\nserver a = 10.0.0.1:80\n",
		       "t.ini:2:25: error: 'mode' is not for an inherited", "SocketMode=", NULL);
	assert_refused("[listen a]\nbind = fd@web v6only\nserver a = 10.0.0.1:80\n",
		       "t.ini:2:15: error: 'v6only' is not for", "BindIPv6Only=", NULL);
	assert_refused("[listen a]\nbind = fd@web\nbind = fd@web\nserver a = 10.0.0.1:80\n",
		       "t.ini:3:8: error: this address is already bound", NULL);
	assert_refused("[listen a]\nbind = web.example:80\nserver a = 10.0.0.1:80\n",
		       "t.ini:2:8: error: ", "not a name", NULL);
	assert_refused("[listen a]\nbind = :80\nserver a = :81\n", "a server needs a host", NULL);
	assert_refused("[listen a]\nbind = :80\nserver a = 10.0.0.1:0\n", "a server needs a port", NULL);
	assert_refused("[listen a]\nbind = :80 mode=600\nserver a = 10.0.0.1:80\n", "for a Unix socket",
		       NULL);
	assert_refused("[listen a]\nbind = 0.0.0.0:80 v6only\nserver a = 10.0.0.1:80\n", "v6only is for",
		       NULL);
	assert_refused("[listen a]\nbind = :80\nbind = 0.0.0.0:80\nserver a = 10.0.0.1:80\n",
		       "t.ini:3:8: error: this address is already bound", NULL);
	assert_refused("[listen a]\nbind = 0.0.0.0:80\nbind = [::]:80\nbind = :80\nserver a = 10.0.0.1:80\n",
		       "t.ini:4:8: error: this address is already bound", NULL);
	assert_refused("[listen a]\nbind = :80\nbind = [::]:80\nbind = [::]:80\nserver a = 10.0.0.1:80\n",
		       "t.ini:4:8: error: this address is already bound", NULL);
	assert_refused("[listen a]\nbind = :80 v6only\nbind = [::]:80\nserver a = 10.0.0.1:80\n",
		       "t.ini:3:8: error: this address is already bound", NULL);
	assert_refused("[listen a]\nbind = :80\nbind = [::]:80\nbind = 0.0.0.0:80\nserver a = 10.0.0.1:80\n",
		       "t.ini:4:8: error: this address is already bound", "first on line 2", NULL);
	assert_refused("[listen a]\nbind = /run/a\nbind = unix:/run/a\nserver a = 10.0.0.1:80\n",
		       "already bound", NULL);
	assert_refused("[listen a]\nbind = :80\nserver a = 10.0.0.1:80 source=x\n",
		       "t.ini:3:31: ", "takes an IP", NULL);
	assert_refused("[listen a]\nbind = :80\nserver a = 10.0.0.1:80 source=::1\n", "different families",
		       NULL);
}

static void addresses_that_differ_are_accepted(void **state)
{
	struct loaded l =
		assert_accepted("[listen a]\nbind = 127.0.0.1:0\nbind = 127.0.0.1:0\nbind = :80 v6only\n"
				"bind = 0.0.0.0:80\nbind = unix:@x\nbind = /run/x\nbind = 0.0.0.0:81\n"
					  "bind = [::]:81 v6only\nserver a = [::1]:80\n");

	(void)state;
	assert_int_equal(l.config->frontends[0].bind_count, 8);
	assert_true(l.config->frontends[0].binds[7].v6only);
	unload(&l);
}

static void twenty_errors_are_shown_and_the_rest_is_counted(void **state)
{
	char text[2048] = "[global]\n";
	struct loaded l;

	(void)state;
	for (int i = 0; i < 25; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "zzz%d = 1\n", i);
	l = load_text(text);
	assert_null(l.config);
	assert_int_equal(count_of(l.said, ": error: "), 20);
	assert_non_null(strstr(l.said, "... and 5 more errors; 'weir check --json' shows all of them\n"));
	assert_non_null(strstr(l.said, "t.ini: 25 errors, 0 warnings."));
	unload(&l);
}

static char *load_as_json(const char *text)
{
	struct config_input input = input_of_text(text, "t.ini");
	char *said = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&said, &len);

	assert_non_null(out);
	config_free(read_input(&input, out, CONFIG_STYLE_JSON));
	config_input_free(&input);
	assert_int_equal(fclose(out), 0);
	return said;
}

static void messages_are_an_object_for_programs(void **state)
{
	char *said = load_as_json("[global]\nthread = \"4\xff\"\n" GOOD "[backend \xc3\xa4\xed\xa0\x80]\n");

	(void)state;
	assert_string_equal(
		said, "{\"file\":\"t.ini\",\"ok\":false,\"errors\":2,\"warnings\":0,\"messages\":[\n"
		      " {\"file\":\"t.ini\",\"line\":2,\"col\":1,\"len\":6,\"severity\":\"error\","
		      "\"code\":\"unknown-key\",\"message\":\"unknown key 'thread'\","
		      "\"hint\":\"did you mean 'threads'?\"},\n"
		      " {\"file\":\"t.ini\",\"line\":6,\"col\":10,\"len\":1,\"severity\":\"error\","
		      "\"code\":\"bad-name\",\"message\":\"a name consists of letters, digits and . _ - :\","
		      "\"hint\":null}\n]}\n");
	free(said);
	said = load_as_json("[global]\nlog = \xc3\xa4\xed\xa0\x80\xf4\x90\x80\x80'\\'\n" GOOD);
	assert_non_null(strstr(said, "'\xc3\xa4\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\\\'"));
	free(said);
	said = load_as_json(GOOD);
	assert_string_equal(said,
			    "{\"file\":\"t.ini\",\"ok\":true,\"errors\":0,\"warnings\":0,\"frontends\":1,"
			    "\"backends\":1,\"servers\":1,\"includes\":0,\"messages\":[]}\n");
	free(said);
}

static void carets_stand_below_tabs_and_letters_of_two_bytes(void **state)
{
	(void)state;
	assert_refused("[global]\n\tuser = '\xc3\xa4' x\n" GOOD,
		       "\n  2 | \tuser = '\xc3\xa4' x\n    | \t           ^\n", NULL);
}

static void what_has_no_effect_is_warned_about(void **state)
{
	struct loaded l = load_text(
		"[frontend f]\nbind = :80\ndefault-backend = b\ntimeout-connect = 1s\n"
		"[backend b]\ntimeout-half-closed = 1s\n");

	(void)state;
	assert_non_null(l.config);
	assert_int_equal(l.config->warnings, 3);
	assert_non_null(
		strstr(l.said, "t.ini:4:1: warning: 'timeout-connect' has no effect in a [frontend]"));
	assert_non_null(strstr(l.said, "t.ini:5:10: warning: [backend b] has no server"));
	assert_non_null(
		strstr(l.said, "t.ini:6:1: warning: 'timeout-half-closed' has no effect in a [backend]"));
	assert_null(strstr(l.said, "unchanged"));
	unload(&l);
}

static void variables_are_put_in_or_missed(void **state)
{
	struct loaded l;

	(void)state;
	assert_int_equal(setenv("WEIR_T_PORT", "8123", 1), 0);
	assert_int_equal(setenv("WEIR_T_TWO", "10.0.0.1:80 weight=7", 1), 0);
	assert_int_equal(unsetenv("WEIR_T_NONE"), 0);
	l = assert_accepted("[listen a]\nbind = 127.0.0.1:${WEIR_T_PORT}\nserver a = ${WEIR_T_TWO}\n"
			    "server b = ${WEIR_T_NONE:-10.0.0.2}:81\n");
	assert_int_equal(l.config->frontends[0].binds[0].addr.port, 8123);
	assert_int_equal(l.config->backends[0].servers[0].weight, 7);
	assert_int_equal(l.config->backends[0].servers[1].addr.port, 81);
	unload(&l);
	assert_refused("[global]\nuser = x${WEIR_T_NONE}\n" GOOD, "t.ini:2:9: error: ",
		       "WEIR_T_NONE is not set", NULL);
	assert_refused("[global]\nuser = ${WEIR_T_NONE:?say who}\n" GOOD,
		       "WEIR_T_NONE is not set: say who", NULL);
	assert_refused("[global]\nuser = ${WEIR_T_NONE\n" GOOD, "has no closing '}'", NULL);
	l = assert_accepted("[global]\nlog = 'file:${WEIR_T_NONE}'\n" GOOD);
	assert_string_equal(l.config->global.logs[0].path, "${WEIR_T_NONE}");
	unload(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_mistakes_are_ten_reports),
		cmocka_unit_test(a_set_is_refused_in_words),
		cmocka_unit_test(names_that_a_set_gives_are_taken),
		cmocka_unit_test(on_empty_without_a_set_is_warned_of),
		cmocka_unit_test(a_mistake_has_no_consequences),
		cmocka_unit_test(sections_that_lack_something_are_named),
		cmocka_unit_test(words_of_others_are_translated),
		cmocka_unit_test(headers_without_brackets_open_their_section),
		cmocka_unit_test(mistakes_in_fallbacks_name_the_chain),
		cmocka_unit_test(braces_and_semicolons_of_nginx_are_named),
		cmocka_unit_test(slips_of_a_key_are_seen_without_equals_too),
		cmocka_unit_test(one_slip_is_one_message_that_helps),
		cmocka_unit_test(log_targets_are_judged_at_their_place),
		cmocka_unit_test(shares_of_sessions_are_judged),
		cmocka_unit_test(values_are_judged_at_their_place),
		cmocka_unit_test(a_client_is_kept_by_its_address_for_a_while),
		cmocka_unit_test(addresses_must_fit_their_place),
		cmocka_unit_test(addresses_that_differ_are_accepted),
		cmocka_unit_test(twenty_errors_are_shown_and_the_rest_is_counted),
		cmocka_unit_test(messages_are_an_object_for_programs),
		cmocka_unit_test(carets_stand_below_tabs_and_letters_of_two_bytes),
		cmocka_unit_test(what_has_no_effect_is_warned_about),
		cmocka_unit_test(variables_are_put_in_or_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
