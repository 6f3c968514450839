/* SPDX-License-Identifier: MIT
 *
 * sample_pages.c - prints one page of a daemon that does not exist: for a browser, and for people to look at.
 *
 *     sample_pages list|calm|trouble|large|hostile|server|missing|policy [TICK [update]]
 *
 * With a higher TICK the counters are further.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/web/sample_facts.h"

#define HOSTILE "\"'><script>document.title='taken'</script><b onclick=\"alert(1)\">&lt;\xe2\x80\xae"

static int print(const struct page_facts *facts)
{
	struct text page;
	bool failed;

	text_init(&page);
	page_render(facts, &page);
	text_print(&page, stdout);
	failed = page.failed;
	text_free(&page);
	return failed || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int print_server(struct sample *s, struct page_facts *facts)
{
	static const struct tally_sum tally = {.total = 4711, .retries = 12};
	struct page_server server = {.tally = &tally};
	struct history h = {0};
	struct sample_row r;
	int status;

	sample_server(s, 0, 1, &r);
	(void)snprintf(r.reason, sizeof(r.reason), "set by the administrator");
	sample_history(&h, s->suffix);
	server.row = r.row;
	server.history = &h;
	facts->server = &server;
	status = print(facts);
	history_free(&h);
	return status;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	struct sample s = {.backends = 3, .servers = 8, .suffix = ""};
	struct page_facts facts;

	s.tick = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	if (strcmp(what, "large") == 0)
		s = (struct sample){.backends = 10, .servers = 100, .suffix = "", .tick = s.tick};
	if (strcmp(what, "calm") == 0)
		s.mood = SAMPLE_CALM;
	if (strcmp(what, "trouble") == 0 || strcmp(what, "hostile") == 0)
		s.mood = SAMPLE_TROUBLED;
	if (strcmp(what, "hostile") == 0)
		s.suffix = HOSTILE;
	facts = sample_facts(&s);
	facts.is_update = argc > 3 && strcmp(argv[3], "update") == 0;
	if (strcmp(what, "policy") == 0)
		return puts(page_policy()) >= 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	if (strcmp(what, "server") == 0)
		return print_server(&s, &facts);
	if (strcmp(what, "missing") == 0)
		facts.missing = "web9";
	return print(&facts);
}
