/* SPDX-License-Identifier: MIT
 *
 * digit.h - what a decimal digit is, in every text that weir reads; no locale has a say. Any thread.
 */
#ifndef WEIR_BASE_DIGIT_H
#define WEIR_BASE_DIGIT_H

#include <stdbool.h>

/* A char or a byte: whatever is not ASCII is none. */
static inline bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

#endif
