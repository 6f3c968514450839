/* SPDX-License-Identifier: MIT
 *
 * tcp_facts.c - what the kernel knows of a TCP connection.
 *
 * The C library's struct tcp_info ends before the times that we need, so this file includes the kernel's
 * header instead of netinet/tcp.h. An older kernel fills in less: the rest reads as 0. Any thread.
 */
#include "weir/net/tcp_facts.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"

void tcp_facts_take(int fd, struct tcp_facts *out)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	memset(&info, 0, sizeof(info));
	memset(out, 0, sizeof(*out));
	if (sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0)
		return;
	out->known = true;
	out->state = info.tcpi_state;
	out->busy_us = info.tcpi_busy_time;
	out->window_us = info.tcpi_rwnd_limited;
	out->send_buffer_us = info.tcpi_sndbuf_limited;
	out->delivery_rate = info.tcpi_delivery_rate;
	out->rtt_us = info.tcpi_rtt;
	out->rtt_var_us = info.tcpi_rttvar;
	out->min_rtt_us = info.tcpi_min_rtt;
	out->cwnd = info.tcpi_snd_cwnd;
	out->unacked = info.tcpi_unacked;
	out->lost = info.tcpi_lost;
	out->retransmits = info.tcpi_total_retrans;
	out->unsent_bytes = info.tcpi_notsent_bytes;
	out->since_sent_ms = info.tcpi_last_data_sent;
	out->since_received_ms = info.tcpi_last_data_recv;
}

const char *tcp_facts_state_word(uint8_t state)
{
	/* The numbers of include/net/tcp_states.h in the kernel. */
	static const char *const words[] = {
		"?",	      "ESTABLISHED", "SYN_SENT", "SYN_RECV",   "FIN_WAIT1", "FIN_WAIT2",
		"TIME_WAIT", "CLOSE",	    "CLOSE_WAIT", "LAST_ACK", "LISTEN",	   "CLOSING",
	};

	return state < ARRAY_LEN(words) ? words[state] : words[0];
}
