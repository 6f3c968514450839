/* SPDX-License-Identifier: MIT
 *
 * cgroup.c - how much memory the control groups of this process allow, and how much of it is in use.
 *
 * /proc/self/cgroup says which groups we are in, /proc/self/mountinfo where they are visible. With a cgroup
 * namespace, or a folder mounted into a container, that is not under the same name below /sys/fs/cgroup. Owns
 * nothing; keeps no file open. Main thread.
 */
#include "weir/host/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "kernel_file.h"

/* Version 1 has no word for "no limit", only the largest number of pages. */
#define LIMIT_V1_MAX (UINT64_C(1) << 60)
#define LINE_BYTES   4096
/* The fields of a mountinfo line before its "-", proc(5). */
#define FIELD_ROOT  3
#define FIELD_WHERE 4

struct mount {
	char root[CGROUP_PATH_MAX];  /* the group mounted there */
	char where[CGROUP_PATH_MAX]; /* prefixed with the root of a test */
};

#define PATH_ROOM (CGROUP_PATH_MAX + 64)

static const char *const limit_files_v1[] = {"memory.limit_in_bytes", NULL};
static const char *const limit_files_v2[] = {"memory.max", "memory.high", NULL};

/* ---- files ---- */

static bool path_below(const char *folder, const char *name, char path[static PATH_ROOM])
{
	return (size_t)snprintf(path, PATH_ROOM, "%s/%s", folder, name) < PATH_ROOM;
}

/* For files that are read line by line. */
static FILE *open_below(const char *folder, const char *name)
{
	char path[PATH_ROOM];

	return path_below(folder, name, path) ? fopen(path, "re") : NULL;
}

static bool read_number_below(const char *folder, const char *name, uint64_t *n)
{
	char path[PATH_ROOM];

	return path_below(folder, name, path) && kernel_file_number(path, n);
}

/* ---- where the groups are ---- */

/* Is `word` in the comma-separated list? */
static bool has_word(const char *list, const char *word)
{
	const size_t len = strlen(word);

	while (*list != '\0') {
		const size_t n = strcspn(list, ",");

		if (n == len && strncmp(list, word, n) == 0)
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

/* The path of our group, in the hierarchy with the memory controller (v1) or the unified one (v2). */
static bool find_group(const char *root, bool v2, char *path)
{
	char line[LINE_BYTES];
	FILE *f = open_below(root, "proc/self/cgroup");
	bool found = false;

	if (f == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL) {
		char *words = strchr(line, ':');
		char *at = words != NULL ? strchr(++words, ':') : NULL;

		if (at == NULL || strchr(at, '\n') == NULL)
			continue;
		*at++ = '\0';
		at[strcspn(at, "\n")] = '\0';
		found = v2 ? strncmp(line, "0:", 2) == 0 && *words == '\0' : has_word(words, "memory");
		if (found && (size_t)snprintf(path, CGROUP_PATH_MAX, "%s", at) >= CGROUP_PATH_MAX)
			found = false;
	}
	(void)fclose(f); /* only read */
	return found;
}

/* Parses a line of mountinfo; true if it is a cgroup mount of that version. */
static bool parse_mount(const char *root, char *line, bool v2, struct mount *m)
{
	char *rest = strstr(line, " - ");
	char *save = NULL;
	const char *kind, *options = "";
	char *word = strtok_r(line, " ", &save);

	if (rest == NULL)
		return false;
	*rest = '\0';
	for (int i = 0; word != NULL && i <= FIELD_WHERE; i++) {
		if (i == FIELD_ROOT)
			(void)snprintf(m->root, sizeof(m->root), "%s", word); /* truncated: not found later */
		if (i == FIELD_WHERE)
			(void)snprintf(m->where, sizeof(m->where), "%s%s", root, word); /* the same */
		word = strtok_r(NULL, " ", &save);
	}
	kind = strtok_r(rest + 3, " \n", &save);
	while ((word = strtok_r(NULL, " \n", &save)) != NULL)
		options = word; /* the last word */
	if (kind == NULL)
		return false;
	return v2 ? strcmp(kind, "cgroup2") == 0 : strcmp(kind, "cgroup") == 0 && has_word(options, "memory");
}

/* The part of `path` below the group at `root`: "" for that group itself; NULL if it is outside. */
static const char *below(const char *root, const char *path)
{
	const size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);

	/* Outside the root of our namespace: nothing more is visible. */
	if (strncmp(path, "/..", 3) == 0)
		return "";
	if (strncmp(path, root, len) != 0 || (path[len] != '/' && path[len] != '\0'))
		return NULL;
	return strcmp(path + len, "/") == 0 ? "" : path + len;
}

/* ---- limits ---- */

static void add_level(struct cgroup_memory *m, bool v2, const char *folder)
{
	const char *const *file = v2 ? limit_files_v2 : limit_files_v1;
	struct cgroup_level level = {.limit_bytes = CGROUP_NO_LIMIT, .v2 = v2};
	uint64_t n;

	for (; *file != NULL; file++)
		if (read_number_below(folder, *file, &n) && n < LIMIT_V1_MAX && n < level.limit_bytes) {
			level.limit_bytes = n;
			level.file = *file;
		}
	if (level.file == NULL || m->count == CGROUP_LEVELS_MAX)
		return;
	(void)snprintf(level.folder, sizeof(level.folder), "%s", folder); /* it was as long before */
	m->levels[m->count++] = level;
}

/* The group and its ancestors, as far as they are visible below the mount. */
static void add_levels(struct cgroup_memory *m, bool v2, const struct mount *mount, const char *rest)
{
	char folder[CGROUP_PATH_MAX];
	const size_t top = strlen(mount->where);

	if ((size_t)snprintf(folder, sizeof(folder), "%s%s", mount->where, rest) >= sizeof(folder))
		return;
	for (;;) {
		add_level(m, v2, folder);
		if (strlen(folder) <= top)
			return;
		*strrchr(folder, '/') = '\0';
	}
}

static void read_version(struct cgroup_memory *m, const char *root, bool v2)
{
	char path[CGROUP_PATH_MAX], line[LINE_BYTES];
	struct mount mount;
	FILE *f;

	if (!find_group(root, v2, path))
		return;
	f = open_below(root, "proc/self/mountinfo");
	if (f == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL) {
		const char *rest;

		if (!parse_mount(root, line, v2, &mount))
			continue;
		rest = below(mount.root, path);
		if (rest == NULL)
			continue;
		add_levels(m, v2, &mount, rest);
		break;
	}
	(void)fclose(f); /* only read */
}

void cgroup_memory_read(struct cgroup_memory *m, const char *root)
{
	check(root != NULL);
	m->count = 0;
	read_version(m, root, true);
	read_version(m, root, false);
}

const struct cgroup_level *cgroup_memory_smallest(const struct cgroup_memory *m)
{
	const struct cgroup_level *smallest = NULL;

	for (unsigned i = 0; i < m->count; i++)
		if (smallest == NULL || m->levels[i].limit_bytes < smallest->limit_bytes)
			smallest = &m->levels[i];
	return smallest;
}

/* ---- use ---- */

/* File pages, such as those of a log: the kernel drops them before it kills a process. */
static uint64_t file_bytes(const struct cgroup_level *level)
{
	/* In version 1 the keys without "total_" exclude child groups. */
	const char *const prefix = level->v2 ? "" : "total_";
	char line[256], inactive[32], active[32];
	FILE *f = open_below(level->folder, "memory.stat");
	uint64_t sum = 0, n;

	if (f == NULL)
		return 0;
	(void)snprintf(inactive, sizeof(inactive), "%sinactive_file", prefix); /* both fit */
	(void)snprintf(active, sizeof(active), "%sactive_file", prefix);
	while (fgets(line, sizeof(line), f) != NULL) {
		char *value = strchr(line, ' ');

		if (value == NULL)
			continue;
		*value++ = '\0';
		if ((strcmp(line, inactive) == 0 || strcmp(line, active) == 0) &&
		    kernel_file_to_number(value, &n))
			sum += n;
	}
	(void)fclose(f); /* only read */
	return sum;
}

bool cgroup_memory_used(const struct cgroup_level *level, uint64_t *used)
{
	uint64_t files;

	if (!read_number_below(level->folder, level->v2 ? "memory.current" : "memory.usage_in_bytes", used))
		return false;
	files = file_bytes(level);
	*used -= files < *used ? files : *used;
	return true;
}
