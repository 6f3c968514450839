/* SPDX-License-Identifier: MIT
 *
 * test_reload.c - `weir reload` when a system call or an allocation of its own fails, each in turn: it says
 * so and leaves no descriptor open.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/cli/cli.h"
#include "command.h"

#define FOLDER_MAX 64
#define TEXT_MAX   128
#define RESULT	   "reloaded: generation 2, nothing changed\n"

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
ssize_t __real_getdelim(char **text, size_t *room, int delim, FILE *in);
ssize_t __wrap_getdelim(char **text, size_t *room, int delim, FILE *in);
int __real_sys_socket(int family);
int __wrap_sys_socket(int family);
int __real_sys_connect(int fd, const struct sockaddr *sa, socklen_t len);
int __wrap_sys_connect(int fd, const struct sockaddr *sa, socklen_t len);
int __real_sys_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_sys_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
ssize_t __real_sys_send(int fd, const void *data, size_t len);
ssize_t __wrap_sys_send(int fd, const void *data, size_t len);
ssize_t __real_sys_recv(int fd, void *data, size_t len, int flags);
ssize_t __wrap_sys_recv(int fd, void *data, size_t len, int flags);

static bool counting; /* within the command */
static long calls;
static long fail_at; /* the call that fails; 0 = none */
static int fail_with;

static bool fails(void)
{
	return counting && ++calls == fail_at;
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *ptr, size_t size)
{
	return fails() ? NULL : __real_realloc(ptr, size);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (!fails())
		return __real_fopen(path, mode);
	errno = fail_with;
	return NULL;
}

ssize_t __wrap_getdelim(char **text, size_t *room, int delim, FILE *in)
{
	return fails() ? -1 : __real_getdelim(text, room, delim, in);
}

int __wrap_sys_socket(int family)
{
	return fails() ? -fail_with : __real_sys_socket(family);
}

int __wrap_sys_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	return fails() ? -fail_with : __real_sys_connect(fd, sa, len);
}

int __wrap_sys_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	return fails() ? -fail_with : __real_sys_getsockopt(fd, level, name, value, len);
}

ssize_t __wrap_sys_send(int fd, const void *data, size_t len)
{
	return fails() ? -fail_with : __real_sys_send(fd, data, len);
}

ssize_t __wrap_sys_recv(int fd, void *data, size_t len, int flags)
{
	return fails() ? -fail_with : __real_sys_recv(fd, data, len, flags);
}

/* A daemon that reloads, at once, as often as it is asked. A process of its own, so that its descriptors do
 * not count; to the kernel the socket is that of the process that called listen(2), which is this one. */
struct server {
	char folder[FOLDER_MAX];
	struct sockaddr_un address;
	pid_t pid;
};

static void serve(int listener)
{
	char line[64];
	int fd;

	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		if (read(fd, line, sizeof(line)) > 0)
			(void)!send(fd, RESULT, sizeof(RESULT) - 1, MSG_NOSIGNAL); /* it may have gone */
		close(fd);
	}
}

static void start_server(struct server *s, const char *name)
{
	int fd;

	(void)snprintf(s->folder, sizeof(s->folder), "/tmp/weir-cli-reload-XXXXXX");
	assert_non_null(mkdtemp(s->folder));
	s->address = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(s->address.sun_path, sizeof(s->address.sun_path), "%s/%s", s->folder, name);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&s->address, sizeof(s->address)), 0);
	assert_int_equal(listen(fd, 8), 0);
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (s->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* also if a test fails */
		serve(fd);
		_exit(1);
	}
	close(fd);
}

static void stop_server(struct server *s)
{
	assert_int_equal(kill(s->pid, SIGKILL), 0);
	assert_int_equal(waitpid(s->pid, NULL, 0), s->pid);
	assert_int_equal(unlink(s->address.sun_path), 0);
	assert_int_equal(rmdir(s->folder), 0);
}

static unsigned count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(folder);
	while (readdir(folder) != NULL)
		count++;
	(void)closedir(folder); /* only read */
	return count;
}

/* Each call fails in turn. Returns how often weir was found and had reloaded nevertheless. */
static unsigned fail_each(char *const words[], int err)
{
	unsigned fine = 0;
	char said[8192];
	bool failed = true;

	fail_with = err;
	for (long n = 1; failed; n++) {
		const unsigned before = count_descriptors();
		int code;

		calls = 0;
		fail_at = n;
		counting = true;
		code = command_run(words, said, sizeof(said));
		counting = false;
		failed = calls >= n;
		assert_int_equal(count_descriptors(), before);
		if (code == EXIT_FINE) {
			assert_string_equal(said, RESULT);
			fine++;
		} else if ((code != EXIT_ENVIRONMENT && code != EXIT_FATAL) ||
			   strncmp(said, "weir: ", 6) != 0) {
			fail_msg("call %ld: code %d: %s", n, code, said);
		}
		if (!failed)
			assert_int_equal(code, EXIT_FINE);
	}
	return fine;
}

static void a_reload_that_fails_anywhere_says_so(void **state)
{
	char pid[TEXT_MAX];
	char *const words[] = {"weir", "reload", "--pid", pid, NULL};
	struct server s;

	(void)state;
	start_server(&s, "weir.control");
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	assert_int_equal(setenv("RUNTIME_DIRECTORY", s.folder, 1), 0);
	(void)fail_each(words, EMFILE); /* some calls may fail after the result */
	(void)fail_each(words, EACCES);
	assert_int_equal(unsetenv("RUNTIME_DIRECTORY"), 0);
	stop_server(&s);
}

static void a_place_that_cannot_be_read_is_passed_over(void **state)
{
	char path[TEXT_MAX];
	char *const words[] = {"weir", "reload", "-p", path, NULL};
	struct server s;
	FILE *file;

	(void)state;
	start_server(&s, "pid.control");
	(void)snprintf(path, sizeof(path), "%s/pid", s.folder);
	file = __real_fopen(path, "w");
	assert_non_null(file);
	assert_true(fprintf(file, "%d\n", (int)getpid()) > 0);
	assert_int_equal(fclose(file), 0);
	/* Without its environment, the socket beside its pid file is found all the same. */
	assert_true(fail_each(words, ENOMEM) > 2);
	assert_int_equal(unlink(path), 0);
	stop_server(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reload_that_fails_anywhere_says_so),
		cmocka_unit_test(a_place_that_cannot_be_read_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
