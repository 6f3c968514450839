/* SPDX-License-Identifier: MIT
 *
 * proxy_view.h - a frontend or backend of a snapshot as the options table sees a section.
 *
 * Only options that a row prints are filled in; the lists of a frontend are not. Any thread.
 */
#ifndef WEIR_SRC_SETTINGS_PROXY_VIEW_H
#define WEIR_SRC_SETTINGS_PROXY_VIEW_H

#include "weir/config/options.h"

/* The result borrows from `f`. */
struct config_proxy proxy_view_front(const struct config_frontend *f);
/* The same from `b`. */
struct config_proxy proxy_view_back(const struct config_backend *b);

#endif
