/* SPDX-License-Identifier: MIT
 *
 * test_copy.c - copies of parts of a snapshot, and comparison: every byte of every member.
 *
 * The test walks over members.tbl.h. A member without a row there does not compile here (see IN_FULL).
 * Linked with --wrap for calloc() and free(): an allocation can fail, and freed memory is overwritten.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/config/arena.h"
#include "weir/config/copy.h"
#include "weir/config/same.h"
#include "weir/net/list_file.h"
#include "weir/net/tls_trust.h"

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void __real_free(void *bytes);
void __wrap_free(void *bytes);

static long calls;   /* since the last start */
static long fail_at; /* the call that fails; 0 = none */
static long blocks;  /* allocated and not freed */

void *__wrap_calloc(size_t count, size_t size)
{
	void *bytes;

	if (++calls == fail_at)
		return NULL;
	bytes = __real_calloc(count, size);
	assert_non_null(bytes);
	blocks++;
	return bytes;
}

void __wrap_free(void *bytes)
{
	if (bytes != NULL) {
		memset(bytes, 0xdd, malloc_usable_size(bytes));
		blocks--;
	}
	__real_free(bytes);
}

/* IN_FULL: an initializer for each structure, in the order of its members. The compiler refuses one that is
 * too short: give the new member of config.h a row in members.tbl.h. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"
#define STRUCT(type) static const struct type type##_in_full __attribute__((unused)) = {
#define END };
#define VALUE(member)		 0,
#define NAME(member)		 {0},
#define BYTES(member)		 {0},
#define TEXT(member)		 NULL,
#define INNER(type, member)	 {0},
#define SOCKADDR(member, len)	 {{0}},
#define NUMBERS(list, count)	 NULL, 0,
#define ITEMS(type, list, count) NULL, 0,
#define NETSET(set, networks)	 NULL,
#define HOSTSET(set, names)	 NULL,
#define TRUST(member)		 NULL,
#define LISTED(member)		 NULL,
#define INDEX(member)		 0,
#define PLACE(member)		 {0},
#define ORIGINS(member)		 {0},
#define OTHERS(list, count)	 NULL, 0,
#include "config/members.tbl.h"
#pragma GCC diagnostic pop

#define EACH 2 /* items in every list */

struct set_owner {
	struct netset *set; /* owns */
};

static void release_set(void *bytes)
{
	struct set_owner *o = bytes;

	netset_free(o->set);
}

struct hosts_owner {
	struct host_set *set; /* owns */
};

static void release_hosts(void *bytes)
{
	struct hosts_owner *o = bytes;

	host_set_free(o->set);
}

static struct host_set *make_hosts(struct arena *a)
{
	const struct host_pattern in_hosts = {HOST_EXACT, 1, "h"};
	struct hosts_owner *o = arena_alloc_owner(a, sizeof(*o), release_hosts);

	o->set = host_set_new(&in_hosts, 1);
	assert_non_null(o->set);
	return o->set;
}

/* NULL in a build without OpenSSL. */
static struct tls_trust *make_trust(struct arena *a)
{
	static const char text[] =
		"-----BEGIN CERTIFICATE-----\n"
		"MIIBcDCCARWgAwIBAgIUERWem1u71PijG+jDO2gLFtphMrkwCgYIKoZIzj0EAwIw\n"
		"DDEKMAgGA1UEAwwBdDAgFw0yNjExMjgxODM5MDlaGA8yMTI2MTEwNDE4MzkwOVow\n"
		"DDEKMAgGA1UEAwwBdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABKvpQWpm+Wrf\n"
		"+KcMQsxOk9r4vCddDa581QsMe82DbM9x3Nl1eDu+0b8UXhwXVyA/q0W5oI2yuInj\n"
		"lsVIfvthJQWjUzBRMB0GA1UdDgQWBBRB+eVwcXFdnzUXhiKDfVBPIZL9OTAfBgNV\n"
		"HSMEGDAWgBRB+eVwcXFdnzUXhiKDfVBPIZL9OTAPBgNVHRMBAf8EBTADAQH/MAoG\n"
		"CCqGSM49BAMCA0kAMEYCIQDese/e0jom1GLJsgfjs4Pw3R+CfAfAI52nIQOFwAUm\n"
		"JgIhAINU+tS38cMg4p8uIv41DlYHzjNrm0ggGwybAbEotNoM\n"
		"-----END CERTIFICATE-----\n";
	struct tls_trust **room = config_trust_room(a);
	char why[TLS_TRUST_WHY_MAX];

	*room = tls_trust_make(text, strlen(text), true, why);
	assert_int_equal(*room != NULL, tls_is_built());
	return *room;
}

static const struct net_prefix in_set = {AF_INET, 8, {10}};
static const struct addr_brief inside = {AF_INET, 80, 0, {10, 1, 2, 3}};
static const struct addr_brief in_a_file = {AF_INET, 80, 0, {12, 1, 2, 3}};
static const struct addr_brief outside = {AF_INET, 80, 0, {11, 1, 2, 3}};

/* A list of both kinds, so that it serves for either. */
static struct list_file *make_list(struct arena *a)
{
	const struct host_pattern in_names = {HOST_EXACT, 4, "file"};
	const struct net_prefix in_file = {AF_INET, 8, {12}};
	const struct list_key key = list_key_of(LIST_NETWORKS, "both", 4);
	struct list_file **room = config_list_room(a);
	struct list_sets sets;

	*room = list_file_find(&key);
	if (*room != NULL)
		return *room;
	sets.networks = netset_new(&in_file, 1);
	sets.names = host_set_new(&in_names, 1);
	assert_non_null(sets.networks);
	assert_non_null(sets.names);
	*room = list_file_make(&key, sets, 1);
	assert_non_null(*room);
	return *room;
}

static struct netset *make_set(struct arena *a)
{
	struct set_owner *o = arena_alloc_owner(a, sizeof(*o), release_set);

	o->set = netset_new(&in_set, 1);
	assert_non_null(o->set);
	return o->set;
}

/* fill_TYPE(): every member has a value that is not its default; the bytes of numbers are all 1. */
#define STRUCT(type)                                                                                         \
	static void fill_##type(struct arena *a, struct type *x)                                             \
	{                                                                                                    \
		(void)a;
#define END		       }
#define VALUE(member)	       memset(&x->member, 1, sizeof(x->member));
#define NAME(member)	       memset(x->member, 'n', sizeof(x->member) - 1);
#define BYTES(member)	       VALUE(member)
#define TEXT(member)	       x->member = arena_printf(a, "the text of %s", #member);
#define INNER(type, member)    fill_##type(a, &x->member);
#define SOCKADDR(member, size) VALUE(member) x->size = sizeof(x->member);
#define LIST(list, count)                                                                                    \
	x->list = arena_alloc(a, EACH * sizeof(*x->list));                                                   \
	x->count = EACH;
#define NUMBERS(list, count)                                                                                 \
	LIST(list, count)                                                                                    \
	memset(x->list, 1, EACH * sizeof(*x->list));
#define ITEMS(type, list, count)                                                                             \
	LIST(list, count)                                                                                    \
	for (size_t i = 0; i < EACH; i++)                                                                    \
		fill_##type(a, &x->list[i]);
#define NETSET(set, networks) x->set = make_set(a);
#define HOSTSET(set, names)   x->set = make_hosts(a);
#define TRUST(member)	      x->member = make_trust(a);
#define LISTED(member)	      x->member = make_list(a);
#define INDEX(member)	      VALUE(member)
#define PLACE(member)	      x->member = (struct config_place){arena_printf(a, "t.ini"), 7};
#define ORIGINS(member)	      LIST(member.list, member.count)
#define OTHERS(list, count)   LIST(list, count)
#include "config/members.tbl.h"
#undef LIST

/* The networks in a filled structure must be those of its sets. */
static void name_networks(struct config_networks *n)
{
	n->list[0] = n->list[1] = in_set;
}

/* And these must be patterns. */
static void name_hosts(struct arena *a, struct config_names *n)
{
	n->list[0].text = arena_printf(a, "*.example.org");
	n->list[1].text = arena_printf(a, "www.example.com");
}

/* Two structures that are compared after every change to one of them. */
struct pair {
	const void *changed;
	const void *other;
	bool (*same)(const void *a, const void *b);
	size_t changes;
};

static void expect(struct pair *p, bool same, const char *member)
{
	p->changes++;
	if (p->same(p->changed, p->other) != same || p->same(p->other, p->changed) != same)
		fail_msg("%s does %scount", member, same ? "" : "not ");
}

/* Changes each byte in turn, and back; a bool stays one. */
static void each_byte(struct pair *p, void *bytes, size_t size, const char *member)
{
	unsigned char *byte = bytes;

	for (size_t i = 0; i < size; i++) {
		byte[i] ^= 1;
		expect(p, false, member);
		byte[i] ^= 1;
	}
}

/* change_TYPE(): each change to a member that counts is seen, no other one is. */
#define WITH(lvalue, value, same, member)                                                                    \
	do {                                                                                                 \
		__typeof__(lvalue) before_ = (lvalue);                                                       \
                                                                                                             \
		(lvalue) = (value);                                                                          \
		expect(p, same, member);                                                                     \
		(lvalue) = before_;                                                                          \
	} while (0)
#define STRUCT(type)                                                                                         \
	static void change_##type(struct pair *p, struct type *x)                                            \
	{                                                                                                    \
		const char *const of = #type;                                                                \
                                                                                                             \
		expect(p, true, of);
#define END	      }
#define VALUE(member) each_byte(p, &x->member, sizeof(x->member), #member);
#define NAME(member)  each_byte(p, x->member, sizeof(x->member) - 1, #member);
#define BYTES(member) VALUE(member)
#define TEXT(member)                                                                                         \
	each_byte(p, x->member, strlen(x->member), #member);                                                 \
	WITH(x->member, NULL, false, #member);
#define INNER(type, member)   change_##type(p, &x->member);
#define SOCKADDR(member, len) VALUE(member)
#define COUNT(count)	      WITH(x->count, EACH - 1, false, #count);
#define NUMBERS(list, count)  COUNT(count) each_byte(p, x->list, EACH * sizeof(*x->list), #list);
#define ITEMS(type, list, count)                                                                             \
	COUNT(count)                                                                                         \
	for (size_t i = 0; i < EACH; i++)                                                                    \
		change_##type(p, &x->list[i]);
#define NETSET(set, networks) WITH(x->set, NULL, false, #set);
#define HOSTSET(set, names)   NETSET(set, names)
#define LISTED(member) WITH(x->member, NULL, false, #member);
#define TRUST(member)                                                                                        \
	if (tls_is_built())                                                                                  \
		WITH(x->member, NULL, false, #member);
#define INDEX(member)	      WITH(x->member, 1, true, #member);
#define PLACE(member)	      WITH(x->member, (struct config_place){0}, true, #member);
#define ORIGINS(member)	      WITH(x->member, (struct config_origins){0}, true, #member);
#define OTHERS(list, count)   WITH(x->count, 0, true, #count);
#include "config/members.tbl.h"

#define SAME(name)                                                                                           \
	static bool same_##name(const void *a, const void *b)                                                \
	{                                                                                                    \
		return config_##name##_same(a, b);                                                           \
	}
SAME(frontend)
SAME(backend)
SAME(server)
SAME(bind)
SAME(log)

/* One of each, with every member filled. */
struct full {
	struct arena arena;
	struct config_frontend frontend;
	struct config_backend backend;
	struct config_server server;
	struct config_bind bind;
	struct config_log log;
};

static struct full *make_full(void)
{
	struct full *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	fill_config_frontend(&f->arena, &f->frontend);
	name_networks(&f->frontend.allow_list);
	name_networks(&f->frontend.deny_list);
	name_networks(&f->frontend.trusted_list);
	name_networks(&f->frontend.exempt_list);
	for (size_t i = 0; i < EACH; i++) {
		name_networks(&f->frontend.routes[i].src_list);
		name_hosts(&f->arena, &f->frontend.routes[i].sni);
	}
	fill_config_backend(&f->arena, &f->backend);
	name_networks(&f->backend.allow_to_list);
	name_hosts(&f->arena, &f->backend.allow_sni);
	fill_config_server(&f->arena, &f->server);
	fill_config_bind(&f->arena, &f->bind);
	fill_config_log(&f->arena, &f->log);
	return f;
}

static void free_full(struct full *f)
{
	arena_free(&f->arena);
	free(f);
}

static void every_change_to_what_counts_is_seen(void **state)
{
	struct full *f = make_full(), *other = make_full();
	struct pair p;

	(void)state;
	p = (struct pair){&f->frontend, &other->frontend, same_frontend, 0};
	change_config_frontend(&p, &f->frontend);
	assert_true(p.changes > 300);
	p = (struct pair){&f->backend, &other->backend, same_backend, 0};
	change_config_backend(&p, &f->backend);
	assert_true(p.changes > 300);
	p = (struct pair){&f->server, &other->server, same_server, 0};
	change_config_server(&p, &f->server);
	assert_true(p.changes > 300);
	p = (struct pair){&f->bind, &other->bind, same_bind, 0};
	change_config_bind(&p, &f->bind);
	assert_true(p.changes > 300);
	p = (struct pair){&f->log, &other->log, same_log, 0};
	change_config_log(&p, &f->log);
	assert_true(p.changes > 300);
	free_full(other);
	free_full(f);
}

/* The originals are gone, and overwritten, when the copies are read. */
static void copy_outlives_original(void **state)
{
	struct full *f = make_full(), *other = make_full();
	struct config_frontend *frontend = config_frontend_copy(&f->frontend);
	struct config_backend *backend = config_backend_copy(&f->backend);
	struct config_server *server = config_server_copy(&f->server);
	struct config_bind *bind = config_bind_copy(&f->bind);
	struct config_log *log = config_log_copy(&f->log);
	struct pair p;

	(void)state;
	free_full(f);
	/* Each change to a copy is seen too: it shares no memory with anything that was left as it was. */
	p = (struct pair){frontend, &other->frontend, same_frontend, 0};
	change_config_frontend(&p, frontend);
	p = (struct pair){backend, &other->backend, same_backend, 0};
	change_config_backend(&p, backend);
	p = (struct pair){server, &other->server, same_server, 0};
	change_config_server(&p, server);
	p = (struct pair){bind, &other->bind, same_bind, 0};
	change_config_bind(&p, bind);
	p = (struct pair){log, &other->log, same_log, 0};
	change_config_log(&p, log);
	config_frontend_copy_free(frontend);
	config_backend_copy_free(backend);
	config_server_copy_free(server);
	config_bind_copy_free(bind);
	config_log_copy_free(log);
	free_full(other);
}

static void assert_looks_up(const struct netset *set)
{
	assert_true(netset_has(set, &inside));
	assert_true(netset_has(set, &in_a_file));
	assert_false(netset_has(set, &outside));
}

static void assert_place(const struct config_place *place)
{
	assert_string_equal(place->file, "t.ini");
	assert_int_equal(place->line, 7);
}

static void copy_of_frontend_has_sets_and_routes_but_no_binds(void **state)
{
	struct full *f = make_full();
	struct config_frontend *copy = config_frontend_copy(&f->frontend);
	const size_t index = f->frontend.backend;

	(void)state;
	free_full(f);
	assert_looks_up(copy->allow);
	assert_looks_up(copy->deny);
	assert_looks_up(copy->trusted);
	assert_looks_up(copy->exempt);
	assert_int_equal(copy->route_count, EACH);
	for (size_t i = 0; i < EACH; i++) {
		assert_looks_up(copy->routes[i].src);
		assert_true(host_set_has(copy->routes[i].hosts, "a.example.org", 13));
		assert_true(host_set_has(copy->routes[i].hosts, "file", 4));
		assert_false(host_set_has(copy->routes[i].hosts, "h", 1));
		assert_int_equal(copy->routes[i].backend, index);
		assert_place(&copy->routes[i].place);
	}
	assert_int_equal(copy->backend, index);
	assert_null(copy->binds);
	assert_int_equal(copy->bind_count, 0);
	assert_null(copy->origins.list);
	assert_int_equal(copy->origins.count, 0);
	assert_place(&copy->place);
	config_frontend_copy_free(copy);
}

static void copy_of_backend_has_no_servers(void **state)
{
	struct full *f = make_full();
	struct config_backend *copy = config_backend_copy(&f->backend);

	(void)state;
	free_full(f);
	assert_looks_up(copy->allow_to);
	assert_true(host_set_has(copy->sni_hosts, "a.example.org", 13));
	assert_null(copy->servers);
	assert_int_equal(copy->server_count, 0);
	assert_null(copy->origins.list);
	assert_int_equal(copy->origins.count, 0);
	assert_place(&copy->place);
	config_backend_copy_free(copy);
}

/* What is not there in the original is not there in the copy. */
static void copy_of_nothing_is_nothing(void **state)
{
	const struct config_frontend frontend = {0};
	const struct config_backend backend = {0};
	const struct config_log log = {.place.file = (const char *)1}; /* built in: nobody wrote it */
	struct config_frontend *f = config_frontend_copy(&frontend);
	struct config_backend *b = config_backend_copy(&backend);
	struct config_log *l = config_log_copy(&log);

	(void)state;
	assert_true(config_frontend_same(f, &frontend));
	assert_null(f->allow);
	assert_null(f->allow_list.list);
	assert_null(f->routes);
	assert_true(config_backend_same(b, &backend));
	assert_null(b->check.path);
	assert_null(b->tcp.congestion);
	assert_true(config_log_same(l, &log));
	assert_null(l->place.file);
	config_frontend_copy_free(f);
	config_backend_copy_free(b);
	config_log_copy_free(l);
	config_frontend_copy_free(NULL);
	config_backend_copy_free(NULL);
	config_server_copy_free(NULL);
	config_bind_copy_free(NULL);
	config_log_copy_free(NULL);
}

/* A name may be followed by bytes of a longer one, an address by bytes that it does not use. */
static void bytes_after_the_end_do_not_count(void **state)
{
	struct config_server a = {.name = "web\0old", .addr.addr.len = sizeof(struct sockaddr_in)};
	struct config_server b = {.name = "web", .addr.addr.len = sizeof(struct sockaddr_in)};

	(void)state;
	a.addr.addr.un.sun_path[sizeof(struct sockaddr_in)] = 'x';
	assert_true(config_server_same(&a, &b));
	b.name[3] = 's';
	assert_false(config_server_same(&a, &b));
}

static void order_of_a_list_counts(void **state)
{
	struct config_ports up[] = {{1, 2}, {3, 4}}, down[] = {{3, 4}, {1, 2}};
	struct config_route a = {.ports = up, .port_count = 2}, b = {.ports = down, .port_count = 2};
	const struct config_frontend f = {.routes = &a, .route_count = 1};
	const struct config_frontend g = {.routes = &b, .route_count = 1};

	(void)state;
	assert_false(config_frontend_same(&f, &g));
	b.ports = up;
	assert_true(config_frontend_same(&f, &g));
}

/* Fails each allocation of `copy_` in turn, until it needs no more of them. */
#define FAIL_EACH(name, original)                                                                            \
	do {                                                                                                 \
		const long before_ = blocks;                                                                 \
		struct config_##name *copy_;                                                                 \
                                                                                                             \
		fail_at = 0;                                                                                 \
		do {                                                                                         \
			fail_at++;                                                                           \
			calls = 0;                                                                           \
			copy_ = config_##name##_copy(original);                                              \
			assert_int_equal(copy_ == NULL, calls >= fail_at);                                   \
			assert_int_equal(blocks == before_, copy_ == NULL);                                  \
		} while (copy_ == NULL);                                                                     \
		assert_int_equal(fail_at - 1, blocks - before_ + temporary);                                 \
		fail_at = 0;                                                                                 \
		config_##name##_copy_free(copy_);                                                            \
		assert_int_equal(blocks, before_);                                                           \
	} while (0)

static void nothing_is_left_behind_at_every_allocation(void **state)
{
	struct full *f = make_full();
	/* netset_new() frees one of its own for each set, and config_names_set() does. */
	long temporary = 4 + EACH + EACH;

	(void)state;
	FAIL_EACH(frontend, &f->frontend);
	temporary = 1 + 1;
	FAIL_EACH(backend, &f->backend);
	temporary = 0;
	FAIL_EACH(server, &f->server);
	FAIL_EACH(bind, &f->bind);
	FAIL_EACH(log, &f->log);
	free_full(f);
}

static int no_block_is_left(void **state)
{
	(void)state;
	return blocks == 0 ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_teardown(every_change_to_what_counts_is_seen, no_block_is_left),
	    cmocka_unit_test_teardown(copy_outlives_original, no_block_is_left),
	    cmocka_unit_test_teardown(copy_of_frontend_has_sets_and_routes_but_no_binds, no_block_is_left),
	    cmocka_unit_test_teardown(copy_of_backend_has_no_servers, no_block_is_left),
	    cmocka_unit_test_teardown(copy_of_nothing_is_nothing, no_block_is_left),
	    cmocka_unit_test(bytes_after_the_end_do_not_count),
	    cmocka_unit_test(order_of_a_list_counts),
	    cmocka_unit_test_teardown(nothing_is_left_behind_at_every_allocation, no_block_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
