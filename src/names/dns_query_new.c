/* SPDX-License-Identifier: MIT
 *
 * dns_query_new.c - what differs between versions of c-ares, from 1.34 on. Control thread.
 */
#include <ares.h>
#include <stdlib.h>

#include "dns_wire.h"

struct new_query {
	dns_message *done;
	void *arg;
};

/* It has been parsed; as bytes it is read by the same code as with other versions. */
static void on_record(void *arg, ares_status_t status, size_t timeouts, const ares_dns_record_t *record)
{
	struct new_query *q = arg;
	unsigned char *bytes = NULL;
	size_t len = 0;

	(void)timeouts;
	if (status == ARES_SUCCESS)
		status = record != NULL ? ares_dns_write(record, &bytes, &len) : ARES_EBADRESP;
	q->done(q->arg, (int)status, bytes, len);
	ares_free_string(bytes);
	free(q);
}

void dns_query_srv(struct ares_channeldata *ares, const char *host, dns_message *done, void *arg)
{
	struct new_query *q = malloc(sizeof(*q));

	if (q == NULL) {
		done(arg, ARES_ENOMEM, NULL, 0);
		return;
	}
	*q = (struct new_query){done, arg};
	/* The status is that of the callback, which is always called. */
	(void)ares_query_dnsrec(ares, host, ARES_CLASS_IN, ARES_REC_TYPE_SRV, on_record, q, NULL);
}

/* Its cache would hide changes: the schedule of this room is the cache. */
int dns_query_options(struct ares_options *options)
{
	options->qcache_max_ttl = 0;
	return ARES_OPT_QUERY_CACHE;
}
