/* SPDX-License-Identifier: MIT
 *
 * log_settings.h - a target's own copy of its line in the configuration, which may be gone before it.
 *
 * Any thread.
 */
#ifndef WEIR_LOGGING_LOG_SETTINGS_H
#define WEIR_LOGGING_LOG_SETTINGS_H

#include <stdbool.h>

#include "weir/config/config.h"

/* Copies all but the place of `from`; NULL is stderr at level info, as text. 0 or -ENOMEM. */
int log_settings_copy(struct config_log *to, const struct config_log *from);
void log_settings_free(struct config_log *c);
/* Do both describe the same lines at the same destination? */
bool log_settings_equal(const struct config_log *a, const struct config_log *b);

#endif
