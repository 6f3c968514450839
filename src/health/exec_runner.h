/* SPDX-License-Identifier: MIT
 *
 * exec_runner.h - programs that check servers: how many run at once, how long, and what came of them.
 *
 * Clients wait in order until fewer than `limit` programs run, each with at most one; waiting is not charged.
 * A program has ended when its process has, whoever still holds its output. At its timeout its process group
 * gets SIGTERM, and SIGKILL half a second later; whatever is left of the group when the process has ended
 * gets SIGKILL. A program that is given up early is ended likewise, and keeps its place until it is gone.
 *
 * A turn of the loop starts few programs and reads little of what each prints. As process 1, reaps whatever
 * is left to us. Main thread.
 */
#ifndef WEIR_HEALTH_EXEC_RUNNER_H
#define WEIR_HEALTH_EXEC_RUNNER_H

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "weir/base/clock.h"
#include "weir/base/list.h"
#include "exec_child.h"
#include "exec_result.h"

#define EXEC_KILL_NS (500 * NS_PER_MS)

struct exec_run;

struct exec_runner {
	struct ev_loop *loop;    /* borrows */
	unsigned limit;          /* exec-checks */
	unsigned inside;         /* programs that run */
	struct list runs;        /* owns */
	struct list waiting;     /* borrows clients, in order */
	struct ev_timer serving; /* some of them are due */
	struct ev_signal orphans; /* as process 1 */
	struct rlimit files;     /* RLIMIT_NOFILE of programs */
	unsigned claimed;        /* descriptors: low_fds.h */
	unsigned next_limit;     /* of a change that is prepared */
};

/* What a client is asked when its turn has come. The words stay valid until the next call. */
struct exec_order {
	const char *program;
	char *const *argv;
	char *const *envp;
	int64_t timeout_ns;
};

struct exec_client {
	struct exec_runner *runner; /* borrows; NULL = it never runs a program */
	struct list link;           /* in `waiting` */
	struct exec_run *run;       /* its program, also after its result, until that is gone */
	void (*order)(struct exec_client *c, struct exec_order *o);
	/* Once for each exec_client_start(), from the loop. */
	void (*done)(struct exec_client *c, const struct exec_result *r);
};

void exec_runner_init(struct exec_runner *r, struct ev_loop *loop, const struct rlimit *files);
/* Ends all programs without waiting for them; there is no client any more. */
void exec_runner_free(struct exec_runner *r);
/* Takes what `limit` programs need; 0, or -errno with nothing taken, see low_fds.h. The limit is in effect
 * after exec_runner_commit(); exec_runner_undo() gives back what was taken. */
int exec_runner_prepare(struct exec_runner *r, unsigned limit);
void exec_runner_commit(struct exec_runner *r);
void exec_runner_undo(struct exec_runner *r);

void exec_client_init(struct exec_client *c);
/* Has a program run as soon as possible. */
void exec_client_start(struct exec_client *c);
/* No result is wanted any more. Harmless without a program. */
void exec_client_stop(struct exec_client *c);
/* The same, and the client is gone. */
void exec_client_free(struct exec_client *c);

#endif
