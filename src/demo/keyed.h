/* SPDX-License-Identifier: MIT
 *
 * keyed.h - bytes that belong to a key: who knows the key knows every byte of the stream.
 *
 * Both ends of a connection of the demo make the bytes that they send and that they expect from its
 * key, so a byte that is lost, doubled, changed or brought to the wrong connection is seen at once.
 * All streams are windows into one table of random bytes that begin at a place of their own: making
 * bytes costs nothing and verifying them is one memcmp(3). Main thread of each process.
 */
#ifndef WEIR_DEMO_KEYED_H
#define WEIR_DEMO_KEYED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A prime: bytes that moved by a block or a page do not fit their place. */
#define KEYED_PERIOD 65521u
/* So many bytes lie in one piece from any place of a stream. */
#define KEYED_PIECE (128u << 10)

/* Fills the table. Once, before the first fork, so that all processes share its pages. */
void keyed_init(void);
/* KEYED_PIECE bytes of the stream of `key` from `offset` on. Borrowed, for ever. */
const unsigned char *keyed_at(uint64_t key, uint64_t offset);
/* Are these the `len` (at most KEYED_PIECE) bytes of the stream at `offset`? */
bool keyed_same(uint64_t key, uint64_t offset, const void *bytes, size_t len);

#endif
