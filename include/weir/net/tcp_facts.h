/* SPDX-License-Identifier: MIT
 *
 * tcp_facts.h - what the kernel knows of a TCP connection (tcp(7), TCP_INFO): for reports only.
 *
 * A plain value. One system call, so nothing on the hot path takes it. Any thread.
 */
#ifndef WEIR_NET_TCP_FACTS_H
#define WEIR_NET_TCP_FACTS_H

#include <stdbool.h>
#include <stdint.h>

/* We are the sender of "sent", and the receiver of "received". */
struct tcp_facts {
	uint64_t busy_us;           /* time with bytes on their way or waiting to be sent */
	uint64_t window_us;         /* part of it in which the peer's receive window held us back */
	uint64_t send_buffer_us;    /* part of it in which our own send buffer did */
	uint64_t delivery_rate;     /* bytes per second, as last measured */
	uint32_t rtt_us;
	uint32_t rtt_var_us;
	uint32_t min_rtt_us;
	uint32_t cwnd;              /* segments */
	uint32_t unacked;           /* segments */
	uint32_t lost;              /* segments */
	uint32_t retransmits;       /* segments, since the connection began */
	uint32_t unsent_bytes;
	uint32_t since_sent_ms;     /* since data was last sent, and received */
	uint32_t since_received_ms;
	uint8_t state;              /* the kernel's number */
	bool known;                 /* false: it is no TCP socket, and nothing else is set */
};

/* Fills `out`, which does not borrow `fd`. */
void tcp_facts_take(int fd, struct tcp_facts *out);
/* "ESTABLISHED", "CLOSE_WAIT"; "?" for a number without a name. Static. */
const char *tcp_facts_state_word(uint8_t state);

#endif
