/* SPDX-License-Identifier: MIT
 *
 * check_steps.h - what check_talk.c and check_steps.c need of each other; nobody else includes it.
 *
 * The one has the socket, the time and the verdict, the other what is said and heard. Main thread.
 */
#ifndef WEIR_HEALTH_CHECK_STEPS_H
#define WEIR_HEALTH_CHECK_STEPS_H

#include "check_talk.h"

/* check_steps.c: makes the request, or the places of the strings. 0 or -ENOMEM; check_steps_free() in both
 * cases. */
int check_steps_init(struct check_talk *t, const struct config_server *s);
void check_steps_free(struct check_talk *t);
/* Back to the first step. */
void check_steps_reset(struct check_talk *t);
/* Speaks and hears until there is something to be waited for, or the verdict is told. */
void check_steps_run(struct check_talk *t);

/* check_talk.c: ends the check with this verdict; `detail` is copied. */
void check_talk_tell(struct check_talk *t, enum check_code code, const char *detail);
/* The same with the words of the C library for `err` = -errno; what is our own shortage becomes SOCKERR. */
void check_talk_tell_error(struct check_talk *t, enum check_code code, int err);
/* Wakes the check when the socket is ready: EV_READ or EV_WRITE. */
void check_talk_watch(struct check_talk *t, int events);

#endif
