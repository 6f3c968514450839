/* SPDX-License-Identifier: MIT
 *
 * nginx.h - reads an nginx configuration and converts its stream blocks. Main thread.
 */
#ifndef WEIR_NGINX_NGINX_H
#define WEIR_NGINX_NGINX_H

#include "weir/draft/work.h"

/* Reads an nginx file and what it includes. False after an error. */
bool nginx_read(struct old_reading *r, const char *path);
/* Converts what was read. */
void nginx_convert(struct work *w);

#endif
