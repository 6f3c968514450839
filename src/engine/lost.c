/* SPDX-License-Identifier: MIT
 *
 * lost.c - a worker whose driver has lost results of the kernel: its sessions end, and it goes on.
 *
 * Sessions that were only waiting may have lost nothing, but there is no telling which. Touches no other
 * worker. A worker's thread.
 */
#include <errno.h>

#include "weir/base/check.h"
#include "weir/base/log.h"
#include "session.h"
#include "session_end.h"
#include "worker.h"

static void forget_all(struct worker *w, struct list *sessions)
{
	struct list *pos;
	struct list *tmp;

	list_foreach_safe(sessions, pos, tmp) {
		struct session *s = list_entry(pos, struct session, link);

		check(s->state == SESSION_CLOSING);
		check(s->worker == w);
		io_forget(&w->loop, &s->sides[SIDE_CLIENT].sock);
		io_forget(&w->loop, &s->sides[SIDE_SERVER].sock);
	}
}

void worker_lost(struct io_loop *loop)
{
	struct worker *w = worker_of_loop(loop);
	const uint32_t sessions = w->sessions;

	if (log_limit_ok(&w->shortage_limit, LOG_CAUSE_SHORTAGE, EBADR, loop->now_ns, 1))
		log_line(LOG_LEVEL_ERROR,
			 "worker %u: the kernel ran out of memory and dropped io_uring completions; the "
			 "worker reset its %u sessions and continues with a new ring; raise MemoryMax= or "
			 "write driver = epoll",
			 w->index, sessions);
	while (!list_empty(&w->live))
		session_close(list_entry(w->live.next, struct session, link), CLOSE_RING_LOST);
	forget_all(w, &w->awaiting_ops); /* before `closing`, to which sessions move as their ops come back */
	forget_all(w, &w->closing);
	listeners_foreach(w, l)
		io_forget(loop, &l->sock);
}
