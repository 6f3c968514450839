/* SPDX-License-Identifier: MIT
 *
 * test_ports.c - ranges of ports and the client's port, in a whole configuration.
 */
#include "same_config.h"

#include "weir/config/bind_range.h"

#define SERVER "server a = 10.0.0.1:*\n"

static const struct config_frontend *only(const struct loaded *l)
{
	assert_int_equal(l->config->frontend_count, 1);
	return &l->config->frontends[0];
}

static void a_range_is_a_bind_per_port_and_one_line(void **state)
{
	struct loaded l =
		assert_accepted("[listen a]\nbind = 10.0.0.1:79\nbind ftp = 10.0.0.1:80-83 backlog=9\n"
				"bind = [::1]:80-81\n" SERVER);
	const struct config_frontend *f = only(&l);
	char text[ADDR_TEXT_MAX];

	(void)state;
	assert_int_equal(f->bind_count, 7);
	for (size_t i = 1; i < 5; i++) {
		const struct config_bind *b = &f->binds[i];

		assert_int_equal(b->addr.port, 79 + i);
		assert_int_equal(addr_port(&b->addr.addr), 79 + i);
		assert_int_equal(b->addr.last_port, 0);
		assert_int_equal(b->backlog, 9);
		assert_string_equal(b->name, "ftp");
		assert_int_equal(bind_line_ports(b), 4);
		assert_string_equal(bind_line_address(b, text), "10.0.0.1:80-83");
		assert_true(bind_shares_line(b, &f->binds[1]));
	}
	assert_string_equal(bind_ports_address(&f->binds[2], 82, text), "10.0.0.1:81-82");
	assert_string_equal(bind_ports_address(&f->binds[2], 81, text), "10.0.0.1:81");
	assert_string_equal(bind_line_address(&f->binds[0], text), "10.0.0.1:79");
	assert_int_equal(bind_line_ports(&f->binds[0]), 1);
	assert_false(bind_shares_line(&f->binds[0], &f->binds[1]));
	assert_false(bind_shares_line(&f->binds[4], &f->binds[5]));
	assert_ptr_equal(bind_longest_range(l.config), &f->binds[1]);
	unload(&l);
}

static void ranges_of_two_addresses_are_two_lines(void **state)
{
	struct loaded l =
		assert_accepted("[listen a]\nbind = 10.0.0.1:80-81\nbind = 10.0.0.2:80-81\n" SERVER);
	const struct config_frontend *f = only(&l);

	(void)state;
	assert_true(bind_shares_line(&f->binds[0], &f->binds[1]));
	assert_false(bind_shares_line(&f->binds[1], &f->binds[2]));
	assert_true(bind_shares_line(&f->binds[2], &f->binds[3]));
	unload(&l);
}

static void assert_printed(const struct config *c, bool ranges, const char *wanted)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	if (ranges)
		bind_print_ranges(c, 2, "# ", out);
	else
		config_print(c, out);
	assert_int_equal(fclose(out), 0);
	if (strstr(text, wanted) == NULL)
		fail_msg("'%s' wanted in:\n%s", wanted, text);
	free(text);
}

static void it_is_printed_as_it_was_written_and_with_its_cost(void **state)
{
	struct loaded l = assert_accepted("[listen a]\nbind ftp = 10.0.0.1:80-1079\nbind = :79\n" SERVER);

	(void)state;
	assert_printed(l.config, false, "bind ftp = 10.0.0.1:80-1079\nbind = *:79\n");
	assert_printed(l.config, false, "server a = 10.0.0.1:*");
	assert_printed(l.config, true,
		       "# 10.0.0.1:80-1079 (t.ini:2) takes 1000 descriptors and about 8 MiB of memory: 3 "
		       "of weir, 5 of the kernel\n");
	unload(&l);
}

static void ports_that_meet_are_refused(void **state)
{
	static const char *const pairs[] = {
		"bind = 10.0.0.1:80-90\nbind = 10.0.0.1:90\n",
		"bind = 10.0.0.1:80\nbind = 10.0.0.1:70-80\n",
		"bind = 10.0.0.1:80-90\nbind = 10.0.0.1:85-99\n",  "bind = :80-90\nbind = 0.0.0.0:90-91\n",
		"bind = :80-90\nbind = [::]:80-91\n",		   "bind = :80-90\nbind = [::]:85\n",
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		(void)snprintf(text, sizeof(text), "[listen a]\n%s" SERVER, pairs[i]);
		assert_refused(text, "t.ini:3:8: error: this address is already bound", NULL);
	}
}

static void what_has_no_port_does_not_go_with_the_clients(void **state)
{
	(void)state;
	assert_refused("[listen a]\nbind = :80\ncheck = tcp\n" SERVER,
		       "the health checks of 'a' have no port", "add check-port=PORT", NULL);
	assert_refused("[listen a]\nbind = :80\nbind = /run/a\n" SERVER,
		       "t.ini:3:8: error: clients of a Unix", "'a' of 'a'", NULL);
	assert_refused("[frontend f]\nbind = /run/a\nuse-backend b = src=10.0.0.0/8\ndefault-backend = c\n"
		       "[backend b]\n" SERVER "[backend c]\nserver x = 10.0.0.1:1\n",
		       "t.ini:2:8: error: clients of a Unix", "'a' of 'b'", NULL);
	assert_refused("[listen a]\nbind = :80\nservers s = dns://x.example:* check\n",
		       "the health checks of 's' have no port", NULL);
	for (int i = 0; i < 2; i++) {
		struct loaded l = assert_accepted(
			i == 0 ? "[listen a]\nbind = :80\ncheck = tcp port=9\n" SERVER
			       : "[listen a]\nbind = :80\ncheck = tcp\nserver a = 10.0.0.1:* check-port=9\n"
				 "server b = 10.0.0.2:* check=off\n");

		assert_true(l.config->backends[0].servers[0].addr.client_port);
		unload(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_is_a_bind_per_port_and_one_line),
		cmocka_unit_test(ranges_of_two_addresses_are_two_lines),
		cmocka_unit_test(it_is_printed_as_it_was_written_and_with_its_cost),
		cmocka_unit_test(ports_that_meet_are_refused),
		cmocka_unit_test(what_has_no_port_does_not_go_with_the_clients),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
