/* SPDX-License-Identifier: MIT
 *
 * doctor.c - `weir doctor`: compares what this machine provides with what the configuration asks for.
 *
 * Does not ask a running daemon, and changes nothing but its own limits of open files and locked memory.
 * Exits with 3 if there is a warning. Main thread.
 */
#include "weir/host/doctor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "weir/base/json.h"
#include "weir/cli/cli.h"
#include "input.h"

/* The configuration to judge if there is no file. */
static const char defaults[] = "[listen defaults]\nbind = :8080\nserver a = 127.0.0.1:80\n";

struct report {
	const struct config *config;
	struct doctor_facts facts;
	struct doctor_wish wish;
	struct limits_plan plan;
	bool without_file;
	unsigned counts[DOCTOR_UNKNOWN + 1];
};

/* The daemon will not run as root, so remove what only root may do. */
static void become_ordinary(struct doctor_facts *facts)
{
	facts->limits.pipes_privileged = false;
	if (facts->io_uring_disabled == 1)
		facts->ring_tried = false; /* depends on the groups of that user */
}

/* Finds out what the daemon would have: its limits, its rings and its user. */
static void examine(struct report *r)
{
	const struct config_global *g = &r->config->global;
	const unsigned workers = limits_count_workers(g);
	unsigned endpoints = 0;
	struct limits_wish wish;

	for (size_t i = 0; i < r->config->frontend_count; i++)
		endpoints += (unsigned)r->config->frontends[i].bind_count;
	(void)limits_raise_fds(); /* as the daemon does; the resulting limit is read below */
	limits_raise_locked();
	doctor_read(&r->facts);
	doctor_try_rings(&r->facts, workers);
	if (g->user != NULL && geteuid() == 0 && strcmp(g->user, "root") != 0 && strcmp(g->user, "0") != 0)
		become_ordinary(&r->facts);
	wish = limits_wish_of(r->config, endpoints, workers);
	(void)limits_plan(&r->facts.limits, &wish, &r->plan); /* a failure shows up as too few open files */
	doctor_wish_of(r->config, &r->plan, workers, &r->wish);
}

static void add_finding(struct json *j, const struct report *r, const struct doctor_item *item)
{
	struct doctor_finding f;

	doctor_judge(item, &r->facts, &r->wish, &f);
	json_object(j, NULL);
	json_string(j, "name", item->name);
	json_string(j, "verdict", doctor_verdict_word(f.verdict));
	json_string(j, "current", f.current);
	json_string(j, "wanted", f.wanted);
	json_string(j, "fix", f.fix);
	json_string(j, "about", item->about);
	json_object_end(j);
}

static void add_number(struct json *j, const char *key, uint64_t value)
{
	json_line(j, 2);
	json_unsigned(j, key, value);
}

static void print_json(const struct report *r)
{
	struct text out;
	struct json j;

	text_init(&out);
	json_init(&j, &out, JSON_CODES);
	j.spaced = true;
	json_object(&j, NULL);
	json_line(&j, 2);
	json_string(&j, "file", r->without_file ? "" : r->config->name);
	add_number(&j, "maxconn", r->wish.maxconn);
	add_number(&j, "maxpipes", r->plan.engine.maxpipes);
	add_number(&j, "workers", r->wish.workers);
	json_line(&j, 2);
	json_array(&j, "checks");
	for (size_t i = 0; i < doctor_item_count; i++) {
		json_line(&j, 4);
		add_finding(&j, r, &doctor_items[i]);
	}
	json_line(&j, 2);
	json_array_end(&j);
	add_number(&j, "warnings", r->counts[DOCTOR_WARN]);
	add_number(&j, "hints", r->counts[DOCTOR_HINT]);
	add_number(&j, "unknown", r->counts[DOCTOR_UNKNOWN]);
	json_line(&j, 0);
	json_object_end(&j);
	text_add(&out, "\n", 1);
	text_print(&out, stdout);
	text_free(&out);
}

static void print_finding(const struct doctor_item *item, const struct doctor_finding *f)
{
	printf("%-7s  %-38s  %s", doctor_verdict_word(f->verdict), item->name, f->current);
	if (f->wanted[0] != '\0')
		printf("; wanted: %s", f->wanted);
	putchar('\n');
	if (f->fix[0] != '\0')
		printf("         %s\n         fix: %s\n", item->about, f->fix);
}

static void print_text(const struct report *r, bool quiet)
{
	struct doctor_finding f;

	if (!quiet)
		printf("%s: maxconn %llu%s, up to %llu pipes of %u KiB, %u workers\n",
		       r->without_file ? "no configuration file, so with the defaults" : r->config->name,
		       (unsigned long long)r->wish.maxconn, r->wish.maxconn_given ? "" : " (auto)",
		       (unsigned long long)r->wish.pipes, r->wish.pipe_bytes >> 10, r->wish.workers);
	for (size_t i = 0; i < doctor_item_count; i++) {
		doctor_judge(&doctor_items[i], &r->facts, &r->wish, &f);
		if (!quiet || f.verdict == DOCTOR_WARN || f.verdict == DOCTOR_HINT)
			print_finding(&doctor_items[i], &f);
	}
	if (quiet)
		return;
	printf("%u ok, %u hint%s, %u warning%s, %u unknown", r->counts[DOCTOR_OK], r->counts[DOCTOR_HINT],
	       r->counts[DOCTOR_HINT] == 1 ? "" : "s", r->counts[DOCTOR_WARN],
	       r->counts[DOCTOR_WARN] == 1 ? "" : "s", r->counts[DOCTOR_UNKNOWN]);
	puts(r->counts[DOCTOR_WARN] + r->counts[DOCTOR_HINT] > 0
		 ? "; to keep a sysctl across reboots, put it in /etc/sysctl.d/90-weir.conf"
		 : "");
}

enum exit_code cli_doctor(const struct cli_args *a)
{
	struct report r = {.without_file = a->path_count == 0 && access(CLI_DEFAULT_FILE, F_OK) != 0};
	struct doctor_finding f;
	struct cli_args quiet = *a;
	struct config *c;

	quiet.quiet = true; /* no warnings about the file: `weir check` shows them */
	c = input_load(&quiet, r.without_file ? defaults : NULL, r.without_file ? "defaults" : NULL);
	if (c == NULL)
		return EXIT_CONFIG;
	r.config = c;
	examine(&r);
	for (size_t i = 0; i < doctor_item_count; i++) {
		doctor_judge(&doctor_items[i], &r.facts, &r.wish, &f);
		r.counts[f.verdict]++;
	}
	if (a->json)
		print_json(&r);
	else
		print_text(&r, a->quiet);
	config_free(c);
	return r.counts[DOCTOR_WARN] > 0 ? EXIT_ENVIRONMENT : EXIT_FINE;
}
