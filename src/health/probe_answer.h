/* SPDX-License-Identifier: MIT
 *
 * probe_answer.h - what is known of a server's answer to a check in its own protocol.
 */
#ifndef WEIR_HEALTH_PROBE_ANSWER_H
#define WEIR_HEALTH_PROBE_ANSWER_H

#include <stdbool.h>

enum probe_answer {
	PROBE_ANSWER_MORE,    /* not known yet */
	PROBE_ANSWER_ASK,     /* the server waits for the next question */
	PROBE_ANSWER_GOOD,
	PROBE_ANSWER_REFUSED, /* understood, but not a good answer */
	PROBE_ANSWER_BROKEN,  /* not the protocol, or cut short */
};

/* Why an answer that has ended without a verdict is broken; `nothing`: not a byte of it came. Static. */
static inline const char *probe_answer_cut(bool nothing)
{
	return nothing ? "connection closed without an answer" : "the answer ends too early";
}

#endif
