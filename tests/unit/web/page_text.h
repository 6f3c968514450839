/* SPDX-License-Identifier: MIT
 *
 * page_text.h - a page as a test reads it.
 */
#ifndef WEIR_TESTS_PAGE_TEXT_H
#define WEIR_TESTS_PAGE_TEXT_H

#include <string.h>

#include "../base/alloc_fail.h"
#include "web/page.h"

static struct text page;

static inline void render(const struct page_facts *facts)
{
	text_free(&page);
	page_render(facts, &page);
	assert_false(page.failed);
}

static inline int teardown(void **state)
{
	(void)state;
	text_free(&page);
	return allocated == 0 ? 0 : -1;
}

static inline size_t count_of(const char *text)
{
	const char *const end = page.bytes + page.len;
	const size_t len = strlen(text);
	size_t n = 0;

	/* Unlike strstr(), it does not read the rest of the page each time under ASan. */
	for (const char *at = page.bytes; (at = memmem(at, (size_t)(end - at), text, len)) != NULL; at += len)
		n++;
	return n;
}

static inline void assert_has(const char *text)
{
	if (strstr(page.bytes, text) == NULL)
		fail_msg("the page lacks '%s'", text);
}

static inline void assert_lacks(const char *text)
{
	if (strstr(page.bytes, text) != NULL)
		fail_msg("the page has '%s'", text);
}

#endif
