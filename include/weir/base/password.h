/* SPDX-License-Identifier: MIT
 *
 * password.h - is this the password of that hash, as crypt(5) describes hashes?
 *
 * Accepts only hashes that are slow enough to be worth something and fast enough to be verified while others
 * wait: `$2y$` up to cost 12, `$5$` and `$6$` up to 100,000 rounds, `$y$` up to cost 7. A build without
 * libcrypt verifies nothing. Any thread.
 */
#ifndef WEIR_BASE_PASSWORD_H
#define WEIR_BASE_PASSWORD_H

#include <stdbool.h>
#include <stddef.h>

/* Longest hash and longest password, with their NUL. A longer password is never right. */
#define PASSWORD_HASH_MAX  160
#define PASSWORD_GIVEN_MAX 256

/* Can this build verify passwords at all? */
bool password_is_built(void);
/* Why `hash` is not accepted, as the end of a sentence that begins with its name ("has ..."); static. NULL:
 * it is accepted. */
const char *password_refusal(const char *hash);
/* Computes the hash of `given` and compares it with `hash`, an accepted one, in constant time. Takes 10 to
 * 500 ms, and for `$y$` up to 64 MB of memory. False, too, if memory is short, with `*failed` set. */
bool password_is_right(const char *hash, const char *given, bool *failed);
/* Makes a `$2y$` hash of `given` with a random salt. Takes 50 to 100 ms. False, and an empty text, if the
 * password is too long (72 bytes) or this build has no libcrypt. */
bool password_make(const char *given, char out[static PASSWORD_HASH_MAX]);
/* Does libcrypt know `$y$`? That of musl does not. */
bool password_knows_yescrypt(void);

#endif
