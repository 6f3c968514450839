/* SPDX-License-Identifier: MIT
 *
 * kernel_file.c - reading the small files in /proc and /sys.
 *
 * Owns nothing between calls. Any thread.
 */
#include "kernel_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"

/* One line of /proc/PID/status lists all supplementary groups. */
#define STATUS_MAX 65536u

int kernel_file_read(const char *path, char *buf, size_t room)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;

	check(room > 1);
	buf[0] = '\0';
	if (fd < 0)
		return -errno;
	while (len < room - 1 && (n = sys_read(fd, buf + len, room - 1 - len)) > 0)
		len += (size_t)n;
	sys_close(fd);
	buf[len] = '\0';
	return n < 0 ? (int)n : (int)len;
}

const char *kernel_file_line(const char *path, char *buf, size_t room)
{
	if (kernel_file_read(path, buf, room) < 0)
		buf[0] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return buf;
}

bool kernel_file_to_number(const char *text, uint64_t *n)
{
	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*n = strtoull(text, NULL, 10);
	return errno == 0;
}

bool kernel_file_number(const char *path, uint64_t *n)
{
	char text[64];

	return kernel_file_to_number(kernel_file_line(path, text, sizeof(text)), n);
}

uint64_t kernel_file_capabilities(const char *status)
{
	static const char name[] = "\nCapEff:";
	const char *line = strstr(status, name);

	return line != NULL ? strtoull(line + strlen(name), NULL, 16) : 0;
}

bool kernel_file_has_capability(unsigned bit)
{
	char *status = malloc(STATUS_MAX);
	bool has;

	check(bit < 64);
	if (status == NULL)
		return false;
	has = kernel_file_read("/proc/self/status", status, STATUS_MAX) > 0 &&
	      (kernel_file_capabilities(status) >> bit & 1) != 0;
	free(status);
	return has;
}
