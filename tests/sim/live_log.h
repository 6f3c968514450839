/* SPDX-License-Identifier: MIT
 *
 * live_log.h - who reads the records of sessions, late as a log's writer may be: they name settings.
 *
 * In some seeds. One thread. Tests only.
 */
#ifndef SIM_LIVE_LOG_H
#define SIM_LIVE_LOG_H

#include <stdbool.h>

struct worker;

/* The rig is open. */
void live_log_open(void);
/* Before the engine is freed. */
void live_log_close(void);
/* What this worker logs is for the reader, from here on; NULL: what control does. Returns who was before. */
struct worker *live_record(struct worker *w);
/* Control's turn: reads some records; true when more are left. */
bool live_read_records(void);

#endif
