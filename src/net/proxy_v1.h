/* SPDX-License-Identifier: MIT
 *
 * proxy_v1.h - a PROXY line of version 1; included only by proxy.c.
 *
 * Any thread.
 */
#ifndef WEIR_NET_PROXY_V1_H
#define WEIR_NET_PROXY_V1_H

#include "weir/net/proxy.h"

/* As proxy_parse(), for input that begins with a 'P'. */
ssize_t proxy_v1_parse(const uint8_t *data, size_t len, struct proxy_header *out, enum proxy_error *why);

#endif
