# SPDX-License-Identifier: MIT
"""mutants_list.py - the mutants of mutants.py, one entry each, by rule of the splice contract.

`edits` are (file, exact old text that occurs once, new text); `crowd`: several workers run. Rules
that no mutant can break here are in LEFT_OUT, with the reason.
"""
from mutants_reload import RELOAD_MUTANTS
from mutants_sticky import STICKY_MUTANTS

ATTEMPT = "src/io/attempt.c"
PARKED = "src/io/parked.c"
SOCK = "src/net/sock.c"
URING = "src/io/uring.c"
URING_BUFS = "src/io/uring_bufs.c"
URING_ACCEPT = "src/io/uring_accept.c"
URING_WATCH = "src/io/uring_watch.c"
PIPES = "src/io/pipe_pool.c"
PIPES_H = "include/weir/io/pipe_pool.h"
FLOW = "src/engine/flow.c"
READ = "src/engine/flow_read.c"
WRITE = "src/engine/flow_write.c"
SESSION = "src/engine/session_end.c"
PREFACE = "src/engine/preface.c"
GREETING = "src/engine/greeting.c"
SLAB = "src/io/slab.c"
RETIRE = "src/base/retire.c"
MAILBOX = "src/engine/mailbox.c"
WORKER = "src/engine/worker.c"
LISTENER = "src/engine/listener.c"
SLOTS = "src/engine/slots.c"
ENGINE = "src/engine/engine.c"
LEAVE = "src/entry/endpoint_leave.c"
CONNECT = "src/engine/connect.c"
QUEUE = "src/balance/queue.c"
RATES = "src/net/source_rates.c"

LEFT_OUT = {
    "R4": "is about level-triggered loops; the epoll driver is edge-triggered, and a spin is found by "
          "the limit on calls per turn",
    "R13": "needs threads: the simulator has one; the pools' own tests and tsan cover it (its accounting, "
           "I17, is checked after each seed)",
    "R15": "is in src/sys/sys.c, the one file that the simulator replaces; test_kernel_facts links it",
    "R16": "is a process-wide setting of main(); the system tests kill a peer under splice",
}

MUTANTS = [
    {"rule": "R1", "what": "the pipe's content is counted by the requested length",
     "edits": [(READ, "p->bytes = (uint32_t)n;", "p->bytes = f->rd.max;")]},
    {"rule": "R1", "what": "a short splice out empties the account",
     "edits": [(WRITE, "p->bytes -= (uint32_t)n;", "p->bytes = 0;")]},
    {"rule": "R2", "what": "the length is cut to 16 bits, so 65536 becomes 0",
     "edits": [(ATTEMPT, "n = sys_splice(sock->fd, op->pipe->wr, op->max);",
                "n = sys_splice(sock->fd, op->pipe->wr, op->max & 0xffff);")]},
    {"rule": "R3", "what": "a short splice in is taken for an empty socket",
     "edits": [(ATTEMPT, "	/* A short count does not prove an empty socket",
                "	if ((size_t)n < op->max)\n"
                "		sock->bits &= (uint16_t)~IO_READABLE;\n"
                "	/* A short count does not prove an empty socket")]},
    {"rule": "R3", "what": "a pipe that is not empty is filled again",
     "edits": [(FLOW, "	if (held > 0)\n		return io_is_pending(&f->wr)",
                "	if (f->buf != NULL || (f->pipe != NULL && f->pipe->bytes > f->pipe->cap / 2))\n"
                "		return io_is_pending(&f->wr)"),
               (READ, "	check(p->bytes == 0);\n", ""),
               (ATTEMPT, "	check(op->pipe->bytes == 0);\n", ""),
               (READ, "		p->bytes = (uint32_t)n;\n", "		p->bytes += (uint32_t)n;\n")],
     "drivers": ["epoll"]},
    {"rule": "R5", "what": "a bulk flow waits for its source without an op",
     "edits": [(READ, "	f->rd.kind = IO_READY;\n	f->rd.want = IO_WANT_IN;\n",
                "	return STEP_WAIT;\n")]},
    {"rule": "R5", "what": "a flow waits for its destination without an op",
     "edits": [(WRITE, "	f->wr.kind = IO_READY;\n	f->wr.want = IO_WANT_OUT;\n",
                "	return flow_watch_src(f);\n")]},
    {"rule": "R5", "what": "a flow that gives way is not run again",
     "edits": [(FLOW, "	io_yield(flow_loop(f), &f->rd, where);\n", "")]},
    {"rule": "R5", "what": "a source whose destination is full is not watched",
     "edits": [(FLOW, "	if (io_is_pending(&f->rd) || s->failed == 1 + flow_src_name(f))\n",
                "	if (f->state != FLOW_IDLE)\n")]},
    {"rule": "R5", "what": "bytes that are not the final ones are held back for the FIN",
     "edits": [(READ, "	return (flow_src(f)->sock.bits & (IO_ENDED | IO_ERR)) == IO_ENDED &&",
                "	return (flow_src(f)->sock.bits & IO_ERR) == 0 &&")],
     "drivers": ["epoll"]},
    {"rule": "R5", "what": "a source whose FIN was passed on is not watched",
     "edits": [(FLOW, "	return session_is_forwarding(s) ? flow_watch_src(f) : STEP_WAIT;",
                "	return STEP_WAIT;")]},
    {"rule": "R5", "what": "a source is not watched while a pipe waits for room",
     "edits": [(WRITE, "	return r == IO_PENDING ? flow_watch_src(f) : STEP_GO;",
                "	return r == IO_PENDING ? STEP_WAIT : STEP_GO;")]},
    {"rule": "R5", "what": "a source is not watched while a buffer waits for room",
     "edits": [(WRITE, "	return n == IO_PENDING ? flow_watch_src(f) : flow_on_written(f, n);",
                "	return n == IO_PENDING ? STEP_WAIT : flow_on_written(f, n);")]},
    {"rule": "R6", "what": "a short splice with FIN announced is taken for the end",
     "edits": [(ATTEMPT, "	/* A short count does not prove an empty socket",
                "	if ((size_t)n < op->max && (sock->bits & IO_RDHUP))\n"
                "		sock->bits |= IO_ENDED;\n"
                "	/* A short count does not prove an empty socket")]},
    {"rule": "R7", "what": "a splice of 0 is believed at an urgent mark",
     "edits": [(ATTEMPT, "only a recv proves the end of file (R7). */\n		return IO_COPY;",
                "only a recv proves the end of file (R7). */\n		return 0;")]},
    {"rule": "R8", "what": "EAGAIN with an empty pipe waits, also at an urgent mark",
     "edits": [(ATTEMPT, "		if (sock->bits & (IO_PRI | IO_FRESH))\n"
                "			return IO_COPY;\n", "")]},
    {"rule": "R9", "what": "FIN is passed on when it is announced, with bytes still held",
     "edits": [(FLOW, "	if (held > 0)\n		return io_is_pending(&f->wr)",
                "	if (f->state == FLOW_OPEN && flow_held(f) > 0 && !io_is_pending(&f->wr) &&\n"
                "	    (flow_src(f)->sock.bits & IO_RDHUP)) {\n"
                "		f->wr.kind = IO_SHUTDOWN;\n"
                "		(void)io_start(flow_loop(f), &f->wr);\n"
                "	}\n"
                "	if (held > 0)\n		return io_is_pending(&f->wr)")]},
    {"rule": "R10", "what": "an error is reported before the bytes that preceded it",
     "edits": [(ATTEMPT, "	if (!(sock->bits & IO_READABLE))\n		return IO_PENDING;\n",
                "	if (sock->bits & IO_ERR)\n		return -ECONNRESET;\n"
                "	if (!(sock->bits & IO_READABLE))\n		return IO_PENDING;\n")]},
    {"rule": "R10", "what": "RST is passed on before all is acknowledged",
     "edits": [(PARKED, "	if (!(op->flags & IO_FLUSH) ||", "	if (op->flags != 77 ||")],
     "drivers": ["epoll"]},
    {"rule": "R10", "what": "a reset drops what the flow still holds",
     "edits": [(SESSION, "	flow_source_failed(from);\n",
                "	flow_kill(from);\n	session_flow_delivered(s);\n")]},
    {"rule": "R10", "what": "splice's error at an urgent mark hides the bytes behind it",
     "edits": [(READ, "	note_unspliced(f, n);\n",
                "	note_unspliced(f, n);\n"
                "	if (n >= -4095)\n		return flow_src_ended(f, n);\n")]},
    {"rule": "R11", "what": "a pipe with bytes in it is pooled after an error",
     "edits": [(FLOW, "	pipe_put(&flow_loop(f)->pipes, f->pipe);\n",
                "	f->pipe->bytes = 0;\n	pipe_put(&flow_loop(f)->pipes, f->pipe);\n")]},
    {"rule": "R11", "what": "a flow that dies keeps its pipe",
     "edits": [(FLOW, "		flow_drop_buf(f);\n	flow_drop_pipe(f);\n",
                "		flow_drop_buf(f);\n")]},
    {"rule": "R12", "what": "the pool takes a pipe with bytes in it",
     "edits": [(PIPES_H, "unlikely(p->bytes != 0 ||", "unlikely("),
               (PIPES, "	if (pipe->bytes != 0) {", "	if (pipe->cap == 0) {")]},
    {"rule": "R14", "what": "splice out asks for more than the pipe holds",
     "edits": [(ATTEMPT, "n = sys_splice(op->pipe->rd, sock->fd, op->max);",
                "n = sys_splice(op->pipe->rd, sock->fd, op->pipe->cap);")]},
    {"rule": "R17", "what": "EINVAL of a splice in ends the connection",
     "edits": [(ATTEMPT, "	case -EINVAL:\n	case -ENOSYS:\n	case -EOPNOTSUPP:\n"
                "		return IO_UNSPLICEABLE;\n	case -ENOMEM:", "	case -ENOMEM:")],
     "drivers": ["epoll"]},
    {"rule": "R17", "what": "EINVAL of a splice out ends the connection",
     "edits": [(ATTEMPT, "	case 0:\n	case -EINVAL:\n", "	case 0:\n")], "drivers": ["epoll"]},
    {"rule": "R17", "what": "a flow without a pipe waits for one",
     "edits": [(READ, "	counter_add(&w->counters.pipes_missing, 1);\n	return fill_by_copy(f);\n",
                "	counter_add(&w->counters.pipes_missing, 1);\n	return wait_for_src(f);\n")]},
    {"rule": "-", "what": "a short write keeps too much",
     "edits": [(READ, "if ((uint32_t)n < len && keep_rest(f, (uint32_t)n) == STEP_WAIT)",
                "if ((uint32_t)n < len && keep_rest(f, 0) == STEP_WAIT)")]},
    {"rule": "-", "what": "a short read with FIN announced empties the socket",
     "edits": [(ATTEMPT, "if (!(sock->bits & (IO_RDHUP | IO_HUP | IO_ERR | IO_PRI)))",
                "if (sock->fd >= 0)")], "drivers": ["epoll"]},
    {"rule": "-", "what": "an accepted Unix socket loses the urgent byte",
     "edits": [(SOCK, "	/* Kernels without Unix urgent data (before 5.15) do not need it. */\n",
                "	return;\n")]},
    {"rule": "-", "what": "the first FIN ends both directions",
     "edits": [(SESSION, "	if (s->flows[!f->dir].state != FLOW_DONE) {",
                "	if (s->flows[!f->dir].state == FLOW_DEAD) {")]},
    {"rule": "-", "what": "a reset is passed on as FIN",
     "edits": [(SESSION, "op->kind = s->ends[side] == SIDE_CLOSE ? IO_CLOSE : IO_RESET;",
                "op->kind = IO_CLOSE;")]},
    {"rule": "-", "what": "a reset that a write saw first is forgotten",
     "edits": [(FLOW, "		session_side_failed(flow_session(f), flow_dst_name(f), err);\n"
                "	return STEP_WAIT;", "		flow_kill(f);\n	return STEP_WAIT;")]},
    {"rule": "-", "what": "a reset that waits is finished twice",
     "edits": [(PARKED, "	parked_forget(p, op);\n	p->look_ns = FLUSH_LOOK_NS;",
                "	p->look_ns = FLUSH_LOOK_NS;")], "drivers": ["epoll"]},
    {"rule": "-", "what": "bytes after a PROXY header are dropped",
     "edits": [(PREFACE, "		flow_hold(&s->flows[FLOW_TO_SERVER], rest, rest->len);",
                "		buf_put(&s->worker->loop.bufs, rest);")]},
    {"rule": "-", "what": "a PROXY header is forwarded as if it were the client's bytes",
     "edits": [(PREFACE, "io_buf_keep(&s->worker->loop, op, used);",
                "io_buf_keep(&s->worker->loop, op, 0);")]},
    {"rule": "-", "what": "a server that is tried gets no PROXY header",
     "edits": [(GREETING, "CONFIG_SEND_PROXY_OFF) && !say_header(s))",
                "CONFIG_SEND_PROXY_OFF) && false)")]},
    {"rule": "-", "what": "a page of sessions that is reused restarts its generations",
     "edits": [(SLAB, "	page->gen = (uint16_t)(page->gen + generations_used(slab, page));\n", "")]},
    {"rule": "-", "what": "a page is given back within the batch, and forgets its generations",
     "edits": [(SLAB, "		shelf_push(&slab->empty, &page->item);\n",
                "		empty_out(slab, page);\n"),
               (SLAB, "	page->gen = (uint16_t)(page->gen + generations_used(slab, page));\n", ""),
               (SESSION, "	check(s->state == SESSION_CLOSING);\n	check(!list_empty(&s->link));\n"
                "	list_remove(&s->link);\n"
                "	list_push_back(&s->worker->closing, &s->link);\n",
                "	(void)session_reap(s);\n")]},
    {"rule": "-", "what": "a page with one session left is given back",
     "edits": [(SLAB, "	if (page->used == 0) {\n		list_remove(&page->link);\n",
                "	if (page->used <= 1 && page->item.next == &page->item) {\n"
                "		list_remove(&page->link);\n"),
               (SLAB, "	check(page->used == 0);\n", "")]},
    {"rule": "-", "what": "idle pages of slabs are never given back",
     "edits": [("src/engine/give_back.c", "	if (slab_give_back(&w->slab, GIVE_BACK_PAGES)",
                "	if (slab_give_back(&w->slab, 0)")]},
]

# The io_uring driver: faults that only a ring makes possible. Completions that no kernel delivers (of
# an op that has ended, with numbers beyond all bounds) are left to the fuzzer.
RING_MUTANTS = [
    {"what": "a cancel is not sent",
     "edits": [(URING, "			ask_cancel(u, op);\n",
                "			(void)u;\n")]},
    {"what": "a read that is pending in the ring is not cancelled, but forgotten",
     "edits": [(URING, "		if (!(op->result & URING_CANCELLED))\n"
                "			ask_cancel(u, op);\n		return;\n",
                "		(void)ask_cancel;\n")]},
    {"what": "a read that found no buffer has failed",
     "edits": [(URING_BUFS, "		read_without(u, op);\n		return;",
                "		uring_deliver(u, op, -ENOBUFS);\n		return;")]},
    {"what": "a read without a buffer that finds nothing is not submitted again",
     "edits": [(URING_BUFS, "	if (r == IO_PENDING)\n		ask_read(u, op); /* there was",
                "	if (r == IO_PENDING)\n		return; /* there was")]},
    {"what": "a read whose poll was wrong is lost",
     "edits": [(URING_BUFS, "		ask_read(u, op);\n		return;\n	}\n"
                            "	if (c->res > 0) {",
                "		return;\n	}\n	if (c->res > 0) {")]},
    {"what": "a read whose poll was wrong has failed",
     "edits": [(URING_BUFS, "		ask_read(u, op);\n		return;\n	}\n"
                            "	if (c->res > 0) {",
                "		uring_deliver(u, op, c->res);\n		return;\n	}\n"
                "	if (c->res > 0) {")]},
    {"what": "there is room for one entry of a poll and its read",
     "edits": [(URING_BUFS, "	ring_reserve(u->ring, 2);", "	ring_reserve(u->ring, 1);")]},
    {"what": "a read waits in the ring",
     "edits": [(URING_BUFS, "NULL, most, MSG_DONTWAIT);", "NULL, most, 0);")]},
    {"what": "the poll before a read is woken by an urgent mark",
     "edits": [(URING_BUFS, "poll_add(sqe, op->sock->fd, EPOLLIN);",
                "poll_add(sqe, op->sock->fd, EPOLLIN | EPOLLPRI);")]},
    {"what": "the poll before a read reports its success",
     "edits": [(URING_BUFS, "IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;", "IOSQE_IO_LINK;")]},
    {"what": "a read is not linked to its poll",
     "edits": [(URING_BUFS, "IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;", "IOSQE_CQE_SKIP_SUCCESS;")]},
    {"what": "a kept buffer is lent again",
     "edits": [(URING_BUFS, "	u->lent = NULL;\n	count_in_use(u, b, 1);",
                "	count_in_use(u, b, 1);")]},
    {"what": "a buffer is lent again while a write still uses it",
     "edits": [(URING_BUFS, "	if (!u->lent_is_written && op->len", "	if (op->len")]},
    {"what": "the end of a poll is not seen",
     "edits": [(URING, "	if (!(c->flags & IORING_CQE_F_MORE))\n		watch_own(u, c->user_data);",
                "	if (false)\n		;")]},
    {"what": "the events of a poll that ends are dropped",
     "edits": [(URING, "		watch_own(u, c->user_data); /* the kernel may end a "
                "multishot at any time */\n	if (c->user",
                "		watch_own(u, c->user_data);\n	if (!(c->flags & IORING_CQE_F_MORE))\n"
                "		return;\n"
                "	if (c->user")]},
    {"what": "the set of sockets is not polled",
     "edits": [(URING, "	watch_own(u, URING_EPOLL);\n", "")]},
    {"what": "a listener that was polled once is not polled again",
     "edits": [(URING_ACCEPT,
                "		uring_deliver(u, op, err);\n	else\n		poll_listener(u, op);",
                "		uring_deliver(u, op, err);")]},
    {"what": "a reset that waits for its bytes to be flushed is not watched",
     "edits": [(URING_WATCH, "	if (sys_epoll_ctl(u->epfd, how, sock->fd, EPOLLOUT | EPOLLET, "
                "event_data(sock)) == 0)\n		sock->bits |= IO_POLLED;\n	else\n"
                "		poll_once(u, op);\n",
                "	(void)u;\n	(void)sock;\n	(void)how;\n")]},
    {"what": "a write waits in the ring",
     "edits": [(URING, "MSG_DONTWAIT | MSG_NOSIGNAL", "MSG_NOSIGNAL")]},
    {"what": "a write may raise SIGPIPE",
     "edits": [(URING, "MSG_DONTWAIT | MSG_NOSIGNAL", "MSG_DONTWAIT")]},
    {"what": "a write without room is not parked",
     "edits": [(URING, "	uring_park(u, op);\n", "	op->result = IO_PARKED;\n")]},
    {"what": "a parked write of kept bytes marks them as lent",
     "edits": [(URING, "	op->flags &= (uint8_t)~IO_LENT; /* the lent", "	(void)0; /* the lent")]},
    {"what": "bytes in the scratch buffer wait in the ring",
     "edits": [(URING, " || ((op->flags & IO_LENT) && !lent)) {", ") {")]},
    {"what": "a server that sent bytes and reset during the connect counts as refused",
     "edits": [(URING, "	if ((res == -ECONNRESET || res == -EPIPE) && sys_unread(op->sock->fd) > 0)\n"
                       "		res = 0;\n", "")]},
    {"what": "the first read of a server reports no mark",
     "edits": [(URING_BUFS, "EPOLLIN | EPOLLRDHUP | EPOLLPRI);", "EPOLLIN | EPOLLRDHUP);")]},
]
MUTANTS += [{"rule": "-", "drivers": ["io_uring"], **m} for m in RING_MUTANTS]

RETIRE_MUTANTS = [
    {"what": "one round of grace",
     "edits": [(RETIRE, "#define GRACE_ROUNDS 2u", "#define GRACE_ROUNDS 1u")]},
    {"what": "what leaves in a round counts that round",
     "edits": [(RETIRE, "r->round + GRACE_ROUNDS;", "r->round + GRACE_ROUNDS - r->running;")]},
    {"what": "a count of zero is not confirmed",
     "edits": [(RETIRE, "item->kind->is_held != NULL && item->stage != RETIRE_CONFIRM", "false")]},
    {"what": "what sessions gave back is not confirmed",
     "edits": [(RETIRE, "		if (!is_held(item))\n			look_at(r, item);",
                "		if (!is_held(item))\n			after_use(r, item);")]},
    {"what": "use that ends in a round is confirmed in that round",
     "edits": [(RETIRE, "		item->due = r->round + 1;\n"
                "		move_to(item, &r->waiting, RETIRE_CONFIRM);",
                "		item->due = r->round + !r->running;\n"
                "		move_to(item, &r->waiting, RETIRE_CONFIRM);")]},
    {"what": "the mark is taken before use has ended",
     "edits": [(RETIRE, "		r->rounds.mark(r->rounds.arg);\n", ""),
               (RETIRE, "	r->rounds.begin(r->rounds.arg, r->round);",
                "	if (list_empty(&r->reading))\n		r->rounds.mark(r->rounds.arg);\n"
                "	r->rounds.begin(r->rounds.arg, r->round);")]},
    {"what": "records are not waited for",
     "edits": [(RETIRE, "	if (item->kind->is_logged)", "	if (false)")]},
    {"what": "workers do not forget",
     "edits": [(RETIRE, "	if (item->kind->forget == NULL) {", "	if (true) {")]},
    {"what": "what is to be forgotten joins the round that runs",
     "edits": [(RETIRE, "	move_to(item, &r->waiting, RETIRE_FORGET);",
                "	move_to(item, r->running ? &r->forgetting : &r->waiting, RETIRE_FORGET);")]},
    {"what": "what is held is not looked at again",
     "edits": [(RETIRE, "	look_at_held(r);\n	if", "	if")]},
]
MUTANTS += [{"rule": "-", "unit": "retire", **m} for m in RETIRE_MUTANTS]

# What workers share: found by sim --crowd.
CROWD_MUTANTS = [
    {"what": "a source over its rate is let in",
     "edits": [("src/engine/admission.c",
                "		return CLOSE_SOURCE_RATE;\n",
                "		break;\n")]},
    {"what": "a bucket of a source has room for one more than the burst",
     "edits": [(RATES, "full_ns - (rate->whole_ns - rate->each_ns)", "full_ns - rate->whole_ns")]},
    {"what": "two workers judge a source before either counts",
     "edits": [(RATES,
                "	if (e != NULL)\n		verdict = judge(e, rate, newest(t, chain, now_ns));\n"
                "	spinlock_unlock(lock_of(t, chain));\n",
                "	if (e != NULL)\n"
                "		verdict = wait_ns(full_by(e, rate, now_ns), rate, now_ns) > 0\n"
                "			? SOURCE_RATE_OVER : SOURCE_RATE_PASSED;\n"
                "	spinlock_unlock(lock_of(t, chain));\n"
                "	if (e != NULL && verdict == SOURCE_RATE_PASSED)\n"
                "		(void)judge(e, rate, now_ns);\n")]},
    {"what": "two workers bring a new source, which gets two buckets",
     "edits": [(RATES,
                "	e = find(t, chain, k);\n	is_new = e == NULL;\n",
                "	e = NULL;\n	is_new = true;\n")]},
    {"what": "a letter is lost",
     "edits": [(MAILBOX,
                "		m->head++;\n",
                "")]},
    {"what": "a letter wakes nobody",
     "edits": [(MAILBOX,
                "	if (sent)\n"
                "		wake(m);\n",
                "")]},
    {"what": "a signal wakes nobody",
     "edits": [(MAILBOX,
                "	atomic_fetch_or(&m->signals, (unsigned)signal);\n"
                "	wake(m);\n",
                "	atomic_fetch_or(&m->signals, (unsigned)signal);\n")]},
    {"what": "a worker that ends leaves its mailbox open",
     "edits": [(MAILBOX,
                "	m->closed = empty;\n",
                "")]},
    {"what": "one letter is taken for each wake-up",
     "edits": [(WORKER,
                "	while ((likely(!loop->is_down) || w->stopping) && "
                "mailbox_take(&w->mailbox, &letter))\n",
                "	if (mailbox_take(&w->mailbox, &letter))\n")]},
    {"what": "a client whose letter was refused counts at both workers",
     "edits": [(LISTENER,
                "		load = atomic_fetch_sub(&to->load, 1);\n",
                "		load = atomic_load(&to->load);\n")]},
    {"what": "a client whose letter was refused counts at no worker",
     "edits": [(LISTENER,
                "		atomic_fetch_add(&w->load, 1);\n"
                "	}\n",
                "	}\n")]},
    {"what": "a client whose letter was refused is forgotten",
     "edits": [(LISTENER,
                "		atomic_fetch_add(&w->load, 1);\n"
                "	}\n",
                "		return;\n"
                "	}\n")]},
    {"what": "a slot that no client came for is not given back",
     "edits": [(LISTENER,
                "		listener_give_back_rates(l);\n"
                "	slots_release(l->worker->engine, l->frontend);\n",
                "		listener_give_back_rates(l);\n")]},
    {"what": "a slot of the process that was taken in vain is kept",
     "edits": [(SLOTS,
                "		return LIMIT_NONE;\n"
                "	release_process(e);\n",
                "		return LIMIT_NONE;\n")]},
    {"what": "a slot of the process that comes free wakes no listener",
     "edits": [(SLOTS,
                "	if (has_room(before, &e->settings.maxconn))\n"
                "		paused_wake_one(&e->paused);\n",
                "")]},
    {"what": "a slot of a frontend that comes free wakes no listener",
     "edits": [(SLOTS,
                "	if (has_room(before, &fe->limit))\n"
                "		paused_wake_one(&fe->paused);\n",
                "")]},
    {"what": "a listener that has paused does not look for room again",
     "edits": [(LISTENER,
                "	else if (l->state == LISTENER_LIMITED && may_resume(l))\n",
                "	else if (l->state == LISTENER_BACKOFF)\n")]},
    {"what": "a listener that was woken wakes no other one",
     "edits": [(WORKER,
                "	listeners_foreach(w, l)\n"
                "		listener_pass_on(l);\n",
                "	(void)w;\n")]},
    {"what": "a listener that resumes counts as paused",
     "edits": [(LISTENER,
                "	if (in != NULL)\n"
                "		paused_leave(in, &l->waiting);\n",
                "	(void)in;\n")]},
    {"what": "memory is there again, and nobody is told",
     "edits": [(ENGINE,
                "	if (!pause)\n"
                "		engine_signal_all(e, MAIL_RESUME);\n",
                "")]},
    {"what": "the last worker is not told to drain or to stop",
     "edits": [(ENGINE,
                "	for (unsigned i = 0; i < e->worker_count; i++)\n"
                "		if (e->workers[i] != NULL)\n"
                "			mailbox_signal(",
                "	for (unsigned i = 0; i + 1 < e->worker_count; i++)\n"
                "		if (e->workers[i] != NULL)\n"
                "			mailbox_signal(")]},
    {"what": "the first worker to drain closes the endpoints",
     "edits": [(ENGINE,
                "	if (e->worker_count > 0 && atomic_load(&e->workers_deaf) == (int)e->worker_count)\n",
                "	if (atomic_load(&e->workers_deaf) > 0)\n")]},
    {"what": "a drain leaves each endpoint at once",
     "edits": [(LEAVE,
                "	if (is_deaf && !addr_is_loopback(&ep->addr))\n",
                "	if (is_deaf && addr_is_loopback(&ep->addr))\n")]},
    {"what": "a granted place is announced to nobody",
     "edits": [(QUEUE,
                "		g->wake(g->arg);\n",
                "		continue;\n")]},
    {"what": "a granted session that leaves keeps its place",
     "edits": [(QUEUE,
                "	if (given != NULL)\n"
                "		server_leave(given);\n",
                "	(void)given;\n")]},
    {"what": "the place of a granted session that leaves is offered to nobody",
     "edits": [(QUEUE,
                "	if (given != NULL)\n"
                "		server_leave(given);\n",
                "	if (given != NULL)\n"
                "		atomic_fetch_sub(&given->sessions, 1);\n")]},
    {"what": "a client that has gone keeps the place that it was granted",
     "edits": [(CONNECT,
                "	if (client_watch_left(s)) {\n"
                "		queueing_give_back(s->worker, server);\n",
                "	if (client_watch_left(s)) {\n")],
     "drivers": ["fake"]},
    {"what": "one grant is taken for each wake-up",
     "edits": [("src/engine/queueing.c",
                "	while ((waiter = queue_take_granted(&w->grants)) != NULL) {\n",
                "	if ((waiter = queue_take_granted(&w->grants)) != NULL) {\n")]},
    {"what": "a server's new limit serves nobody",
     "edits": [(QUEUE,
                "		merge(q, &s->avoiders.waiters);\n"
                "	}\n"
                "	spinlock_unlock(&q->lock);\n"
                "	serve_any(b);\n",
                "		merge(q, &s->avoiders.waiters);\n"
                "	}\n"
                "	spinlock_unlock(&q->lock);\n")]},
    {"what": "who waits at a backend that loses its last server stays there, although it has a fallback",
     "edits": [(QUEUE,
                "		let_go(b);\n",
                "		return;\n")]},
    {"what": "who waits for a server that goes is forgotten",
     "edits": [(QUEUE,
                "		merge_but(q, &s->waiters, s);\n",
                "")]},
    {"what": "a place at a server that is granted is not taken",
     "edits": [(QUEUE,
                "	if (w != NULL && take_place(s)) {\n",
                "	if (w != NULL && server_has_place(s)) {\n")]},
    # Found only where another thread runs between two instructions (points.h).
    {"what": "a signal that is sent while signals are read is lost",
     "edits": [(MAILBOX,
                "	atomic_store(&m->awake, false);\n"
                "	return atomic_exchange(&m->signals, 0);\n",
                "	const unsigned signals = atomic_exchange(&m->signals, 0);\n"
                "	atomic_store(&m->awake, false);\n"
                "	return signals;\n")]},
    {"what": "a session that begins to wait does not look for a free place",
     "edits": [(QUEUE,
                "	if (server == NULL)\n"
                "		serve_any(b);\n"
                "	else if (server_has_place(server))\n"
                "		queue_serve(server);\n",
                "")]},
    {"what": "who leaves a server looks at its queue first",
     "edits": [("src/balance/server.c",
                "	const int before = atomic_fetch_sub(&s->sessions, 1);\n",
                "	const int waiting = atomic_load(&s->owner->queue.waiting);\n"
                "	const int before = atomic_fetch_sub(&s->sessions, 1);\n"),
               ("src/balance/server.c",
                "	if (atomic_load(&s->owner->queue.waiting) > 0)\n"
                "		queue_serve(s);\n",
                "	if (waiting > 0)\n"
                "		queue_serve(s);\n")]},
    {"what": "a worker that ends keeps the inquiry",
     "edits": [(WORKER,
                "	inquiry_list_close(w);\n",
                "")]},
    {"what": "control does not hear that the shared pools keep something",
     "edits": [(WORKER,
                "	w->told_ns = w->loop.now_ns;\n"
                "	e->notify(e->notify_arg);\n",
                "	w->told_ns = w->loop.now_ns;\n")]},
]
MUTANTS += [{"rule": "-", "crowd": True, **m} for m in CROWD_MUTANTS]

# What comes, changes and goes while workers run: found by the same.
ROUNDS = "src/engine/rounds.c"
SETTINGS = "src/balance/settings.c"
LIVE_MUTANTS = [
    {"what": "no round of grace",
     "edits": [(RETIRE, "#define GRACE_ROUNDS 2u", "#define GRACE_ROUNDS 0u")]},
    {"what": "a count of zero is not confirmed",
     "edits": [(RETIRE, "item->kind->is_held != NULL && item->stage != RETIRE_CONFIRM", "false")]},
    {"what": "what is to be forgotten is freed at once",
     "edits": [(RETIRE, "	if (item->kind->forget == NULL) {", "	if (true) {")]},
    {"what": "records are not waited for",
     "edits": [(RETIRE, "	if (item->kind->is_logged)", "	if (false)")]},
    {"what": "settings of servers are never in use",
     "edits": [(SETTINGS,
                "	return counted_sum(&v->live->versions, &v->counted) > 0;\n",
                "	return false;\n")]},
    {"what": "settings of endpoints are never in use",
     "edits": [(LEAVE,
                "	return s->pins > 0 || counted_sum(&s->endpoint->entries->live->versions, "
                "&s->counted) > 0;\n",
                "	return s->pins > 0;\n")]},
    {"what": "a session does not count its server's settings",
     "edits": [("src/engine/session.c",
                "	counted_take(&s->worker->counts, &s->at->version.counted);\n"
                "	if (before != NULL)\n",
                "	if (false)\n"),
               ("src/engine/session.c",
                "	if (s->at != NULL)\n"
                "		give_back(s->worker, &s->at->version.counted);\n",
                "")]},
    {"what": "a worker passes before its turn",
     "edits": [(ROUNDS,
                "	w->round_letters = mailbox_sent(&w->mailbox);\n",
                "	w->round_letters = mailbox_sent(&w->mailbox);\n"
                "	rounds_pass(w);\n"),
               (WORKER,
                "	if (unlikely(w->round != 0))\n"
                "		rounds_pass(w);\n",
                "")]},
    {"what": "a worker that has ended is not asked to forget",
     "edits": [(ROUNDS, "			forget_for(e, w, round);\n", "			;\n")]},
    {"what": "a socket is closed while workers accept there",
     "edits": [(LEAVE,
                "atomic_load(&ep->listeners) > 0;\n",
                "atomic_load(&ep->listeners) < 0;\n")]},
    {"what": "a listener leaves without the last accept",
     "edits": [("src/io/epoll.c",
                "	do\n"
                "		more = io_accept_batch(loop, op, &d->peer);\n"
                "	while (more > 0);\n",
                "	more = d == NULL;\n")],
     "drivers": ["epoll"]},
    {"what": "a paused listener leaves without the last accept",
     "edits": [(LISTENER,
                "		(void)listener_start(l); /* a pause that a failure has set is cancelled "
                "below */\n",
                "		;\n")]},
    {"what": "an accepted socket keeps the limit of a deaf one",
     "edits": [("src/engine/session_begin.c",
                "		sock_accepted_from_deaf(fd);\n",
                "		;\n")]},
    {"what": "an endpoint that stays is closed all the same",
     "edits": [(LEAVE,
                "	if (ep->stage == ENDPOINT_LEAVING)\n"
                "		retire_take_back(&e->live->retire, &ep->socket);\n",
                "")]},
    {"what": "an endpoint that stays remains deaf",
     "edits": [(LEAVE, "		err = sock_hear_again(ep->fd);\n", "		err = 0;\n")]},
    {"what": "an endpoint's settings leave with the order",
     "edits": [(LEAVE,
                "	order(ep, what);\n",
                "	order(ep, what);\n"
                "	if (endpoint_settings(ep)->retired.stage == RETIRE_NONE)\n"
                "		endpoint_settings_retire(endpoint_settings(ep));\n"),
               (LEAVE,
                "	entries_withdraw(e, ep);\n"
                "	endpoint_settings_retire(endpoint_settings(ep));\n",
                "	entries_withdraw(e, ep);\n")]},
    {"what": "an endpoint that leaves follows no change",
     "edits": [("src/entry/frontend_change.c",
                "		if (!err && ep->stage != ENDPOINT_CLOSED)",
                "		if (!err && ep->stage < ENDPOINT_LEAVING)")]},
    {"what": "who is woken of those that wait at a limit does not hear it",
     "edits": [("src/entry/paused.c",
                "	if (wake != NULL)\n"
                "		wake(arg);\n",
                "	(void)arg;\n")]},
    {"what": "a higher limit of a frontend wakes nobody",
     "edits": [("src/entry/frontend_limit.c",
                "		paused_wake_all(&fe->paused);\n",
                "		;\n")]},
    {"what": "who comes to a server that leaves is forgotten when it has left",
     "edits": [("src/balance/live_change.c",
                "	live_end_sessions(s->owner->live, s->slot, !s->closes);\n", "	(void)s;\n")]},
    {"what": "who comes in while a frontend leaves is forgotten when it has left",
     "edits": [(LEAVE, "		live_end_sessions(ep->entries->live, fe->slot, !fe->closes);\n",
                "		;\n")]},
    {"what": "who is admitted to a backend that has left stays",
     "edits": [(CONNECT,
                "(unlikely(atomic_load_explicit(&s->back->backend->removed, memory_order_relaxed)))\n",
                "(s == NULL)\n")]},
    {"what": "a session begins with the mark of the walk before",
     "edits": [("src/engine/session_begin.c", "	s->evict_mark = w->evict_walk.mark;\n",
                "	s->evict_mark = !w->evict_walk.mark && w->sessions % 2 == 0;\n")]},
    {"what": "settings that are published again leave all the same",
     "edits": [("src/entry/frontend_change.c",
                "		retire_take_back(&e->live->retire, &s->retired);\n",
                "		s->retired.stage = RETIRE_NONE;\n")]},
]
MUTANTS += [{"rule": "-", "crowd": True, **m} for m in LIVE_MUTANTS + RELOAD_MUTANTS + STICKY_MUTANTS]
