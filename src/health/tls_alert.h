/* SPDX-License-Identifier: MIT
 *
 * tls_alert.h - what a TLS alert says, in words. Any thread.
 */
#ifndef WEIR_HEALTH_TLS_ALERT_H
#define WEIR_HEALTH_TLS_ALERT_H

/* Enough for any. */
#define TLS_ALERT_MAX 48

/* "TLS alert: handshake failure", in `buf`. */
const char *tls_alert_words(unsigned number, char buf[TLS_ALERT_MAX]);

#endif
