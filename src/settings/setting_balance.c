/* SPDX-License-Identifier: MIT
 *
 * setting_balance.c - `balance`: how a server is chosen, and the words of that algorithm.
 *
 * Rejects words that the chosen algorithm does not use. Main thread.
 */
#include "setting.h"

#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/values.h"

#define DRAWS_DEFAULT 2

/* The N of "random(N)"; the word must begin with this. */
static int take_draws(const struct setting *s, const struct word *w, unsigned *draws)
{
	size_t open = strcspn(w->text, "(");
	struct word number = word_part(s->diag, w, open + 1, strcspn(w->text + open + 1, ")"));
	uint64_t n = 0;

	if (strcmp(w->text + open + 1 + number.len, ")") != 0 || value_number(number.text, &n) != 0 ||
	    n == 0 || n > CONFIG_DRAWS_MAX) {
		diag_error(s->diag, DIAG_BAD_VALUE, w->at, "'%s' is not random(N) with N of 1 to %d", w->text,
			   CONFIG_DRAWS_MAX);
		diag_hint(s->diag, "write random(%d): of %d servers drawn the less loaded one is taken",
			  DRAWS_DEFAULT, DRAWS_DEFAULT);
		return -EINVAL;
	}
	*draws = (unsigned)n;
	return 0;
}

/* Reports algorithms that only HAProxy has. */
static bool report_foreign(const struct setting *s, const struct word *w)
{
	static const struct {
		const char *word, *hint;
	} rows[] = {
		{"static-rr", "write roundrobin"},
		{"hash", "write source: it hashes the client's address"},
		{"sticky", "write 'sticky = src' on a line of its own"},
		{"uri", "weir does not read HTTP: write source or leastconn"},
		{"url_param", "weir does not read HTTP: write source or leastconn"},
		{"hdr", "weir does not read HTTP: write source or leastconn"},
		{"rdp-cookie", "write 'persist = rdp', and 'sniff = rdp' in its frontends: other clients are "
			       "balanced"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t len = strlen(rows[i].word);

		if (strncmp(w->text, rows[i].word, len) != 0 || (w->text[len] != '\0' && w->text[len] != '('))
			continue;
		diag_error(s->diag, DIAG_BAD_VALUE, w->at, "'%s' cannot be '%s'", s->option->key, w->text);
		diag_hint(s->diag, "%s", rows[i].hint);
		return true;
	}
	return false;
}

static int take_algorithm(const struct setting *s, struct config_balancing *b)
{
	const struct word *w = &s->words.list[0];
	unsigned index = 0;

	if (strncmp(w->text, "random(", strlen("random(")) == 0) {
		b->algorithm = CONFIG_BALANCE_RANDOM;
		return take_draws(s, w, &b->draws);
	}
	if (report_foreign(s, w) || setting_choice(s, w, &index) != 0)
		return -EINVAL;
	b->algorithm = (enum config_balance)index;
	return 0;
}

/* Which algorithms use word `key`: text for a message, NULL when this one does. */
static const char *who_uses(const struct config_balancing *b, const char *key)
{
	bool source = b->algorithm == CONFIG_BALANCE_SOURCE, maglev = b->algorithm == CONFIG_BALANCE_MAGLEV;

	if (strcmp(key, "hash") == 0)
		return source ? NULL : "source";
	if (strcmp(key, "hash-key") == 0)
		return source || maglev ? NULL : "source and maglev";
	if (maglev || b->algorithm == CONFIG_BALANCE_RANDOM || (source && b->hash == CONFIG_HASH_CONSISTENT))
		return NULL;
	return "'source hash=consistent', maglev and random";
}

static int validate_used(const struct setting *s, const struct config_balancing *b)
{
	for (size_t i = 1; i < s->words.count; i++) {
		const struct word *w = &s->words.list[i];
		const char *text = arena_strndup(s->diag->arena, w->text, strcspn(w->text, "="));
		const struct option *o = option_find(IN_BALANCE, text).option;
		const char *users = who_uses(b, o->key);

		if (users == NULL)
			continue;
		diag_error(s->diag, DIAG_CONFLICT, w->at, "'%s' is for %s", o->key, users);
		diag_hint(s->diag, strcmp(o->key, "hash") != 0 && b->algorithm == CONFIG_BALANCE_SOURCE
					   ? "write hash=consistent too"
					   : "leave it out");
		return -EINVAL;
	}
	return 0;
}

int setting_parse_balance(const struct setting *s, void *field)
{
	struct config_balancing b = {.draws = DRAWS_DEFAULT};
	struct setting words = *s;
	int err = take_algorithm(s, &b);

	/* The words of an unknown algorithm are not validated. */
	if (err)
		return err;
	words.base = &b;
	if (setting_parse_words(&words, 1, IN_BALANCE) != 0)
		err = -EINVAL;
	if (!err)
		err = validate_used(s, &b);
	if (!err)
		memcpy(field, &b, sizeof(b));
	return err;
}

void setting_print_balance(const void *field, const struct option *option, FILE *out)
{
	const struct config_balancing *b = field;

	if (b->algorithm == CONFIG_BALANCE_RANDOM)
		fprintf(out, "random(%u)", b->draws);
	else
		setting_print_choice(&b->algorithm, option, out);
	setting_print_words(IN_BALANCE, b, out);
}
