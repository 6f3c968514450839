/* SPDX-License-Identifier: MIT
 *
 * probe_view.h - the state of a server's health check and of its agent, for reports, and their results in
 * HAProxy's words.
 *
 * Written by the prober and the agents, read by reports; control thread. The functions: any thread.
 */
#ifndef WEIR_BALANCE_PROBE_VIEW_H
#define WEIR_BALANCE_PROBE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

/* What a check of a server's protocol says of it; and what a program may say. */
#define PROBE_DETAIL_MAX 80
#define PROBE_REASON_MAX 208

enum probe_outcome { PROBE_OUTCOME_UNKNOWN, PROBE_OUTCOME_PASSED, PROBE_OUTCOME_FAILED };

enum probe_code {
#define PROBE_CODE(id, code, number, outcome, text) PROBE_##id,
#include "weir/balance/probe_codes.tbl.h"
#undef PROBE_CODE
	PROBE_CODES
};

/* check_status of HAProxy's `show stat`: "L4OK"; static. */
const char *probe_code_word(enum probe_code code);
/* check_desc: "Layer4 check passed"; static. */
const char *probe_code_text(enum probe_code code);
/* HAProxy's number for it. */
unsigned probe_code_number(enum probe_code code);
enum probe_outcome probe_code_outcome(enum probe_code code);

/* The columns are those of HAProxy's `show stat`. */
struct probe_view {
	enum probe_code code; /* check_status: INI before the first result */
	char detail[PROBE_REASON_MAX]; /* last_chk: "connection refused", "status 503"; "" = no detail */
	int64_t duration_ms; /* check_duration: of the last completed check; -1 = none yet */
	unsigned status;     /* check_code: of the last HTTP answer; 0 = none */
	unsigned rise;       /* check_rise, check_fall, check_health */
	unsigned fall;
	unsigned health;   /* 0 .. rise + fall - 1; up from `rise` on */
	uint64_t failures; /* chkfail: failed checks, except those of a server that is fully down */
	uint64_t downs;    /* chkdown: transitions from up to down */
	bool running;      /* a health check is under way: HAProxy writes "* " before the code */
	unsigned shared;   /* other servers that got the last result of this one's check: `check-share` */
};

/* The same of its agent, for HAProxy's agent_status and the columns beside it. */
struct agent_view {
	enum probe_code code;
	char detail[PROBE_DETAIL_MAX]; /* last_agt: "via agent : down (disk full)" */
	int64_t duration_ms;
	bool running;
};

#endif
