/* SPDX-License-Identifier: MIT
 *
 * admin_client_word.h - the address of a client, as an administrator types it.
 *
 * Main thread.
 */
#ifndef WEIR_ADMIN_ADMIN_CLIENT_WORD_H
#define WEIR_ADMIN_ADMIN_CLIENT_WORD_H

#include "weir/net/addr.h"

/* Reads "192.0.2.7", "192.0.2.7:4711", "2001:db8::1", "[2001:db8::1]:4711" or "unix". 0, or -EINVAL with
 * `*why` a sentence, static or valid until the thread's next call. */
int admin_read_client(const char *word, struct addr_brief *client, const char **why);

#endif
