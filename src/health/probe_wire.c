/* SPDX-License-Identifier: MIT
 *
 * probe_wire.c - the bytes of a health check on their connection: in clear, or through TLS.
 *
 * Owns the TLS session, from the begin of the handshake until the check's verdict. The time that a check
 * waits at the gate is not its own. Main thread.
 */
#include "probe_wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/sys/sys.h"
#include "probe_steps.h"
#include "probe_tls.h"

/* ---- the server's name ---- */

/* "www.example.com:8443" and "[::1]:8443" without the port. */
static void copy_host(const char *host, char out[PROBE_NAME_MAX])
{
	const bool brackets = host[0] == '[';
	const size_t len = brackets ? strcspn(host + 1, "]") : strcspn(host, ":");

	(void)snprintf(out, PROBE_NAME_MAX, "%.*s", (int)len, host + brackets); /* it fits */
}

static bool is_address(const char *name)
{
	struct in6_addr ip;

	return inet_pton(AF_INET, name, &ip) == 1 || inet_pton(AF_INET6, name, &ip) == 1;
}

bool probe_wire_name(const struct config_check *c, const struct server *s, char out[PROBE_NAME_MAX])
{
	const struct addr_spec *a = &s->config->addr;
	char text[ADDR_TEXT_MAX];
	size_t len;

	if (c->sni != NULL)
		(void)snprintf(out, PROBE_NAME_MAX, "%s", c->sni); /* it fits */
	else if (c->host != NULL)
		copy_host(c->host, out);
	else if (a->kind == ADDR_NAME)
		(void)snprintf(out, PROBE_NAME_MAX, "%s", a->host); /* likewise */
	else if (a->kind == ADDR_UNIX)
		(void)snprintf(out, PROBE_NAME_MAX, "localhost");
	else
		copy_host(addr_spec_format(a, text), out);
	len = strlen(out);
	if (len > 1 && out[len - 1] == '.')
		out[len - 1] = '\0'; /* certificates have no root */
	return !is_address(out);
}

/* ---- the handshake ---- */

static void on_granted(struct probe_pass *pass)
{
	/* In the next turn of the loop: somebody else is in the middle of something. */
	probe_wake(container_of(pass, struct probe, wire.pass), 0);
}

void probe_wire_init(struct probe *p)
{
	p->wire = (struct probe_wire){0};
	probe_pass_init(&p->wire.pass, on_granted);
}

bool probe_wire_is_due(const struct probe *p)
{
	return p->check->tls && !p->wire.secured;
}

static void begin_handshake(struct probe *p)
{
	char name[PROBE_NAME_MAX];
	const bool named = probe_wire_name(p->check, p->server, name);

	p->wire.tls = probe_tls_new(p->check, name, named, p->fd);
	p->phase = PROBE_PHASE_SECURING;
	if (p->wire.tls == NULL)
		probe_tell_error(p, PROBE_SOCKERR, -ENOMEM);
	else
		probe_tls_next_turn(p->wire.tls);
}

void probe_wire_secure(struct probe *p)
{
	check(p->wire.gate != NULL);
	check(p->wire.tls == NULL);
	if (p->wire.pass.inside || probe_gate_enter(p->wire.gate, &p->wire.pass)) {
		begin_handshake(p);
		return;
	}
	p->phase = PROBE_PHASE_WAITING;
	p->wire.waited = true;
	p->wire.waits_ns = clock_mono_ns();
	probe_rest(p);
}

void probe_wire_enter(struct probe *p)
{
	check(p->phase == PROBE_PHASE_WAITING);
	p->began_ns += clock_mono_ns() - p->wire.waits_ns;
	probe_limit(p);
	begin_handshake(p);
	probe_steps_run(p);
}

static void leave_gate(struct probe *p)
{
	if (p->wire.gate != NULL)
		probe_gate_leave(p->wire.gate, &p->wire.pass);
}

bool probe_wire_shake(struct probe *p)
{
	const int err = probe_tls_shake(p->wire.tls);

	if (err == -EAGAIN) {
		probe_wire_wait(p, 0);
		return false;
	}
	if (err != 0) {
		probe_wire_failed(p, err);
		return false;
	}
	leave_gate(p);
	p->wire.secured = true;
	p->phase = PROBE_PHASE_SAYING;
	return true;
}

/* ---- bytes ---- */

void probe_wire_next_turn(struct probe *p)
{
	if (p->wire.tls != NULL)
		probe_tls_next_turn(p->wire.tls);
}

ssize_t probe_wire_send(struct probe *p, const void *data, size_t len)
{
	return p->wire.tls != NULL ? probe_tls_send(p->wire.tls, data, len) : sys_send(p->fd, data, len);
}

ssize_t probe_wire_recv(struct probe *p, void *data, size_t len)
{
	return p->wire.tls != NULL ? probe_tls_recv(p->wire.tls, data, len) : sys_recv(p->fd, data, len, 0);
}

void probe_wire_wait(struct probe *p, int events)
{
	if (p->wire.tls != NULL)
		events = probe_tls_wants_room(p->wire.tls) ? EV_WRITE : EV_READ;
	probe_watch(p, events);
}

void probe_wire_failed(struct probe *p, int err)
{
	const enum probe_code code = p->phase == PROBE_PHASE_SECURING ? PROBE_L6RSP : PROBE_L7RSP;
	char why[PROBE_DETAIL_MAX];

	/* A server may close a connection that was idle for too long, and that was us: the next one begins at
	 * once. */
	if (p->wire.waited && !p->again && !p->wire.secured && !probe_tls_heard(p->wire.tls)) {
		p->wire.keeps_place = true;
		probe_renew(p);
		return;
	}
	if (err != -EPROTO) {
		probe_tell_error(p, code, err);
		return;
	}
	(void)snprintf(why, sizeof(why), "%s", probe_tls_why(p->wire.tls)); /* it goes with the session */
	probe_tell(p, code, why);
}

void probe_wire_say_goodbye(struct probe *p)
{
	if (p->wire.tls != NULL)
		probe_tls_say_goodbye(p->wire.tls);
}

void probe_wire_end(struct probe *p)
{
	if (!p->wire.keeps_place)
		leave_gate(p);
	p->wire.keeps_place = false;
	probe_tls_free(p->wire.tls);
	p->wire.tls = NULL;
	p->wire.secured = false;
	p->wire.waited = false;
}
