/* SPDX-License-Identifier: MIT
 *
 * poison.h - what the program frees is filled, and kept until its seed ends: whoever still uses it is found.
 *
 * points.h puts poison_free() in the place of free() where live objects and their settings are freed. One
 * thread. Tests only.
 */
#ifndef SIM_POISON_H
#define SIM_POISON_H

#include <stdbool.h>

#define POISON_BYTE 0xdb

void poison_free(void *p);
/* Frees what is kept. Fails the seed if any of it was written to since. */
void poison_end(void);
/* Does a line of a log show such bytes, as they are or as \xdb? */
bool poison_is_in_text(const char *text);

#endif
