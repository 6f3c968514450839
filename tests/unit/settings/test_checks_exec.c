/* SPDX-License-Identifier: MIT
 *
 * test_checks_exec.c - checks by programs: what a line becomes, what is refused, and who may allow them.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "same_config.h"

#define ALLOW "[global]\nexec-checks = 2\n"
#define HEAD  ALLOW "[listen a]\nbind = :1\nserver a = 10.0.0.1:80\n"

static char folder[] = "/tmp/weir-exec-XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[100];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void write_file(const char *name, const char *text)
{
	FILE *out = fopen(in_folder(name), "w");

	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static struct loaded load_check(const char *line)
{
	struct config_input input = {0};
	char text[3000];
	struct loaded l;

	(void)snprintf(text, sizeof(text), HEAD "%s\n", line);
	write_file("t.ini", text);
	assert_int_equal(config_input_add_path(&input, in_folder("t.ini")), 0);
	l = load_input(&input);
	if (l.config == NULL)
		fail_msg("%s is refused:\n%s", line, l.said);
	return l;
}

static const struct config_check *check_of(const struct loaded *l)
{
	return &l->config->backends[0].check;
}

static void a_program_has_its_words_unchanged(void **state)
{
	struct loaded l = load_check("check = exec /bin/sh -c 'it''s' port=1 send expect ''");

	(void)state;
	assert_round_trip(l.config);
	assert_int_equal(l.config->global.exec_checks, 2);
	assert_int_equal(check_of(&l)->kind, CONFIG_CHECK_EXEC);
	assert_string_equal(check_of(&l)->program, "/bin/sh");
	assert_int_equal(check_of(&l)->arg_count, 6);
	assert_string_equal(check_of(&l)->args[0].text, "-c");
	assert_string_equal(check_of(&l)->args[1].text, "its");
	assert_string_equal(check_of(&l)->args[2].text, "port=1");
	assert_string_equal(check_of(&l)->args[3].text, "send");
	assert_string_equal(check_of(&l)->args[5].text, "");
	assert_int_equal(check_of(&l)->port, 0);
	assert_null(check_of(&l)->exec_path);
	unload(&l);
	l = load_check("check = exec path=/a:/b /bin/sh x");
	assert_round_trip(l.config);
	assert_string_equal(check_of(&l)->exec_path, "/a:/b");
	assert_int_equal(check_of(&l)->arg_count, 1);
	unload(&l);
	l = load_check("check = exec /bin/sh x path=/a:/b y");
	assert_round_trip(l.config);
	assert_string_equal(check_of(&l)->args[1].text, "y");
	unload(&l);
}

static void add(char *text, size_t room, const char *more)
{
	const size_t len = strlen(text);

	assert_true(snprintf(text + len, room - len, "%s", more) < (int)(room - len));
}

static void the_longest_line_reads_back(void **state)
{
	char line[2900] = "check = exec /bin/sh ";
	struct loaded l;

	(void)state;
	for (int i = 0; i < 1023 - 8 - 1; i++)
		add(line, sizeof(line), i % 2 != 0 ? "x" : "\"'\"");
	add(line, sizeof(line), " path=/");
	l = load_check(line);
	assert_round_trip(l.config);
	unload(&l);
}

static void bad_words_are_refused_at_their_place(void **state)
{
	static const struct {
		const char *line, *where, *hint;
	} rows[] = {
		{"check = exec", "t.ini:6:9: ", "write check = exec /usr/local/lib/weir/check-app"},
		{"check = exec path=/bin", "t.ini:6:9: ", "'check = exec' needs a program"},
		{"check = exec sh", "t.ini:6:14: ", "'sh' is not an absolute path"},
		{"check = exec ''", "t.ini:6:14: ", "'' is not an absolute path"},
		{"check = exec /bin/sh path=/a path=/b", "t.ini:6:30: ", "'path' is given twice"},
		{"check = exec /bin/sh path=", "t.ini:6:22: ", "'path' needs a value"},
		{"check = exec /bin/sh path=bin", "t.ini:6:27: ", "write path=/usr/bin:/bin"},
		{"check = exec /bin/sh path=/a::/b", "t.ini:6:30: ", "write path=/usr/bin:/bin"},
		{"check = exec /bin/sh path=/a:b", "t.ini:6:30: ", "write path=/usr/bin:/bin"},
		{"check = exec /bin/sh path=/a:", "t.ini:6:27: ", "write path=/usr/bin:/bin"},
		{"check = tcp path=/a", "t.ini:6:18: ", "'path' is for 'check = exec'"},
		{"check = exec /no/such/program", "t.ini:6:9: ", "/no does not exist"},
		{"check = exec /tmp/x", "t.ini:6:9: ", "/tmp is writable by others (mode 1777)"},
		{"check = exec /etc/passwd", "t.ini:6:9: ", "/etc/passwd is not executable"},
	};
	char text[3000] = HEAD "check = exec /bin/sh";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		(void)snprintf(text, sizeof(text), HEAD "%s\n", rows[i].line);
		assert_refused(text, rows[i].where, rows[i].hint, NULL);
	}
	(void)snprintf(text, sizeof(text), HEAD "check = exec /bin/sh");
	for (int i = 0; i < 33; i++)
		add(text, sizeof(text), " x");
	assert_refused(text, "there are at most 32 arguments", NULL);
	(void)snprintf(text, sizeof(text), HEAD "check = exec /bin/sh %01016d", 0);
	assert_refused(text, "have at most 1023 bytes", NULL);
	(void)snprintf(text, sizeof(text), HEAD "check = exec /bin/sh path=/%0255d", 0);
	assert_refused(text, "'path' has at most 255 bytes", NULL);
}

static void programs_have_to_be_allowed(void **state)
{
	(void)state;
	assert_refused("[listen a]\nbind = :1\nserver a = 10.0.0.1:80\ncheck = exec /bin/sh\n",
		       "t.ini:4:9: ", "runs programs, which 'exec-checks' in [global] does not allow",
		       "write exec-checks = 4 in [global]", NULL);
	assert_refused("[defaults]\ncheck = exec /bin/sh\n[listen a]\nbind = :1\nserver a = 10.0.0.1:80\n",
		       "t.ini:2:9: ", "'exec-checks' in [global]", NULL);
	assert_refused("[global]\nexec-checks = 1025\n[listen a]\nbind = :1\nserver a = 10.0.0.1:80\n",
		       "t.ini:2:15: ", NULL);
}

/* Whoever can add a file must not be able to allow programs with it. */
static void only_a_file_of_the_command_line_allows_them(void **state)
{
	struct config_input input = {0};
	struct loaded l;

	(void)state;
	write_file("t.ini", "[global]\ninclude = more.ini\n[listen a]\nbind = :1\nserver a = 10.0.0.1:80\n"
			    "check = exec /bin/sh\n");
	write_file("more.ini", ALLOW);
	assert_int_equal(config_input_add_path(&input, in_folder("t.ini")), 0);
	l = load_input(&input);
	assert_null(l.config);
	assert_non_null(strstr(l.said, "more.ini:2:1: "));
	assert_non_null(strstr(l.said, "'exec-checks' does not count here"));
	assert_non_null(strstr(l.said, "or as -o global.exec-checks=2"));
	unload(&l);
	/* Named, it does. */
	write_file("t.ini", "[listen a]\nbind = :1\nserver a = 10.0.0.1:80\ncheck = exec /bin/sh\n");
	input = (struct config_input){0};
	assert_int_equal(config_input_add_path(&input, in_folder("t.ini")), 0);
	assert_int_equal(config_input_add_path(&input, in_folder("more.ini")), 0);
	l = load_input(&input);
	assert_non_null(l.config);
	unload(&l);
	/* A folder names no file. */
	input = (struct config_input){0};
	assert_int_equal(config_input_add_path(&input, folder), 0);
	l = load_input(&input);
	assert_null(l.config);
	assert_non_null(strstr(l.said, "'exec-checks' does not count here"));
	unload(&l);
	assert_int_equal(unlink(in_folder("more.ini")), 0);
}

static void words_of_haproxy_lead_there(void **state)
{
	(void)state;
	assert_refused("[global]\nexternal-check\n", "write 'exec-checks = 4' in [global]", NULL);
	assert_refused(HEAD "option external-check\n",
		       "write 'check = exec PROGRAM', and 'exec-checks = 4'", NULL);
	assert_refused(HEAD "external-check command /a/b\n", "write 'check = exec /a/b', and", NULL);
	assert_refused(HEAD "external-check path /a:/b\n", "write 'check = exec PROGRAM path=/a:/b'", NULL);
}

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(in_folder("t.ini"));
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_has_its_words_unchanged),
		cmocka_unit_test(the_longest_line_reads_back),
		cmocka_unit_test(bad_words_are_refused_at_their_place),
		cmocka_unit_test(programs_have_to_be_allowed),
		cmocka_unit_test(only_a_file_of_the_command_line_allows_them),
		cmocka_unit_test(words_of_haproxy_lead_there),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
