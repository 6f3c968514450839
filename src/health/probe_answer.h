/* SPDX-License-Identifier: MIT
 *
 * probe_answer.h - what is known of a server's answer to a check in its own protocol.
 */
#ifndef WEIR_HEALTH_PROBE_ANSWER_H
#define WEIR_HEALTH_PROBE_ANSWER_H

enum probe_answer {
	PROBE_ANSWER_MORE,    /* not known yet */
	PROBE_ANSWER_ASK,     /* the server waits for the next question */
	PROBE_ANSWER_GOOD,
	PROBE_ANSWER_REFUSED, /* understood, but not a good answer */
	PROBE_ANSWER_BROKEN,  /* not the protocol, or cut short */
};

#endif
