/* SPDX-License-Identifier: MIT
 *
 * test_doctor.c - facts in, verdict out: each check where it is fine and where it begins to bite.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "weir/host/doctor.h"

/* A machine on which all is well, for 10,000 connections that were asked for. */
static const struct doctor_facts good_facts = {
    .limits = {.page_bytes = 4096, .pipe_max_bytes = 1048576, .memory_bytes = UINT64_C(8) << 30},
    .fds_hard = 100000,
    .nr_open = 1048576,
    .file_max = 1000000,
    .pages_soft = 0,
    .pages_hard = 0,
    .somaxconn = 4096,
    .syn_backlog = 1024,
    .port_low = 32768,
    .port_high = 60999,
    .tw_reuse = 2,
    .io_uring_disabled = 0,
    .ring_tried = true,
    .locked_max = DOCTOR_NONE,
    .group_memory = DOCTOR_NONE,
    .group_cpu_milli = DOCTOR_NONE,
    .cpus = 4,
    .conntrack_max = DOCTOR_NONE,
    .unprivileged_port = 1024,
    .fastopen = 3,
    .congestion = "cubic",
    .congestion_available = "reno cubic",
    .qdisc = "fq_codel",
};

static const struct doctor_wish good_wish = {
    .maxconn = 10000,
    .maxconn_given = true,
    .pipes = 2500,
    .pipe_bytes = 262144,
    .fds = 20050,
    .backlog = 4096,
    .workers = 4,
    .ports = 10000,
    .splice = true,
};

static struct doctor_finding judged(const char *name, const struct doctor_facts *facts,
				    const struct doctor_wish *wish)
{
	struct doctor_finding f = {.verdict = DOCTOR_UNKNOWN};

	for (size_t i = 0; i < doctor_item_count; i++) {
		if (strcmp(doctor_items[i].name, name) != 0)
			continue;
		doctor_judge(&doctor_items[i], facts, wish, &f);
		return f;
	}
	fail_msg("no check '%s'", name);
	return f;
}

static void a_good_machine_has_nothing_to_fix(void **state)
{
	(void)state;
	for (size_t i = 0; i < doctor_item_count; i++) {
		struct doctor_finding f;

		doctor_judge(&doctor_items[i], &good_facts, &good_wish, &f);
		print_message("%s: %s\n", doctor_items[i].name, f.current);
		assert_int_equal(f.verdict, DOCTOR_OK);
		assert_string_equal(f.fix, "");
		assert_string_not_equal(f.current, "");
		assert_string_not_equal(doctor_items[i].about, "");
	}
}

/* One number of the facts (at `offset`) changed; with a given maxconn, and with an automatic one. */
struct row {
	const char *name;
	size_t offset;
	uint64_t value;
	enum doctor_verdict given, automatic;
	const char *fix; /* part of it */
};

#define FACT(field) offsetof(struct doctor_facts, field)

static const struct row rows[] = {
    {"open files", FACT(fds_hard), 20050, DOCTOR_OK, DOCTOR_OK, ""},
    {"open files", FACT(fds_hard), 20049, DOCTOR_WARN, DOCTOR_WARN, "LimitNOFILE=20050 "},
    {"fs.nr_open", FACT(nr_open), 20049, DOCTOR_WARN, DOCTOR_HINT, "sysctl -w fs.nr_open=20050"},
    {"fs.file-max", FACT(file_max), 20049, DOCTOR_WARN, DOCTOR_HINT, "sysctl -w fs.file-max=20050"},
    {"fs.pipe-user-pages-soft", FACT(pages_soft), 42667, DOCTOR_OK, DOCTOR_OK, ""},
    {"fs.pipe-user-pages-soft", FACT(pages_soft), 42666, DOCTOR_HINT, DOCTOR_HINT,
     "sysctl -w fs.pipe-user-pages-soft=42667"},
    {"fs.pipe-user-pages-hard", FACT(pages_hard), 16384, DOCTOR_HINT, DOCTOR_HINT,
     "sysctl -w fs.pipe-user-pages-hard=42667"},
    {"fs.pipe-max-size", FACT(limits.pipe_max_bytes), 131072, DOCTOR_WARN, DOCTOR_WARN,
     "sysctl -w fs.pipe-max-size=262144"},
    {"net.core.somaxconn", FACT(somaxconn), 128, DOCTOR_HINT, DOCTOR_HINT,
     "sysctl -w net.core.somaxconn=4096"},
    {"net.ipv4.tcp_max_syn_backlog", FACT(syn_backlog), 128, DOCTOR_HINT, DOCTOR_HINT, "=1024"},
    {"net.ipv4.ip_local_port_range", FACT(port_high), 32768 + 9999, DOCTOR_OK, DOCTOR_OK, ""},
    {"net.ipv4.ip_local_port_range", FACT(port_high), 32768 + 9998, DOCTOR_WARN, DOCTOR_HINT, "'1024 65535'"},
    {"net.ipv4.tcp_tw_reuse", FACT(tw_reuse), 0, DOCTOR_HINT, DOCTOR_HINT, "tcp_tw_reuse=1"},
    {"memory", FACT(group_memory), UINT64_C(64) << 20, DOCTOR_WARN, DOCTOR_HINT, "maxconn = 3584 in"},
    {"memory", FACT(group_memory), 1, DOCTOR_WARN, DOCTOR_HINT, "maxconn = 1 in"},
    {"CPU", FACT(cpus), 2, DOCTOR_HINT, DOCTOR_HINT, "threads = 2 "},
    {"CPU", FACT(group_cpu_milli), 3500, DOCTOR_OK, DOCTOR_OK, ""},
    {"CPU", FACT(group_cpu_milli), 2000, DOCTOR_WARN, DOCTOR_WARN, "threads = 2 "},
    {"CPU", FACT(group_cpu_milli), 500, DOCTOR_WARN, DOCTOR_WARN, "threads = 1 "},
    {"net.netfilter.nf_conntrack_max", FACT(conntrack_max), 20000, DOCTOR_OK, DOCTOR_OK, ""},
    {"net.netfilter.nf_conntrack_max", FACT(conntrack_max), 19999, DOCTOR_WARN, DOCTOR_HINT, "=20000"},
};

/* Nobody has use for a limit above what the machine has. */
static void no_more_memory_is_asked_for_than_there_is(void **state)
{
	struct doctor_facts facts = good_facts;
	struct doctor_wish wish = good_wish;
	struct doctor_finding f;

	(void)state;
	facts.limits.memory_bytes = UINT64_C(24) << 30;
	facts.group_memory = UINT64_C(1) << 30;
	wish.maxconn = 1000000;
	assert_string_equal(judged("memory", &facts, &wish).fix,
			    "maxconn = 126464 in [global], or MemoryMax=7849M in the unit");
	wish.maxconn = 10000000;
	f = judged("memory", &facts, &wish);
	assert_int_equal(f.verdict, DOCTOR_WARN);
	assert_string_equal(f.fix, "maxconn = 126464 in [global], or a machine with more memory and a larger "
				   "MemoryMax=");
	facts.group_memory = DOCTOR_NONE;
	assert_string_equal(judged("memory", &facts, &wish).fix,
			    "maxconn = 3141120 in [global], or more memory for this machine");
}

static void fast_open_is_judged_only_where_a_bind_has_it(void **state)
{
	struct doctor_facts facts = good_facts;
	struct doctor_wish wish = good_wish;

	(void)state;
	facts.fastopen = 1; /* for clients alone, the kernel's default */
	assert_int_equal(judged("net.ipv4.tcp_fastopen", &facts, &wish).verdict, DOCTOR_OK);
	wish.tfo = true;
	assert_int_equal(judged("net.ipv4.tcp_fastopen", &facts, &wish).verdict, DOCTOR_WARN);
	facts.fastopen = 2;
	assert_int_equal(judged("net.ipv4.tcp_fastopen", &facts, &wish).verdict, DOCTOR_OK);
	facts.fastopen = DOCTOR_NONE;
	assert_int_equal(judged("net.ipv4.tcp_fastopen", &facts, &wish).verdict, DOCTOR_UNKNOWN);
}

static void a_ring_is_judged_only_where_it_is_used(void **state)
{
	struct doctor_facts facts = good_facts;
	struct doctor_wish wish = good_wish;
	struct doctor_finding f;

	(void)state;
	assert_string_equal(judged("io_uring", &facts, &wish).current, "usable");
	facts.ring_err = -EPERM;
	memcpy(facts.ring_why, "no", sizeof("no"));
	f = judged("io_uring", &facts, &wish);
	assert_int_equal(f.verdict, DOCTOR_OK);
	assert_string_equal(f.current, "not usable: no");
	wish.ring = true; /* by auto, which has another */
	assert_int_equal(judged("io_uring", &facts, &wish).verdict, DOCTOR_HINT);
	wish.ring_given = true;
	facts.io_uring_disabled = 2;
	f = judged("io_uring", &facts, &wish);
	assert_int_equal(f.verdict, DOCTOR_WARN);
	assert_non_null(strstr(f.wanted, "driver = io_uring"));
	assert_non_null(strstr(f.fix, "sysctl -w kernel.io_uring_disabled=0"));
	assert_non_null(strstr(f.fix, "driver = epoll"));
	facts.io_uring_disabled = DOCTOR_NONE;
	assert_string_equal(judged("io_uring", &facts, &wish).fix, "driver = epoll in [global]");
	facts.ring_tried = false;
	assert_int_equal(judged("io_uring", &facts, &wish).verdict, DOCTOR_UNKNOWN);
	facts.ring_tried = true;
	facts.ring_err = 0;
	facts.ring_why[0] = '\0';
	assert_int_equal(judged("io_uring", &facts, &wish).verdict, DOCTOR_OK);
}

/* The cure is for what the reason names. */
static void a_limit_that_keeps_rings_away_is_what_to_raise(void **state)
{
	static const struct {
		int err;
		uint64_t locked_max;
		const char *fix;
	} cures[] = {
	    {-ENOMEM, 0, "LimitMEMLOCK=infinity in the unit, or ulimit -l 250 "},
	    {-ENOMEM, 8 << 20, "LimitMEMLOCK=infinity "},
	    {-ENOMEM, DOCTOR_NONE, ""},
	    {-EMFILE, DOCTOR_NONE, "LimitNOFILE= "},
	    {-ENFILE, DOCTOR_NONE, "fs.file-max="},
	    {-EPERM, 0, ""},
	};
	struct doctor_facts facts = good_facts;
	struct doctor_wish wish = good_wish;

	(void)state;
	wish.ring = true;
	wish.ring_given = true;
	for (size_t i = 0; i < ARRAY_LEN(cures); i++) {
		struct doctor_finding f;

		facts.ring_err = cures[i].err;
		facts.locked_max = cures[i].locked_max;
		f = judged("io_uring", &facts, &wish);
		print_message("%s\n", f.fix);
		assert_int_equal(f.verdict, DOCTOR_WARN);
		assert_non_null(strstr(f.fix, cures[i].fix));
		assert_non_null(strstr(f.fix, "driver = epoll in [global]"));
		assert_int_equal(strstr(f.fix, "Limit") != NULL, strncmp(cures[i].fix, "Limit", 5) == 0);
		assert_in_range(strlen(f.fix), 1, DOCTOR_TEXT_MAX - 2); /* nothing was cut */
	}
}

static void net_admin_is_judged_only_where_an_option_needs_it(void **state)
{
	struct doctor_facts facts = good_facts;
	struct doctor_wish wish = good_wish;
	struct doctor_finding f;

	(void)state;
	assert_int_equal(judged("CAP_NET_ADMIN", &facts, &wish).verdict, DOCTOR_OK);
	wish.net_admin = "source=client";
	f = judged("CAP_NET_ADMIN", &facts, &wish);
	assert_int_equal(f.verdict, DOCTOR_WARN);
	assert_non_null(strstr(f.wanted, "source=client"));
	assert_non_null(strstr(f.fix, "AmbientCapabilities=CAP_NET_ADMIN"));
	facts.can_net_admin = true;
	assert_int_equal(judged("CAP_NET_ADMIN", &facts, &wish).verdict, DOCTOR_OK);
}

static void each_check_bites_where_the_table_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];
		struct doctor_facts facts = good_facts;
		struct doctor_wish wish = good_wish;
		struct doctor_finding f;

		memcpy((char *)&facts + r->offset, &r->value, sizeof(r->value));
		f = judged(r->name, &facts, &wish);
		print_message("row %zu, %s: %s; wanted %s; %s\n", i, r->name, f.current, f.wanted, f.fix);
		assert_int_equal(f.verdict, r->given);
		assert_non_null(strstr(f.fix, r->fix));
		wish.maxconn_given = false;
		assert_int_equal(judged(r->name, &facts, &wish).verdict, r->automatic);
	}
}

static void what_was_written_must_be_had(void **state)
{
	struct doctor_facts facts = good_facts;
	struct doctor_wish wish = good_wish;

	(void)state;
	facts.pages_soft = 16384;
	wish.pipes_given = true;
	assert_int_equal(judged("fs.pipe-user-pages-soft", &facts, &wish).verdict, DOCTOR_WARN);
	facts.limits.pipes_privileged = true;
	assert_int_equal(judged("fs.pipe-user-pages-soft", &facts, &wish).verdict, DOCTOR_OK);
	facts.somaxconn = 128;
	wish.backlog_given = true;
	assert_int_equal(judged("net.core.somaxconn", &facts, &wish).verdict, DOCTOR_WARN);
	wish.low_port = 443;
	assert_int_equal(judged("net.ipv4.ip_unprivileged_port_start", &facts, &wish).verdict, DOCTOR_WARN);
	facts.unprivileged_port = 80;
	assert_int_equal(judged("net.ipv4.ip_unprivileged_port_start", &facts, &wish).verdict, DOCTOR_OK);
	facts.unprivileged_port = 1024;
	facts.can_bind_low = true;
	assert_int_equal(judged("net.ipv4.ip_unprivileged_port_start", &facts, &wish).verdict, DOCTOR_OK);
	memcpy(facts.congestion, "bbr", sizeof("bbr"));
	assert_int_equal(judged("net.ipv4.tcp_congestion_control", &facts, &wish).verdict, DOCTOR_HINT);
	memcpy(facts.qdisc, "fq", sizeof("fq"));
	assert_int_equal(judged("net.ipv4.tcp_congestion_control", &facts, &wish).verdict, DOCTOR_OK);
}

static void what_cannot_be_read_is_unknown(void **state)
{
	struct doctor_facts facts;

	(void)state;
	memset(&facts, 0xff, sizeof(facts)); /* DOCTOR_NONE everywhere */
	facts.limits = good_facts.limits;
	facts.limits.memory_bytes = 0;
	facts.congestion[0] = '\0';
	facts.can_bind_low = false;
	facts.ring_tried = false;
	for (size_t i = 0; i < doctor_item_count; i++) {
		const char *name = doctor_items[i].name;
		const struct doctor_finding f = judged(name, &facts, &good_wish);
		const bool known = strstr(name, "pipe-max") != NULL || strstr(name, "conntrack") != NULL ||
				   strstr(name, "unprivileged") != NULL ||
				   strstr(name, "fastopen") != NULL || strstr(name, "CAP_") != NULL;

		print_message("check %zu: %s\n", i, f.current);
		assert_int_equal(f.verdict, known ? DOCTOR_OK : DOCTOR_UNKNOWN);
		assert_string_equal(f.fix, "");
	}
}

static void files_of_the_kernel_are_understood(void **state)
{
	char path[DOCTOR_PATH_MAX];

	(void)state;
	assert_true(doctor_group_path("0::/system.slice/weir.service\n", path));
	assert_string_equal(path, "/system.slice/weir.service");
	assert_true(doctor_group_path("12:cpu:/x\n0::/\n", path));
	assert_string_equal(path, "");
	assert_false(doctor_group_path("12:cpu:/x\n", path));
	assert_false(doctor_group_path("", path));
	assert_int_equal(doctor_cpu_milli("200000 100000"), 2000);
	assert_int_equal(doctor_cpu_milli("50000 100000"), 500);
	assert_int_equal(doctor_cpu_milli("max 100000"), DOCTOR_NONE);
	assert_int_equal(doctor_cpu_milli("1 0"), DOCTOR_NONE);
	assert_int_equal(doctor_cpu_milli(""), DOCTOR_NONE);
}

static struct config_server server_at(uint16_t port, const char *source)
{
	static struct addr sources[2];
	char text[64];
	struct config_server s;
	struct addr_spec spec;

	memset(&s, 0, sizeof(s));
	(void)snprintf(text, sizeof(text), "10.0.0.1:%u", port);
	assert_int_equal(addr_parse(text, &s.addr, NULL, NULL), 0);
	if (source != NULL) {
		assert_int_equal(addr_parse(source, &spec, NULL, NULL), 0);
		sources[port % 2] = spec.addr;
		s.source.list = &sources[port % 2];
		s.source.count = 1;
	}
	return s;
}

static void the_wish_follows_from_the_configuration(void **state)
{
	struct config_server servers[3] = {server_at(80, NULL), server_at(80, NULL), server_at(81, NULL)};
	struct config_backend backend = {.servers = servers, .server_count = 3};
	struct config_bind binds[2] = {{.backlog = 77}, {.name = "x"}};
	struct config_frontend front = {.binds = binds, .bind_count = 2, .maxconn = 3001};
	struct config c = {
	    .frontends = &front,
	    .frontend_count = 1,
	    .backends = &backend,
	    .backend_count = 1,
	};
	struct limits_plan plan = {.engine = {.maxconn = 5000}};
	struct addr pool[2] = {{.len = 0}, {.len = 0}};
	struct doctor_wish wish;

	(void)state;
	c.global.maxpipes = -1;
	c.global.pipe_size = 262144;
	assert_int_equal(addr_parse(":443", &binds[0].addr, NULL, NULL), 0);
	assert_int_equal(addr_parse("fd@web", &binds[1].addr, NULL, NULL), 0);
	doctor_wish_of(&c, &plan, 2, &wish);
	assert_false(wish.ring_given);
	c.global.driver = CONFIG_DRIVER_IO_URING;
	doctor_wish_of(&c, &plan, 2, &wish);
	assert_true(wish.ring);
	assert_true(wish.ring_given);
	assert_int_equal(wish.maxconn, 5000);
	assert_false(wish.maxconn_given);
	assert_int_equal(wish.pipes, 1250);
	assert_int_equal(wish.backlog, 77); /* an inherited socket has its maker's */
	assert_true(wish.backlog_given);
	assert_int_equal(wish.low_port, 443);
	assert_int_equal(wish.ports, 1501); /* two addresses for 3001 sessions */
	servers[1] = server_at(80, "10.0.0.9:0");
	doctor_wish_of(&c, &plan, 2, &wish);
	assert_int_equal(wish.ports, 1001); /* another source has ports of its own */
	servers[1].source.count = 2;
	servers[1].source.list = pool;
	doctor_wish_of(&c, &plan, 2, &wish);
	assert_int_equal(wish.ports, 751); /* and a list of them several times as many */
	assert_null(wish.net_admin);
	assert_false(wish.tfo);
	servers[1].source.client = true;
	binds[1].tfo = true;
	doctor_wish_of(&c, &plan, 2, &wish);
	assert_int_equal(wish.ports, 0); /* each client brings its own */
	assert_string_equal(wish.net_admin, "source=client");
	assert_true(wish.tfo);
	assert_int_equal(addr_parse("/run/a.sock", &servers[0].addr, NULL, NULL), 0);
	c.global.maxconn = 400;
	doctor_wish_of(&c, &plan, 2, &wish);
	assert_int_equal(wish.ports, 0);
	assert_int_equal(wish.maxconn, 400);
	assert_true(wish.maxconn_given);
}

static void reading_this_machine_never_fails(void **state)
{
	struct doctor_facts facts;

	(void)state;
	doctor_read(&facts);
	assert_false(facts.ring_tried);
	doctor_try_rings(&facts, 1);
	assert_true(facts.ring_tried);
	assert_int_equal(facts.ring_err == 0, facts.ring_why[0] == '\0');
	assert_true(facts.cpus > 0);
	assert_true(facts.fds_hard > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_good_machine_has_nothing_to_fix),
	    cmocka_unit_test(no_more_memory_is_asked_for_than_there_is),
	    cmocka_unit_test(fast_open_is_judged_only_where_a_bind_has_it),
	    cmocka_unit_test(a_ring_is_judged_only_where_it_is_used),
	    cmocka_unit_test(a_limit_that_keeps_rings_away_is_what_to_raise),
	    cmocka_unit_test(net_admin_is_judged_only_where_an_option_needs_it),
	    cmocka_unit_test(each_check_bites_where_the_table_says),
	    cmocka_unit_test(what_was_written_must_be_had),
	    cmocka_unit_test(what_cannot_be_read_is_unknown),
	    cmocka_unit_test(files_of_the_kernel_are_understood),
	    cmocka_unit_test(the_wish_follows_from_the_configuration),
	    cmocka_unit_test(reading_this_machine_never_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
