/* SPDX-License-Identifier: MIT
 *
 * check_http.c - health checks by HTTP: `option httpchk` and http-check.
 *
 * Main thread.
 */
#include <string.h>

#include "check.h"
#include "status.h"
#include "weir/base/check.h"

struct http {
	const char *method;
	const char *path;
	const char *host;
	const char *expect;
	bool soft_stop;
	bool begun;  /* a line of the first connection was there */
	bool sent;   /* a send line was there */
	bool second; /* a second connect line was there */
};

/* A header of a check: weir sends Host, and few servers look at the others here. */
static void take_header(struct checker *k, struct old_line *line, struct http *http, const char *name,
			const char *value)
{
	static const char *const harmless[] = {"user-agent",	  "accept",	   "accept-encoding",
					       "accept-language", "cache-control", "pragma"};

	if (strcasecmp(name, "host") == 0) {
		http->host = value;
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		if (strcasecmp(name, harmless[i]) == 0) {
			old_set(k->h->arena, line, OLD_DIFFERENT, "the check has no header '%s'",
				harmless[i]);
			return;
		}
	if (strcasecmp(name, "connection") != 0)
		old_set(k->h->arena, line, OLD_LOST, "a header of a check: weir sends Host alone");
}

/* "HTTP/1.1\r\nHost:\ www": headers that old files put behind the version. */
static void take_headers(struct checker *k, struct old_line *line, struct http *http, const char *text)
{
	struct arena *a = k->h->arena;

	while ((text = strchr(text, '\n')) != NULL) {
		const char *colon = strchr(++text, ':'), *value;

		if (colon == NULL)
			return;
		value = colon + 1 + strspn(colon + 1, " ");
		take_header(k, line, http, arena_strndup(a, text, (size_t)(colon - text)),
			    arena_strndup(a, value, strcspn(value, "\r\n ")));
	}
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
		take_headers(k, s->line, http, s->line->words[i]);
}

static void take_send(struct checker *k, struct old_line *line, struct http *http)
{
	if (http->sent) {
		old_set(k->h->arena, line, OLD_LOST, "a health check of weir has one request");
		return;
	}
	http->sent = true;
	for (size_t i = 2; i < line->count; i += 2) {
		const char *value = old_word(line, i + 1);

		if (check_says(line, i, "meth"))
			http->method = value;
		else if (check_says(line, i, "uri"))
			http->path = value;
		else if (check_says(line, i, "hdr"))
			take_header(k, line, http, value, old_word(line, ++i + 1));
		else if (!check_says(line, i, "ver"))
			old_set(k->h->arena, line, OLD_LOST, "'%s' of http-check send", line->words[i]);
	}
}

static void take_http_expect(struct checker *k, struct old_line *line, struct http *http)
{
	const bool negated = check_says(line, 2, "!");
	const size_t at = negated ? 3 : 2;
	const bool pattern = check_says(line, at, "rstatus");
	const char *value = old_word(line, at + 1), *ranges = NULL, *text = NULL;

	if (http->expect != NULL) {
		old_set(k->h->arena, line, OLD_LOST,
			"weir expects one thing, ranges of statuses or a text: this line is left out");
		return;
	}
	if (pattern || (negated && check_says(line, at, "status")))
		ranges = haproxy_statuses(k->h->arena, value, pattern, negated);
	if (check_says(line, at, "rstring"))
		text = check_text_of(k, line, value, negated);
	if (check_says(line, at, "status") && !negated) {
		http->expect = value;
	} else if (ranges != NULL) {
		http->expect = ranges;
	} else if (check_says(line, at, "string") || text != NULL) {
		http->expect = arena_printf(k->h->arena, "%s%s", negated ? "!" : "",
					    check_quoted(k, text != NULL ? text : value));
	} else {
		old_set(k->h->arena, line, OLD_LOST,
			"weir expects ranges of statuses, or a text: expect=200-399 or expect=TEXT");
	}
}

static void take_http_rule(struct checker *k, struct old_line *line, struct http *http)
{
	const bool is_step = strcmp(line->words[0], "http-check") == 0 &&
			     (check_says(line, 1, "connect") || check_says(line, 1, "send") ||
			      check_says(line, 1, "expect"));

	http->second = http->second || (is_step && http->begun && check_says(line, 1, "connect"));
	http->begun = http->begun || is_step;
	old_set(k->h->arena, line, OLD_CARRIED, NULL);
	if (strcmp(line->words[0], "http-check") != 0)
		old_set(k->h->arena, line, OLD_NO_EFFECT, "the check is by HTTP");
	else if (strstr(line->shown, "***") != NULL)
		old_set(k->h->arena, line, OLD_LOST, "a password would be in the file");
	else if (is_step && http->second)
		old_set(k->h->arena, line, OLD_LOST, "%s", check_second_connection);
	else if (check_says(line, 1, "expect"))
		take_http_expect(k, line, http);
	else if (check_says(line, 1, "send"))
		take_send(k, line, http);
	else if (check_says(line, 1, "disable-on-404"))
		http->soft_stop = true;
	else if (check_says(line, 1, "connect"))
		check_take_connect(k, line);
	else if (check_says(line, 1, "send-state"))
		old_set(k->h->arena, line, OLD_NO_EFFECT, "servers are not told their state");
	else if (!check_says(line, 1, "comment"))
		old_set(k->h->arena, line, OLD_LOST, "'http-check %s'", old_word(line, 1));
}

void check_take_http(struct checker *k, const struct old_lines *rules)
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
	k->text =
		arena_printf(a, "http%s %s %s", check_is_tls(k) ? "s" : "", http.method,
			     http.path);
	if (http.host != NULL)
		check_append(k, arena_printf(a, "host=%s", http.host));
	if (http.expect != NULL)
		check_append(k, arena_printf(a, "expect=%s", http.expect));
	if (http.soft_stop)
		check_append(k, "soft-stop=404");
	if (k->port != NULL)
		check_append(k, arena_printf(a, "port=%s", k->port));
}
