/* SPDX-License-Identifier: MIT
 *
 * values.h - parses and prints numbers, durations and sizes as people write them.
 *
 * Knows no keys and prints no messages. Locale-free. Any thread.
 */
#ifndef WEIR_CONFIG_VALUES_H
#define WEIR_CONFIG_VALUES_H

#include <stddef.h>
#include <stdint.h>

#define VALUE_TEXT_MAX 64

/* All of these return 0; -EINVAL when the text does not have this form, -ERANGE when it does but the value
 * does not fit. The whole text must match. */

/* Digits only: no sign, no blank, no base prefix. */
int value_number(const char *text, uint64_t *number);
/* Digits with '_' between them. */
int value_count(const char *text, uint64_t *count);
/* "90s", "1m30s", "0", "off"; units us ms s m h d. -EDOM for a number without a unit. */
int value_duration(const char *text, int64_t *ns);
/* "65536", "256k", "1m"; binary, k m g in either case. */
int value_size(const char *text, uint64_t *bytes);
/* "0640": octal digits only, at most 07777. */
int value_mode(const char *text, int *mode);

/* Text that the functions above parse to the same number; `buf` has VALUE_TEXT_MAX bytes. */
const char *value_format_duration(int64_t ns, char *buf);
const char *value_format_size(uint64_t bytes, char *buf);

#endif
