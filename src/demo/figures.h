/* SPDX-License-Identifier: MIT
 *
 * figures.h - numbers for people: short, grouped, with units.
 *
 * Any thread.
 */
#ifndef WEIR_DEMO_FIGURES_H
#define WEIR_DEMO_FIGURES_H

#include <stdint.h>

#define FIGURE_MAX 32

/* "0", "999", "4.1k", "12k", "3.2M". All return `buf`. */
const char *figure_short(double n, char buf[static FIGURE_MAX]);
/* "0 B", "3.2 MB", "51 GB": powers of ten, as usual for network rates. */
const char *figure_bytes(double n, char buf[static FIGURE_MAX]);
/* "98 214". */
const char *figure_grouped(uint64_t n, char buf[static FIGURE_MAX]);
/* "0.4 ms", "12 ms", "1.2 s". */
const char *figure_time(int64_t ns, char buf[static FIGURE_MAX]);
/* `part` of `whole` in percent; 0 if `whole` is 0. */
double figure_percent(uint64_t part, uint64_t whole);

#endif
