/* SPDX-License-Identifier: MIT
 *
 * reloader.c - a reload of the demo's daemon: asks for it, and keeps what the answer says.
 *
 * Main thread of the parent.
 */
#include "reloader.h"

#include <stdio.h>
#include <string.h>

#include "weir/admin/voice.h"
#include "weir/base/clock.h"

#define ERROR_MARK " error: "

static void copy_line(char out[static RELOADER_LINE_MAX], const char *line)
{
	(void)snprintf(out, RELOADER_LINE_MAX, "%.*s", (int)strcspn(line, "\n"), line); /* may be cut */
}

void reloader_take(struct reloader *r, const char *text)
{
	const char *error = strstr(text, ERROR_MARK);

	r->error[0] = '\0';
	r->last[0] = '\0';
	if (error != NULL)
		copy_line(r->error, error + sizeof(ERROR_MARK) - 1);
	while (*text != '\0') {
		const size_t len = strcspn(text, "\n");

		copy_line(r->last, text);
		text += text[len] == '\n' ? len + 1 : len;
	}
	r->answered = true;
}

void reloader_give_up(struct reloader *r, const char *why)
{
	asker_stop(&r->asker);
	r->error[0] = '\0';
	copy_line(r->last, why);
	r->answered = true;
}

static void on_answer(void *arg, const char *text)
{
	reloader_take(arg, text);
}

bool reloader_is_busy(const struct reloader *r)
{
	return r->began_ns != 0;
}

bool reloader_go_on(struct reloader *r)
{
	const int64_t now_ns = clock_mono_ns();

	if (r->began_ns == 0) {
		r->began_ns = now_ns;
		r->sent = false;
		r->answered = false;
	}
	if (!r->sent)
		r->sent = asker_ask(&r->asker);
	else if (!r->answered && !asker_is_busy(&r->asker))
		reloader_give_up(r, "weir closed the connection without an answer");
	if (!r->answered && now_ns - r->began_ns > RELOADER_PATIENCE_S * NS_PER_SEC)
		reloader_give_up(r, "weir did not answer");
	if (r->answered)
		r->began_ns = 0;
	return r->answered;
}

static bool begins_with(const char *line, const char *word)
{
	return strncmp(line, word, strlen(word)) == 0;
}

bool reloader_is_refused(const struct reloader *r)
{
	return begins_with(r->last, "not reloaded: ");
}

bool reloader_has_changed(const struct reloader *r, const char *change)
{
	return begins_with(r->last, "reloaded: ") && strstr(r->last, change) != NULL;
}

void reloader_init(struct reloader *r, struct ev_loop *loop, const char *admin)
{
	memset(r, 0, sizeof(*r));
	asker_init(&r->asker, loop, admin, VOICE_OURS " reload\n");
	r->asker.on_answer = on_answer;
	r->asker.arg = r;
}

void reloader_stop(struct reloader *r)
{
	asker_stop(&r->asker);
}
