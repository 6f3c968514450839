/* SPDX-License-Identifier: MIT
 *
 * admin_steps.c - an answer made of steps: a line each, or an object each in JSON.
 *
 * Main thread.
 */
#include "admin_steps.h"

#include <stdarg.h>
#include <stdio.h>

#define STEP_MAX 1024

void steps_begin(const struct admin_call *c)
{
	if (c->json != NULL)
		json_array(c->json, NULL);
}

/* A member more, if `key` is not NULL. */
static void put(const struct admin_call *c, const char *step, const char *key, const char *word,
		const char *text)
{
	if (c->json == NULL) {
		text_printf(c->out, "%s: %s\n", step, text);
		return;
	}
	json_line(c->json, 2);
	json_object(c->json, NULL);
	json_string(c->json, "step", step);
	if (key != NULL)
		json_string(c->json, key, word);
	json_string(c->json, "text", text);
	json_object_end(c->json);
}

void steps_add(const struct admin_call *c, const char *step, const char *fmt, ...)
{
	char text[STEP_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap); /* names are short; what is cut does not mislead */
	va_end(ap);
	put(c, step, NULL, NULL, text);
}

void steps_server(const struct admin_call *c, const struct server *s, const char *word, const char *fmt, ...)
{
	char text[STEP_MAX], step[ADMIN_SERVER_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap); /* as above */
	va_end(ap);
	(void)snprintf(step, sizeof(step), "%s/%s", s->backend->name, s->config->name); /* fits */
	put(c, step, "verdict", word, text);
}

void steps_end(const struct admin_call *c, const char *outcome, const char *fmt, ...)
{
	char text[STEP_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap); /* as above */
	va_end(ap);
	put(c, "result", "outcome", outcome, text);
}

void steps_close(const struct admin_call *c)
{
	if (c->json == NULL)
		return;
	json_line(c->json, 0);
	json_array_end(c->json);
	text_add(c->out, "\n", 1);
}
