/* SPDX-License-Identifier: MIT
 *
 * command.h - runs a command of weir in this process, and collects what it prints.
 */
#ifndef WEIR_TESTS_CLI_COMMAND_H
#define WEIR_TESTS_CLI_COMMAND_H

#include <stdio.h>
#include <unistd.h>

#include "weir/cli/cli.h"

#define WORDS_MAX 16

/* Returns the exit code; `said` gets stdout and stderr. `words` ends with NULL. */
static int command_run(char *const words[], char *said, size_t room)
{
	FILE *file = tmpfile();
	const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
	char *argv[WORDS_MAX] = {NULL};
	int argc, code;
	size_t len;

	assert_non_null(file);
	for (argc = 0; words[argc] != NULL; argc++)
		argv[argc] = words[argc]; /* the command takes its verb out */
	(void)fflush(stdout);
	assert_true(dup2(fileno(file), STDOUT_FILENO) >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
	code = (int)cli_main(argc, argv);
	(void)fflush(stdout);
	assert_true(dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0);
	close(out);
	close(err);
	rewind(file);
	len = fread(said, 1, room - 1, file);
	said[len] = '\0';
	(void)fclose(file); /* only read from */
	return code;
}

#endif
