/* SPDX-License-Identifier: MIT
 *
 * test_name_watch.c - watches of names, against a name server on the same loop, which is this file's.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ev.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/names/name_watch.h"
#include "weir/names/resolver.h"
#include "../balance/updates_by_hand.h"

#define WAIT_S 10.
#define SRV    33
/* Less than the time after which a question is asked again. */
#define TRY_S 0.9

/* ---- a name server ---- */

/* What a name has. `text`: an address; or of SRV "PRIORITY WEIGHT PORT TARGET". */
struct entry {
	const char *name;
	const char *text;
	uint32_t ttl_s;
	bool extra; /* comes along with each SRV answer */
};

static struct entry zone[16];
static size_t zone_count;
static int zone_code; /* not 0: the answer to everything */
static bool silent;
static unsigned questions[2]; /* SRV, others */
static double began;

struct packet {
	uint8_t bytes[4096];
	size_t len;
};

static void put(struct packet *p, const void *bytes, size_t len)
{
	assert_true(len <= sizeof(p->bytes) - p->len);
	memcpy(p->bytes + p->len, bytes, len);
	p->len += len;
}

static void put_16(struct packet *p, unsigned n)
{
	const uint8_t bytes[] = {(uint8_t)(n >> 8), (uint8_t)n};

	put(p, bytes, sizeof(bytes));
}

static void put_name(struct packet *p, const char *name)
{
	while (*name != '\0') {
		const uint8_t len = (uint8_t)strcspn(name, ".");

		put(p, &len, 1);
		put(p, name, len);
		name += len + (name[len] == '.');
	}
	put(p, "", 1);
}

static unsigned type_of(const struct entry *e)
{
	return strchr(e->text, ' ') != NULL ? SRV : strchr(e->text, ':') != NULL ? 28 : 1;
}

static void put_data(struct packet *p, const struct entry *e)
{
	struct packet data = {.len = 0};
	unsigned priority, weight, port;
	uint8_t ip[16];
	char target[64];

	if (type_of(e) == SRV) {
		assert_int_equal(sscanf(e->text, "%u %u %u %63s", &priority, &weight, &port, target), 4);
		put_16(&data, priority);
		put_16(&data, weight);
		put_16(&data, port);
		put_name(&data, target);
	} else {
		assert_int_equal(inet_pton(type_of(e) == 1 ? AF_INET : AF_INET6, e->text, ip), 1);
		put(&data, ip, type_of(e) == 1 ? 4 : 16);
	}
	put_16(p, (unsigned)data.len);
	put(p, data.bytes, data.len);
}

static unsigned put_records(struct packet *p, const char *name, unsigned type, bool extras)
{
	unsigned count = 0;

	for (size_t i = 0; i < zone_count; i++) {
		const struct entry *e = &zone[i];

		if (extras ? !e->extra : strcmp(e->name, name) != 0 || type_of(e) != type)
			continue;
		put_name(p, e->name);
		put_16(p, type_of(e));
		put_16(p, 1);
		put_16(p, 0);
		put_16(p, e->ttl_s);
		put_data(p, e);
		count++;
	}
	return count;
}

static bool knows(const char *name)
{
	for (size_t i = 0; i < zone_count; i++)
		if (strcmp(zone[i].name, name) == 0)
			return true;
	return false;
}

static void answer(const uint8_t *question, size_t len, struct packet *p)
{
	char name[256] = "";
	size_t at = 12;
	unsigned type, count, extras = 0, code;

	for (; question[at] != 0; at += 1u + question[at])
		(void)snprintf(name + strlen(name), sizeof(name) - strlen(name), "%s%.*s", at > 12 ? "." : "",
			       question[at], (const char *)question + at + 1);
	assert_true(at + 5 <= len);
	type = question[at + 2];
	questions[type != SRV]++;
	code = zone_code != 0 ? (unsigned)zone_code : knows(name) ? 0 : 3;
	put(p, question, 2);
	put_16(p, 0x8180 | code);
	put(p, "\0\1\0\0\0\0\0\0", 8);
	put(p, question + 12, at + 5 - 12);
	count = code == 0 ? put_records(p, name, type, false) : 0;
	if (count > 0 && type == SRV)
		extras = put_records(p, name, type, true);
	p->bytes[7] = (uint8_t)count;
	p->bytes[11] = (uint8_t)extras;
}

static void on_question(struct ev_loop *loop, struct ev_io *io, int revents)
{
	struct packet p = {.len = 0};
	struct sockaddr_storage from;
	socklen_t from_len = sizeof(from);
	uint8_t question[2048];
	const ssize_t len = recvfrom(io->fd, question, sizeof(question), MSG_DONTWAIT,
				     (struct sockaddr *)&from, &from_len);

	(void)loop;
	(void)revents;
	if (len < 12)
		return;
	questions[1] += silent;
	if (silent)
		return;
	answer(question, (size_t)len, &p);
	assert_int_equal(sendto(io->fd, p.bytes, p.len, 0, (struct sockaddr *)&from, from_len), p.len);
}

/* ---- what is tested ---- */

static struct ev_loop *loop;
static struct ev_io server;
static struct updates_by_hand hand;
static struct resolver *resolver;
static struct config_global global;
static struct name_watch *watch;
static unsigned answers;
static bool free_it; /* in the next answer */
static enum name_outcome outcome;
static struct name_address list[16];
static size_t count;

static void on_answer(void *arg, enum name_outcome o, const struct name_address *l, size_t n)
{
	assert_ptr_equal(arg, &global);
	assert_true(n <= ARRAY_LEN(list));
	assert_true(o != NAME_GOOD || n > 0);
	answers++;
	outcome = o;
	count = n;
	if (n > 0)
		memcpy(list, l, n * sizeof(*l));
	if (!free_it)
		return;
	name_watch_free(watch);
	watch = NULL;
}

static int setup(void **state)
{
	struct addr *a = &global.resolvers.list[0];
	socklen_t len = sizeof(a->in);
	int err;

	(void)state;
	zone_count = 0;
	zone_code = 0;
	silent = free_it = false;
	questions[0] = questions[1] = answers = 0;
	loop = ev_loop_new(EVFLAG_AUTO);
	updates_by_hand_init(&hand, NULL, 0);
	a->in = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	a->len = len;
	ev_io_init(&server, on_question, socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), EV_READ);
	assert_int_equal(bind(server.fd, &a->sa, len), 0);
	assert_int_equal(getsockname(server.fd, &a->sa, &len), 0);
	ev_io_start(loop, &server);
	global.resolver = CONFIG_RESOLVER_DNS;
	global.resolvers.count = 1;
	resolver = resolver_new(loop, &hand.updates, &(struct resolver_settings){.global = &global}, &err);
	return resolver != NULL ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	name_watch_free(watch);
	watch = NULL;
	resolver_free(resolver);
	server_updates_free(&hand.updates);
	ev_io_stop(loop, &server);
	(void)close(server.fd);
	ev_loop_destroy(loop);
	return 0;
}

static void has(const char *name, const char *text, uint32_t ttl_s)
{
	zone[zone_count++] = (struct entry){name, text, ttl_s, false};
}

static void begin(enum name_kind kind, const char *host)
{
	const struct name_wish wish = {
		.kind = kind,
		.host = host,
		.port = 80,
		.terms = {.hold_ns = {0, 3600 * NS_PER_SEC, NS_PER_MS, NS_PER_MS, NS_PER_MS}},
		.answered = on_answer,
		.arg = &global,
	};
	int err;

	watch = name_watch_new(resolver, &wish, &err);
	assert_non_null(watch);
	(void)ev_run(loop, EVRUN_NOWAIT);
	assert_int_equal(questions[0] + questions[1], 0); /* not started */
	began = ev_time();
	name_watch_start(watch);
	assert_int_equal(answers, 0);
}

/* Runs until there have been so many answers. */
static void run_until(unsigned n)
{
	const double until = ev_time() + WAIT_S;

	while (answers < n && ev_time() < until)
		(void)ev_run(loop, EVRUN_ONCE);
	assert_true(answers >= n);
}

/* So many questions, unless this machine was so late that some were asked twice. */
static void assert_asked(unsigned which, unsigned n)
{
	if (ev_time() - began < TRY_S)
		assert_int_equal(questions[which], n);
	assert_true(questions[which] >= n);
}

static void assert_at(size_t i, const char *text, unsigned priority, unsigned weight)
{
	char buf[ADDR_TEXT_MAX];

	assert_true(i < count);
	assert_string_equal(addr_format(&list[i].addr, buf), text);
	assert_int_equal(list[i].priority, priority);
	assert_int_equal(list[i].weight, weight);
}

static void host_has_all_its_addresses_sorted(void **state)
{
	(void)state;
	has("a.test", "10.0.0.9", 60);
	has("a.test", "10.0.0.1", 60);
	has("a.test", "fd00::1", 60);
	begin(NAME_HOST, "a.test");
	run_until(1);
	assert_int_equal(outcome, NAME_GOOD);
	assert_int_equal(count, 3);
	assert_at(0, "10.0.0.1:80", 0, 1);
	assert_at(1, "10.0.0.9:80", 0, 1);
	assert_at(2, "[fd00::1]:80", 0, 1);
}

static void targets_of_srv_have_port_priority_and_weight(void **state)
{
	(void)state;
	has("_x._tcp.test", "1 10 8080 a.test", 60);
	has("_x._tcp.test", "2 0 8081 b.test", 60);
	has("_x._tcp.test", "3 5 8082 gone.test", 60);
	has("a.test", "10.0.0.1", 60);
	has("a.test", "fd00::1", 60);
	has("b.test", "10.0.0.1", 60);
	begin(NAME_SRV, "_x._tcp.test");
	run_until(1);
	assert_int_equal(outcome, NAME_GOOD);
	assert_int_equal(count, 3);
	assert_at(0, "10.0.0.1:8080", 1, 10);
	assert_at(1, "10.0.0.1:8081", 2, 0);
	assert_at(2, "[fd00::1]:8080", 1, 10);
	assert_asked(0, 1);
	assert_asked(1, 6);
}

static void addresses_that_come_along_are_not_asked_for(void **state)
{
	(void)state;
	has("_x.test", "1 1 80 a.test", 60);
	has("_x.test", "1 1 80 b.test", 60);
	zone[zone_count++] = (struct entry){"a.test", "10.0.0.1", 60, true};
	zone[zone_count++] = (struct entry){"other.test", "10.0.0.66", 60, true};
	has("b.test", "10.0.0.2", 60);
	begin(NAME_SRV, "_x.test");
	run_until(1);
	assert_int_equal(count, 2);
	assert_at(0, "10.0.0.1:80", 1, 1);
	assert_at(1, "10.0.0.2:80", 1, 1);
	assert_asked(1, 2); /* A and AAAA of b.test */
}

static void bad_answer_is_told_and_then_the_end_of_its_hold(void **state)
{
	(void)state;
	has("a.test", "10.0.0.1", 0);
	begin(NAME_HOST, "a.test");
	run_until(1);
	assert_int_equal(name_watch_bad_since_ns(watch), 0);
	zone_count = 0; /* it does not exist; the hold is an hour */
	run_until(2);
	assert_int_equal(outcome, NAME_NX);
	assert_int_equal(count, 1);
	assert_true(name_watch_bad_since_ns(watch) > 0);
	assert_string_equal(name_watch_why(watch), "the name does not exist (NXDOMAIN)");
	zone_code = 5; /* refused; the hold is a millisecond, and has ended */
	run_until(3);
	assert_int_equal(outcome, NAME_REFUSED);
	assert_int_equal(count, 0);
	zone_code = 0;
	has("a.test", "10.0.0.1", 0);
	run_until(4);
	assert_int_equal(outcome, NAME_GOOD);
	assert_int_equal(count, 1);
}

static void other_terms_count_at_once(void **state)
{
	const struct name_terms none = {0};

	(void)state;
	has("a.test", "10.0.0.1", 0);
	begin(NAME_HOST, "a.test");
	run_until(1);
	zone_count = 0;
	run_until(2);
	assert_int_equal(count, 1);
	name_watch_set_terms(watch, &none);
	run_until(3);
	assert_int_equal(outcome, NAME_NX);
	assert_int_equal(count, 0);
}

static void watch_may_end_in_its_answer_or_with_questions_under_way(void **state)
{
	(void)state;
	has("a.test", "10.0.0.1", 0);
	free_it = true;
	begin(NAME_HOST, "a.test");
	run_until(1);
	assert_null(watch);
	free_it = false;
	silent = true;
	answers = questions[1] = 0;
	begin(NAME_HOST, "a.test");
	for (int i = 0; i < 100 && questions[1] == 0; i++)
		(void)ev_run(loop, EVRUN_ONCE);
	assert_true(questions[1] > 0);
	name_watch_free(watch);
	watch = NULL;
	assert_int_equal(answers, 0);
}

static void srv_needs_dns(void **state)
{
	const struct name_wish wish = {.kind = NAME_SRV, .host = "_x.test", .answered = on_answer};
	int err = 0;

	(void)state;
	global.resolver = CONFIG_RESOLVER_SYSTEM;
	resolver_configure(resolver, &global);
	assert_null(name_watch_new(resolver, &wish, &err));
	assert_int_equal(err, -ENOSYS);
}

#define WATCH_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WATCH_TEST(host_has_all_its_addresses_sorted),
		WATCH_TEST(targets_of_srv_have_port_priority_and_weight),
		WATCH_TEST(addresses_that_come_along_are_not_asked_for),
		WATCH_TEST(bad_answer_is_told_and_then_the_end_of_its_hold),
		WATCH_TEST(other_terms_count_at_once),
		WATCH_TEST(watch_may_end_in_its_answer_or_with_questions_under_way),
		WATCH_TEST(srv_needs_dns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
