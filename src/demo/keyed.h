/* SPDX-License-Identifier: MIT
 *
 * keyed.h - byte streams derived from a key: whoever knows the key knows every byte.
 *
 * Both ends of a demo connection derive the bytes they send and expect from its key, so a byte that is lost,
 * duplicated, changed or delivered to the wrong connection is noticed at once. All streams are windows into
 * one table of random bytes, each starting at a place of its own: generating bytes costs nothing and
 * verifying them is one memcmp(3). Main thread of each process.
 */
#ifndef WEIR_DEMO_KEYED_H
#define WEIR_DEMO_KEYED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A prime, so that bytes shifted by a block or a page do not match. */
#define KEYED_PERIOD 65521u
/* From any offset of a stream, at least this many bytes are contiguous. */
#define KEYED_PIECE (128u << 10)

/* Fills the table. Call once, before the first fork, so that all processes share its pages. */
void keyed_init(void);
/* KEYED_PIECE bytes of the stream of `key`, starting at `offset`. Borrowed; always valid. */
const unsigned char *keyed_at(uint64_t key, uint64_t offset);
/* Are these the `len` (at most KEYED_PIECE) bytes of the stream at `offset`? */
bool keyed_same(uint64_t key, uint64_t offset, const void *bytes, size_t len);

#endif
