/* SPDX-License-Identifier: MIT
 *
 * srv_answer.c - reads a DNS message (RFC 1035, RFC 2782): SRV records, and the addresses with them.
 *
 * Every length is checked against the message; a compression pointer must point backwards, so that a name
 * ends. Any thread.
 */
#include "srv_answer.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_A	   1
#define TYPE_CNAME 5
#define TYPE_AAAA  28
#define TYPE_SRV   33
#define CLASS_IN   1

struct message {
	const uint8_t *bytes;
	size_t len;
	size_t at; /* <= len */
};

struct record {
	char name[256];
	uint16_t type;
	uint16_t class;
	uint32_t ttl_s;
	size_t data; /* offset */
	size_t data_len;
};

static bool take_16(struct message *m, uint16_t *out)
{
	if (m->len - m->at < 2)
		return false;
	*out = (uint16_t)(m->bytes[m->at] << 8 | m->bytes[m->at + 1]);
	m->at += 2;
	return true;
}

static bool take_32(struct message *m, uint32_t *out)
{
	uint16_t high, low;

	if (!take_16(m, &high) || !take_16(m, &low))
		return false;
	*out = (uint32_t)high << 16 | low;
	return true;
}

/* Only what a host name may have: anything else cannot be the name of a server. */
static bool is_host_byte(uint8_t c)
{
	return isalnum(c) || c == '-' || c == '_';
}

/* Adds a label; false if it does not fit or is no part of a host name. */
static bool add_label(char out[256], size_t *used, const uint8_t *label, size_t len)
{
	if (*used + len + 2 > 256)
		return false;
	if (*used > 0)
		out[(*used)++] = '.';
	for (size_t i = 0; i < len; i++) {
		if (!is_host_byte(label[i]))
			return false;
		out[(*used)++] = (char)tolower(label[i]);
	}
	out[*used] = '\0';
	return true;
}

/* Reads the name at `m->at` and goes past it. A name that is too long or strange becomes "", which no target
 * is. False: the message is broken. */
static bool take_name(struct message *m, char out[256])
{
	size_t at = m->at, end = 0, used = 0, lowest = m->at;
	bool fits = true;

	out[0] = '\0';
	for (;;) {
		uint8_t len;

		if (at >= m->len)
			return false;
		len = m->bytes[at++];
		if (len == 0)
			break;
		if ((len & 0xc0) == 0xc0) {
			size_t to;

			if (at >= m->len)
				return false;
			to = (size_t)(len & 0x3f) << 8 | m->bytes[at++];
			if (end == 0)
				end = at;
			if (to >= lowest)
				return false;
			lowest = at = to;
			continue;
		}
		if (len > 63 || m->len - at < len)
			return false;
		fits = fits && add_label(out, &used, m->bytes + at, len);
		at += len;
	}
	m->at = end != 0 ? end : at;
	if (!fits)
		out[0] = '\0';
	return true;
}

static bool take_record(struct message *m, struct record *r)
{
	uint16_t len;

	if (!take_name(m, r->name) || !take_16(m, &r->type) || !take_16(m, &r->class) ||
	    !take_32(m, &r->ttl_s) || !take_16(m, &len))
		return false;
	if (m->len - m->at < len)
		return false;
	r->data = m->at;
	r->data_len = len;
	m->at += len;
	return true;
}

static void note_ttl(struct srv_answer *a, uint32_t ttl_s)
{
	if (ttl_s < a->ttl_s)
		a->ttl_s = ttl_s;
}

static bool add_target(struct srv_answer *a, const struct message *m, const struct record *r)
{
	struct message data = {m->bytes, r->data + r->data_len, r->data};
	struct srv_target t;

	if (!take_16(&data, &t.priority) || !take_16(&data, &t.weight) || !take_16(&data, &t.port))
		return false;
	if (!take_name(&data, t.host))
		return false;
	note_ttl(a, r->ttl_s);
	if (t.host[0] == '\0' || t.port == 0 || a->target_count == SRV_TARGETS_MAX)
		return true;
	a->targets[a->target_count++] = t;
	return true;
}

static void add_extra(struct srv_answer *a, const struct message *m, const struct record *r)
{
	struct srv_extra *e = &a->extras[a->extra_count];
	const uint8_t *data = m->bytes + r->data;

	if (a->extra_count == SRV_TARGETS_MAX || r->name[0] == '\0')
		return;
	*e = (struct srv_extra){0};
	if (r->type == TYPE_A && r->data_len == sizeof(e->addr.in.sin_addr)) {
		e->addr.in.sin_family = AF_INET;
		memcpy(&e->addr.in.sin_addr, data, r->data_len);
		e->addr.len = sizeof(e->addr.in);
	} else if (r->type == TYPE_AAAA && r->data_len == sizeof(e->addr.in6.sin6_addr)) {
		e->addr.in6.sin6_family = AF_INET6;
		memcpy(&e->addr.in6.sin6_addr, data, r->data_len);
		e->addr.len = sizeof(e->addr.in6);
	} else {
		return;
	}
	memcpy(e->host, r->name, sizeof(e->host));
	note_ttl(a, r->ttl_s);
	a->extra_count++;
}

static bool read_answers(struct srv_answer *a, struct message *m, unsigned count)
{
	struct record r;

	for (unsigned i = 0; i < count; i++) {
		if (!take_record(m, &r))
			return false;
		if (r.class != CLASS_IN)
			continue;
		if (r.type == TYPE_SRV && !add_target(a, m, &r))
			return false;
		if (r.type == TYPE_CNAME) {
			a->by_cname = true;
			note_ttl(a, r.ttl_s);
		}
	}
	return true;
}

static bool skip_records(struct message *m, unsigned count)
{
	struct record r;

	for (unsigned i = 0; i < count; i++)
		if (!take_record(m, &r))
			return false;
	return true;
}

/* A broken additional section costs its addresses, not the targets: they are asked for. */
static void read_extras(struct srv_answer *a, struct message *m, unsigned count)
{
	struct record r;

	for (unsigned i = 0; i < count && take_record(m, &r); i++)
		if (r.class == CLASS_IN)
			add_extra(a, m, &r);
}

static bool read_message(struct srv_answer *a, struct message *m)
{
	uint16_t id, flags, questions, answers, authorities, extras;
	char name[256];

	if (!take_16(m, &id) || !take_16(m, &flags) || !take_16(m, &questions) || !take_16(m, &answers) ||
	    !take_16(m, &authorities) || !take_16(m, &extras))
		return false;
	for (unsigned i = 0; i < questions; i++) {
		if (!take_name(m, name) || m->len - m->at < 4)
			return false;
		m->at += 4;
	}
	if (!read_answers(a, m, answers))
		return false;
	if (skip_records(m, authorities))
		read_extras(a, m, extras);
	return true;
}

int srv_answer_read(struct srv_answer *a, const uint8_t *bytes, size_t len)
{
	struct message m = {bytes, len, 0};

	*a = (struct srv_answer){.ttl_s = UINT32_MAX};
	a->targets = calloc(SRV_TARGETS_MAX, sizeof(*a->targets));
	a->extras = calloc(SRV_TARGETS_MAX, sizeof(*a->extras));
	if (a->targets == NULL || a->extras == NULL) {
		srv_answer_free(a);
		return -ENOMEM;
	}
	if (read_message(a, &m))
		return 0;
	srv_answer_free(a);
	return -EBADMSG;
}

void srv_answer_free(struct srv_answer *a)
{
	free(a->targets);
	free(a->extras);
	*a = (struct srv_answer){0};
}
