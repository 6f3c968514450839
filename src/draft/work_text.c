/* SPDX-License-Identifier: MIT
 *
 * work_text.c - texts and addresses that both readers put in another form. Main thread.
 */
#include <ctype.h>
#include <string.h>

#include "weir/draft/work.h"

const char *work_lower_case(struct arena *a, const char *text)
{
	char *small;

	if (text[strcspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0')
		return text;
	small = arena_strndup(a, text, strlen(text));
	for (char *c = small; *c != '\0'; c++)
		*c = (char)tolower((unsigned char)*c);
	return small;
}

bool work_clear_bits(unsigned char *address, unsigned bits, unsigned kept)
{
	bool found = false;

	for (unsigned i = kept; i < bits; i++) {
		const unsigned char bit = (unsigned char)(0x80 >> i % 8);

		found = found || (address[i / 8] & bit) != 0;
		address[i / 8] &= (unsigned char)~bit;
	}
	return found;
}
