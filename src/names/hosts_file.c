/* SPDX-License-Identifier: MIT
 *
 * hosts_file.c - which names hosts(5) has.
 *
 * Owns the list of hashes. Control thread.
 */
#include "hosts_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/hash.h"

#define BLANKS " \t\r\n"

static uint64_t hash_of(const char *name)
{
	char lower[256];
	size_t len = 0;

	for (; name[len] != '\0' && len < sizeof(lower); len++)
		lower[len] = (char)tolower((unsigned char)name[len]);
	if (len > 0 && lower[len - 1] == '.')
		len--;
	return hash_bytes(lower, len, 0);
}

static int compare(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static bool add(struct hosts_file *h, size_t *room, const char *name)
{
	if (h->count == *room) {
		const size_t more = *room > 0 ? *room * 2 : 64;
		uint64_t *names = realloc(h->names, more * sizeof(*names));

		if (names == NULL)
			return false;
		h->names = names;
		*room = more;
	}
	h->names[h->count++] = hash_of(name);
	return true;
}

static void read_file(struct hosts_file *h, const char *path)
{
	FILE *f = fopen(path, "re");
	size_t room = 0, line_room = 0;
	char *line = NULL;

	hosts_file_free(h);
	while (f != NULL && getline(&line, &line_room, f) >= 0) {
		char *rest = NULL;
		const char *word;

		line[strcspn(line, "#")] = '\0';
		if (strtok_r(line, BLANKS, &rest) == NULL)
			continue; /* the address */
		while ((word = strtok_r(NULL, BLANKS, &rest)) != NULL && add(h, &room, word))
			;
	}
	free(line);
	if (f != NULL)
		(void)fclose(f); /* nothing was written */
	if (h->count > 0)
		qsort(h->names, h->count, sizeof(*h->names), compare);
}

void hosts_file_free(struct hosts_file *h)
{
	free(h->names);
	h->names = NULL;
	h->count = 0;
}

bool hosts_file_has(struct hosts_file *h, const char *path, const char *name)
{
	const uint64_t hash = hash_of(name);

	if (file_seen_changed(&h->seen, path))
		read_file(h, path);
	return h->count > 0 && bsearch(&hash, h->names, h->count, sizeof(hash), compare) != NULL;
}
