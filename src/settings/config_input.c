/* SPDX-License-Identifier: MIT
 *
 * config_input.c - where a configuration comes from: files and directories, or a text, and the -o arguments.
 *
 * Copies and frees; does not interpret what it is given.
 */
#include "weir/settings/config_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/check.h"

/* Appends a copy of `text`. The array may have moved even if this fails. */
static int add_copy(char ***list, size_t *count, const char *text)
{
	char **longer = realloc(*list, (*count + 1) * sizeof(*longer));

	check(text != NULL);
	if (longer == NULL)
		return -ENOMEM;
	*list = longer;
	longer[*count] = strdup(text);
	if (longer[*count] == NULL)
		return -ENOMEM;
	++*count;
	return 0;
}

static void free_environment(char **environment)
{
	for (char **entry = environment; entry != NULL && *entry != NULL; entry++)
		free(*entry);
	free(environment);
}

/* A copy of "NAME=VALUE", then NULL; NULL if out of memory. */
static char **copy_environment(char *const *from)
{
	size_t count = 0;
	char **copy;

	while (from[count] != NULL)
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	for (size_t i = 0; copy != NULL && i < count; i++) {
		copy[i] = strdup(from[i]);
		if (copy[i] != NULL)
			continue;
		free_environment(copy);
		copy = NULL;
	}
	return copy;
}

static void free_list(char **list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i]);
	free(list);
}

int config_input_add_path(struct config_input *input, const char *path)
{
	return add_copy(&input->paths, &input->path_count, path);
}

int config_input_add_override(struct config_input *input, const char *assignment)
{
	return add_copy(&input->overrides, &input->override_count, assignment);
}

int config_input_set_text(struct config_input *input, const char *name, const char *text)
{
	char *own_name = strdup(name), *own_text = strdup(text);

	check(input->text == NULL);
	if (own_name == NULL || own_text == NULL) {
		free(own_name);
		free(own_text);
		return -ENOMEM;
	}
	input->text_name = own_name;
	input->text = own_text;
	return 0;
}

int config_input_keep_environment(struct config_input *input)
{
	static char *const nothing[] = {NULL};

	check(input->environment == NULL);
	input->environment = copy_environment(environ != NULL ? environ : nothing);
	return input->environment != NULL ? 0 : -ENOMEM;
}

int config_input_copy(struct config_input *copy, const struct config_input *input)
{
	int err = 0;

	*copy = (struct config_input){0};
	if (input->text != NULL)
		err = config_input_set_text(copy, input->text_name, input->text);
	for (size_t i = 0; !err && i < input->path_count; i++)
		err = config_input_add_path(copy, input->paths[i]);
	for (size_t i = 0; !err && i < input->override_count; i++)
		err = config_input_add_override(copy, input->overrides[i]);
	copy->kept = config_text_hold(input->kept);
	if (!err && input->environment != NULL) {
		copy->environment = copy_environment(input->environment);
		err = copy->environment != NULL ? 0 : -ENOMEM;
	}
	if (err)
		config_input_free(copy);
	return err;
}

void config_input_free(struct config_input *input)
{
	free_list(input->paths, input->path_count);
	free_list(input->overrides, input->override_count);
	free(input->text);
	free(input->text_name);
	free_environment(input->environment);
	config_text_drop(input->kept);
	*input = (struct config_input){0};
}
