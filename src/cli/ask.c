/* SPDX-License-Identifier: MIT
 *
 * ask.c - queries to a running weir through its admin socket: finding it, one line, a bounded wait.
 *
 * Finds the socket in the configuration, or takes it from -s. One deadline covers all waiting, so a daemon
 * that hangs does not hang its operator too. Main thread.
 */
#include "ask.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "weir/admin/voice.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/sys/sys.h"
#include "input.h"

/* No event reports room in a full backlog, so the connect is retried after this time. */
#define AGAIN_MS 20

/* -s takes an address, or a plain path with or without a slash in it. */
static int socket_from_text(const char *text, struct addr_spec *spec)
{
	char here[PATH_MAX], with_prefix[PATH_MAX + ADDR_TEXT_MAX];
	const char *why = "not a Unix socket";

	if (addr_parse(text, spec, &why, NULL) == 0 && spec->kind == ADDR_UNIX)
		return 0;
	/* An address needs an absolute path, so a relative one is completed with the current directory. */
	if (strchr(text, ':') == NULL && text[0] != '/' && strlen(text) < ADDR_TEXT_MAX - 8 &&
	    getcwd(here, sizeof(here)) != NULL) {
		(void)snprintf(with_prefix, sizeof(with_prefix), "unix:%s/%s", here, text); /* fits */
		if (addr_parse(with_prefix, spec, &why, NULL) == 0)
			return 0;
	}
	fprintf(stderr, "weir: '%s' is not an admin socket: %s\n", text, why);
	return -EINVAL;
}

/* What else names a running weir. */
static const char *other_way(const struct cli_args *a)
{
	if ((a->verb & CLI_RELOADING) != 0)
		return "--pid PID, -p PIDFILE or -s SOCKET";
	return a->signal_name != NULL ? "-p PIDFILE" : "-s SOCKET";
}

enum exit_code ask_find(const struct cli_args *a, struct addr_spec *spec)
{
	const bool by_process = (a->verb & CLI_RELOADING) != 0 || a->signal_name != NULL;
	struct cli_args quiet = *a;
	struct config *c;

	if (a->socket != NULL)
		return socket_from_text(a->socket, spec) == 0 ? EXIT_FINE : EXIT_USAGE;
	if (input_default_is_missing(a)) {
		fprintf(stderr, "weir: cannot find the admin socket without %s; give -f FILE, or %s\n",
			CLI_DEFAULT_FILE, other_way(a));
		return EXIT_ENVIRONMENT;
	}
	quiet.quiet = true;
	quiet.json = false; /* --json applies to the answer, not to messages about the file */
	c = input_load(&quiet, NULL, NULL);
	if (c == NULL) {
		fprintf(stderr, "weir: no admin socket is known without a valid configuration; give %s\n",
			other_way(a));
		return EXIT_CONFIG;
	}
	*spec = c->global.admin;
	if (spec->kind == ADDR_NONE)
		fprintf(stderr, "weir: %s has no 'admin-socket' in [global]%s%s\n", c->name,
			by_process ? "; give " : "", by_process ? other_way(a) : "");
	config_free(c);
	return spec->kind == ADDR_NONE ? EXIT_ENVIRONMENT : EXIT_FINE;
}

static int64_t deadline_in(int wait_ms)
{
	return clock_mono_ns() + (int64_t)wait_ms * NS_PER_MS;
}

/* Waits for `events`; 0, or -ETIMEDOUT if the deadline comes first. */
static int wait_for(int fd, short events, int64_t deadline_ns)
{
	struct pollfd p = {.fd = fd, .events = events};

	for (;;) {
		const int64_t left_ns = deadline_ns - clock_mono_ns();
		int n;

		if (left_ns <= 0)
			return -ETIMEDOUT;
		n = poll(&p, 1, (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS));
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

static int connect_until(const struct addr_spec *spec, int64_t deadline_ns)
{
	const int fd = sys_socket(AF_UNIX);
	int err;

	check(spec->kind == ADDR_UNIX);
	if (fd < 0)
		return fd;
	while ((err = sys_connect(fd, &spec->addr.sa, spec->addr.len)) == -EAGAIN &&
	       clock_mono_ns() < deadline_ns)
		(void)poll(NULL, 0, AGAIN_MS);
	if (err == 0)
		return fd;
	sys_close(fd);
	return err == -EAGAIN ? -ETIMEDOUT : err;
}

int ask_connect(const struct addr_spec *spec, int wait_ms)
{
	return connect_until(spec, deadline_in(wait_ms));
}

static int send_all(int fd, const char *text, int64_t deadline_ns)
{
	size_t len = strlen(text);
	int err;

	while (len > 0) {
		const ssize_t n = sys_send(fd, text, len);

		if (n >= 0) {
			text += n;
			len -= (size_t)n;
			continue;
		}
		err = n == -EAGAIN ? wait_for(fd, POLLOUT, deadline_ns) : (int)n;
		if (err)
			return err;
	}
	return 0;
}

static int receive_all(int fd, struct ask_sink *sink, int64_t deadline_ns)
{
	char buf[16384];
	int err;

	for (;;) {
		const ssize_t n = sys_recv(fd, buf, sizeof(buf), 0);

		if (n == 0)
			return 0;
		if (n > 0) {
			sink->take(sink, buf, (size_t)n);
			continue;
		}
		err = n == -EAGAIN ? wait_for(fd, POLLIN, deadline_ns) : (int)n;
		if (err)
			return err;
	}
}

/* Asks for our texts. In one piece, where the socket allows it. */
static int send_request(int fd, const char *line, int64_t deadline_ns)
{
	struct text request;
	int err = -ENOMEM;

	text_init(&request);
	text_printf(&request, VOICE_OURS " %s", line);
	if (!request.failed)
		err = send_all(fd, request.bytes, deadline_ns);
	text_free(&request);
	return err;
}

/* A refused client receives the reason before the connection is closed. That may be before its request is
 * sent (EPIPE), and a reset may follow the answer if the request is left unread. */
static int talk_until(int fd, const char *line, int64_t deadline_ns, struct ask_sink *sink)
{
	const int err = send_request(fd, line, deadline_ns);

	return !err || err == -EPIPE ? receive_all(fd, sink, deadline_ns) : err;
}

int ask_talk(int fd, const char *line, int wait_ms, struct ask_sink *sink)
{
	return talk_until(fd, line, deadline_in(wait_ms), sink);
}

struct text_sink {
	struct ask_sink sink;
	struct text *text; /* borrows */
};

static void take_text(struct ask_sink *sink, const char *bytes, size_t len)
{
	text_add(container_of(sink, struct text_sink, sink)->text, bytes, len);
}

/* Is the part of the answer after `before` an error? */
static bool is_refusal(const struct text *answer, size_t before)
{
	static const char refusal[] = "error";

	return answer->len > before &&
	       strncmp(answer->bytes + before, refusal, strlen(refusal)) == 0;
}

int ask_once(const struct addr_spec *spec, const char *line, int wait_ms, struct text *answer)
{
	const int64_t deadline_ns = deadline_in(wait_ms);
	const int fd = connect_until(spec, deadline_ns);
	const size_t before = answer->len;
	struct text_sink into = {.sink.take = take_text, .text = answer};
	int err;

	if (fd < 0)
		return fd;
	err = talk_until(fd, line, deadline_ns, &into.sink);
	sys_close(fd);
	if (!err && answer->failed)
		err = -ENOMEM;
	if (err == -ECONNRESET && is_refusal(answer, before))
		err = 0;
	if (!err && answer->len == before)
		return -ECONNRESET;
	return err;
}

void ask_explain(const struct addr_spec *spec, int err, int wait_ms)
{
	char name[ADDR_TEXT_MAX];

	if (err == -ETIMEDOUT)
		fprintf(stderr, "weir: no answer from %s within %d s\n", addr_spec_format(spec, name),
			wait_ms / 1000);
	else if (err == -ECONNRESET || err == -EPIPE || err == -ENOMEM)
		fprintf(stderr, "weir: the admin socket gave no answer: %s\n", strerror(-err));
	else if (err == -EACCES)
		fprintf(stderr,
			"weir: cannot connect to %s: %s; uid %u may not use this socket: see mode=, user= "
			"and group= of 'admin-socket' in [global], and who may enter its folder\n",
			addr_spec_format(spec, name), strerror(-err), (unsigned)geteuid());
	else
		fprintf(stderr, "weir: cannot connect to %s: %s; is weir running?\n",
			addr_spec_format(spec, name), strerror(-err));
}

enum exit_code ask(const struct addr_spec *spec, const char *line, int wait_ms, struct text *answer)
{
	const size_t before = answer->len;
	const int err = ask_once(spec, line, wait_ms, answer);

	if (err) {
		ask_explain(spec, err, wait_ms);
		return EXIT_ENVIRONMENT;
	}
	if (!is_refusal(answer, before))
		return EXIT_FINE;
	fputs(answer->bytes + before, stderr);
	return EXIT_CONFIG;
}

int ask_peer_pid(const struct addr_spec *spec, int wait_ms)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	const int fd = ask_connect(spec, wait_ms);
	int err;

	if (fd < 0)
		return fd;
	err = sys_getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	sys_close(fd);
	if (err)
		return err;
	return peer.pid > 0 ? (int)peer.pid : -ESRCH; /* 0: in a namespace not visible to us */
}
