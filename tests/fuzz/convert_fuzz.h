/* SPDX-License-Identifier: MIT
 *
 * convert_fuzz.h - any bytes as a configuration of HAProxy or nginx, for the fuzz targets of both.
 *
 * Either there is an error that names the file, or every line has its fate, and a result is one that weir
 * accepts on a machine that has its files. The password of the lines that come before some of the texts is
 * nowhere in what is written, nor is a byte that would disturb a terminal, and a second conversion says the
 * same.
 */
#ifndef WEIR_TESTS_CONVERT_FUZZ_H
#define WEIR_TESTS_CONVERT_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/convert/convert.h"
#include "weir/settings/config_reading.h"

#define FUZZ_SECRET "Zq9-kT4w"

/* What is converted, and what is written about it. */
struct convert_fuzz {
	enum convert_from from;
	bool with_files;
	char path[64];
	const char *paths[1];
};

struct convert_fuzz_texts {
	char *report;
	char *json;
	char *ini; /* NULL = no result */
};

/* By hand: libFuzzer would learn the password from the arguments of strstr(). */
static inline bool convert_fuzz_has_secret(const char *text, size_t len)
{
	const size_t secret_len = strlen(FUZZ_SECRET);

	for (size_t i = 0; i + secret_len <= len; i++) {
		size_t same = 0;

		while (same < secret_len && text[i + same] == FUZZ_SECRET[same])
			same++;
		if (same == secret_len)
			return true;
	}
	return false;
}

/* Bytes that no text for a terminal, and no line of an INI, has. */
static inline bool convert_fuzz_is_clean(const char *text)
{
	for (; *text != '\0'; text++)
		if (((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') || *text == 0x7f)
			return false;
	return true;
}

static inline void convert_fuzz_judge(const struct convert_result *r)
{
	size_t sum = 0;

	check(!r->no_memory);
	if (r->reading.error.text != NULL) {
		check(r->ini == NULL);
		check(r->reading.error.file != NULL);
		return;
	}
	for (size_t i = 0; i < r->reading.every.count; i++)
		check(r->reading.every.list[i]->fate != OLD_OPEN);
	for (size_t i = 0; i < OLD_FATES; i++)
		sum += r->counts[i];
	check(sum == r->reading.every.count);
	check(r->ini == NULL || strstr(r->ini, "[listen ") != NULL || strstr(r->ini, "[frontend ") != NULL ||
	      strstr(r->ini, "[backend ") != NULL);
}

/* Does the line depend on variables, files, users, programs or addresses of the machine it is for? */
static inline bool convert_fuzz_is_of_machine(const char *ini, unsigned number)
{
	static const char *const marks[] = {"${", "@", "exec", "-file", "=/", ":/", "= /", "user=", "group=",
					    "verify="};
	char line[1024];
	size_t len;

	for (; number > 1 && *ini != '\0'; number--) {
		ini += strcspn(ini, "\n");
		ini += *ini == '\n';
	}
	len = strcspn(ini, "\n");
	(void)snprintf(line, sizeof(line), "%.*s", (int)len, ini); /* what is cut has no marks */
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (strstr(line, marks[i]) != NULL)
			return true;
	return false;
}

/* The result as `weir -c` reads it. */
static inline void convert_fuzz_read_back(const char *ini)
{
	struct config_input input = {0};
	struct config_reading r;
	bool fine = true;

	check(config_input_set_text(&input, "/nonexistent-weir-fuzz/weir.ini", ini) == 0);
	config_read(&input, &r);
	if (r.config == NULL)
		fine = r.diag.count > 0;
	for (size_t i = 0; r.config == NULL && i < r.diag.count; i++)
		if (r.diag.items[i].level == DIAG_LEVEL_ERROR &&
		    !convert_fuzz_is_of_machine(ini, r.diag.items[i].at.line))
			fine = false;
	if (!fine) {
		fprintf(stderr, "%s\n", ini);
		config_reading_print(&r, stderr, CONFIG_STYLE_PLAIN);
	}
	check(fine);
	config_reading_free(&r);
	config_input_free(&input);
}

static inline char *convert_fuzz_print(const struct convert_result *r, bool json)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	check(out != NULL);
	if (json)
		convert_report_json(r, out);
	else
		convert_report(r, out, false);
	check(fclose(out) == 0);
	return text;
}

static inline void convert_fuzz_once(const struct convert_fuzz *f, struct convert_fuzz_texts *t,
				     bool with_secret)
{
	static char *const environment[] = {(char *)"SET=1", (char *)"HOST=10.0.0.1", NULL};
	const struct convert_wish wish = {.paths = f->paths,
					  .path_count = 1,
					  .from = f->from,
					  .prefix = "/nonexistent",
					  .with_files = f->with_files,
					  .environment = environment};
	struct convert_result r;

	convert_run(&wish, &r);
	convert_fuzz_judge(&r);
	t->report = convert_fuzz_print(&r, false);
	t->json = convert_fuzz_print(&r, true);
	t->ini = r.ini != NULL ? strdup(r.ini) : NULL;
	for (size_t i = 0; i < r.file_count && with_secret; i++)
		check(!convert_fuzz_has_secret(r.files[i].text, strlen(r.files[i].text)));
	convert_free(&r);
}

static inline void convert_fuzz_free(struct convert_fuzz_texts *t)
{
	free(t->report);
	free(t->json);
	free(t->ini);
}

static inline void convert_fuzz_compare(const struct convert_fuzz_texts *t,
					const struct convert_fuzz_texts *again)
{
	check(strcmp(t->report, again->report) == 0);
	check(strcmp(t->json, again->json) == 0);
	check((t->ini == NULL) == (again->ini == NULL));
	check(t->ini == NULL || strcmp(t->ini, again->ini) == 0);
}

static inline void convert_fuzz_all(const struct convert_fuzz *f, bool with_secret, bool twice)
{
	struct convert_fuzz_texts t, again;

	convert_fuzz_once(f, &t, with_secret);
	check(convert_fuzz_is_clean(t.report));
	check(convert_fuzz_is_clean(t.json));
	check(t.ini == NULL || convert_fuzz_is_clean(t.ini));
	if (with_secret) {
		check(!convert_fuzz_has_secret(t.report, strlen(t.report)));
		check(!convert_fuzz_has_secret(t.json, strlen(t.json)));
		check(t.ini == NULL || !convert_fuzz_has_secret(t.ini, strlen(t.ini)));
	}
	if (t.ini != NULL)
		convert_fuzz_read_back(t.ini);
	if (twice) {
		convert_fuzz_once(f, &again, with_secret);
		convert_fuzz_compare(&t, &again);
		convert_fuzz_free(&again);
	}
	convert_fuzz_free(&t);
}

/* What is looked at follows from the size, which mutations change. */
static inline void convert_fuzz(enum convert_from from, const char *secrets, const uint8_t *data, size_t size)
{
	struct convert_fuzz f = {.from = from};
	const bool with_secret = size % 2 == 0 && !convert_fuzz_has_secret((const char *)data, size);
	const int fd = memfd_create("fuzz", MFD_CLOEXEC);

	check(fd >= 0);
	f.with_files = with_secret ? size % 16 == 0 : size % 3 == 0; /* a hash of a password takes long */
	if (with_secret)
		check(write(fd, secrets, strlen(secrets)) == (ssize_t)strlen(secrets));
	check(write(fd, data, size) == (ssize_t)size);
	(void)snprintf(f.path, sizeof(f.path), "/proc/self/fd/%d", fd); /* it has room */
	f.paths[0] = f.path;
	convert_fuzz_all(&f, with_secret, size % 7 == 0);
	check(close(fd) == 0);
}

#endif
