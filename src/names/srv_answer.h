/* SPDX-License-Identifier: MIT
 *
 * srv_answer.h - reads a DNS message: SRV records, and the addresses that came with them.
 *
 * The library that asks has checked id and question, but the bytes are a stranger's. Pure; any thread.
 */
#ifndef WEIR_NAMES_SRV_ANSWER_H
#define WEIR_NAMES_SRV_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/net/addr.h"

/* What an answer has beyond is left out. */
#define SRV_TARGETS_MAX 256

struct srv_target {
	char host[256]; /* lower case, without a final dot */
	uint16_t port;
	uint16_t weight;
	uint16_t priority;
};

/* An A or AAAA record of the additional section. */
struct srv_extra {
	char host[256];
	struct addr addr; /* without a port */
};

struct srv_answer {
	struct srv_target *targets; /* owns */
	size_t target_count;
	struct srv_extra *extras; /* owns */
	size_t extra_count;
	uint32_t ttl_s; /* the lowest of the records that were used; UINT32_MAX = of none */
	bool by_cname;
};

/* 0, or with nothing allocated -EBADMSG or -ENOMEM. The target "." is no target: RFC 2782. */
int srv_answer_read(struct srv_answer *a, const uint8_t *bytes, size_t len);
void srv_answer_free(struct srv_answer *a);

#endif
