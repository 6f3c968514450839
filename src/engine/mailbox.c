/* SPDX-License-Identifier: MIT
 *
 * mailbox.c - how other threads talk to a worker: signals that merge, and a ring of letters.
 *
 * Senders: any thread. Reader: the worker.
 */
#include "mailbox.h"

#include <assert.h>

#include "weir/base/check.h"

static_assert((MAILBOX_LETTERS & (MAILBOX_LETTERS - 1)) == 0,
	      "places follow each other when head and tail wrap");

void mailbox_init(struct mailbox *m, struct io_loop *loop)
{
	m->loop = loop;
	atomic_init(&m->signals, 0);
	atomic_init(&m->awake, false);
	spinlock_init(&m->lock);
	m->head = 0;
	m->tail = 0;
	m->closed = false;
}

/* One eventfd write for everything that is sent before the reader looks. */
static void wake(struct mailbox *m)
{
	if (!atomic_exchange(&m->awake, true))
		io_loop_wake(m->loop);
}

void mailbox_signal(struct mailbox *m, enum mail_signal signal)
{
	check(signal != 0);
	atomic_fetch_or(&m->signals, (unsigned)signal);
	wake(m);
}

bool mailbox_send(struct mailbox *m, const struct letter *letter)
{
	bool sent = false;

	spinlock_lock(&m->lock);
	check(m->head - m->tail <= MAILBOX_LETTERS);
	if (!m->closed && m->head - m->tail < MAILBOX_LETTERS) {
		m->letters[m->head % MAILBOX_LETTERS] = *letter;
		m->head++;
		sent = true;
	}
	spinlock_unlock(&m->lock);
	if (sent)
		wake(m);
	return sent;
}

unsigned mailbox_signals(struct mailbox *m)
{
	/* Clear this first, then look: whatever is sent from here on wakes the loop again. */
	atomic_store(&m->awake, false);
	return atomic_exchange(&m->signals, 0);
}

bool mailbox_take(struct mailbox *m, struct letter *out)
{
	bool taken = false;

	spinlock_lock(&m->lock);
	check(m->head - m->tail <= MAILBOX_LETTERS);
	check(!m->closed || m->head == m->tail); /* senders to a closed mailbox keep their letters */
	if (m->head != m->tail) {
		*out = m->letters[m->tail % MAILBOX_LETTERS];
		m->tail++;
		taken = true;
	}
	spinlock_unlock(&m->lock);
	return taken;
}

bool mailbox_is_signalled(const struct mailbox *m, enum mail_signal signal)
{
	return (atomic_load(&m->signals) & (unsigned)signal) != 0;
}

uint32_t mailbox_sent(struct mailbox *m)
{
	uint32_t sent;

	spinlock_lock(&m->lock);
	sent = m->head;
	spinlock_unlock(&m->lock);
	return sent;
}

bool mailbox_has_taken(struct mailbox *m, uint32_t sent)
{
	uint32_t taken;

	spinlock_lock(&m->lock);
	taken = m->tail;
	spinlock_unlock(&m->lock);
	return (int32_t)(taken - sent) >= 0;
}

bool mailbox_close(struct mailbox *m)
{
	bool empty;

	spinlock_lock(&m->lock);
	empty = m->head == m->tail;
	m->closed = empty;
	spinlock_unlock(&m->lock);
	return empty;
}
