/* SPDX-License-Identifier: MIT
 *
 * log_queue.h - a queue of whole lines, as a ring of LOG_QUEUE_BYTES.
 *
 * Knows no lock and no thread: its log_file locks it. An empty queue gives the pages of a burst back.
 */
#ifndef WEIR_LOGGING_LOG_QUEUE_H
#define WEIR_LOGGING_LOG_QUEUE_H

#include <stddef.h>

#define LOG_QUEUE_BYTES (1024u * 1024u)

struct log_queue {
	size_t head; /* index in the ring where the next byte goes */
	size_t used;
	size_t reached; /* the highest `head` since memory was given back */
	char ring[LOG_QUEUE_BYTES];
};

/* An empty queue; the ring need not be cleared. */
void log_queue_init(struct log_queue *q);

/* Takes as many whole lines from the start of `lines` as fit; returns their length in bytes. */
size_t log_queue_put(struct log_queue *q, const char *lines, size_t len);
/* Moves whole lines to `out`, at most `room` bytes, which fit any line; returns their length, 0 if the queue
 * is empty. */
size_t log_queue_take(struct log_queue *q, char *out, size_t room);
/* Releases the pages used by a burst of lines. The queue is empty. */
void log_queue_give_back(struct log_queue *q);

#endif
