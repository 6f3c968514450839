/* SPDX-License-Identifier: MIT
 *
 * test_cgroup.c - limits of memory in trees of files that look as /proc and /sys do.
 */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/host/cgroup.h"

#define MIB (UINT64_C(1) << 20)

static char root[32];
static struct cgroup_memory memory;

/* Writes a file of the tree, with the folders that it needs. */
static void put(const char *path, const char *text)
{
	char whole[512];
	FILE *f;

	(void)snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		(void)mkdir(whole, 0700); /* it may be there */
		*at = '/';
	}
	f = fopen(whole, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int make_root(void **state)
{
	(void)state;
	(void)snprintf(root, sizeof(root), "/tmp/weir-cgroup-XXXXXX");
	return mkdtemp(root) == NULL;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static int remove_root(void **state)
{
	(void)state;
	return nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void tree_v2(void)
{
	put("/proc/self/cgroup", "0::/system.slice/weir.service\n");
	put("/proc/self/mountinfo",
	    "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
	    "31 22 0:27 / /sys/fs/cgroup ro,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
}

/* The smallest limit in MiB, 0 = none; its file must end so. */
static uint64_t smallest(const char *folder, const char *file)
{
	const struct cgroup_level *level;

	cgroup_memory_read(&memory, root);
	level = cgroup_memory_smallest(&memory);
	if (level == NULL)
		return 0;
	assert_string_equal(level->folder + strlen(root), folder);
	assert_string_equal(level->file, file);
	return level->limit_bytes / MIB;
}

static void our_own_group_is_read(void **state)
{
	(void)state;
	tree_v2();
	put("/sys/fs/cgroup/system.slice/weir.service/memory.max", "67108864\n");
	put("/sys/fs/cgroup/system.slice/weir.service/memory.high", "max\n");
	put("/sys/fs/cgroup/system.slice/memory.max", "max\n");
	assert_int_equal(smallest("/sys/fs/cgroup/system.slice/weir.service", "memory.max"), 64);
	assert_int_equal(memory.count, 1);
}

static void memory_high_counts_when_it_is_less(void **state)
{
	(void)state;
	tree_v2();
	put("/sys/fs/cgroup/system.slice/weir.service/memory.max", "67108864\n");
	put("/sys/fs/cgroup/system.slice/weir.service/memory.high", "33554432\n");
	assert_int_equal(smallest("/sys/fs/cgroup/system.slice/weir.service", "memory.high"), 32);
}

static void a_group_above_counts_when_it_allows_less(void **state)
{
	(void)state;
	tree_v2();
	put("/sys/fs/cgroup/system.slice/weir.service/memory.max", "67108864\n");
	put("/sys/fs/cgroup/system.slice/memory.max", "16777216\n");
	put("/sys/fs/cgroup/memory.max", "33554432\n"); /* the top of a container */
	assert_int_equal(smallest("/sys/fs/cgroup/system.slice", "memory.max"), 16);
	assert_int_equal(memory.count, 3);
}

static void version_1_is_read_where_it_is_mounted(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "9:name=systemd:/\n4:memory,hugetlb:/a/b\n3:cpu:/c\n0::/\n");
	put("/proc/self/mountinfo",
	    "30 22 0:26 / /groups/cpu rw - cgroup cgroup rw,cpu\n"
	    "31 22 0:27 / /groups/memory rw - cgroup cgroup rw,hugetlb,memory\n"
	    "32 22 0:28 / /groups/unified rw - cgroup2 cgroup2 rw\n");
	put("/groups/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
	put("/groups/memory/a/memory.limit_in_bytes", "134217728\n");
	put("/groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
	assert_int_equal(smallest("/groups/memory/a", "memory.limit_in_bytes"), 128);
	assert_int_equal(memory.count, 1);
}

/* A container without a namespace of groups: the mount shows our group as its top. */
static void a_mount_of_a_part_of_the_tree_is_followed_from_there(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "4:memory:/docker/0123/inner\n");
	put("/proc/self/mountinfo",
	    "30 22 0:27 /docker/012 /other rw - cgroup cgroup rw,memory\n"
	    "31 22 0:27 /docker/0123 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
	put("/other/memory.limit_in_bytes", "1048576\n");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728\n");
	put("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "67108864\n");
	assert_int_equal(smallest("/sys/fs/cgroup/memory/inner", "memory.limit_in_bytes"), 64);
	assert_int_equal(memory.count, 2);
}

static void above_the_root_of_a_namespace_the_mount_is_what_there_is(void **state)
{
	(void)state;
	put("/proc/self/cgroup", "0::/../../other\n");
	put("/proc/self/mountinfo", "31 22 0:27 /.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	put("/sys/fs/cgroup/memory.max", "67108864\n");
	assert_int_equal(smallest("/sys/fs/cgroup", "memory.max"), 64);
}

static void what_is_missing_or_nonsense_is_no_limit(void **state)
{
	(void)state;
	assert_int_equal(smallest("", ""), 0); /* no /proc */
	put("/proc/self/cgroup", "0::/x\n");
	assert_int_equal(smallest("", ""), 0); /* no mounts */
	put("/proc/self/mountinfo", "31 22 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	assert_int_equal(smallest("", ""), 0); /* no group */
	put("/sys/fs/cgroup/x/memory.max", "lots\n");
	assert_int_equal(smallest("", ""), 0);
	put("/sys/fs/cgroup/x/memory.max", "");
	assert_int_equal(smallest("", ""), 0);
	put("/sys/fs/cgroup/x/memory.max", "99999999999999999999999\n");
	assert_int_equal(smallest("", ""), 0);
	put("/proc/self/cgroup", "0\n:\n::\n0::");
	assert_int_equal(smallest("", ""), 0);
	put("/proc/self/mountinfo", "31\n\n - \n31 22 - cgroup2\n");
	put("/proc/self/cgroup", "0::/x\n");
	assert_int_equal(smallest("", ""), 0);
}

static void pages_of_files_are_not_in_use(void **state)
{
	uint64_t used = 0;

	(void)state;
	tree_v2();
	put("/sys/fs/cgroup/system.slice/weir.service/memory.max", "67108864\n");
	assert_int_equal(smallest("/sys/fs/cgroup/system.slice/weir.service", "memory.max"), 64);
	assert_false(cgroup_memory_used(&memory.levels[0], &used));
	put("/sys/fs/cgroup/system.slice/weir.service/memory.current", "60000000\n");
	assert_true(cgroup_memory_used(&memory.levels[0], &used));
	assert_int_equal(used, 60000000);
	put("/sys/fs/cgroup/system.slice/weir.service/memory.stat",
	    "anon 1000\nfile 50000000\nsock 77\ninactive_file 30000000\nactive_file 20000000\nslab 5\n");
	assert_true(cgroup_memory_used(&memory.levels[0], &used));
	assert_int_equal(used, 10000000);
	put("/sys/fs/cgroup/system.slice/weir.service/memory.current", "1000\n");
	assert_true(cgroup_memory_used(&memory.levels[0], &used));
	assert_int_equal(used, 0); /* they were not read in one moment */
}

static void version_1_counts_the_groups_below_too(void **state)
{
	uint64_t used = 0;

	(void)state;
	put("/proc/self/cgroup", "4:memory:/a\n");
	put("/proc/self/mountinfo", "31 22 0:27 / /m rw - cgroup cgroup rw,memory\n");
	put("/m/a/memory.limit_in_bytes", "134217728\n");
	put("/m/a/memory.usage_in_bytes", "50000000\n");
	put("/m/a/memory.stat",
	    "inactive_file 1\nactive_file 2\ntotal_inactive_file 10000000\ntotal_active_file 3\n");
	assert_int_equal(smallest("/m/a", "memory.limit_in_bytes"), 128);
	assert_true(cgroup_memory_used(&memory.levels[0], &used));
	assert_int_equal(used, 50000000 - 10000003);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(our_own_group_is_read),
		TEST(memory_high_counts_when_it_is_less),
		TEST(a_group_above_counts_when_it_allows_less),
		TEST(version_1_is_read_where_it_is_mounted),
		TEST(a_mount_of_a_part_of_the_tree_is_followed_from_there),
		TEST(above_the_root_of_a_namespace_the_mount_is_what_there_is),
		TEST(what_is_missing_or_nonsense_is_no_limit),
		TEST(pages_of_files_are_not_in_use),
		TEST(version_1_counts_the_groups_below_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
