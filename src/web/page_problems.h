/* SPDX-License-Identifier: MIT
 *
 * page_problems.h - what is wrong now: the worst first, like ones together, each with since when and why.
 *
 * A plain value of fixed size: what does not fit is counted. Any thread.
 */
#ifndef WEIR_WEB_PAGE_PROBLEMS_H
#define WEIR_WEB_PAGE_PROBLEMS_H

#include "html.h"
#include "page_survey.h"

#define PAGE_PROBLEMS_MAX      24
#define PAGE_PROBLEM_NAMES_MAX 3

/* In the order in which those of the same tone are shown. */
enum page_problem_kind {
	PROBLEM_BACKEND,
	PROBLEM_PROCESS,
	PROBLEM_FRONTEND,
	PROBLEM_QUEUE,
	PROBLEM_SERVER,
	PROBLEM_KINDS
};

/* One line: of the process, or of frontends, backends or servers that have the same problem. Servers of
 * several backends share a line once there are many lines. */
struct page_problem {
	enum page_problem_kind kind;
	enum page_tone tone; /* not PAGE_GOOD */
	char state[24];      /* a word or two */
	char what[64];       /* of the process: "the configuration"; else "" */
	struct page_owner names[PAGE_PROBLEM_NAMES_MAX]; /* the first ones */
	unsigned count;      /* who has it */
	unsigned backends;   /* of servers: how many backends have them */
	char backend[PAGE_NAME_MAX]; /* of servers: the last of these */
	unsigned of;         /* of servers: how many these backends have */
	int64_t newest_s;    /* for how long the last one has had it; -1 = unknown */
	int64_t oldest_s;    /* the first one */
	char why[256];
};

struct page_problems {
	struct page_problem list[PAGE_PROBLEMS_MAX];
	unsigned count;
	unsigned more; /* frontends, backends and servers whose problems had no room */
	unsigned bad;  /* problems in the list whose tone is PAGE_BAD */
};

void page_problems_find(struct page_problems *p, const struct page_survey *s);
/* Writes the block; if there are none, one line. */
void page_problems_put(const struct page_problems *p, struct text *out);

#endif
