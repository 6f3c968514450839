/* SPDX-License-Identifier: MIT
 *
 * check_codes.tbl.h - one row a result of a check: CHECK_CODE(ID, code, outcome, text).
 *
 * Codes and texts are HAProxy's (src/check.c), so that what reads its `show stat` reads ours. Only a failure
 * counts against a server: what is unknown is our own shortage.
 */
CHECK_CODE(UNK, "UNK", CHECK_UNKNOWN, "Unknown")
CHECK_CODE(INI, "INI", CHECK_UNKNOWN, "Initializing")
CHECK_CODE(SOCKERR, "SOCKERR", CHECK_UNKNOWN, "Socket error")
CHECK_CODE(HANA, "HANA", CHECK_FAILED, "Health analyze")
CHECK_CODE(L4OK, "L4OK", CHECK_PASSED, "Layer4 check passed")
CHECK_CODE(L4TOUT, "L4TOUT", CHECK_FAILED, "Layer4 timeout")
CHECK_CODE(L4CON, "L4CON", CHECK_FAILED, "Layer4 connection problem")
CHECK_CODE(L7OK, "L7OK", CHECK_PASSED, "Layer7 check passed")
CHECK_CODE(L7TOUT, "L7TOUT", CHECK_FAILED, "Layer7 timeout")
CHECK_CODE(L7RSP, "L7RSP", CHECK_FAILED, "Layer7 invalid response")
CHECK_CODE(L7STS, "L7STS", CHECK_FAILED, "Layer7 wrong status")
