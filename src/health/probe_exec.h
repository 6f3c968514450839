/* SPDX-License-Identifier: MIT
 *
 * probe_exec.h - a health check by a program; for probe.c. Main thread.
 */
#ifndef WEIR_HEALTH_PROBE_EXEC_H
#define WEIR_HEALTH_PROBE_EXEC_H

struct probe;

void probe_exec_init(struct probe *p);
/* Begins a check whose question is known. */
void probe_exec_start(struct probe *p);

#endif
