/* SPDX-License-Identifier: MIT
 *
 * poison.c - what the program frees is filled, and kept until its seed ends.
 *
 * Owns it until then. Under AddressSanitizer, which does the same better, it is freed at once. One thread.
 * Tests only.
 */
#include "poison.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

#define POISON_KEPT 4096 /* the oldest leave first */

#ifdef __SANITIZE_ADDRESS__
#define POISON_KEEPS false
#else
#define POISON_KEEPS true
#endif

static struct poison {
	unsigned char *kept[POISON_KEPT];
	unsigned count;
	unsigned first;
} poison;

static void look_at(unsigned char *p)
{
	const size_t len = malloc_usable_size(p);

	for (size_t i = 0; i < len; i++)
		if (p[i] != POISON_BYTE)
			sim_fail("what was freed was written to, at byte %zu of %zu", i, len);
	free(p);
}

void poison_free(void *p)
{
	if (p == NULL || !POISON_KEEPS) {
		free(p);
		return;
	}
	memset(p, POISON_BYTE, malloc_usable_size(p));
	if (poison.count == POISON_KEPT) {
		look_at(poison.kept[poison.first]);
		poison.first = (poison.first + 1) % POISON_KEPT;
		poison.count--;
	}
	poison.kept[(poison.first + poison.count++) % POISON_KEPT] = p;
}

void poison_end(void)
{
	for (; poison.count > 0; poison.count--) {
		look_at(poison.kept[poison.first]);
		poison.first = (poison.first + 1) % POISON_KEPT;
	}
}

bool poison_is_in_text(const char *text)
{
	return strchr(text, POISON_BYTE) != NULL || strcasestr(text, "\\xdb") != NULL;
}
