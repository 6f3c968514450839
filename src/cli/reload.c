/* SPDX-License-Identifier: MIT
 *
 * reload.c - `weir reload`, `weir -s reload`, `weir confirm`, `weir rollback`: asks a running weir, and shows
 * the result.
 *
 * Reads no configuration for the daemon, which reads its own: the one here only names the admin socket.
 * Main thread.
 */
#include "reload.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir/admin/reload_wish.h"
#include "weir/base/check.h"
#include "weir/config/values.h"
#include "weir/sys/sys.h"
#include "ask.h"
#include "control_socket.h"
#include "running.h"

#define CONNECT_WAIT_MS 2000
/* The longest trial, and then its end. */
#define HOLD_WAIT_MS (24 * 3600 * 1000 + 2 * RELOAD_WAIT_MS)
#define LINE_MAX_BYTES 128

/* ---- the answer ---- */

enum verdict {
	VERDICT_NONE, /* not yet */
	VERDICT_DONE,
	VERDICT_REFUSED,
	VERDICT_UNSURE, /* the daemon stops */
};

static const char *const done_words[] = {"reloaded: ", "rolled back: ", "confirmed: "};
static const char *const refusals[] = {"not reloaded: ", "not rolled back: ", "not confirmed: "};

struct answer {
	struct ask_sink sink;
	struct text all;
	size_t done; /* bytes of `all` in lines that have been read */
	enum verdict verdict;
	bool ended; /* a line has followed the result: the end of a wait, or of a trial */
	bool on_trial; /* a line has said so */
	bool kept;  /* it says that the trial was confirmed */
	bool quiet;
	int write_err; /* -errno of stdout */
};

static bool begins_with(const char *line, const char *word)
{
	return strncmp(line, word, strlen(word)) == 0;
}

static bool begins_with_any(const char *line, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (begins_with(line, words[i]))
			return true;
	return false;
}

static bool holds(const char *line)
{
	return begins_with(line, "reload ") && strstr(line, " hold") != NULL;
}

static bool is_silent(const struct answer *a)
{
	return a->quiet && a->verdict == VERDICT_DONE;
}

static void show(struct answer *a, const char *bytes, size_t len)
{
	FILE *out = a->verdict == VERDICT_DONE ? stdout : stderr;

	(void)fwrite(bytes, 1, len, out); /* fflush() reports it */
	if (fflush(out) != 0 && out == stdout)
		a->write_err = -errno;
}

/* Reads a line with its newline, at a->done. What precedes the result is shown together with it. */
static void take_line(struct answer *a, const char *line, size_t len)
{
	const bool is_after = a->verdict != VERDICT_NONE;

	if (begins_with(line, "on trial: until "))
		a->on_trial = true;
	if (is_after && begins_with(line, "confirmed: "))
		a->kept = true;
	if (is_after)
		a->ended = true;
	else if (begins_with_any(line, done_words, ARRAY_LEN(done_words)))
		a->verdict = VERDICT_DONE;
	else if (begins_with_any(line, refusals, ARRAY_LEN(refusals)))
		a->verdict = VERDICT_REFUSED;
	else if (begins_with(line, "perhaps confirmed: "))
		a->verdict = VERDICT_UNSURE;
	if (a->verdict == VERDICT_NONE || is_silent(a))
		return;
	if (!is_after)
		(void)fwrite(a->all.bytes, 1, a->done, stderr); /* nowhere to report a failure */
	show(a, line, len);
}

static void take(struct ask_sink *sink, const char *bytes, size_t len)
{
	struct answer *a = container_of(sink, struct answer, sink);

	text_add(&a->all, bytes, len);
	while (!a->all.failed) {
		const char *line = a->all.bytes + a->done;
		const char *end = memchr(line, '\n', a->all.len - a->done);

		if (end == NULL)
			return;
		take_line(a, line, (size_t)(end - line) + 1);
		a->done += (size_t)(end - line) + 1;
	}
}

/* No result: a daemon that does not know the command or does not allow it, or a connection that was lost. */
static enum exit_code explain(const struct answer *a, const char *name, int err)
{
	if (a->all.failed) {
		fputs("weir: out of memory; whether weir has reloaded is in its log\n", stderr);
		return EXIT_ENVIRONMENT;
	}
	if (a->all.len > 0) {
		fputs(a->all.bytes, stderr);
		if (begins_with(a->all.bytes, "error: "))
			return EXIT_CONFIG;
		if (a->all.bytes[a->all.len - 1] != '\n')
			fputc('\n', stderr);
	}
	if (err == -ETIMEDOUT)
		fprintf(stderr,
			"weir: no answer from %s within %d s; whether weir has reloaded is in its log\n",
			name, RELOAD_WAIT_MS / 1000);
	else
		fprintf(stderr,
			"weir: lost the connection to %s before the result%s%s; it is in the log of weir\n",
			name, err ? ": " : "", err ? strerror(-err) : "");
	return EXIT_ENVIRONMENT;
}

static enum exit_code conclude(const struct answer *a, const char *name, const char *line, int err)
{
	if (a->verdict == VERDICT_NONE)
		return explain(a, name, err);
	if (a->verdict == VERDICT_REFUSED)
		return EXIT_CONFIG;
	if (a->verdict == VERDICT_UNSURE)
		return EXIT_ENVIRONMENT;
	if (holds(line) && a->ended && !a->kept)
		return EXIT_CONFIG;
	if (holds(line) && !a->ended && a->on_trial) {
		fprintf(stderr,
			"weir: lost the connection to %s during the trial: unless it was confirmed, weir "
			"returns\n",
			name);
		return EXIT_ENVIRONMENT;
	}
	if (begins_with(line, "reload wait") && !a->ended)
		fprintf(stderr,
			"weir: lost the connection to %s before the earlier configuration had been retired\n",
			name);
	if (a->write_err == 0)
		return EXIT_FINE;
	fprintf(stderr, "weir: stdout: %s\n", strerror(-a->write_err));
	return EXIT_ENVIRONMENT;
}

bool reload_is_asked(const char *line)
{
	static const char *const commands[] = {"reload\n",  "reload ",   "confirm\n",
					       "confirm ", "rollback\n", "rollback "};

	return begins_with_any(line, commands, ARRAY_LEN(commands));
}

enum exit_code reload_talk(int fd, const char *name, const char *line, bool quiet)
{
	struct answer a = {.sink.take = take, .quiet = quiet};
	enum exit_code code;
	int err;

	text_init(&a.all);
	err = ask_talk(fd, line, holds(line) ? HOLD_WAIT_MS : RELOAD_WAIT_MS, &a.sink);
	sys_close(fd);
	code = conclude(&a, name, line, err);
	text_free(&a.all);
	return code;
}

/* ---- the daemon ---- */

/* The process that the command line names; 0 with `*code` set after explaining on stderr why there is
 * none. */
static int find_pid(const struct cli_args *a, enum exit_code *code)
{
	uint64_t pid = 0;

	*code = EXIT_ENVIRONMENT;
	if (a->pid == NULL)
		return running_pid_in(a->pid_path);
	if (value_number(a->pid, &pid) == 0 && pid > 0 && pid <= INT_MAX)
		return (int)pid;
	fprintf(stderr, "weir: --pid must be a process ID, not '%s'\n", a->pid);
	*code = EXIT_USAGE;
	return 0;
}

static void explain_process(int pid, const char *name, int err)
{
	if (err == -EACCES)
		fprintf(stderr,
			"weir: uid %u may not use %s: only root and the user that weir runs as may; use "
			"sudo, or -s SOCKET with an admin socket of level=admin\n",
			(unsigned)geteuid(), name);
	else if (err == -ETIMEDOUT)
		fprintf(stderr, "weir: no answer from %s within %d s\n", name, CONNECT_WAIT_MS / 1000);
	else if (err != -ENOENT)
		fprintf(stderr, "weir: cannot connect to %s: %s\n", name, strerror(-err));
	else if (kill(pid, 0) != 0 && errno == ESRCH)
		fprintf(stderr, "weir: there is no process %d; is weir running?\n", pid);
	else if (!running_is_weir(pid))
		fprintf(stderr, "weir: process %d is not weir; nothing was sent to it\n", pid);
	else
		fprintf(stderr,
			"weir: the control socket of process %d cannot be found; 'kill -HUP %d' reloads "
			"too, and the result is then in its log\n",
			pid, pid);
}

static int connect_process(const struct cli_args *a, struct addr *found, enum exit_code *code)
{
	char name[ADDR_TEXT_MAX] = "";
	const int pid = find_pid(a, code);
	int fd;

	if (pid == 0)
		return -ESRCH;
	fd = control_socket_of(pid, a->pid_path, CONNECT_WAIT_MS, found);
	if (fd < 0)
		explain_process(pid, fd == -ENOENT ? name : addr_format(found, name), fd);
	return fd;
}

/* By the admin socket of -s or of the configuration. */
static int connect_admin(const struct cli_args *a, struct addr *found, enum exit_code *code)
{
	struct addr_spec spec = {.kind = ADDR_NONE};
	int fd;

	*code = ask_find(a, &spec);
	if (*code != EXIT_FINE)
		return -ENOENT;
	*code = EXIT_ENVIRONMENT;
	*found = spec.addr;
	fd = ask_connect(&spec, CONNECT_WAIT_MS);
	if (fd >= 0)
		return fd;
	ask_explain(&spec, fd, CONNECT_WAIT_MS);
	if (a->socket == NULL && (fd == -ENOENT || fd == -ECONNREFUSED))
		fputs("weir: if 'admin-socket' has changed since weir was started, name the process: "
		      "weir reload --pid PID\n",
		      stderr);
	return fd;
}

int reload_find(const struct cli_args *a, struct addr *found, enum exit_code *code)
{
	int fd;

	if (a->pid != NULL || a->pid_path != NULL)
		return connect_process(a, found, code);
	/* The service can be asked even if its file is invalid now or names another admin socket. */
	if (a->socket == NULL && a->path_count == 0 && a->override_count == 0) {
		fd = control_socket_of_service(CONNECT_WAIT_MS, found);
		if (fd >= 0)
			return fd;
	}
	return connect_admin(a, found, code);
}

static enum exit_code talk(const struct cli_args *a, const char *line)
{
	enum exit_code code = EXIT_ENVIRONMENT;
	struct addr found = {.len = 0};
	char name[ADDR_TEXT_MAX];
	const int fd = reload_find(a, &found, &code);

	if (fd < 0)
		return code;
	return reload_talk(fd, addr_format(&found, name), line, a->quiet);
}

/* The daemon would refuse it, too, in fewer words. */
static bool is_valid(const struct cli_args *a)
{
	int64_t ns = 0;

	if (a->hold && (a->confirm == NULL || a->wait)) {
		fprintf(stderr, "weir: --hold %s\n",
			a->wait ? "and --wait exclude each other" : "needs --confirm TIME");
		return false;
	}
	if (a->confirm == NULL)
		return true;
	if (value_duration(a->confirm, &ns) == 0 && ns >= WISH_CONFIRM_MIN_NS && ns <= WISH_CONFIRM_MAX_NS &&
	    strlen(a->confirm) < LINE_MAX_BYTES / 2)
		return true;
	fprintf(stderr, "weir: --confirm must be a time from 1s to 24h, such as 60s, not '%s'\n", a->confirm);
	return false;
}

enum exit_code cli_reload(const struct cli_args *a)
{
	char line[LINE_MAX_BYTES];

	if (!is_valid(a))
		return EXIT_USAGE;
	(void)snprintf(line, sizeof(line), "reload%s%s%s%s\n", a->wait ? " wait" : "",
		       a->confirm != NULL ? " confirm=" : "", a->confirm != NULL ? a->confirm : "",
		       a->hold ? " hold" : ""); /* its length is checked above */
	return talk(a, line);
}

enum exit_code cli_confirm(const struct cli_args *a)
{
	return talk(a, a->file ? "confirm file\n" : "confirm\n");
}

enum exit_code cli_rollback(const struct cli_args *a)
{
	char line[LINE_MAX_BYTES] = "rollback\n";
	uint64_t to = 0;

	if (a->word_count > 1 ||
	    (a->word_count == 1 && (value_number(a->words[0], &to) != 0 || to == 0))) {
		fprintf(stderr, "weir: rollback takes one generation, such as 3, not '%s'\n",
			a->words[a->word_count - 1]);
		return EXIT_USAGE;
	}
	if (to > 0)
		(void)snprintf(line, sizeof(line), "rollback %llu\n", (unsigned long long)to); /* fits */
	return talk(a, line);
}
