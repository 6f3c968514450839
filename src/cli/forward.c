/* SPDX-License-Identifier: MIT
 *
 * forward.c - `weir forward LISTEN SERVER...`: a configuration from the command line, without a file.
 *
 * Generates a small INI text and loads it, so that validation and messages are the same as for a file, and
 * --print-config shows what to put in one. Main thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/cli/cli.h"
#include "background.h"
#include "input.h"

#define TEXT_NAME "forward"

/* An argument becomes part of a line of the text, so it must not contain line breaks. */
static bool argument_ok(const char *text)
{
	for (size_t i = 0; text[i] != '\0'; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x20 && c != 0x7f)
			continue;
		fprintf(stderr, "weir: an argument has a control byte (0x%02x)\n", c);
		return false;
	}
	if (text[0] != '\0')
		return true;
	fputs("weir: an argument is empty\n", stderr);
	return false;
}

/* The INI text; freed by the caller. NULL if out of memory. */
static char *write_text(const struct cli_args *a)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	fprintf(out, "[listen forward]\nbind = %s\n", a->words[0]);
	for (size_t i = 1; i < a->word_count; i++)
		fprintf(out, "server s%zu = %s\n", i, a->words[i]);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static enum exit_code run_text(const struct cli_args *a, const char *text)
{
	struct config_input input;

	if (input_make(a, text, TEXT_NAME, &input) != 0)
		return EXIT_FATAL;
	return background_run(a, &input, input_show);
}

/* Does what -c, -T and --print-config ask for. */
static enum exit_code show_text(const struct cli_args *a, const char *text)
{
	struct config *c = input_load(a, text, TEXT_NAME);

	if (c == NULL)
		return EXIT_CONFIG;
	if (a->print_config)
		fputs(text, stdout);
	else if (a->print)
		config_print_origins(c, stdout);
	else if (!a->quiet)
		config_print_summary(c, stdout);
	config_free(c);
	return EXIT_FINE;
}

enum exit_code cli_forward(const struct cli_args *a)
{
	enum exit_code code;
	char *text;

	if (a->word_count < 2) {
		fputs("weir: forward needs LISTEN and SERVER, for example: weir forward :8080 "
		      "10.0.0.1:80\n",
		      stderr);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < a->word_count; i++) {
		if (!argument_ok(a->words[i]))
			return EXIT_USAGE;
	}
	text = write_text(a);
	if (text == NULL) {
		fputs("weir: out of memory\n", stderr);
		return EXIT_FATAL;
	}
	code = a->print_config || a->print || a->check ? show_text(a, text) : run_text(a, text);
	free(text);
	return code;
}
