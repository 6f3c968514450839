/* SPDX-License-Identifier: MIT
 *
 * tls_trust.c - the certificates that health checks over TLS trust: read once, shared by all that name them.
 *
 * Found by a digest of their text. Only reads what it is given: it opens no file. Any thread.
 */
#include "weir/net/tls_trust.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/shared.h"

struct trust_key {
	uint8_t digest[32]; /* of the text */
	bool part;
};

struct tls_trust {
	struct shared shared;
	struct trust_key key;
	X509_STORE *store; /* owns */
};

bool tls_is_built(void)
{
	return true;
}

const char *tls_version(void)
{
	return OpenSSL_version(OPENSSL_VERSION_STRING);
}

const char *tls_system_file(void)
{
	/* Debian, Fedora, SUSE, Alpine. */
	static const char *const files[] = {
		"/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
		"/etc/ssl/ca-bundle.pem",
		"/etc/ssl/cert.pem",
	};
	const char *given = secure_getenv(X509_get_default_cert_file_env());

	if (given != NULL && given[0] != '\0')
		return given;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (access(files[i], F_OK) == 0)
			return files[i];
	return NULL;
}

/* ---- certificates ---- */

/* Why the last certificate could not be read; forgets it. */
static const char *pem_error(void)
{
	const unsigned long err = ERR_peek_last_error();
	const char *words = ERR_reason_error_string(err);

	ERR_clear_error();
	return words != NULL ? words : "unknown error";
}

/* Adds every certificate; how many, or -1 with the reason. */
static int add_all(X509_STORE *store, BIO *text, char *why)
{
	int count = 0;

	for (;;) {
		X509 *x = PEM_read_bio_X509(text, NULL, NULL, NULL);
		bool added;

		if (x == NULL && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE) {
			ERR_clear_error();
			return count;
		}
		if (x == NULL) {
			(void)snprintf(why, TLS_TRUST_WHY_MAX, "certificate %d cannot be read: %s", count + 1,
				       pem_error());
			return -1;
		}
		added = count < TLS_TRUST_MAX && X509_STORE_add_cert(store, x) == 1;
		X509_free(x);
		if (!added) {
			ERR_clear_error();
			(void)snprintf(why, TLS_TRUST_WHY_MAX, count < TLS_TRUST_MAX ? "out of memory" :
				       "it has more than %d certificates", TLS_TRUST_MAX);
			return -1;
		}
		count++;
	}
}

static X509_STORE *make_store(const char *text, size_t len, bool part, char *why)
{
	X509_STORE *store = X509_STORE_new();
	BIO *in = BIO_new_mem_buf(text, (int)len);
	int count = -1;

	(void)snprintf(why, TLS_TRUST_WHY_MAX, "out of memory");
	ERR_clear_error();
	if (store != NULL && in != NULL)
		count = add_all(store, in, why);
	if (count == 0)
		(void)snprintf(why, TLS_TRUST_WHY_MAX, "it has no certificate");
	BIO_free(in);
	if (count > 0 && (!part || X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN) == 1))
		return store;
	X509_STORE_free(store);
	return NULL;
}

/* ---- sharing ---- */

static bool has_key(const struct shared *s, const void *key)
{
	const struct trust_key *a = &container_of(s, struct tls_trust, shared)->key, *b = key;

	return a->part == b->part && memcmp(a->digest, b->digest, sizeof(a->digest)) == 0;
}

static struct shared_set trusts = SHARED_SET(trusts, has_key);

static struct tls_trust *trust_of(struct shared *s)
{
	return s != NULL ? container_of(s, struct tls_trust, shared) : NULL;
}

static void free_trust(struct tls_trust *t)
{
	X509_STORE_free(t->store);
	free(t);
}

/* Those of a system take a tenth of a second: never with the lock, which control needs. */
struct tls_trust *tls_trust_make(const char *text, size_t len, bool part, char why[TLS_TRUST_WHY_MAX])
{
	struct trust_key key = {.part = part};
	struct tls_trust *t, *made;
	X509_STORE *store;

	check(len < INT32_MAX);
	if (EVP_Digest(text, len, key.digest, NULL, EVP_sha256(), NULL) != 1) {
		(void)snprintf(why, TLS_TRUST_WHY_MAX, "%s", pem_error());
		return NULL;
	}
	t = trust_of(shared_find(&trusts, &key));
	if (t != NULL)
		return t;
	store = make_store(text, len, part, why);
	if (store == NULL)
		return NULL;
	made = calloc(1, sizeof(*made));
	if (made == NULL) {
		X509_STORE_free(store);
		(void)snprintf(why, TLS_TRUST_WHY_MAX, "out of memory");
		return NULL;
	}
	made->key = key;
	made->store = store;
	t = trust_of(shared_publish(&trusts, &made->shared, &key));
	if (t != made)
		free_trust(made); /* somebody else was faster */
	return t;
}

struct tls_trust *tls_trust_hold(struct tls_trust *t)
{
	if (t != NULL)
		shared_hold(&trusts, &t->shared);
	return t;
}

void tls_trust_drop(struct tls_trust *t)
{
	if (t != NULL && shared_drop(&trusts, &t->shared))
		free_trust(t);
}

struct x509_store_st *tls_trust_store(const struct tls_trust *t)
{
	return t->store;
}
