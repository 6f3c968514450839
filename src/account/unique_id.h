/* SPDX-License-Identifier: MIT
 *
 * unique_id.h - a session's unique id, and the server name that its client asked for, as one word of text.
 *
 * Any thread.
 */
#ifndef WEIR_ACCOUNT_UNIQUE_ID_H
#define WEIR_ACCOUNT_UNIQUE_ID_H

#include <stddef.h>
#include <stdint.h>

#include "weir/net/client_hello.h"
#include "weir/net/proxy.h"

#define UNIQUE_ID_TEXT_MAX   (4 * PROXY_UNIQUE_ID_MAX + 1)
#define SERVER_NAME_TEXT_MAX (4 * CLIENT_HELLO_NAME_MAX + 1)

/* Writes it into `buf` and returns `buf`. Whatever bytes a client's header brought, the result is one word,
 * and the same one wherever it is shown. */
const char *unique_id_word(const uint8_t *id, size_t len, char buf[static UNIQUE_ID_TEXT_MAX]);
const char *server_name_word(const uint8_t *name, size_t len, char buf[static SERVER_NAME_TEXT_MAX]);

#endif
