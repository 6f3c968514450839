/* SPDX-License-Identifier: MIT
 *
 * test_probe_tls.c - the TLS session of a check against a server in the same process: good, hostile, and with
 * each byte that it sends lost or wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <errno.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "weir/base/check.h"
#include "weir/config/config.h"
#include "weir/net/tls_trust.h"
#include "health/probe_tls.h"

#define NAME "good.example"
#define DAY 86400L
#define ANSWER "HTTP/1.0 200 OK\r\n\r\n"

/* ---- certificates ---- */

struct identity {
	EVP_PKEY *key;
	X509 *cert;
};

static struct identity ca;

/* A certificate of `key` by `by` (NULL = by itself), valid from yesterday. */
static X509 *certify(EVP_PKEY *key, const char *name, const struct identity *by, long valid_s, bool is_ca)
{
	static long serial = 1;
	X509 *x = X509_new();
	X509V3_CTX v3;
	X509_EXTENSION *e;
	char san[100];

	assert_non_null(x);
	X509_set_version(x, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(x), serial++);
	X509_gmtime_adj(X509_getm_notBefore(x), -DAY);
	X509_gmtime_adj(X509_getm_notAfter(x), valid_s);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
				   (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(x, by != NULL ? X509_get_subject_name(by->cert) : X509_get_subject_name(x));
	assert_int_equal(X509_set_pubkey(x, key), 1);
	X509V3_set_ctx(&v3, by != NULL ? by->cert : x, x, NULL, NULL, 0);
	(void)snprintf(san, sizeof(san), "DNS:%s,IP:192.0.2.7", name);
	e = is_ca ? X509V3_EXT_conf_nid(NULL, &v3, NID_basic_constraints, "critical,CA:TRUE")
		  : X509V3_EXT_conf_nid(NULL, &v3, NID_subject_alt_name, san);
	assert_non_null(e);
	assert_int_equal(X509_add_ext(x, e, -1), 1);
	X509_EXTENSION_free(e);
	assert_true(X509_sign(x, by != NULL ? by->key : key, EVP_sha256()) > 0);
	return x;
}

static struct identity make_identity(const char *name, const struct identity *by, long valid_s, bool is_ca)
{
	struct identity id = {.key = EVP_EC_gen("P-256")};

	assert_non_null(id.key);
	id.cert = certify(id.key, name, by, valid_s, is_ca);
	return id;
}

static void free_identity(struct identity *id)
{
	EVP_PKEY_free(id->key);
	X509_free(id->cert);
}

static struct tls_trust *trust_of(X509 *x)
{
	BIO *out = BIO_new(BIO_s_mem());
	char why[TLS_TRUST_WHY_MAX], *text;
	struct tls_trust *t;
	long len;

	assert_int_equal(PEM_write_bio_X509(out, x), 1);
	len = BIO_get_mem_data(out, &text);
	t = tls_trust_make(text, (size_t)len, true, why);
	assert_non_null(t);
	BIO_free(out);
	return t;
}

/* ---- the server ---- */

enum damage { DAMAGE_NONE, DAMAGE_CUT, DAMAGE_FLIP, DAMAGE_SLOW };

struct server {
	SSL_CTX *ctx;
	SSL *ssl;
	BIO *in, *out; /* borrows */
	int fd;
	enum damage damage;
	size_t at;   /* of the damage */
	size_t sent; /* bytes so far */
	bool closed;
};

static SSL_CTX *server_context(const struct identity *id)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

	assert_non_null(ctx);
	assert_int_equal(SSL_CTX_use_certificate(ctx, id->cert), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(ctx, id->key), 1);
	return ctx;
}

static void put(struct server *s, const uint8_t *bytes, size_t len)
{
	if (len == 0 || s->closed)
		return;
	assert_int_equal(send(s->fd, bytes, len, MSG_NOSIGNAL), len);
	s->sent += len;
}

static void close_side(struct server *s)
{
	(void)shutdown(s->fd, SHUT_WR);
	s->closed = true;
}

/* Sends what the server says, with the damage. */
static void deliver(struct server *s)
{
	uint8_t bytes[65536];
	int n;

	if (s->damage == DAMAGE_SLOW) {
		n = BIO_read(s->out, bytes, 1);
		put(s, bytes, n > 0 ? (size_t)n : 0);
		return;
	}
	while ((n = BIO_read(s->out, bytes, sizeof(bytes))) > 0) {
		const bool hit = s->damage != DAMAGE_NONE && s->at >= s->sent && s->at - s->sent < (size_t)n;

		if (hit && s->damage == DAMAGE_CUT) {
			put(s, bytes, s->at - s->sent);
			close_side(s);
			return;
		}
		if (hit)
			bytes[s->at - s->sent] ^= (uint8_t)(1u << s->at % 8);
		put(s, bytes, (size_t)n);
	}
}

/* Reads what has arrived, and answers. False: it refuses the client. */
static bool serve(struct server *s)
{
	uint8_t bytes[4096];
	ssize_t n;
	int result;

	while ((n = recv(s->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		assert_int_equal(BIO_write(s->in, bytes, (int)n), n);
	result = SSL_read(s->ssl, bytes, sizeof(bytes));
	if (result > 0)
		result = SSL_write(s->ssl, ANSWER, (int)strlen(ANSWER));
	deliver(s);
	return result > 0 || SSL_get_error(s->ssl, result) == SSL_ERROR_WANT_READ;
}

/* ---- a check ---- */

struct outcome {
	ssize_t result; /* bytes of the answer, or -errno */
	char why[100];
	size_t sent;    /* by the server */
};

struct question {
	SSL_CTX *ctx;
	struct config_check check;
	const char *name;
	bool named;
	enum damage damage;
	size_t at;
};

static ssize_t step(struct probe_tls *t, bool *secured, bool *asked, char answer[100])
{
	ssize_t n;

	probe_tls_next_turn(t);
	if (!*secured) {
		n = probe_tls_shake(t);
		if (n != 0)
			return n;
		*secured = true;
	}
	if (!*asked) {
		n = probe_tls_send(t, "GET /", 5);
		if (n < 0)
			return n;
		*asked = true;
	}
	return probe_tls_recv(t, answer, 100);
}

/* Both sides in turn, until the client has an answer or an error, or nothing moves any more. */
static void converse(struct probe_tls *t, struct server *s, struct outcome *o)
{
	bool secured = false, asked = false, refused = false;
	char answer[100];

	for (unsigned turn = 0; turn < 20000; turn++) {
		o->result = step(t, &secured, &asked, answer);
		if (o->result != -EAGAIN)
			break;
		if (refused && BIO_pending(s->out) == 0) {
			close_side(s);
			refused = false;
		} else if (!refused) {
			refused = !serve(s);
		} else {
			deliver(s);
		}
		/* The damage may leave both waiting for each other. */
		if (s->damage == DAMAGE_FLIP && turn == 40)
			close_side(s);
	}
	if (o->result > 0)
		assert_memory_equal(answer, ANSWER, strlen(ANSWER));
	(void)snprintf(o->why, sizeof(o->why), "%s", o->result == -EPROTO ? probe_tls_why(t) : "");
	o->sent = s->sent;
}

static struct outcome ask(const struct question *q)
{
	struct server s = {.damage = q->damage, .at = q->at};
	struct outcome o = {0};
	struct probe_tls *t;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	s.fd = fds[1];
	s.ssl = SSL_new(q->ctx);
	s.in = BIO_new(BIO_s_mem());
	s.out = BIO_new(BIO_s_mem());
	BIO_set_mem_eof_return(s.in, -1);
	BIO_set_mem_eof_return(s.out, -1);
	SSL_set_bio(s.ssl, s.in, s.out);
	SSL_set_accept_state(s.ssl);
	t = probe_tls_new(&q->check, q->name, q->named, fds[0]);
	assert_non_null(t);
	converse(t, &s, &o);
	probe_tls_say_goodbye(t);
	probe_tls_free(t);
	SSL_free(s.ssl);
	close(fds[0]);
	close(fds[1]);
	ERR_clear_error();
	return o;
}

static struct question question(SSL_CTX *ctx, struct tls_trust *trust)
{
	return (struct question){
		.ctx = ctx,
		.check = {.tls = true, .trust = trust,
			  .verify = trust != NULL ? CONFIG_CHECK_VERIFY_FILE : CONFIG_CHECK_VERIFY_NONE},
		.name = NAME,
		.named = true,
	};
}

static void assert_refused(struct question q, const char *why)
{
	const struct outcome o = ask(&q);

	assert_int_equal(o.result, -EPROTO);
	assert_string_equal(o.why, why);
}

static void assert_good(struct question q)
{
	const struct outcome o = ask(&q);

	assert_string_equal(o.why, "");
	assert_int_equal(o.result, strlen(ANSWER));
}

/* ---- good servers, and names ---- */

static void a_good_server_answers_by_name_and_by_address(void **state)
{
	struct identity id = make_identity(NAME, &ca, DAY, false);
	struct tls_trust *trust = trust_of(ca.cert), *own = trust_of(id.cert);
	SSL_CTX *ctx = server_context(&id);
	struct question q = question(ctx, trust);

	(void)state;
	assert_good(q);
	q.damage = DAMAGE_SLOW;
	assert_good(q);
	q.damage = DAMAGE_NONE;
	q.name = "192.0.2.7";
	q.named = false;
	assert_good(q);
	q.name = "192.0.2.8";
	assert_refused(q, "certificate refused: IP address mismatch");
	q.name = "other.example";
	q.named = true;
	assert_refused(q, "certificate refused: hostname mismatch");
	assert_good(question(ctx, own)); /* the certificate itself is trusted */
	q.check.verify = CONFIG_CHECK_VERIFY_NONE;
	assert_good(q);
	SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
	assert_good(question(ctx, trust));
	SSL_CTX_free(ctx);
	tls_trust_drop(trust);
	tls_trust_drop(own);
	free_identity(&id);
}

static void a_certificate_that_is_not_good_is_refused(void **state)
{
	struct identity expired = make_identity(NAME, &ca, -3600, false);
	struct identity alone = make_identity(NAME, NULL, DAY, false);
	struct tls_trust *trust = trust_of(ca.cert);
	SSL_CTX *old = server_context(&expired), *own = server_context(&alone);

	(void)state;
	assert_refused(question(old, trust), "certificate refused: certificate has expired");
	assert_refused(question(own, trust), "certificate refused: self-signed certificate");
	assert_good(question(old, NULL));
	assert_good(question(own, NULL));
	SSL_CTX_free(old);
	SSL_CTX_free(own);
	tls_trust_drop(trust);
	free_identity(&expired);
	free_identity(&alone);
}

/* ---- what would cost too much ---- */

/* An odd number of so many bits, which nobody has to be able to factor. */
static EVP_PKEY *rsa_of(int bits)
{
	OSSL_PARAM_BLD *b = OSSL_PARAM_BLD_new();
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL);
	BIGNUM *n = BN_new(), *e = BN_new();
	EVP_PKEY *key = NULL;
	OSSL_PARAM *params;

	assert_int_equal(BN_rand(n, bits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ODD), 1);
	assert_int_equal(BN_set_word(e, 65537), 1);
	OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_N, n);
	OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_E, e);
	params = OSSL_PARAM_BLD_to_param(b);
	assert_int_equal(EVP_PKEY_fromdata_init(ctx), 1);
	assert_int_equal(EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params), 1);
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(b);
	EVP_PKEY_CTX_free(ctx);
	BN_free(n);
	BN_free(e);
	return key;
}

/* The server sends so many certificates of keys like this behind its own. */
static void extend(SSL_CTX *ctx, EVP_PKEY *key, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(SSL_CTX_add0_chain_cert(ctx, certify(key, "More", &ca, DAY, true)), 1);
}

static void large_chains_and_keys_are_refused_whoever_is_trusted(void **state)
{
	const struct {
		int bits; /* of an RSA key; 0 = EC */
		size_t count;
		const char *why; /* NULL = good */
	} rows[] = {
		{0, 7, NULL},
		{0, 8, "certificate refused: more than 8 certificates"},
		{8192, 1, NULL},
		{8193, 1, "certificate refused: an RSA key of more than 8192 bits"},
		{16384, 1, "certificate refused: an RSA key of more than 8192 bits"},
		{8192, 40, "certificate refused: more than 32 KiB"},
	};
	struct tls_trust *trust = trust_of(ca.cert);

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		struct identity id = make_identity(NAME, &ca, DAY, false);
		SSL_CTX *ctx = server_context(&id);
		EVP_PKEY *key = rows[i / 2].bits != 0 ? rsa_of(rows[i / 2].bits) : EVP_EC_gen("P-256");
		const struct question q = question(ctx, i % 2 == 0 ? trust : NULL);

		extend(ctx, key, rows[i / 2].count);
		if (rows[i / 2].why == NULL)
			assert_good(q);
		else
			assert_refused(q, rows[i / 2].why);
		EVP_PKEY_free(key);
		SSL_CTX_free(ctx);
		free_identity(&id);
	}
	tls_trust_drop(trust);
}

static void keys_of_other_kinds_are_refused(void **state)
{
	struct identity id = make_identity(NAME, &ca, DAY, false);
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "X25519");
	SSL_CTX *ctx = server_context(&id);

	(void)state;
	extend(ctx, key, 1);
	assert_refused(question(ctx, NULL), "certificate refused: an unknown kind of key");
	EVP_PKEY_free(key);
	SSL_CTX_free(ctx);
	free_identity(&id);
}

static void old_versions_and_other_key_exchanges_are_refused(void **state)
{
	struct identity id = make_identity(NAME, &ca, DAY, false);
	SSL_CTX *old = server_context(&id), *dhe;
	struct identity rsa = {.key = EVP_RSA_gen(2048)};
	struct question q;

	(void)state;
	SSL_CTX_set_min_proto_version(old, TLS1_VERSION);
	SSL_CTX_set_max_proto_version(old, TLS1_1_VERSION);
	assert_int_equal(SSL_CTX_set_cipher_list(old, "ALL:@SECLEVEL=0"), 1);
	q = question(old, NULL);
	assert_refused(q, "TLS alert: protocol version");
	rsa.cert = certify(rsa.key, NAME, &ca, DAY, false);
	dhe = server_context(&rsa);
	SSL_CTX_set_max_proto_version(dhe, TLS1_2_VERSION);
	SSL_CTX_set_dh_auto(dhe, 1);
	assert_int_equal(SSL_CTX_set_cipher_list(dhe, "DHE:!ECDHE"), 1);
	assert_refused(question(dhe, NULL), "TLS alert: handshake failure");
	assert_int_equal(SSL_CTX_set_cipher_list(dhe, "kRSA"), 1);
	assert_refused(question(dhe, NULL), "TLS alert: handshake failure");
	SSL_CTX_free(old);
	SSL_CTX_free(dhe);
	free_identity(&id);
	free_identity(&rsa);
}

/* ---- damage ---- */

/* Each byte of the server's side of a handshake and an answer; what succeeds nevertheless, if anything, is
 * what nobody looks at. */
static void damage_each_byte(SSL_CTX *ctx, struct tls_trust *trust, enum damage damage)
{
	struct question q = question(ctx, trust);
	const size_t whole = ask(&q).sent;
	size_t good = 0;

	assert_in_range(whole, 600, 4000);
	q.damage = damage;
	for (q.at = 0; q.at < whole; q.at++) {
		const struct outcome o = ask(&q);

		if (o.result > 0)
			good++;
		else if (o.result == -EPROTO)
			assert_string_not_equal(o.why, "");
		else
			assert_true(o.result == 0 || o.result == -EPIPE || o.result == -ECONNRESET);
	}
	/* Versions in the headers of records, and the tickets and what else follows the answer. */
	assert_in_range(good, 0, damage == DAMAGE_CUT ? 100 : 20);
}

static void every_byte_may_be_lost_or_wrong(void **state)
{
	struct identity id = make_identity(NAME, &ca, DAY, false);
	struct tls_trust *trust = trust_of(ca.cert);
	SSL_CTX *ctx = server_context(&id);

	(void)state;
	SSL_CTX_set_num_tickets(ctx, 0);
	damage_each_byte(ctx, trust, DAMAGE_CUT);
	damage_each_byte(ctx, trust, DAMAGE_FLIP);
	SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION);
	damage_each_byte(ctx, trust, DAMAGE_CUT);
	damage_each_byte(ctx, trust, DAMAGE_FLIP);
	SSL_CTX_free(ctx);
	tls_trust_drop(trust);
	free_identity(&id);
}

/* ---- endless servers ---- */

/* A pair after the handshake. */
static struct probe_tls *connect_pair(struct server *s, SSL_CTX *ctx)
{
	const struct config_check check = {.tls = true, .verify = CONFIG_CHECK_VERIFY_NONE};
	struct probe_tls *t;
	int fds[2], err = -EAGAIN, room = 1 << 20;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
	assert_int_equal(setsockopt(fds[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
	*s = (struct server){.fd = fds[1], .ssl = SSL_new(ctx), .in = BIO_new(BIO_s_mem()),
			     .out = BIO_new(BIO_s_mem())};
	BIO_set_mem_eof_return(s->in, -1);
	BIO_set_mem_eof_return(s->out, -1);
	SSL_set_bio(s->ssl, s->in, s->out);
	SSL_set_accept_state(s->ssl);
	t = probe_tls_new(&check, NAME, true, fds[0]);
	for (unsigned i = 0; i < 20 && err == -EAGAIN; i++) {
		probe_tls_next_turn(t);
		err = probe_tls_shake(t);
		(void)serve(s);
	}
	assert_int_equal(err, 0);
	(void)serve(s);
	return t;
}

/* Messages that carry nothing: bounded in each turn, and in all. */
static void a_flood_of_key_updates_ends_within_bounds(void **state)
{
	struct identity id = make_identity(NAME, &ca, DAY, false);
	SSL_CTX *ctx = server_context(&id);
	struct server s;
	struct probe_tls *t = connect_pair(&s, ctx);
	size_t turns = 0;
	char byte;
	ssize_t n;

	(void)state;
	do {
		while (BIO_pending(s.out) < PROBE_TLS_TURN_BYTES) {
			assert_int_equal(SSL_key_update(s.ssl, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
			assert_int_equal(SSL_do_handshake(s.ssl), 1);
		}
		deliver(&s);
		probe_tls_next_turn(t);
		n = probe_tls_recv(t, &byte, 1);
		turns++;
	} while (n == -EAGAIN && turns < 1000);
	assert_int_equal(n, -EPROTO);
	assert_string_equal(probe_tls_why(t), "the server sends too much");
	assert_in_range(turns, PROBE_TLS_BYTES_MAX / PROBE_TLS_TURN_BYTES,
			PROBE_TLS_BYTES_MAX / PROBE_TLS_TURN_BYTES + 1);
	probe_tls_free(t);
	SSL_free(s.ssl);
	close(s.fd);
	SSL_CTX_free(ctx);
	free_identity(&id);
}

static int set_up(void **state)
{
	(void)state;
	ca = make_identity("Test CA", NULL, DAY, true);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free_identity(&ca);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_server_answers_by_name_and_by_address),
		cmocka_unit_test(a_certificate_that_is_not_good_is_refused),
		cmocka_unit_test(large_chains_and_keys_are_refused_whoever_is_trusted),
		cmocka_unit_test(keys_of_other_kinds_are_refused),
		cmocka_unit_test(old_versions_and_other_key_exchanges_are_refused),
		cmocka_unit_test(every_byte_may_be_lost_or_wrong),
		cmocka_unit_test(a_flood_of_key_updates_ends_within_bounds),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
