/* SPDX-License-Identifier: MIT
 *
 * page_blame.c - how sessions ended, by whose doing, in the last minute and in total.
 *
 * Any thread.
 */
#include "page_blame.h"

#include "page_bar.h"
#include "page_party.h"
#include "page_row.h"

/* Reasons of the last minute that a row names; the others of its ends are one number. */
#define REASONS_SHOWN 2u
/* From this part of all ends in a minute on, a party's bar is bad. */
#define BAD_PERCENT 10u

/* ---- the verdict ---- */

static enum page_tone tone_of(enum blame blame, unsigned percent)
{
	if (!page_party_is_fault(blame) || percent == 0)
		return blame == BLAME_OPERATOR ? PAGE_OFF : PAGE_GOOD;
	return percent >= BAD_PERCENT ? PAGE_BAD : PAGE_WARN;
}

static enum blame worst_of(const struct page_ends *ends)
{
	enum blame worst = BLAME_NOBODY;
	uint64_t most = 0;

	for (int i = 0; i < BLAMES; i++) {
		const uint64_t minute = page_party_of(ends, (enum blame)i).minute;

		if (!page_party_is_fault((enum blame)i) || minute <= most)
			continue;
		worst = (enum blame)i;
		most = minute;
	}
	return worst;
}

static void put_culprit(const struct page_ends *ends, uint64_t all, struct text *out)
{
	const enum blame worst = worst_of(ends);
	const unsigned percent = page_party_percent(page_party_of(ends, worst).minute, all);

	text_printf(out, " by a fault, mainly by <b class=\"state %s\">",
		    page_tone_word(percent >= BAD_PERCENT ? PAGE_BAD : PAGE_WARN));
	html_text(out, blame_row(worst)->words);
	html_raw(out, "</b> (");
	html_text(out,
		  close_reason_row((enum close_reason)page_party_reason(ends->minute, worst, -1))->words);
	html_raw(out, ")");
}

/* Of the long sessions that ended in the last minute. */
static void put_slow(const struct page_ends *ends, struct text *out)
{
	const char *before = " Slowed down: ";

	for (int i = 0; i < LIMITS; i++) {
		const char *word = limited_by_word((enum limited_by)i);

		if (i == LIMITED_NONE || word == NULL || ends->slowed_minute[i] == 0)
			continue;
		html_raw(out, before);
		html_number(out, HTML_COUNT, ends->slowed_minute[i]);
		text_printf(out, i == LIMITED_US ? " by %s" : " by the %s", word);
		before = ", ";
	}
	if (before[0] == ',')
		html_raw(out, ".");
}

static void put_verdict(const struct page_ends *ends, struct text *out)
{
	const uint64_t all = page_party_of_all(ends).minute;
	uint64_t faults = 0;
	unsigned percent;

	for (int i = 0; i < BLAMES; i++)
		faults += page_party_is_fault((enum blame)i) ? page_party_of(ends, (enum blame)i).minute : 0;
	percent = page_party_percent(faults, all);
	html_raw(out, "<p class=\"verdict\" data-live=\"verdict\">");
	if (all == 0) {
		html_raw(out, "No session ended in the last minute.</p>\n");
		return;
	}
	html_raw(out, "Last minute: ");
	html_number(out, HTML_COUNT, all);
	text_printf(out, " session%s ended, ", all == 1 ? "" : "s");
	if (faults == 0) {
		html_raw(out, "<b class=\"state good\">none by a fault</b>.");
	} else {
		html_number(out, HTML_COUNT, faults);
		text_printf(out, percent > 0 ? " (%u %%)" : " (&lt; 1 %%)", percent);
		put_culprit(ends, all, out);
		html_raw(out, ".");
	}
	put_slow(ends, out);
	html_raw(out, "</p>\n");
}

/* ---- the rows ---- */

static void put_count(struct text *out, const char *classes, uint64_t value)
{
	text_printf(out, "<td class=\"%s\" data-v=\"%llu\">", classes, (unsigned long long)value);
	html_number(out, HTML_COUNT, value);
	html_raw(out, "</td>");
}

/* Those of the last minute if there are any; else the most frequent one since the start. */
static void put_reasons(const struct page_ends *ends, enum blame blame, struct text *out)
{
	const struct page_party p = page_party_of(ends, blame);
	const uint64_t *counts = p.minute > 0 ? ends->minute : ends->total;
	uint64_t left = p.minute > 0 ? p.minute : p.total;
	const unsigned shown = p.minute > 0 ? REASONS_SHOWN : 1;
	const char *comma = p.minute > 0 ? "" : "earlier: ";
	int reason = blame != BLAME_NOBODY ? page_party_reason(counts, blame, -1) : -1;

	html_raw(out, "<td class=\"text\">");
	for (unsigned n = 0; n < shown && reason >= 0; n++) {
		html_raw(out, comma);
		html_text(out, close_reason_row((enum close_reason)reason)->words);
		html_raw(out, " ");
		html_number(out, HTML_COUNT, counts[reason]);
		left -= counts[reason];
		comma = "; ";
		reason = page_party_reason(counts, blame, reason);
	}
	if (reason >= 0 && p.minute > 0) {
		html_raw(out, "; others ");
		html_number(out, HTML_COUNT, left);
	}
	html_raw(out, "</td>");
}

static void put_slowed(const struct page_ends *ends, enum limited_by by, struct text *out)
{
	html_raw(out, "<td class=\"slow\"");
	if (by == LIMITED_UNKNOWN || ends->slowed[by] == 0) {
		html_raw(out, by == LIMITED_UNKNOWN ? "></td>" : " data-v=\"0\">&ndash;</td>");
		return;
	}
	text_printf(out, " data-v=\"%llu\">", (unsigned long long)ends->slowed_minute[by]);
	html_number(out, HTML_COUNT, ends->slowed_minute[by]);
	html_raw(out, " <small>of ");
	html_number(out, HTML_COUNT, ends->slowed[by]);
	html_raw(out, "</small></td>");
}

static void put_party(const struct page_ends *ends, enum blame blame, uint64_t all, struct text *out)
{
	const struct blame_row *row = blame_row(blame);
	const struct page_party p = page_party_of(ends, blame);
	const unsigned percent = page_party_percent(p.minute, all);
	const bool is_small = p.minute > 0 && percent == 0;
	const enum page_tone tone = tone_of(blame, is_small ? 1 : percent);

	text_printf(out, "<tr data-key=\"blame:%d\"><th scope=\"row\" title=\"", (int)blame);
	html_text(out, row->help);
	html_raw(out, "\">");
	html_text(out, row->words);
	html_raw(out, "</th>");
	put_count(out, page_tone_word(tone), p.minute);
	text_printf(out, "<td class=\"share\" data-v=\"%u\"><span>", percent);
	text_printf(out, is_small ? "&lt; 1 %%</span>" : "%u %%</span>", percent);
	page_bar_put(out, tone, is_small ? 1 : percent);
	html_raw(out, "</td>");
	put_count(out, "", p.total);
	put_slowed(ends, row->limit, out);
	put_reasons(ends, blame, out);
	html_raw(out, "</tr>\n");
}

/* A party without any is left out. */
static bool has_any(const struct page_ends *ends, enum blame blame)
{
	return page_party_of(ends, blame).total > 0 || ends->slowed[blame_row(blame)->limit] > 0;
}

static void put_head(struct text *out)
{
	html_raw(
		out,
		"<thead><tr><th scope=\"col\" data-id=\"name\">Whose doing</th>"
		"<th scope=\"col\" data-id=\"minute\" title=\"ends in the last minute\">Last minute</th>"
		"<th scope=\"col\" data-id=\"share\" title=\"of the ends in the last minute\">Share</th>"
		"<th scope=\"col\" data-id=\"ends\" title=\"ends since the start\">In total</th>"
		"<th scope=\"col\" data-id=\"slowed\" class=\"slow\" title=\"sessions over 1 s or 1 MiB that "
		"it slowed down: of those that ended in the last minute, and of all\">Slowed down</th>"
		"<th scope=\"col\" data-id=\"reason\" title=\"the most frequent reasons of the last "
		"minute\">Reasons</th></tr></thead>\n");
}

void page_blame_put(const struct page_ends *ends, struct text *out)
{
	const struct page_party all = page_party_of_all(ends);

	html_raw(out, "<section class=\"blame\">\n<h2>How sessions ended</h2>\n");
	put_verdict(ends, out);
	html_raw(out, "<div class=\"scroll\"><table>\n");
	put_head(out);
	html_raw(out, "<tbody data-key=\"blame\">\n");
	for (int i = 0; i < BLAMES; i++)
		if (i == BLAME_NOBODY || has_any(ends, (enum blame)i))
			put_party(ends, (enum blame)i, all.minute, out);
	html_raw(out, "<tr data-key=\"blame:all\" class=\"backend\"><th scope=\"row\">All</th>");
	put_count(out, "", all.minute);
	html_raw(out, "<td class=\"share\"></td>");
	put_count(out, "", all.total);
	html_raw(out, "<td class=\"slow\"></td><td class=\"text\"></td></tr>\n"
		      "</tbody>\n</table></div>\n</section>\n");
}
