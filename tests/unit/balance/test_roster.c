/* SPDX-License-Identifier: MIT
 *
 * test_roster.c - who may be chosen, in which order, and that every machine makes the same tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "config_of_servers.h"
#include "live_by_hand.h"
#include "balance/server_change.h"
#include "weir/balance/backend.h"
#include "weir/base/hash.h"

#define SERVERS 10

/* ---- who is in it ---- */

/* One letter a server: U up, B backup and up, u b of weight 0, D down, d a backup that is down, R drained,
 * r drained and down, M maintenance, m maintenance and down, N without an address. */
static void configure(struct config_of_servers *c, const char *servers)
{
	static const unsigned weights[TEST_SERVERS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	const size_t count = strlen(servers);

	config_of_servers_init(c, weights, count);
	for (size_t i = 0; i < count; i++) {
		c->servers[i].backup = strchr("Bbd", servers[i]) != NULL;
		c->servers[i].weight = strchr("ub", servers[i]) != NULL ? 0 : 1;
		if (servers[i] == 'N')
			config_of_servers_unresolve(c, i);
	}
}

static void set_states(struct backend *b, const char *servers)
{
	for (size_t i = 0; i < b->server_count; i++) {
		struct server *s = b->servers[i];

		if (strchr("Ddrm", servers[i]) != NULL)
			assert_int_equal(server_set_health(s, false, "", 1), 0);
		if (strchr("Rr", servers[i]) != NULL)
			assert_int_equal(server_set_admin(s, SERVER_ADMIN_DRAIN, "", 1), 0);
		if (strchr("Mm", servers[i]) != NULL)
			assert_int_equal(server_set_admin(s, SERVER_ADMIN_MAINT, "", 1), 0);
	}
}

/* ---- who clients may come back to ---- */

/* One letter a server: its name if clients may come back to it, '-' if not. */
static void assert_homes(const char *servers, const char *expected)
{
	struct config_of_servers c;
	struct backend *b;

	configure(&c, servers);
	c.backend.persist = CONFIG_PERSIST_RDP;
	b = backend_by_hand(&c.config);
	assert_non_null(b);
	set_states(b, servers);
	for (size_t i = 0; expected[i] != '\0'; i++) {
		struct server *s =
			roster_find_home(backend_roster(b), htonl(INADDR_LOOPBACK), (uint16_t)(1001 + i));

		assert_ptr_equal(s, expected[i] != '-' ? b->servers[i] : NULL);
	}
	assert_null(roster_find_home(backend_roster(b), htonl(INADDR_LOOPBACK), 1000));
	assert_null(roster_find_home(backend_roster(b), htonl(INADDR_LOOPBACK), 2000));
	assert_null(roster_find_home(backend_roster(b), htonl(INADDR_LOOPBACK) + 1, 1001));
	assert_null(roster_find_home(backend_roster(b), 0, 0));
	backend_by_hand_free(b);
}

static void clients_may_come_back_to_what_is_up_or_drains(void **state)
{
	(void)state;
	assert_homes("UUU", "abc");
	assert_homes("UDMNmrRBubd", "a-----ghij-");
	assert_homes("DDD", "---");
	assert_homes("RRR", "abc");
}

static void nobody_comes_back_to_a_member_that_leaves_its_set(void **state)
{
	const uint32_t ip = htonl(INADDR_LOOPBACK);
	struct config_of_servers c;
	struct backend *b;

	(void)state;
	configure(&c, "UU");
	c.backend.persist = CONFIG_PERSIST_RDP;
	b = backend_by_hand(&c.config);
	assert_non_null(b);
	assert_int_equal(server_set_leaves(b->servers[0], true, "test", 1), 0);
	assert_int_equal(atomic_load(&b->servers[0]->state), SERVER_DRAIN);
	assert_null(roster_find_home(backend_roster(b), ip, 1001));
	assert_ptr_equal(roster_find_home(backend_roster(b), ip, 1002), b->servers[1]);
	assert_int_equal(server_set_leaves(b->servers[0], false, "test", 2), 0);
	assert_ptr_equal(roster_find_home(backend_roster(b), ip, 1001), b->servers[0]);
	backend_by_hand_free(b);
}

static void without_persist_there_is_nobody_to_come_back_to(void **state)
{
	struct config_of_servers c;
	struct backend *b;

	(void)state;
	configure(&c, "UU");
	b = backend_by_hand(&c.config);
	assert_non_null(b);
	assert_int_equal(backend_roster(b)->home_count, 0);
	assert_null(backend_roster(b)->homes);
	assert_null(roster_find_home(backend_roster(b), htonl(INADDR_LOOPBACK), 1001));
	backend_by_hand_free(b);
}

/* Its key is that of its name, so that no other table needs a roster for it. */
static void a_server_that_moves_is_found_at_its_new_address(void **state)
{
	const uint32_t ip = htonl(INADDR_LOOPBACK);
	struct config_of_servers c;
	struct backend *b;
	struct addr to;

	(void)state;
	configure(&c, "UU");
	c.backend.persist = CONFIG_PERSIST_RDP;
	to = c.servers[0].addr.addr;
	addr_set_port(&to, 2000);
	b = backend_by_hand(&c.config);
	assert_non_null(b);
	assert_int_equal(server_move_to(b->servers[0], &to, "test"), 0);
	assert_ptr_equal(roster_find_home(backend_roster(b), ip, 2000), b->servers[0]);
	assert_null(roster_find_home(backend_roster(b), ip, 1001));
	assert_int_equal(server_set_addr(b->servers[0], NULL), 0);
	assert_null(roster_find_home(backend_roster(b), ip, 2000));
	backend_by_hand_free(b);
}

/* The one in the file first, as in HAProxy; another one while that is down. */
static void of_several_at_one_address_the_first_that_is_usable_counts(void **state)
{
	const uint32_t ip = htonl(INADDR_LOOPBACK);
	struct config_of_servers c;
	struct backend *b;

	(void)state;
	configure(&c, "UUU");
	c.servers[2].addr = c.servers[0].addr = c.servers[1].addr;
	c.backend.persist = CONFIG_PERSIST_RDP;
	b = backend_by_hand(&c.config);
	assert_non_null(b);
	assert_ptr_equal(roster_find_home(backend_roster(b), ip, 1002), b->servers[0]);
	assert_int_equal(server_set_health(b->servers[0], false, "", 1), 0);
	assert_ptr_equal(roster_find_home(backend_roster(b), ip, 1002), b->servers[1]);
	backend_by_hand_free(b);
}

static void members_follow_the_table(void **state)
{
	static const struct {
		const char *servers;
		const char *plain; /* the names of who is in it */
		const char *all_backups;
		const char *panic;
	} table[] = {
		{"UUU", "abc", "abc", "abc"},
		{"UDU", "ac", "ac", "ac"},
		{"UBB", "a", "a", "a"},
		{"DBB", "b", "bc", "b"},
		{"DdB", "c", "c", "c"},
		{"BDB", "a", "ac", "a"},
		{"uBB", "b", "bc", "b"},
		{"DbB", "c", "c", "c"},
		{"DDD", "", "", "abc"},
		{"DdD", "", "", "abc"},
		{"DRM", "", "", "a"},
		{"DrN", "", "", "a"},
		{"mND", "", "", "c"},
		{"RRM", "", "", ""},
		{"Dub", "", "", "a"},
		{"u", "", "", ""},
		{"NNN", "", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		for (int mode = 0; mode < 3; mode++) {
			const char *want = mode == 0   ? table[i].plain
					   : mode == 1 ? table[i].all_backups
						       : table[i].panic;
			struct config_of_servers c;
			struct backend *b;
			char got[TEST_SERVERS_MAX + 1] = "";

			configure(&c, table[i].servers);
			c.backend.allbackups = mode == 1;
			c.backend.panic = mode == 2;
			b = backend_by_hand(&c.config);
			set_states(b, table[i].servers);
			for (size_t k = 0; k < backend_roster(b)->count; k++)
				got[k] = backend_roster(b)->by_place[k].server->config->name[0];
			if (strcmp(got, want) != 0)
				fail_msg("%s, mode %d: '%s', not '%s'", table[i].servers, mode, got, want);
			for (size_t k = 0; k < b->server_count; k++)
				assert_int_equal(atomic_load(&b->servers[k]->in_roster),
						 strchr(want, 'a' + (int)k) != NULL);
			backend_by_hand_free(b);
		}
	}
}

/* ---- machines ---- */

enum how { BY_MODULO, BY_RING, BY_MAGLEV, HOWS };

/* Ten servers; `order` says which of them each line of the file is, `weights` is by server. */
static struct backend *machine(struct config_of_servers *c, enum how how, const unsigned *order, size_t count,
			       const unsigned *weights)
{
	unsigned by_line[SERVERS];

	for (size_t i = 0; i < count; i++)
		by_line[i] = weights[order[i]];
	config_of_servers_init(c, by_line, count);
	for (size_t i = 0; i < count; i++) {
		char text[64];

		(void)snprintf(c->servers[i].name, sizeof(c->servers[i].name), "server-%u", order[i]);
		(void)snprintf(text, sizeof(text), "10.0.0.%u:80", order[i] + 1);
		assert_int_equal(addr_parse(text, &c->servers[i].addr, NULL, NULL), 0);
	}
	c->backend.balance.algorithm = how == BY_MAGLEV ? CONFIG_BALANCE_MAGLEV : CONFIG_BALANCE_SOURCE;
	c->backend.balance.hash = how == BY_RING ? CONFIG_HASH_CONSISTENT : CONFIG_HASH_MODULO;
	return backend_by_hand(&c->config);
}

static uint64_t checksum(enum how how, enum config_hash_key key, const unsigned *order, size_t count,
			 const unsigned *weights)
{
	struct config_of_servers c;
	struct backend *b = machine(&c, how, order, count, weights);
	uint64_t sum = backend_roster(b)->checksum;

	if (key == CONFIG_HASH_KEY_ADDRESS) {
		backend_by_hand_free(b);
		c.backend.balance.hash_key = key;
		b = backend_by_hand(&c.config);
		sum = backend_roster(b)->checksum;
	}
	backend_by_hand_free(b);
	return sum;
}

static const unsigned in_order[SERVERS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
static const unsigned shuffled[SERVERS] = {7, 2, 9, 0, 5, 1, 8, 3, 6, 4};
static const unsigned ones[SERVERS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static const unsigned mixed[SERVERS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 256};

static void by_key_is_sorted_and_complete(void **state)
{
	struct config_of_servers c;
	struct backend *b = machine(&c, BY_MODULO, shuffled, SERVERS, mixed);
	const struct roster *r = backend_roster(b);
	uint64_t end = 0;

	(void)state;
	assert_int_equal(r->count, SERVERS);
	for (size_t i = 0; i < r->count; i++) {
		assert_ptr_equal(r->by_place[i].server, b->servers[i]);
		end += r->by_key[i].weight;
		assert_true(r->by_key[i].weight_end == end);
		assert_int_equal(r->by_key[i].weight,
				 mixed[shuffled[r->by_key[i].server->id - 1]] * SERVER_WEIGHT_SCALE);
		if (i > 0)
			assert_true(r->by_key[i - 1].server->key < r->by_key[i].server->key);
	}
	assert_true(r->weight == end);
	backend_by_hand_free(b);
}

static void order_in_the_file_does_not_matter(void **state)
{
	(void)state;
	for (enum how how = 0; how < HOWS; how++) {
		for (int key = CONFIG_HASH_KEY_NAME; key <= CONFIG_HASH_KEY_ADDRESS; key++) {
			const enum config_hash_key k = (enum config_hash_key)key;

			assert_true(checksum(how, k, in_order, SERVERS, ones) ==
				    checksum(how, k, shuffled, SERVERS, ones));
			assert_true(checksum(how, k, in_order, SERVERS, mixed) ==
				    checksum(how, k, shuffled, SERVERS, mixed));
		}
	}
}

static void two_processes_agree(void **state)
{
	(void)state;
	for (enum how how = 0; how < HOWS; how++) {
		const uint64_t here = checksum(how, CONFIG_HASH_KEY_NAME, in_order, SERVERS, mixed);
		uint64_t there = 0;
		int ends[2];
		int status;
		pid_t child;

		assert_int_equal(pipe(ends), 0);
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			const uint64_t sum = checksum(how, CONFIG_HASH_KEY_NAME, shuffled, SERVERS, mixed);

			_exit(write(ends[1], &sum, sizeof(sum)) == (ssize_t)sizeof(sum) ? 0 : 1);
		}
		assert_int_equal(read(ends[0], &there, sizeof(there)), sizeof(there));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		assert_true(here == there);
		assert_int_equal(close(ends[0]), 0);
		assert_int_equal(close(ends[1]), 0);
	}
}

/* Another release must not move the clients: these are what they were. */
static void checksums_are_what_they_were(void **state)
{
	(void)state;
	assert_true(checksum(BY_MODULO, CONFIG_HASH_KEY_NAME, in_order, SERVERS, mixed) ==
		    UINT64_C(0x2a4379ae3cd3a321));
	assert_true(checksum(BY_RING, CONFIG_HASH_KEY_NAME, in_order, SERVERS, mixed) ==
		    UINT64_C(0x46cbf88f95308735));
	assert_true(checksum(BY_MAGLEV, CONFIG_HASH_KEY_NAME, in_order, SERVERS, mixed) ==
		    UINT64_C(0x07cc168597f729d9));
}

static void another_server_or_weight_is_another_checksum(void **state)
{
	static const unsigned other[SERVERS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 255};

	(void)state;
	for (enum how how = 0; how < HOWS; how++) {
		const uint64_t sum = checksum(how, CONFIG_HASH_KEY_NAME, in_order, SERVERS, mixed);

		assert_true(sum != checksum(how, CONFIG_HASH_KEY_NAME, in_order, SERVERS, other));
		assert_true(sum != checksum(how, CONFIG_HASH_KEY_NAME, in_order, SERVERS - 1, mixed));
		assert_true(sum != checksum(how, CONFIG_HASH_KEY_NAME, in_order + 1, SERVERS - 1, mixed));
		assert_true(sum != checksum(how, CONFIG_HASH_KEY_ADDRESS, in_order, SERVERS, mixed));
	}
}

static void server_that_goes_and_comes_back_restores_the_checksum(void **state)
{
	(void)state;
	for (enum how how = 0; how < HOWS; how++) {
		struct config_of_servers c;
		struct backend *b = machine(&c, how, in_order, SERVERS, mixed);
		const uint64_t sum = backend_roster(b)->checksum;

		assert_int_equal(server_set_health(b->servers[4], false, "", 1), 0);
		assert_true(backend_roster(b)->checksum != sum);
		assert_int_equal(server_set_health(b->servers[4], true, "", 2), 0);
		assert_true(backend_roster(b)->checksum == sum);
		backend_by_hand_free(b);
	}
}

static void key_follows_the_address_when_asked_to(void **state)
{
	struct config_of_servers c;
	struct backend *b;
	struct addr_spec spec;
	uint64_t key;
	uint64_t number;

	(void)state;
	config_of_servers_init(&c, ones, 3);
	c.backend.balance.algorithm = CONFIG_BALANCE_MAGLEV;
	c.backend.balance.hash_key = CONFIG_HASH_KEY_ADDRESS;
	b = backend_by_hand(&c.config);
	key = b->servers[0]->key;
	assert_true(key == hash_bytes("127.0.0.1:1001", 14, 0));
	assert_int_equal(addr_parse("[fe80::1]:80", &spec, NULL, NULL), 0);
	spec.addr.in6.sin6_scope_id = 7; /* the number of an interface is this machine's */
	number = backend_roster(b)->number;
	assert_int_equal(server_set_addr(b->servers[0], &spec.addr), 0);
	assert_true(backend_roster(b)->number > number);
	assert_true(b->servers[0]->key == hash_bytes("[fe80::1]:80", 12, 0));
	backend_by_hand_free(b);
	c.backend.balance.hash_key = CONFIG_HASH_KEY_NAME;
	b = backend_by_hand(&c.config);
	number = backend_roster(b)->number;
	assert_int_equal(server_set_addr(b->servers[0], &spec.addr), 0);
	assert_true(backend_roster(b)->number == number);
	assert_true(b->servers[0]->key == hash_bytes("a", 1, 0));
	backend_by_hand_free(b);
}

/* ---- tables ---- */

/* Names of one address: each gets its part of the places all the same. */
static void servers_with_one_key_share(void **state)
{
	(void)state;
	for (enum how how = BY_RING; how < HOWS; how++) {
		struct config_of_servers c;
		struct backend *b = machine(&c, how, in_order, 3, (const unsigned[]){100, 100, 100});
		const struct roster *r;
		unsigned got[3] = {0};

		backend_by_hand_free(b);
		c.backend.balance.hash_key = CONFIG_HASH_KEY_ADDRESS;
		c.servers[1].addr = c.servers[0].addr;
		c.servers[2].addr = c.servers[0].addr;
		b = backend_by_hand(&c.config);
		assert_true(b->servers[0]->key == b->servers[2]->key);
		r = backend_roster(b);
		for (size_t i = 0; i < r->ring_count; i++) {
			got[r->ring[i].entry]++;
			assert_true(i == 0 || r->ring[i - 1].hash < r->ring[i].hash);
		}
		for (size_t i = 0; r->maglev != NULL && i < ROSTER_MAGLEV_SLOTS; i++)
			got[r->maglev[i]]++;
		for (int i = 1; i < 3; i++)
			assert_true(got[i] + 1 >= got[0] && got[i] <= got[0]);
		backend_by_hand_free(b);
	}
}

/* The pseudocode of the paper (figure 3.4), with the permutations written out. */
static void maglev_is_filled_as_in_the_paper(void **state)
{
	static uint32_t permutation[SERVERS][ROSTER_MAGLEV_SLOTS];
	static int entry[ROSTER_MAGLEV_SLOTS];
	struct config_of_servers c;
	struct backend *b = machine(&c, BY_MAGLEV, in_order, SERVERS, ones);
	uint32_t next[SERVERS] = {0};
	uint32_t n = 0;

	(void)state;
	for (uint32_t i = 0; i < SERVERS; i++) {
		const uint64_t key = backend_roster(b)->by_key[i].server->key;
		const uint64_t offset = hash_nth(key, 0) % ROSTER_MAGLEV_SLOTS;
		const uint64_t skip = hash_nth(key, 1) % (ROSTER_MAGLEV_SLOTS - 1) + 1;

		for (uint64_t j = 0; j < ROSTER_MAGLEV_SLOTS; j++)
			permutation[i][j] = (uint32_t)((offset + j * skip) % ROSTER_MAGLEV_SLOTS);
	}
	memset(entry, -1, sizeof(entry));
	while (n < ROSTER_MAGLEV_SLOTS) {
		for (uint32_t i = 0; i < SERVERS && n < ROSTER_MAGLEV_SLOTS; i++) {
			uint32_t slot = permutation[i][next[i]];

			while (entry[slot] >= 0)
				slot = permutation[i][++next[i]];
			entry[slot] = (int)i;
			next[i]++;
			n++;
		}
	}
	for (size_t i = 0; i < ROSTER_MAGLEV_SLOTS; i++)
		assert_int_equal(backend_roster(b)->maglev[i], entry[i]);
	backend_by_hand_free(b);
}

static void maglev_slots_go_by_weight(void **state)
{
	struct config_of_servers c;
	struct backend *b = machine(&c, BY_MAGLEV, shuffled, SERVERS, mixed);
	const struct roster *r = backend_roster(b);
	unsigned got[SERVERS] = {0};
	double sum = 0;

	(void)state;
	for (size_t i = 0; i < SERVERS; i++)
		sum += mixed[i];
	for (size_t i = 0; i < ROSTER_MAGLEV_SLOTS; i++)
		got[shuffled[r->by_key[r->maglev[i]].server->id - 1]]++;
	for (size_t i = 0; i < SERVERS; i++) {
		const double exact = ROSTER_MAGLEV_SLOTS * mixed[i] / sum;

		/* The last round is not a whole one, and its slots go to the largest. */
		assert_true(got[i] >= exact - 2 && got[i] <= exact * 1.0002 + 2);
	}
	backend_by_hand_free(b);
}

static void ring_has_sixteen_points_for_each_unit_of_weight(void **state)
{
	struct config_of_servers c;
	struct backend *b = machine(&c, BY_RING, in_order, SERVERS, mixed);
	unsigned got[SERVERS] = {0};

	(void)state;
	for (size_t i = 0; i < backend_roster(b)->ring_count; i++) {
		got[backend_roster(b)->by_key[backend_roster(b)->ring[i].entry].server->id - 1]++;
		assert_true(i == 0 || backend_roster(b)->ring[i - 1].hash <= backend_roster(b)->ring[i].hash);
	}
	for (size_t i = 0; i < SERVERS; i++)
		assert_int_equal(got[i], mixed[i] * 16);
	backend_by_hand_free(b);
}

/* ---- a large ring ---- */

#define MANY 2000

/* `count` servers of weight 256, but the first, of weight 1. */
static struct backend *heavy_ring(struct config_of_servers *c, struct config_server *servers, size_t count)
{
	config_of_servers_init(c, ones, 1);
	for (size_t i = 0; i < count; i++) {
		servers[i] = c->servers[0];
		(void)snprintf(servers[i].name, sizeof(servers[i].name), "server-%zu", i);
		servers[i].weight = i == 0 ? 1 : 256;
	}
	c->backend.servers = servers;
	c->backend.server_count = count;
	c->backend.balance.algorithm = CONFIG_BALANCE_SOURCE;
	c->backend.balance.hash = CONFIG_HASH_CONSISTENT;
	return backend_by_hand(&c->config);
}

static void count_points(const struct roster *r, unsigned *got)
{
	memset(got, 0, MANY * sizeof(*got));
	for (size_t i = 0; i < r->ring_count; i++) {
		got[r->by_key[r->ring[i].entry].server->id - 1]++;
		assert_true(i == 0 || r->ring[i - 1].hash < r->ring[i].hash);
	}
}

static void large_ring_is_thinned_out_by_halves(void **state)
{
	static const struct {
		size_t servers;
		unsigned heavy;
		unsigned light;
	} table[] = {
		{2, 4096, 16}, {64, 4096, 16}, {65, 2048, 8}, {200, 1024, 4}, {MANY, 128, 1},
	};
	struct config_server *servers = calloc(MANY, sizeof(*servers));
	unsigned got[MANY];

	(void)state;
	assert_non_null(servers);
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct config_of_servers c;
		struct backend *b = heavy_ring(&c, servers, table[i].servers);

		assert_true(backend_roster(b)->ring_count <= ROSTER_RING_MAX);
		count_points(backend_roster(b), got);
		assert_int_equal(got[0], table[i].light);
		for (size_t k = 1; k < table[i].servers; k++)
			assert_int_equal(got[k], table[i].heavy);
		backend_by_hand_free(b);
	}
	free(servers);
}

/* Were the points spread over those that are up, half of the servers would move when the other half goes. */
static void large_ring_keeps_its_points_when_servers_go(void **state)
{
	struct config_server *servers = calloc(MANY, sizeof(*servers));
	struct config_of_servers c;
	struct backend *b;
	unsigned got[MANY];
	uint64_t sum;

	(void)state;
	assert_non_null(servers);
	b = heavy_ring(&c, servers, 130);
	sum = backend_roster(b)->checksum;
	count_points(backend_roster(b), got);
	assert_int_equal(got[1], 1024);
	for (size_t i = 10; i < 130; i++)
		assert_int_equal(server_set_health(b->servers[i], false, "", 1), 0);
	count_points(backend_roster(b), got);
	assert_int_equal(got[1], 1024);
	for (size_t i = 10; i < 130; i++)
		assert_int_equal(server_set_health(b->servers[i], true, "", 1), 0);
	assert_true(backend_roster(b)->checksum == sum);
	/* The administrator's weights count: these fit without any halving. */
	for (size_t i = 10; i < 130; i++)
		assert_int_equal(server_set_weight(b->servers[i], 1, "by test", 1), 0);
	count_points(backend_roster(b), got);
	assert_int_equal(got[1], 4096);
	assert_int_equal(got[10], 16);
	backend_by_hand_free(b);
	free(servers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clients_may_come_back_to_what_is_up_or_drains),
		cmocka_unit_test(nobody_comes_back_to_a_member_that_leaves_its_set),
		cmocka_unit_test(without_persist_there_is_nobody_to_come_back_to),
		cmocka_unit_test(a_server_that_moves_is_found_at_its_new_address),
		cmocka_unit_test(of_several_at_one_address_the_first_that_is_usable_counts),
		cmocka_unit_test(members_follow_the_table),
		cmocka_unit_test(by_key_is_sorted_and_complete),
		cmocka_unit_test(order_in_the_file_does_not_matter),
		cmocka_unit_test(two_processes_agree),
		cmocka_unit_test(checksums_are_what_they_were),
		cmocka_unit_test(another_server_or_weight_is_another_checksum),
		cmocka_unit_test(server_that_goes_and_comes_back_restores_the_checksum),
		cmocka_unit_test(key_follows_the_address_when_asked_to),
		cmocka_unit_test(servers_with_one_key_share),
		cmocka_unit_test(maglev_is_filled_as_in_the_paper),
		cmocka_unit_test(maglev_slots_go_by_weight),
		cmocka_unit_test(ring_has_sixteen_points_for_each_unit_of_weight),
		cmocka_unit_test(large_ring_is_thinned_out_by_halves),
		cmocka_unit_test(large_ring_keeps_its_points_when_servers_go),
	};

	log_set_level(LOG_LEVEL_ERROR); /* what remains are the alerts */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
