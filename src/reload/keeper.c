/* SPDX-License-Identifier: MIT
 *
 * keeper.c - what a restart is to find in the state file, and how much of it is on disk.
 *
 * Owns the state in memory. At most one save is under way. Main thread.
 */
#include "weir/reload/keeper.h"

#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/reload/reload.h"

void keeper_init(struct keeper *k, const struct reload_steps *steps, void *arg)
{
	memset(k, 0, sizeof(*k));
	k->steps = steps;
	k->steps_arg = arg;
}

void keeper_load(struct keeper *k, struct confirmed *loaded, const char *folder)
{
	check(k->version == 0);
	k->now = *loaded;
	*loaded = (struct confirmed){.text = NULL};
	k->folder = folder;
	k->disk_marked = k->now.mark_count > 0;
}

static void begin_save(struct keeper *k)
{
	check(!k->saving);
	k->begun = k->version;
	k->err = k->steps->begin_saving(k->steps_arg, &k->now);
	k->saving = k->err == 0;
	k->saving_marked = k->now.mark_count > 0;
	if (k->err)
		k->ended = k->begun;
}

void keeper_changed(struct keeper *k)
{
	if (k->folder == NULL)
		return;
	if (k->now.mark_count == 0 && !k->disk_marked && !k->saving) {
		k->err = 0;
		return;
	}
	k->version++;
	if (!k->saving)
		begin_save(k);
}

void keeper_restore(struct keeper *k, struct confirmed *before)
{
	confirmed_free(&k->now);
	k->now = *before;
	*before = (struct confirmed){.text = NULL};
	keeper_changed(k);
}

void keeper_wake(struct keeper *k)
{
	if (!k->saving || !k->steps->has_saved(k->steps_arg))
		return;
	k->err = k->steps->take_saved(k->steps_arg);
	k->saving = false;
	k->ended = k->begun;
	/* A save that failed may have replaced the file all the same. */
	k->disk_marked = k->saving_marked || (k->err != 0 && k->disk_marked);
	if (k->begun != k->version)
		begin_save(k);
}

int keeper_result(const struct keeper *k)
{
	return k->ended == k->version ? k->err : -EINPROGRESS;
}

void keeper_free(struct keeper *k)
{
	if (k->saving)
		k->steps->drop_saving(k->steps_arg);
	k->saving = false;
	confirmed_free(&k->now);
}
