/* SPDX-License-Identifier: MIT
 *
 * rules.h - what the files of tcp-request rules share. Main thread.
 */
#ifndef WEIR_SRC_HAPROXY_RULES_H
#define WEIR_SRC_HAPROXY_RULES_H

#include "sections.h"

#define RULE_KINDS 3 /* connection, session, content: each is judged for itself, to its first verdict */
#define RULES_OF_CONNECTIONS 0
#define RULES_OF_CONTENTS    2

/* A tcp-request rule, and the section whose acls it names. */
struct rule {
	struct old_line *line;
	struct proxy *owner;
};

/* What the rules of one kind have accepted so far. */
struct accepted {
	const char *networks; /* "" = none */
	size_t len;
	size_t room;
	bool file;
	bool tls;
	struct old_lines lines; /* that accept networks, or TLS */
	struct old_line *all;	/* the line that accepts every client, or NULL */
	enum old_fate fate;	/* of those lines; OLD_OPEN = nothing depends on them */
	const char *why;
};

/* Which clients send a PROXY header? */
enum proxied { PROXIED_NONE, PROXIED_SOME, PROXIED_ALL };

/* Rules while they are converted, into the lines of one section. */
struct rules {
	struct haproxy *h;
	struct proxy *front;
	struct ini_section *out;
	struct proxy *p;     /* whose rules they are: the frontend, or its backend */
	struct proxy *owner; /* whose acls the rule names: `p`, or its defaults section */
	struct accepted accepted[RULE_KINDS];
	const char *allowed; /* allow-from so far; NULL = none */
	const char *exempt;  /* of the limits so far; NULL = there is no limit */
	const struct old_line *moved; /* a rule that gives clients another address; NULL = none so far */
	struct old_line *counted; /* a track-sc line with a condition */
	const char *expects; /* "accept-proxy" of the binds; NULL = none */
	enum proxied proxied;
	const char *trusted; /* so far, of rules about who sends it; NULL = none */
	size_t at;	     /* the number of the rule among those of `p` */
	struct index firsts; /* for each table and counter: the rules of `p` that count for it first */
};

/* Is the client that a rule judges counted by then, is it later, or does the rule see no number at all? */
enum rules_counted { RULES_COUNTED_NEVER, RULES_COUNTED_LATER, RULES_COUNTED_BEFORE };

/* For each kind of rule, behind the last one that refuses. */
struct refusals {
	size_t end[RULE_KINDS];
};

/* Adds networks between commas to a key; `file`: some are in files of the target machine. */
void rules_add_networks(struct rules *r, struct old_line *line, const char *key, const char *text, bool file);
/* Takes a line that accepts or refuses. */
void rules_verdict(struct rules *r, struct old_line *line, bool accepts);
/* Once all lines are taken: says what became of those that accept. */
void rules_settle(struct rules *r, const struct accepted *acc);

/* Whose table counts for a term; NULL: none is known to. */
const struct proxy *rules_table_of(struct rules *r, const struct term *t);
/* Do several sections count clients in that table? */
bool rules_share_table(struct rules *r, const struct term *t);
/* When is a client counted for a term of this line, which is rule number `r->at`? */
enum rules_counted rules_counted_at(struct rules *r, const struct old_line *line, const struct term *t);
/* The number of the rule's kind; RULE_KINDS: another line. */
size_t rules_kind(const struct old_line *line);
struct refusals rules_refusals(const struct rule *rules, size_t count);
/* Takes a rule, number `i`, that lets everyone pass. False: it is another one. */
bool rules_take_harmless(struct haproxy *h, const struct rule *rules, size_t i,
			 const struct refusals *refusals);
/* tcp-response: what does not refuse waits for nothing here. */
void haproxy_responses(struct haproxy *h, struct proxy *p);

#endif
