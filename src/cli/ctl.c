/* SPDX-License-Identifier: MIT
 *
 * ctl.c - `sluice ctl CMD...`: one line to the admin socket of a running sluice, its answer out.
 *
 * Finds the socket in the configuration, or takes it from -s. Waits a bounded time. An answer
 * that begins with "error" is a refusal: it goes to stderr and the exit code is 1.
 * Main thread. Floor 7.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "sluice/base/check.h"
#include "sluice/cli/cli.h"
#include "sluice/io/addr.h"

#define CTL_WAIT_S   30
#define CTL_LINE_MAX 4096

/* -s takes an address, or a plain path with or without a slash in it. */
static int socket_from_text(const char *text, struct addr_spec *spec)
{
	char with_prefix[ADDR_TEXT_MAX];
	const char *why = "it is no Unix socket";

	if (addr_parse(text, spec, &why, NULL) == 0 && spec->kind == ADDR_UNIX)
		return 0;
	if (strchr(text, ':') == NULL && strlen(text) < sizeof(with_prefix) - 8) {
		(void)snprintf(with_prefix, sizeof(with_prefix), "unix:./%s", text); /* measured above */
		if (addr_parse(with_prefix, spec, &why, NULL) == 0)
			return 0;
	}
	fprintf(stderr, "sluice: '%s' is no admin socket: %s\n", text, why);
	return -EINVAL;
}

static enum exit_code find_socket(const struct cli_args *a, struct addr_spec *spec)
{
	struct cli_args quiet = *a;
	struct config *c;

	if (a->socket != NULL)
		return socket_from_text(a->socket, spec) == 0 ? EXIT_FINE : EXIT_USAGE;
	quiet.quiet = true;
	c = cli_load(&quiet, NULL, NULL);
	if (c == NULL) {
		fputs("sluice: the admin socket is named in the configuration; -s SOCKET names it too\n",
		      stderr);
		return EXIT_CONFIG;
	}
	*spec = c->global.admin;
	if (spec->kind == ADDR_NONE)
		fprintf(stderr, "sluice: %s has no 'admin-socket' in [global]\n", c->files[0]);
	config_free(c);
	return spec->kind == ADDR_NONE ? EXIT_ENVIRONMENT : EXIT_FINE;
}

/* A connected descriptor, or -errno. */
static int connect_to(const struct addr_spec *spec)
{
	struct timeval wait = {.tv_sec = CTL_WAIT_S};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return -errno;
	/* Without them a daemon that hangs would hang its operator too; failing to set them is no reason
	 * not to ask. */
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (connect(fd, &spec->addr.sa, spec->addr.len) == 0)
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int send_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Reads until `len` bytes are there or the other side has ended; the count or -errno. */
static ssize_t recv_up_to(int fd, char *buf, size_t len)
{
	size_t used = 0;

	while (used < len) {
		ssize_t n = recv(fd, buf + used, len - used, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	return (ssize_t)used;
}

/* Copies the answer out; its first bytes say whether it is a refusal. 0, 1 = refused, or -errno. */
static int copy_answer(int fd)
{
	static const char refusal[] = "error";
	char buf[16384];
	ssize_t n = recv_up_to(fd, buf, sizeof(refusal) - 1);
	bool refused;
	FILE *out;

	if (n < 0)
		return (int)n;
	if (n == 0)
		return -ECONNRESET;
	refused = n == (ssize_t)sizeof(refusal) - 1 && memcmp(buf, refusal, sizeof(refusal) - 1) == 0;
	out = refused ? stderr : stdout;
	while (n > 0) {
		(void)fwrite(buf, 1, (size_t)n, out); /* cli_main() looks at stdout when all is done */
		n = recv_up_to(fd, buf, sizeof(buf));
	}
	if (n < 0)
		return (int)n;
	return refused ? 1 : 0;
}

static enum exit_code talk(int fd, const char *line)
{
	int err = send_all(fd, line, strlen(line));

	if (!err)
		err = copy_answer(fd);
	if (err >= 0)
		return err == 0 ? EXIT_FINE : EXIT_CONFIG;
	if (err == -EAGAIN)
		fprintf(stderr, "sluice: no answer within %d s\n", CTL_WAIT_S);
	else
		fprintf(stderr, "sluice: the admin socket gave no answer: %s\n", strerror(-err));
	return EXIT_ENVIRONMENT;
}

enum exit_code cli_ctl(const struct cli_args *a)
{
	struct addr_spec spec = {.kind = ADDR_NONE};
	char line[CTL_LINE_MAX], name[ADDR_TEXT_MAX];
	enum exit_code code;
	size_t used = 0;
	int fd;

	if (a->word_count == 0) {
		fputs("sluice: ctl needs a command, for example: sluice ctl show info\n", stderr);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < a->word_count; i++) {
		size_t len = strlen(a->words[i]);

		if (len + 2 > sizeof(line) - used || strpbrk(a->words[i], "\r\n") != NULL) {
			fputs("sluice: a command is one line of at most 4 KiB\n", stderr);
			return EXIT_USAGE;
		}
		memcpy(line + used, a->words[i], len);
		used += len;
		line[used++] = i + 1 < a->word_count ? ' ' : '\n';
	}
	line[used] = '\0';
	code = find_socket(a, &spec);
	if (code != EXIT_FINE)
		return code;
	check(spec.kind == ADDR_UNIX);
	fd = connect_to(&spec);
	if (fd < 0) {
		fprintf(stderr, "sluice: cannot connect to %s: %s; is sluice running?\n",
			addr_spec_format(&spec, name), strerror(-fd));
		return EXIT_ENVIRONMENT;
	}
	code = talk(fd, line);
	close(fd);
	return code;
}
