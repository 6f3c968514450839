/* SPDX-License-Identifier: MIT
 *
 * dns_query_old.c - what differs between versions of c-ares, before 1.28. Control thread.
 */
#include <ares.h>
#include <ares_nameser.h>
#include <stdlib.h>

#include "dns_wire.h"

struct old_query {
	dns_message *done;
	void *arg;
};

static void on_message(void *arg, int status, int timeouts, unsigned char *bytes, int len)
{
	struct old_query *q = arg;

	(void)timeouts;
	q->done(q->arg, status, bytes, len > 0 ? (size_t)len : 0);
	free(q);
}

void dns_query_srv(struct ares_channeldata *ares, const char *host, dns_message *done, void *arg)
{
	struct old_query *q = malloc(sizeof(*q));

	if (q == NULL) {
		done(arg, ARES_ENOMEM, NULL, 0);
		return;
	}
	*q = (struct old_query){done, arg};
	ares_query(ares, host, ns_c_in, ns_t_srv, on_message, q);
}

int dns_query_options(struct ares_options *options)
{
	(void)options; /* nothing is to be turned off */
	return 0;
}
