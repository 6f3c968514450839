/* SPDX-License-Identifier: MIT
 *
 * check.c - health checks: `option ...-check`, tcp-check, external-check.
 *
 * Main thread.
 */
#include <string.h>

#include "check.h"
#include "weir/base/check.h"
#include "weir/config/reader.h"

bool check_says(const struct old_line *line, size_t at, const char *word)
{
	return strcmp(old_word(line, at), word) == 0;
}

const char *check_quoted(struct checker *k, const char *bytes)
{
	return ini_quote(k->h->arena, bytes, strlen(bytes));
}

void check_append(struct checker *k, const char *more)
{
	k->text = ini_join(k->h->arena, k->text, more);
}

/* May a '.' of a pattern stand for the dot itself, as in "HTTP/1.1"? */
static bool is_dot(const char *pattern, const char *at)
{
	return at > pattern && at[-1] >= '0' && at[-1] <= '9' && at[1] >= '0' && at[1] <= '9' &&
	       (at[2] == '\0' || strchr("*+?{", at[2]) == NULL);
}

const char *check_text_of(struct checker *k, struct old_line *line, const char *pattern, bool negated)
{
	const bool anchored = pattern[0] == '^' && strncmp(pattern, "^.*", 3) != 0;
	size_t len, used = 0;
	char *out;

	pattern += pattern[0] == '^';
	pattern += strncmp(pattern, ".*", 2) == 0 ? 2 : 0;
	len = strlen(pattern);
	len -= len > 2 && strcmp(pattern + len - 2, ".*") == 0 && pattern[len - 3] != '\\' ? 2 : 0;
	out = arena_alloc(k->h->arena, len + 1);
	for (const char *at = pattern; at < pattern + len; at++) {
		if (*at == '\\' && at[1] != '\0' && strchr("^$.*+?()[]{}|\\/-:# ", at[1]) != NULL)
			at++;
		else if (strchr("^$*+?()[]{}|\\", *at) != NULL || (*at == '.' && !is_dot(pattern, at)))
			return NULL;
		if (at + 1 < pattern + len && strchr("*+?{", at[1]) != NULL)
			return NULL;
		out[used++] = *at;
	}
	out[used] = '\0';
	if (used == 0 || (anchored && negated))
		return NULL;
	if (anchored)
		old_set(k->h->arena, line, OLD_DIFFERENT,
			"the text may be anywhere in what the server says, not only at its start");
	return out;
}

/* ---- tcp-check ---- */

/* A password that would stand in the result. */
static bool has_secret(const struct old_line *line)
{
	return strstr(line->shown, "***") != NULL;
}

/* What a line says or expects, as far as weir's check of redis does the same. */
struct redis {
	const char *role;
	bool ping, pong;
};

static bool take_redis_line(struct redis *r, const struct old_line *line)
{
	const char *text = old_word(line, line->count - 1);

	if (strcmp(line->words[0], "tcp-check") != 0 || check_says(line, 1, "connect") ||
	    check_says(line, 1, "comment"))
		return true;
	if (strncmp(old_word(line, 1), "send", 4) == 0) {
		const bool ping = check_says(line, 1, "send") && strncasecmp(text, "PING", 4) == 0;

		r->ping = r->ping || ping;
		return ping || has_secret(line) || strncasecmp(text, "QUIT", 4) == 0 ||
		       strncasecmp(text, "info replication", 16) == 0;
	}
	if (!check_says(line, 1, "expect") || line->count != 4)
		return false;
	/* With another answer, it is another protocol: clamd's, for example. */
	if (strstr(text, "+PONG") != NULL)
		r->pong = true;
	else if (strcmp(text, "role:master") == 0)
		r->role = " role=master";
	else if (strcmp(text, "role:slave") == 0)
		r->role = " role=replica";
	else
		return strstr(text, "+OK") != NULL;
	return true;
}

/* "role:master" after "info replication": a question that weir knows. NULL: the lines ask something else. */
static const char *redis_role(const struct old_lines *rules)
{
	struct redis r = {.role = ""};

	for (size_t i = 0; i < rules->count; i++)
		if (!take_redis_line(&r, rules->list[i]))
			return NULL;
	return (r.ping && r.pong) || r.role[0] != '\0' ? r.role : NULL;
}

static const char *from_hex(struct arena *a, const char *text)
{
	char *out = arena_alloc(a, 2 * strlen(text) + 3), *at = out;

	*at++ = '"';
	for (; text[0] != '\0' && text[1] != '\0'; text += 2) {
		*at++ = '\\';
		*at++ = 'x';
		*at++ = text[0];
		*at++ = text[1];
	}
	*at = '"';
	return out;
}

/* What is said one after the other is one text to the server, and one step of weir's. */
static void add_send(struct checker *k, const char *quoted)
{
	const size_t len = strlen(k->text);

	if (!k->said)
		check_append(k, arena_printf(k->h->arena, "send %s", quoted));
	else if (len <= READER_LINE_MAX)
		k->text = arena_printf(k->h->arena, "%.*s%s", (int)len - 1, k->text, quoted + 1);
	k->said = true;
}

static void take_expect(struct checker *k, struct old_line *line)
{
	const bool negated = check_says(line, 2, "!");
	size_t at = negated ? 3 : 2;
	const char *kind, *value;

	while (strcmp(old_word(line, at), "comment") == 0 || strcmp(old_word(line, at), "min-recv") == 0)
		at += 2;
	kind = old_word(line, at);
	value = old_word(line, at + 1);
	k->said = false;
	if (strcmp(kind, "rstring") == 0) {
		const char *text = check_text_of(k, line, value, negated);

		kind = text != NULL ? "string" : kind;
		value = text != NULL ? text : value;
	}
	if (strcmp(kind, "string") == 0)
		check_append(k,
			     arena_printf(k->h->arena, "expect=%s%s", negated ? "!" : "",
					  check_quoted(k, value)));
	else if (strcmp(kind, "binary") == 0)
		check_append(k, arena_printf(k->h->arena, "expect=%s%s", negated ? "!" : "",
				       from_hex(k->h->arena, value)));
	else
		old_set(k->h->arena, line, OLD_LOST, "weir expects texts, not regular expressions");
}

/* Does the check say or expect anything? */
static bool has_steps(const struct checker *k)
{
	const struct old_lines *rules = &k->p->lists[LIST_CHECK];

	for (size_t i = 0; i < rules->count; i++)
		if (strncmp(old_word(rules->list[i], 1), "send", 4) == 0 ||
		    check_says(rules->list[i], 1, "expect"))
			return true;
	return false;
}

void check_take_connect(struct checker *k, struct old_line *line)
{
	/* Without 'default', HAProxy leaves aside check-ssl and check-send-proxy of the server lines. */
	k->connect = line;
	k->own_words = !old_has_word(line, 2, "default");
	for (size_t i = 2; i < line->count; i++) {
		if (check_says(line, i, "comment"))
			i++;
		else if (check_says(line, i, "port"))
			k->port = old_word(line, ++i);
		else if (check_says(line, i, "sni"))
			k->sni = old_word(line, ++i);
		else if (check_says(line, i, "alpn"))
			k->alpn = old_word(line, ++i);
		else if (check_says(line, i, "addr"))
			old_set(k->h->arena, line, OLD_LOST, "write check-addr=%s behind each server",
				old_word(line, ++i));
		else if (check_says(line, i, "ssl"))
			k->over_tls = true;
		else if (check_says(line, i, "send-proxy"))
			k->sends_proxy = true;
		else if (!check_says(line, i, "default") && !check_says(line, i, "linger"))
			old_set(k->h->arena, line, OLD_LOST, "'%s' of %s connect", line->words[i],
				line->words[0]);
	}
}

bool check_is_tls(const struct checker *k)
{
	return k->over_tls || (k->c->tls != NULL && !k->own_words);
}

const char *const check_second_connection =
    "a health check of weir has one connection: write a second section for the other";

/* Takes the connect lines. Returns how many rules belong to the first connection. */
static size_t take_connections(struct checker *k, const struct old_lines *rules)
{
	bool begun = false;
	size_t count = 0;

	for (; count < rules->count; count++) {
		struct old_line *line = rules->list[count];

		if (strcmp(line->words[0], "tcp-check") != 0 || check_says(line, 1, "comment"))
			continue;
		if (check_says(line, 1, "connect") && begun)
			break;
		if (check_says(line, 1, "connect"))
			check_take_connect(k, line);
		begun = true;
	}
	for (size_t i = count; i < rules->count; i++)
		if (strcmp(rules->list[i]->words[0], "tcp-check") == 0)
			old_set(k->h->arena, rules->list[i], OLD_LOST, "%s", check_second_connection);
	return count;
}

/* What a line sends, with a variable in place of its password; NULL: the password is elsewhere in it. */
static const char *with_variable(struct checker *k, struct old_line *line)
{
	struct arena *a = k->h->arena;
	struct work_list *known = &k->h->secrets;
	const char *text = old_word(line, 2), *at = old_secret(text), *secret, *name = "CHECK_PASSWORD";
	const size_t len = at != NULL ? strcspn(at, "\r\n") : 0;
	size_t n = 0;

	/* "AUTH x" of one line, and nothing secret behind it. */
	if (!check_says(line, 1, "send") || len == 0 || line->count != 3 || at[-1] != ' ' ||
	    old_secret(at + len) != NULL)
		return NULL;
	k->has_password = true;
	if (strncmp(at, "${", 2) == 0)
		return text;
	secret = arena_strndup(a, at, len);
	while (n < known->count && strcmp(known->items[n], secret) != 0)
		n++;
	if (n == known->count)
		work_list_add(a, known, secret);
	if (n > 0)
		name = arena_printf(a, "%s_%zu", name, n + 1);
	old_set(a, line, OLD_DIFFERENT,
		"the password is the variable %s: set it in the environment of weir, with EnvironmentFile= "
		"in the unit", name);
	return arena_printf(a, "%.*s${%s}%s", (int)(at - text), text, name, at + len);
}

/* Does a line log in in a way that cannot be written without its password? Nothing behind the login would be
 * answered, so weir asks whether the server is alive. */
static bool take_login_rules(struct checker *k, const struct old_lines *rules)
{
	bool found = false;

	for (size_t i = 0; i < rules->count; i++)
		found = found ||
			(strcmp(rules->list[i]->words[0], "tcp-check") == 0 && has_secret(rules->list[i]) &&
			 (!check_says(rules->list[i], 1, "send") ||
			  with_variable(k, rules->list[i]) == NULL));
	for (size_t i = 0; i < rules->count && found; i++)
		old_set(k->h->arena, rules->list[i], OLD_LOST,
			has_secret(rules->list[i])
			    ? "a password would stand in the file: weir does not log in"
			    : "the check does not log in, and asks less");
	if (found)
		k->text = redis_role(rules) != NULL ? "redis" : "tcp";
	return found;
}

/* What is said and expected, in weir's words. */
static void take_tcp_rule(struct checker *k, struct old_line *line)
{
	struct arena *a = k->h->arena;

	old_set(a, line, OLD_CARRIED, NULL);
	if (strcmp(line->words[0], "tcp-check") != 0)
		old_set(a, line, OLD_NO_EFFECT, "the check is not by HTTP");
	else if (check_says(line, 1, "send"))
		add_send(k, check_quoted(k, has_secret(line) ? with_variable(k, line) : old_word(line, 2)));
	else if (check_says(line, 1, "send-binary"))
		add_send(k, from_hex(a, old_word(line, 2)));
	else if (check_says(line, 1, "expect"))
		take_expect(k, line);
	else if (!check_says(line, 1, "comment") && !check_says(line, 1, "connect"))
		old_set(a, line, OLD_LOST, "'tcp-check %s'", old_word(line, 1));
}

static void take_tcp_rules(struct checker *k, const struct old_lines *rules)
{
	const struct old_lines first = {.list = rules->list, .count = take_connections(k, rules)};
	const char *role = redis_role(&first);

	k->text = "";
	if (check_is_tls(k) && has_steps(k)) {
		for (size_t i = 0; i < first.count; i++)
			old_set(k->h->arena, first.list[i], OLD_LOST,
				"weir sends and expects texts without TLS only: this check is the handshake");
	} else if (take_login_rules(k, &first)) {
		; /* the text is there */
	} else if (role != NULL && !k->has_password) {
		k->text = arena_printf(k->h->arena, "redis%s", role);
		for (size_t i = 0; i < first.count; i++)
			old_set(k->h->arena, first.list[i], OLD_CARRIED, NULL);
	} else {
		for (size_t i = 0; i < first.count; i++)
			take_tcp_rule(k, first.list[i]);
	}
	if (k->text[0] == '\0')
		k->text = check_is_tls(k) ? "tls" : "tcp";
	if (k->port != NULL)
		check_append(k, arena_printf(k->h->arena, "port=%s", k->port));
}

/* ---- the others ---- */

static void take_login(struct checker *k, const char *name)
{
	const struct slot_value *s = &k->p->slots[SLOT_CHECK];
	const bool user = check_says(s->line, s->at, "user");

	k->text = user ? arena_printf(k->h->arena, "%s user=%s", name, old_word(s->line, s->at + 1)) : name;
	/* To PostgreSQL, a client that names no database asks for that of the user's name. */
	if (user && name[0] == 'p')
		check_append(k, arena_printf(k->h->arena, "database=%s", old_word(s->line, s->at + 1)));
	else if (!user)
		old_set(k->h->arena, s->line, OLD_DIFFERENT,
			"the check logs in, as 'weir': HAProxy reads the greeting and leaves");
}

static void take_exec(struct checker *k)
{
	const char *command = slot_word(k->p, SLOT_COMMAND, 0), *path = slot_word(k->p, SLOT_COMMAND_PATH, 0);

	if (command[0] != '/') {
		const enum slot said = slot_on(k->p, SLOT_COMMAND) ? SLOT_COMMAND : SLOT_CHECK;

		old_set(k->h->arena, k->p->slots[said].line, OLD_LOST,
			"write the program with its whole path: check = exec /PATH/PROGRAM");
		return;
	}
	k->text = arena_printf(k->h->arena, "exec %s", command);
	if (path[0] != '\0')
		check_append(k, arena_printf(k->h->arena, "path=%s", path));
	for (enum slot s = SLOT_COMMAND; s <= SLOT_COMMAND_PATH; s++)
		if (slot_on(k->p, s))
			old_set(k->h->arena, k->p->slots[s].line, OLD_CARRIED, NULL);
	k->is_exec = true;
	k->h->exec = true;
}

static void take_by_name(struct checker *k, const char *name, const struct old_lines *rules)
{
	const char *domain = slot_word(k->p, SLOT_CHECK, 1);

	if (strcmp(name, "httpchk") == 0) {
		check_take_http(k, rules);
	} else if (strcmp(name, "tcp-check") == 0) {
		take_tcp_rules(k, rules);
	} else if (strcmp(name, "ssl-hello-chk") == 0) {
		k->text = "tls";
	} else if (strcmp(name, "mysql-check") == 0) {
		take_login(k, "mysql");
	} else if (strcmp(name, "pgsql-check") == 0) {
		take_login(k, "pgsql");
	} else if (strcmp(name, "redis-check") == 0) {
		k->text = "redis";
	} else if (strcmp(name, "ldap-check") == 0) {
		k->text = "ldap";
	} else if (strcmp(name, "smtpchk") == 0) {
		k->text = domain[0] != '\0' ? arena_printf(k->h->arena, "smtp %s %s",
							   slot_word(k->p, SLOT_CHECK, 0), domain)
					    : "smtp";
	} else if (strcmp(name, "external-check") == 0) {
		take_exec(k);
	}
}

static void add_tls_words(struct checker *k)
{
	const char *sni = k->sni != NULL ? k->sni : k->c->sni;
	const char *alpn = k->alpn != NULL ? k->alpn : k->c->alpn;

	const bool http = strncmp(k->text, "https", 5) == 0;

	if (!check_is_tls(k) || (!http && strncmp(k->text, "tls", 3) != 0))
		return;
	if (sni != NULL)
		check_append(k, arena_printf(k->h->arena, "sni=%s", sni));
	if (alpn != NULL && !http)
		check_append(k, arena_printf(k->h->arena, "alpn=%s", alpn));
	else if (alpn != NULL)
		old_set(k->h->arena, k->alpn != NULL ? k->connect : k->c->line, OLD_DIFFERENT,
			"the check speaks HTTP/1.1, and offers no protocol (ALPN)");
	check_append(k,
		     arena_printf(k->h->arena, "verify=%s", k->c->verify != NULL ? k->c->verify : "system"));
}

/* Does the check end once it is connected? */
static bool only_connects(const struct checker *k)
{
	const char *name = check_is_tls(k) ? "tls" : "tcp";

	return strncmp(k->text, name, 3) == 0 && (k->text[3] == '\0' || k->text[3] == ' ');
}

/* With a `timeout check`, HAProxy gives a connect the shorter of `inter` and `timeout connect`, and then the
 * server that much to answer (tcpcheck.c); a program has the former alone (extcheck.c). */
static void add_timeout(struct checker *k)
{
	struct proxy *p = k->p;
	struct old_line *line = p->slots[SLOT_CHECK_TIME].line;
	const long long connect_ms = slot_ms(k->h, p, SLOT_CONNECT);
	const bool shorter = connect_ms > 0 && connect_ms < k->c->interval_ms;
	const char *limit = work_duration(k->h->arena, shorter ? connect_ms : k->c->interval_ms);

	if (!slot_on(p, SLOT_CHECK_TIME))
		return;
	if (strstr(slot_word(p, SLOT_CHECK_TIME, 0), "${") == NULL && (k->is_exec || only_connects(k))) {
		old_set(k->h->arena, line, OLD_CARRIED, NULL);
		if (shorter)
			ini_add(k->h->ini, p->out, NULL, "check-timeout", "%s", limit);
		return;
	}
	slot_add(k->h, p, SLOT_CHECK_TIME, "check-timeout", slot_duration(k->h, p, SLOT_CHECK_TIME));
	if (slot_ms(k->h, p, SLOT_CHECK_TIME) > (shorter ? connect_ms : k->c->interval_ms))
		old_set(k->h->arena, line, OLD_DIFFERENT,
			"it is the time for all of a check: HAProxy gives a server %s to accept the "
			"connection, and that long to answer", limit);
}

/* The text with verify=none: no certificates are read. */
static const char *without_certificates(struct arena *a, const char *text)
{
	const char *verify = strstr(text, " verify=");
	const char *end = verify + 1 + strcspn(verify + 1, " ");

	return arena_printf(a, "%.*s verify=none%s", (int)(verify - text), text, end);
}

/* What checks begin with; NULL: a PROXY header if sessions do and the check has no port of its own. */
static const char *proxy_of(const struct checker *k)
{
	if (k->sends_proxy)
		return k->c->version != NULL ? k->c->version : "v1";
	if (k->own_words)
		return k->c->version != NULL ? "off" : NULL;
	return k->c->proxy;
}

void haproxy_check(struct haproxy *h, struct proxy *p, struct checking *c)
{
	struct checker k = {.h = h, .p = p, .c = c, .text = c->tls != NULL ? "tls" : "tcp"};
	const struct slot_value *s = &p->slots[SLOT_CHECK];
	struct ini_line *line;

	if (slot_on(p, SLOT_CHECK))
		take_by_name(&k, s->line->words[s->at - 1], &p->lists[LIST_CHECK]);
	add_tls_words(&k);
	if (proxy_of(&k) != NULL)
		check_append(&k, arena_printf(h->arena, "proxy=%s", proxy_of(&k)));
	line = ini_add(h->ini, p->out, slot_on(p, SLOT_CHECK) ? s->line : NULL, "check", "%s", k.text);
	if (line->from == NULL)
		line->from = c->line;
	/* Programs and certificates are those of the target machine. */
	if (k.is_exec)
		line->stand_in = "tcp";
	else if (strstr(k.text, " verify=") != NULL)
		line->stand_in = without_certificates(h->arena, k.text);
	if (!k.is_exec &&
	    (k.has_password || (line->stand_in != NULL && strstr(line->stand_in, "${") != NULL)))
		line->stand_in = work_without_variables(
			h->arena, line->stand_in != NULL ? line->stand_in : k.text, "tcp");
	add_timeout(&k);
	c->over_tls = check_is_tls(&k);
	c->has_port = k.port != NULL;
}
