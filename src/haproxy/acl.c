/* SPDX-License-Identifier: MIT
 *
 * acl.c - one criterion of HAProxy's with its flags and values, and the names of its own conditions.
 *
 * Main thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"

static bool ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* Takes "_end" and the like from the end of the name, as a match. */
static void take_suffix(struct arena *a, struct criterion *c)
{
	static const char *const suffixes[] = {"_end", "_reg", "_beg", "_sub", "_dom", "_str"};

	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		if (!ends_with(c->name, suffixes[i]) || strcmp(c->name, "wait_end") == 0)
			continue;
		c->match = suffixes[i] + 1;
		c->name = arena_strndup(a, c->name, strlen(c->name) - strlen(suffixes[i]));
	}
}

/* Takes the flags, which come before the values; behind "--", everything is a value. The number of the first
 * word behind them. */
static size_t take_flags(struct criterion *c, const char *const *words, size_t count)
{
	size_t i = 1;

	for (; i < count && words[i][0] == '-'; i++) {
		if (strcmp(words[i], "--") == 0)
			return i + 1;
		if (strcmp(words[i], "-i") == 0)
			c->any_case = true;
		else if (strcmp(words[i], "-m") == 0 && i + 1 < count)
			c->match = words[++i];
		else if (strcmp(words[i], "-f") == 0 && i + 1 < count)
			c->files[c->file_count++] = words[++i];
		else if (strcmp(words[i], "-n") != 0)
			break;
	}
	return i;
}

static bool is_operator(const char *word)
{
	return strlen(word) == 2 && strstr("gt ge lt le eq", word) != NULL;
}

static void take_values(struct criterion *c, const char *const *words, size_t at, size_t count)
{
	if (at < count && is_operator(words[at]))
		c->op = words[at++];
	while (at < count)
		c->values[c->count++] = words[at++];
}

static void read_criterion(struct arena *a, const char *const *words, size_t count, struct criterion *c)
{
	const char *name = words[0], *comma;
	const size_t len = strcspn(name, "(,");

	*c = (struct criterion){.argument = "", .match = "", .op = ""};
	c->values = arena_alloc(a, (count + 1) * sizeof(*c->values));
	c->files = arena_alloc(a, (count + 1) * sizeof(*c->files));
	c->name = arena_strndup(a, name, len);
	if (name[len] == '(')
		c->argument = arena_strndup(a, name + len + 1, strcspn(name + len + 1, ")"));
	/* A comma between the parentheses of the criterion is not a converter's. */
	comma = strchr(name + len + strlen(c->argument), ',');
	c->lowered = comma != NULL && strcmp(comma, ",lower") == 0;
	c->converted = comma != NULL && !c->lowered;
	take_suffix(a, c);
	take_values(c, words, take_flags(c, words, count), count);
}

const char *criterion_values(struct arena *a, const struct criterion *c, struct term *t)
{
	const char *text = work_joined(a, c->values, c->count, ",");

	for (size_t i = 0; i < c->file_count; i++) {
		text = arena_printf(a, "%s%s@%s", text, text[0] != '\0' ? "," : "", c->files[i]);
		t->file = true;
	}
	return text;
}

void term_other(struct arena *a, struct term *t, const char *why)
{
	t->kind = TERM_OTHER;
	t->value = arena_printf(a, "%s", why);
}

static void take_number(struct arena *a, const struct criterion *c, struct term *t, enum term_kind kind)
{
	const char *text = c->count > 0 ? c->values[0] : "";

	t->kind = kind;
	t->stored = kind == TERM_OPEN		       ? "conn_cur"
		    : strstr(c->name, "_sess_") != NULL ? "sess_rate"
							: "conn_rate";
	/* sc0_conn_rate, sc_conn_rate(0), sc_conn_rate(0,TABLE); src_conn_rate, src_conn_rate(TABLE) */
	if (c->name[1] == 'c') {
		const char *comma = strchr(c->argument, ',');

		t->counter = is_digit(c->name[2]) ? c->name[2] : c->argument[0];
		t->name = comma != NULL ? comma + 1 : c->name[2] != '_' ? c->argument : "";
	} else {
		t->name = c->argument;
	}
	t->number = (unsigned)strtoul(text, NULL, 10);
	if (c->count != 1 || text[strspn(text, "0123456789")] != '\0')
		term_other(a, t, "a count that is compared with more than one number");
	else if (strcmp(c->op, "ge") == 0 && t->number > 0)
		t->number--;
	else if (strcmp(c->op, "gt") != 0)
		term_other(a, t, "a count that is compared in another way than gt and ge");
}

/* The ports that one value stands for, "" for none. Either end of "1024:2048" may be left out. */
static const char *ports_of(struct arena *a, const char *op, const char *value)
{
	const char *colon = strchr(value, ':');
	const unsigned long n = strtoul(value, NULL, 10);

	if (op[0] == 'g')
		return n + (op[1] == 't') > 65535 ? "" : arena_printf(a, "%lu-65535", n + (op[1] == 't'));
	if (op[0] == 'l')
		return n <= (op[1] == 't') ? "" : arena_printf(a, "1-%lu", n - (op[1] == 't'));
	if (colon != NULL)
		return arena_printf(a, "%lu-%s", n > 0 ? n : 1, colon[1] != '\0' ? colon + 1 : "65535");
	return strcmp(value, "0") == 0 ? "" : value;
}

/* An operator is for the values up to the next one. */
static void take_port(struct arena *a, struct criterion *c, struct term *t)
{
	const char *op = c->op;
	size_t kept = 0;

	t->kind = TERM_PORT;
	for (size_t i = 0; i < c->count; i++) {
		if (is_operator(c->values[i])) {
			op = c->values[i];
			continue;
		}
		c->values[kept] = ports_of(a, op, c->values[i]);
		kept += c->values[kept][0] != '\0';
	}
	c->count = kept;
	t->value = criterion_values(a, c, t);
	if (c->count + c->file_count == 0) {
		t->kind = TERM_FALSE;
		t->value = "there is no such port";
	}
}

static bool is_one_of(const char *name, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strcmp(name, *list) == 0)
			return true;
	return false;
}

static const char *const sni_names[] = {"req.ssl_sni", "req_ssl_sni", NULL};

/* Takes the names of files that weir does not take as they are. False: nothing is left to compare with. */
static bool take_name_files(struct haproxy *h, struct criterion *c)
{
	const bool whole = c->match[0] == '\0' || strcmp(c->match, "str") == 0;
	struct work_list names = {.count = 0};
	size_t kept = 0;

	if (!is_one_of(c->name, sni_names) || c->file_count == 0 || strcmp(c->match, "found") == 0)
		return true;
	for (size_t i = 0; i < c->count; i++)
		work_list_add(h->arena, &names, c->values[i]);
	for (size_t i = 0; i < c->file_count; i++)
		if (!haproxy_take_names(h, c->files[i], whole, &names))
			c->files[kept++] = c->files[i];
	c->file_count = kept;
	c->values = names.items;
	c->count = names.count;
	return names.count + kept > 0;
}

static const char *const hello_names[] = {"req.ssl_hello_type", "req_ssl_hello_type", NULL};
static const char *const version_names[] = {"req.ssl_ver", "req_ssl_ver", NULL};
static const char *const length_names[] = {"req.len", "req_len", NULL};
static const char *const rate_names[] = {"src_conn_rate", "sc0_conn_rate", "sc1_conn_rate", "sc2_conn_rate",
					 "sc_conn_rate",  "src_sess_rate", "sc0_sess_rate", NULL};
static const char *const open_names[] = {"src_conn_cur", "sc0_conn_cur", "sc1_conn_cur",
					 "sc2_conn_cur", "sc_conn_cur",	 NULL};
static const char *const payload_names[] = {"req.payload", "payload", "req.payload_lv", NULL};
static const char *const rdp_names[] = {"req.rdp_cookie", "rdp_cookie",		"req.rdp_cookie_cnt",
					"rdp_cookie_cnt", "req_rdp_cookie_cnt", NULL};

static void take_src(struct arena *a, const struct criterion *c, struct term *t)
{
	t->kind = TERM_SRC;
	for (size_t i = 0; i < c->count; i++)
		c->values[i] = haproxy_network(a, c->values[i]);
	t->value = criterion_values(a, c, t);
	if (c->converted)
		return;
	if (t->value[0] == '\0' || (c->match[0] != '\0' && strcmp(c->match, "ip") != 0))
		term_other(a, t, "an address that is not compared with networks");
}

/* A hello of a client has type 1; the other types are nothing that a client begins with. */
static void take_hello(struct arena *a, const struct criterion *c, struct term *t)
{
	const char *value = c->count > 0 ? c->values[0] : "";

	t->kind = TERM_TLS;
	if (c->converted || strcmp(c->match, "found") == 0)
		return;
	if (c->count != 1 || c->op[0] == 'l' || strcmp(value, strcmp(c->op, "gt") == 0 ? "0" : "1") != 0)
		term_other(a, t, "a type of hello that is not a client's");
}

/* Is each value as long as the bytes that "(0,LENGTH)" takes? Only then can it be equal to them. */
static bool compares_first_bytes(const struct criterion *c, size_t chars_per_byte)
{
	const bool first = strncmp(c->argument, "0,", 2) == 0;
	const unsigned long bytes = first ? strtoul(c->argument + 2, NULL, 10) : 0;

	if (c->converted || c->count == 0 || c->file_count > 0)
		return false;
	for (size_t i = 0; i < c->count; i++)
		if (strlen(c->values[i]) != bytes * chars_per_byte)
			return false;
	return true;
}

/* Do the values say that it is TLS: a record of a handshake, of the version that clients begin with? */
static bool begins_as_tls(const struct criterion *c)
{
	bool found = false;

	if (strcmp(c->match, "bin") != 0 || !compares_first_bytes(c, 2))
		return false;
	for (size_t i = 0; i < c->count; i++) {
		if (strncmp(c->values[i], "16", 2) != 0)
			return false;
		found = found || strncmp("160301", c->values[i], strlen(c->values[i])) == 0;
	}
	return found;
}

static void take_alpn(struct arena *a, const struct criterion *c, struct term *t)
{
	t->kind = TERM_ALPN;
	t->value = work_joined(a, c->values, c->count, ",");
	if (c->any_case)
		t->value = work_lower_case(a, t->value);
	if (c->match[0] != '\0' && strcmp(c->match, "str") != 0)
		term_other(a, t, "a part of a protocol's name: write the names, req.ssl_alpn h2");
	for (size_t i = 0; i < c->count; i++)
		if (strchr(c->values[i], ',') != NULL)
			term_other(a, t,
				   "HAProxy compares with one protocol of the client at a time, not with a "
				   "list");
	if (c->file_count > 0)
		term_other(a, t, "a file of protocols: write their names");
}

static void take_payload(struct arena *a, const struct criterion *c, struct term *t)
{
	const bool binary = c->count == 1 && strncasecmp(c->values[0], "5353482d", 8) == 0;
	const bool text = c->count == 1 && strncmp(c->values[0], "SSH-", 4) == 0 &&
			  strcmp(c->match, "str") == 0 && compares_first_bytes(c, 1);

	if (binary || text) {
		t->kind = TERM_SSH;
	} else if (begins_as_tls(c)) {
		t->kind = TERM_TLS;
		t->differs = "for a whole TLS hello, of every version: HAProxy compares its first bytes";
	} else {
		term_other(a, t, arena_printf(a, "'%s' is nothing that weir decides by", c->name));
	}
}

static void take_criterion(struct arena *a, struct criterion *c, struct term *t)
{
	if (strcmp(c->name, "src") == 0) {
		take_src(a, c, t);
	} else if (strcmp(c->name, "dst_port") == 0) {
		take_port(a, c, t);
	} else if (is_one_of(c->name, sni_names)) {
		criterion_take_sni(a, c, t);
	} else if (is_one_of(c->name, hello_names)) {
		take_hello(a, c, t);
	} else if (is_one_of(c->name, version_names)) {
		t->kind = TERM_TLS;
		t->differs = "for TLS of every version";
		if (c->converted || !haproxy_is_any_version(c->op, c->values, c->count))
			term_other(a, t,
				   "a version of TLS: weir takes all of them, { req.ssl_hello_type 1 }");
	} else if (is_one_of(c->name, length_names)) {
		t->kind = TERM_DATA;
		if (c->converted || !haproxy_is_any_length(c->op, c->values, c->count, &t->negated))
			term_other(a, t, "a number of bytes: weir can tell whether there are any");
	} else if (strcmp(c->name, "req.ssl_alpn") == 0) {
		take_alpn(a, c, t);
	} else if (strcmp(c->name, "req.proto_http") == 0 || strcmp(c->name, "req_proto_http") == 0) {
		t->kind = TERM_HTTP;
	} else if (is_one_of(c->name, payload_names)) {
		take_payload(a, c, t);
	} else if (is_one_of(c->name, rdp_names)) {
		t->kind = TERM_RDP;
	} else if (strcmp(c->name, "nbsrv") == 0 && c->count == 1 &&
		   ((strcmp(c->op, "lt") == 0 && strcmp(c->values[0], "1") == 0) ||
		    (strcmp(c->op, "lt") != 0 && c->op[0] != 'g' && strcmp(c->values[0], "0") == 0))) {
		t->kind = TERM_NONE_UP;
		t->name = c->argument;
	} else if (strcmp(c->name, "nbsrv") == 0 && c->count == 1 &&
		   ((strcmp(c->op, "gt") == 0 && strcmp(c->values[0], "0") == 0) ||
		    (strcmp(c->op, "ge") == 0 && strcmp(c->values[0], "1") == 0))) {
		t->kind = TERM_NONE_UP;
		t->negated = true;
		t->name = c->argument;
	} else if (is_one_of(c->name, rate_names)) {
		take_number(a, c, t, TERM_RATE);
	} else if (is_one_of(c->name, open_names)) {
		take_number(a, c, t, TERM_OPEN);
	} else if (strcmp(c->name, "always_true") == 0 || strcmp(c->name, "wait_end") == 0) {
		t->kind = TERM_TRUE;
		t->differs = c->name[0] == 'w' ? HAPROXY_AT_ONCE : NULL;
	} else if (strcmp(c->name, "always_false") == 0) {
		t->kind = TERM_FALSE;
	} else if (strncmp(c->name, "ssl_fc", 6) == 0 || strncmp(c->name, "ssl_c_", 6) == 0 ||
		   strncmp(c->name, "ssl_f_", 6) == 0) {
		/* Of those whose TLS HAProxy terminates, and they are not ours. */
		t->kind = TERM_FALSE;
		t->value = "it is for clients whose TLS is terminated: weir passes it through";
	} else {
		term_other(a, t, arena_printf(a, "'%s' is nothing that weir decides by", c->name));
	}
}

bool haproxy_predefined(const char *name, struct term *t)
{
	static const struct {
		const char *name;
		enum term_kind kind;
	} known[] = {{"TRUE", TERM_TRUE}, {"FALSE", TERM_FALSE},      {"WAIT_END", TERM_TRUE},
		     {"HTTP", TERM_HTTP}, {"REQ_CONTENT", TERM_DATA}, {"RDP_COOKIE", TERM_RDP}};

	if (strcmp(name, "LOCALHOST") == 0) {
		t->kind = TERM_SRC;
		t->value = "127.0.0.0/8,::1";
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strcmp(name, known[i].name) != 0)
			continue;
		t->kind = known[i].kind;
		t->differs = name[0] == 'W' ? HAPROXY_AT_ONCE : NULL;
		return true;
	}
	return false;
}

/* Looks into the files: a network that weir refuses would keep it from starting. */
static void take_files(struct haproxy *h, const struct criterion *c, struct term *t)
{
	const char *why = NULL;

	for (size_t i = 0; i < c->file_count && why == NULL && t->kind == TERM_SRC; i++)
		why = haproxy_network_file_refused(h, c->files[i]);
	if (why != NULL)
		term_other(h->arena, t, why);
}

struct term *haproxy_term(struct haproxy *h, const struct proxy *p, const char *const *words, size_t count,
			  struct old_line *acl)
{
	struct term *t = arena_alloc(h->arena, sizeof(*t));
	struct criterion c;
	const char *sample = haproxy_sample_of(h, p, words[0]);

	read_criterion(h->arena, words, count, &c);
	if (sample != NULL && !c.converted) {
		const char **known = arena_alloc(h->arena, count * sizeof(*known));

		memcpy(known, words, count * sizeof(*known));
		known[0] = sample;
		read_criterion(h->arena, known, count, &c);
	}
	t->acl = acl;
	t->name = "";
	if (!take_name_files(h, &c)) {
		t->kind = TERM_FALSE;
		t->value = "its file has no names";
		return t;
	}
	take_criterion(h->arena, &c, t);
	if (c.converted && t->kind != TERM_OTHER)
		term_other(h->arena, t, "a converter of HAProxy");
	take_files(h, &c, t);
	return t;
}
