/* SPDX-License-Identifier: MIT
 *
 * haproxy_check.c - health checks: `option ...-check`, tcp-check, http-check, external-check.
 *
 * Main thread.
 */
#include <stdlib.h>
#include <string.h>

#include "haproxy.h"
#include "weir/base/check.h"
#include "weir/base/digit.h"

/* A check line while it is put together. */
struct checker {
	struct haproxy *h;
	struct proxy *p;
	const struct checking *c;
	const char *text;
	bool is_exec;
};

static const char *quoted(struct checker *k, const char *bytes)
{
	return ini_quote(k->h->arena, bytes, strlen(bytes));
}

static void append(struct checker *k, const char *more)
{
	k->text = ini_join(k->h->arena, k->text, more);
}

/* ---- tcp-check ---- */

static bool says(const struct old_line *line, size_t at, const char *word)
{
	return strcmp(old_word(line, at), word) == 0;
}

/* "role:master" after "info replication": a question that weir knows. */
static const char *redis_role(const struct old_lines *rules)
{
	const char *role = "";
	bool ping = false;

	for (size_t i = 0; i < rules->count; i++) {
		const struct old_line *line = rules->list[i];
		const char *text = old_word(line, line->count - 1);

		ping = ping || (says(line, 1, "send") && strncmp(text, "PING", 4) == 0);
		if (says(line, 1, "expect") && strcmp(text, "role:master") == 0)
			role = " role=master";
		if (says(line, 1, "expect") && strcmp(text, "role:slave") == 0)
			role = " role=replica";
	}
	return ping || role[0] != '\0' ? role : NULL;
}

static const char *from_hex(struct arena *a, const char *text)
{
	const char *out = "\"";

	for (; text[0] != '\0' && text[1] != '\0'; text += 2)
		out = arena_printf(a, "%s\\x%.2s", out, text);
	return arena_printf(a, "%s\"", out);
}

static bool is_plain_pattern(const char *text)
{
	return strpbrk(text, "^$.*+?()[]{}|\\") == NULL;
}

static void take_expect(struct checker *k, struct old_line *line)
{
	const bool negated = says(line, 2, "!");
	size_t at = negated ? 3 : 2;
	const char *kind, *value;

	while (strcmp(old_word(line, at), "comment") == 0 || strcmp(old_word(line, at), "min-recv") == 0)
		at += 2;
	kind = old_word(line, at);
	value = old_word(line, at + 1);
	if (strcmp(kind, "rstring") == 0 && is_plain_pattern(value))
		kind = "string";
	if (strcmp(kind, "string") == 0)
		append(k, arena_printf(k->h->arena, "expect=%s%s", negated ? "!" : "", quoted(k, value)));
	else if (strcmp(kind, "binary") == 0)
		append(k, arena_printf(k->h->arena, "expect=%s%s", negated ? "!" : "",
				       from_hex(k->h->arena, value)));
	else
		old_set(k->h->arena, line, OLD_LOST, "weir expects texts, not regular expressions");
}

static void take_connect(struct checker *k, struct old_line *line, const char **port)
{
	for (size_t i = 2; i < line->count; i++) {
		if (says(line, i, "port") && *port == NULL)
			*port = old_word(line, ++i);
		else if (says(line, i, "port") || says(line, i, "addr"))
			old_set(k->h->arena, line, OLD_LOST,
				"a health check of weir has one connection; make a second section for '%s'",
				old_word(line, i + 1));
		else if (says(line, i, "ssl") || says(line, i, "send-proxy"))
			old_set(k->h->arena, line, OLD_LOST, "'%s' of tcp-check connect", line->words[i]);
	}
}

/* A password that would stand in the result. */
static bool has_secret(const struct old_line *line)
{
	return strstr(line->shown, "***") != NULL;
}

/* A check that logs in: nothing behind the login would be answered, so weir asks whether the server is alive.
 */
static bool take_login_rules(struct checker *k, const struct old_lines *rules)
{
	bool found = false;

	for (size_t i = 0; i < rules->count; i++)
		found = found ||
			(strcmp(rules->list[i]->words[0], "tcp-check") == 0 && has_secret(rules->list[i]));
	for (size_t i = 0; i < rules->count && found; i++)
		old_set(k->h->arena, rules->list[i], OLD_LOST,
			has_secret(rules->list[i])
			    ? "a password would stand in the file: weir does not log in"
			    : "the check does not log in, and asks less");
	if (found)
		k->text = redis_role(rules) != NULL ? "redis" : "tcp";
	return found;
}

static void take_tcp_rules(struct checker *k, const struct old_lines *rules)
{
	const char *role = redis_role(rules), *port = NULL;

	if (take_login_rules(k, rules))
		return;
	if (role != NULL) {
		k->text = arena_printf(k->h->arena, "redis%s", role);
		for (size_t i = 0; i < rules->count; i++)
			old_set(k->h->arena, rules->list[i], OLD_CARRIED, NULL);
		return;
	}
	k->text = "";
	for (size_t i = 0; i < rules->count; i++) {
		struct old_line *line = rules->list[i];

		old_set(k->h->arena, line, OLD_CARRIED, NULL);
		if (strcmp(line->words[0], "tcp-check") != 0) {
			old_set(k->h->arena, line, OLD_NO_EFFECT, "the check is not by HTTP");
		} else if (says(line, 1, "connect")) {
			take_connect(k, line, &port);
		} else if (says(line, 1, "send")) {
			append(k, arena_printf(k->h->arena, "send %s", quoted(k, old_word(line, 2))));
		} else if (says(line, 1, "send-binary")) {
			append(k, arena_printf(k->h->arena, "send %s",
					       from_hex(k->h->arena, old_word(line, 2))));
		} else if (says(line, 1, "expect")) {
			take_expect(k, line);
		} else if (!says(line, 1, "comment")) {
			old_set(k->h->arena, line, OLD_LOST, "'tcp-check %s'", old_word(line, 1));
		}
	}
	if (k->text[0] == '\0')
		k->text = "tcp";
	if (port != NULL)
		append(k, arena_printf(k->h->arena, "port=%s", port));
}

/* ---- http ---- */

struct http {
	const char *method;
	const char *path;
	const char *host;
	const char *expect;
	bool soft_stop;
};

/* "HTTP/1.1\r\nHost:\ www": headers that old files put behind the version. */
static const char *host_inside(struct arena *a, const char *text)
{
	const char *at = strcasestr(text, "host:");

	if (at == NULL)
		return NULL;
	at += 5;
	at += strspn(at, " ");
	return arena_strndup(a, at, strcspn(at, "\r\n "));
}

static void take_option(struct checker *k, struct http *http)
{
	const struct slot_value *s = &k->p->slots[SLOT_CHECK];
	const char *first = old_word(s->line, s->at), *second = old_word(s->line, s->at + 1);

	if (second[0] != '\0') {
		http->method = first;
		http->path = second;
	} else if (first[0] != '\0') {
		http->path = first;
	}
	for (size_t i = s->at + 2; i < s->line->count; i++)
		if (host_inside(k->h->arena, s->line->words[i]) != NULL)
			http->host = host_inside(k->h->arena, s->line->words[i]);
}

static void take_send(struct checker *k, struct old_line *line, struct http *http)
{
	for (size_t i = 2; i < line->count; i += 2) {
		const char *value = old_word(line, i + 1);

		if (says(line, i, "meth"))
			http->method = value;
		else if (says(line, i, "uri"))
			http->path = value;
		else if (says(line, i, "hdr") && strcasecmp(value, "host") == 0)
			http->host = old_word(line, i + 2);
		else if (!says(line, i, "ver") && !says(line, i, "hdr"))
			old_set(k->h->arena, line, OLD_LOST, "'%s' of http-check send", line->words[i]);
		if (says(line, i, "hdr")) {
			if (strcasecmp(value, "host") != 0)
				old_set(k->h->arena, line, OLD_LOST,
					"a header of a check: weir sends Host alone");
			i++;
		}
	}
}

/* "^[23]" or "^(2|3)..": the ranges of whole hundreds that weir knows; NULL: another pattern. */
static const char *status_pattern(struct arena *a, const char *text)
{
	const char *out = "";

	if (*text == '^')
		text++;
	if (*text != '[' && *text != '(' && !is_digit(*text))
		return NULL;
	for (; *text != '\0' && strchr("[(])|", *text) != NULL; text++)
		;
	for (; is_digit(*text) || *text == '|'; text++)
		if (is_digit(*text))
			out = arena_printf(a, "%s%s%c00-%c99", out, out[0] != '\0' ? "," : "", *text, *text);
	return text[strspn(text, "])..0-9d\\$?:*")] == '\0' ? out : NULL;
}

static void take_http_expect(struct checker *k, struct old_line *line, struct http *http)
{
	const bool negated = says(line, 2, "!");
	const size_t at = negated ? 3 : 2;
	const char *value = old_word(line, at + 1), *ranges;

	if (says(line, at, "status") && !negated) {
		http->expect = value;
	} else if (says(line, at, "rstatus") && !negated &&
		   (ranges = status_pattern(k->h->arena, value)) != NULL) {
		http->expect = ranges;
	} else if (says(line, at, "string") || (says(line, at, "rstring") && is_plain_pattern(value))) {
		http->expect = arena_printf(k->h->arena, "%s%s", negated ? "!" : "", quoted(k, value));
	} else {
		old_set(k->h->arena, line, OLD_LOST,
			"weir expects ranges of statuses, or a text: expect=200-399 or expect=TEXT");
	}
}

static void take_http_rule(struct checker *k, struct old_line *line, struct http *http)
{
	old_set(k->h->arena, line, OLD_CARRIED, NULL);
	if (strcmp(line->words[0], "http-check") != 0)
		old_set(k->h->arena, line, OLD_NO_EFFECT, "the check is by HTTP");
	else if (strstr(line->shown, "***") != NULL)
		old_set(k->h->arena, line, OLD_LOST, "a password would be in the file");
	else if (says(line, 1, "expect"))
		take_http_expect(k, line, http);
	else if (says(line, 1, "send"))
		take_send(k, line, http);
	else if (says(line, 1, "disable-on-404"))
		http->soft_stop = true;
	else if (!says(line, 1, "connect") || line->count > 2)
		old_set(k->h->arena, line, OLD_LOST, "'http-check %s'", old_word(line, 1));
}

static void take_http(struct checker *k, const struct old_lines *rules)
{
	struct http http = {.method = "OPTIONS", .path = "/"};
	struct arena *a = k->h->arena;

	take_option(k, &http);
	if (old_secret(http.path) != NULL) {
		old_set(a, k->p->slots[SLOT_CHECK].line, OLD_LOST, "a password would be in the file");
		http.path = "/";
	}
	for (size_t i = 0; i < rules->count; i++)
		take_http_rule(k, rules->list[i], &http);
	k->text = arena_printf(a, "http%s %s %s", k->c->tls != NULL ? "s" : "", http.method, http.path);
	if (http.host != NULL)
		append(k, arena_printf(a, "host=%s", http.host));
	if (http.expect != NULL)
		append(k, arena_printf(a, "expect=%s", http.expect));
	if (http.soft_stop)
		append(k, "soft-stop=404");
}

/* ---- the others ---- */

static void take_login(struct checker *k, const char *name)
{
	const struct slot_value *s = &k->p->slots[SLOT_CHECK];
	const bool user = says(s->line, s->at, "user");

	k->text = user ? arena_printf(k->h->arena, "%s user=%s", name, old_word(s->line, s->at + 1)) : name;
}

static void take_exec(struct checker *k)
{
	const char *command = slot_word(k->p, SLOT_COMMAND, 0), *path = slot_word(k->p, SLOT_COMMAND_PATH, 0);

	k->text = arena_printf(k->h->arena, "exec %s", command);
	if (path[0] != '\0')
		append(k, arena_printf(k->h->arena, "path=%s", path));
	for (enum slot s = SLOT_COMMAND; s <= SLOT_COMMAND_PATH; s++)
		if (slot_on(k->p, s))
			old_set(k->h->arena, k->p->slots[s].line, OLD_CARRIED, NULL);
	k->is_exec = true;
	k->h->exec = true;
}

static void take_by_name(struct checker *k, const char *name, const struct old_lines *rules)
{
	const char *domain = slot_word(k->p, SLOT_CHECK, 1);

	if (strcmp(name, "httpchk") == 0) {
		take_http(k, rules);
	} else if (strcmp(name, "tcp-check") == 0) {
		take_tcp_rules(k, rules);
	} else if (strcmp(name, "ssl-hello-chk") == 0) {
		k->text = "tls";
	} else if (strcmp(name, "mysql-check") == 0) {
		take_login(k, "mysql");
	} else if (strcmp(name, "pgsql-check") == 0) {
		take_login(k, "pgsql");
	} else if (strcmp(name, "redis-check") == 0) {
		k->text = "redis";
	} else if (strcmp(name, "ldap-check") == 0) {
		k->text = "ldap";
	} else if (strcmp(name, "smtpchk") == 0) {
		k->text = domain[0] != '\0' ? arena_printf(k->h->arena, "smtp %s %s",
							   slot_word(k->p, SLOT_CHECK, 0), domain)
					    : "smtp";
	} else if (strcmp(name, "external-check") == 0) {
		take_exec(k);
	}
}

static void add_tls_words(struct checker *k)
{
	if (k->c->tls == NULL || (strncmp(k->text, "https", 5) != 0 && strncmp(k->text, "tls", 3) != 0))
		return;
	if (k->c->sni != NULL)
		append(k, arena_printf(k->h->arena, "sni=%s", k->c->sni));
	if (k->c->alpn != NULL)
		append(k, arena_printf(k->h->arena, "alpn=%s", k->c->alpn));
	append(k, arena_printf(k->h->arena, "verify=%s", k->c->verify != NULL ? k->c->verify : "system"));
}

/* HAProxy ends a program after `inter`, or after `timeout connect` if there is a `timeout check`; that one is
 * no limit of its own (extcheck.c). */
static void add_timeout(struct checker *k)
{
	struct proxy *p = k->p;

	if (!slot_on(p, SLOT_CHECK_TIME))
		return;
	if (!k->is_exec) {
		slot_add(k->h, p, SLOT_CHECK_TIME, "check-timeout",
			 work_duration(k->h->arena, slot_ms(k->h, p, SLOT_CHECK_TIME)));
		return;
	}
	old_set(k->h->arena, p->slots[SLOT_CHECK_TIME].line, OLD_CARRIED, NULL);
	if (slot_ms(k->h, p, SLOT_CONNECT) > 0 && slot_ms(k->h, p, SLOT_CONNECT) < k->c->interval_ms)
		ini_add(k->h->ini, p->out, NULL, "check-timeout", "%s",
			work_duration(k->h->arena, slot_ms(k->h, p, SLOT_CONNECT)));
}

void haproxy_check(struct haproxy *h, struct proxy *p, const struct checking *c)
{
	struct checker k = {.h = h, .p = p, .c = c, .text = c->tls != NULL ? "tls" : "tcp"};
	const struct slot_value *s = &p->slots[SLOT_CHECK];
	struct ini_line *line;

	if (slot_on(p, SLOT_CHECK))
		take_by_name(&k, s->line->words[s->at - 1], &p->lists[LIST_CHECK]);
	add_tls_words(&k);
	if (c->proxy != NULL)
		append(&k, arena_printf(h->arena, "proxy=%s", c->proxy));
	line = ini_add(h->ini, p->out, slot_on(p, SLOT_CHECK) ? s->line : NULL, "check", "%s", k.text);
	if (line->from == NULL)
		line->from = c->line;
	/* Programs and certificates are those of the target machine. */
	if (k.is_exec || strstr(k.text, "verify=/") != NULL)
		line->stand_in = "tcp";
	add_timeout(&k);
}
