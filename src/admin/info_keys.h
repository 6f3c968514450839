/* SPDX-License-Identifier: MIT
 *
 * info_keys.h - the keys of `show info` that HAProxy has.
 *
 * Main thread.
 */
#ifndef WEIR_ADMIN_INFO_KEYS_H
#define WEIR_ADMIN_INFO_KEYS_H

#include "weir/admin/admin_commands.h"
#include "weir/base/json.h"

enum info_form {
	INFO_LINES, /* "KEY: VALUE" */
	INFO_TYPED, /* "POS.KEY.1:TAGS:TYPE:VALUE" */
	INFO_FIELDS, /* a JSON list of objects, one per key */
};

/* `dropped_logs`: a figure of another room. */
void info_keys_show(const struct admin_context *ctx, uint64_t dropped_logs, enum info_form form,
		    struct text *out);

#endif
