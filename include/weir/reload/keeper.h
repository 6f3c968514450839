/* SPDX-License-Identifier: MIT
 *
 * keeper.h - what a restart is to find in the state file, and how much of it is on disk.
 *
 * Changes are made in memory, each followed by keeper_changed(); they are saved one after another by another
 * thread, the newest state only. Nothing is saved while no text is marked, neither here nor in the file. A
 * save that fails is not repeated until the next change. Main thread.
 */
#ifndef WEIR_RELOAD_KEEPER_H
#define WEIR_RELOAD_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "weir/reload/confirmed.h"

struct reload_steps;

struct keeper {
	struct confirmed now; /* owns: as it should be */
	const char *folder;   /* borrows; NULL = there is none, and nothing is saved */
	const struct reload_steps *steps;
	void *steps_arg;
	bool disk_marked; /* the file may have marks */
	uint64_t version; /* of `now` */
	uint64_t begun;	  /* the last one whose save has begun; 0 = none */
	uint64_t ended;	  /* the last one whose save has ended */
	int err;	  /* of that save */
	bool saving;
	bool saving_marked; /* with marks */
};

void keeper_init(struct keeper *k, const struct reload_steps *steps, void *arg);
/* Takes what was loaded, and leaves it all zero. `folder` is borrowed until keeper_free(). */
void keeper_load(struct keeper *k, struct confirmed *loaded, const char *folder);
/* k->now has changed. Begins to save it, unless a save is under way: then keeper_wake() does. */
void keeper_changed(struct keeper *k);
/* Instead of the state in memory, `before`, which is left all zero. */
void keeper_restore(struct keeper *k, struct confirmed *before);
/* A save may have ended. */
void keeper_wake(struct keeper *k);
/* The state as it is now: 0 = it is on disk, or need not be; -EINPROGRESS; or why it could not be saved:
 * -errno for confirmed_explain(). */
int keeper_result(const struct keeper *k);
/* Abandons a save that is under way. Harmless after memset(0). */
void keeper_free(struct keeper *k);

#endif
