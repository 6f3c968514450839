/* SPDX-License-Identifier: MIT
 *
 * probe_exec.c - a health check by a program.
 *
 * Owns no process: exec_runner.c does. Main thread.
 */
#include "probe_exec.h"

#include <stdio.h>
#include <string.h>

#include "weir/balance/backend.h"
#include "weir/base/check.h"
#include "weir/entry/entries.h"
#include "exec_words.h"
#include "probe.h"

/* Where clients come in, as HAProxy looks for it: at the first address of the same section. `buf` has it. */
static const struct addr *proxy_of(const struct probe *p, struct addr *buf)
{
	const char *name = p->server->backend->name;

	entries_foreach_frontend(p->entries, fe) {
		if (!fe->config->listen || strcmp(fe->config->name, name) != 0)
			continue;
		frontend_foreach_endpoint(fe, ep) {
			if (!endpoint_belongs(ep))
				continue;
			*buf = ep->addr;
			/* ":80" is 0.0.0.0 there, and both families here. */
			if (ep->config->addr.kind == ADDR_ANY)
				addr_any4(buf, addr_port(&ep->addr));
			return buf;
		}
	}
	return NULL;
}

static void on_order(struct exec_client *c, struct exec_order *o)
{
	static struct exec_words words; /* of this thread; until the next call */
	struct probe *p = container_of(c, struct probe, exec);
	const struct server *s = p->server;
	const struct addr *a = server_addr(s);
	struct addr proxy;
	const struct exec_facts facts = {
		.check = p->check,
		.proxy_name = s->backend->name,
		.proxy_id = s->owner->iid,
		.proxy = proxy_of(p, &proxy),
		.server_name = s->config->name,
		.server_id = s->id,
		.server = a != NULL ? a : &p->to,
		.maxconn = s->maxconn,
		.sessions = (unsigned)atomic_load_explicit(&s->sessions, memory_order_relaxed),
	};

	exec_words_make(&words, &facts);
	*o = (struct exec_order){
		.program = p->check->program,
		/* execve(2) does not change them. */
		.argv = (char *const *)(uintptr_t)words.argv,
		.envp = (char *const *)(uintptr_t)words.envp,
		.timeout_ns = p->check->timeout_ns > 0 ? p->check->timeout_ns : p->check->interval_ns,
	};
}

static void on_done(struct exec_client *c, const struct exec_result *r)
{
	struct probe *p = container_of(c, struct probe, exec);
	struct probe_result result = {
		.code = r->code,
		.status = r->status,
		.duration_ms = r->duration_ns / NS_PER_MS,
	};

	check(p->phase == PROBE_PHASE_RUNNING);
	memcpy(result.detail, r->detail, sizeof(result.detail));
	p->phase = PROBE_PHASE_IDLE; /* a program that is being ended goes on by itself */
	p->done(p->arg, &result);
}

void probe_exec_init(struct probe *p)
{
	exec_client_init(&p->exec);
	p->exec.order = on_order;
	p->exec.done = on_done;
}

void probe_exec_start(struct probe *p)
{
	p->began_ns = clock_mono_ns();
	p->met_itself = false;
	p->phase = PROBE_PHASE_RUNNING;
	exec_client_start(&p->exec);
}
