/* SPDX-License-Identifier: MIT
 *
 * setting.c - one option and its value: dispatches from a row of the table to its type.
 *
 * Rejects a scalar with several words, words that a line does not have, and options not in this version. Main
 * thread.
 */
#include "setting.h"

#include <errno.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/habit.h"

/* The types that are not scalars of setting_scalar.c. */
static const struct setting_type other_types[OPT_TYPES] = {
	[OPT_MODE] = {setting_parse_mode, setting_print_mode, setting_owner_is_set},
	[OPT_USER_NAME] = {setting_parse_account, setting_print_text, setting_text_is_set},
	[OPT_GROUP_NAME] = {setting_parse_account, setting_print_text, setting_text_is_set},
	[OPT_USER] = {setting_parse_id, setting_print_id, setting_owner_is_set},
	[OPT_GROUP] = {setting_parse_id, setting_print_id, setting_owner_is_set},
	[OPT_SOURCE] = {setting_parse_source, setting_print_source, setting_source_is_set},
	[OPT_CPUS] = {setting_parse_cpus, setting_print_cpus, NULL},
	[OPT_LOG] = {setting_parse_log, NULL, setting_never_set},
	[OPT_LOG_FORMAT] = {setting_parse_log_format, setting_print_text, setting_text_is_set},
	[OPT_SAMPLE] = {setting_parse_sample, setting_print_sample, NULL},
	[OPT_ADMIN] = {setting_parse_admin, setting_print_admin, setting_admin_is_set},
	[OPT_RESOLVERS] = {setting_parse_resolvers, setting_print_resolvers, setting_resolvers_is_set},
	[OPT_STATS] = {setting_parse_stats, setting_print_stats, setting_admin_is_set},
	[OPT_AUTH] = {setting_parse_auth, setting_print_auth, setting_auth_is_set},
	[OPT_KEEPALIVE] = {setting_parse_keepalive, setting_print_keepalive, NULL},
	[OPT_KEEPALIVES] = {setting_parse_keepalives, NULL, setting_never_set},
	[OPT_BALANCE] = {setting_parse_balance, setting_print_balance, NULL},
	[OPT_BYTES] = {setting_parse_bytes, setting_print_bytes, NULL},
	[OPT_PACE] = {setting_parse_pace, setting_print_pace, NULL},
	[OPT_PORT] = {setting_parse_port, setting_print_port, setting_port_is_set},
	[OPT_MARK] = {setting_parse_mark, setting_print_mark, NULL},
	[OPT_DSCP] = {setting_parse_dscp, setting_print_dscp, NULL},
	[OPT_CHECK] = {setting_parse_check, setting_print_check, NULL},
	[OPT_CHECK_SEND] = {setting_parse_check_send, NULL, setting_never_set},
	[OPT_CHECK_EXPECT] = {setting_parse_check_expect, NULL, setting_never_set},
	[OPT_CHECK_HOST] = {setting_parse_check_host, setting_print_text, setting_text_is_set},
	[OPT_AGENT] = {setting_parse_agent, setting_print_agent, NULL},
	[OPT_IP] = {setting_parse_ip, setting_print_ip, setting_ip_is_set},
	[OPT_BYTES_TEXT] = {setting_parse_bytes_text, setting_print_bytes_text, setting_text_is_set},
	[OPT_CHECK_LOGIN] = {setting_parse_check_login, setting_print_text, setting_text_is_set},
	[OPT_CHECK_STATUS] = {setting_parse_check_status, setting_print_check_status, NULL},
	[OPT_CHECK_ROLE] = {setting_parse_check_role, setting_print_check_role, NULL},
	[OPT_CHECK_SNI] = {setting_parse_check_sni, setting_print_text, setting_text_is_set},
	[OPT_CHECK_ALPN] = {setting_parse_check_alpn, setting_print_text, setting_text_is_set},
	[OPT_CHECK_PATH] = {setting_parse_check_path, setting_print_text, setting_text_is_set},
	[OPT_CHECK_VERIFY] = {setting_parse_check_verify, setting_print_check_verify, NULL},
	[OPT_PROXY_TLVS] = {setting_parse_proxy_tlvs, setting_print_proxy_tlvs, setting_proxy_tlvs_is_set},
	[OPT_NETWORKS] = {setting_parse_networks, NULL, setting_never_set},
	[OPT_USERS] = {setting_parse_users, NULL, setting_never_set},
	[OPT_UIDS] = {setting_parse_users, setting_print_ids, setting_ids_are_set},
	[OPT_GIDS] = {setting_parse_users, setting_print_ids, setting_ids_are_set},
	[OPT_PORTS] = {setting_parse_ports, NULL, setting_never_set},
	[OPT_NAMES] = {setting_parse_names, NULL, setting_never_set},
	[OPT_PROTOCOLS] = {setting_parse_protocols, NULL, setting_never_set},
	[OPT_PROTOS] = {setting_parse_protos, NULL, setting_never_set},
	[OPT_OBSERVE] = {setting_parse_observe, setting_print_observe, NULL},
	[OPT_STICKY] = {setting_parse_sticky, setting_print_sticky, NULL},
	[OPT_SNIFF] = {setting_parse_sniff, setting_print_sniff, NULL},
	[OPT_SOURCE_RATE] = {setting_parse_source_rate, setting_print_source_rate, NULL},
	[OPT_EGRESS_NAMES] = {setting_parse_egress_names, setting_print_egress_names,
			      setting_egress_names_are_set},
	[OPT_EGRESS_NETWORKS] = {setting_parse_egress_networks, setting_print_egress_networks,
				 setting_egress_networks_are_set},
};

const struct setting_type *setting_type_of(enum option_type type)
{
	check(type < OPT_TYPES);
	return setting_scalar_types[type].parse != NULL ? &setting_scalar_types[type] : &other_types[type];
}

/* Types that read all words of their line; the others take one. */
static bool takes_words(enum option_type type)
{
	return type == OPT_LOG || type == OPT_ADMIN || type == OPT_STATS || type == OPT_KEEPALIVE ||
	       type == OPT_KEEPALIVES || type == OPT_BALANCE || type == OPT_CHECK || type == OPT_NETWORKS ||
	       type == OPT_USERS || type == OPT_SNIFF || type == OPT_RESOLVERS || type == OPT_OBSERVE ||
	       type == OPT_SOURCE_RATE || type == OPT_EGRESS_NAMES || type == OPT_EGRESS_NETWORKS ||
	       type == OPT_STICKY;
}

int setting_parse(const struct setting *s)
{
	const struct option *o = s->option;
	const struct setting_type *type = setting_type_of(o->type);
	uint64_t nowhere = 0; /* for options of which only the syntax is validated */

	check(s->words.count > 0);
	check(type->parse != NULL);
	if (s->words.count > 1 && !takes_words(o->type)) {
		struct at at = s->words.list[1].at;

		diag_error(s->diag, DIAG_BAD_VALUE, at, "'%s' takes one value", o->key);
		/* "5 s": no blank is allowed before the unit. */
		if (s->words.count == 2 &&
		    strspn(s->words.list[0].text, "0123456789") == s->words.list[0].len)
			diag_hint(s->diag, "write %s%s, without the blank", s->words.list[0].text,
				  s->words.list[1].text);
		return -EINVAL;
	}
	return type->parse(s, o->offset == SIZE_MAX ? (void *)&nowhere : (char *)s->base + o->offset);
}

/* `key` is the part of the word `w` before its '='. */
static int report_unknown_word(const struct setting *s, const struct word *w, const struct word *key,
			       unsigned section)
{
	const struct option *near = option_suggest(section, key->text);
	const size_t n = (size_t)(w - s->words.list);
	const char *hint = habit_own_word(s->diag->arena, s->option, &s->words, n);

	if (hint == NULL)
		hint = habit_translate_nth(s->diag->arena, &s->words, n);
	diag_error(s->diag, DIAG_UNKNOWN_WORD, key->at, "'%s' has no option '%s'", s->option->key, key->text);
	if (hint != NULL)
		diag_hint(s->diag, "%s", hint);
	else if (near != NULL)
		diag_hint(s->diag, "did you mean '%s'?", near->key);
	else
		diag_hint(s->diag, "see 'weir help %s'", s->option->key);
	return -EINVAL;
}

/* One "key=value" or "flag". */
static int parse_word(const struct setting *s, const struct word *w, unsigned section)
{
	size_t key_len = strcspn(w->text, "=");
	struct word key = word_part(s->diag, w, 0, key_len);
	struct option_match match = option_find(section, key.text);
	const struct option *o = match.option;
	struct word value;
	struct setting sub = {s->diag, o, {&value, 1}, s->base};
	bool alone = w->text[key_len] != '=';

	if (o == NULL || key_len == 0)
		return report_unknown_word(s, w, &key, section);
	if (o->type == OPT_LATER) {
		diag_error(s->diag, DIAG_NOT_YET, key.at, "'%s' is not in this version", o->key);
		return -EINVAL;
	}
	if (o->type == OPT_FLAG && !alone && (o->flags & OPT_UNDO) == 0) {
		diag_error(s->diag, DIAG_BAD_VALUE, key.at, "'%s' has no value", o->key);
		diag_hint(s->diag, "write '%s' alone", o->key);
		return -EINVAL;
	}
	if (alone && (o->type == OPT_FLAG || (o->flags & OPT_BARE) != 0)) {
		value = word_part(s->diag, w, 0, 0);
		return setting_parse(&sub);
	}
	if (alone || w->text[key_len + 1] == '\0') {
		diag_error(s->diag, DIAG_NO_VALUE, key.at, "'%s' needs a value", o->key);
		diag_hint(s->diag, "write %s=%s, without blanks", o->key, o->words);
		return -EINVAL;
	}
	value = word_part(s->diag, w, key_len + 1, w->len);
	return setting_parse(&sub);
}

/* The option that word `w` names; NULL = none. */
static const struct option *option_of(struct arena *a, const struct word *w, unsigned section)
{
	return option_find(section, arena_strndup(a, w->text, strcspn(w->text, "="))).option;
}

/* Was the option of word `n` given before, among the words from `from` on? However it is spelled. */
static bool given_before(const struct setting *s, size_t from, size_t n, unsigned section)
{
	const struct option *o = option_of(s->diag->arena, &s->words.list[n], section);

	if (o == NULL || (o->flags & OPT_REPEAT) != 0)
		return false;
	for (size_t i = from; i < n; i++) {
		if (option_of(s->diag->arena, &s->words.list[i], section) == o)
			return true;
	}
	return false;
}

/* Does `w` belong to the word before it, for which `hint` was printed? It is unknown, or would get the same
 * hint again, perhaps with more behind it ("ssl crt x verify none"). "weight = 5" has two such words. */
static bool is_stray(const struct setting *s, const struct word *w, unsigned section, const char *hint)
{
	const char *own;

	if (w->text[0] == '=')
		return true;
	if (strchr(w->text, '=') != NULL || option_find(section, w->text).option != NULL)
		return false;
	own = habit_translate_word(s->diag->arena, w->text);
	return own == NULL || (hint != NULL && strncmp(own, hint, strlen(hint)) == 0);
}

int setting_parse_words(const struct setting *s, size_t from, unsigned section)
{
	int result = 0;

	for (size_t i = from; i < s->words.count; i++) {
		const struct word *w = &s->words.list[i];
		const char *hint;
		int err;

		if (given_before(s, from, i, section)) {
			diag_error(s->diag, DIAG_DUPLICATE, w->at, "'%.*s' is given twice",
				   (int)strcspn(w->text, "="), w->text);
			result = -EINVAL;
			continue;
		}
		err = parse_word(s, w, section);
		if (err == 0)
			continue;
		result = err;
		/* HAProxy writes "weight 10": the stray words are part of the same mistake. */
		hint = habit_translate_word(s->diag->arena, w->text);
		while (strchr(w->text, '=') == NULL && i + 1 < s->words.count &&
		       is_stray(s, &s->words.list[i + 1], section, hint))
			i += strcmp(s->words.list[i + 1].text, "=") == 0 ? 2 : 1;
	}
	return result;
}

const struct word *setting_find_word(struct arena *a, const struct words *words, unsigned section,
				     const char *key)
{
	for (size_t i = 1; i < words->count; i++) {
		const struct option *o = option_of(a, &words->list[i], section);

		if (o != NULL && strcmp(o->key, key) == 0)
			return &words->list[i];
	}
	return NULL;
}

void setting_defaults(struct arena *a, unsigned section, void *base)
{
	struct diag d = {.arena = a};
	struct source *source = source_new(a, "default");

	for (size_t i = 0; i < option_count; i++) {
		const struct option *o = &options[i];
		struct setting s = {.diag = &d, .option = o, .base = base};
		struct at at = {source, 1, 1, 1};
		int err;

		if ((o->sections & section) == 0 || o->def == NULL || (o->flags & OPT_REPEAT) != 0)
			continue;
		source_add_line(a, source, o->def, strlen(o->def));
		at.line = (unsigned)source->line_count;
		err = words_split(&d, at, o->def, &s.words);
		check(err == 0);
		err = setting_parse(&s);
		check(err == 0);
	}
}

static bool is_zero(const struct option *option, const void *base)
{
	const char *field = (const char *)base + option->offset;

	for (size_t i = 0; i < option->size; i++) {
		if (field[i] != 0)
			return false;
	}
	return true;
}

bool setting_is_set(const struct option *option, const void *base)
{
	const struct setting_type *type = setting_type_of(option->type);

	if (type->parse == NULL || option->offset == SIZE_MAX)
		return false;
	if ((option->flags & OPT_HIDE_ZERO) != 0 && is_zero(option, base))
		return false;
	return type->is_set == NULL || type->is_set((const char *)base + option->offset);
}

void setting_print(const struct option *option, const void *base, FILE *out)
{
	const struct setting_type *type = setting_type_of(option->type);

	check(setting_is_set(option, base));
	check(type->print != NULL);
	type->print((const char *)base + option->offset, option, out);
}

void setting_print_words(unsigned section, const void *base, FILE *out)
{
	for (size_t i = 0; i < option_count; i++) {
		const struct option *o = &options[i];

		if ((o->sections & section) == 0 || !setting_is_set(o, base))
			continue;
		fprintf(out, " %s", o->key);
		if (o->type == OPT_FLAG)
			continue;
		fputc('=', out);
		setting_print(o, base, out);
	}
}
