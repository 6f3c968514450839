/* SPDX-License-Identifier: MIT
 *
 * writer_targets.c - the targets of a logwriter as its owner sees them: coming, going and counted.
 *
 * Main thread, except logwriter_open_target() and logwriter_drop_target().
 */
#include "weir/base/check.h"
#include "weir/logging/logwriter.h"
#include "log_settings.h"
#include "writer.h"

void logwriter_give(struct logwriter *w, uid_t uid, gid_t gid)
{
	log_outlets_foreach(&w->outlets, o)
		log_target_give(&o->target, uid, gid);
}

void logwriter_reopen(struct logwriter *w)
{
	log_reopens_ask(&w->reopens, &w->outlets);
}

bool logwriter_has_stderr(const struct logwriter *w, enum log_level level)
{
	log_outlets_foreach(&w->outlets, o)
		if (!o->target.is_file && o->target.kind == LOG_TARGET_OUT &&
			log_target_wants(&o->target, level))
			return true;
	return false;
}

uint64_t logwriter_dropped(const struct logwriter *w)
{
	return log_rings_dropped(&w->rings) + log_outlets_lost(&w->outlets);
}

uint64_t logwriter_dropped_slow(const struct logwriter *w)
{
	return log_rings_dropped(&w->rings) + log_outlets_late(&w->outlets);
}

int64_t logwriter_waiting_ns(const struct logwriter *w)
{
	return log_outlets_waiting_ns(&w->outlets);
}

/* ---- targets that come and go ---- */

struct log_outlet *logwriter_open_target(const struct config_log *c, int *err)
{
	return log_outlets_open(c, err);
}

int logwriter_prepare_target(struct logwriter *w, struct log_outlet *o)
{
	check(w->outlets.started);
	return log_outlets_prepare(&w->outlets, o);
}

/* The level may be another now, and lines that waited for room may have it. */
static void note_targets(struct logwriter *w)
{
	log_outlets_set_wanted(&w->outlets);
	log_reopens_tell(&w->reopens, &w->outlets);
	logwriter_look_later(w);
}

void logwriter_commit_target(struct logwriter *w, struct log_outlet *o)
{
	o->reopens_before = w->reopens.asked;
	log_outlets_commit(&w->outlets, o);
	note_targets(w);
	log_target_tell_absent(&o->target);
}

void logwriter_undo_target(struct logwriter *w, struct log_outlet *o)
{
	log_outlets_undo(&w->outlets, o);
}

void logwriter_drop_target(struct log_outlet *o)
{
	log_outlets_drop(o);
}

void logwriter_remove_target(struct logwriter *w, struct log_outlet *o)
{
	(void)logwriter_read(w); /* lines logged before this are still its own */
	log_outlets_remove(&w->outlets, o);
	note_targets(w);
}

struct log_outlet *logwriter_next_target(const struct logwriter *w, const struct log_outlet *o)
{
	return log_outlets_next(&w->outlets, o);
}

bool logwriter_target_is(const struct log_outlet *o, const struct config_log *c)
{
	return log_settings_equal(&o->target.config, c);
}

const struct addr_spec *logwriter_target_host(const struct log_outlet *o)
{
	const struct config_log *c = &o->target.config;

	return c->kind == CONFIG_LOG_SYSLOG && c->address.kind == ADDR_NAME ? &c->address : NULL;
}

void logwriter_set_address(struct log_outlet *o, const struct addr *a)
{
	log_outlets_set_address(o, a);
}
