/* SPDX-License-Identifier: MIT
 *
 * model.c - the modelled kernel's table of descriptors, its luck, and how a seed fails.
 *
 * Owns the one struct model. Refuses a wrong descriptor by failing the seed: EBADF and a second
 * close are always the program's own mistake. One thread. Tests only.
 */
#include "model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cover.h"

/* A turn that makes more calls than this goes round in circles. */
#define MODEL_CALLS_A_TURN 100000u

struct model model;
bool sim_verbose;
uint64_t sim_seed;

static const uint8_t site_percent[SITE_COUNT] = {
#define SITE(name, percent) percent,
#include "sites.tbl.h"
#undef SITE
};

_Noreturn void sim_fail(const char *fmt, ...)
{
	va_list args;

	(void)fflush(stdout); /* nothing can be done about a broken pipe */
	fprintf(stderr, "seed %" PRIu64 ": ", sim_seed);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(1);
}

void sim_trace(const char *fmt, ...)
{
	va_list args;

	printf("%9" PRId64 " us  ", model.now_ns / 1000);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	(void)fflush(stdout); /* the seed may abort at the next line */
}

uint32_t model_page_bytes(void)
{
	static uint32_t page;

	if (page == 0) {
		const char *text = getenv("WEIR_MODEL_PAGE");

		page = text != NULL ? (uint32_t)strtoul(text, NULL, 10) : 4096;
		if (page < 4096 || page > 65536 || (page & (page - 1)) != 0)
			sim_fail("WEIR_MODEL_PAGE is not a power of two from 4096 to 65536");
	}
	return page;
}

uint32_t model_frag_bytes(void)
{
	return model_page_bytes() > 32768 ? model_page_bytes() : 32768;
}

void model_reset(uint64_t seed)
{
	for (int i = 0; i < model.fd_top; i++)
		memset(&model.files[i], 0, sizeof(model.files[i]));
	for (int i = 0; i < model.sock_top; i++)
		memset(&model.socks[i], 0, sizeof(model.socks[i]));
	for (int i = 0; i < MODEL_PIPES; i++) {
		model.pipes[i].used = false;
		model.pipes[i].count = 0;
	}
	memset(model.listeners, 0, sizeof(model.listeners));
	model.rng.state = seed * UINT64_C(0x2545f4914f6cdd1d) + 1;
	model.now_ns = 1000000000;
	model.calls = 0;
	model.calls_at_turn = 0;
	model.faults = false;
	model.auto_wire = true;
	model.strict = false;
	memset(model.active, 0, sizeof(model.active));
	model.serial = 0;
	model.fd_top = 0;
	model.sock_top = 0;
	model.listener_top = 0;
	for (int i = 0; i < model.set_top; i++) {
		model.sets[i].fd = 0;
		model.sets[i].ready_count = 0;
	}
	model.set_top = 0;
	model.waited_ns = 0;
	model.sleep_max_ns = 0;
	model.idle = false;
	model.open_fds = 0;
	model.lent = 0;
	model.rcvbuf = 131072;
	model.sndbuf = 131072;
	model.sources = 0;
	model.on_connect = NULL;
	model.on_preempt = NULL;
	model.on_wake = NULL;
	model.ring_has_news = NULL;
	model.on_excuse = NULL;
}

bool site(enum site s)
{
	return model.faults && model.active[s] && prng_chance(&model.rng, site_percent[s]);
}

bool site_fatal(enum site s, struct msock *victim)
{
	if (!site(s))
		return false;
	if (model.on_excuse != NULL)
		model.on_excuse(victim);
	return true;
}

void model_enter(void)
{
	model.now_ns += 500;
	model.calls++;
	if (model.calls - model.calls_at_turn > MODEL_CALLS_A_TURN)
		sim_fail("one turn made %u system calls: it spins", MODEL_CALLS_A_TURN);
	if (model.on_preempt != NULL && site(SITE_PREEMPT))
		model.on_preempt();
}

void model_wait(int64_t timeout_ns)
{
	model.idle = true;
	model.waited_ns = timeout_ns;
	if (timeout_ns > 0 && timeout_ns <= model.sleep_max_ns) {
		model.now_ns += timeout_ns;
		model.waited_ns = 0;
	}
}

/* ---- descriptors ---- */

int mfile_open(enum file_kind kind)
{
	/* The lowest free number, as POSIX has it: that makes stale numbers dangerous. */
	for (int fd = 3; fd < MODEL_FDS; fd++) {
		struct mfile *f = &model.files[fd];

		if (f->kind != FILE_NONE)
			continue;
		if (fd < model.fd_top)
			cover(COVER_FD_REUSED);
		else
			model.fd_top = fd + 1;
		memset(f, 0, sizeof(*f));
		f->kind = kind;
		f->serial = ++model.serial;
		model.open_fds++;
		return fd;
	}
	return -EMFILE;
}

struct mfile *mfile_get(int fd)
{
	if (fd < 3 || fd >= MODEL_FDS || model.files[fd].kind == FILE_NONE)
		sim_fail("EBADF: descriptor %d is not open", fd);
	return &model.files[fd];
}

struct msock *mfile_sock(int fd)
{
	struct mfile *f = mfile_get(fd);

	if (f->kind != FILE_SOCK)
		sim_fail("descriptor %d is not a socket", fd);
	return f->sock;
}

void mset_forget(struct mset *set, int fd)
{
	for (int i = 0; i < set->ready_count; i++) {
		if (set->ready[i] == fd) {
			set->ready[i] = set->ready[--set->ready_count];
			return;
		}
	}
}

static void close_set(int at)
{
	model.sets[at].fd = 0;
	model.sets[at].ready_count = 0;
	for (int fd = 3; fd < model.fd_top; fd++)
		model.files[fd].watches[at] = (struct mwatch){0};
}

static void pipe_close_end(struct mpipe *p, bool reader)
{
	if (reader)
		p->rd_open = false;
	else
		p->wr_open = false;
	if (!p->rd_open && !p->wr_open)
		p->used = false;
}

static int other_fd_of(const struct mlistener *l, int fd)
{
	for (int other = 3; other < model.fd_top; other++)
		if (other != fd && model.files[other].kind == FILE_LISTENER &&
		    model.files[other].listener == l)
			return other;
	sim_fail("a listener has lost a descriptor");
}

/* A set, or a ring, goes on hearing by a number that is closed while the file has another one. */
static void check_unwatched(int fd)
{
	const struct mfile *f = &model.files[fd];

	if (f->holds > 0)
		sim_fail("listener %d is closed while an op holds it: it goes on listening", fd);
	for (int i = 0; i < model.set_top && f->listener->fds > 1; i++)
		if (f->watches[i].in)
			sim_fail("listener %d is closed while a set watches it, and has another descriptor",
				 fd);
}

/* Who waits in its queue is reset, once its last descriptor is closed. */
static void close_listener(int fd)
{
	struct mlistener *l = model.files[fd].listener;

	check_unwatched(fd);
	l->fd = l->fds > 1 ? other_fd_of(l, fd) : fd;
	if (--l->fds > 0)
		return;
	if (l->count > 0 && model.on_lost != NULL)
		model.on_lost(l);
	for (; l->count > 0; l->count--) {
		struct msock *s = l->queue[l->head];

		l->head = (l->head + 1) % MODEL_BACKLOG;
		if (model.on_excuse != NULL)
			model.on_excuse(s);
		s->linger0 = true;
		msock_close(s);
	}
}

void mfile_close(int fd)
{
	struct mfile *f = mfile_get(fd);

	trace("close(%d)", fd);
	for (int i = 0; i < model.set_top; i++)
		if (f->watches[i].ready)
			mset_forget(&model.sets[i], fd);
	switch (f->kind) {
	case FILE_SOCK:
		f->sock->fd = -1;
		if (f->sock->holds > 0)
			f->sock->closes_late = true; /* a ring's pending op has the file too */
		else
			msock_close(f->sock);
		break;
	case FILE_LISTENER:
		close_listener(fd);
		break;
	case FILE_PIPE_RD:
		pipe_close_end(f->pipe, true);
		break;
	case FILE_PIPE_WR:
		pipe_close_end(f->pipe, false);
		break;
	case FILE_EPOLL:
		close_set(f->set);
		break;
	default:
		break;
	}
	memset(f, 0, sizeof(*f));
	model.open_fds--;
}

/* Who does not sleep finds it in its ready list, and is not the one that an exclusive wake-up is for:
 * ep_poll_callback(). A sleeper may be about to wake by itself. */
static bool is_taken(struct mset *set, const struct mwatch *watch)
{
	if (!(watch->interest & EPOLLEXCLUSIVE) || !set->sleeps)
		return false;
	set->sleeps = false;
	return model.set_top > 1 && !(model.faults && prng_chance(&model.rng, 30));
}

bool mset_wake(int at, int fd, uint32_t keys)
{
	struct mset *set = &model.sets[at];
	struct mwatch *watch = &model.files[fd].watches[at];

	if (!watch->in || (keys != 0 && !(keys & (watch->interest | EPOLLERR | EPOLLHUP))))
		return false;
	if (model.on_wake != NULL && set->fd > 0)
		(void)model.on_wake(set->fd, EPOLLIN); /* nobody waits there alone */
	if (!watch->ready) {
		watch->ready = true;
		set->ready[set->ready_count++] = fd;
	}
	if (is_taken(set, watch))
		return true;
	set->sleeps = false;
	return false;
}

/* Workers come to a listener's wait queue in any order. */
static int first_set(int fd)
{
	if (model.set_top < 2 || model.files[fd].kind != FILE_LISTENER)
		return 0;
	return (int)prng_below(&model.rng, (uint32_t)model.set_top);
}

/* True when the one was woken that it is for. */
static bool wake_by(int fd, uint32_t keys)
{
	bool taken = model.on_wake != NULL && model.on_wake(fd, keys);
	const int first = first_set(fd);

	for (int i = 0; i < model.set_top; i++)
		if (mset_wake((first + i) % model.set_top, fd, keys))
			return true;
	return taken;
}

/* All who wait at a socket are in one queue, whatever number they know it by. */
static void wake_all_fds(const struct mlistener *l, uint32_t keys)
{
	const int first = (int)prng_below(&model.rng, (uint32_t)model.fd_top);

	for (int i = 0; i < model.fd_top; i++) {
		const int fd = (first + i) % model.fd_top;

		if (model.files[fd].kind == FILE_LISTENER && model.files[fd].listener == l &&
		    wake_by(fd, keys))
			return;
	}
}

void mfile_wake(int fd, uint32_t keys)
{
	if (fd < 0)
		return;
	if (model.files[fd].kind == FILE_LISTENER && model.files[fd].listener->fds > 1)
		wake_all_fds(model.files[fd].listener, keys);
	else
		(void)wake_by(fd, keys); /* nobody else is left to be woken */
}

static bool set_has_news(const struct mset *set, int at)
{
	for (int i = 0; i < set->ready_count; i++) {
		const struct mwatch *watch = &model.files[set->ready[i]].watches[at];

		if (mfile_mask(set->ready[i]) & (watch->interest | EPOLLERR | EPOLLHUP))
			return true;
	}
	return false;
}

bool model_has_news(int at)
{
	if (model.ring_has_news != NULL)
		return model.ring_has_news(at);
	return set_has_news(&model.sets[at], at);
}

uint32_t mfile_mask(int fd)
{
	const struct mfile *f = &model.files[fd];

	switch (f->kind) {
	case FILE_SOCK:
		return msock_mask(f->sock);
	case FILE_LISTENER:
		return f->listener->count > 0 ? EPOLLIN : 0;
	case FILE_EVENT:
		return EPOLLOUT | (f->counter > 0 ? EPOLLIN : 0u);
	case FILE_ALARM:
		return f->alarm_ns != 0 && f->alarm_ns <= model.now_ns ? EPOLLIN : 0u;
	case FILE_EPOLL:
		return set_has_news(&model.sets[f->set], f->set) ? EPOLLIN : 0;
	default:
		return 0;
	}
}
