/* SPDX-License-Identifier: MIT
 *
 * probe_tls.c - a TLS session of one health check, on a socket that somebody else owns.
 *
 * Owns OpenSSL's objects of the session, and one context that all sessions share. The bytes go through our
 * own system calls, so that the amount that is read is ours to limit. Keeps no session for later. Main
 * thread.
 */
#include "probe_tls.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/balance/probe_view.h"
#include "weir/base/check.h"
#include "weir/config/config.h"
#include "weir/net/tls_trust.h"
#include "weir/sys/sys.h"
#include "tls_alert.h"

struct probe_tls {
	SSL *ssl; /* owns */
	int fd;   /* borrows */
	enum config_check_verify verify;
	int err;           /* -errno of the last system call that failed; 0 = none */
	size_t turn_left;  /* bytes that may be read in this turn */
	size_t bytes_left; /* and in all */
	bool fatal;        /* nothing more can be sent or received */
	char why[PROBE_DETAIL_MAX];
};

/* ---- bytes ---- */

static int bio_send(BIO *bio, const char *data, size_t len, size_t *done)
{
	struct probe_tls *t = BIO_get_data(bio);
	const ssize_t n = sys_send(t->fd, data, len);

	BIO_clear_retry_flags(bio);
	*done = n > 0 ? (size_t)n : 0;
	if (n == -EAGAIN)
		BIO_set_retry_write(bio);
	else if (n < 0)
		t->err = (int)n;
	return n > 0;
}

static int bio_recv(BIO *bio, char *data, size_t len, size_t *done)
{
	struct probe_tls *t = BIO_get_data(bio);
	ssize_t n;

	BIO_clear_retry_flags(bio);
	*done = 0;
	if (t->bytes_left == 0) {
		t->err = -EFBIG;
		return 0;
	}
	if (len > t->turn_left)
		len = t->turn_left;
	if (len > t->bytes_left)
		len = t->bytes_left;
	/* What is left in the socket makes the loop call again. */
	n = len > 0 ? sys_recv(t->fd, data, len, 0) : -EAGAIN;
	if (n == -EAGAIN)
		BIO_set_retry_read(bio);
	else if (n < 0)
		t->err = (int)n;
	if (n <= 0)
		return 0;
	t->turn_left -= (size_t)n;
	t->bytes_left -= (size_t)n;
	*done = (size_t)n;
	return 1;
}

static long bio_control(BIO *bio, int what, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return what == BIO_CTRL_FLUSH;
}

static BIO_METHOD *make_method(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weir");

	if (m != NULL && BIO_meth_set_write_ex(m, bio_send) == 1 && BIO_meth_set_read_ex(m, bio_recv) == 1 &&
	    BIO_meth_set_ctrl(m, bio_control) == 1)
		return m;
	BIO_meth_free(m);
	return NULL;
}

/* ---- certificates ---- */

/* Why this key is not worth a computation; NULL = it is. */
static const char *key_fault(EVP_PKEY *key)
{
	char group[64];

	if (key == NULL)
		return "an unknown kind of key";
	switch (EVP_PKEY_get_base_id(key)) {
	case EVP_PKEY_RSA:
	case EVP_PKEY_RSA_PSS:
		return EVP_PKEY_get_bits(key) > PROBE_TLS_RSA_BITS_MAX ? "an RSA key of more than 8192 bits"
								       : NULL;
	case EVP_PKEY_EC:
		/* A curve that it describes by itself has none. */
		return EVP_PKEY_get_group_name(key, group, sizeof(group), NULL) == 1
			       ? NULL
			       : "a key on a curve without a name";
	case EVP_PKEY_ED25519:
	case EVP_PKEY_ED448:
		return NULL;
	default:
		return "an unknown kind of key";
	}
}

static const char *chain_fault(const STACK_OF(X509) *chain)
{
	const char *fault = NULL;

	if (sk_X509_num(chain) > PROBE_TLS_CHAIN_MAX)
		return "more than 8 certificates";
	for (int i = 0; i < sk_X509_num(chain) && fault == NULL; i++)
		fault = key_fault(X509_get0_pubkey(sk_X509_value(chain, i)));
	ERR_clear_error();
	return fault;
}

static int judge_chain(X509_STORE_CTX *x, void *arg)
{
	SSL *ssl = X509_STORE_CTX_get_ex_data(x, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct probe_tls *t = SSL_get_app_data(ssl);
	const char *fault = chain_fault(X509_STORE_CTX_get0_untrusted(x));

	(void)arg;
	if (fault != NULL) {
		(void)snprintf(t->why, sizeof(t->why), "certificate refused: %s", fault); /* it fits */
		X509_STORE_CTX_set_error(x, X509_V_ERR_APPLICATION_VERIFICATION);
		return 0;
	}
	return t->verify == CONFIG_CHECK_VERIFY_NONE ? 1 : X509_verify_cert(x) == 1;
}

/* ---- what all sessions share ---- */

static bool set_up(SSL_CTX *ctx)
{
	SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	/* Many servers close without a close_notify; HTTP says by itself whether an answer is whole. */
	SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
					 SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_read_ahead(ctx, 1);
	SSL_CTX_set_max_cert_list(ctx, PROBE_TLS_CHAIN_BYTES_MAX);
	SSL_CTX_set_verify_depth(ctx, PROBE_TLS_CHAIN_MAX);
	/* Also without verification, so that the limits hold: judge_chain() knows. */
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_cert_verify_callback(ctx, judge_chain, NULL);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
	       SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20:ECDHE+AES:!aNULL:!PSK") == 1 &&
	       SSL_CTX_set1_groups_list(ctx, "X25519:P-256:P-384:P-521") == 1;
}

static SSL_CTX *make_context(void)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	if (ctx != NULL && set_up(ctx))
		return ctx;
	SSL_CTX_free(ctx);
	return NULL;
}

/* ---- life ---- */

/* The name that the certificate must have; a host name is also asked for. */
static bool set_name(SSL *ssl, const char *name, bool named, bool verify)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

	if (named && SSL_set_tlsext_host_name(ssl, name) != 1)
		return false;
	if (!verify)
		return true;
	X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return named ? X509_VERIFY_PARAM_set1_host(param, name, 0) == 1
		     : X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1;
}

/* "h2,http/1.1" as a list of lengths and texts. */
static bool set_alpn(SSL *ssl, const char *alpn)
{
	unsigned char list[257];
	const size_t len = alpn != NULL ? strlen(alpn) : 0;

	if (len == 0 || len >= sizeof(list))
		return len == 0;
	for (const char *at = alpn; *at != '\0';) {
		const size_t part = strcspn(at, ",");

		list[at - alpn] = (unsigned char)part;
		memcpy(list + (at - alpn) + 1, at, part);
		at += part + (at[part] == ',');
	}
	return SSL_set_alpn_protos(ssl, list, (unsigned)len + 1) == 0; /* not as the others */
}

static bool connect_bio(struct probe_tls *t)
{
	static BIO_METHOD *method; /* owns, for the life of the process */
	BIO *bio;

	if (method == NULL)
		method = make_method();
	bio = method != NULL ? BIO_new(method) : NULL;
	if (bio == NULL)
		return false;
	BIO_set_data(bio, t);
	BIO_set_init(bio, 1);
	SSL_set_bio(t->ssl, bio, bio); /* takes it */
	return true;
}

static SSL *make_session(void)
{
	static SSL_CTX *context; /* owns, for the life of the process */

	if (context == NULL)
		context = make_context();
	return context != NULL ? SSL_new(context) : NULL;
}

struct probe_tls *probe_tls_new(const struct config_check *c, const char *name, bool named, int fd)
{
	struct probe_tls *t = calloc(1, sizeof(*t));
	const bool verify = c->verify != CONFIG_CHECK_VERIFY_NONE;

	if (t == NULL)
		return NULL;
	t->fd = fd;
	t->verify = c->verify;
	t->bytes_left = PROBE_TLS_BYTES_MAX;
	t->ssl = make_session();
	if (t->ssl == NULL || !connect_bio(t) || !set_name(t->ssl, name, named, verify) ||
	    !set_alpn(t->ssl, c->alpn) ||
	    (verify && SSL_set1_verify_cert_store(t->ssl, tls_trust_store(c->trust)) != 1)) {
		probe_tls_free(t);
		return NULL;
	}
	SSL_set_app_data(t->ssl, t);
	SSL_set_connect_state(t->ssl);
	return t;
}

void probe_tls_free(struct probe_tls *t)
{
	if (t == NULL)
		return;
	SSL_free(t->ssl); /* with its BIO */
	ERR_clear_error();
	free(t);
}

void probe_tls_next_turn(struct probe_tls *t)
{
	t->turn_left = PROBE_TLS_TURN_BYTES;
}

/* ---- reasons ---- */

static const char *reason_of(int reason, char alert[TLS_ALERT_MAX])
{
	const char *words = ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, reason));

	if (reason > SSL_AD_REASON_OFFSET && reason <= SSL_AD_REASON_OFFSET + 255)
		return tls_alert_words((unsigned)reason - SSL_AD_REASON_OFFSET, alert);
	switch (reason) {
	case SSL_R_WRONG_VERSION_NUMBER:
	case SSL_R_HTTP_REQUEST:
	case SSL_R_PACKET_LENGTH_TOO_LONG:
		return "the answer is not TLS";
	case SSL_R_UNSUPPORTED_PROTOCOL:
		return "the server speaks no TLS newer than 1.1";
	case SSL_R_EXCESSIVE_MESSAGE_SIZE:
		return "certificate refused: more than 32 KiB";
	default:
		return words != NULL ? words : "TLS error";
	}
}

/* OpenSSL has its say in its queue of errors, or in the result of the verification. */
static void set_reason(struct probe_tls *t)
{
	const unsigned long first = ERR_peek_error();
	const long verified = SSL_get_verify_result(t->ssl);
	char alert[TLS_ALERT_MAX];

	if (t->why[0] != '\0') {
		/* judge_chain() knew it */
	} else if (ERR_GET_REASON(first) == SSL_R_CERTIFICATE_VERIFY_FAILED && verified != X509_V_OK) {
		(void)snprintf(t->why, sizeof(t->why), "certificate refused: %s",
			       X509_verify_cert_error_string(verified)); /* may be truncated */
	} else {
		(void)snprintf(t->why, sizeof(t->why), "%s",
			       reason_of(ERR_GET_LIB(first) == ERR_LIB_SSL ? ERR_GET_REASON(first) : 0,
					 alert)); /* likewise */
	}
	ERR_clear_error();
}

/* -errno of a call that did not succeed; 0 = the server has closed its side. */
static int error_of(struct probe_tls *t, int result)
{
	const int kind = SSL_get_error(t->ssl, result);

	if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE)
		return -EAGAIN;
	if (kind == SSL_ERROR_ZERO_RETURN)
		return 0;
	t->fatal = true;
	if (t->err == -EFBIG) {
		(void)snprintf(t->why, sizeof(t->why), "the server sends too much"); /* it fits */
		return -EPROTO;
	}
	if (kind == SSL_ERROR_SYSCALL && ERR_peek_error() == 0)
		return t->err;
	set_reason(t);
	return -EPROTO;
}

/* ---- handshake and data ---- */

int probe_tls_shake(struct probe_tls *t)
{
	int result, err;

	ERR_clear_error();
	result = SSL_do_handshake(t->ssl);
	if (result == 1)
		return 0;
	err = error_of(t, result);
	if (err != 0)
		return err;
	t->fatal = true;
	(void)snprintf(t->why, sizeof(t->why), "connection closed during the TLS handshake"); /* it fits */
	return -EPROTO;
}

bool probe_tls_heard(const struct probe_tls *t)
{
	return t->bytes_left < PROBE_TLS_BYTES_MAX;
}

ssize_t probe_tls_send(struct probe_tls *t, const void *data, size_t len)
{
	size_t done = 0;
	int result, err;

	ERR_clear_error();
	result = SSL_write_ex(t->ssl, data, len, &done);
	if (result == 1)
		return (ssize_t)done;
	err = error_of(t, result);
	return err != 0 ? err : -EPIPE;
}

ssize_t probe_tls_recv(struct probe_tls *t, void *data, size_t len)
{
	size_t done = 0;
	int result;

	ERR_clear_error();
	result = SSL_read_ex(t->ssl, data, len, &done);
	return result == 1 ? (ssize_t)done : error_of(t, result);
}

bool probe_tls_wants_room(const struct probe_tls *t)
{
	return SSL_want_write(t->ssl);
}

void probe_tls_say_goodbye(struct probe_tls *t)
{
	if (t->fatal || !SSL_is_init_finished(t->ssl))
		return;
	ERR_clear_error();
	(void)SSL_shutdown(t->ssl); /* the verdict stands */
	ERR_clear_error();
}

const char *probe_tls_why(const struct probe_tls *t)
{
	return t->why;
}

const char *probe_tls_protocol(const struct probe_tls *t)
{
	return SSL_version(t->ssl) == TLS1_3_VERSION ? "TLS 1.3" : "TLS 1.2";
}
