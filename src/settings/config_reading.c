/* SPDX-License-Identifier: MIT
 *
 * config_reading.c - one reading of an input: read, interpret, validate, and the closing message.
 *
 * Running out of memory is reported: see arena.h. Opens only the files named. One thread at a time.
 */
#include "weir/settings/config_reading.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/config/bind_range.h"
#include "weir/config/reader.h"
#include "weir/config/sticky_size.h"
#include "build.h"
#include "load.h"

static void read_input(struct load *l, const struct config_input *input)
{
	struct source *overrides = source_new(&l->arena, "-o");

	if (input->text != NULL) {
		load_text(l, input->text_name, input->text);
	}
	for (size_t i = 0; i < input->path_count; i++)
		load_path(l, input->paths[i]);
	for (size_t i = 0; i < input->override_count; i++)
		source_add_line(&l->arena, overrides, input->overrides[i], strlen(input->overrides[i]));
	overrides->index = (unsigned)l->doc.source_count;
	/* If a file is missing, "no file has a section ..." would be redundant. */
	if (l->diag.errors == 0 || l->doc.first != NULL)
		override_apply(&l->doc, overrides);
}

/* The name of the input in the closing message: a directory is named as such. */
static char *name_of(struct arena *a, const struct config_input *input)
{
	if (input->text != NULL)
		return arena_printf(a, "%s", input->text_name);
	if (input->path_count == 1)
		return arena_printf(a, "%s", input->paths[0]);
	return arena_printf(a, "%s and %zu more", input->paths[0], input->path_count - 1);
}

static struct config *make_config(struct load *l, struct build *b, const struct config_input *input)
{
	/* The snapshot takes over the arena, so everything that belongs to it is allocated before. */
	char *name = name_of(&l->snapshot, input);
	struct config *c = build_snapshot(b, &l->snapshot);

	c->include_count = l->include_count;
	c->name = name;
	return c;
}

/* Does everything that allocates; NULL after errors. Returns at once when memory runs out: then `*finished`
 * stays false. Variables set after setjmp() belong to the caller, so that they keep their values. */
static struct config *read_and_build(struct load *l, const struct config_input *input, bool *finished)
{
	struct build b = {.diag = &l->diag, .doc = &l->doc};
	struct config *c = NULL;

	if (setjmp(l->no_memory) != 0)
		return NULL;
	l->arena.no_memory = &l->no_memory;
	l->snapshot.no_memory = &l->no_memory;
	l->name = name_of(&l->arena, input);
	reading_files_init(&l->files, &l->arena, input->kept);
	l->diag.files = &l->files;
	read_input(l, input);
	build_document(&b);
	build_validate(&b);
	l->text = reading_files_finish(&l->files, &l->arena);
	if (l->diag.errors == 0)
		c = make_config(l, &b, input);
	*finished = true;
	return c;
}

static struct diag_counts counts_of(const struct config *c)
{
	struct diag_counts counts = {c->frontend_count, c->backend_count, 0, c->include_count};

	for (size_t i = 0; i < c->backend_count; i++)
		counts.servers += c->backends[i].server_count;
	return counts;
}

/* "1 error", "2 errors" */
static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* Reports this in place of all other messages, without using any of their memory. */
static void print_no_memory(const struct config_reading *r, FILE *out, enum config_style style)
{
	struct source whole = {.name = r->name};
	struct diag_item item = {DIAG_LEVEL_ERROR, DIAG_NO_MEMORY, {&whole, 0, 0, 0},
				 "out of memory",  NULL,	   0};
	struct config_reading said = {
		.name = r->name, .diag = {.items = &item, .count = 1, .errors = 1}};

	config_reading_print(&said, out, style);
}

/* Memory and descriptors that single lines take at a start. */
static void add_costs(struct json *j, const void *arg)
{
	const struct config_reading *r = arg;

	bind_json_ranges(r->config, r->workers, j);
	config_json_rate_memory(r->config, j);
	config_json_sticky(r->config, j);
}

void config_reading_print(struct config_reading *r, FILE *out, enum config_style style)
{
	struct diag_counts counts = {0};

	if (r->no_memory) {
		print_no_memory(r, out, style);
		return;
	}
	if (r->config != NULL)
		counts = counts_of(r->config);
	if (r->workers > 0) {
		counts.costs = add_costs;
		counts.arg = r;
	}
	if (style == CONFIG_STYLE_JSON) {
		diag_print_json(&r->diag, r->name, r->config != NULL ? &counts : NULL, out);
		return;
	}
	diag_print(&r->diag, out, style == CONFIG_STYLE_COLOUR);
	if (r->config == NULL)
		fprintf(out, "%s: %u error%s, %u warning%s. The running configuration is unchanged.\n",
			r->name, r->diag.errors, plural(r->diag.errors), r->diag.warnings,
			plural(r->diag.warnings));
}

void config_read(const struct config_input *input, struct config_reading *r)
{
	const char *name = input->text != NULL ? input->text_name : input->paths[0];
	struct load l = {0};
	bool finished = false;

	check(input->text != NULL || input->path_count > 0);
	check(name != NULL);
	l.diag.arena = &l.arena;
	l.diag.environment = input->environment;
	l.doc.diag = &l.diag;
	*r = (struct config_reading){.config = read_and_build(&l, input, &finished)};
	if (r->config == NULL)
		arena_free(&l.snapshot);
	if (!finished)
		config_text_drop(l.text);
	else
		r->text = l.text;
	r->name = finished ? l.name : name;
	r->no_memory = !finished;
	/* The jump ends here. */
	r->memory = (struct arena){.blocks = l.arena.blocks};
	r->diag = l.diag;
	r->diag.arena = &r->memory;
	r->diag.files = NULL;
}

struct config *config_reading_take(struct config_reading *r)
{
	struct config *c = r->config;

	r->config = NULL;
	return c;
}

struct config_text *config_reading_take_text(struct config_reading *r)
{
	struct config_text *t = r->text;

	r->text = NULL;
	return t;
}

void config_reading_free(struct config_reading *r)
{
	config_text_drop(r->text);
	config_free(r->config);
	arena_free(&r->memory);
	*r = (struct config_reading){0};
}

/* ", 2 checks with verify=none": what whoever looks at a configuration must not miss. */
static void print_unverified(const struct config *c, FILE *out)
{
	size_t count = 0;

	for (size_t i = 0; i < c->backend_count; i++)
		count += c->backends[i].check.tls &&
			 c->backends[i].check.verify == CONFIG_CHECK_VERIFY_NONE;
	if (count > 0)
		fprintf(out, ", %zu check%s with verify=none", count, plural(count));
}

void config_print_summary(const struct config *c, FILE *out)
{
	struct diag_counts n = counts_of(c);

	fprintf(out, "%s: ok (%zu frontend%s, %zu backend%s, %zu server%s, %u include%s, %u warning%s",
		c->name, n.frontends, plural(n.frontends), n.backends, plural(n.backends), n.servers,
		plural(n.servers), n.includes, plural(n.includes), c->warnings, plural(c->warnings));
	print_unverified(c, out);
	fputs(")\n", out);
}
