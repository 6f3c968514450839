/* SPDX-License-Identifier: MIT
 *
 * session_words.h - words that the lines of a session share, whatever their form.
 *
 * Any thread.
 */
#ifndef WEIR_ACCOUNT_SESSION_WORDS_H
#define WEIR_ACCOUNT_SESSION_WORDS_H

#include <stddef.h>

#include "weir/account/close_reason.h"
#include "weir/account/session_record.h"

#define SESSION_REASON_MAX 64

/* HAProxy's two letters: what ended the session, and the state that it was in. */
void session_code(const struct session_record *r, char code[static 2]);
/* "SERVER_RESET" as "server_reset", in `buf`. */
const char *session_reason_word(const struct close_reason_row *row, char buf[static SESSION_REASON_MAX]);

#endif
