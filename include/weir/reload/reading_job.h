/* SPDX-License-Identifier: MIT
 *
 * reading_job.h - reads the configuration again on its own thread, and opens the log targets that are new.
 *
 * A name service, a named pipe or a disk may hang, so control does not wait for any of them. Of what control
 * owns, the thread touches only the wake-up callback, under a lock and only while the job is wanted: a thread
 * that hangs can be abandoned, and then frees the job itself if it ever returns. Control thread.
 */
#ifndef WEIR_RELOAD_READING_JOB_H
#define WEIR_RELOAD_READING_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "weir/base/text.h"
#include "weir/config/config.h"
#include "weir/logging/logwriter.h"
#include "weir/settings/config_input.h"

struct reading_job;

/* Starts a thread that reads `input` and opens those log targets of the result that are not in `now`, the
 * configuration in effect; none if `now` is NULL. Copies what it needs of both. The thread calls `wake` once
 * when it has finished; `wake` must not block or call anything here. NULL on failure, with -ENOMEM or -EAGAIN
 * in `*err`. */
struct reading_job *reading_job_begin(const struct config_input *input, const struct config_global *now,
				      void (*wake)(void *arg), void *wake_arg, int *err);
/* Has the thread finished? The functions below, except reading_job_free(), require it. */
bool reading_job_is_done(struct reading_job *job);
/* Appends what `weir -c` prints about this input, in whole lines: errors, warnings, and the closing line if
 * the configuration cannot be used. If a log target cannot be opened, a line about that follows. Call before
 * reading_job_take(). */
void reading_job_print(struct reading_job *job, struct text *out);
/* The configuration, which the caller then owns (config_free()). NULL if it cannot be used, or if one of its
 * new log targets cannot be opened: no target is left open then. */
struct config *reading_job_take(struct reading_job *job);
/* What was read, as config_reading_take_text(): also if the configuration cannot be used. The caller then
 * owns the reference. */
struct config_text *reading_job_take_text(struct reading_job *job);
/* The open target for `logs[i]` in the [global] of that configuration, which the caller then owns: it goes to
 * logwriter_prepare_target() or logwriter_undo_target(). NULL if `logs[i]` is in effect already, or if the
 * target has been taken. Targets and configurations meet as in a plan: each in effect meets the first in the
 * new configuration that config_log_same() finds. */
struct log_outlet *reading_job_take_target(struct reading_job *job, size_t i);
/* Frees the job and what was not taken of it; NULL is allowed. If the thread has not finished, it is
 * abandoned: the job frees itself later, and `wake` is not called any more. `w` takes back the targets; NULL
 * = there is no log any more. */
void reading_job_free(struct reading_job *job, struct logwriter *w);

#endif
