/* SPDX-License-Identifier: MIT
 *
 * trial_rig.h - a reload whose steps are the test's: texts are real, and a save is what the test makes of it.
 *
 * One test at a time. Tests only.
 */
#ifndef WEIR_TESTS_RELOAD_TRIAL_RIG_H
#define WEIR_TESTS_RELOAD_TRIAL_RIG_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/config/config.h"
#include "weir/reload/reload.h"
#include "../base/alloc_fail.h"

#define SEC   NS_PER_SEC
#define TEXTS 16
#define TRIAL (60 * SEC)

/* ---- what control does ---- */

struct hands {
	char trace[2048]; /* the steps that were called, each with a blank */
	struct config_text *texts[TEXTS]; /* that of each has its number for content */
	int file;			  /* the number of the text that the files have */
	struct config_text *reading;	  /* borrows: the one that is being read; NULL = nothing is */
	bool reads_late;		  /* the reading ends only when the test says so */
	bool has_read;
	int begin_err;
	bool unusable;
	int apply_err;
	int in_effect; /* the number of the text that was applied last */
	bool saves_late;
	bool saving, has_saved;
	int save_begin_err, save_err;
	struct confirmed saving_what; /* owns */
	struct confirmed disk;	      /* owns: the state file */
	unsigned saves;
	unsigned fail_from; /* saves fail after this many; 0 = they do not */
	char told[256];
	enum confirmed_reason left;
	bool has_left;
};

static struct config next_config;

static inline void note(struct hands *h, const char *what)
{
	const size_t len = strlen(h->trace);

	assert_true(len + strlen(what) + 2 < sizeof(h->trace));
	(void)snprintf(h->trace + len, sizeof(h->trace) - len, "%s ", what);
}

static inline int number_of(const struct hands *h, const struct config_text *text)
{
	for (int i = 0; i < TEXTS; i++)
		if (text != NULL &&
		    config_text_hash_same(config_text_hash(h->texts[i]), config_text_hash(text)))
			return i;
	return -1;
}

static inline int begin_reading(void *arg, const struct reload_source *from)
{
	struct hands *h = arg;

	assert_null(h->reading);
	if (h->begin_err)
		return h->begin_err;
	h->reading = from->kept != NULL ? from->kept : h->texts[h->file];
	h->has_read = !h->reads_late;
	return 0;
}

static inline bool has_read(void *arg)
{
	const struct hands *h = arg;

	return h->has_read;
}

static inline struct config_text *take_text(void *arg)
{
	const struct hands *h = arg;

	assert_non_null(h->reading);
	return config_text_hold(h->reading);
}

static inline void drop_reading(void *arg, struct config *next)
{
	struct hands *h = arg;

	assert_true(next == NULL || next == &next_config);
	assert_non_null(h->reading);
	h->reading = NULL;
	note(h, "drop");
}

static inline struct config *take_reading(void *arg, struct text *messages)
{
	struct hands *h = arg;

	assert_true(h->has_read);
	h->has_read = false;
	if (!h->unusable)
		return &next_config;
	text_printf(messages, "weir.ini:1:1: error: wrong\n");
	h->reading = NULL;
	return NULL;
}

static inline int apply(void *arg, struct config *next, const struct reload_outcome *out)
{
	struct hands *h = arg;
	char what[16];

	assert_ptr_equal(next, &next_config);
	assert_non_null(h->reading);
	(void)snprintf(what, sizeof(what), "apply-%d", number_of(h, h->reading));
	note(h, what);
	if (h->apply_err) {
		(void)snprintf(out->why, out->why_room, "cannot listen on :80");
	} else {
		h->in_effect = number_of(h, h->reading);
		text_printf(out->changed, "1 server added");
	}
	h->reading = NULL;
	return h->apply_err;
}

static inline int describe(void *arg, struct config *next, const struct reload_wish *wish,
		    const struct reload_outcome *out)
{
	struct hands *h = arg;

	assert_ptr_equal(next, &next_config);
	assert_int_equal(wish->kind, WISH_PLAN);
	note(h, "describe");
	text_printf(out->lines, "would change: yes\n");
	h->reading = NULL;
	return 0;
}

static inline int begin_saving(void *arg, const struct confirmed *what)
{
	struct hands *h = arg;

	assert_false(h->saving);
	if (h->save_begin_err)
		return h->save_begin_err;
	confirmed_copy(&h->saving_what, what);
	h->saving = true;
	h->has_saved = !h->saves_late;
	note(h, "save");
	return 0;
}

static inline bool has_saved(void *arg)
{
	const struct hands *h = arg;

	assert_true(h->saving);
	return h->has_saved;
}

static inline int take_saved(void *arg)
{
	struct hands *h = arg;

	assert_true(h->has_saved);
	h->saving = false;
	h->saves++;
	if (h->save_err || (h->fail_from != 0 && h->saves > h->fail_from)) {
		confirmed_free(&h->saving_what);
		return h->save_err ? h->save_err : -EIO;
	}
	confirmed_free(&h->disk);
	h->disk = h->saving_what;
	h->saving_what = (struct confirmed){.text = NULL};
	return 0;
}

static inline void drop_saving(void *arg)
{
	struct hands *h = arg;

	assert_true(h->saving);
	h->saving = false;
	confirmed_free(&h->saving_what);
	note(h, "drop-save");
}

static inline bool is_retired(void *arg, uint64_t generation, struct text *left)
{
	(void)arg;
	(void)generation;
	(void)left;
	return true;
}

static inline void began(void *arg)
{
	note(arg, "began");
}

static inline void ended(void *arg, bool fine)
{
	note(arg, fine ? "fine" : "refused");
}

static inline void tell(void *arg, const char *trial, const struct confirmed_mark *left)
{
	struct hands *h = arg;

	(void)snprintf(h->told, sizeof(h->told), "%s", trial);
	h->has_left = left != NULL;
	if (left != NULL)
		h->left = left->reason;
}

static inline void wake(void *arg)
{
	(void)arg;
}

static const struct reload_steps steps = {
	.begin_reading = begin_reading,
	.has_read = has_read,
	.take_text = take_text,
	.take_reading = take_reading,
	.drop_reading = drop_reading,
	.apply = apply,
	.describe = describe,
	.begin_saving = begin_saving,
	.has_saved = has_saved,
	.take_saved = take_saved,
	.drop_saving = drop_saving,
	.is_retired = is_retired,
	.began = began,
	.ended = ended,
	.tell = tell,
	.wake = wake,
};

/* ---- clients ---- */

struct client {
	struct reload_wish wish;
	char text[4096]; /* all that it was answered */
	unsigned answers;
	bool done;
};

struct rig {
	struct hands h;
	struct reload r;
	struct client c[3];
	int64_t now_ns;
	long allocated;
};

static inline void on_answer(struct reload_wish *wish, const char *text, bool last)
{
	struct client *c = container_of(wish, struct client, wish);
	const size_t len = strlen(c->text);

	assert_false(c->done);
	assert_true(len + strlen(text) < sizeof(c->text));
	memcpy(c->text + len, text, strlen(text) + 1);
	c->answers++;
	c->done = last;
}

static inline int64_t go_on(struct rig *rig)
{
	return reload_wake(&rig->r, rig->now_ns);
}

static inline void ask(struct rig *rig, struct client *c, const struct reload_wish *wish)
{
	memset(c, 0, sizeof(*c));
	c->wish = *wish;
	c->wish.uid = 7;
	c->wish.answer = on_answer;
	list_init(&c->wish.link);
	rig->r.asker.ask(rig->r.asker.arg, &c->wish);
	(void)go_on(rig);
}

static inline const char *reload(struct rig *rig, int file, int64_t confirm_ns)
{
	rig->h.file = file;
	ask(rig, &rig->c[0], &(struct reload_wish){.kind = WISH_RELOAD, .confirm_ns = confirm_ns});
	return rig->c[0].text;
}

static inline const char *confirm(struct rig *rig)
{
	ask(rig, &rig->c[1], &(struct reload_wish){.kind = WISH_CONFIRM});
	return rig->c[1].text;
}

static inline const char *confirm_file(struct rig *rig)
{
	ask(rig, &rig->c[1], &(struct reload_wish){.kind = WISH_CONFIRM, .file = true});
	return rig->c[1].text;
}

static inline const char *roll_back(struct rig *rig, uint64_t to)
{
	ask(rig, &rig->c[2], &(struct reload_wish){.kind = WISH_ROLLBACK, .to = to});
	return rig->c[2].text;
}

static inline void hold(struct rig *rig, int file)
{
	rig->h.file = file;
	ask(rig, &rig->c[0],
	    &(struct reload_wish){.kind = WISH_RELOAD, .confirm_ns = TRIAL, .hold = true});
}

static inline void assert_begins(const char *text, const char *with)
{
	if (strncmp(text, with, strlen(with)) != 0)
		fail_msg("'%s' does not begin with '%s'", text, with);
}

static inline void assert_has(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("'%s' does not have '%s'", text, part);
}

/* The text that a start from the files would be: the confirmed one if theirs is marked. */
static inline int start_from(const struct rig *rig)
{
	const struct config_text *files = rig->h.texts[rig->h.file];

	if (confirmed_find(&rig->h.disk, config_text_hash(files)) == NULL)
		return rig->h.file;
	return number_of(&rig->h, rig->h.disk.text);
}

/* ---- the rig ---- */

static inline struct config_text *make_text(int number)
{
	char bytes[64];
	struct config_text *text = NULL;
	const int len = snprintf(bytes, sizeof(bytes), "file 1 2\na\n%02d\n", number);

	assert_int_equal(config_text_parse(bytes, (size_t)len, &text), 0);
	return text;
}

static struct log_ring *ring;

static inline void on_record(void *arg)
{
	(void)arg;
}

/* As after a start from text 0. */
static inline void begin(struct rig *rig, const char *folder)
{
	struct reload_origin origin = {.text = rig->h.texts[0], .folder = folder};

	reload_init(&rig->r, &steps, &rig->h);
	reload_set_origin(&rig->r, &origin);
	rig->h.in_effect = 0;
}

static inline int set_up(void **state)
{
	const long before = allocated;
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	rig->allocated = before;
	ring = log_ring_new(on_record, NULL);
	assert_non_null(ring);
	log_use_ring(ring);
	for (int i = 0; i < TEXTS; i++)
		rig->h.texts[i] = make_text(i);
	rig->now_ns = 1000 * SEC;
	begin(rig, "/state");
	*state = rig;
	return 0;
}

static inline int tear_down(void **state)
{
	struct rig *rig = *state;
	const long before = rig->allocated;

	reload_free(&rig->r);
	confirmed_free(&rig->h.disk);
	for (int i = 0; i < TEXTS; i++)
		config_text_drop(rig->h.texts[i]);
	log_use_ring(NULL);
	log_ring_free(ring);
	free(rig);
	assert_int_equal(allocated, before); /* no text is held any more */
	return 0;
}

/* ---- generations ---- */

static inline const char *show(struct rig *rig, bool json)
{
	static char bytes[16384];
	struct text out;
	struct json j;

	text_over(&out, bytes, sizeof(bytes));
	json_init(&j, &out, JSON_CODES);
	rig->r.asker.show(rig->r.asker.arg, &out, json ? &j : NULL);
	assert_false(out.failed);
	return bytes;
}

/* Without its dates. */
static inline const char *show_dateless(struct rig *rig, bool json)
{
	static char out[16384];
	size_t len = 0;

	for (const char *c = show(rig, json); *c != '\0'; c++) {
		if (strncmp(c, "20", 2) == 0 && strlen(c) >= 20 && c[4] == '-' && c[19] == 'Z') {
			memcpy(out + len, "DATE", 4);
			len += 4;
			c += 19;
		} else {
			out[len++] = *c;
		}
	}
	out[len] = '\0';
	return out;
}

#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
