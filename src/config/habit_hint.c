/* SPDX-License-Identifier: MIT
 *
 * habit_hint.c - hints for words of HAProxy and nginx, filled in from the line.
 *
 * Users copy hints into their files, so a hint must mean what the line meant: the networks of a rule are
 * copied only if the rule consists only of addresses, and then all of them. Otherwise the placeholder stays,
 * or the hint refers to the documentation. Main thread.
 */
#include "weir/config/habit.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/config/suggest.h"
#include "weir/config/values.h"
#include "weir/net/netset.h"

#define BLANKS	     " \t"
#define PATH_LEN_MAX 512 /* the longest that a health check accepts */

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, BLANKS);
}

/* Does `text` begin with `word` as a whole word? */
static bool begins(const char *text, const char *word)
{
	size_t len = strlen(word);

	return strncmp(text, word, len) == 0 && (text[len] == '\0' || strchr(BLANKS, text[len]) != NULL);
}

/* Is `word` among the words of `o` that this version does not have? */
static bool is_later_choice(const struct option *o, const char *word, size_t len)
{
	char later[OPTION_PLACES_MAX];
	const char *item = later;

	if (o->type != OPT_CHOICE && o->type != OPT_BALANCE)
		return false;
	option_choices(o, true, later);
	while (*item != '\0') {
		size_t item_len = strcspn(item, ",");

		if (item_len == len && memcmp(item, word, len) == 0)
			return true;
		item += item_len + strspn(item + item_len, ", ");
	}
	return false;
}

/* Does the first quotation in a hint, 'key' or 'key = value', exist only in a later version? */
static bool quotes_later(const char *hint)
{
	const char *key = strchr(hint, '\'');
	size_t key_len, value;
	bool later = false;

	if (key == NULL)
		return false;
	key++;
	key_len = strcspn(key, " ='");
	value = key_len + strspn(key + key_len, " =");
	for (size_t i = 0; i < option_count; i++) {
		const struct option *o = &options[i];

		if (strlen(o->key) != key_len || memcmp(o->key, key, key_len) != 0)
			continue;
		if (o->type != OPT_LATER && !is_later_choice(o, key + value, strcspn(key + value, " '")))
			return false;
		later = true;
	}
	return later;
}

static const char *with_version(struct arena *a, const char *hint)
{
	if (hint == NULL || !quotes_later(hint))
		return hint;
	return arena_printf(a, "%s; not in this version", hint);
}

/* Replaces `mark` in `hint` by `text`. */
static const char *with_text(struct arena *a, const char *hint, const char *mark, const char *text)
{
	const char *at = hint != NULL ? strstr(hint, mark) : NULL;

	if (at == NULL || text == NULL)
		return hint;
	return arena_printf(a, "%.*s%s%s", (int)(at - hint), hint, text, at + strlen(mark));
}

/* Replaces the "..." of a hint by `argument`, which is "" if the line has none. A ':' directly before it or a
 * unit directly after it applies only to a bare number: "listen 80", "clitimeout 5000". */
static const char *with_argument(struct arena *a, const char *hint, const char *argument)
{
	const char *mark = hint != NULL ? strstr(hint, "...") : NULL;
	size_t len = strlen(argument), before, after;
	bool bare = len > 0 && strspn(argument, "0123456789") == len;

	if (mark == NULL)
		return hint;
	before = (size_t)(mark - hint);
	if (before > 0 && mark[-1] == ':' && !bare)
		before--;
	after = 3 + (bare ? 0 : strcspn(mark + 3, " '"));
	return arena_printf(a, "%.*s%s%s", (int)before, hint, len > 0 ? argument : "...", mark + after);
}

/* Is each '\\' of `word` an escape that our texts support too ("\\r\\n")? */
static bool escapes_known(const char *word)
{
	for (word = strchr(word, '\\'); word != NULL; word = strchr(word + 2, '\\')) {
		if (word[1] == '\0' || strchr("rntx0", word[1]) == NULL)
			return false;
	}
	return true;
}

/* The first word of `text`, in double quotes if it was quoted; "" if our reader would not accept it: a blank
 * after '\', a variable of nginx. */
static const char *first_word(struct arena *a, const char *text)
{
	char quote = text[0] == '"' || text[0] == '\'' ? text[0] : '\0';
	const char *end, *variable;
	const char *word;
	size_t len;

	if (quote != '\0') {
		end = strchr(text + 1, quote);
		word = arena_strndup(a, text + 1, end != NULL ? (size_t)(end - text - 1) : 0);
		if (word[0] == '\0' || strpbrk(word, "\"'") != NULL || !escapes_known(word))
			return "";
		return arena_printf(a, "\"%s\"", word);
	}
	len = strcspn(text, " \t;");
	word = arena_strndup(a, text, len);
	variable = strchr(word, '$');
	if (strpbrk(word, "\"'") != NULL || !escapes_known(word) || (variable != NULL && variable[1] != '{'))
		return "";
	return word;
}

/* The request of `option httpchk [METHOD] [PATH [VERSION]]`: a single word is a path, none means "/". */
static const char *request_of(struct arena *a, const char *text)
{
	size_t first = strcspn(text, BLANKS), method_len = 0, len;
	const char *path = skip_blanks(text + first);

	if (*path != '\0' || (first > 0 && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == first))
		method_len = first;
	if (method_len == 0)
		path = text;
	len = strcspn(path, BLANKS);
	if (method_len > 0 && strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != method_len)
		return "GET /PATH";
	if (len == 1 && path[0] == '*' && (method_len == 0 || strncmp(text, "OPTIONS", method_len) == 0))
		return "OPTIONS *";
	if (len > 0 && (path[0] != '/' || len > PATH_LEN_MAX || strcspn(path, "\"'#$\\") < len))
		return "GET /PATH";
	return arena_printf(a, "%.*s %.*s", method_len > 0 ? (int)method_len : 7,
			    method_len > 0 ? text : "OPTIONS", len > 0 ? (int)len : 1, len > 0 ? path : "/");
}

/* Translates HAProxy's "PATH mode 660 level admin expose-fd listeners" after "stats socket" as `weir convert`
 * does: the path is that of weir.service, because HAProxy may still use its own; owners are HAProxy's. */
static const char *socket_of(struct arena *a, const char *text)
{
	const char *sum = "unix:/run/weir/admin.sock";

	while (*(text = skip_blanks(text + strcspn(text, BLANKS))) != '\0') {
		const char *word = begins(text, "mode") ? "mode" : begins(text, "level") ? "level" : NULL;
		const char *value = skip_blanks(text + strcspn(text, BLANKS));

		if (word != NULL && *value != '\0')
			sum = arena_printf(a, "%s %s=%s", sum, word, first_word(a, value));
	}
	return sum;
}

/* `text` as a network in our syntax, NULL if it is not one. HAProxy and nginx ignore bits after the prefix
 * ("10.1.1.0/16"), we refuse them: they are cleared here. */
static const char *network_of(struct arena *a, const char *text)
{
	size_t slash = strcspn(text, "/");
	char buf[NETSET_TEXT_MAX];
	struct net_prefix p;
	const char *why;
	uint64_t bits = 0;

	if (net_prefix_parse(text, &p, &why) == 0)
		return text;
	if (text[slash] == '\0' || net_prefix_parse(arena_strndup(a, text, slash), &p, &why) != 0 ||
	    value_number(text + slash + 1, &bits) != 0 || bits > p.bits)
		return NULL;
	/* The prefix length of an IPv4-mapped network differs from that of the IPv4 network. */
	if (p.family == AF_INET && strchr(text, ':') != NULL)
		return NULL;
	for (size_t i = (size_t)bits; i < p.bits; i++)
		p.ip[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
	p.bits = (uint8_t)bits;
	return arena_strndup(a, net_prefix_format(&p, buf), sizeof(buf));
}

/* The words in `len` bytes of `text` if all of them are networks; otherwise NULL. */
static const char *networks_of(struct arena *a, const char *text, size_t len)
{
	const char *list = arena_strndup(a, text, len);
	const char *sum = NULL;

	for (list = skip_blanks(list); *list != '\0'; list = skip_blanks(list)) {
		size_t word_len = strcspn(list, BLANKS);
		const char *one = network_of(a, arena_strndup(a, list, word_len));

		if (one == NULL)
			return NULL;
		sum = sum == NULL ? one : arena_printf(a, "%s %s", sum, one);
		list += word_len;
	}
	return sum;
}

/* The "if" or "unless" of a rule; NULL if there is none or `line` is not a rule. */
static const char *condition_of(const char *line)
{
	if (!begins(line, "tcp-request"))
		return NULL;
	for (const char *word = line; *word != '\0'; word = skip_blanks(word + strcspn(word, BLANKS))) {
		if (begins(word, "if") || begins(word, "unless"))
			return word;
	}
	return NULL;
}

/* The length of a line before its condition. */
static size_t verb_len(const char *line)
{
	const char *condition = condition_of(line);
	size_t len = condition != NULL ? (size_t)(condition - line) : strlen(line);

	while (len > 0 && strchr(BLANKS, line[len - 1]) != NULL)
		len--;
	return len;
}

/* A rule in the form of the table, if its condition is just "{ src A B }", plain or negated once, with only
 * networks: "VERB if {src}" or "VERB unless {src}", and these networks. Otherwise NULL. */
static const char *rule_of(struct arena *a, const char *line, const char **networks)
{
	const char *condition = condition_of(line);
	bool unless = condition != NULL && condition[0] == 'u';
	const char *text;
	size_t len;
	bool negated;

	if (condition == NULL)
		return NULL;
	text = skip_blanks(condition + strlen(unless ? "unless" : "if"));
	negated = *text == '!';
	text = skip_blanks(text + (negated ? 1 : 0));
	if ((negated && unless) || !begins(text, "{"))
		return NULL;
	text = skip_blanks(text + 1);
	len = strcspn(text, "}");
	if (!begins(text, "src") || text[len] != '}' || *skip_blanks(text + len + 1) != '\0')
		return NULL;
	*networks = networks_of(a, text + strlen("src"), len - strlen("src"));
	if (*networks == NULL)
		return NULL;
	return arena_printf(a, "%.*s %s {src}", (int)verb_len(line), line,
			    negated || unless ? "unless" : "if");
}

/* `line` in the form of the table if words in its middle matter; otherwise `line`. */
static const char *canonical(struct arena *a, const char *line, const char **networks)
{
	const char *rule = rule_of(a, line, networks);
	const char *usesrc = begins(line, "source") ? strstr(line, " usesrc ") : NULL;

	if (rule != NULL)
		return rule;
	if (usesrc == NULL)
		return line;
	usesrc = skip_blanks(usesrc + strlen(" usesrc "));
	return begins(usesrc, "client") || begins(usesrc, "clientip") ? "source usesrc client"
								      : "source usesrc";
}

/* nginx's "listen 443 proxy_protocol": a word of the line that is also one of ours. */
static const char *with_proxy_protocol(struct arena *a, const char *hint, const char *line)
{
	static const char bind[] = "write 'bind = ";
	size_t quote;

	if (hint == NULL || strncmp(hint, bind, strlen(bind)) != 0 || strstr(line, " proxy_protocol") == NULL)
		return hint;
	quote = strlen(bind) + strcspn(hint + strlen(bind), "'");
	return arena_printf(a, "%.*s accept-proxy%s", (int)quote, hint, hint + quote);
}

/* "default-server inter 3s fall 2", of which `words` is what follows the first word. */
static const char *defaults_of(struct arena *a, const char *words, const char *otherwise)
{
	const struct option *o = option_find(IN_BACKEND, "server-defaults").option;
	const struct at at = {source_new(a, ""), 1, 1, 1};
	struct diag quiet = {.arena = a};
	struct words list;
	const char *line;

	if (words_split(&quiet, at, words, &list) != 0)
		return otherwise;
	habit_join_words(&quiet, o, &list);
	line = habit_line(a, o, "", &list);
	return line[strlen(line) - 1] == '=' ? otherwise : arena_printf(a, "write '%s'", line);
}

/* nginx's "resolver 10.0.0.2 valid=30s ipv6=off": ours is another key, with other words. NULL if `line` is
 * none; `*len` is that of the words to underline. */
static const char *resolver_of(struct arena *a, const char *line, size_t *len)
{
	const char *text = skip_blanks(line + strcspn(line, BLANKS)), *sum = NULL, *family = NULL;

	if (!begins(line, "resolver") || strpbrk(text, ".:") == NULL ||
	    strcspn(text, "=") < strcspn(text, ".:"))
		return NULL;
	*len = (size_t)(text - line) + strcspn(text, " \t;");
	for (; *text != '\0' && *text != ';'; text = skip_blanks(text + strcspn(text, " \t;"))) {
		const char *word = first_word(a, text);

		if (strcmp(word, "ipv6=off") == 0)
			family = "ipv4";
		else if (strcmp(word, "ipv4=off") == 0)
			family = "ipv6";
		else if (word[0] != '\0' && strchr(word, '=') == NULL)
			sum = sum == NULL ? word : arena_printf(a, "%s %s", sum, word);
	}
	if (sum == NULL)
		sum = "ADDRESS";
	if (family == NULL)
		return arena_printf(a, "write 'resolvers = %s' in [global]", sum);
	return arena_printf(a,
			    "write 'resolvers = %s' in [global], and 'resolve-family = %s' in [defaults]",
			    sum, family);
}

/* The line with tabs replaced by blanks: patterns are written with blanks. */
static const char *without_tabs(struct arena *a, const char *line)
{
	char *copy = arena_strndup(a, line, strlen(line));

	for (char *c = copy; *c != '\0'; c++)
		if (*c == '\t')
			*c = ' ';
	return copy;
}

/* "proxy_pass $ssl_preread_server_name:443;" */
static const char *sni_server(struct arena *a, const char *argument)
{
	const char *port = argument + strcspn(argument, ":;");
	const size_t len = *port == ':' ? strspn(port + 1, "0123456789") : 0;

	return arena_printf(a, "write 'server NAME = sni@%.*s' and 'allow-sni' in the backend, and 'sniff = "
			       "tls' in the frontend",
			    len > 0 ? (int)len : 1, len > 0 ? port + 1 : "*");
}

const char *habit_translate(struct arena *a, const char *line, size_t *len)
{
	const char *hint = suggest_foreign(FOREIGN_LINE, line, len);
	const char *networks = NULL;
	const char *argument;
	size_t nowhere, verb;

	if (hint == NULL)
		return resolver_of(a, line, len);
	line = without_tabs(a, line);
	/* Underlines the words of the line; of a rule, those before its condition. */
	verb = verb_len(line);
	if (*len > verb)
		*len = verb;
	hint = suggest_foreign(FOREIGN_LINE, canonical(a, line, &networks), &nowhere);
	argument = skip_blanks(line + *len);
	/* nginx has one network per line, and no condition. */
	if (networks == NULL && !begins(line, "tcp-request"))
		networks = networks_of(a, argument, strcspn(argument, ";"));
	/* nginx passes to a group of servers, to the name that the client asks for, or to an address. */
	if (begins(line, "proxy_pass") && strncmp(argument, "$ssl_preread_server_name", 24) == 0)
		return sni_server(a, argument);
	if (begins(line, "proxy_pass") && argument[strcspn(argument, ":; \t")] == ':')
		hint = strstr(argument, ":$server_port") != NULL ? "write 'server NAME = ADDRESS:*'"
								 : "write 'server NAME = ...'";
	if (begins(line, "default-server"))
		return defaults_of(a, argument, hint);
	if (suggest_starts_with(line, "option httpchk") > 0)
		hint = with_argument(a, hint, request_of(a, argument));
	else
		hint = with_argument(a, hint, first_word(a, argument));
	hint = with_text(a, hint, "NETWORK", networks);
	hint = with_text(a, hint, "SOCKET", socket_of(a, argument));
	return with_version(a, with_proxy_protocol(a, hint, line));
}

const char *habit_translate_word(struct arena *a, const char *word)
{
	size_t len;

	return with_version(a, suggest_foreign(FOREIGN_IN_LINE, word, &len));
}

/* The version of the PROXY header that a server line of HAProxy requests; its health checks send the same. */
static const char *proxy_version(const struct words *words)
{
	for (size_t i = 1; i < words->count; i++) {
		const char *text = words->list[i].text;

		if (strcmp(text, "send-proxy=v2") == 0 || strncmp(text, "send-proxy-v2", 13) == 0)
			return "v2";
	}
	return "v1";
}

const char *habit_translate_nth(struct arena *a, const struct words *words, size_t n)
{
	const char *text = words->list[n].text;
	const char *value = strchr(text, '=');
	const char *word = arena_strndup(a, text, strcspn(text, "="));
	size_t len;
	const char *hint = suggest_foreign(FOREIGN_IN_LINE, word, &len);

	if (value != NULL)
		value++;
	else
		value = n + 1 < words->count ? words->list[n + 1].text : "";
	if (strcmp(word, "max_fails") == 0 && strcmp(value, "0") == 0)
		return "leave it out: failed connects take no server out without 'observe'";
	hint = with_argument(a, hint, first_word(a, value));
	return with_version(a, with_text(a, hint, "VERSION", proxy_version(words)));
}
