/* SPDX-License-Identifier: MIT
 *
 * digit.h - what counts as a decimal digit in every text that weir reads, whatever the locale. Any thread.
 */
#ifndef WEIR_BASE_DIGIT_H
#define WEIR_BASE_DIGIT_H

#include <stdbool.h>

/* `c` is a char or a byte. Nothing outside ASCII is a digit. */
static inline bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

#endif
