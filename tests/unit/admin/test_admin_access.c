/* SPDX-License-Identifier: MIT
 *
 * test_admin_access.c - who may use the admin socket: root and ourselves always, others by path or by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "admin/admin_access.h"

#define OWN 990

static uint32_t uids[] = {1000, 1001};
static uint32_t gids[] = {50};

static struct config_global config_of(const char *path, bool users, bool groups)
{
	struct config_global g = {.admin.kind = ADDR_UNIX, .admin_level = CONFIG_ADMIN_OPERATOR};

	(void)snprintf(g.admin.addr.un.sun_path, sizeof(g.admin.addr.un.sun_path), "%s", path);
	if (users)
		g.admin_uids = (struct config_ids){uids, ARRAY_LEN(uids)};
	if (groups)
		g.admin_gids = (struct config_ids){gids, ARRAY_LEN(gids)};
	return g;
}

static bool allows(const struct config_global *g, uid_t uid, gid_t gid)
{
	static const gid_t in[] = {7, 8};
	const struct admin_access a = {g, OWN};
	const struct admin_peer peer = {.uid = uid, .gid = gid, .trusted = uid == 0 || uid == OWN};

	return admin_access_allows(&a, &peer, in, ARRAY_LEN(in));
}

static void a_name_is_for_root_and_ourselves_unless_it_names_others(void **state)
{
	struct config_global g = config_of("", false, false);

	(void)state;
	assert_true(allows(&g, 0, 0));
	assert_true(allows(&g, OWN, 1));
	assert_false(allows(&g, 1000, 1000));
	assert_false(allows(&g, 65534, 65534));
	assert_false(allows(&g, (uid_t)-1, (gid_t)-1));
	g = config_of("", true, false);
	assert_true(allows(&g, 1001, 1));
	assert_false(allows(&g, 1002, 50));
	g = config_of("", false, true);
	assert_true(allows(&g, 1002, 50));
	assert_false(allows(&g, 1000, 1000));
	g = config_of("", true, true);
	assert_true(allows(&g, 1000, 1));
	assert_true(allows(&g, 1002, 50));
	assert_false(allows(&g, 1002, 51));
	assert_true(allows(&g, 0, 0));
	assert_true(allows(&g, OWN, 1));
}

static void a_path_is_for_whom_its_mode_admits_unless_it_names_some(void **state)
{
	struct config_global g = config_of("/x", false, false);

	(void)state;
	assert_true(allows(&g, 1002, 1));
	assert_true(allows(&g, (uid_t)-1, (gid_t)-1));
	g = config_of("/x", true, false);
	assert_true(allows(&g, 1000, 1));
	assert_false(allows(&g, 1002, 1));
	assert_false(allows(&g, (uid_t)-1, (gid_t)-1));
	assert_true(allows(&g, OWN, 1));
}

static void further_groups_of_a_peer_count(void **state)
{
	static const gid_t in[] = {7, 50};
	const struct config_global g = config_of("", false, true);
	const struct admin_access a = {&g, OWN};
	const struct admin_peer peer = {.uid = 1002, .gid = 1};

	(void)state;
	assert_true(admin_access_allows(&a, &peer, in, 2));
	assert_false(admin_access_allows(&a, &peer, in, 1));
}

/* This process is its own user, so what the kernel says of it is enough. */
static void the_peer_is_whom_the_kernel_names(void **state)
{
	const struct config_global g = config_of("", false, true);
	struct admin_access a;
	struct admin_peer peer;
	int fds[2];

	(void)state;
	admin_access_init(&a, &g);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_true(admin_access_judge(&a, fds[0], &peer));
	assert_int_equal(peer.uid, geteuid());
	assert_int_equal(peer.gid, getegid());
	assert_int_equal(peer.pid, getpid());
	assert_int_equal(peer.level, CONFIG_ADMIN_ADMIN);
	a.own_uid = geteuid() + 1;
	if (geteuid() != 0) { /* a stranger now */
		assert_false(admin_access_judge(&a, fds[0], &peer));
		assert_int_equal(peer.level, CONFIG_ADMIN_OPERATOR);
	}
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void a_refusal_says_what_to_do(void **state)
{
	const struct config_global g = config_of("", false, false);
	const struct admin_access a = {&g, OWN};
	const struct admin_peer peer = {.uid = 1002};
	struct text out;

	(void)state;
	text_init(&out);
	admin_access_refusal(&a, &peer, &out);
	assert_string_equal(out.bytes,
			    "error: permission denied: uid 1002 may not use this socket; add it "
			    "to allow-uid= or one of its groups to allow-gid= of 'admin-socket' in [global], "
			    "or connect as root or uid 990\n");
	text_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_for_root_and_ourselves_unless_it_names_others),
		cmocka_unit_test(a_path_is_for_whom_its_mode_admits_unless_it_names_some),
		cmocka_unit_test(further_groups_of_a_peer_count),
		cmocka_unit_test(the_peer_is_whom_the_kernel_names),
		cmocka_unit_test(a_refusal_says_what_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
