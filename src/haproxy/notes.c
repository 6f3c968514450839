/* SPDX-License-Identifier: MIT
 *
 * notes.c - what HAProxy does otherwise and no line of the file says: notes of the report.
 *
 * A person would not want to keep these, or weir has nothing to keep them with. tests/system/test_pairs_*.py
 * compare both programs. Main thread.
 */
#include <string.h>

#include "sections.h"
#include "weir/base/check.h"
#include "weir/config/options.h"

static bool has_word_of(const struct old_lines *lines, const char *word)
{
	for (size_t i = 0; i < lines->count; i++)
		if (old_has_word(lines->list[i], 1, word))
			return true;
	return false;
}

static bool is_checked(const struct proxy *p)
{
	return has_word_of(&p->lists[LIST_SERVER], "check") ||
	       has_word_of(&p->lists[LIST_DEFAULT_SERVER], "check");
}

/* A check by HTTP that sends no Host. */
static bool lacks_host(const struct proxy *p)
{
	const struct slot_value *s = &p->slots[SLOT_CHECK];
	const struct ini_line *check = ini_find(p->out, "check");

	return check != NULL && slot_on(p, SLOT_CHECK) && strcmp(s->line->words[s->at - 1], "httpchk") == 0 &&
	       strstr(check->value, " host=") == NULL;
}

/* Servers whose checks carry a PROXY header, some of version 1 and some of version 2. */
static bool has_both_versions(const struct proxy *p)
{
	bool v1 = false, v2 = false;

	for (size_t i = 0; i < p->lists[LIST_SERVER].count; i++) {
		const struct old_line *line = p->lists[LIST_SERVER].list[i];
		const bool carries = old_has_word(line, 1, "check-send-proxy");

		v1 = v1 || (carries && old_has_word(line, 1, "send-proxy"));
		v2 = v2 || (carries && old_has_word(line, 1, "send-proxy-v2"));
	}
	return v1 && v2;
}

static void note_checks(struct haproxy *h, const struct proxy *p)
{
	if (!is_checked(p))
		return;
	work_note(h->work,
		  "HAProxy ends a health check with a reset, and one that sends nothing before its server "
		  "has accepted: the server sees weir's as a connection that ends with FIN");
	work_note(h->work,
		  "HAProxy counts the interval of checks from the end of one: weir from its start, so a "
		  "server that does not answer falls sooner");
	if (has_both_versions(p))
		work_note(h->work,
			  "'%s': the PROXY header of its health checks has the version of the first server",
			  p->name);
	if (lacks_host(p))
		work_note(h->work,
			  "'%s': HAProxy's check by HTTP has no Host: weir sends 'Host: ADDRESS:PORT'",
			  p->name);
}

/* A server that takes no more than a number of clients. */
static bool has_limit(const struct proxy *p)
{
	return has_word_of(&p->lists[LIST_SERVER], "maxconn") ||
	       has_word_of(&p->lists[LIST_SERVER], "minconn") ||
	       has_word_of(&p->lists[LIST_DEFAULT_SERVER], "maxconn");
}

static void note_random(struct haproxy *h, const struct proxy *p)
{
	if (strncmp(slot_word(p, SLOT_BALANCE, 0), "random", 6) == 0 && p->lists[LIST_SERVER].count > 1 &&
	    has_limit(p))
		work_note(h->work,
			  "'%s': a client for whom 'balance random' draws a full server waits in HAProxy, "
			  "also while others are free: weir takes one of those",
			  p->name);
}

static void note_retries(struct haproxy *h, const struct proxy *p)
{
	const char *name = slot_word(p, SLOT_BALANCE, 0);

	if (strcmp(name, "source") == 0 && p->lists[LIST_SERVER].count > 1)
		work_note(h->work,
			  "weir's hash of a client's address is another one than HAProxy's: a client may get "
			  "another server than before");
	if (strcmp(slot_word(p, SLOT_RETRIES, 0), "0") != 0)
		work_note(h->work,
			  "HAProxy tries a server that did not answer within 'timeout connect' again at "
			  "once: weir after another timeout-connect, 1s at most");
	if (slot_on(p, SLOT_REDISPATCH) && (strcmp(name, "source") == 0 || strcmp(name, "hash") == 0))
		work_note(h->work,
			  "'%s': a redispatch of HAProxy hashes again, which gives the same server until a "
			  "health check has failed: weir's tries another",
			  p->name);
}

/* A rule about names of TLS, without -i. */
static bool heeds_case(const struct old_line *line)
{
	bool name = false, ignores = false, lower = false;

	for (size_t i = 1; i < line->count; i++) {
		const char *word = line->words[i];

		name = name || strncmp(word, "req.ssl_sni", 11) == 0 || strncmp(word, "req_ssl_sni", 11) == 0;
		lower = lower || strstr(word, ",lower") != NULL || strcmp(word, "found") == 0;
		ignores = ignores || strcmp(word, "-i") == 0;
	}
	return name && !lower && !ignores;
}

static void note_case(struct haproxy *h, const struct proxy *p)
{
	static const enum list rules[] = {LIST_ACL, LIST_RULE, LIST_ROUTE, LIST_USE};

	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		for (size_t l = 0; l < p->lists[rules[i]].count; l++)
			if (p->lists[rules[i]].list[l]->fate == OLD_CARRIED &&
			    heeds_case(p->lists[rules[i]].list[l]))
				work_note(h->work, "without -i, HAProxy compares names of TLS by case: they "
						   "have none, and weir ignores it");
}

/* Does a section keep or limit clients by their address, and is there one for IPv6? */
static bool counts_ipv6(const struct haproxy *h)
{
	bool counts = false, ipv6 = false;

	for (size_t i = 0; i < h->ini->count; i++)
		for (size_t l = 0; l < h->ini->sections[i]->count; l++) {
			const struct ini_line *line = &h->ini->sections[i]->lines[l];

			ipv6 = ipv6 || (strncmp(line->key, "bind", 4) == 0 &&
					(line->value[0] == '[' || line->value[0] == ':'));
			counts = counts || strstr(line->key, "-per-source") != NULL ||
				 (strcmp(line->key, "sticky") == 0 && strncmp(line->value, "src", 3) == 0);
		}
	return counts && ipv6;
}

void haproxy_notes(struct haproxy *h)
{
	const struct ini_section *global = ini_only(h->ini, IN_GLOBAL);

	if (ini_find(global, "log") == NULL)
		work_note(h->work,
			  "HAProxy logs nothing without 'log': weir logs to the journal, or to stderr; log = "
			  "off for nothing");
	if (ini_find(global, "hard-stop-after") == NULL)
		work_note(h->work,
			  "HAProxy ends connections at once on SIGTERM, and never on SIGUSR1, without "
			  "'hard-stop-after': weir waits for 30s");
	work_note(h->work,
		  "HAProxy sends a client FIN when its server resets or cannot be reached, at a timeout and "
		  "after 'content reject': weir resets it; after 'timeout server', HAProxy keeps the "
		  "server's side until the client ends or 'timeout client' is over: weir ends both");
	if (counts_ipv6(h))
		work_note(h->work,
			  "weir takes the clients of an IPv6 /64 for one, in limits per source and in "
			  "sticky: HAProxy takes each address, in a table of type ipv6");
	for (size_t i = 0; i < h->count; i++) {
		const struct proxy *p = h->proxies[i];

		if (p->out == NULL)
			continue;
		if (IS_FRONT(p) && p->lists[LIST_LOG].count == 0 && ini_find(global, "log") != NULL)
			work_note(h->work,
				  "HAProxy logs no sessions of a section without 'log': weir logs those of "
				  "all sections");
		if (IS_FRONT(p) || p->lists[LIST_USE].count > 0)
			note_case(h, p);
		if (IS_BACK(p)) {
			note_checks(h, p);
			note_retries(h, p);
			note_random(h, p);
		}
	}
}
