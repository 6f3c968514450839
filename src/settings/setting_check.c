/* SPDX-License-Identifier: MIT
 *
 * setting_check.c - `check`: health checks of servers, parsed and printed.
 *
 *	off | tcp | proxy | http [METHOD] PATH [host= expect= soft-stop=] |
 *	https [METHOD] PATH [host= expect= soft-stop= sni= verify=] | tls [sni= alpn= verify=] |
 *	[expect=TEXT] [send TEXT expect=TEXT]... | redis [role=] | pgsql user= [database= role=] |
 *	mysql [user=] | ldap | smtp [EHLO NAME] | exec PROGRAM [ARG...] [path=]
 *
 * Rejects text that an HTTP request cannot contain, and words of another kind of check. Main thread.
 */
#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/values.h"
#include "setting.h"

/* A `check` must fit on a line of -T even if each byte is printed as \xHH. */
#define STEPS_MAX	16
#define STEP_BYTES_MAX	900
#define PATH_BYTES_MAX	512
#define METHOD_BYTES_MAX 16
#define RANGES_MAX	32
#define STATUS_MIN	100
#define STATUS_MAX	599

#define TOKEN "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* A text may be any bytes, but these were meant as a keyword: 'send expect=220' would send "expect=220". */
static bool is_word_of_ours(const char *text)
{
	return strncmp(text, "expect=", strlen("expect=")) == 0 ||
	       strncmp(text, "send=", strlen("send=")) == 0;
}

static int no_word_as_text(const struct setting *s, const struct word *text)
{
	if (!is_word_of_ours(text->text))
		return 0;
	diag_error(s->diag, DIAG_BAD_VALUE, text->at, "the text of '%s' cannot begin with '%.*s'",
		   s->option->key, (int)strcspn(text->text, "=") + 1, text->text);
	diag_hint(s->diag,
		  "when the server speaks first, write check = expect=TEXT send TEXT; if these letters are "
		  "meant literally, begin the text with \\x%02x",
		  (unsigned)(unsigned char)text->text[0]);
	return -EINVAL;
}

/* Adds a step: the text of the word, after the '!' of `negate`. */
static int add_step(const struct setting *s, struct config_check *c, bool expect, bool negate)
{
	const struct word *w = &s->words.list[0];
	struct word text = word_part(s->diag, w, negate ? 1 : 0, w->len);
	struct config_check_step step = {.expect = expect, .negate = negate};
	size_t sum = 0;

	if (no_word_as_text(s, &text) != 0 || setting_unescape(s, &text, &step.bytes, &step.len) != 0)
		return -EINVAL;
	if (step.len == 0)
		return setting_bad(s, w, 0, "is empty");
	for (size_t i = 0; i < c->step_count; i++)
		sum += c->steps[i].len;
	if (c->step_count == STEPS_MAX || sum + step.len > STEP_BYTES_MAX) {
		diag_error(s->diag, DIAG_TOO_LONG, w->at, "a check has at most %d steps and %d bytes in all",
			   STEPS_MAX, STEP_BYTES_MAX);
		return -EINVAL;
	}
	c->steps = arena_grow(s->diag->arena, c->steps, c->step_count, sizeof(step));
	c->steps[c->step_count++] = step;
	return 0;
}

int setting_validate_kind(const struct setting *s, bool right, const char *kind)
{
	if (right)
		return 0;
	diag_error(s->diag, DIAG_CONFLICT, s->words.list[0].at, "'%s' is for %s", s->option->key, kind);
	diag_hint(s->diag, "leave it out, or see 'weir help check'");
	return -EINVAL;
}

int setting_parse_check_send(const struct setting *s, void *field)
{
	struct config_check *c = s->base;

	(void)field; /* the whole check */
	if (setting_validate_kind(s, c->kind == CONFIG_CHECK_SEND, "'check = send TEXT'") != 0)
		return -EINVAL;
	return add_step(s, c, false, false);
}

/* "200" or "200-299" up to the comma; -EINVAL without reporting. */
static int take_range(const char *text, size_t len, struct config_status_range *range)
{
	const char *dash = memchr(text, '-', len);
	size_t first_len = dash != NULL ? (size_t)(dash - text) : len;
	uint64_t ends[2];

	if (first_len != 3 || (dash != NULL && len != 7))
		return -EINVAL;
	for (size_t i = 0; i < 2; i++) {
		const char *digits = i == 0 || dash == NULL ? text : dash + 1;

		if (strspn(digits, "0123456789") < 3)
			return -EINVAL;
		ends[i] = (uint64_t)((digits[0] - '0') * 100 + (digits[1] - '0') * 10 + (digits[2] - '0'));
	}
	*range = (struct config_status_range){(uint16_t)ends[0], (uint16_t)ends[1]};
	return 0;
}

static bool looks_like_statuses(const char *text)
{
	return text[0] >= '0' && text[0] <= '9' && text[strspn(text, "0123456789-,")] == '\0';
}

static int take_statuses(const struct setting *s, struct config_check *c)
{
	const struct word *w = &s->words.list[0];

	for (size_t at = 0; at <= w->len;) {
		size_t len = strcspn(w->text + at, ",");
		struct config_status_range r = {0};

		if (take_range(w->text + at, len, &r) != 0 || r.first > r.last || r.first < STATUS_MIN ||
		    r.last > STATUS_MAX || c->status_count == RANGES_MAX) {
			struct word part = word_part(s->diag, w, at, len);

			diag_error(s->diag, DIAG_BAD_VALUE, part.at, "'%s' is not an HTTP status, %d to %d",
				   part.text, STATUS_MIN, STATUS_MAX);
			diag_hint(s->diag, "write expect=200 or expect=200-299,301; of a text, write its "
					   "first byte as \\xHH");
			return -EINVAL;
		}
		c->statuses = arena_grow(s->diag->arena, c->statuses, c->status_count, sizeof(r));
		c->statuses[c->status_count++] = r;
		at += len + 1;
	}
	return 0;
}

static int take_body(const struct setting *s, struct config_check *c)
{
	const struct word *w = &s->words.list[0];
	uint8_t *bytes = NULL;
	size_t len = 0;

	if (strcmp(c->method, "HEAD") == 0) {
		diag_error(s->diag, DIAG_CONFLICT, w->at, "an answer to HEAD has no body");
		diag_hint(s->diag, "write GET, or a status: expect=200-299");
		return -EINVAL;
	}
	if (w->text[0] >= '0' && w->text[0] <= '9') {
		diag_error(s->diag, DIAG_BAD_VALUE, w->at, "'%s' is not an HTTP status", w->text);
		diag_hint(s->diag, "write expect=200-299; of a text that begins with a digit, its first byte "
				   "as \\xHH");
		return -EINVAL;
	}
	if (w->text[0] == '!') {
		diag_error(s->diag, DIAG_CONFLICT, w->at, "'!' is for 'check = send'");
		diag_hint(s->diag, "write what a good answer contains, or its status: expect=200");
		return -EINVAL;
	}
	if (no_word_as_text(s, w) != 0 || setting_unescape(s, w, &bytes, &len) != 0)
		return -EINVAL;
	if (strlen((const char *)bytes) != len) {
		diag_error(s->diag, DIAG_BAD_VALUE, w->at, "a text in an HTTP answer has no \\0");
		return -EINVAL;
	}
	c->body = (char *)bytes;
	return 0;
}

int setting_parse_check_expect(const struct setting *s, void *field)
{
	struct config_check *c = s->base;
	const char *text = s->words.list[0].text;
	bool status = looks_like_statuses(text), http = c->kind == CONFIG_CHECK_HTTP;

	(void)field; /* the whole check */
	if (setting_validate_kind(s, http || c->kind == CONFIG_CHECK_SEND,
				  "'check = http' and 'check = send'") != 0)
		return -EINVAL;
	if (!http)
		return add_step(s, c, true, text[0] == '!');
	if (status ? c->status_count > 0 : c->body != NULL) {
		diag_error(s->diag, DIAG_DUPLICATE, s->words.list[0].at, "'expect' has %s already",
			   status ? "a status" : "a text");
		diag_hint(s->diag, status ? "write expect=200-299,301" : "leave one of them out");
		return -EINVAL;
	}
	return status ? take_statuses(s, c) : take_body(s, c);
}

int setting_parse_check_status(const struct setting *s, void *field)
{
	const struct config_check *c = s->base;
	const struct word *w = &s->words.list[0];
	struct config_status_range r = {0};
	unsigned status;

	if (setting_validate_kind(s, c->kind == CONFIG_CHECK_HTTP, "'check = http'") != 0)
		return -EINVAL;
	if (w->len != 3 || take_range(w->text, w->len, &r) != 0 || r.first < STATUS_MIN ||
	    r.first > STATUS_MAX) {
		diag_error(s->diag, DIAG_BAD_VALUE, w->at, "'%s' is not an HTTP status, %d to %d", w->text,
			   STATUS_MIN, STATUS_MAX);
		diag_hint(s->diag, "write soft-stop=404");
		return -EINVAL;
	}
	status = r.first;
	memcpy(field, &status, sizeof(status));
	return 0;
}

void setting_print_check_status(const void *field, const struct option *option, FILE *out)
{
	unsigned status;

	(void)option; /* there is one row */
	memcpy(&status, field, sizeof(status));
	fprintf(out, "%u", status);
}

int setting_parse_check_host(const struct setting *s, void *field)
{
	const struct config_check *c = s->base;
	const struct word *w = &s->words.list[0];
	char *host = arena_strndup(s->diag->arena, w->text, w->len);

	if (setting_validate_kind(s, c->kind == CONFIG_CHECK_HTTP, "'check = http'") != 0)
		return -EINVAL;
	if (strspn(host, TOKEN "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]") != w->len || w->len > 255) {
		(void)setting_bad(s, w, 0, "is not a host name");
		diag_hint(s->diag, "write host=www.example.com, with :PORT after it if necessary");
		return -EINVAL;
	}
	memcpy(field, &host, sizeof(host));
	return 0;
}

/* Is it valid in a request line? "*" is the server itself, only for OPTIONS (RFC 9112, 3.2.4). */
static bool is_path(const char *method, const struct word *w)
{
	if (strcmp(w->text, "*") == 0)
		return strcmp(method, "OPTIONS") == 0;
	for (size_t i = 0; i < w->len; i++) {
		if (w->text[i] <= 0x20 || w->text[i] == 0x7f)
			return false;
	}
	return w->text[0] == '/' && w->len <= PATH_BYTES_MAX;
}

static bool is_check_word(struct arena *a, const struct word *w)
{
	return option_find(IN_CHECK, arena_strndup(a, w->text, strcspn(w->text, "="))).option != NULL;
}

/* "[METHOD] PATH" at word 1; how many words, or -EINVAL after reporting. */
static int take_request(const struct setting *s, struct config_check *c)
{
	struct arena *a = s->diag->arena;
	const struct word *w = &s->words.list[1];
	size_t left = s->words.count - 1;
	int taken = 0;

	c->method = arena_printf(a, "GET");
	c->path = arena_printf(a, "/");
	if (left > 0 && w->len > 0 && w->len <= METHOD_BYTES_MAX && strspn(w->text, TOKEN) == w->len) {
		c->method = arena_strndup(a, w->text, w->len);
		w++;
		left--;
		taken++;
	}
	/* Without a path, what follows is a word such as expect=200. */
	if (left == 0 || (w->text[0] != '/' && is_check_word(a, w)))
		return taken;
	if (!is_path(c->method, w)) {
		diag_error(s->diag, DIAG_BAD_VALUE, w->at, "'%s' is not an HTTP path", w->text);
		diag_hint(s->diag,
			  "write check = http GET /health: a path begins with '/', has no blanks and at most "
			  "%d bytes; '*' is for OPTIONS",
			  PATH_BYTES_MAX);
		return -EINVAL;
	}
	c->path = arena_strndup(a, w->text, w->len);
	return taken + 1;
}

/* "send TEXT" is one option in two words. */
static struct words join_sends(const struct setting *s)
{
	struct words joined = {arena_alloc(s->diag->arena, s->words.count * sizeof(struct word)), 0};

	for (size_t i = 0; i < s->words.count; i++) {
		const struct word *w = &s->words.list[i];
		bool pair = (strcmp(w->text, "send") == 0 || strcmp(w->text, "expect") == 0) &&
			    i + 1 < s->words.count;

		joined.list[joined.count++] =
			pair ? word_joined(s->diag->arena, w, "=", &s->words.list[i + 1]) : *w;
		i += pair ? 1 : 0;
	}
	return joined;
}

/* Kinds that have their own word; CONFIG_CHECK_SEND starts with its first step. */
static const char *const kind_words[] = {
	[CONFIG_CHECK_OFF] = "off",
	[CONFIG_CHECK_TCP] = "tcp",
	[CONFIG_CHECK_HTTP] = "http",
	[CONFIG_CHECK_REDIS] = "redis",
	[CONFIG_CHECK_PGSQL] = "pgsql",
	[CONFIG_CHECK_TLS] = "tls",
	[CONFIG_CHECK_MYSQL] = "mysql",
	[CONFIG_CHECK_LDAP] = "ldap",
	[CONFIG_CHECK_SMTP] = "smtp",
	[CONFIG_CHECK_EXEC] = "exec",
};

/* Takes the kind of check from its first word; returns the number of words used, or -EINVAL after
 * reporting. */
static int take_kind(const struct setting *s, struct config_check *c)
{
	const struct word *w = &s->words.list[0];
	size_t len = strcspn(w->text, "=");

	for (size_t i = 0; i < ARRAY_LEN(kind_words); i++) {
		int taken = 0;

		if (kind_words[i] == NULL || strcmp(w->text, kind_words[i]) != 0)
			continue;
		c->kind = (enum config_check_kind)i;
		if (c->kind == CONFIG_CHECK_HTTP)
			taken = take_request(s, c);
		else if (c->kind == CONFIG_CHECK_SMTP)
			taken = setting_take_hello(s, c);
		else if (c->kind == CONFIG_CHECK_EXEC)
			taken = setting_take_program(s, c);
		return taken < 0 ? taken : taken + 1;
	}
	if (strcmp(w->text, "https") == 0) {
		const int taken = take_request(s, c);

		c->kind = CONFIG_CHECK_HTTP;
		c->tls = true;
		return taken < 0 ? taken : taken + 1;
	}
	if (len == strlen("proxy") && memcmp(w->text, "proxy", len) == 0) {
		c->kind = CONFIG_CHECK_TCP;
		return 0;
	}
	if ((len == strlen("send") && memcmp(w->text, "send", len) == 0) ||
	    (len == strlen("expect") && memcmp(w->text, "expect", len) == 0)) {
		c->kind = CONFIG_CHECK_SEND;
		return 0;
	}
	diag_error(s->diag, DIAG_BAD_VALUE, w->at, "'check' cannot be '%s'", w->text);
	diag_hint(s->diag, "write off, tcp, http GET /PATH, send TEXT expect=TEXT, expect=TEXT, redis, "
			   "pgsql user=NAME, https GET /PATH, tls, mysql, ldap, smtp, exec PROGRAM, or "
			   "proxy");
	return -EINVAL;
}

/* The login of PostgreSQL begins with a name. */
static int validate_user(const struct setting *s, const struct config_check *c)
{
	if (c->kind != CONFIG_CHECK_PGSQL || c->user != NULL)
		return 0;
	diag_error(s->diag, DIAG_NO_VALUE, s->words.list[0].at, "'check = pgsql' needs a user");
	diag_hint(s->diag, "write check = pgsql user=NAME");
	return -EINVAL;
}

/* Any answer at all, or none, would make the server up. */
static void warn_of_no_expect(const struct setting *s, const struct config_check *c)
{
	for (size_t i = 0; i < c->step_count; i++)
		if (c->steps[i].expect)
			return;
	if (c->kind != CONFIG_CHECK_SEND)
		return;
	diag_warning(s->diag, DIAG_NO_EFFECT, s->words.list[0].at,
		     "this check sends text but expects no answer: it passes whenever a connect succeeds");
	diag_hint(s->diag, "add the expected answer, expect=TEXT, or write check = tcp");
}

int setting_parse_check(const struct setting *s, void *field)
{
	struct config_check c = *(const struct config_check *)field;
	struct setting line = *s;
	int taken;

	/* Times and counts are separate options; everything else is reset. */
	c.port = 0;
	c.proxy = CONFIG_CHECK_PROXY_AUTO;
	c.method = c.path = c.host = c.body = c.user = c.database = c.hello = c.program = c.exec_path = NULL;
	c.args = NULL;
	c.role = CONFIG_CHECK_ROLE_ANY;
	c.sni = c.alpn = c.ca_file = NULL;
	c.tls = false;
	c.verify = CONFIG_CHECK_VERIFY_HELLO;
	c.trust = NULL;
	c.statuses = NULL;
	c.soft_stop = 0;
	c.steps = NULL;
	c.status_count = c.step_count = c.arg_count = 0;
	line.words = strcmp(s->words.list[0].text, "exec") == 0 ? setting_sort_program(s) : join_sends(s);
	line.base = &c;
	taken = take_kind(&line, &c);
	if (taken < 0)
		return taken;
	if (c.kind == CONFIG_CHECK_OFF && line.words.count > 1)
		return setting_bad(s, &line.words.list[1], 0, "is off and takes no words");
	if (setting_parse_words(&line, (size_t)taken, IN_CHECK) != 0 || validate_user(s, &c) != 0 ||
	    setting_finish_check_tls(s, &c) != 0)
		return -EINVAL;
	warn_of_no_expect(s, &c);
	memcpy(field, &c, sizeof(c));
	return 0;
}

/* Must its first byte be escaped, so that the text is not taken for something else? */
static bool is_taken_for_a_word(const uint8_t *bytes, size_t len)
{
	char text[sizeof("expect=")] = "";

	memcpy(text, bytes, len < sizeof(text) - 1 ? len : sizeof(text) - 1);
	return is_word_of_ours(text);
}

static void print_http(const struct config_check *c, FILE *out)
{
	fprintf(out, "%s%s %s ", kind_words[c->kind], c->tls ? "s" : "", c->method);
	words_print_quoted(c->path, out);
	for (size_t i = 0; i < c->status_count; i++) {
		fprintf(out, "%s%u", i > 0 ? "," : " expect=", c->statuses[i].first);
		if (c->statuses[i].last != c->statuses[i].first)
			fprintf(out, "-%u", c->statuses[i].last);
	}
	if (c->body == NULL)
		return;
	fputs(" expect=", out);
	setting_print_bytes_quoted((const uint8_t *)c->body, strlen(c->body),
				   c->body[0] == '!' || (c->body[0] >= '0' && c->body[0] <= '9') ||
					   is_word_of_ours(c->body), out);
}

static void print_steps(const struct config_check *c, FILE *out)
{
	for (size_t i = 0; i < c->step_count; i++) {
		const struct config_check_step *step = &c->steps[i];

		fprintf(out, "%s%s%s", i > 0 ? " " : "", step->expect ? "expect=" : "send ",
			step->negate ? "!" : "");
		setting_print_bytes_quoted(step->bytes, step->len,
					   (step->expect && !step->negate && step->bytes[0] == '!') ||
						   is_taken_for_a_word(step->bytes, step->len), out);
	}
}

void setting_print_check(const void *field, const struct option *option, FILE *out)
{
	const struct config_check *c = field;

	(void)option; /* there is one row */
	if (c->kind == CONFIG_CHECK_HTTP)
		print_http(c, out);
	else if (c->kind == CONFIG_CHECK_SEND)
		print_steps(c, out);
	else
		fputs(kind_words[c->kind], out);
	if (c->kind == CONFIG_CHECK_SMTP)
		setting_print_hello(c, out);
	if (c->kind == CONFIG_CHECK_EXEC)
		setting_print_program(c, out);
	setting_print_words(IN_CHECK, c, out);
}
