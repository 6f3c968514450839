/* SPDX-License-Identifier: MIT
 *
 * same_text.h - are two texts equal, each of which may be missing (NULL)?
 *
 * Missing is equal to missing alone, also not to an empty text. Any thread.
 */
#ifndef WEIR_BASE_SAME_TEXT_H
#define WEIR_BASE_SAME_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

#endif
