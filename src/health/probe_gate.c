/* SPDX-License-Identifier: MIT
 *
 * probe_gate.c - how many TLS handshakes health checks make at once; the rest wait in order.
 *
 * Main thread.
 */
#include "probe_gate.h"

#include "weir/base/check.h"

void probe_gate_init(struct probe_gate *g)
{
	list_init(&g->waiting);
	g->inside = 0;
}

void probe_pass_init(struct probe_pass *p, void (*granted)(struct probe_pass *p))
{
	list_init(&p->link);
	p->inside = false;
	p->granted = granted;
}

bool probe_gate_enter(struct probe_gate *g, struct probe_pass *p)
{
	check(!p->inside);
	check(list_empty(&p->link));
	if (g->inside < PROBE_GATE_MAX) {
		check(list_empty(&g->waiting));
		g->inside++;
		p->inside = true;
	} else {
		list_push_back(&g->waiting, &p->link);
	}
	return p->inside;
}

void probe_gate_leave(struct probe_gate *g, struct probe_pass *p)
{
	struct probe_pass *next;

	list_remove(&p->link);
	if (!p->inside)
		return;
	p->inside = false;
	check(g->inside > 0);
	g->inside--;
	if (list_empty(&g->waiting))
		return;
	next = list_entry(g->waiting.next, struct probe_pass, link);
	list_remove(&next->link);
	next->inside = true;
	g->inside++;
	next->granted(next);
}
