/* SPDX-License-Identifier: MIT
 *
 * password_crypt.c - makes and verifies hashes of passwords by libcrypt.
 *
 * Leaves no copy of the password in memory. Any thread.
 */
#include <crypt.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/password.h"

bool password_is_built(void)
{
	return true;
}

bool password_knows_yescrypt(void)
{
	return WEIR_CRYPT_YESCRYPT;
}

/* Takes the same time for any two texts of these lengths. */
static bool is_equal(const char *a, const char *b)
{
	const size_t len = strlen(a);
	unsigned differ = len != strlen(b);

	for (size_t i = 0; i < len && differ <= 0xff && b[i] != '\0'; i++)
		differ |= (unsigned)(uint8_t)(a[i] ^ b[i]);
	return differ == 0;
}

bool password_is_right(const char *hash, const char *given, bool *failed)
{
	struct crypt_data *data = calloc(1, sizeof(*data));
	const char *made;
	bool right;

	*failed = data == NULL;
	if (data == NULL)
		return false;
	made = crypt_r(given, hash, data);
	/* crypt(3): a text that begins with '*' reports an error. */
	*failed = made == NULL || made[0] == '*';
	right = !*failed && is_equal(hash, made);
	explicit_bzero(data, sizeof(*data));
	free(data);
	return right;
}

/* As htpasswd -B does, but with a higher cost. */
#define MADE_COST 10
#define MADE_MAX  72 /* bytes that bcrypt looks at */

bool password_make(const char *given, char out[static PASSWORD_HASH_MAX])
{
	struct crypt_data *data = calloc(1, sizeof(*data));
	char salt[CRYPT_GENSALT_OUTPUT_SIZE];
	const char *made = NULL;

	out[0] = '\0';
	if (data != NULL && strlen(given) <= MADE_MAX &&
	    crypt_gensalt_rn("$2y$", MADE_COST, NULL, 0, salt, (int)sizeof(salt)) != NULL)
		made = crypt_r(given, salt, data);
	if (made != NULL && made[0] == '$' && strlen(made) < PASSWORD_HASH_MAX)
		memcpy(out, made, strlen(made) + 1);
	if (data != NULL)
		explicit_bzero(data, sizeof(*data));
	free(data);
	return out[0] != '\0';
}
