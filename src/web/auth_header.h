/* SPDX-License-Identifier: MIT
 *
 * auth_header.h - reads the user and the password of an Authorization header (RFC 7617, "Basic").
 *
 * Any thread.
 */
#ifndef WEIR_WEB_AUTH_HEADER_H
#define WEIR_WEB_AUTH_HEADER_H

#include <stdbool.h>

#include "weir/base/password.h"

#define AUTH_USER_MAX 64 /* longest name of a user, with its NUL */

struct auth_given {
	char user[AUTH_USER_MAX];
	char password[PASSWORD_GIVEN_MAX];
};

/* The value of the header, "Basic dXNlcjpwYXNzd29yZA==". False: it is something else, or too long for any
 * user or password. Whoever has read it clears `given` with explicit_bzero(3), also if this fails. */
bool auth_header_read(const char *value, struct auth_given *given);

#endif
