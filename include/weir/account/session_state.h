/* SPDX-License-Identifier: MIT
 *
 * session_state.h - the states of a session and of its two flows, and their names.
 *
 * One row per state in session_states.tbl.h and flow_states.tbl.h. Any thread.
 */
#ifndef WEIR_ACCOUNT_SESSION_STATE_H
#define WEIR_ACCOUNT_SESSION_STATE_H

enum session_state {
#define STATE(name, word, letter) SESSION_##name,
#include "weir/account/session_states.tbl.h"
#undef STATE
};

enum flow_dir { FLOW_TO_SERVER, FLOW_TO_CLIENT };

enum flow_state {
#define STATE(name, word) FLOW_##name,
#include "weir/account/flow_states.tbl.h"
#undef STATE
};

/* The word of a state, static. */
const char *session_state_word(enum session_state state);
const char *flow_state_word(enum flow_state state);
/* HAProxy's letter for a session that ends in this state. */
char session_state_letter(enum session_state state);

#endif
