# SPDX-License-Identifier: MIT
"""mutants_reload.py - mutants of what takes effect as one: takeovers of sockets, transactions, their order.

As in mutants_list.py; all are found by sim --crowd.
"""
TAKEOVER = "src/entry/takeover.c"
OVERLAP = "src/entry/overlap.c"
LEAVE = "src/entry/endpoint_leave.c"
LISTENERS = "src/engine/listeners.c"
APPLY = "src/reload/apply.c"
WORK = "src/reload/apply_work.h"

RELOAD_MUTANTS = [
    {"what": "a takeover closes the old descriptor at once",
     "edits": [(TAKEOVER,
                "	endpoint_leave_now(from, ENDPOINT_GIVE);\n",
                "	endpoint_leave_now(from, ENDPOINT_GIVE);\n"
                "	endpoint_close(from);\n")]},
    {"what": "a worker does not begin at the heir",
     "edits": [(LISTENERS,
                "	begin_heirs(w);\n"
                "	w->engine->notify",
                "	w->engine->notify")]},
    {"what": "a worker begins at the heir before it has left",
     "edits": [(LISTENERS,
                "			return true;\n"
                "	return false;\n",
                "			return false;\n"
                "	return false;\n")],
     "drivers": ["fake"]},
    {"what": "a worker that drains stays at the heir",
     "edits": [(LISTENERS,
                "		if (w->draining)\n"
                "			listener_stop(l);\n",
                "")]},
    {"what": "a deaf socket that is taken over stays deaf",
     "edits": [(TAKEOVER, "	err = endpoint_hear(from);\n", "	err = 0;\n")]},
    {"what": "clients who are queued at a deaf socket that is taken over stay deaf",
     "edits": [(TAKEOVER, "	atomic_store(&ep->deaf, atomic_load(&from->deaf));\n", "")]},
    {"what": "a deaf socket hears after a takeover that was undone",
     "edits": [(TAKEOVER, "		endpoint_stop_hearing(from);\n", "")]},
    {"what": "a deaf socket hears after a stay that was undone",
     "edits": [(LEAVE,
                "	ep->claimed = false;\n"
                "	endpoint_stop_hearing(ep);\n",
                "	ep->claimed = false;\n")]},
    {"what": "a stay that was undone keeps the socket",
     "edits": [(LEAVE,
                "	ep->claimed = false;\n"
                "	endpoint_stop_hearing(ep);\n",
                "	endpoint_stop_hearing(ep);\n")]},
    {"what": "a takeover that was undone keeps its descriptor",
     "edits": [("src/entry/endpoint.c",
                "	endpoint_forget_take(ep);\n"
                "	endpoint_close(ep);\n",
                "	if (atomic_load(&ep->from) == NULL)\n"
                "		endpoint_close(ep);\n"
                "	endpoint_forget_take(ep);\n")]},
    {"what": "an heir waits for a socket that is gone",
     "edits": [(TAKEOVER, "		atomic_store(&heir->from, from);\n", "		;\n")]},
    {"what": "sockets share their ports after a transaction",
     "edits": [(OVERLAP,
                "	e->is_open = false;\n"
                "	take_back(e);\n",
                "	e->is_open = false;\n")]},
    {"what": "what was prepared is undone from the beginning",
     "edits": [(APPLY,
                "	while (w->count > 0) {\n"
                "		struct step *s = &w->steps[--w->count];\n",
                "	for (size_t i = 0; i < w->count; i++) {\n"
                "		struct step *s = &w->steps[i];\n")]},
    {"what": "what was prepared first is not undone",
     "edits": [(APPLY, "	while (w->count > 0) {\n", "	while (w->count > 1) {\n")]},
    {"what": "a frontend is removed before its socket is taken over",
     "edits": [(WORK,
                "	STEP_CHANGE_FRONTEND,\n",
                "	STEP_REMOVE_FRONTEND,\n"
                "	STEP_CHANGE_FRONTEND,\n"),
               (WORK,
                "	STEP_LEAVE_ENDPOINT,\n"
                "	STEP_REMOVE_FRONTEND,\n",
                "	STEP_LEAVE_ENDPOINT,\n")]},
]
