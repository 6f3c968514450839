/* SPDX-License-Identifier: MIT
 *
 * model_ring_rules.c - what an entry of the modelled io_uring may say.
 *
 * Refuses, by failing the seed, what Linux would refuse, and what it would suffer but a worker should not: a
 * read or a write that waits in the ring, two pending ops of one user_data, a link of other ops than a poll
 * and its read. Owns nothing. One thread. Tests only.
 */
#include <sys/socket.h>

#include "model_ring.h"

bool mrule_waits(uint8_t opcode)
{
	return opcode == IORING_OP_POLL_ADD || opcode == IORING_OP_CONNECT || opcode == IORING_OP_RECV ||
	       opcode == IORING_OP_SEND || opcode == IORING_OP_TIMEOUT;
}

static void check_user_data(const struct ring *r, uint64_t user_data)
{
	for (int i = 0; i < r->op_top; i++)
		if (r->ops[i].state != MOP_NONE && r->ops[i].sqe.user_data == user_data)
			sim_fail("user_data %#llx is pending twice", (unsigned long long)user_data);
	for (uint32_t i = 0; i < r->done_count; i++) {
		const struct mdone *d = &r->done[(r->done_head + i) % MODEL_RING_DONE];

		if (d->last && mrule_waits(d->opcode) && d->done.user_data == user_data)
			sim_fail("user_data %#llx is used before its last completion was taken",
				 (unsigned long long)user_data);
	}
}

/* A read or a write never waits in the ring. */
static void check_transfer(const struct ring *r, const struct io_uring_sqe *sqe)
{
	const bool sends = sqe->opcode == IORING_OP_SEND;

	if (!(sqe->msg_flags & MSG_DONTWAIT) || (sqe->ioprio & IORING_RECVSEND_POLL_FIRST))
		sim_fail("op %u on fd %d waits in the ring: behind an urgent mark or a FIN the kernel would "
			 "hand it to a thread", sqe->opcode, sqe->fd);
	if ((sqe->flags & IOSQE_BUFFER_SELECT) && sqe->buf_group != RING_BUF_GROUP)
		sim_fail("op %u reads into buffers of group %u", sqe->opcode, sqe->buf_group);
	if (!sends)
		return;
	if (!(sqe->msg_flags & MSG_NOSIGNAL))
		sim_fail("a send to fd %d may raise SIGPIPE", sqe->fd);
	if (sqe->len == 0)
		sim_fail("send of length 0 to fd %d", sqe->fd);
	mring_check_memory(r, (const uint8_t *)(uintptr_t)sqe->addr, sqe->len, "a send uses");
}

static void check_poll(const struct io_uring_sqe *sqe)
{
	const bool multi = (sqe->len & IORING_POLL_ADD_MULTI) != 0;

	if (multi && (sqe->flags & IOSQE_CQE_SKIP_SUCCESS))
		sim_fail("EINVAL: a multishot poll that tells nothing");
	if (sqe->len & ~IORING_POLL_ADD_MULTI)
		sim_fail("a poll has flags %#x, which the model does not know", sqe->len);
}

static void check_opcode(uint8_t opcode)
{
	if (!mrule_waits(opcode) && opcode != IORING_OP_NOP && opcode != IORING_OP_CLOSE &&
	    opcode != IORING_OP_ASYNC_CANCEL)
		sim_fail("op %u is none that the ring lets through", opcode);
}

void mrule_entry(const struct ring *r, const struct io_uring_sqe *sqe)
{
	const unsigned known = IOSQE_CQE_SKIP_SUCCESS | IOSQE_BUFFER_SELECT | IOSQE_IO_LINK;

	check_opcode(sqe->opcode);
	if (sqe->flags & ~known)
		sim_fail("op %u has flags %#x, which the model does not know", sqe->opcode, sqe->flags);
	if ((sqe->flags & IOSQE_IO_LINK) && sqe->opcode != IORING_OP_POLL_ADD)
		sim_fail("op %u is linked to the next entry, only a poll may be", sqe->opcode);
	if (sqe->opcode == IORING_OP_POLL_ADD)
		check_poll(sqe);
	if (sqe->opcode == IORING_OP_RECV || sqe->opcode == IORING_OP_SEND)
		check_transfer(r, sqe);
	if (mrule_waits(sqe->opcode))
		check_user_data(r, sqe->user_data);
}

void mrule_link(const struct io_uring_sqe *poll, const struct io_uring_sqe *read)
{
	if (read->opcode != IORING_OP_RECV || read->flags != IOSQE_BUFFER_SELECT)
		sim_fail("a poll is linked to op %u with flags %#x", read->opcode, read->flags);
	if (read->fd != poll->fd || read->user_data != poll->user_data)
		sim_fail("a poll of fd %d is linked to a read of another socket or name", poll->fd);
	if (!(poll->flags & IOSQE_CQE_SKIP_SUCCESS) || (poll->len & IORING_POLL_ADD_MULTI))
		sim_fail("a poll of fd %d that is linked to a read tells more than its failure", poll->fd);
	check_transfer(NULL, read);
}
