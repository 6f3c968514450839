/* SPDX-License-Identifier: MIT
 *
 * plan.h - which ports a demo uses, and the configuration that results.
 *
 * Loopback only. The proxy gets 8080 or the next free port. The servers get ports chosen by the kernel, which
 * stay reserved while a server is away, so that nobody else takes them. Creates no files: the lock is an
 * abstract Unix name. Main thread.
 */
#ifndef WEIR_DEMO_PLAN_H
#define WEIR_DEMO_PLAN_H

#include <stdint.h>
#include <stdio.h>

#include "weir/net/addr.h"

#define PLAN_SERVERS	 4
#define PLAN_FIRST	 3 /* servers of the first configuration; the other is added at run time */
#define PLAN_PORT	 8080
#define PLAN_PORTS_TRIED 200
#define PLAN_NAME	 "demo" /* name of the [listen] */

/* The configurations of a demo, in the order of their use. */
enum plan_stage {
	PLAN_STAGE_FIRST,
	PLAN_STAGE_WRONG, /* with one more server, whose address is not valid */
	PLAN_STAGE_TRIAL, /* the first one without its last server */
};

struct demo_plan {
	uint16_t proxy_port;
	uint16_t server_ports[PLAN_SERVERS];
	int reserved[PLAN_SERVERS]; /* owns: bound, not listening */
	int lock;		    /* owns: bound to a name that only one demo can have */
};

/* "b1" .. "b4". Static. */
const char *demo_plan_server_name(size_t i);
/* Chooses and reserves the ports. 0, or -errno with nothing left reserved. */
int demo_plan_make(struct demo_plan *p);
void demo_plan_free(struct demo_plan *p);
/* The address of the proxy, and the name of its admin socket in the form that `weir ctl -s` takes. */
void demo_plan_proxy_addr(const struct demo_plan *p, struct addr *out);
void demo_plan_admin_name(const struct demo_plan *p, char *buf, size_t room);
/* Listens on the port of server `i`: a descriptor owned by the caller, or -errno. */
int demo_plan_listen(const struct demo_plan *p, size_t i);
/* Writes the command that adds server `i` to a running daemon and enables it, without a newline. */
void demo_plan_add_command(const struct demo_plan *p, size_t i, char *buf, size_t room);
/* Writes a configuration in the form of a file. */
void demo_plan_write(const struct demo_plan *p, enum plan_stage stage, FILE *out);

#endif
