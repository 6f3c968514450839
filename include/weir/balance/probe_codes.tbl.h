/* SPDX-License-Identifier: MIT
 *
 * probe_codes.tbl.h - one row per result of a health check: PROBE_CODE(ID, code, number, outcome, text).
 *
 * Codes, numbers and texts are HAProxy's (src/check.c, enum healthcheck_status of check-t.h), so that
 * programs that read its `show stat` and `show servers state` can read ours. Only a failure counts against a
 * server: an unknown result means that we lacked resources, or that an agent said nothing of its health.
 * L7OKC passes and asks to be drained; of a server that is down it is a failure.
 */
PROBE_CODE(UNK, "UNK", 0, PROBE_OUTCOME_UNKNOWN, "Unknown")
PROBE_CODE(INI, "INI", 1, PROBE_OUTCOME_UNKNOWN, "Initializing")
PROBE_CODE(CHECKED, "CHECKED", 3, PROBE_OUTCOME_UNKNOWN, "No status change")
PROBE_CODE(SOCKERR, "SOCKERR", 5, PROBE_OUTCOME_UNKNOWN, "Socket error")
PROBE_CODE(HANA, "HANA", 4, PROBE_OUTCOME_FAILED, "Health analyze")
PROBE_CODE(L4OK, "L4OK", 6, PROBE_OUTCOME_PASSED, "Layer4 check passed")
PROBE_CODE(L4TOUT, "L4TOUT", 7, PROBE_OUTCOME_FAILED, "Layer4 timeout")
PROBE_CODE(L4CON, "L4CON", 8, PROBE_OUTCOME_FAILED, "Layer4 connection problem")
PROBE_CODE(L6OK, "L6OK", 9, PROBE_OUTCOME_PASSED, "Layer6 check passed")
PROBE_CODE(L6TOUT, "L6TOUT", 10, PROBE_OUTCOME_FAILED, "Layer6 timeout")
PROBE_CODE(L6RSP, "L6RSP", 11, PROBE_OUTCOME_FAILED, "Layer6 invalid response")
PROBE_CODE(L7OK, "L7OK", 15, PROBE_OUTCOME_PASSED, "Layer7 check passed")
PROBE_CODE(L7OKC, "L7OKC", 16, PROBE_OUTCOME_PASSED, "Layer7 check conditionally passed")
PROBE_CODE(L7TOUT, "L7TOUT", 12, PROBE_OUTCOME_FAILED, "Layer7 timeout")
PROBE_CODE(L7RSP, "L7RSP", 13, PROBE_OUTCOME_FAILED, "Layer7 invalid response")
PROBE_CODE(L7STS, "L7STS", 17, PROBE_OUTCOME_FAILED, "Layer7 wrong status")
PROBE_CODE(PROCERR, "PROCERR", 18, PROBE_OUTCOME_FAILED, "External check error")
PROBE_CODE(PROCTOUT, "PROCTOUT", 19, PROBE_OUTCOME_FAILED, "External check timeout")
PROBE_CODE(PROCOK, "PROCOK", 20, PROBE_OUTCOME_PASSED, "External check passed")
