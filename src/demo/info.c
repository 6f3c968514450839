/* SPDX-License-Identifier: MIT
 *
 * info.c - what `show info` of a running weir says, as numbers, and how it is asked for.
 *
 * Main thread.
 */
#include "info.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"

static const char question[] = "show info\n";

static const struct number_row {
	const char *name;
	size_t offset; /* in struct info, uint64_t */
} number_rows[] = {
    {"pid", offsetof(struct info, pid)},
    {"workers", offsetof(struct info, workers)},
    {"sessions", offsetof(struct info, sessions)},
    {"accepted", offsetof(struct info, accepted)},
    {"retries", offsetof(struct info, retries)},
    {"bytes_to_server", offsetof(struct info, bytes_to_server)},
    {"bytes_to_client", offsetof(struct info, bytes_to_client)},
    {"bytes_spliced", offsetof(struct info, bytes_spliced)},
};

/* What follows "NAME: " at the beginning of a line, or NULL. */
static const char *find_value(const char *text, const char *name)
{
	size_t len = strlen(name);

	while (text != NULL) {
		if (strncmp(text, name, len) == 0 && text[len] == ':' && text[len + 1] == ' ')
			return text + len + 2;
		text = strchr(text, '\n');
		if (text != NULL)
			text++;
	}
	return NULL;
}

/* Of "NAME=VALUE" in a line. */
static uint64_t find_field(const char *line, const char *name)
{
	size_t line_len = strcspn(line, "\n");
	size_t len = strlen(name);

	for (size_t i = 0; i + len < line_len; i++)
		if (strncmp(line + i, name, len) == 0 && line[i + len] == '=' &&
		    (i == 0 || line[i - 1] == ' '))
			return strtoull(line + i + len + 1, NULL, 10);
	return 0;
}

static void copy_word(char out[static INFO_WORD_MAX], const char *from)
{
	size_t len = strcspn(from, " \n");

	if (len > INFO_WORD_MAX - 1)
		len = INFO_WORD_MAX - 1;
	memcpy(out, from, len);
	out[len] = '\0';
}

bool info_parse(const char *text, struct info *out)
{
	const char *value = find_value(text, "driver");

	if (value == NULL)
		return false;
	copy_word(out->driver, value);
	for (size_t i = 0; i < ARRAY_LEN(number_rows); i++) {
		uint64_t *number = (uint64_t *)(void *)((char *)out + number_rows[i].offset);

		value = find_value(text, number_rows[i].name);
		*number = value != NULL ? strtoull(value, NULL, 10) : 0;
	}
	for (size_t i = 0; i < PLAN_SERVERS; i++) {
		struct info_server *s = &out->servers[i];
		char name[64];

		(void)snprintf(name, sizeof(name), "server." PLAN_NAME "/%s",
			       plan_server_name(i)); /* short */
		memset(s, 0, sizeof(*s));
		value = find_value(text, name);
		if (value == NULL)
			continue;
		copy_word(s->state, value);
		s->sessions = find_field(value, "sessions");
		s->total = find_field(value, "total");
		s->failures = find_field(value, "failures");
	}
	return true;
}

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
	struct info info;
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
	memset(&info, 0, sizeof(info));
	info.at_ns = clock_mono_ns();
	if (info_parse(a->bytes, &info))
		a->on_info(a->arg, &info);
}

void asker_init(struct asker *a, struct ev_loop *loop, const char *admin)
{
	struct addr_spec spec;
	int err = addr_parse(admin, &spec, NULL, NULL);

	check(err == 0); /* plan.c wrote it */
	memset(a, 0, sizeof(*a));
	a->loop = loop;
	a->to = spec.addr;
	ev_io_init(&a->io, on_answer, -1, EV_READ);
	a->io.data = a;
}

void asker_ask(struct asker *a)
{
	int fd;

	if (a->io.fd >= 0)
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (connect(fd, &a->to.sa, a->to.len) != 0 ||
	    send(fd, question, sizeof(question) - 1, MSG_NOSIGNAL) != (ssize_t)sizeof(question) - 1) {
		(void)close(fd);
		return;
	}
	a->len = 0;
	ev_io_set(&a->io, fd, EV_READ);
	ev_io_start(a->loop, &a->io);
}
