/* SPDX-License-Identifier: MIT
 *
 * reading_job.c - reads the configuration again on its own thread, and opens the log targets that are new.
 *
 * Owns copies of all that the thread needs. The thread logs nothing.
 */
#include "weir/reload/reading_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/thread_job.h"
#include "weir/config/copy.h"
#include "weir/config/same.h"
#include "weir/host/refusal.h"
#include "weir/settings/config_reading.h"

struct reading_job {
	struct thread_job on_thread;
	/* The thread's until it is done, then control's. */
	struct config_input input; /* owns */
	bool reads_only;	   /* no log target is opened */
	struct config_log **now;   /* owns each copy and the array: targets in effect; NULL = has been met */
	size_t now_count;
	struct config_reading reading;
	struct log_outlet **targets; /* owns: one per log of the configuration; NULL = not opened, or taken */
	size_t target_count;
	const struct config_log *failed; /* borrows from the configuration */
	int err;			 /* of `failed`, or -ENOMEM without it */
};

/* ---- on the thread ---- */

static bool is_in_effect(struct reading_job *job, const struct config_log *c)
{
	for (size_t i = 0; i < job->now_count; i++) {
		if (job->now[i] == NULL || !config_log_same(job->now[i], c))
			continue;
		config_log_copy_free(job->now[i]);
		job->now[i] = NULL;
		return true;
	}
	return false;
}

/* Those opened before one that fails stay open: control takes them back with the job. */
static void open_targets(struct reading_job *job)
{
	const struct config_global *g = &job->reading.config->global;

	if (g->log_count == 0)
		return;
	job->targets = calloc(g->log_count, sizeof(*job->targets));
	job->err = job->targets != NULL ? 0 : -ENOMEM;
	job->target_count = job->targets != NULL ? g->log_count : 0;
	for (size_t i = 0; i < job->target_count && !job->err; i++) {
		if (is_in_effect(job, &g->logs[i]))
			continue;
		job->targets[i] = logwriter_open_target(&g->logs[i], &job->err);
		if (job->targets[i] == NULL)
			job->failed = &g->logs[i];
		else
			job->err = 0;
	}
}

static void destroy(struct reading_job *job, struct logwriter *w);

static void work(struct thread_job *on_thread)
{
	struct reading_job *job = container_of(on_thread, struct reading_job, on_thread);

	config_read(&job->input, &job->reading);
	if (job->reading.config != NULL && !job->reads_only)
		open_targets(job);
}

static void drop(struct thread_job *on_thread)
{
	destroy(container_of(on_thread, struct reading_job, on_thread), NULL);
}

/* ---- begin and end ---- */

static int copy_logs(struct reading_job *job, const struct config_global *now)
{
	job->reads_only = now == NULL;
	if (now == NULL || now->log_count == 0)
		return 0;
	job->now = calloc(now->log_count, sizeof(struct config_log *));
	if (job->now == NULL)
		return -ENOMEM;
	job->now_count = now->log_count;
	for (size_t i = 0; i < now->log_count; i++) {
		job->now[i] = config_log_copy(&now->logs[i]);
		if (job->now[i] == NULL)
			return -ENOMEM;
	}
	return 0;
}

static void destroy(struct reading_job *job, struct logwriter *w)
{
	for (size_t i = 0; i < job->target_count; i++) {
		if (job->targets[i] == NULL)
			continue;
		if (w != NULL)
			logwriter_undo_target(w, job->targets[i]);
		else
			logwriter_drop_target(job->targets[i]);
	}
	free((void *)job->targets);
	config_reading_free(&job->reading);
	for (size_t i = 0; i < job->now_count; i++)
		config_log_copy_free(job->now[i]);
	free((void *)job->now);
	config_input_free(&job->input);
	thread_job_destroy(&job->on_thread);
	free(job);
}

struct reading_job *reading_job_begin(const struct config_input *input, const struct config_global *now,
				      void (*wake)(void *arg), void *wake_arg, int *err)
{
	static const struct thread_job_calls calls = {"weir-reading", work, drop};
	struct reading_job *job = calloc(1, sizeof(*job));

	*err = -ENOMEM;
	if (job == NULL)
		return NULL;
	thread_job_init(&job->on_thread, &calls, wake, wake_arg);
	*err = config_input_copy(&job->input, input);
	if (!*err)
		*err = copy_logs(job, now);
	if (!*err)
		*err = thread_job_start(&job->on_thread);
	if (!*err)
		return job;
	destroy(job, NULL);
	return NULL;
}

bool reading_job_is_done(struct reading_job *job)
{
	return thread_job_is_done(&job->on_thread);
}

void reading_job_free(struct reading_job *job, struct logwriter *w)
{
	if (job != NULL && thread_job_leave(&job->on_thread))
		destroy(job, w);
}

/* ---- what it brought ---- */

static void print_messages(struct reading_job *job, struct text *out)
{
	char *bytes = NULL;
	size_t len = 0;
	FILE *stream = open_memstream(&bytes, &len);
	bool fine = stream != NULL;

	if (fine) {
		config_reading_print(&job->reading, stream, CONFIG_STYLE_PLAIN);
		fine = ferror(stream) == 0;
		fine = fclose(stream) == 0 && fine;
	}
	if (fine)
		text_add(out, bytes, len);
	else
		text_printf(out, "weir: out of memory for the messages about the configuration\n");
	free(bytes);
}

void reading_job_print(struct reading_job *job, struct text *out)
{
	char why[LOG_RECORD_MAX];

	check(reading_job_is_done(job));
	print_messages(job, out);
	if (job->failed != NULL && job->failed->place.file != NULL)
		text_printf(out, "%s:%u: ", job->failed->place.file, job->failed->place.line);
	if (job->err) {
		refusal_of_log(job->failed, job->err, why, sizeof(why));
		text_printf(out, "error: %s\n", why);
	}
}

struct config *reading_job_take(struct reading_job *job)
{
	check(reading_job_is_done(job));
	return job->err ? NULL : config_reading_take(&job->reading);
}

struct config_text *reading_job_take_text(struct reading_job *job)
{
	check(reading_job_is_done(job));
	return config_reading_take_text(&job->reading);
}

struct log_outlet *reading_job_take_target(struct reading_job *job, size_t i)
{
	struct log_outlet *o;

	check(reading_job_is_done(job));
	check(!job->err);
	check(i < job->target_count);
	o = job->targets[i];
	job->targets[i] = NULL;
	return o;
}
