/* SPDX-License-Identifier: MIT
 *
 * session_state.c - the states of a session and of its two flows: the tables.
 *
 * Any thread.
 */
#include "weir/account/session_state.h"

#include "weir/base/check.h"

static const struct {
	const char *word;
	char letter;
} session_states[] = {
#define STATE(name, word, letter) [SESSION_##name] = {word, letter},
#include "weir/account/session_states.tbl.h"
#undef STATE
};

static const char *const flow_words[] = {
#define STATE(name, word) [FLOW_##name] = word,
#include "weir/account/flow_states.tbl.h"
#undef STATE
};

const char *session_state_word(enum session_state state)
{
	check((unsigned)state < ARRAY_LEN(session_states));
	return session_states[state].word;
}

char session_state_letter(enum session_state state)
{
	check((unsigned)state < ARRAY_LEN(session_states));
	return session_states[state].letter;
}

const char *flow_state_word(enum flow_state state)
{
	check((unsigned)state < ARRAY_LEN(flow_words));
	return flow_words[state];
}
