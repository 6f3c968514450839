/* SPDX-License-Identifier: MIT
 *
 * probe_steps.h - what probe.c and probe_steps.c share; included by no other file.
 *
 * probe.c has the socket, the time and the verdict; probe_steps.c has what is sent and received. Main thread.
 */
#ifndef WEIR_HEALTH_PROBE_STEPS_H
#define WEIR_HEALTH_PROBE_STEPS_H

#include "probe.h"

/* probe_steps.c: builds the request, or the matchers for the expected strings, of p->check. 0 or -ENOMEM;
 * call probe_steps_free() in either case. */
int probe_steps_init(struct probe *p);
/* Would the request be the same for the server as it is now? */
bool probe_steps_fit(const struct probe *p);
void probe_steps_free(struct probe *p);
/* Back to the first step. */
void probe_steps_reset(struct probe *p);
/* Sends and receives until it has to wait, or the verdict is reported. */
void probe_steps_run(struct probe *p);

/* Sends what the server expects at the end, if it has room for it. */
void probe_steps_say_goodbye(struct probe *p);

/* probe_header.c: lends the header, if there is one, to what is sent next. 0 or -errno. */
int probe_put_header(struct probe *p);

/* probe.c: restarts the check, once, in the next turn of the loop. */
void probe_renew(struct probe *p);
/* Ends the check with this verdict. Copies `detail`. */
void probe_tell(struct probe *p, enum probe_code code, const char *detail);
/* The same with the C library's text for `err` = -errno. A shortage of our own becomes SOCKERR. */
void probe_tell_error(struct probe *p, enum probe_code code, int err);
/* Ends the phase in `ns`; with the time of the whole check; or never. */
void probe_wake(struct probe *p, int64_t ns);
void probe_limit(struct probe *p);
void probe_rest(struct probe *p);
/* Continues the check when the socket is ready: EV_READ or EV_WRITE. */
void probe_watch(struct probe *p, int events);

#endif
