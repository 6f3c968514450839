/* SPDX-License-Identifier: MIT
 *
 * tls_trust_none.c - in place of tls_trust.c in a build without OpenSSL: nothing is trusted.
 */
#include <stdio.h>

#include "weir/base/check.h"
#include "weir/net/tls_trust.h"

bool tls_is_built(void)
{
	return false;
}

const char *tls_version(void)
{
	return "";
}

const char *tls_system_file(void)
{
	return NULL;
}

struct tls_trust *tls_trust_make(const char *text, size_t len, bool part, char why[TLS_TRUST_WHY_MAX])
{
	(void)text;
	(void)len;
	(void)part;
	(void)snprintf(why, TLS_TRUST_WHY_MAX, "this weir is built without OpenSSL");
	return NULL;
}

struct tls_trust *tls_trust_hold(struct tls_trust *t)
{
	check(t == NULL);
	return NULL;
}

void tls_trust_drop(struct tls_trust *t)
{
	check(t == NULL);
}

struct x509_store_st *tls_trust_store(const struct tls_trust *t)
{
	check(t != NULL);
	return NULL;
}
