/* SPDX-License-Identifier: MIT
 *
 * info_keys.c - the keys of `show info` that HAProxy has: what hatop, telegraf, Datadog and scripts look for.
 *
 * Only reads. Main thread.
 */
#include "info_keys.h"

#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/stats/process_rates.h"
#include "weir/stats/stat_base.h"
#include "typed_field.h"

/* Where the keys go. */
struct info_writer {
	enum info_form form;
	struct text *out;
	struct json json;
};

/* What the values of the table are made of. */
struct info_facts {
	const struct admin_context *ctx;
	struct engine *e;
	int64_t uptime_s;
	char uptime[32];
	char node[256];
	uint64_t files;
	struct process_rates rates;
	uint64_t bytes_out;
	uint64_t pool_bytes;
	uint64_t pool_used_bytes;
	uint64_t dropped_logs;
};

static void collect(struct info_facts *x)
{
	const int64_t s = (clock_mono_ns() - x->ctx->started_ns) / NS_PER_SEC;
	struct rlimit files;

	x->uptime_s = s;
	(void)snprintf(x->uptime, sizeof(x->uptime), "%lldd %lldh%02lldm%02llds", (long long)(s / 86400),
		       (long long)(s / 3600 % 24), (long long)(s / 60 % 60), (long long)(s % 60)); /* fits */
	if (gethostname(x->node, sizeof(x->node)) != 0)
		(void)snprintf(x->node, sizeof(x->node), "-");
	x->node[sizeof(x->node) - 1] = '\0';
	x->files = getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : 0;
	x->bytes_out = engine_sum(x->e, bytes_to_server) + engine_sum(x->e, bytes_to_client);
	x->pool_bytes = counter_get(&x->e->bufs.bytes);
	x->pool_used_bytes = engine_sum(x->e, bufs_in_use_bytes);
	x->rates = process_rates_now(x->e, x->ctx->pace);
}

static void put(struct info_writer *w, const struct typed_field *f)
{
	if (w->form == INFO_LINES && f->text != NULL) {
		text_printf(w->out, "%s: %s\n", f->name, f->text);
	} else if (w->form == INFO_LINES) {
		text_printf(w->out, "%s: %lld\n", f->name, (long long)f->number);
	} else if (f->pos == UINT_MAX) {
		return;
	} else if (w->form == INFO_TYPED) {
		typed_field_line(f, w->out);
	} else {
		json_object(&w->json, NULL);
		typed_field_json(f, &w->json);
		json_object_end(&w->json);
	}
}

static void put_all(struct info_writer *w, const struct info_facts *x)
{
#define NUMBER(position, key, letters, kind, value)                                                          \
	put(w, &(struct typed_field){.pos = position, .name = key, .tags = letters, .type = kind,            \
				     .number = (int64_t)(value)});
#define TEXT(position, key, letters, value)                                                                  \
	put(w, &(struct typed_field){.pos = position, .name = key, .tags = letters, .type = "str",           \
				     .text = value});
#include "info_keys.tbl.h"
#undef NUMBER
#undef TEXT
}

void info_keys_show(const struct admin_context *ctx, uint64_t dropped_logs, enum info_form form,
		    struct text *out)
{
	struct info_writer w = {.form = form, .out = out};
	struct info_facts x = {.ctx = ctx, .e = ctx->engine, .dropped_logs = dropped_logs};

	collect(&x);
	if (form != INFO_FIELDS) {
		put_all(&w, &x);
		return;
	}
	json_init(&w.json, out, JSON_CODES);
	json_array(&w.json, NULL);
	put_all(&w, &x);
	json_array_end(&w.json);
	text_add(out, "\n", 1);
}
