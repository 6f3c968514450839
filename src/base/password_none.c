/* SPDX-License-Identifier: MIT
 *
 * password_none.c - in place of password_crypt.c in a build without libcrypt: no password is verified.
 */
#include "weir/base/password.h"

bool password_is_built(void)
{
	return false;
}

bool password_knows_yescrypt(void)
{
	return false;
}

bool password_is_right(const char *hash, const char *given, bool *failed)
{
	(void)hash;
	(void)given;
	*failed = true;
	return false;
}

bool password_make(const char *given, char out[static PASSWORD_HASH_MAX])
{
	(void)given;
	out[0] = '\0';
	return false;
}
