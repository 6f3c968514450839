/* SPDX-License-Identifier: MIT
 *
 * asker.c - sends one command to the admin socket of the demo's daemon, and collects the answer.
 *
 * Main thread of the parent.
 */
#include "asker.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/check.h"

void asker_stop(struct asker *a)
{
	if (a->io.fd < 0)
		return;
	ev_io_stop(a->loop, &a->io);
	(void)close(a->io.fd);
	a->io.fd = -1;
}

static void on_answer(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct asker *a = io->data;
	ssize_t n;

	(void)loop;
	(void)revents;
	n = recv(io->fd, a->bytes + a->len, sizeof(a->bytes) - 1 - a->len, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		a->len += (size_t)n;
		if (a->len < sizeof(a->bytes) - 1)
			return;
	}
	asker_stop(a);
	if (n != 0)
		return;
	a->bytes[a->len] = '\0';
	a->on_answer(a->arg, a->bytes);
}

void asker_init(struct asker *a, struct ev_loop *loop, const char *admin, const char *question)
{
	struct addr_spec spec;
	int err = addr_parse(admin, &spec, NULL, NULL);

	check(err == 0); /* plan.c formatted it */
	memset(a, 0, sizeof(*a));
	a->loop = loop;
	a->to = spec.addr;
	a->question = question;
	ev_io_init(&a->io, on_answer, -1, EV_READ);
	a->io.data = a;
}

bool asker_ask(struct asker *a)
{
	const size_t len = strlen(a->question);
	int fd;

	if (a->io.fd >= 0)
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	if (connect(fd, &a->to.sa, a->to.len) != 0 ||
	    send(fd, a->question, len, MSG_NOSIGNAL) != (ssize_t)len) {
		(void)close(fd);
		return false;
	}
	a->len = 0;
	ev_io_set(&a->io, fd, EV_READ);
	ev_io_start(a->loop, &a->io);
	return true;
}

bool asker_is_busy(const struct asker *a)
{
	return a->io.fd >= 0;
}
