/* SPDX-License-Identifier: MIT
 *
 * test_families.c - two wildcards of one port: which family each of them has, and what -c and -T say of it.
 */
#include "same_config.h"

static void assert_pair(const struct config_bind *four, const struct config_bind *six)
{
	char text[ADDR_TEXT_MAX];

	assert_string_equal(addr_spec_format(&four->addr, text), "0.0.0.0:80");
	assert_int_equal(four->addr.kind, ADDR_IP);
	assert_int_equal(four->addr.addr.sa.sa_family, AF_INET);
	assert_false(four->v6only);
	assert_string_equal(addr_spec_format(&six->addr, text), "[::]:80");
	assert_true(six->v6only);
}

static void two_wildcards_of_one_port_have_a_family_each(void **state)
{
	static const char *const four[] = {":80", "*:80", "0.0.0.0:80", "ipv4@:80"};
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(four); i++) {
		struct loaded l;

		(void)snprintf(text, sizeof(text),
			       "[listen a]\nbind = %s\nserver a = 10.0.0.1:80\n[listen b]\nbind = "
			       "[::]:80\nserver a = 10.0.0.1:80\n", four[i]);
		l = assert_accepted(text);
		assert_pair(&l.config->frontends[0].binds[0], &l.config->frontends[1].binds[0]);
		unload(&l);
		(void)snprintf(text, sizeof(text),
			       "[listen a]\nbind = [::]:80 v6only\nbind = %s\nserver a = 10.0.0.1:80\n",
			       four[i]);
		l = assert_accepted(text);
		assert_pair(&l.config->frontends[0].binds[1], &l.config->frontends[0].binds[0]);
		unload(&l);
	}
}

static void wildcards_of_other_ports_keep_both_families(void **state)
{
	struct loaded l = assert_accepted("[listen a]\nbind = :80\nbind = [::]:81\nbind = :0\nbind = [::]:0\n"
					  "server a = 10.0.0.1:80\n");

	(void)state;
	assert_int_equal(l.config->frontends[0].binds[0].addr.kind, ADDR_ANY);
	assert_false(l.config->frontends[0].binds[1].v6only);
	assert_int_equal(l.config->frontends[0].binds[2].addr.kind, ADDR_ANY);
	assert_false(l.config->frontends[0].binds[3].v6only);
	unload(&l);
}

static void wildcards_of_two_interfaces_are_no_pair(void **state)
{
	(void)state;
	assert_refused("[listen a]\nbind = :80 interface=eth0\nbind = [::]:80 interface=eth1\n"
		       "server a = 10.0.0.1:80\n", "t.ini:3:", "already", NULL);
}

static void assert_said(const struct config *c, void (*print)(const struct config *c, FILE *out),
			const char *wanted)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	print(c, out);
	assert_int_equal(fclose(out), 0);
	if (strstr(text, wanted) == NULL)
		fail_msg("'%s' wanted in:\n%s", wanted, text);
	free(text);
}

static void print_families(const struct config *c, FILE *out)
{
	config_print_families(c, "# ", out);
}

static void what_is_printed_names_the_families(void **state)
{
	struct loaded l = assert_accepted("[listen a]\nbind = :80\nbind = :81\nserver a = 10.0.0.1:80\n"
					  "[listen b]\nbind = [::]:80\nserver a = 10.0.0.1:80\n");

	(void)state;
	assert_said(l.config, print_families,
		    "# 0.0.0.0:80 (t.ini:2) accepts IPv4 only, [::]:80 (t.ini:6) IPv6 only\n");
	assert_said(l.config, config_print, "bind = 0.0.0.0:80\nbind = *:81\n");
	assert_said(l.config, config_print, "bind = [::]:80 v6only\n");
	unload(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_wildcards_of_one_port_have_a_family_each),
		cmocka_unit_test(wildcards_of_other_ports_keep_both_families),
		cmocka_unit_test(wildcards_of_two_interfaces_are_no_pair),
		cmocka_unit_test(what_is_printed_names_the_families),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
