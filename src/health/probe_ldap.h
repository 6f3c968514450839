/* SPDX-License-Identifier: MIT
 *
 * probe_ldap.h - an LDAP health check: an anonymous bind, and its answer, parsed incrementally.
 *
 * As HAProxy's `option ldap-check`: version 3 of the protocol (RFC 4511), no name, no password, and only the
 * result 0 is good. Keeps one message. Any thread.
 */
#ifndef WEIR_HEALTH_PROBE_LDAP_H
#define WEIR_HEALTH_PROBE_LDAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/balance/probe_view.h"
#include "probe_answer.h"

/* The longest answer; one without a referral has some 20 bytes and a text. */
#define PROBE_LDAP_MESSAGE 1024

struct probe_ldap {
	enum probe_answer answer; /* final once it is not MORE */
	bool bound; /* the bind was answered: an unbind is what the server expects at the end */
	size_t len;
	uint8_t message[PROBE_LDAP_MESSAGE];
	char detail[PROBE_DETAIL_MAX]; /* of the final answer; printable; may be "" */
};

void probe_ldap_init(struct probe_ldap *l);
/* The request; static. */
const uint8_t *probe_ldap_request(size_t *len);
/* The message to end with; NULL = none is expected. Static. */
const uint8_t *probe_ldap_farewell(const struct probe_ldap *l, size_t *len);
/* Takes more input. What follows a final answer does not matter. */
enum probe_answer probe_ldap_push(struct probe_ldap *l, const uint8_t *data, size_t len);
/* No more input will come or is wanted. Never returns PROBE_ANSWER_MORE. */
enum probe_answer probe_ldap_end(struct probe_ldap *l);

#endif
