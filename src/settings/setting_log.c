/* SPDX-License-Identifier: MIT
 *
 * setting_log.c - `log`: one target with its words, parsed and printed; and which sessions are logged.
 *
 * A syslog server may be given by name: logging does not wait for a name server, but loses lines until there
 * is an address. Main thread.
 */
#include "setting.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/log_format.h"
#include "weir/config/suggest.h"
#include "weir/config/values.h"

#define FILE_PREFIX   "file:"
#define SYSLOG_PREFIX "syslog:"
#define SYSLOG_PORT   514

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The words that belong to this kind of target. */
static unsigned words_of(enum config_log_kind kind)
{
	return kind == CONFIG_LOG_SYSLOG ? IN_LOG | IN_SYSLOG : IN_LOG;
}

/* Is it a host, or an IP address, without a port? */
static bool needs_port(const char *text)
{
	static const char *const others[] = {"/", "unix@", "abns@", "fd@", "*"};

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (starts_with(text, others[i]))
			return false;
	if (text[0] == '[')
		return text[strlen(text) - 1] == ']';
	return strchr(text, ':') == NULL && text[strspn(text, "0123456789")] != '\0';
}

/* The address after "syslog:". */
static int parse_syslog(const struct setting *s, const struct word *w, struct config_log *log)
{
	const size_t skip = strlen(SYSLOG_PREFIX);
	struct word address = word_part(s->diag, w, skip, w->len);
	struct addr_spec *spec = &log->address;

	log->kind = CONFIG_LOG_SYSLOG;
	if (address.len == 0) {
		diag_error(s->diag, DIAG_BAD_ADDRESS, w->at, "'log = syslog:' needs an address");
		diag_hint(s->diag, "write syslog:/dev/log or syslog:127.0.0.1:514");
		return -EINVAL;
	}
	if (needs_port(address.text))
		address.text = arena_printf(s->diag->arena, "%s:%d", address.text, SYSLOG_PORT);
	if (setting_address(s, &address, spec) != 0)
		return -EINVAL;
	if (spec->kind == ADDR_ANY) {
		diag_error(s->diag, DIAG_BAD_ADDRESS, address.at,
			   "a syslog server is given by its address or name, not by a port alone");
		diag_hint(s->diag, "write syslog:127.0.0.1:%u", spec->port);
		return -EINVAL;
	}
	if ((spec->kind == ADDR_IP || spec->kind == ADDR_NAME) && spec->port == 0) {
		diag_error(s->diag, DIAG_BAD_ADDRESS, address.at,
			   "a syslog server needs a port, and 0 is not one");
		diag_hint(s->diag, "syslog's own port is 514");
		return -EINVAL;
	}
	return 0;
}

/* Reports how to write another program's log line here. */
static int report_target(const struct setting *s, const struct word *w)
{
	struct addr_spec spec;

	diag_error(s->diag, DIAG_BAD_VALUE, w->at, "'log' cannot go to '%s'", w->text);
	if (strcmp(w->text, "stdout") == 0)
		diag_hint(s->diag, "write stderr: data goes to stdout, diagnostics go to stderr");
	else if (strcmp(w->text, "/dev/log") == 0 ||
		 (w->text[0] != '/' && addr_parse(w->text, &spec, NULL, NULL) == 0))
		diag_hint(s->diag, "write syslog:%s", w->text);
	else if (strspn(w->text, "0123456789.") == w->len)
		diag_hint(s->diag, "write syslog:%s:514", w->text);
	else if (w->text[0] == '/')
		diag_hint(s->diag, "write file:%s", w->text);
	else
		diag_hint(s->diag, "write auto, stderr, off, file:PATH or syslog:ADDRESS");
	return -EINVAL;
}

/* How each kind is written: whole, or what its target follows. */
static const char *const kinds[] = {
	[CONFIG_LOG_AUTO] = "auto",	 [CONFIG_LOG_STDERR] = "stderr",
	[CONFIG_LOG_FILE] = FILE_PREFIX, [CONFIG_LOG_SYSLOG] = SYSLOG_PREFIX,
	[CONFIG_LOG_OFF] = "off",
};

static int parse_target(const struct setting *s, const struct word *w, struct config_log *log)
{
	static const enum config_log_kind whole[] = {CONFIG_LOG_AUTO, CONFIG_LOG_STDERR, CONFIG_LOG_OFF};
	const size_t skip = strlen(FILE_PREFIX);

	for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
		if (strcmp(w->text, kinds[whole[i]]) != 0)
			continue;
		log->kind = whole[i];
		return 0;
	}
	if (starts_with(w->text, FILE_PREFIX) && w->text[skip] != '\0') {
		log->kind = CONFIG_LOG_FILE;
		log->path = arena_strndup(s->diag->arena, w->text + skip, w->len - skip);
	} else if (starts_with(w->text, SYSLOG_PREFIX)) {
		return parse_syslog(s, w, log);
	} else {
		return report_target(s, w);
	}
	return 0;
}

int setting_parse_log(const struct setting *s, void *field)
{
	struct config_global *g = s->base;
	struct config_log log = {.kind = CONFIG_LOG_AUTO};
	struct setting words = *s;
	int err;

	check(field == &g->logs);
	setting_defaults(s->diag->arena, IN_LOG | IN_SYSLOG, &log);
	err = parse_target(s, &s->words.list[0], &log);
	/* For an unknown target we do not know which words are allowed. */
	words.base = &log;
	if (err == 0 || log.kind == CONFIG_LOG_SYSLOG) {
		if (setting_parse_words(&words, 1, words_of(log.kind)) != 0)
			err = -EINVAL;
	}
	if (err)
		return err;
	g->logs = arena_grow(s->diag->arena, g->logs, g->log_count, sizeof(*g->logs));
	g->logs[g->log_count++] = log;
	return 0;
}

void setting_print_log(const struct config_log *log, FILE *out)
{
	fputs(kinds[log->kind], out);
	if (log->kind == CONFIG_LOG_FILE)
		words_print_quoted(log->path, out);
	else if (log->kind == CONFIG_LOG_SYSLOG)
		setting_print_address(&log->address, out);
	setting_print_words(words_of(log->kind), log, out);
}

void setting_default_log(struct arena *a, struct config_global *g)
{
	struct config_log *log;

	if (g->log_count > 0)
		return;
	log = arena_alloc(a, sizeof(*log));
	log->kind = CONFIG_LOG_AUTO;
	setting_defaults(a, IN_LOG, log);
	g->logs = log;
	g->log_count = 1;
}

/* ---- format ---- */

/* No field is named, so a word was meant. */
static int report_word(const struct setting *s, const struct word *w)
{
	static const char *const words[] = {"text", "json", "tcplog"};
	struct suggest near;

	suggest_init(&near, w->text);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		suggest_offer(&near, words[i], NULL);
	diag_error(s->diag, DIAG_BAD_VALUE, w->at, "'format' cannot be '%s'", w->text);
	if (near.best != NULL)
		diag_hint(s->diag, "did you mean '%s'?", near.best);
	else
		diag_hint(s->diag, "write text, json, tcplog, or text with fields: "
				   "format='{client} {server} {bytes_in}'");
	return -EINVAL;
}

static int report_fault(const struct setting *s, const struct word *w, const struct log_format_fault *fault)
{
	const struct word part = word_part(s->diag, w, fault->at, fault->len);
	struct suggest near;

	if (!fault->is_name) {
		diag_error(s->diag, DIAG_BAD_VALUE, part.at, "'format' is not valid: %s", fault->why);
		return -EINVAL;
	}
	suggest_init(&near, part.text);
	for (enum log_name i = 0; i < LOG_NAMES; i++)
		suggest_offer(&near, log_name_word(i), NULL);
	diag_error(s->diag, DIAG_BAD_VALUE, part.at, "a log line has no field '%s'", part.text);
	if (near.best != NULL)
		diag_hint(s->diag, "did you mean '%s'?", near.best);
	else
		diag_hint(s->diag, "weir.ini(5) lists the fields: client, server, bytes_in, duration_s, ...");
	return -EINVAL;
}

int setting_parse_log_format(const struct setting *s, void *field)
{
	const struct word *w = &s->words.list[0];
	struct log_format_fault fault;
	struct log_format format;
	const char *text = NULL;

	(void)log_format_style(w->text, &text);
	if (text == w->text && strpbrk(text, "{}") == NULL)
		return report_word(s, w);
	if (text != NULL && log_format_parse(&format, text, &fault) != 0)
		return report_fault(s, w, &fault);
	memcpy(field, &w->text, sizeof(w->text));
	return 0;
}

/* ---- log-sample ---- */

static const char errors[] = "errors";

int setting_parse_sample(const struct setting *s, void *field)
{
	const struct word *w = &s->words.list[0];
	unsigned value = UINT_MAX;
	uint64_t n = 0;
	int err;

	if (strcmp(w->text, errors) != 0) {
		err = starts_with(w->text, "1/") ? value_count(w->text + 2, &n) : -EINVAL;
		if (err == -EINVAL) {
			(void)setting_bad(s, w, 0, "is not a share");
			diag_hint(s->diag, "write 1/N, such as 1/100 for one session in a hundred, or %s",
				  errors);
			return err;
		}
		err = setting_in_range(s, w, err ? UINT64_MAX : n);
		if (err)
			return err;
		value = (unsigned)n;
	}
	memcpy(field, &value, sizeof(value));
	return 0;
}

void setting_print_sample(const void *field, const struct option *option, FILE *out)
{
	unsigned value;

	(void)option; /* the same for every row */
	memcpy(&value, field, sizeof(value));
	if (value == UINT_MAX)
		fputs(errors, out);
	else
		fprintf(out, "1/%u", value > 0 ? value : 1);
}
