/* SPDX-License-Identifier: MIT
 *
 * password.c - which hashes of passwords are accepted: their form and their cost.
 *
 * Owns nothing. Any thread.
 */
#include "weir/base/password.h"

#include <stdlib.h>
#include <string.h>

#define ALPHABET "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

#define BCRYPT_COST_MIN 4
#define BCRYPT_COST_MAX 12
#define BCRYPT_TAIL	53 /* salt and hash */
#define SHA_ROUNDS_MAX	100000
#define SHA_ROUNDS_MIN	1000
#define SHA_SALT_MAX	16
#define SHA256_TAIL	43
#define SHA512_TAIL	86

static bool is_tail(const char *text, size_t len)
{
	return strspn(text, ALPHABET) == len && text[len] == '\0';
}

static const char *refuse_bcrypt(const char *text)
{
	const char *cost = text + strlen("$2y$");
	unsigned number;

	if (strspn(cost, "0123456789") != 2 || cost[2] != '$' || !is_tail(cost + 3, BCRYPT_TAIL))
		return "is not complete";
	number = (unsigned)(cost[0] - '0') * 10 + (unsigned)(cost[1] - '0');
	if (number < BCRYPT_COST_MIN)
		return "is not complete";
	return number > BCRYPT_COST_MAX ? "has a cost above 12, which takes too long" : NULL;
}

/* "$5$[rounds=N$]SALT$HASH" */
static const char *refuse_sha(const char *text, size_t tail)
{
	static const char rounds[] = "rounds=";
	const char *at = text + strlen("$5$");
	size_t salt;

	if (strncmp(at, rounds, strlen(rounds)) == 0) {
		char *end;
		const unsigned long number = strtoul(at + strlen(rounds), &end, 10);

		if (*end != '$' || number < SHA_ROUNDS_MIN)
			return "is not complete";
		if (number > SHA_ROUNDS_MAX)
			return "has more than 100,000 rounds, which takes too long";
		at = end + 1;
	}
	salt = strcspn(at, "$");
	if (salt == 0 || salt > SHA_SALT_MAX || at[salt] != '$' || !is_tail(at + salt + 1, tail))
		return "is not complete";
	return NULL;
}

/* "$y$jXY$SALT$HASH": X is the logarithm of the rounds and Y the size of a block, as crypt_gensalt(3) makes
 * them for the costs 1 and 2 ("75", "85"), and 3 and above ("7T", "8T", ...). */
static const char *refuse_yescrypt(const char *text)
{
	const char *cost = text + strlen("$y$");
	size_t salt;

	if (!password_knows_yescrypt())
		return "is of a kind ($y$) that libcrypt of this weir does not know";
	if (strcspn(cost, "$") != 3 || cost[0] != 'j' || (cost[2] != '5' && cost[2] != 'T') ||
	    strchr(ALPHABET, cost[1]) == NULL)
		return "has parameters that crypt_gensalt(3) does not make";
	if (strchr("./0123456789AB", cost[1]) == NULL)
		return "has a cost above 7, which takes too long";
	salt = strcspn(cost + 4, "$");
	if (cost[3] != '$' || cost[4 + salt] != '$' || !is_tail(cost + 4 + salt + 1, SHA256_TAIL))
		return "is not complete";
	return NULL;
}

const char *password_refusal(const char *hash)
{
	if (strlen(hash) >= PASSWORD_HASH_MAX)
		return "is too long";
	if (strncmp(hash, "$2y$", 4) == 0)
		return refuse_bcrypt(hash);
	if (strncmp(hash, "$5$", 3) == 0)
		return refuse_sha(hash, SHA256_TAIL);
	if (strncmp(hash, "$6$", 3) == 0)
		return refuse_sha(hash, SHA512_TAIL);
	if (strncmp(hash, "$y$", 3) == 0)
		return refuse_yescrypt(hash);
	if (hash[0] == '$' || hash[0] == '{')
		return "is of a kind that weir does not verify";
	return "is too weak, or not a hash at all";
}
