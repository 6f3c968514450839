/* SPDX-License-Identifier: MIT
 *
 * model_epoll.c - epoll sets with true edge semantics.
 *
 * Owns the ready lists. A wake-up puts a descriptor there; epoll_wait asks for its mask of that
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
	int at = 0;

	model_enter();
	if (fd < 0)
		return fd;
	while (at < MODEL_SETS && model.sets[at].fd > 0)
		at++;
	if (at == MODEL_SETS)
		sim_fail("the model has no more epoll sets");
	if (at == model.set_top)
		model.set_top++;
	model.sets[at] = (struct mset){.fd = fd};
	model.files[fd].set = at;
	return fd;
}

/* Nobody but this set is woken. */
static void wake_own(int set, int fd)
{
	if (model.on_wake != NULL)
		(void)model.on_wake(fd, 0); /* whoever it is for */
	(void)mset_wake(set, fd, 0); /* whoever it is for */
}

static void look(int set, int fd)
{
	if (mfile_mask(fd) & (model.files[fd].watches[set].interest | EPOLLERR | EPOLLHUP))
		wake_own(set, fd);
}

static int set_of(int epfd)
{
	const struct mfile *f = mfile_get(epfd);

	if (f->kind != FILE_EPOLL)
		sim_fail("descriptor %d is no epoll set", epfd);
	return f->set;
}

int sys_epoll_ctl(int epfd, int op, int fd, uint32_t events, uint64_t data)
{
	const int set = set_of(epfd);
	struct mfile *f = mfile_get(fd);
	struct mwatch *watch = &f->watches[set];

	model_enter();
	trace("epoll_ctl(%d, fd %d, %#x)", op, fd, events);
	switch (op) {
	case EPOLL_CTL_ADD:
		if (watch->in)
			sim_fail("EPOLL_CTL_ADD of fd %d twice", fd);
		if (f->kind == FILE_SOCK && site_fatal(SITE_EPOLL_ENOSPC, f->sock))
			return -ENOSPC;
		watch->in = true;
		break;
	case EPOLL_CTL_MOD:
		if (!watch->in)
			sim_fail("EPOLL_CTL_MOD of fd %d, which is not there", fd);
		if (watch->interest & EPOLLEXCLUSIVE)
			return -EINVAL;
		cover(COVER_MOD_OUT);
		break;
	default:
		if (!watch->in)
			return -ENOENT;
		watch->in = false;
		if (watch->ready)
			mset_forget(&model.sets[set], fd);
		watch->ready = false;
		return 0;
	}
	watch->interest = events;
	watch->data = data;
	look(set, fd);
	return 0;
}

static void wake_somebody(int set)
{
	const int fd = 3 + (int)prng_below(&model.rng, (uint32_t)model.fd_top);
	const struct mwatch *watch = &model.files[fd].watches[set];

	if (fd >= model.fd_top || !watch->in || watch->ready)
		return;
	wake_own(set, fd);
	if (watch->ready)
		cover(COVER_EVENT_SPURIOUS);
}

static int take_ready(int at)
{
	struct mset *set = &model.sets[at];
	const int pick = (int)prng_below(&model.rng, (uint32_t)set->ready_count);
	const int fd = set->ready[pick];

	set->ready[pick] = set->ready[--set->ready_count];
	model.files[fd].watches[at].ready = false;
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
	if (model.set_top > 1)
		return; /* another worker may be about to send it */
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
	const int at = set_of(epfd);
	struct mset *set = &model.sets[at];
	int again[MODEL_FDS];
	int again_count = 0;
	int64_t alarm_ns;
	int n = 0;

	model_enter();
	set->sleeps = false;
	model.idle = false;
	/* With time for nothing no signal cuts it short, and it brings all that there is room for. */
	if (timeout_ns != 0)
		model_judge_corks();
	alarm_ns = model_look_at_alarms();
	if (timeout_ns != 0 && site(SITE_WAIT_EMPTY))
		return 0; /* EINTR */
	if (site(SITE_SPURIOUS))
		wake_somebody(at);
	if (timeout_ns != 0 && site(SITE_WAIT_FEW))
		max = 1;
	while (n < max && set->ready_count > 0) {
		const int fd = take_ready(at);
		const struct mwatch *watch = &model.files[fd].watches[at];
		const uint32_t mask = mfile_mask(fd) & (watch->interest | EPOLLERR | EPOLLHUP);

		if (mask == 0)
			continue;
		events[n].events = mask;
		events[n++].data.u64 = watch->data;
		note(fd, mask);
		forget_alarm(fd);
		trace("event fd %d %#x", fd, mask);
		if (!(watch->interest & EPOLLET))
			again[again_count++] = fd;
	}
	for (int i = 0; i < again_count; i++)
		wake_own(at, again[i]);
	if (n > 1)
		cover(COVER_EVENT_MERGED);
	if (timeout_ns < 0 || (alarm_ns >= 0 && alarm_ns < timeout_ns))
		timeout_ns = alarm_ns;
	set->sleeps = n == 0 && timeout_ns != 0;
	if (n == 0 && model.on_wake == NULL)
		model_wait(timeout_ns);
	return n;
}
