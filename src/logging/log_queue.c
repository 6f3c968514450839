/* SPDX-License-Identifier: MIT
 *
 * log_queue.c - a queue of whole lines, as a ring of LOG_QUEUE_BYTES.
 *
 * Knows no lock and no thread: its log_file locks it.
 */
#include "log_queue.h"

#include <stdint.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"

/* How many bytes of an idle ring keep their memory. */
#define RING_KEPT 16384u

void log_queue_init(struct log_queue *q)
{
	q->head = q->used = q->reached = 0;
}

size_t log_queue_put(struct log_queue *q, const char *lines, size_t len)
{
	const size_t room = LOG_QUEUE_BYTES - q->used;
	size_t first;

	if (len > room) {
		const char *last = memrchr(lines, '\n', room);

		len = last != NULL ? (size_t)(last - lines) + 1 : 0;
	}
	first = len < LOG_QUEUE_BYTES - q->head ? len : LOG_QUEUE_BYTES - q->head;
	memcpy(q->ring + q->head, lines, first);
	memcpy(q->ring, lines + first, len - first);
	q->head = (q->head + len) % LOG_QUEUE_BYTES;
	q->used += len;
	if (first < len)
		q->reached = LOG_QUEUE_BYTES;
	else if (q->head > q->reached)
		q->reached = q->head;
	return len;
}

size_t log_queue_take(struct log_queue *q, char *out, size_t room)
{
	size_t len = q->used < room ? q->used : room;
	const size_t tail = (q->head + LOG_QUEUE_BYTES - q->used) % LOG_QUEUE_BYTES;
	const size_t first = len < LOG_QUEUE_BYTES - tail ? len : LOG_QUEUE_BYTES - tail;
	const char *last;

	if (len == 0)
		return 0;
	memcpy(out, q->ring + tail, first);
	memcpy(out + first, q->ring, len - first);
	last = memrchr(out, '\n', len);
	check(last != NULL); /* a line is much shorter than `room` */
	len = (size_t)(last - out) + 1;
	q->used -= len;
	if (q->used == 0)
		q->head = 0; /* a log that keeps up touches few pages */
	return len;
}

void log_queue_give_back(struct log_queue *q)
{
	const size_t page = sys_page_bytes();
	const size_t gap = (page - ((uintptr_t)q->ring + RING_KEPT) % page) % page; /* up to the next page */
	const size_t len = (LOG_QUEUE_BYTES - RING_KEPT - gap) / page * page;

	check(q->used == 0);
	if (q->reached <= RING_KEPT)
		return;
	q->reached = 0;
	(void)sys_discard(q->ring + RING_KEPT + gap, len); /* on failure they stay */
}
