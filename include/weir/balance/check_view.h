/* SPDX-License-Identifier: MIT
 *
 * check_view.h - the state of a server's health check, for reports, and its results in HAProxy's words.
 *
 * Written by whoever checks the server, read by whoever reports it; control thread. The functions: any
 * thread.
 */
#ifndef WEIR_BALANCE_CHECK_VIEW_H
#define WEIR_BALANCE_CHECK_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#define CHECK_DETAIL_MAX 80

enum check_outcome { CHECK_UNKNOWN, CHECK_PASSED, CHECK_FAILED };

enum check_code {
#define CHECK_CODE(id, code, number, outcome, text) CHECK_##id,
#include "weir/balance/check_codes.tbl.h"
#undef CHECK_CODE
	CHECK_CODES
};

/* check_status of HAProxy's `show stat`: "L4OK"; static. */
const char *check_code_word(enum check_code code);
/* check_desc: "Layer4 check passed"; static. */
const char *check_code_text(enum check_code code);
/* HAProxy's number of it. */
unsigned check_code_number(enum check_code code);
enum check_outcome check_code_outcome(enum check_code code);

/* The columns are those of HAProxy's `show stat`. */
struct check_view {
	enum check_code code; /* check_status: INI before the first result */
	char detail[CHECK_DETAIL_MAX]; /* last_chk: "connection refused", "status 503"; "" = no more to say */
	int64_t duration_ms; /* check_duration: of the last check that ended; -1 = none has */
	unsigned status;     /* check_code: of the last HTTP answer; 0 = none */
	unsigned rise;       /* check_rise, check_fall, check_health */
	unsigned fall;
	unsigned health;   /* 0 .. rise + fall - 1; up from `rise` on */
	uint64_t failures; /* chkfail: failed checks, except those of a server that is fully down */
	uint64_t downs;    /* chkdown: how often it went from up to down */
	bool running;      /* a check is under way: HAProxy writes "* " before the code */
};

#endif
