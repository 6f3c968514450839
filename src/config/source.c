/* SPDX-License-Identifier: MIT
 *
 * source.c - one text that configuration came from, kept line by line for the messages.
 *
 * Reads files whole, pipes too (`-f <(generate)`). Judges nothing: that is the reader's part.
 * Main thread. Floor 2.
 */
#include "sluice/config/source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sluice/base/check.h"

#define SOURCE_CHUNK (64u * 1024u)

struct source *source_new(struct arena *a, const char *name)
{
	struct source *s = arena_alloc(a, sizeof(*s));

	s->name = arena_strndup(a, name, strlen(name));
	return s;
}

void source_add_line(struct arena *a, struct source *s, const char *text, size_t len)
{
	struct source_line *line;

	s->lines = arena_grow(a, s->lines, s->line_count, sizeof(*s->lines));
	line = &s->lines[s->line_count++];
	line->text = arena_strndup(a, text, len);
	line->len = len;
}

void source_add_text(struct arena *a, struct source *s, const char *text, size_t len)
{
	const char *end = text + len;

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3;
	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t line_len = (size_t)((stop != NULL ? stop : end) - text);

		if (line_len > 0 && text[line_len - 1] == '\r')
			source_add_line(a, s, text, line_len - 1);
		else
			source_add_line(a, s, text, line_len);
		text = stop != NULL ? stop + 1 : end;
	}
}

/* Everything from `fd` into one buffer of the arena; the length or -errno. */
static ssize_t read_whole(struct arena *a, int fd, char **out)
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
		if (used > SOURCE_BYTES_MAX)
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

int source_add_file(struct arena *a, struct source *s)
{
	char *bytes = NULL;
	ssize_t len;
	int fd;

	check(s->line_count == 0);
	fd = open(s->name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = read_whole(a, fd, &bytes);
	(void)close(fd); /* it was only read */
	if (len < 0)
		return (int)len;
	source_add_text(a, s, bytes, (size_t)len);
	return 0;
}
