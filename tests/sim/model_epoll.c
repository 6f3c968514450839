/* SPDX-License-Identifier: MIT
 *
 * model_epoll.c - one epoll set with true edge semantics.
 *
 * Owns the ready list. A wake-up puts a descriptor there; epoll_wait asks for its mask of that
 * moment and, edge-triggered, takes it off. So an event comes only from something that happened, and
 * tells everything that is so. Refuses a second ADD and a MOD of the unknown by failing the seed.
 * One thread. Tests only.
 */
#include <errno.h>
#include <string.h>

#include "weir/sys/sys.h"
#include "cover.h"
#include "model.h"

int sys_epoll_create(void)
{
	const int fd = mfile_open(FILE_EPOLL);

	model_enter();
	if (fd > 0)
		model.epfd = fd;
	return fd;
}

static void look(int fd)
{
	struct mfile *f = &model.files[fd];

	if (mfile_mask(fd) & (f->interest | EPOLLERR | EPOLLHUP))
		mfile_wake(fd, 0);
}

int sys_epoll_ctl(int epfd, int op, int fd, uint32_t events, uint64_t data)
{
	struct mfile *f = mfile_get(fd);

	model_enter();
	if (mfile_get(epfd)->kind != FILE_EPOLL)
		sim_fail("epoll_ctl on descriptor %d", epfd);
	trace("epoll_ctl(%d, fd %d, %#x)", op, fd, events);
	switch (op) {
	case EPOLL_CTL_ADD:
		if (f->in_epoll)
			sim_fail("EPOLL_CTL_ADD of fd %d twice", fd);
		if (f->kind == FILE_SOCK && site_fatal(SITE_EPOLL_ENOSPC, f->sock))
			return -ENOSPC;
		f->in_epoll = true;
		break;
	case EPOLL_CTL_MOD:
		if (!f->in_epoll)
			sim_fail("EPOLL_CTL_MOD of fd %d, which is not there", fd);
		if (f->interest & EPOLLEXCLUSIVE)
			return -EINVAL;
		cover(COVER_MOD_OUT);
		break;
	default:
		if (!f->in_epoll)
			return -ENOENT;
		f->in_epoll = false;
		if (f->ready) {
			f->ready = false;
			for (int i = 0; i < model.ready_count; i++)
				if (model.ready[i] == fd)
					model.ready[i--] = model.ready[--model.ready_count];
		}
		return 0;
	}
	f->interest = events;
	f->data = data;
	look(fd);
	return 0;
}

static void wake_somebody(void)
{
	const int fd = 3 + (int)prng_below(&model.rng, (uint32_t)model.fd_top);

	if (fd >= model.fd_top || !model.files[fd].in_epoll || model.files[fd].ready)
		return;
	mfile_wake(fd, 0);
	if (model.files[fd].ready)
		cover(COVER_EVENT_SPURIOUS);
}

static int take_ready(void)
{
	const int at = (int)prng_below(&model.rng, (uint32_t)model.ready_count);
	const int fd = model.ready[at];

	model.ready[at] = model.ready[--model.ready_count];
	model.files[fd].ready = false;
	return fd;
}

static void note(int fd, uint32_t mask)
{
	const struct msock *s = model.files[fd].sock;

	if (model.files[fd].kind != FILE_SOCK)
		return;
	if ((mask & EPOLLRDHUP) && !(mask & EPOLLERR) && msock_unread(s) > 0)
		cover(COVER_EVENT_IN_RDHUP);
	if ((mask & EPOLLERR) && msock_unread(s) > 0)
		cover(COVER_EVENT_IN_ERR);
}

void model_judge_corks(void)
{
	for (int i = 0; i < MODEL_SOCKS; i++) {
		const struct msock *s = &model.socks[i];

		if (s->corked && s->watched && s->fd >= 0 && s->state == SOCK_OPEN)
			sim_fail("fd %d holds its last bytes back, and no FIN follows", s->fd);
	}
}

int64_t model_look_at_alarms(void)
{
	int64_t next_ns = -1;

	for (int fd = 3; fd < model.fd_top; fd++) {
		struct mfile *f = &model.files[fd];

		if (f->kind != FILE_ALARM || f->alarm_ns == 0)
			continue;
		if (f->alarm_ns <= model.now_ns)
			mfile_wake(fd, EPOLLIN);
		else if (next_ns < 0 || f->alarm_ns - model.now_ns < next_ns)
			next_ns = f->alarm_ns - model.now_ns;
	}
	return next_ns;
}

/* It is told once: the next time that it is set makes it ring again. */
static void forget_alarm(int fd)
{
	if (model.files[fd].kind != FILE_ALARM)
		return;
	model.files[fd].alarm_ns = 0;
	cover(COVER_ALARM);
}

int sys_epoll_wait(int epfd, struct epoll_event *events, int max, int64_t timeout_ns)
{
	int again[MODEL_FDS];
	int again_count = 0;
	int64_t alarm_ns;
	int n = 0;

	model_enter();
	if (mfile_get(epfd)->kind != FILE_EPOLL)
		sim_fail("epoll_wait on descriptor %d", epfd);
	model.idle = false;
	/* With time for nothing no signal cuts it short, and it brings all that there is room for. */
	if (timeout_ns != 0)
		model_judge_corks();
	alarm_ns = model_look_at_alarms();
	if (timeout_ns != 0 && site(SITE_WAIT_EMPTY))
		return 0; /* EINTR */
	if (site(SITE_SPURIOUS))
		wake_somebody();
	if (timeout_ns != 0 && site(SITE_WAIT_FEW))
		max = 1;
	while (n < max && model.ready_count > 0) {
		const int fd = take_ready();
		const struct mfile *f = &model.files[fd];
		const uint32_t mask = mfile_mask(fd) & (f->interest | EPOLLERR | EPOLLHUP);

		if (mask == 0)
			continue;
		events[n].events = mask;
		events[n++].data.u64 = f->data;
		note(fd, mask);
		forget_alarm(fd);
		trace("event fd %d %#x", fd, mask);
		if (!(f->interest & EPOLLET))
			again[again_count++] = fd;
	}
	for (int i = 0; i < again_count; i++)
		mfile_wake(again[i], 0);
	if (n > 1)
		cover(COVER_EVENT_MERGED);
	if (timeout_ns < 0 || (alarm_ns >= 0 && alarm_ns < timeout_ns))
		timeout_ns = alarm_ns;
	if (n == 0 && model.on_wake == NULL)
		model_wait(timeout_ns);
	return n;
}
