/* SPDX-License-Identifier: MIT
 *
 * saving_job.h - writes the state file (confirmed.h) on its own thread, so that control waits for no disk.
 *
 * Of what control owns, the thread touches only the wake-up callback, under a lock and only while the job is
 * wanted, as in reading_job.h. Control thread.
 */
#ifndef WEIR_RELOAD_SAVING_JOB_H
#define WEIR_RELOAD_SAVING_JOB_H

#include <stdbool.h>

#include "weir/reload/confirmed.h"

struct saving_job;

/* Starts a thread that saves a copy of `c` in `folder`. The thread calls `wake` once when it has finished;
 * `wake` must not block or call anything here. NULL on failure, with -ENOMEM or -EAGAIN in `*err`. */
struct saving_job *saving_job_begin(const char *folder, const struct confirmed *c, void (*wake)(void *arg),
				    void *wake_arg, int *err);
/* Has the thread finished? */
bool saving_job_is_done(struct saving_job *job);
/* What confirmed_save() returned: 0 or -errno. Requires that it is done. */
int saving_job_result(struct saving_job *job);
/* Frees the job; NULL is allowed. If the thread has not finished, it is abandoned: it may still replace the
 * file, even after a save that begins later, so do this only where the daemon ends. The job frees itself
 * then, and `wake` is not called any more. */
void saving_job_free(struct saving_job *job);

#endif
