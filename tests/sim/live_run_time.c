/* SPDX-License-Identifier: MIT
 *
 * live_run_time.c - an administrator adds, deletes and moves servers.
 *
 * Owns nothing. One thread. Tests only.
 */
#include <errno.h>
#include <string.h>

#include "cover.h"
#include "live.h"
#include "model.h"
#include "rig.h"
#include "rig_config.h"
#include "weir/balance/run_time.h"
#include "weir/balance/tombstone.h"

static const struct mark by_lot = {.wall_ns = 1, .by = 1000};

static void made(int err)
{
	if (err)
		sim_fail("a command fails: %d", err);
}

static struct server *some_server_of(const struct backend *b)
{
	return b->servers[prng_below(&model.rng, (uint32_t)b->server_count)];
}

/* As it comes, or taken into use at once. */
static void add(struct backend *b)
{
	struct config_server config;
	struct server *s;
	int err;

	memset(&config, 0, sizeof(config));
	rig_make_server(&config, prng_below(&model.rng, 20));
	live_name(config.name, 's');
	err = run_time_add_server(live_updates(), b, &config, &by_lot, &s);
	if (err == -EEXIST)
		return;
	made(err);
	live_check_new(s->slot);
	cover(COVER_LIVE_SERVER_ADDED);
	if (prng_chance(&model.rng, 70))
		made(server_updates_set_admin(live_updates(), s, SERVER_ADMIN_READY, ""));
}

static void delete(struct server *s)
{
	int err;

	if (s->admin != SERVER_ADMIN_MAINT)
		made(server_updates_set_admin(live_updates(), s, SERVER_ADMIN_MAINT, ""));
	err = run_time_delete_server(live_updates(), s, &by_lot);
	cover(err ? COVER_LIVE_SERVER_KEPT : COVER_LIVE_SERVER_DELETED);
	if (err != -EBUSY)
		made(err);
}

/* To one of a few addresses, or back. */
static void move(struct server *s)
{
	struct addr a = s->config->addr.addr;
	const bool back = addr_is_unix(&a) || prng_chance(&model.rng, 30);

	if (!back)
		a.in.sin_port = htons((uint16_t)(3000 + prng_below(&model.rng, 3)));
	made(run_time_set_addr(live_updates(), s, back ? NULL : &a, &by_lot));
	if (!back && atomic_load(&s->sessions) > 0)
		cover(COVER_LIVE_SERVER_MOVED);
}

static void change_one(struct backend *b)
{
	const uint32_t dice = prng_below(&model.rng, 3);
	const size_t least = live_is_rough() ? 1 : 2;

	if (b->server_count == 0 || (dice == 0 && b->server_count < LIVE_SERVERS))
		add(b);
	else if (dice == 1 && b->server_count >= least)
		delete(some_server_of(b));
	else
		move(some_server_of(b));
}

void live_change_run_time(void)
{
	unsigned count = prng_range(&model.rng, 1, 4);

	if (count == 1) {
		change_one(live_some_backend());
		return;
	}
	run_time_begin(live_updates());
	while (count-- > 0)
		change_one(live_some_backend());
	made(run_time_end(live_updates()));
	cover(COVER_LIVE_SERVERS_TOGETHER);
}
