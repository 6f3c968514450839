/* SPDX-License-Identifier: MIT
 *
 * probe_gate.h - how many TLS handshakes health checks make at once; the rest wait in order.
 *
 * A handshake is work for the CPU, so a thousand checks that fall due together must not delay the loop, nor
 * fail because they delay each other. Main thread.
 */
#ifndef WEIR_HEALTH_PROBE_GATE_H
#define WEIR_HEALTH_PROBE_GATE_H

#include <stdbool.h>

#include "weir/base/list.h"

#define PROBE_GATE_MAX 16

struct probe_gate {
	struct list waiting; /* borrows passes, in order */
	unsigned inside;
};

struct probe_pass {
	struct list link;
	bool inside;
	/* It waited and may go in now. Must not use the gate. */
	void (*granted)(struct probe_pass *p);
};

void probe_gate_init(struct probe_gate *g);
void probe_pass_init(struct probe_pass *p, void (*granted)(struct probe_pass *p));
/* True: it is inside. Otherwise it waits. It must be neither yet. */
bool probe_gate_enter(struct probe_gate *g, struct probe_pass *p);
/* It is neither inside nor waiting any more; lets the next one in. Harmless if it was neither. */
void probe_gate_leave(struct probe_gate *g, struct probe_pass *p);

#endif
