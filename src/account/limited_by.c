/* SPDX-License-Identifier: MIT
 *
 * limited_by.c - who slowed a session down.
 *
 * The kernel counts three times per socket: busy with sending, and the parts of that in which the peer's
 * window or our send buffer held it back. The rest of the busy time bytes were on their way. Any thread.
 */
#include "weir/account/limited_by.h"

#include <stddef.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"

/* A share of the duration below which nothing is to blame. */
#define SHARE 4

static const char *const words[LIMITS] = {
#define LIMIT(name, word) [LIMITED_##name] = #word,
#include "weir/account/limits.tbl.h"
#undef LIMIT
};

const char *limited_by_word(enum limited_by by)
{
	check(by < LIMITS);
	return words[by];
}

/* The kernel reads the three times one after the other: their sum may be off by a little. */
static uint64_t on_their_way_us(const struct tcp_facts *f)
{
	const uint64_t held_us = f->window_us + f->send_buffer_us;

	return f->busy_us > held_us ? f->busy_us - held_us : 0;
}

enum limited_by limited_by(const struct tcp_facts *client, const struct tcp_facts *server,
			   int64_t duration_ns)
{
	const uint64_t times_us[LIMITS] = {
		[LIMITED_CLIENT] = client->window_us,
		[LIMITED_SERVER] = server->window_us,
		[LIMITED_NETWORK] = on_their_way_us(client) + on_their_way_us(server),
		[LIMITED_US] = client->send_buffer_us + server->send_buffer_us,
	};
	enum limited_by longest = LIMITED_NONE;

	check(duration_ns >= 0);
	if (!client->known && !server->known)
		return LIMITED_UNKNOWN;
	for (unsigned i = LIMITED_CLIENT; i < LIMITS; i++)
		if (times_us[i] > times_us[longest])
			longest = (enum limited_by)i;
	if (times_us[longest] < (uint64_t)(duration_ns / NS_PER_US) / SHARE)
		return LIMITED_NONE;
	return longest;
}
