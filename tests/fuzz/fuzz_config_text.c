/* SPDX-License-Identifier: MIT
 *
 * fuzz_config_text.c - any bytes as the text of a reading: refused, or read without touching the disk.
 *
 * A libFuzzer target; replay.c runs it over the corpus without one. What is accepted is written again, which
 * gives the same bytes, and is read as a configuration, which ends in a snapshot or in messages.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/settings/config_reading.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_again(const struct config_text *t, const uint8_t *data, size_t size)
{
	struct config_text *back;
	struct text out;

	text_init(&out);
	config_text_write(t, &out);
	check(!out.failed);
	check(out.len == size && config_text_hash(t).bytes == size);
	check(memcmp(out.bytes, data, size) == 0);
	check(config_text_parse(out.bytes, out.len, &back) == 0);
	check(config_text_hash_same(config_text_hash(t), config_text_hash(back)));
	config_text_drop(back);
	text_free(&out);
}

/* `path` as a file or a directory, whichever the text has it as. */
static void read_it(struct config_text *t, const char *path)
{
	struct config_input input = {.kept = config_text_hold(t)};
	struct config_reading r;
	struct config_text *same;

	check(config_input_add_path(&input, path) == 0);
	config_read(&input, &r);
	check(!r.no_memory);
	check(r.config != NULL || r.diag.errors > 0);
	same = config_reading_take_text(&r);
	check(same == t);
	config_text_drop(same);
	config_reading_free(&r);
	config_input_free(&input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config_text *t;
	const int err = config_text_parse((const char *)data, size, &t);

	check(err == 0 || err == -EBADMSG);
	check((t != NULL) == (err == 0));
	if (t == NULL)
		return 0;
	write_again(t, data, size);
	read_it(t, "t.ini");
	read_it(t, "d");
	config_text_drop(t);
	return 0;
}
