/* SPDX-License-Identifier: MIT
 *
 * tls_trust.h - the certificates that health checks over TLS trust: read once, shared by all that name them.
 *
 * Immutable. The same text gives the same object for as long as somebody has it, so a reload that changes
 * nothing parses nothing, and two objects are the same certificates only if they are the same object. A build
 * without OpenSSL has tls_trust_none.c, which makes none. Any thread: a lock guards the list and the counts.
 */
#ifndef WEIR_NET_TLS_TRUST_H
#define WEIR_NET_TLS_TRUST_H

#include <stdbool.h>
#include <stddef.h>

#define TLS_TRUST_WHY_MAX 160
/* Maximum certificates of one file; systems have about 150. */
#define TLS_TRUST_MAX 4096

struct tls_trust;
struct x509_store_st; /* OpenSSL's X509_STORE */

/* Can this build speak TLS? */
bool tls_is_built(void);
/* "3.0.19"; "" in a build without it. Static. */
const char *tls_version(void);
/* The path of the system's certificates on this machine; NULL = there is none. Static, or of the
 * environment. */
const char *tls_system_file(void);
/* The certificates in `text` (PEM), with a reference for the caller. `part`: also trust those of them that
 * did not sign themselves, as the end of a chain. NULL, with the reason in `why`. */
struct tls_trust *tls_trust_make(const char *text, size_t len, bool part, char why[TLS_TRUST_WHY_MAX]);
/* One more reference. NULL is harmless. */
struct tls_trust *tls_trust_hold(struct tls_trust *t);
/* The last one frees it. NULL is harmless. */
void tls_trust_drop(struct tls_trust *t);
/* Borrowed; safe to use on several threads. */
struct x509_store_st *tls_trust_store(const struct tls_trust *t);

#endif
