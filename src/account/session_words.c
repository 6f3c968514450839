/* SPDX-License-Identifier: MIT
 *
 * session_words.c - words that the lines of a session share, whatever their form.
 *
 * Any thread.
 */
#include "session_words.h"

#include "weir/account/session_state.h"

/* HAProxy has no second letter for a session that was ended from outside while it forwarded. */
static char state_letter(const struct session_record *r, const struct close_reason_row *row)
{
	if ((row->letter1 == 'K' || row->letter1 == 'D') && r->state == SESSION_FORWARDING)
		return '-';
	return session_state_letter((enum session_state)r->state);
}

void session_code(const struct session_record *r, char code[static 2])
{
	const struct close_reason_row *row = close_reason_row((enum close_reason)r->reason);

	code[0] = r->is_server_late ? 's' : row->letter1;
	code[1] = row->letter2 != 0 ? row->letter2 : state_letter(r, row);
}

const char *session_reason_word(const struct close_reason_row *row, char buf[static SESSION_REASON_MAX])
{
	size_t n = 0;

	for (; row->name[n] != '\0' && n < SESSION_REASON_MAX - 1; n++)
		buf[n] = row->name[n] >= 'A' && row->name[n] <= 'Z' ? (char)(row->name[n] + 'a' - 'A')
								    : row->name[n];
	buf[n] = '\0';
	return buf;
}
