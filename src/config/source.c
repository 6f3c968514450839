/* SPDX-License-Identifier: MIT
 *
 * source.c - one text of the configuration, kept line by line for messages.
 *
 * Reads whole files, also pipes (`-f <(generate)`). Validates nothing: the reader does that. Main thread.
 */
#include "weir/config/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/net/list_file.h"

#define SOURCE_CHUNK (64u * 1024u)

struct source *source_new(struct arena *a, const char *name)
{
	struct source *s = arena_alloc(a, sizeof(*s));

	s->name = arena_strndup(a, name, strlen(name));
	return s;
}

/* `text` is in the arena and NUL-terminated. */
static void keep_line(struct arena *a, struct source *s, const char *text, size_t len)
{
	s->lines = arena_grow(a, s->lines, s->line_count, sizeof(*s->lines));
	s->lines[s->line_count++] = (struct source_line){text, len};
}

void source_add_line(struct arena *a, struct source *s, const char *text, size_t len)
{
	keep_line(a, s, arena_strndup(a, text, len), len);
}

/* Splits `text` into lines in place. */
void source_take_text(struct arena *a, struct source *s, char *text, size_t len)
{
	char *end = text + len;

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3;
	while (text < end) {
		char *stop = memchr(text, '\n', (size_t)(end - text));
		char *next = stop != NULL ? stop + 1 : end;

		stop = stop != NULL ? stop : end;
		if (stop > text && stop[-1] == '\r')
			stop--;
		*stop = '\0';
		keep_line(a, s, text, (size_t)(stop - text));
		text = next;
	}
}

void source_add_text(struct arena *a, struct source *s, const char *text, size_t len)
{
	source_take_text(a, s, arena_strndup(a, text, len), len);
}

struct open_file {
	int fd_plus_one; /* 0 = none */
};

static void release_file(void *bytes)
{
	struct open_file *f = bytes;

	if (f->fd_plus_one != 0)
		(void)close(f->fd_plus_one - 1); /* only read from */
	f->fd_plus_one = 0;
}

/* Reads everything from `fd` into one buffer of the arena; returns the length or -errno. */
static ssize_t read_whole(struct arena *a, int fd, size_t max, char **out)
{
	size_t room = SOURCE_CHUNK, used = 0;
	char *bytes = arena_alloc(a, room);

	for (;;) {
		ssize_t n = read(fd, bytes + used, room - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		used += (size_t)n;
		if (used > max)
			return -EFBIG;
		if (used == room) {
			char *larger = arena_alloc(a, 2 * room);

			memcpy(larger, bytes, used);
			bytes = larger;
			room *= 2;
		}
	}
	*out = bytes;
	return (ssize_t)used;
}

/* What is read: `bytes` and `len` of a file of at most `max` bytes. */
struct whole {
	size_t max;
	char *bytes;
	size_t len;
};

static int read_file(struct arena *a, const char *path, bool regular, struct whole *w)
{
	struct open_file *f = arena_alloc_owner(a, sizeof(*f), release_file);
	/* Without O_NONBLOCK, opening a FIFO without a writer would block. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (regular ? O_NONBLOCK : 0));
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return -errno;
	f->fd_plus_one = fd + 1;
	if (regular && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		n = -EINVAL;
	else
		n = read_whole(a, fd, w->max, &w->bytes); /* a directory: EISDIR */
	release_file(f);
	if (n < 0)
		return (int)n;
	w->len = (size_t)n;
	return 0;
}

int source_read_file(struct arena *a, const char *path, bool regular, char **bytes, size_t *len)
{
	struct whole w = {.max = SOURCE_BYTES_MAX};
	const int err = read_file(a, path, regular, &w);

	if (err)
		return err;
	*bytes = w.bytes;
	*len = w.len;
	return 0;
}

int source_read_list(struct arena *a, const char *path, char **bytes, size_t *len)
{
	struct whole w = {.max = LIST_FILE_BYTES_MAX};
	const int err = read_file(a, path, true, &w);

	if (err)
		return err;
	*bytes = w.bytes;
	*len = w.len;
	return 0;
}

const char *source_why_unread(int err)
{
	check(err < 0);
	if (err == -EFBIG)
		return "it is larger than 16 MiB";
	if (err == -ENODATA)
		return "the text that is kept does not have it";
	return err == -EINVAL ? "it is not a regular file" : strerror(-err);
}

const char *source_beside(struct arena *a, const struct source *s, const char *path)
{
	const char *slash = strrchr(s->name, '/');

	if (path[0] == '/' || slash == NULL)
		return path;
	return arena_printf(a, "%.*s%s", (int)(slash - s->name + 1), s->name, path);
}
