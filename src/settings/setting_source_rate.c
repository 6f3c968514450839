/* SPDX-License-Identifier: MIT
 *
 * setting_source_rate.c - `rate-limit-per-source`: new connections of one source in a time.
 *
 * Rejects limits that no clock of ours could keep. Main thread.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "weir/base/clock.h"
#include "weir/config/values.h"
#include "setting.h"

#define COUNT_MAX     1000000u
#define PERIOD_MAX_NS (86400 * NS_PER_SEC)
/* The least time between two tokens: what is lost by rounding it is less than a thousandth. */
#define EACH_MIN_NS NS_PER_US
/* The longest time in which a bucket fills up. */
#define WHOLE_MAX_NS (365 * 86400 * NS_PER_SEC)

static int refuse(const struct setting *s, const struct word *w, enum diag_code code, const char *why,
		  const char *hint)
{
	diag_error(s->diag, code, w->at, "'%s' %s", w->text, why);
	diag_hint(s->diag, "%s", hint);
	return -EINVAL;
}

static int take_count(const struct setting *s, const struct word *w, unsigned *count)
{
	uint64_t n = 0;
	const int err = value_count(w->text, &n);

	if (err == -EINVAL)
		return refuse(s, w, DIAG_BAD_VALUE, "is not a number of connections",
			      "write a number and a time, as in 20/10s");
	if (err || n > COUNT_MAX)
		return refuse(s, w, DIAG_OUT_OF_RANGE, "is too large", "the most is 1000000 connections");
	if (n == 0)
		return refuse(s, w, DIAG_OUT_OF_RANGE, "lets nobody in",
			      "write off for no limit, or see 'deny-from'");
	*count = (unsigned)n;
	return 0;
}

static int take_period(const struct setting *s, const struct word *w, int64_t *ns)
{
	const int err = value_duration(w->text, ns);

	if (err == -EDOM)
		return refuse(s, w, DIAG_BAD_VALUE, "has no unit",
			      "write us, ms, s, m, h or d behind it, as in 10s");
	if (err == -EINVAL)
		return refuse(s, w, DIAG_BAD_VALUE, "is not a time",
			      "write a number and a unit, as in 20/10s or 1000/1h");
	if (err || *ns > PERIOD_MAX_NS)
		return refuse(s, w, DIAG_OUT_OF_RANGE, "is too long", "the longest time is 1d");
	if (*ns == 0)
		return refuse(s, w, DIAG_OUT_OF_RANGE, "is no time", "write for example 20/10s, or off");
	return 0;
}

/* "20/10s" */
static int take_rate(const struct setting *s, const struct word *w, struct config_source_rate *r)
{
	const size_t slash = strcspn(w->text, "/");
	const struct word count = word_part(s->diag, w, 0, slash);
	struct word period;

	if (take_count(s, &count, &r->count) != 0)
		return -EINVAL;
	if (w->text[slash] == '\0' || w->text[slash + 1] == '\0')
		return refuse(s, w, DIAG_BAD_VALUE, "has no time",
			      "write for example 20/10s: N connections in a time");
	period = word_part(s->diag, w, slash + 1, w->len);
	if (take_period(s, &period, &r->period_ns) != 0)
		return -EINVAL;
	if (r->period_ns / r->count < EACH_MIN_NS)
		return refuse(s, w, DIAG_OUT_OF_RANGE, "is too fast",
			      "the most is 1000000 connections per second");
	return 0;
}

int setting_parse_source_rate(const struct setting *s, void *field)
{
	struct config_source_rate r = {0};
	const struct word *w = &s->words.list[0];
	struct setting words = *s;

	words.base = &r;
	if (strcmp(w->text, "off") == 0 && s->words.count > 1)
		return setting_bad(s, &s->words.list[1], 0, "is off and takes no options");
	if (strcmp(w->text, "off") != 0 && take_rate(s, w, &r) != 0)
		return -EINVAL;
	if (setting_parse_words(&words, 1, IN_SOURCE_RATE) != 0)
		return -EINVAL;
	if (r.burst == 0)
		r.burst = r.count;
	if (r.count > 0 && r.burst > WHOLE_MAX_NS / (r.period_ns / r.count + 1))
		return refuse(s, w, DIAG_OUT_OF_RANGE,
			      "takes more than a year to allow the whole burst again",
			      "write a smaller burst, or more connections in that time");
	memcpy(field, &r, sizeof(r));
	return 0;
}

void setting_print_source_rate(const void *field, const struct option *option, FILE *out)
{
	const struct config_source_rate *r = field;
	char text[VALUE_TEXT_MAX];

	(void)option; /* there is one row */
	if (r->count == 0) {
		fputs("off", out);
		return;
	}
	fprintf(out, "%u/%s", r->count, value_format_duration(r->period_ns, text));
	if (r->burst != r->count)
		fprintf(out, " burst=%u", r->burst);
}
