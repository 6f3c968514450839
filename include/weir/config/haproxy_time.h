/* SPDX-License-Identifier: MIT
 *
 * haproxy_time.h - durations as HAProxy reads them: a bare number is milliseconds.
 *
 * For the admin socket, where HAProxy's grammar holds; files are read by values.h. Any thread.
 */
#ifndef WEIR_CONFIG_HAPROXY_TIME_H
#define WEIR_CONFIG_HAPROXY_TIME_H

#include <stdint.h>

enum haproxy_time {
	HAPROXY_TIME_FINE,
	HAPROXY_TIME_BAD,  /* a byte that does not belong there */
	HAPROXY_TIME_OVER, /* 2^31 ms or more */
};

/* Digits, and one of us, ms, s, m, h, d; rounded up to whole milliseconds in `*ms`. `*stray` is the byte of
 * HAPROXY_TIME_BAD, which may be the end of `text`. */
enum haproxy_time haproxy_time(const char *text, int64_t *ms, const char **stray);

#endif
