/* SPDX-License-Identifier: MIT
 *
 * fuzz_config.c - any text as a configuration: refused in words, or printed so that it reads back.
 *
 * A libFuzzer target; replay.c runs it over the corpus without one. Reads no file: what includes by
 * a path is left out, and names are looked for beside a folder that is not there.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/settings/config_reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NAME "/nonexistent-weir-fuzz/t.ini"

static struct config *load(const char *text, enum config_style style, char **said)
{
	struct config_input input = {0};
	struct config_reading r;
	size_t len = 0;
	FILE *diag = open_memstream(said, &len);
	struct config *c;

	check(diag != NULL);
	check(config_input_set_text(&input, NAME, text) == 0);
	config_read(&input, &r);
	config_reading_print(&r, diag, style);
	c = config_reading_take(&r);
	config_reading_free(&r);
	config_input_free(&input);
	check(fclose(diag) == 0);
	if (style == CONFIG_STYLE_JSON)
		check(strstr(*said, c != NULL ? "\"ok\":true,\"errors\":0," : "\"ok\":false,") != NULL);
	else
		check(c != NULL || strstr(*said, "The running configuration is unchanged.") != NULL);
	return c;
}

static char *print(const struct config *c, void (*how)(const struct config *c, FILE *out))
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	check(out != NULL);
	how(c, out);
	check(fclose(out) == 0);
	return text;
}

/* `text` must be accepted, with no more warnings than before, and be printed as `wanted`. */
static void read_back(const char *text, const char *wanted, unsigned warnings)
{
	char *said = NULL, *got;
	struct config *c = load(text, CONFIG_STYLE_PLAIN, &said);

	if (c == NULL || c->warnings > warnings)
		fprintf(stderr, "printed:\n%s\nsaid:\n%s\n", text, said);
	check(c != NULL);
	check(c->warnings <= warnings);
	got = print(c, config_print);
	if (strcmp(got, wanted) != 0)
		fprintf(stderr, "first:\n%s\nsecond:\n%s\n", wanted, got);
	check(strcmp(got, wanted) == 0);
	config_free(c);
	free(got);
	free(said);
}

static void print_and_read_back(const struct config *c)
{
	char *plain = print(c, config_print), *origins = print(c, config_print_origins);

	read_back(plain, plain, c->warnings);
	read_back(origins, plain, c->warnings);
	free(origins);
	free(plain);
}

/* Could it read files of this machine? By an include, or by a list of networks. */
static bool names_files(const char *text)
{
	bool lists = strcasestr(text, "from") != NULL || strcasestr(text, "trusted") != NULL;

	if (strchr(text, '/') == NULL)
		return false;
	return strcasestr(text, "include") != NULL || (lists && strchr(text, '@') != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *said = NULL;
	struct config *c;

	check(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	/* The environment is no part of the input. */
	check(clearenv() == 0);
	check(setenv("F", "10.0.0.1:80 weight=2", 1) == 0);
	if (!names_files(text)) {
		config_free(load(text, CONFIG_STYLE_JSON, &said));
		free(said);
		said = NULL;
		c = load(text, CONFIG_STYLE_PLAIN, &said);
		if (c != NULL)
			print_and_read_back(c);
		config_free(c);
		free(said);
	}
	free(text);
	return 0;
}
