/* SPDX-License-Identifier: MIT
 *
 * host_pattern.c - parses, prints and compares patterns of host names; host_set.c holds many.
 *
 * Owns the sentences that reject an invalid pattern. Queries no name server. Any thread.
 */
#include "weir/net/host_pattern.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/digit.h"

static int reject(const char **why, const char *sentence)
{
	*why = sentence;
	return -EINVAL;
}

static bool is_label_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '-' || c == '_';
}

/* A character that no pattern contains. */
static int refuse_char(char c, const char **why)
{
	static _Thread_local char sentence[96];

	switch (c) {
	case '*':
		return reject(why, "'*' can only be the whole first label: write *.example.com");
	case ':':
	case '[':
		return reject(why, "write a host name alone, without a port or an IPv6 address");
	case '/':
		return reject(why, "write a host name alone, without a scheme or a path");
	default:
		break;
	}
	if ((c & 0x80) != 0)
		return reject(why, "write the ASCII form of the name, as in xn--bcher-kva.example");
	if (c <= ' ' || c == 0x7f)
		return reject(why, "a host name cannot contain blanks or control characters");
	(void)snprintf(sentence, sizeof(sentence),
		       "'%c' cannot be in a host name: use letters, digits, '-', '_' and dots", c); /* fits */
	return reject(why, sentence);
}

/* Validates the label at the start of `name`, which ends at a dot or at the end. Sets its length. */
static int read_label(const char *name, size_t *len, const char **why)
{
	size_t n = 0;

	while (is_label_char(name[n]))
		n++;
	if (name[n] != '.' && name[n] != '\0')
		return refuse_char(name[n], why);
	if (n == 0)
		return reject(why, "a label is empty: remove the second dot");
	if (n > HOST_LABEL_LEN_MAX)
		return reject(why, "a label is too long: at most 63 characters between dots");
	if (name[0] == '-' || name[n - 1] == '-')
		return reject(why, "a label cannot begin or end with '-'");
	*len = n;
	return 0;
}

/* Validates the name after what says how far the pattern reaches; sets its length without a trailing dot. */
static int read_name(const char *name, size_t *len, const char **why)
{
	size_t at = 0;

	while (name[at] != '\0') {
		size_t label;
		const int err = read_label(name + at, &label, why);

		if (err)
			return err;
		at += label;
		*len = at;
		if (name[at] == '.')
			at++;
	}
	if (*len > HOST_NAME_LEN_MAX)
		return reject(why, "the name is too long: at most 253 characters");
	return 0;
}

int host_pattern_parse(const char *text, struct host_pattern *out, const char **why)
{
	enum host_reach reach = HOST_EXACT;
	const char *name = text;
	size_t len = 0;
	int err;

	memset(out, 0, sizeof(*out));
	if (strncmp(text, "*.", 2) == 0) {
		reach = HOST_BELOW;
		name = text + 2;
	} else if (text[0] == '.') {
		reach = HOST_DOMAIN;
		name = text + 1;
	}
	if (name[0] == '\0')
		return reject(why, "the name is missing: write a.example.com, *.example.com or .example.com");
	err = read_name(name, &len, why);
	if (err)
		return err;
	out->reach = (uint8_t)reach;
	out->len = (uint8_t)len;
	for (size_t i = 0; i < len; i++)
		out->name[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
	return 0;
}

const char *host_pattern_format(const struct host_pattern *p, char *buf)
{
	const char *begin = p->reach == HOST_EXACT ? "" : p->reach == HOST_BELOW ? "*." : ".";

	check(p->len > 0);
	(void)snprintf(buf, HOST_PATTERN_TEXT_MAX, "%s%s", begin, p->name); /* fits */
	return buf;
}

/* Is the name at least one label below the pattern's? */
static bool is_below(const struct host_pattern *p, const char *name, size_t len)
{
	if (len < p->len + 2u || name[len - p->len - 1] != '.')
		return false;
	return memcmp(name + len - p->len, p->name, p->len) == 0;
}

bool host_pattern_matches(const struct host_pattern *p, const char *name, size_t len)
{
	if ((p->reach & HOST_EXACT) != 0 && len == p->len && memcmp(name, p->name, len) == 0)
		return true;
	return (p->reach & HOST_BELOW) != 0 && is_below(p, name, len);
}

bool host_pattern_covers(const struct host_pattern *wide, const struct host_pattern *narrow)
{
	const bool is_same = wide->len == narrow->len && memcmp(wide->name, narrow->name, wide->len) == 0;

	if (is_same)
		return (narrow->reach & ~wide->reach) == 0;
	return (wide->reach & HOST_BELOW) != 0 && is_below(wide, narrow->name, narrow->len);
}
