/* SPDX-License-Identifier: MIT
 *
 * probe_steps.h - what probe.c and probe_steps.c need of each other; nobody else includes it.
 *
 * The one has the socket, the time and the verdict, the other what is said and heard. Main thread.
 */
#ifndef WEIR_HEALTH_PROBE_STEPS_H
#define WEIR_HEALTH_PROBE_STEPS_H

#include "probe.h"

/* probe_steps.c: makes the request, or the places of the strings. 0 or -ENOMEM; probe_steps_free() in both
 * cases. */
int probe_steps_init(struct probe *p, const struct config_server *s);
void probe_steps_free(struct probe *p);
/* Back to the first step. */
void probe_steps_reset(struct probe *p);
/* Speaks and hears until there is something to be waited for, or the verdict is told. */
void probe_steps_run(struct probe *p);

/* probe.c: ends the check with this verdict; `detail` is copied. */
void probe_tell(struct probe *p, enum probe_code code, const char *detail);
/* The same with the words of the C library for `err` = -errno; what is our own shortage becomes SOCKERR. */
void probe_tell_error(struct probe *p, enum probe_code code, int err);
/* Wakes the check when the socket is ready: EV_READ or EV_WRITE. */
void probe_watch(struct probe *p, int events);

#endif
