/* SPDX-License-Identifier: MIT
 *
 * recorded_hellos.h - the hellos of hellos.tbl.h as bytes. Tests only.
 */
#ifndef UNIT_RECORDED_HELLOS_H
#define UNIT_RECORDED_HELLOS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct recorded_hello {
	const char *what;
	const char *name;      /* as the client was given it; "" = none */
	const char *protocols; /* with blanks between */
	const char *hex;
};

#define HELLO(what, name, protocols, hex) {what, name, protocols, hex},
static const struct recorded_hello recorded_hellos[] = {
#include "hellos.tbl.h"
};
#undef HELLO

#define RECORDED_HELLOS (sizeof(recorded_hellos) / sizeof(recorded_hellos[0]))

/* Converts hexadecimal digits, with blanks between or not. Returns the number of bytes. */
static inline size_t hex_bytes(const char *hex, uint8_t *out)
{
	size_t len = 0;
	unsigned byte;
	int used;

	while (sscanf(hex, " %2x%n", &byte, &used) == 1) {
		out[len++] = (uint8_t)byte;
		hex += used;
	}
	return len;
}

#endif
