/* SPDX-License-Identifier: MIT
 *
 * test_access.c - lists of networks: from lines and from files, and what is wrong with them.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../net/text_address.h"
#include "same_config.h"
#include "weir/net/host_set.h"
#include "weir/net/list_file.h"

/* Behind a line of GOOD. */
#define A "\n[backend a]\nserver s = x:1"

/* A folder with t.ini and n.cidr. */
struct folder {
	char path[64];
	char ini[96];
	char cidr[96];
};

static struct folder folder_make(void)
{
	struct folder f = {.path = "/tmp/weir-access-XXXXXX"};

	assert_non_null(mkdtemp(f.path));
	(void)snprintf(f.ini, sizeof(f.ini), "%s/t.ini", f.path);
	(void)snprintf(f.cidr, sizeof(f.cidr), "%s/n.cidr", f.path);
	return f;
}

static void folder_remove(const struct folder *f)
{
	(void)unlink(f->ini); /* a test may have made only one of them */
	(void)unlink(f->cidr);
	assert_int_equal(rmdir(f->path), 0);
}

static void write_file(const char *path, const char *text, size_t len)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
}

static struct loaded load_folder(const struct folder *f, const char *line, const char *networks, size_t len)
{
	char text[512];
	struct config_input input = input_of_path(f->ini);

	(void)snprintf(text, sizeof(text), "%s%s\n", GOOD, line);
	write_file(f->ini, text, strlen(text));
	if (networks != NULL)
		write_file(f->cidr, networks, len);
	return load_input(&input);
}

static bool has(const struct netset *set, const char *text)
{
	struct addr_brief a = text_address(text);

	return netset_has(set, &a);
}

/* The path is beside the configuration, wherever the process stands. */
static void a_file_has_one_network_a_line(void **state)
{
	static const char networks[] = "\xef\xbb\xbf# ours\r\n10.0.0.0/8\r\n\n  192.0.2.7 # one\n"
				       "\t2001:db8::/32#x";
	struct folder f = folder_make();
	struct loaded l = load_folder(&f, "allow-from = @n.cidr, 127.0.0.1", networks, strlen(networks));

	(void)state;
	if (l.config == NULL)
		fail_msg("%s", l.said);
	assert_int_equal(l.config->frontends[0].allow_list.count, 1);
	assert_int_equal(l.config->frontends[0].allow_list.file_count, 1);
	assert_int_equal(list_file_count(l.config->frontends[0].allow_list.files[0].list), 3);
	assert_true(has(l.config->frontends[0].allow, "10.255.0.1"));
	assert_true(has(l.config->frontends[0].allow, "192.0.2.7"));
	assert_true(has(l.config->frontends[0].allow, "2001:db8:1::"));
	assert_true(has(l.config->frontends[0].allow, "127.0.0.1"));
	assert_false(has(l.config->frontends[0].allow, "192.0.2.8"));
	assert_round_trip(l.config);
	unload(&l);
	folder_remove(&f);
}

static void ten_thousand_networks_read_back(void **state)
{
	struct folder f = folder_make();
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct loaded l;

	(void)state;
	assert_non_null(out);
	for (unsigned i = 0; i < 5000; i++) {
		fprintf(out, "10.%u.%u.0/24\n", i / 256, i % 256);
		fprintf(out, "2001:db8:%x::/48\n", i);
	}
	assert_int_equal(fclose(out), 0);
	l = load_folder(&f, "deny-from = @n.cidr", text, len);
	if (l.config == NULL)
		fail_msg("%s", l.said);
	assert_int_equal(list_file_count(l.config->frontends[0].deny_list.files[0].list), 10000);
	assert_true(has(l.config->frontends[0].deny, "10.19.135.255"));
	assert_false(has(l.config->frontends[0].deny, "10.19.136.0"));
	assert_round_trip(l.config);
	unload(&l);
	free(text);
	folder_remove(&f);
}

static void a_mistake_in_a_file_is_shown_at_its_line(void **state)
{
	static const char networks[] = "10.0.0.0/8\n10.0.0.1/8 # x\n::1 ::2\nweb\n";
	char many[101];
	struct folder f = folder_make();
	struct loaded l = load_folder(&f, "trusted = @n.cidr", networks, strlen(networks));

	(void)state;
	assert_null(l.config);
	assert_int_equal(count_of(l.said, ": error: "), 3);
	assert_non_null(strstr(l.said, "n.cidr:2:1: error: '10.0.0.1/8' is not a valid network\n"
				       "  2 | 10.0.0.1/8 # x\n"
				       "    | ^^^^^^^^^^ "));
	assert_non_null(strstr(l.said, "n.cidr:3:5: error: a file of networks has one per line"));
	assert_non_null(strstr(l.said, "n.cidr:4:1: error: 'web' is not a valid network"));
	unload(&l);
	memset(many, 0, sizeof(many));
	for (size_t i = 0; i < sizeof(many) - 1; i++)
		many[i] = i % 2 == 0 ? 'a' : '\n';
	l = load_folder(&f, "trusted = @n.cidr", many, sizeof(many) - 1);
	assert_int_equal(count_of(l.said, ": error: "), 20); /* it is no list: that is enough of it */
	unload(&l);
	l = load_folder(&f, "trusted = @n.cidr", "::1\0x\n", 6);
	assert_null(l.config);
	assert_non_null(strstr(l.said, "n.cidr:1:1: error: a NUL byte"));
	unload(&l);
	l = load_folder(&f, "trusted = @n.cidr", "# none\n", 7);
	assert_null(l.config);
	assert_non_null(strstr(l.said, "'trusted' names no network"));
	unload(&l);
	folder_remove(&f);
}

static const struct config_route *first_route(const struct loaded *l)
{
	if (l->config == NULL)
		fail_msg("%s", l->said);
	assert_int_equal(l->config->frontends[0].route_count, 1);
	return &l->config->frontends[0].routes[0];
}

static bool has_name(const struct config_route *r, const char *name)
{
	return host_set_has(r->hosts, name, strlen(name));
}

static void routes_read_networks_and_names_from_files(void **state)
{
	static const char networks[] = "10.0.0.0/8\n2001:db8::/32 # ours\n";
	static const char names[] = "# shops\r\nwww.Example.COM.\r\n\t*.example.org # all\n";
	struct folder f = folder_make();
	struct loaded l = load_folder(&f, "use-backend a = src=192.0.2.1,@n.cidr" A, networks,
				      strlen(networks));
	const struct config_route *r = first_route(&l);

	(void)state;
	assert_true(has(r->src, "192.0.2.1"));
	assert_true(has(r->src, "10.1.2.3"));
	assert_false(has(r->src, "192.0.2.2"));
	assert_int_equal(list_file_count(r->src_list.files[0].list), 2);
	assert_round_trip(l.config);
	unload(&l);
	l = load_folder(&f, "sniff = tls\nuse-backend a = sni=@n.cidr,b.net" A, names, strlen(names));
	r = first_route(&l);
	assert_true(has_name(r, "www.example.com"));
	assert_true(has_name(r, "b.net"));
	assert_true(has_name(r, "x.y.example.org"));
	assert_false(has_name(r, "example.org"));
	assert_round_trip(l.config);
	unload(&l);
	/* Nobody for now: a file that a program writes may be empty. */
	l = load_folder(&f, "use-backend a = src=@n.cidr" A, "# none\n", 7);
	assert_false(has(first_route(&l)->src, "10.0.0.1"));
	assert_non_null(strstr(l.said, "this line never matches for now: its file is empty"));
	unload(&l);
	folder_remove(&f);
}

static void a_mistake_in_a_file_of_names_is_shown_at_its_line(void **state)
{
	static const char names[] = "a.example.com\na.*.com\nb.com c.com\nany\n";
	struct folder f = folder_make();
	struct loaded l = load_folder(&f, "sniff = tls\nuse-backend a = sni=@n.cidr" A, names, strlen(names));

	(void)state;
	assert_null(l.config);
	assert_int_equal(count_of(l.said, ": error: "), 3);
	assert_non_null(strstr(l.said, "n.cidr:2:1: error: 'a.*.com' is not a valid server name\n"
				       "  2 | a.*.com\n"));
	assert_non_null(strstr(l.said, "n.cidr:3:7: error: a file of names has one per line"));
	assert_non_null(strstr(l.said, "n.cidr:4:1: error: 'any' and 'none' do not belong in a file"));
	unload(&l);
	folder_remove(&f);
}

/* Unchanged files of two readings are one list; a changed one is another. */
static void readings_share_the_list_of_an_unchanged_file(void **state)
{
	struct folder f = folder_make();
	struct loaded a = load_folder(&f, "use-backend a = src=@n.cidr" A, "10.0.0.0/8\n", 11);
	struct loaded b = load_folder(&f, "use-backend a = src=@n.cidr" A, "10.0.0.0/8\n", 11);
	struct loaded c = load_folder(&f, "use-backend a = src=@n.cidr" A, "10.0.0.0/9\n", 11);
	const struct list_file *list = first_route(&a)->src_list.files[0].list;

	(void)state;
	assert_ptr_equal(list, first_route(&b)->src_list.files[0].list);
	assert_ptr_not_equal(list, first_route(&c)->src_list.files[0].list);
	unload(&a);
	assert_true(has(first_route(&b)->src, "10.200.0.1"));
	assert_false(has(first_route(&c)->src, "10.200.0.1"));
	unload(&b);
	unload(&c);
	folder_remove(&f);
}

static void a_list_has_a_million_entries_at_most(void **state)
{
	struct folder f = folder_make();
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct loaded l;

	(void)state;
	assert_non_null(out);
	for (unsigned i = 0; i < LIST_FILE_ENTRIES_MAX; i++)
		fprintf(out, "%u.%u.%u.0/24\n", 1 + i / 65536, i / 256 % 256, i % 256);
	assert_int_equal(fflush(out), 0);
	l = load_folder(&f, "deny-from = @n.cidr", text, len);
	if (l.config == NULL)
		fail_msg("%s", l.said);
	assert_int_equal(list_file_count(l.config->frontends[0].deny_list.files[0].list),
			 LIST_FILE_ENTRIES_MAX);
	unload(&l);
	fputs("::1\n::2\n", out);
	assert_int_equal(fclose(out), 0);
	l = load_folder(&f, "deny-from = @n.cidr", text, len);
	assert_null(l.config);
	assert_int_equal(count_of(l.said, ": error: "), 1);
	assert_non_null(strstr(l.said, "n.cidr:1000001:1: error: a list has at most 1000000 entries"));
	unload(&l);
	free(text);
	folder_remove(&f);
}

static void protocols_and_no_default_are_read_and_printed(void **state)
{
	struct loaded l = assert_accepted("[frontend f]\nbind = :80\nsniff = auto timeout=1s\n"
					  "use-backend a = proto=ssh,other\n"
					  "use-backend b = proto=tls sni=x.com\n"
					  "[backend a]\nserver s = x:1\n[backend b]\nserver s = x:1\n");
	const struct config_frontend *f = &l.config->frontends[0];

	(void)state;
	assert_true(f->routes_only);
	assert_int_equal(f->sniff.kind, CONFIG_SNIFF_AUTO);
	assert_int_equal(f->routes[0].protos, CONFIG_PROTO_SSH | CONFIG_PROTO_OTHER);
	assert_int_equal(f->routes[1].protos, CONFIG_PROTO_TLS);
	assert_round_trip(l.config);
	unload(&l);
}

static void persistence_is_read_and_printed(void **state)
{
	struct loaded l = assert_accepted("[frontend f]\nbind = :80\nsniff = rdp timeout=1s required\n"
					  "default-backend = a\n[backend a]\npersist = rdp\n"
					  "server s = x:1\n");

	(void)state;
	assert_int_equal(l.config->frontends[0].sniff.kind, CONFIG_SNIFF_RDP);
	assert_int_equal(l.config->backends[0].persist, CONFIG_PERSIST_RDP);
	assert_round_trip(l.config);
	unload(&l);
}

static void persistence_needs_all_its_frontends_to_read_requests(void **state)
{
	static const char *const fine[] = {
		"[listen l]\nbind = :80\nsniff = rdp\npersist = rdp\nserver a = x:1\n",
		"[defaults]\nsniff = rdp\npersist = rdp\n" GOOD,
		/* Others are not asked for it. */
		GOOD "[listen l]\nbind = :81\nsniff = rdp\npersist = rdp\nserver a = x:1\n",
	};

	(void)state;
	assert_refused("[frontend f]\nbind = :80\nsniff = tls\ndefault-backend = b\n"
		       "[backend b]\npersist = rdp\nserver a = x:1\n",
		       "t.ini:6:1: error: 'persist = rdp' needs 'sniff = rdp' in [frontend f], which "
		       "leads to 'b'",
		       "it reads TLS hellos, on line 1", NULL);
	assert_refused("[listen l]\nbind = :80\npersist = rdp\nserver a = x:1\n",
		       "t.ini:3:1: error: 'persist = rdp' needs 'sniff = rdp' in [listen l], which "
		       "leads to 'l'",
		       "add to [listen l]: sniff = rdp", NULL);
	/* As a fallback, too, and by a line of use-backend. */
	assert_refused("[frontend f]\nbind = :80\ndefault-backend = a\n[backend a]\nserver a = x:1\n"
		       "fallback-backend = b\n[backend b]\npersist = rdp\nserver a = x:1\n",
		       "in [frontend f], which leads to 'b'", NULL);
	assert_refused("[frontend f]\nbind = :80\ndefault-backend = a\nuse-backend b = src=::1\n"
		       "[backend a]\nserver a = x:1\n[backend b]\npersist = rdp\nserver a = x:1\n",
		       "in [frontend f], which leads to 'b'", NULL);
	assert_refused("[listen l]\nbind = :80\nsniff = rdp\npersist = rdp\nsticky = src\nserver a = x:1\n",
		       "t.ini:4:1: error: 'persist' and 'sticky' exclude each other", "leave one out", NULL);
	for (size_t i = 0; i < ARRAY_LEN(fine); i++) {
		struct loaded l = assert_accepted(fine[i]);

		unload(&l);
	}
}

static void protocols_that_cannot_match_are_reported(void **state)
{
	(void)state;
	assert_refused(GOOD "sniff = auto\nuse-backend w = proto=ftp\n",
		       "t.ini:5:23: error: 'ftp' is not 'tls', 'http', 'ssh' or 'other'", NULL);
	assert_refused(GOOD "sniff = auto required\n", "'required' goes with 'sniff = tls'", NULL);
}

/* A FIFO would be waited for, a device has no networks. */
static void only_regular_files_are_read(void **state)
{
	struct folder f = folder_make();
	struct loaded l = load_folder(&f, "trusted = @n.cidr", NULL, 0);

	(void)state;
	assert_null(l.config);
	assert_non_null(strstr(l.said, ":4:11: error: cannot read '"));
	assert_non_null(strstr(l.said, "No such file"));
	unload(&l);
	assert_int_equal(mkfifo(f.cidr, 0600), 0);
	l = load_folder(&f, "trusted = @n.cidr", NULL, 0);
	assert_null(l.config);
	assert_non_null(strstr(l.said, "it is not a regular file"));
	unload(&l);
	l = load_folder(&f, "trusted = @/dev/zero", NULL, 0);
	assert_null(l.config);
	assert_non_null(strstr(l.said, "it is not a regular file"));
	unload(&l);
	l = load_folder(&f, "trusted = @", NULL, 0);
	assert_null(l.config);
	assert_non_null(strstr(l.said, ":4:11: error: cannot read"));
	unload(&l);
	folder_remove(&f);
}

static void lists_of_a_section_take_the_place_of_those_of_defaults(void **state)
{
	struct loaded l = assert_accepted("[defaults]\ndeny-from = 10.0.0.0/8\nallow-uid = 1\n"
					  "[listen a]\nbind = /tmp/a\nserver a = x:1\ndeny-from = 192.0.2.1\n"
					  "deny-from = 192.0.2.2\nallow-uid = 2 3\n"
					  "[listen b]\nbind = /tmp/b\nserver a = x:1\n");
	const struct config_frontend *a = &l.config->frontends[0], *b = &l.config->frontends[1];

	(void)state;
	assert_int_equal(a->deny_list.count, 2);
	assert_true(has(a->deny, "192.0.2.2"));
	assert_false(has(a->deny, "10.0.0.1"));
	assert_true(has(b->deny, "10.0.0.1"));
	assert_int_equal(a->allow_uid_count, 2);
	assert_int_equal(b->allow_uids[0], 1);
	assert_round_trip(l.config);
	unload(&l);
}

static void bad_lists_are_refused_at_their_place(void **state)
{
	(void)state;
	assert_refused(GOOD "allow-from = 10.0.0.0/33\n",
		       "t.ini:4:14: error: '10.0.0.0/33' is not a valid network",
		       NULL);
	assert_refused(GOOD "allow-from = ::1, 10.0.0.1/8\n", "t.ini:4:19: error: '10.0.0.1/8'", "10.0.0.0/8",
		       NULL);
	assert_refused(GOOD "allow-from = ::1,,::2\n", "t.ini:4:18: error: '' is not a valid network", NULL);
	assert_refused(GOOD "allow-from = localhost x\n", "t.ini:4:14: ", "t.ini:4:24: ", NULL);
	assert_refused(GOOD "allow-uid = 0 nobody-of-this-name\n",
		       "t.ini:4:15: error: there is no user 'nobody-of-this-name'", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_has_one_network_a_line),
		cmocka_unit_test(ten_thousand_networks_read_back),
		cmocka_unit_test(a_mistake_in_a_file_is_shown_at_its_line),
		cmocka_unit_test(routes_read_networks_and_names_from_files),
		cmocka_unit_test(a_mistake_in_a_file_of_names_is_shown_at_its_line),
		cmocka_unit_test(readings_share_the_list_of_an_unchanged_file),
		cmocka_unit_test(a_list_has_a_million_entries_at_most),
		cmocka_unit_test(protocols_and_no_default_are_read_and_printed),
		cmocka_unit_test(persistence_is_read_and_printed),
		cmocka_unit_test(persistence_needs_all_its_frontends_to_read_requests),
		cmocka_unit_test(protocols_that_cannot_match_are_reported),
		cmocka_unit_test(only_regular_files_are_read),
		cmocka_unit_test(lists_of_a_section_take_the_place_of_those_of_defaults),
		cmocka_unit_test(bad_lists_are_refused_at_their_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
