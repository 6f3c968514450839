/* SPDX-License-Identifier: MIT
 *
 * replay.c - runs a fuzz target over each file of the folders it is given: the corpus as a test.
 *
 * For any compiler. Fails when a folder has fewer than REPLAY_FILES_MIN files: an empty run is none.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "weir/base/check.h"

#define REPLAY_FILES_MIN 40
#define REPLAY_BYTES_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay_file(const char *folder, const char *name)
{
	static uint8_t bytes[REPLAY_BYTES_MAX];
	char path[4096];
	size_t len;
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name); /* cut: then it cannot be opened */
	f = fopen(path, "rb");
	if (f == NULL)
		perror(path);
	check(f != NULL);
	len = fread(bytes, 1, sizeof(bytes), f);
	check(ferror(f) == 0);
	check(fclose(f) == 0);
	/* Printed before, so that a crash has its file above it. */
	printf("%s: %zu bytes\n", name, len);
	check(fflush(stdout) == 0);
	check(LLVMFuzzerTestOneInput(bytes, len) == 0);
}

int main(int argc, char **argv)
{
	check(argc > 1);
	for (int i = 1; i < argc; i++) {
		struct dirent **names = NULL;
		int count = scandir(argv[i], &names, NULL, alphasort), files = 0;

		if (count < 0)
			perror(argv[i]);
		check(count >= 0);
		for (int n = 0; n < count; n++) {
			if (names[n]->d_name[0] != '.') {
				replay_file(argv[i], names[n]->d_name);
				files++;
			}
			free(names[n]);
		}
		free(names);
		printf("%s: %d files\n", argv[i], files);
		check(files >= REPLAY_FILES_MIN);
	}
	return 0;
}
