/* SPDX-License-Identifier: MIT
 *
 * running.c - a running weir as a process: finding it, and sending it signals (-s).
 *
 * Holds the process by a descriptor (pidfd) while it checks it, so that it never signals another process that
 * has since got the same ID. Main thread.
 */
#include "running.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/config/suggest.h"
#include "weir/host/pidfile.h"
#include "ask.h"

#define SIGNAL_WAIT_MS 2000
#define COMM_MAX       32

/* nginx's words. Two pending signals of the same kind would merge, so `stop` sends two different ones. */
static const struct word {
	const char *word;
	int signals[2]; /* 0 = none */
} words[] = {
	{"stop", {SIGTERM, SIGINT}},
	{"quit", {SIGTERM, 0}},
	{"reopen", {SIGUSR1, 0}},
	{"reload", {0, 0}}, /* asked for, because a signal has no answer */
};

static const struct word *find_word(const char *name)
{
	struct suggest near;

	suggest_init(&near, name);
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(words[i].word, name) == 0)
			return &words[i];
		suggest_offer(&near, words[i].word, NULL);
	}
	fprintf(stderr, "weir: -s must be stop, quit, reopen or reload, not '%s'", name);
	if (near.best != NULL)
		fprintf(stderr, "; did you mean '%s'?", near.best);
	fputc('\n', stderr);
	return NULL;
}

/* The name of a process; false if it cannot be read. */
static bool read_comm(const char *path, char comm[static COMM_MAX])
{
	FILE *in = fopen(path, "re");
	bool fine;

	if (in == NULL)
		return false;
	fine = fgets(comm, COMM_MAX, in) != NULL;
	(void)fclose(in); /* only read */
	if (fine)
		comm[strcspn(comm, "\n")] = '\0';
	return fine;
}

bool running_is_weir(int pid)
{
	char path[64], theirs[COMM_MAX], ours[COMM_MAX];

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", pid); /* at most ten digits */
	return read_comm(path, theirs) && read_comm("/proc/self/comm", ours) && strcmp(theirs, ours) == 0;
}

int running_pid_in(const char *path)
{
	const int pid = pidfile_read(path);

	if (pid == -EINVAL)
		fprintf(stderr, "weir: there is no process ID in %s\n", path);
	else if (pid < 0)
		fprintf(stderr, "weir: cannot read %s: %s; is weir running?\n", path, strerror(-pid));
	return pid > 0 ? pid : 0;
}

/* The daemon's process ID; 0 with `*code` set after explaining on stderr why there is none. */
static int find_pid(const struct cli_args *a, enum exit_code *code)
{
	struct addr_spec spec = {.kind = ADDR_NONE};
	char name[ADDR_TEXT_MAX];
	int pid;

	*code = EXIT_ENVIRONMENT;
	if (a->pid_path != NULL)
		return running_pid_in(a->pid_path);
	*code = ask_find(a, &spec);
	if (*code != EXIT_FINE)
		return 0;
	*code = EXIT_ENVIRONMENT;
	pid = ask_peer_pid(&spec, SIGNAL_WAIT_MS);
	if (pid > 0)
		return pid;
	fprintf(stderr, "weir: cannot connect to %s: %s; is weir running?\n",
		addr_spec_format(&spec, name), strerror(-pid));
	return 0;
}

static int send_signals(int fd, const struct word *word)
{
	for (size_t i = 0; i < ARRAY_LEN(word->signals) && word->signals[i] != 0; i++)
		if (pidfd_send_signal(fd, word->signals[i], NULL, 0) != 0)
			return -errno;
	return 0;
}

enum exit_code running_signal(const struct cli_args *a)
{
	const struct word *word = find_word(a->signal_name);
	enum exit_code code;
	int pid, fd, err;

	if (word == NULL)
		return EXIT_USAGE;
	if (word->signals[0] == 0)
		return cli_reload(a);
	pid = find_pid(a, &code);
	if (pid == 0)
		return code;
	fd = pidfd_open(pid, 0);
	err = fd < 0 ? -errno : 0;
	if (!err && !running_is_weir(pid)) {
		fprintf(stderr, "weir: process %d is not weir; nothing was sent to it\n", pid);
		(void)close(fd);
		return EXIT_ENVIRONMENT;
	}
	if (!err)
		err = send_signals(fd, word);
	if (fd >= 0)
		(void)close(fd);
	if (!err)
		return EXIT_FINE;
	fprintf(stderr, "weir: cannot signal process %d: %s%s\n", pid, strerror(-err),
		err == -ESRCH ? "; the weir that wrote that pid file has ended" : "");
	return EXIT_ENVIRONMENT;
}
