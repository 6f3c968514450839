# SPDX-License-Identifier: MIT
"""mutants_sticky.py - mutants of clients that keep their server.

As in mutants_list.py; all are found by sim --crowd (crowd_sticky.c), where two workers choose for one
client, servers drain and go, and tables are changed.
"""
TABLE = "src/net/sticky_table.c"
CHOICE = "src/engine/choice.c"
QUEUE = "src/balance/queue.c"
STICKY = "src/balance/sticky.c"

STICKY_MUTANTS = [
    {"what": "sticky: a client goes where the algorithm sends it",
     "edits": [(CHOICE, "		return take_stuck(s, out);\n", "		*out = NULL;\n")]},
    {"what": "sticky: the second of two choices for a client stands",
     "edits": [(TABLE, "	} else if (e->server == c->from || e->server == c->to) {\n",
                "	} else if (e->server != 0) {\n")]},
    {"what": "sticky: a worker stays with its choice when another was faster",
     "edits": [("src/engine/stuck.c",
                "		if (usable(k, k->id) != NULL)\n"
                "			return false;\n",
                "		return true;\n")]},
    {"what": "sticky: who was granted a place takes it, whatever the client has",
     "edits": [(CHOICE, "	return has != NULL ? has == server : stuck_settle(s, &k, server);\n",
                "	return true;\n")]},
    {"what": "sticky: a client leaves a server that is drained",
     "edits": [("include/weir/balance/sticky.h",
                "memory_order_relaxed) || atomic_load(&s->keeps);\n", "memory_order_relaxed);\n"),
               ("tests/sim/crowd_sticky.c", "s != NULL && sticky_keeps(s)",
                "s != NULL && (atomic_load(&s->in_roster) || atomic_load(&s->keeps))")]},
    {"what": "sticky: who waits for a drained server is not served",
     "edits": [(QUEUE, "	return w != NULL && may_wait_for(w, s) ? w : NULL;\n",
                "	return NULL;\n")]},
    {"what": "sticky: who waits for a drained server stays when it goes down",
     "edits": [(QUEUE, "		if (kept != NULL && may_wait_for(w, kept))\n",
                "		if (kept != NULL && w->stuck)\n")]},
    {"what": "sticky: another size of the table forgets the clients",
     "edits": [(STICKY,
                "		if (has_kind(b->sticky, how)) {\n			begin_move(b);\n",
                "		if (false) {\n			begin_move(b);\n")]},
    {"what": "sticky: a full table takes one more",
     "edits": [(TABLE, "	*evicted = sticky_used_of(p) == p->room;\n",
                "	*evicted = sticky_used_of(p) > p->room;\n")]},
]
