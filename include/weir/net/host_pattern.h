/* SPDX-License-Identifier: MIT
 *
 * host_pattern.h - patterns of host names, as the server names of TLS clients are routed by.
 *
 * "a.example.com" is that name alone, "*.example.com" each name below example.com at any depth but not
 * example.com itself, ".example.com" both. No other wildcards. Patterns are validated when they are read;
 * names from clients may be any bytes and then match what they match. host_set.h holds many. Any thread.
 */
#ifndef WEIR_NET_HOST_PATTERN_H
#define WEIR_NET_HOST_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* RFC 1035 2.3.4, without the trailing dot. */
#define HOST_NAME_LEN_MAX 253
#define HOST_LABEL_LEN_MAX 63
/* Longest text of a pattern with its NUL: "*." and a name. */
#define HOST_PATTERN_TEXT_MAX (2 + HOST_NAME_LEN_MAX + 1)

enum host_reach {
	HOST_EXACT = 1,                        /* a.example.com */
	HOST_BELOW = 2,                        /* *.example.com */
	HOST_DOMAIN = HOST_EXACT | HOST_BELOW, /* .example.com */
};

struct host_pattern {
	uint8_t reach; /* enum host_reach */
	uint8_t len;
	char name[HOST_NAME_LEN_MAX + 1]; /* lower case, without what `reach` says; ends with a NUL */
};

/* Parses a pattern: labels of letters, digits, '-' and '_', in any case, with or without a trailing dot;
 * names in other alphabets only in their ASCII form ("xn--..."). 0, or -EINVAL with `*why` a sentence ("'*'
 * can only be the whole first label: ..."), static or valid until the thread's next call. */
int host_pattern_parse(const char *text, struct host_pattern *out, const char **why);
/* Prints it ("*.example.com") into `buf` of HOST_PATTERN_TEXT_MAX bytes; returns `buf`. */
const char *host_pattern_format(const struct host_pattern *p, char *buf);

/* Does the name match? It is lower case and has no trailing dot, as client_hello.h returns it. */
bool host_pattern_matches(const struct host_pattern *p, const char *name, size_t len);
/* Does `wide` match every name that `narrow` matches? */
bool host_pattern_covers(const struct host_pattern *wide, const struct host_pattern *narrow);

#endif
