/* SPDX-License-Identifier: MIT
 *
 * page.c - the page at `/`: frontends, backends and servers, and what is counted for the process.
 *
 * What the script keeps current has an attribute data-live (an element), or data-key (a row). Any thread.
 */
#include "page.h"

#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/wall_time.h"
#include "page_assets.h"
#include "page_blame.h"
#include "page_card.h"
#include "page_fills.h"
#include "page_problems.h"
#include "page_row.h"
#include "page_server.h"

const char *page_policy(void)
{
	return page_policy_text;
}

/* A part is counted before the whole, so it may be larger. */
unsigned page_spliced_percent(uint64_t spliced, uint64_t to_server, uint64_t to_client)
{
	const double all = (double)to_server + (double)to_client;
	const double percent = all > 0 ? 100 * (double)spliced / all : 0;

	return percent < 100 ? (unsigned)percent : 100;
}

/* ---- the head of the document ---- */

/* The tab of the browser shows how many problems are bad. */
static void put_document_begin(const struct page_facts *facts, unsigned bad, struct text *out)
{
	html_raw(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		      "<meta name=\"color-scheme\" content=\"light dark\">\n"
		      "<meta name=\"referrer\" content=\"no-referrer\">\n"
		      "<link rel=\"icon\" href=\"data:,\">\n<title>");
	if (facts->server != NULL) {
		html_text(out, facts->server->row.backend);
		html_raw(out, "/");
		html_text(out, facts->server->row.name);
		html_raw(out, " - ");
	}
	if (bad > 0)
		text_printf(out, "(%u) ", bad);
	html_raw(out, "weir");
	if (facts->node[0] != '\0') {
		html_raw(out, " on ");
		html_text(out, facts->node);
	}
	html_raw(out, "</title>\n");
	if (!facts->is_update) {
		html_raw(out, "<style>");
		html_raw(out, page_style);
		html_raw(out, "</style>\n");
	}
	html_raw(out, "</head>\n<body>\n");
}

static void put_document_end(const struct page_facts *facts, struct text *out)
{
	if (!facts->is_update) {
		html_raw(out, "<script>");
		html_raw(out, page_script);
		html_raw(out, "</script>\n");
	}
	html_raw(out, "</body>\n</html>\n");
}

static void put_title(const struct page_facts *facts, struct text *out)
{
	char taken[WALL_TIME_MAX];

	html_raw(out, "<header>\n<h1><a href=\"?\">weir</a></h1>\n<p data-live=\"about\">");
	if (facts->node[0] != '\0') {
		html_raw(out, "<b>");
		html_text(out, facts->node);
		html_raw(out, "</b> ");
	}
	text_printf(out, "<b class=\"state %s\">", page_tone_word(facts->is_ready ? PAGE_GOOD : PAGE_WARN));
	html_text(out, facts->state);
	html_raw(out, "</b> up ");
	html_age(out, facts->uptime_s);
	text_printf(out, ", %u worker%s, pid %d, version ", facts->workers, facts->workers == 1 ? "" : "s",
		    facts->pid);
	html_text(out, facts->version);
	html_raw(out, ", at <time>");
	html_raw(out, wall_time_format(facts->wall_ns, taken));
	html_raw(out, "</time></p>\n<p id=\"tools\" hidden></p>\n</header>\n");
}

/* ---- the summary ---- */

struct summary {
	uint64_t rate;    /* of all frontends */
	uint64_t queued;  /* clients */
	uint64_t servers;
	uint64_t tones[PAGE_TONES]; /* of these */
};

static void sum_up_row(void *to, const struct page_row *row)
{
	struct summary *s = to;

	if (row->kind == PAGE_FRONTEND && row->values[PAGE_rate] != PAGE_NO_VALUE)
		s->rate += row->values[PAGE_rate];
	/* A client waits for any server of its backend, or for one of them. */
	if (row->kind != PAGE_FRONTEND && row->values[PAGE_queued] != PAGE_NO_VALUE)
		s->queued += row->values[PAGE_queued];
	if (row->kind != PAGE_SERVER)
		return;
	s->servers++;
	s->tones[row->tone]++;
}

static void put_servers_card(struct text *out, const struct summary *s)
{
	static const char *const words[PAGE_TONES] = {
		[PAGE_BAD] = "down", [PAGE_WARN] = "draining", [PAGE_OFF] = "in maintenance"};
	enum page_tone worst = PAGE_GOOD;
	const char *comma = "";

	for (unsigned tone = 0; tone < PAGE_TONES; tone++)
		if (s->tones[tone] > 0)
			worst = (enum page_tone)tone;
	page_card_begin(out, "Servers up", "up", page_tone_word(worst));
	text_printf(out, "><span>%llu<small> of %llu</small></span>", (unsigned long long)s->tones[PAGE_GOOD],
		    (unsigned long long)s->servers);
	html_raw(out, "<small class=\"more\">");
	for (unsigned tone = PAGE_TONES; tone-- > 0;) {
		if (words[tone] == NULL || s->tones[tone] == 0)
			continue;
		text_printf(out, "%s%llu %s", comma, (unsigned long long)s->tones[tone], words[tone]);
		comma = ", ";
	}
	html_raw(out, "</small>");
	page_card_end(out);
}

static void put_sessions_card(struct text *out, const struct page_facts *facts)
{
	page_card_begin(out, "Sessions", "sessions", NULL);
	text_printf(out, " data-v=\"%llu\"><span>", (unsigned long long)facts->sessions);
	html_number(out, HTML_COUNT, facts->sessions);
	html_raw(out, "</span><small class=\"more\">of ");
	html_number(out, HTML_COUNT, facts->maxconn);
	html_raw(out, "</small>");
	page_card_end(out);
}

/* Of all workers' time since the start; the script shows that of now. */
static void put_busy_card(struct text *out, const struct page_facts *facts)
{
	const double all = (double)facts->uptime_s * 1e9 * facts->workers;
	const double percent = all > 0 ? 100 * (double)facts->busy_ns / all : 0;

	page_card_begin(out, "Workers busy", "busy_ns", NULL);
	text_printf(out, " data-v=\"%llu\" data-parts=\"%u\"><span>%.0f<small> %% on average</small></span>",
		    (unsigned long long)facts->busy_ns, facts->workers, percent < 100 ? percent : 100);
	page_card_end(out);
}

static void put_summary(const struct page_facts *facts, struct text *out)
{
	struct summary s = {0};

	facts->source.rows(facts->source.from, sum_up_row, &s);
	html_raw(out, "<dl class=\"cards\">\n");
	put_servers_card(out, &s);
	put_sessions_card(out, facts);
	page_card_put(out, "New per second", "rate", HTML_COUNT, s.rate);
	page_card_put(out, "In queues", "queued", HTML_COUNT, s.queued);
	page_card_put(out, "To servers", "bytes_to_server", HTML_BYTES, facts->bytes_to_server);
	page_card_put(out, "To clients", "bytes_to_client", HTML_BYTES, facts->bytes_to_client);
	page_card_put(out, "Spliced", "spliced", HTML_PERCENT,
		      page_spliced_percent(facts->bytes_spliced, facts->bytes_to_server,
					   facts->bytes_to_client));
	put_busy_card(out, facts);
	html_raw(out, "</dl>\n");
}

/* ---- the tables ---- */

struct table {
	struct text *out;
	bool is_open; /* a backend's part */
};

static void put_frontend(void *to, const struct page_row *row)
{
	if (row->kind == PAGE_FRONTEND)
		page_row_put(to, PAGE_KINDS_F, row);
}

static void put_frontends(const struct page_facts *facts, struct text *out)
{
	html_raw(out, "<section class=\"frontends\">\n<h2>Frontends</h2>\n<div class=\"scroll\"><table>\n");
	page_row_head(out, PAGE_KINDS_F, "Frontend");
	html_raw(out, "<tbody data-key=\"frontends\">\n");
	facts->source.rows(facts->source.from, put_frontend, out);
	html_raw(out, "</tbody>\n</table></div>\n</section>\n");
}

/* A backend and its servers are one part of the table. */
static void put_backend_row(void *to, const struct page_row *row)
{
	struct table *t = to;

	if (row->kind == PAGE_FRONTEND)
		return;
	if (row->kind == PAGE_BACKEND) {
		if (t->is_open)
			html_raw(t->out, "</tbody>\n");
		html_raw(t->out, "<tbody data-key=\"");
		html_text(t->out, row->name);
		html_raw(t->out, "\">\n");
		t->is_open = true;
	}
	check(t->is_open);
	page_row_put(t->out, PAGE_KINDS_BS, row);
}

static void put_backends(const struct page_facts *facts, struct text *out)
{
	struct table t = {.out = out};

	html_raw(out, "<section class=\"backends\">\n<h2>Backends and servers</h2>\n"
		      "<div class=\"scroll\"><table>\n");
	page_row_head(out, PAGE_KINDS_BS, "Server");
	facts->source.rows(facts->source.from, put_backend_row, &t);
	if (t.is_open)
		html_raw(out, "</tbody>\n");
	html_raw(out, "</table></div>\n</section>\n");
}

static void put_figure(void *to, const char *name, uint64_t value, const char *help)
{
	struct text *out = to;

	html_raw(out, "<tr data-key=\"");
	html_text(out, name);
	html_raw(out, "\"><th scope=\"row\">");
	html_text(out, name);
	text_printf(out, "</th><td>%llu</td><td class=\"text\">", (unsigned long long)value);
	html_text(out, help);
	html_raw(out, "</td></tr>\n");
}

static void put_figures(const struct page_facts *facts, struct text *out)
{
	html_raw(out, "<section>\n<details><summary><h2>Process</h2></summary>\n"
		      "<div class=\"scroll\"><table>\n"
		      "<thead><tr><th scope=\"col\" data-id=\"name\">Counter</th>"
		      "<th scope=\"col\" data-id=\"value\">Value</th>"
		      "<th scope=\"col\" data-id=\"help\">Meaning</th></tr></thead>\n"
		      "<tbody data-key=\"process\">\n");
	facts->source.figures(facts->source.from, put_figure, out);
	html_raw(out, "</tbody>\n</table></div>\n</details>\n</section>\n");
}

/* All that the page shows if it is not for one server. */
static void put_all(const struct page_facts *facts, const struct page_survey *s,
		    const struct page_problems *problems, struct text *out)
{
	page_problems_put(problems, out);
	put_summary(facts, out);
	html_raw(out, "<div class=\"halves\">\n");
	page_blame_put(facts->ends, out);
	page_fills_put(s, out);
	html_raw(out, "</div>\n");
	put_frontends(facts, out);
	put_backends(facts, out);
	put_figures(facts, out);
}

void page_render(const struct page_facts *facts, struct text *out)
{
	const bool is_list = facts->server == NULL && facts->missing == NULL;
	struct page_problems problems = {.count = 0};
	struct page_survey survey;

	if (is_list) {
		page_survey_take(&survey, facts);
		page_problems_find(&problems, &survey);
	}
	put_document_begin(facts, problems.bad, out);
	put_title(facts, out);
	html_raw(out, "<p id=\"news\" role=\"status\" hidden></p>\n<main>\n");
	if (facts->server != NULL) {
		page_server_put(facts->server, facts->wall_ns, out);
	} else if (facts->missing != NULL) {
		html_raw(out, "<p>There is no server '");
		html_text(out, facts->missing);
		html_raw(out, "'. <a href=\"?\">Show all servers</a></p>\n");
	} else {
		put_all(facts, &survey, &problems, out);
	}
	html_raw(out, "</main>\n<footer>The same as <a href=\"metrics\">metrics</a>, "
		      "<a href=\";csv\">CSV</a>, <a href=\"api/v1/servers\">JSON</a>.</footer>\n");
	put_document_end(facts, out);
}
