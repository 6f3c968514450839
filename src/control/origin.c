/* SPDX-License-Identifier: MIT
 *
 * origin.c - what the daemon starts from: its files, or the text that was confirmed last.
 *
 * A state file that cannot be used never prevents a start: the files are there, too. Main thread.
 */
#include "origin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/log.h"
#include "startup.h"

/* ---- reading ---- */

static void load(struct origin *o)
{
	if (!confirmed_folder(getenv("STATE_DIRECTORY"), o->folder, sizeof(o->folder)))
		return;
	o->load_err = confirmed_load(o->folder, &o->confirmed);
	if (o->load_err == -ENOENT)
		o->load_err = 0;
}

/* The first error of a reading that failed. */
static void explain(const struct config_reading *r, char why[static ORIGIN_WHY_MAX])
{
	(void)snprintf(why, ORIGIN_WHY_MAX, "out of memory");
	for (size_t i = 0; i < r->diag.count && !r->no_memory; i++) {
		const struct diag_item *item = &r->diag.items[i];

		if (item->level != DIAG_LEVEL_ERROR)
			continue;
		/* May be truncated. An error about a whole file names it. */
		if (item->at.line == 0)
			(void)snprintf(why, ORIGIN_WHY_MAX, "%s", item->text);
		else
			(void)snprintf(why, ORIGIN_WHY_MAX, "%s:%u: %s", item->at.source->name, item->at.line,
				       item->text);
		return;
	}
}

/* Reads the confirmed text in place of the files. False: it cannot be used, and `o->why` says why. */
static bool read_confirmed(struct daemon *d, struct config_reading *r)
{
	struct origin *o = &d->origin;
	struct config_input input = d->input; /* borrows all of it */

	if (o->confirmed.text == NULL) {
		(void)snprintf(o->why, sizeof(o->why), "there is none");
		return false;
	}
	input.kept = o->confirmed.text;
	config_read(&input, r);
	if (r->config != NULL)
		return true;
	explain(r, o->why);
	config_reading_free(r);
	return false;
}

static enum exit_code start_from(struct daemon *d, struct config_reading *r)
{
	if (d->options->on_read != NULL)
		d->options->on_read(d->options->on_read_arg, r);
	d->config = d->started = config_reading_take(r);
	d->origin.text = config_reading_take_text(r);
	return d->config != NULL ? EXIT_FINE : EXIT_CONFIG;
}

static bool is_marked(struct origin *o, const struct config_reading *files)
{
	const struct confirmed_mark *mark = NULL;

	if (files->text != NULL)
		mark = confirmed_find(&o->confirmed, config_text_hash(files->text));
	o->marked = mark != NULL;
	if (mark != NULL)
		o->mark = *mark;
	return o->marked;
}

enum exit_code origin_read(struct daemon *d)
{
	struct config_reading files, confirmed;
	enum exit_code code;

	load(&d->origin);
	config_read(&d->input, &files);
	d->origin.from_confirmed = is_marked(&d->origin, &files) && read_confirmed(d, &confirmed);
	code = start_from(d, d->origin.from_confirmed ? &confirmed : &files);
	if (d->origin.from_confirmed)
		config_reading_free(&confirmed);
	config_reading_free(&files);
	return code;
}

/* ---- words ---- */

/* Root that becomes another user could not trust what that user has written. */
static void settle_folder(struct daemon *d)
{
	struct origin *o = &d->origin;

	if (o->folder[0] == '\0' || geteuid() != 0 || !d->privileges.change || d->privileges.uid == 0)
		return;
	log_line(LOG_LEVEL_INFO,
		 "STATE_DIRECTORY is not used, because weir was started as root and changes its user; start "
		 "it as that user, as User= of the unit does");
	o->folder[0] = '\0';
}

static void tell_load(const struct daemon *d)
{
	const struct origin *o = &d->origin;
	const int err = o->load_err;
	const char *why = strerror(-err);

	if (!err)
		return;
	if (err == -EBADMSG)
		why = "it is damaged";
	else if (err == -EPERM)
		why = "it belongs to another user, or has a second name";
	else if (err == -EINVAL)
		why = "it is not a regular file";
	log_line(LOG_LEVEL_WARNING,
		 "cannot use %s/" CONFIRMED_NAME ": %s; weir starts from %s, confirmed or not; remove that "
		 "file to forget what it says",
		 o->folder, why, d->config->name);
}

static void tell_mark(const struct daemon *d)
{
	const struct origin *o = &d->origin;
	char bytes[128];
	struct text about;

	if (!o->marked)
		return;
	text_over(&about, bytes, sizeof(bytes));
	confirmed_describe(&o->mark, &about);
	if (o->from_confirmed)
		log_line(LOG_LEVEL_WARNING,
			 "started from the text that was confirmed last, because %s %s; change it and try it "
			 "with 'weir reload --confirm 60s', or accept it with 'weir confirm --file'",
			 d->config->name, bytes);
	else
		log_line(LOG_LEVEL_WARNING,
			 "started from %s although it %s, because the text that was confirmed last cannot be "
			 "used: %s",
			 d->config->name, bytes, o->why);
}

void origin_tell(struct daemon *d)
{
	tell_load(d);
	settle_folder(d);
	tell_mark(d);
	origin_set_note(d, d->origin.from_confirmed ? &d->origin.mark : NULL);
}

void origin_set_note(struct daemon *d, const struct confirmed_mark *left)
{
	char words[ORIGIN_NOTE_MAX] = "";

	if (left != NULL)
		(void)snprintf(words, sizeof(words), "confirmed text, %.100s was %s", d->config->name,
			       left->reason == CONFIRMED_ROLLED_BACK ? "rolled back" : "not confirmed");
	origin_set_words(d, words);
}

void origin_set_words(struct daemon *d, const char *words)
{
	struct origin *o = &d->origin;

	(void)snprintf(o->note, sizeof(o->note), "%s", words); /* fits, or is truncated */
	/* The name is the operator's; the note is part of lines that programs read. */
	for (char *c = o->note; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	d->admin_context.config_note = o->note;
	sd_service_note(&d->service, o->note);
}

void origin_free(struct origin *o)
{
	confirmed_free(&o->confirmed);
	config_text_drop(o->text);
	*o = (struct origin){.text = NULL};
}
