/* SPDX-License-Identifier: MIT
 *
 * check_codes.tbl.h - one row a result of a check: CHECK_CODE(ID, code, number, outcome, text).
 *
 * Codes, numbers and texts are HAProxy's (src/check.c, enum healthcheck_status of check-t.h), so that what
 * reads its `show stat` and `show servers state` reads ours. Only a failure
 * counts against a server: what is unknown is our own shortage.
 */
CHECK_CODE(UNK, "UNK", 0, CHECK_UNKNOWN, "Unknown")
CHECK_CODE(INI, "INI", 1, CHECK_UNKNOWN, "Initializing")
CHECK_CODE(SOCKERR, "SOCKERR", 5, CHECK_UNKNOWN, "Socket error")
CHECK_CODE(HANA, "HANA", 4, CHECK_FAILED, "Health analyze")
CHECK_CODE(L4OK, "L4OK", 6, CHECK_PASSED, "Layer4 check passed")
CHECK_CODE(L4TOUT, "L4TOUT", 7, CHECK_FAILED, "Layer4 timeout")
CHECK_CODE(L4CON, "L4CON", 8, CHECK_FAILED, "Layer4 connection problem")
CHECK_CODE(L7OK, "L7OK", 15, CHECK_PASSED, "Layer7 check passed")
CHECK_CODE(L7TOUT, "L7TOUT", 12, CHECK_FAILED, "Layer7 timeout")
CHECK_CODE(L7RSP, "L7RSP", 13, CHECK_FAILED, "Layer7 invalid response")
CHECK_CODE(L7STS, "L7STS", 17, CHECK_FAILED, "Layer7 wrong status")
