/* SPDX-License-Identifier: MIT
 *
 * test_checks.c - `check`: what each form becomes, escapes, and what is refused.
 */
#include "same_config.h"

#define HEAD "[listen a]\nbind = :1\nserver a = 10.0.0.1:80\n"

/* The check of `line`; read back from -T as well. */
static struct loaded load_check(const char *line)
{
	char text[4600];
	struct loaded l;

	(void)snprintf(text, sizeof(text), HEAD "%s\n", line);
	l = assert_accepted(text);
	assert_round_trip(l.config);
	return l;
}

static void assert_step(const struct config_check_step *s, bool expect, bool negate, const char *bytes,
			size_t len)
{
	assert_int_equal(s->expect, expect);
	assert_int_equal(s->negate, negate);
	assert_int_equal(s->len, len);
	assert_memory_equal(s->bytes, bytes, len);
}

static void steps_are_sent_and_expected_in_order(void **state)
{
	struct loaded l = load_check("check = send \"PING\\r\\n\" expect=+PONG "
				     "send 'a \\\"b\\x00\\xfF\\t\\\\' "
				     "expect=!\"-ERR\" expect=\"\\x21x\" port=7 proxy=v1");
	const struct config_check *c = &l.config->backends[0].check;

	(void)state;
	assert_int_equal(c->kind, CONFIG_CHECK_SEND);
	assert_int_equal(c->step_count, 5);
	assert_step(&c->steps[0], false, false, "PING\r\n", 6);
	assert_step(&c->steps[1], true, false, "+PONG", 5);
	assert_step(&c->steps[2], false, false, "a \"b\0\xff\t\\", 8);
	assert_step(&c->steps[3], true, true, "-ERR", 4);
	assert_step(&c->steps[4], true, false, "!x", 2);
	assert_int_equal(c->port, 7);
	assert_int_equal(c->proxy, CONFIG_CHECK_PROXY_V1);
	unload(&l);
}

static void http_has_method_path_host_and_what_is_good(void **state)
{
	struct loaded l = load_check("check = http POST /a?b=c#d expect=200-299,301 expect=\"\\x320 OK\" "
				     "host=www.example.com:8080 port=99 proxy");
	const struct config_check *c = &l.config->backends[0].check;

	(void)state;
	assert_int_equal(c->kind, CONFIG_CHECK_HTTP);
	assert_string_equal(c->method, "POST");
	assert_string_equal(c->path, "/a?b=c#d");
	assert_string_equal(c->host, "www.example.com:8080");
	assert_int_equal(c->status_count, 2);
	assert_int_equal(c->statuses[0].first, 200);
	assert_int_equal(c->statuses[0].last, 299);
	assert_int_equal(c->statuses[1].last, 301);
	assert_string_equal(c->body, "20 OK");
	assert_int_equal(c->proxy, CONFIG_CHECK_PROXY_V2);
	unload(&l);
}

static void short_forms_are_whole_ones(void **state)
{
	struct loaded l = load_check("check = http");
	const struct config_check *c = &l.config->backends[0].check;

	(void)state;
	assert_string_equal(c->method, "GET");
	assert_string_equal(c->path, "/");
	assert_null(c->host);
	unload(&l);
	l = load_check("check = http expect=204");
	assert_string_equal(l.config->backends[0].check.path, "/");
	assert_int_equal(l.config->backends[0].check.statuses[0].first, 204);
	unload(&l);
	l = load_check("check = http OPTIONS");
	assert_string_equal(l.config->backends[0].check.method, "OPTIONS");
	unload(&l);
	l = load_check("check = http OPTIONS * host=a");
	assert_string_equal(l.config->backends[0].check.method, "OPTIONS");
	assert_string_equal(l.config->backends[0].check.path, "*");
	unload(&l);
	l = load_check("check = proxy");
	assert_int_equal(l.config->backends[0].check.kind, CONFIG_CHECK_TCP);
	assert_int_equal(l.config->backends[0].check.proxy, CONFIG_CHECK_PROXY_V2);
	unload(&l);
	l = load_check("check = proxy=v1 port=8");
	assert_int_equal(l.config->backends[0].check.proxy, CONFIG_CHECK_PROXY_V1);
	unload(&l);
	l = load_check("check = tcp");
	assert_int_equal(l.config->backends[0].check.proxy, CONFIG_CHECK_PROXY_AUTO);
	unload(&l);
	l = load_check("check = http proxy=off");
	assert_int_equal(l.config->backends[0].check.proxy, CONFIG_CHECK_PROXY_OFF);
	unload(&l);
	l = load_check("check = expect 220"); /* a greeting */
	assert_int_equal(l.config->backends[0].check.kind, CONFIG_CHECK_SEND);
	assert_step(&l.config->backends[0].check.steps[0], true, false, "220", 3);
	unload(&l);
}

/* As the synopsis has it for a server that speaks first; -T keeps a text that looks like a word of ours. */
static void a_server_may_speak_first(void **state)
{
	struct loaded l = load_check("check = expect=220 send \"QUIT\\r\\n\" expect=221");
	const struct config_check *c = &l.config->backends[0].check;

	(void)state;
	assert_int_equal(c->step_count, 3);
	assert_step(&c->steps[0], true, false, "220", 3);
	assert_step(&c->steps[1], false, false, "QUIT\r\n", 6);
	assert_step(&c->steps[2], true, false, "221", 3);
	unload(&l);
	l = load_check("check = send \\x65xpect=1 expect=\\x73end=");
	c = &l.config->backends[0].check;
	assert_step(&c->steps[0], false, false, "expect=1", 8);
	assert_step(&c->steps[1], true, false, "send=", 5);
	unload(&l);
	l = load_check("check = http GET / expect=\\x65xpect=1");
	assert_string_equal(l.config->backends[0].check.body, "expect=1");
	unload(&l);
}

/* A text of digits is a status; as \xHH it is a text, and -T keeps it one. */
static void digits_are_a_status_and_escaped_ones_a_text(void **state)
{
	struct loaded l = load_check("check = http GET / expect=\\x3200");

	(void)state;
	assert_int_equal(l.config->backends[0].check.status_count, 0);
	assert_string_equal(l.config->backends[0].check.body, "200");
	unload(&l);
}

static void quotes_and_comments_may_stand_in_quotes(void **state)
{
	struct loaded l = load_check("check = send \"a\\\" # b\\\\\" expect=\"\\\\\\\"\" # \" comment");
	const struct config_check *c = &l.config->backends[0].check;

	(void)state;
	assert_int_equal(c->step_count, 2);
	assert_step(&c->steps[0], false, false, "a\" # b\\", 7);
	assert_step(&c->steps[1], true, false, "\\\"", 2);
	unload(&l);
}

/* Every byte there is, alone and as the first of a text that is expected. */
static void every_byte_reads_back(void **state)
{
	(void)state;
	for (unsigned byte = 0; byte < 256; byte++) {
		char line[100], wanted[3] = {(char)byte, 'x', '\0'};
		struct loaded l;

		(void)snprintf(line, sizeof(line), "check = send \"\\x%02xx\" expect=\"\\x%02Xx\"", byte,
			       byte);
		l = load_check(line);
		assert_step(&l.config->backends[0].check.steps[0], false, false, wanted, 2);
		assert_step(&l.config->backends[0].check.steps[1], true, false, wanted, 2);
		unload(&l);
	}
}

/* Adds `text` to a line that has room for it, `times` times. */
static void add(char *line, size_t room, const char *text, size_t times)
{
	size_t len = strlen(line), more = strlen(text);

	assert_true(len + times * more < room);
	for (size_t i = 0; i < times; i++)
		memcpy(line + len + i * more, text, more);
	line[len + times * more] = '\0';
}

/* As much as a check may have, and each byte as long as it can be printed. */
static void the_longest_checks_fit_a_line_of_print(void **state)
{
	char line[4200] = "check =";
	struct loaded l;

	(void)state;
	for (size_t i = 0; i < 16; i++) {
		add(line, sizeof(line), i % 2 == 0 ? " send \"" : " expect=\"", 1);
		add(line, sizeof(line), "\\xfe", 56);
		add(line, sizeof(line), "\"", 1);
	}
	l = load_check(line);
	assert_int_equal(l.config->backends[0].check.step_count, 16);
	unload(&l);
	(void)snprintf(line, sizeof(line), "check = http GET \"/");
	add(line, sizeof(line), "'a", 255);
	add(line, sizeof(line), "'\" expect=200-299", 1);
	add(line, sizeof(line), ",300-301", 31);
	add(line, sizeof(line), " expect=\"", 1);
	add(line, sizeof(line), "\\xfe", 255);
	add(line, sizeof(line), "\" host=", 1);
	add(line, sizeof(line), "h", 255);
	l = load_check(line);
	assert_int_equal(strlen(l.config->backends[0].check.path), 512);
	assert_int_equal(strlen(l.config->backends[0].check.host), 255);
	assert_int_equal(l.config->backends[0].check.status_count, 32);
	unload(&l);
}

/* A section's check takes the place of the whole one of [defaults], and its times stay. */
static void a_check_of_a_section_begins_anew(void **state)
{
	struct loaded l = assert_accepted("[defaults]\ncheck = http GET /x host=h expect=200 port=9\n"
					  "check-interval = 9s\n" HEAD "check = tcp\n"
					  "[listen b]\nbind = :2\nserver a = x:1\n");
	const struct config_check *own = &l.config->backends[0].check;

	(void)state;
	assert_int_equal(own->kind, CONFIG_CHECK_TCP);
	assert_null(own->path);
	assert_null(own->host);
	assert_int_equal(own->status_count, 0);
	assert_int_equal(own->port, 0);
	assert_int_equal(own->interval_ns, l.config->backends[1].check.interval_ns);
	assert_string_equal(l.config->backends[1].check.path, "/x");
	assert_round_trip(l.config);
	unload(&l);
}

static void checks_of_databases_have_roles_and_names(void **state)
{
	struct loaded l = load_check("check = redis");
	char line[300];

	(void)state;
	assert_int_equal(l.config->backends[0].check.kind, CONFIG_CHECK_REDIS);
	assert_int_equal(l.config->backends[0].check.role, CONFIG_CHECK_ROLE_ANY);
	unload(&l);
	l = load_check("check = redis role=replica proxy=v1");
	assert_int_equal(l.config->backends[0].check.role, CONFIG_CHECK_ROLE_STANDBY);
	assert_int_equal(l.config->backends[0].check.proxy, CONFIG_CHECK_PROXY_V1);
	unload(&l);
	l = load_check("check = redis role=master");
	assert_int_equal(l.config->backends[0].check.role, CONFIG_CHECK_ROLE_PRIMARY);
	unload(&l);
	l = load_check("check = pgsql role=primary user=\"my 'user'\" database=app port=9");
	assert_int_equal(l.config->backends[0].check.kind, CONFIG_CHECK_PGSQL);
	assert_int_equal(l.config->backends[0].check.role, CONFIG_CHECK_ROLE_PRIMARY);
	assert_string_equal(l.config->backends[0].check.user, "my 'user'");
	assert_string_equal(l.config->backends[0].check.database, "app");
	assert_int_equal(l.config->backends[0].check.port, 9);
	unload(&l);
	(void)snprintf(line, sizeof(line), "check = pgsql user=%0128d role=standby", 0);
	l = load_check(line);
	assert_int_equal(l.config->backends[0].check.role, CONFIG_CHECK_ROLE_STANDBY);
	assert_int_equal(strlen(l.config->backends[0].check.user), 128);
	unload(&l);
	l = load_check("check = mysql");
	assert_int_equal(l.config->backends[0].check.kind, CONFIG_CHECK_MYSQL);
	assert_null(l.config->backends[0].check.user);
	unload(&l);
	l = load_check("check = mysql user=joe port=1");
	assert_string_equal(l.config->backends[0].check.user, "joe");
	unload(&l);
	l = load_check("check = ldap");
	assert_int_equal(l.config->backends[0].check.kind, CONFIG_CHECK_LDAP);
	unload(&l);
	l = load_check("check = smtp port=2");
	assert_int_equal(l.config->backends[0].check.kind, CONFIG_CHECK_SMTP);
	assert_null(l.config->backends[0].check.hello);
	unload(&l);
	l = load_check("check = smtp EHLO [192.0.2.1] proxy=v1");
	assert_string_equal(l.config->backends[0].check.method, "EHLO");
	assert_string_equal(l.config->backends[0].check.hello, "[192.0.2.1]");
	unload(&l);
	(void)snprintf(line, sizeof(line), HEAD "check = pgsql user=%0129d\n", 0);
	assert_refused(line, "t.ini:4:20: ", "'user' has at most 128 bytes", NULL);
}

static void bad_words_of_talks_are_refused_at_their_place(void **state)
{
	static const struct {
		const char *line, *where, *hint;
	} rows[] = {
		{"check = mysql user=", "t.ini:4:15: ", "'user' needs a value"},
		{"check = mysql database=x", "t.ini:4:24: ", "'database' is for 'check = pgsql'"},
		{"check = mysql role=master", "t.ini:4:20: ", "'role' is for"},
		{"check = http GET / soft-stop=40", "t.ini:4:30: ", "write soft-stop=404"},
		{"check = http GET / soft-stop=600", "t.ini:4:30: ", "'600' is not an HTTP status"},
		{"check = http GET / soft-stop=404-405", "t.ini:4:30: ", "is not an HTTP status"},
		{"check = tcp soft-stop=404", "t.ini:4:23: ", "'soft-stop' is for 'check = http'"},
		{"check = ldap user=x", "t.ini:4:19: ", "'user' is for 'check = pgsql' and 'check = mysql'"},
		{"check = smtp EHLO", "t.ini:4:14: ", "'EHLO' needs the name of this machine"},
		{"check = smtp HELO a/b", "t.ini:4:19: ", "'a/b' is not a host name"},
		{"check = smtp EHLO \"\"", "t.ini:4:", "is not a host name"},
		{"check = smtp ehlo a", "t.ini:4:14: ", "ehlo"},
		{"check = smtp EHLO a b", "t.ini:4:21: ", "b"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[200];

		(void)snprintf(text, sizeof(text), HEAD "%s\n", rows[i].line);
		assert_refused(text, rows[i].where, rows[i].hint, NULL);
	}
}

static void bad_checks_are_refused_at_their_place(void **state)
{
	static const struct {
		const char *line, *where, *hint;
	} rows[] = {
		{"check = ftp", "t.ini:4:9: ", "write off, tcp, http GET /PATH"},
		{"check = Redis", "t.ini:4:9: ", "mysql, ldap, smtp, exec PROGRAM, or proxy"},
		{"check = redis role=primary", "t.ini:4:20: ", "write role=master or role=replica"},
		{"check = redis role=slave", "t.ini:4:20: ", "write role=master or role=replica"},
		{"check = redis role", "t.ini:4:15: ", "'role' needs a value"},
		{"check = redis role=master role=master", "t.ini:4:27: ", "'role' is given twice"},
		{"check = redis user=x", "t.ini:4:20: ", "'user' is for 'check = pgsql'"},
		{"check = redis expect=x", "t.ini:4:22: ", "'expect' is for"},
		{"check = tcp role=master", "t.ini:4:18: ", "'role' is for 'check = redis' and"},
		{"check = pgsql", "t.ini:4:9: ", "write check = pgsql user=NAME"},
		{"check = pgsql role=primary", "t.ini:4:9: ", "needs a user"},
		{"check = pgsql user=", "t.ini:4:15: ", "'user' needs a value"},
		{"check = pgsql user=x role=master", "t.ini:4:27: ", "write role=primary or role=standby"},
		{"check = pgsql user=x database=", "t.ini:4:22: ", "'database' needs a value"},
		{"check = pgsql user=x host=y", "t.ini:4:27: ", "'host' is for 'check = http'"},
		{"check = pgsql user=\"a\tb\"", "t.ini:4:22: ", "'user' contains a control character"},
		{"check = off port=1", "t.ini:4:13: ", "is off and takes no words"},
		{"check = tcp host=x", "t.ini:4:18: ", "'host' is for 'check = http'"},
		{"check = tcp expect=x", "t.ini:4:20: ", "'expect' is for"},
		{"check = tcp send x", "t.ini:4:", "'send' is for"},
		{"check = tcp prot=1", "t.ini:4:13: ", "did you mean 'port'?"},
		{"check = tcp port=0", "t.ini:4:18: ", "allowed: 1 to 65535"},
		{"check = tcp port=1 port=2", "t.ini:4:20: ", "'port' is given twice"},
		{"check = tcp proxy=v3", "t.ini:4:19: ", "cannot be 'v3'"},
		{"check = http GET health", "t.ini:4:18: ", "a path begins with '/'"},
		{"check = http GET \"/a b\"", "t.ini:4:18: ", "has no blanks"},
		{"check = http get /x", "t.ini:4:14: ", "is not an HTTP path"},
		{"check = http GET / expect=99", "t.ini:4:27: ", "100 to 599"},
		{"check = http GET / expect=300-200", "t.ini:4:27: ", "is not an HTTP status"},
		{"check = http GET / expect=200,600", "t.ini:4:31: ", "'600' is not an HTTP status"},
		{"check = http GET / expect=200 expect=201", "t.ini:4:38: ", "write expect=200-299,301"},
		{"check = http GET / expect=a expect=b", "t.ini:4:36: ", "has a text already"},
		{"check = http GET / expect=2xx", "t.ini:4:27: ", "write expect=200-299; of a text"},
		{"check = http GET / expect=\"200 OK\"", "t.ini:4:28: ", "its first byte as \\xHH"},
		{"check = http HEAD / expect=fine", "t.ini:4:28: ", "an answer to HEAD has no body"},
		{"check = http HEAD / expect=200 expect=fine", "t.ini:4:39: ", "write GET, or a status"},
		{"check = http GET / expect=!a", "t.ini:4:27: ", "'!' is for 'check = send'"},
		{"check = http GET / expect=a\\0", "t.ini:4:27: ", "has no \\0"},
		{"check = http GET / host=a/b", "t.ini:4:25: ", "is not a host name"},
		{"check = http GET *", "t.ini:4:18: ", "'*' is for OPTIONS"},
		{"check = http OPTIONS **", "t.ini:4:22: ", "is not an HTTP path"},
		{"check = http GET / expect=send=a", "t.ini:4:27: ", "cannot begin with 'send='"},
		{"check = send expect=220 send=\"QUIT\\r\\n\"", "t.ini:4:14: ", "expect=TEXT send TEXT"},
		{"check = send \"send=a\" expect=b", "t.ini:4:15: ", "begin the text with \\x73"},
		{"check = send a expect=!expect=b", "t.ini:4:24: ", "cannot begin with 'expect='"},
		{"check = send x send", "t.ini:4:16: ", "'send' needs a value"},
		{"check = send \\q", "t.ini:4:14: ", "there are \\r \\n \\t \\0"},
		{"check = send a\\x1", "t.ini:4:15: ", "this is not a valid escape"},
		{"check = send a\\", "t.ini:4:15: ", "this is not a valid escape"},
		{"check = send x expect=!", "t.ini:4:23: ", "is empty"},
		{"check = send x host=y", "t.ini:4:21: ", "'host' is for 'check = http'"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[200];

		(void)snprintf(text, sizeof(text), HEAD "%s\n", rows[i].line);
		assert_refused(text, rows[i].where, rows[i].hint, NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_sent_and_expected_in_order),
		cmocka_unit_test(http_has_method_path_host_and_what_is_good),
		cmocka_unit_test(short_forms_are_whole_ones),
		cmocka_unit_test(a_server_may_speak_first),
		cmocka_unit_test(digits_are_a_status_and_escaped_ones_a_text),
		cmocka_unit_test(quotes_and_comments_may_stand_in_quotes),
		cmocka_unit_test(every_byte_reads_back),
		cmocka_unit_test(the_longest_checks_fit_a_line_of_print),
		cmocka_unit_test(a_check_of_a_section_begins_anew),
		cmocka_unit_test(checks_of_databases_have_roles_and_names),
		cmocka_unit_test(bad_words_of_talks_are_refused_at_their_place),
		cmocka_unit_test(bad_checks_are_refused_at_their_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
