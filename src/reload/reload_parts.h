/* SPDX-License-Identifier: MIT
 *
 * reload_parts.h - what the files of a reload share: the run, its answer, its effect, and the trial.
 *
 * reload.c decides what runs; reload_back.c where a way back leads; reload_answer.c answers; reload_effect.c
 * puts into effect and marks texts; reload_trial.c begins and ends trials; reload_watch.c waits for what
 * leaves. Main thread.
 */
#ifndef WEIR_RELOAD_RELOAD_PARTS_H
#define WEIR_RELOAD_RELOAD_PARTS_H

#include "weir/reload/reload.h"

#define RELOAD_STOPPING_TEXT "the daemon is stopping"

/* The only function that changes the state. */
void reload_set_state(struct reload *r, enum reload_state to);
/* The first of the list, which it leaves; NULL if it is empty. */
struct reload_wish *reload_take_first(struct list *list);

/* The run reads from there. May end it at once, with its answer. */
void reload_read_from(struct reload *r, int64_t now_ns, const struct reload_source *from);

/* ---- reload_back.c ---- */

/* The run returns from the trial. */
void reload_begin_return(struct reload *r, int64_t now_ns);
/* The run goes back to that generation; 0 = the one before. */
void reload_begin_rollback(struct reload *r, int64_t now_ns, uint64_t number);

/* ---- reload_answer.c ---- */

/* A run of which nothing is known yet. */
void reload_run_init(struct reload_run *run);
/* Frees what it has; then it is as after reload_run_init(). */
void reload_run_free(struct reload_run *run);
/* "reloaded: ..." and the like, with what changed; the run is fine. */
void reload_put_success(struct reload *r, const char *changed);
/* "not reloaded: ..." and the like. `why` is one line without its end. */
void reload_put_failure(struct reload *r, const char *why);
/* The stop came while the state file was written: "perhaps confirmed: ...", or "not rolled back: ..." and
 * what the next start may do. */
void reload_put_unsure(struct reload *r);
/* A line before the last one, also in the log: "weir: warning: ...". */
void reload_put_warning(struct reload *r, const char *why);
/* The run has ended: its result is in the log, the wishes that were served have their answer, and what the
 * run still has is freed. The state is IDLE or STOPPED. */
void reload_end_run(struct reload *r, int64_t now_ns);
/* Both. */
void reload_refuse(struct reload *r, int64_t now_ns, const char *why);

/* ---- reload_effect.c ---- */

/* What is in r->run has been read and can be used: says why it is refused all the same, or marks texts and
 * puts it into effect, perhaps after a save. */
void reload_judge(struct reload *r, int64_t now_ns);
/* Would a plain reload of the text that was read be refused, because of a trial, or because it was not
 * confirmed in time or rolled back? Then `why` says so in one line. */
bool reload_is_refused(const struct reload *r, char *why, size_t room);
/* RELOAD_SAVING: goes on if the save has ended, or takes too long. False if it has not. */
bool reload_go_on_saving(struct reload *r, int64_t now_ns);
/* The same where the daemon stops, for what was not decided: what was read is dropped. */
void reload_stop_saving(struct reload *r);
/* A confirmation without a reading. */
void reload_confirm(struct reload *r, int64_t now_ns);

/* ---- reload_watch.c ---- */

/* Answers those that need not wait any longer. */
void reload_watch(struct reload *r, int64_t now_ns);

/* ---- reload_trial.c ---- */

bool trial_is_on(const struct reload *r);
/* Tells control what is in effect, in words for the status. */
void reload_tell(struct reload *r);
/* The generation that took effect is on trial, and what was in effect before is `from`. */
void trial_begin(struct reload *r, uint64_t from, int64_t now_ns);
/* The client that holds it has gone: it is time to return. */
void trial_lose_holder(struct reload *r);
/* It ends: somebody has confirmed, or weir has returned. */
void trial_end(struct reload *r);
/* The wish that holds a trial that has ended gets this line, its last. Harmless if there is none. */
void trial_release(struct reload *r, const char *line);
/* A return has failed. */
void trial_put_off(struct reload *r, int64_t now_ns);
/* Is it time to return? */
bool trial_is_due(const struct reload *r, int64_t now_ns);
/* Why there can be no reload now. */
void trial_explain(const struct reload *r, char *why, size_t room);

#endif
