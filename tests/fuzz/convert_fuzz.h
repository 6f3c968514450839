/* SPDX-License-Identifier: MIT
 *
 * convert_fuzz.h - any bytes as a configuration of HAProxy or nginx, for the fuzz targets of both.
 *
 * Either there is an error that names the file, or every line has its fate, and a result is one that weir
 * accepts, which the conversion itself looks at.
 */
#ifndef WEIR_TESTS_CONVERT_FUZZ_H
#define WEIR_TESTS_CONVERT_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/convert/convert.h"

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

static inline void convert_fuzz(enum convert_from from, const uint8_t *data, size_t size)
{
	static char *const environment[] = {(char *)"SET=1", (char *)"HOST=10.0.0.1", NULL};
	const int fd = memfd_create("fuzz", MFD_CLOEXEC);
	FILE *nowhere = fopen("/dev/null", "w");
	struct convert_result r;
	char path[64];
	const char *const paths[] = {path};
	struct convert_wish wish = {.paths = paths, .path_count = 1, .from = from, .prefix = "/nonexistent"};

	check(fd >= 0);
	check(nowhere != NULL);
	check(write(fd, data, size) == (ssize_t)size);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd); /* it has room */
	wish.environment = environment;
	convert_run(&wish, &r);
	convert_fuzz_judge(&r);
	convert_report(&r, nowhere, false);
	convert_report_json(&r, nowhere);
	convert_free(&r);
	check(fclose(nowhere) == 0);
	check(close(fd) == 0);
}

#endif
