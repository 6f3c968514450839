/* SPDX-License-Identifier: MIT
 *
 * failures.c - changes in which each allocation and each system call fails in turn.
 *
 * A change that is refused must leave everything as it was. One that is made all the same must be made in
 * full, and the call must be one of those that are known to do no harm. Main thread.
 */
#include "failures.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "changes.h"
#include "memory.h"
#include "objects.h"
#include "portrait.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"

#define KINDS_MAX   32u
#define CALLS_MAX   1000u /* of one change, those of its commit included */
#define DRAWS	    16u	 /* until something is there to be changed so */
#define WAITING_MAX 300u
#define LAST_ACCEPTS 6u /* that fail where something leaves */
#define TURN_CALLS  6u /* that may fail in a turn of control */

#define ALL	 ""
#define SERVERS	 "add_server change_server command_server add_backend rotate several"
#define RUN_TIME "run_time_add run_time_delete run_time_move"
#define SOCKETS	 "add_frontend add_endpoint several halt_frontend"
#define OPTIONS	 "change_frontend several take_over_endpoint"
#define LEAVING	 "remove_frontend leave_endpoint halt_frontend"

/* Calls of a change that is made, or undone, though they fail. */
static const struct harmless {
	const char *kinds; /* "" = all */
	const char *function;
	const char *why;
} harmless[] = {
	{ALL, "close", "Linux has closed it by then"},
	{ALL, "getrandom", "a table of sources gets a seed that nobody can guess from afar"},
	{SERVERS, "calloc", "the server's history, in the commit: the log has the change"},
	/* May a connect to this server reach itself? If that cannot be found out, it may. */
	{SERVERS, "open", "the range of ports"},
	{SERVERS, "socket", "the source that the kernel would choose"},
	{SERVERS, "connect", "the same"},
	{SERVERS, "getsockname", "the same"},
	{RUN_TIME, "calloc", "as of the others: the server's history"},
	{RUN_TIME, "open", "the range of ports"},
	{RUN_TIME, "socket", "the source that the kernel would choose"},
	{RUN_TIME, "connect", "the same"},
	{RUN_TIME, "getsockname", "the same"},
	{SOCKETS, "getsockopt", "is it MPTCP? Then no"},
	{SOCKETS, "connect", "does this process listen at the path? Asked again under the lock"},
	{SOCKETS, "fchmod", "the mode before bind(2), which is looked at again after it"},
	{SOCKETS, "ioctl", "the file of a Unix socket, which is then found by its name"},
	{SOCKETS, "fstatat", "who has the lock's name, or the path: tried again, or bind(2) tells"},
	{SOCKETS, "connect", "whether anybody listens at a path that is there: bind(2) tells"},
	{SOCKETS, "syscall", "fchmodat2(2), which older kernels do not have"},
	{OPTIONS, "setsockopt", "of a socket that listens, in the commit: the log has it"},
	{OPTIONS, "listen", "the same, for the length of its queue"},
	{"take_over_endpoint", "getsockopt", "in the undo: one on its way hears until it leaves"},
	{LEAVING, "getsockopt", "it leaves at once, as one that cannot be deaf"},
	{LEAVING, "setsockopt", "the same"},
};

static struct kind {
	unsigned made, undone, refused, harmless;
} done[KINDS_MAX];
static unsigned turns_failed;
static struct portrait before, after;
static struct objects noted;

static bool is_harmless(unsigned kind, const char *function)
{
	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		if (strcmp(harmless[i].function, function) == 0 &&
		    (harmless[i].kinds[0] == '\0' ||
		     strstr(harmless[i].kinds, changes_name(kind)) != NULL))
			return true;
	return false;
}

/* Of one that is undone: the name of a socket may stay, on which nobody listens. */
static bool leaves_name(const char *function)
{
	return strcmp(function, "open") == 0 || strcmp(function, "fstat") == 0 ||
	       strcmp(function, "fstatat") == 0 || strcmp(function, "unlinkat") == 0;
}

static bool is_in_force(void)
{
	server_updates_foreach(objects_updates(), b)
		if (b->held)
			return false;
	return true;
}

/* The stages of leaving, and rosters: nobody can be told that a call has failed. */
static void turn_with_failure(struct rig *r)
{
	static unsigned nth;

	memory_fail(nth++ % TURN_CALLS);
	rig_turn(r);
	turns_failed += memory_fail_no_more() != NULL;
}

/* A roster that found no memory is tried again a second later: that is now. */
static void put_in_force(struct rig *r)
{
	turn_with_failure(r);
	for (unsigned i = 0; i < 10 && !is_in_force(); i++) {
		server_updates_wake(objects_updates(), clock_mono_ns());
		rig_turn(r);
	}
	check(is_in_force());
	check(rig_settle(r, WAITING_MAX, 60 * NS_PER_SEC));
	changes_look_at_places();
}

static void complain(unsigned kind, unsigned nth, const char *function, const char *what)
{
	printf("%s, call %u (%s): %s\n", changes_name(kind), nth, function != NULL ? function : "none",
	       what);
	fflush(stdout);
	abort();
}

static void compare(unsigned kind, unsigned nth, const char *function, const char *folder)
{
	portrait_draw(&after, objects.rig, folder);
	if (!portrait_same(&before, &after))
		complain(kind, nth, function, "left a trace");
}

/* What is committed needs nothing any more: it is in force at the end of the turn. A command of the
 * administrator and a health check are not prepared. */
static void end_strictly(unsigned kind)
{
	memory_fail_all();
	rig_turn(objects.rig);
	(void)memory_fail_no_more(); /* endpoints are closed all the same */
	if (!is_in_force())
		complain(kind, 0, "all", "was committed, and is not in force");
}

/* *function: what has failed, NULL = nothing: there are no more than `nth` calls. */
static enum change_result try_one(unsigned kind, unsigned nth, const char *folder, const char **function)
{
	enum change_result result;

	noted = objects;
	portrait_draw(&before, objects.rig, folder);
	memory_fail(nth);
	result = objects_change(kind);
	*function = memory_fail_no_more();
	if (result == CHANGE_REFUSED && *function == NULL)
		complain(kind, nth, *function, "refused without a failure");
	if (result != CHANGE_REFUSED && *function != NULL && !is_harmless(kind, *function) &&
	    !(result == CHANGE_UNDONE && leaves_name(*function)))
		complain(kind, nth, *function, "done, though a call has failed");
	if (result == CHANGE_REFUSED)
		objects = noted; /* the same is drawn again */
	if (result == CHANGE_REFUSED || (result == CHANGE_UNDONE && *function == NULL))
		compare(kind, nth, *function, folder);
	objects_check();
	if (result == CHANGE_MADE && objects.is_strict && strcmp(changes_name(kind), "command_server") != 0 &&
	    strcmp(changes_name(kind), "run_time_move") != 0)
		end_strictly(kind);
	return result;
}

static void fail_each(unsigned kind, const char *folder)
{
	struct kind *k = &done[kind];
	const char *function = "";
	unsigned nth = 0, impossible = 0;

	while (function != NULL && impossible < DRAWS) {
		enum change_result result;

		check(nth < CALLS_MAX);
		put_in_force(objects.rig);
		result = try_one(kind, nth, folder, &function);
		if (result == CHANGE_IMPOSSIBLE) {
			check(function == NULL);
			impossible++;
			function = "";
			continue;
		}
		k->refused += result == CHANGE_REFUSED;
		k->undone += result == CHANGE_UNDONE;
		k->made += result == CHANGE_MADE;
		if (result == CHANGE_MADE && strstr(LEAVING, changes_name(kind)) != NULL)
			memory_fail_accepts(LAST_ACCEPTS);
		k->harmless += result != CHANGE_REFUSED && function != NULL;
		nth++;
	}
}

void failures_round(const char *folder)
{
	static unsigned rounds;

	check(changes_kinds() <= KINDS_MAX);
	objects.is_strict = rounds++ % 2 == 1;
	for (unsigned kind = 0; kind < changes_kinds(); kind++) {
		/* Something that stays on its way, so that it may stay after all. */
		objects.in_haste = false;
		if (strcmp(changes_name(kind), "stay_endpoint") == 0)
			(void)objects_leave_endpoint();
		objects.in_haste = true;
		/* One to be disabled; then it is enabled. */
		if (strcmp(changes_name(kind), "halt_frontend") == 0) {
			(void)objects_add_frontend();
			fail_each(kind, folder);
		}
		fail_each(kind, folder);
	}
	objects.in_haste = objects.is_strict = false;
}

bool failures_print(unsigned least)
{
	bool fine = true;

	for (unsigned i = 0; i < changes_kinds(); i++) {
		printf("%-16s made %u, undone %u, refused %u, harmless %u\n", changes_name(i), done[i].made,
		       done[i].undone, done[i].refused, done[i].harmless);
		fine &= done[i].made >= least;
	}
	printf("turns in which a call failed: %u\n", turns_failed);
	return fine;
}
