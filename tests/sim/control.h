/* SPDX-License-Identifier: MIT
 *
 * control.h - the control thread of a rig with several workers: it hears of news, does its rounds, and
 * changes things while bytes flow.
 *
 * What it may do is the table of actions in control.c: one row each. A seed enables some of them. It runs in
 * turns of its own, between those of workers and in the middle of them. One thread. Tests only.
 */
#ifndef SIM_CONTROL_H
#define SIM_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/* The engine's notify(). */
void control_notify(void *arg);
/* The rig is open. */
void control_open(void);
/* What is due, and one action while actions are on. */
void control_turn(void);
bool control_runs(void);
/* Would it sleep? If so, until control_wakes_ns(), CLOCK_NEVER = for ever. */
bool control_is_due(void);
int64_t control_wakes_ns(void);
/* No more actions, and servers are as they were at the beginning. */
void control_calm(void);
/* Were limits of servers changed in this seed? */
bool control_changed_limits(void);
/* Everything comes to rest: has each order been carried out, and each question been answered? */
void control_check_rest(void);
/* Before the engine is freed. */
void control_close(void);

#endif
