/* SPDX-License-Identifier: MIT
 *
 * tallies_anew.c - control has maxima and averages begin anew.
 *
 * Owns nothing. Control thread.
 */
#include "weir/engine/tallies.h"

#include "worker.h"

void tally_begin_anew(struct engine *e, bool times, int64_t now_ns)
{
	for (size_t i = 0; i < e->backend_count; i++)
		((struct tally_sum *)chunks_at(&e->kept, e->backends[i]->slot))->sessions_max = 0;
	atomic_store_explicit(&e->rates_since, tally_second_at(now_ns), memory_order_relaxed);
	for (unsigned i = 0; i < e->worker_count; i++) {
		if (times)
			mailbox_signal(&e->workers[i]->mailbox, MAIL_TIMES);
		mailbox_signal(&e->workers[i]->mailbox, MAIL_MAXIMA);
	}
}
