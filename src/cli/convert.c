/* SPDX-License-Identifier: MIT
 *
 * convert.c - `weir convert FILE...`: writes the INI for a HAProxy or nginx configuration, and a report.
 *
 * With -o, all files are written or none. Main thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/cli/cli.h"
#include "weir/convert/convert.h"

extern char **environ;

#define RESULT_NAME "weir.ini"
#define PLAIN_MODE  0644
#define SECRET_MODE 0640

/* ---- files ---- */

static int complain(const char *path)
{
	const int err = errno;

	fprintf(stderr, "weir: %s: %s\n", path, strerror(err));
	return -err;
}

/* "DIR/NAME" or "DIR/NAME.new"; freed by the caller. */
static char *path_of(const char *folder, const char *name, const char *end)
{
	const size_t len = strlen(folder) + strlen(name) + strlen(end) + 2;
	char *path = malloc(len);

	if (path != NULL)
		(void)snprintf(path, len, "%s/%s%s", folder, name, end); /* it has room */
	return path;
}

static int write_whole(const char *path, const char *text, mode_t mode)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
	FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
	int err = 0;

	if (out == NULL)
		return complain(path);
	if (fchmod(fd, mode) != 0 || fputs(text, out) == EOF || fflush(out) != 0 || fsync(fd) != 0)
		err = complain(path);
	if (fclose(out) != 0 && err == 0)
		err = complain(path);
	return err;
}

/* One file of the result. */
struct target {
	const char *name;
	const char *text;
	mode_t mode;
	char *path; /* owns */
	char *made; /* owns: the temporary name */
	bool exists;
};

static void drop_targets(struct target *list, size_t count, bool remove)
{
	for (size_t i = 0; i < count; i++) {
		if (remove && list[i].exists)
			(void)unlink(list[i].made); /* nothing more can be done */
		free(list[i].path);
		free(list[i].made);
	}
	free(list);
}

static int write_target(const char *folder, struct target *t)
{
	int err;

	t->path = path_of(folder, t->name, "");
	t->made = path_of(folder, t->name, ".new");
	if (t->path == NULL || t->made == NULL) {
		fputs("weir: out of memory\n", stderr);
		return -ENOMEM;
	}
	err = write_whole(t->made, t->text, t->mode);
	t->exists = err == 0 || err != -EEXIST;
	return err;
}

static int make_folders(const char *folder, const struct convert_result *r)
{
	char *lists = path_of(folder, "lists", "");
	int err = 0;

	if (lists == NULL)
		return -ENOMEM;
	if (mkdir(folder, 0755) != 0 && errno != EEXIST)
		err = complain(folder);
	for (size_t i = 0; i < r->file_count && err == 0; i++)
		if (strncmp(r->files[i].name, "lists/", 6) == 0 && mkdir(lists, 0755) != 0 && errno != EEXIST)
			err = complain(lists);
	free(lists);
	return err;
}

/* A name that cannot be replaced, which rename() would refuse too late. */
static int refuse_folder(const struct target *t)
{
	struct stat st;

	if (lstat(t->path, &st) != 0 || !S_ISDIR(st.st_mode))
		return 0;
	errno = EISDIR;
	return complain(t->path);
}

/* Writes everything beside its name first; then the names change, which hardly fails. */
static int write_folder(const char *folder, const struct convert_result *r)
{
	const size_t count = r->file_count + 1;
	struct target *list = calloc(count, sizeof(*list));
	int err = list == NULL ? -ENOMEM : make_folders(folder, r);

	if (list == NULL)
		return err;
	for (size_t i = 0; i < count; i++) {
		const bool last = i == r->file_count;
		const char *name = last ? RESULT_NAME : r->files[i].name;

		list[i] = (struct target){.name = name, .text = last ? r->ini : r->files[i].text};
		list[i].mode = strstr(name, "htpasswd") != NULL ? SECRET_MODE : PLAIN_MODE;
	}
	for (size_t i = 0; i < count && err == 0; i++)
		err = write_target(folder, &list[i]);
	for (size_t i = 0; i < count && err == 0; i++)
		err = refuse_folder(&list[i]);
	for (size_t i = 0; i < count && err == 0; i++) {
		if (rename(list[i].made, list[i].path) != 0)
			err = complain(list[i].path);
		else
			list[i].exists = false;
	}
	drop_targets(list, count, true);
	return err;
}

/* ---- the verb ---- */

static bool find_program(const struct cli_args *a, enum convert_from *from)
{
	*from = CONVERT_GUESS;
	if (a->from == NULL)
		return true;
	if (strcmp(a->from, "haproxy") == 0)
		*from = CONVERT_HAPROXY;
	else if (strcmp(a->from, "nginx") == 0)
		*from = CONVERT_NGINX;
	else
		fprintf(stderr, "weir: --from must be haproxy or nginx, not '%s'\n", a->from);
	return *from != CONVERT_GUESS;
}

static char *make_report(const struct cli_args *a, const struct convert_result *r)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	if (a->json)
		convert_report_json(r, out);
	else
		convert_report(r, out, a->quiet && a->report == NULL);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* In one piece: standard error has no buffer. */
static int print_report(const struct cli_args *a, const struct convert_result *r)
{
	const char *name = a->report != NULL ? a->report : "stderr";
	char *text = make_report(a, r);
	FILE *out;
	int err = 0;

	if (text == NULL) {
		fputs("weir: out of memory\n", stderr);
		return -ENOMEM;
	}
	out = a->report != NULL ? fopen(a->report, "we") : stderr;
	if (out == NULL || fputs(text, out) == EOF || fflush(out) != 0)
		err = complain(name);
	if (a->report != NULL && out != NULL && fclose(out) != 0 && err == 0)
		err = complain(name);
	free(text);
	return err;
}

static enum exit_code conclude(const struct cli_args *a, const struct convert_result *r)
{
	if (r->ini == NULL)
		return EXIT_CONFIG;
	if (a->strict && r->counts[OLD_DIFFERENT] + r->counts[OLD_LOST] > 0)
		return EXIT_STRICT;
	if (a->folder == NULL && (fputs(r->ini, stdout) == EOF || fflush(stdout) != 0)) {
		(void)complain("stdout");
		return EXIT_ENVIRONMENT;
	}
	if (a->folder != NULL && write_folder(a->folder, r) != 0)
		return EXIT_ENVIRONMENT;
	return r->counts[OLD_LOST] > 0 ? EXIT_WOULD_CHANGE : EXIT_FINE;
}

enum exit_code cli_convert(const struct cli_args *a)
{
	struct convert_wish wish = {
	    .paths = a->words,
	    .path_count = a->word_count,
	    .prefix = a->prefix,
	    .with_files = a->folder != NULL,
	    .environment = environ,
	};
	struct convert_result r;
	enum exit_code code;

	if (a->word_count == 0) {
		fputs("weir: convert needs the files of HAProxy or nginx: weir convert "
		      "/etc/haproxy/haproxy.cfg\n",
		      stderr);
		return EXIT_USAGE;
	}
	if (!find_program(a, &wish.from))
		return EXIT_USAGE;
	convert_run(&wish, &r);
	if (r.no_memory) {
		fputs("weir: out of memory\n", stderr);
		code = EXIT_FATAL;
	} else if (print_report(a, &r) != 0) {
		code = EXIT_ENVIRONMENT;
	} else {
		code = conclude(a, &r);
	}
	convert_free(&r);
	return code;
}
