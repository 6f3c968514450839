/* SPDX-License-Identifier: MIT
 *
 * probe_tls.h - a TLS session of one health check, on a socket that somebody else owns.
 *
 * TLS 1.2 or newer with an ECDHE key exchange, and nothing else: what a hostile server can make us compute is
 * bounded by what is offered, by the limits below, and by how much is read in one turn of the loop. A build
 * without OpenSSL has probe_tls_none.c. Main thread.
 */
#ifndef WEIR_HEALTH_PROBE_TLS_H
#define WEIR_HEALTH_PROBE_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct config_check;

#define PROBE_TLS_CHAIN_BYTES_MAX 32768
#define PROBE_TLS_CHAIN_MAX 8
#define PROBE_TLS_RSA_BITS_MAX 8192
/* What is read from the socket: per turn of the loop, and in all. A server that sends nothing but tickets and
 * key updates must not hold up the loop: 4 KiB of them take 5 ms. */
#define PROBE_TLS_TURN_BYTES 4096
#define PROBE_TLS_BYTES_MAX (192u * 1024u)

struct probe_tls;

/* Of the server `name`, a host name (`named`) or an address. Copies it, and of `c` what it needs. NULL = no
 * memory. */
struct probe_tls *probe_tls_new(const struct config_check *c, const char *name, bool named, int fd);
/* Does not close the socket. NULL is harmless. */
void probe_tls_free(struct probe_tls *t);
/* A turn of the loop begins. */
void probe_tls_next_turn(struct probe_tls *t);
/* 0 = the handshake is complete and the server is who it must be; -EAGAIN; -EPROTO with a reason; or -errno
 * of the socket. */
int probe_tls_shake(struct probe_tls *t);
/* Did the server send anything? */
bool probe_tls_heard(const struct probe_tls *t);
/* As sys_send() and sys_recv(), with -EPROTO as above. */
ssize_t probe_tls_send(struct probe_tls *t, const void *data, size_t len);
ssize_t probe_tls_recv(struct probe_tls *t, void *data, size_t len);
/* After -EAGAIN: wait until the socket is writable, not readable? */
bool probe_tls_wants_room(const struct probe_tls *t);
/* Tells the server that nothing more will come, if there is room for that. */
void probe_tls_say_goodbye(struct probe_tls *t);
/* After -EPROTO; printable. */
const char *probe_tls_why(const struct probe_tls *t);
/* "TLS 1.3"; static. */
const char *probe_tls_protocol(const struct probe_tls *t);

#endif
