/* SPDX-License-Identifier: MIT
 *
 * page.c - a section that only shows statistics becomes [stats], and who may see it.
 *
 * Passwords become hashes in a file beside the INI. Without one (no -o), or without a hash, the login is
 * lost, and the page is for this machine alone. Main thread.
 */
#include <ctype.h>
#include <string.h>

#include "sections.h"
#include "weir/base/check.h"
#include "weir/base/password.h"
#include "weir/config/options.h"

#define AUTH_FILE  "stats.htpasswd"
#define NAME_BYTES 63 /* of a user in an auth-file */

struct page {
	struct haproxy *h;
	struct proxy *p;
	struct ini_section *stats;
	bool closed;	 /* something that kept clients out is lost */
	bool login_lost; /* that was a login */
};

/* ---- logins ---- */

struct login {
	const char *user;
	const char *password; /* NULL = `hash` */
	const char *hash;
};

struct logins {
	struct login *list;
	size_t count;
};

static void add_login(struct haproxy *h, struct logins *to, struct login login)
{
	to->list = arena_grow(h->arena, to->list, to->count, sizeof(*to->list));
	to->list[to->count++] = login;
}

static bool is_user_name(const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)name[i]) || name[i] == ':')
			return false;
	return len > 0 && len <= NAME_BYTES && name[0] != '#';
}

/* The commands that make the file: the first creates it. */
static const char *commands_for(struct haproxy *h, const struct logins *logins)
{
	const char *text = "";

	for (size_t i = 0; i < logins->count && i < 3; i++)
		text = arena_printf(h->arena, "%s%shtpasswd -%sB " AUTH_FILE " %s", text, i > 0 ? "; " : "",
				    i > 0 ? "" : "c", logins->list[i].user);
	return logins->count > 3 ? arena_printf(h->arena, "%s; and so on", text) : text;
}

static void lose_login(struct page *page, struct old_line *line, const struct logins *logins, const char *why)
{
	page->closed = page->login_lost = true;
	old_set(page->h->arena, line, OLD_LOST, "%s: %s, and write auth-file = " AUTH_FILE " in [stats]", why,
		commands_for(page->h, logins));
}

/* The file of the page; NULL = there is none yet. */
static struct work_file *auth_file(const struct haproxy *h)
{
	struct work *w = h->work;

	for (size_t i = 0; i < w->file_count; i++)
		if (strcmp(w->files[i].name, AUTH_FILE) == 0)
			return &w->files[i];
	return NULL;
}

static bool is_in_file(const char *text, const char *user)
{
	const size_t len = strlen(user);

	while (*text != '\0') {
		if (strncmp(text, user, len) == 0 && text[len] == ':')
			return true;
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return false;
}

/* The lines of the file for these; NULL: one has no hash that weir accepts. */
static const char *lines_for(struct page *page, struct old_line *line, const struct logins *logins)
{
	struct arena *a = page->h->arena;
	const struct work_file *file = auth_file(page->h);
	const char *text = file != NULL ? file->text : "";

	for (size_t i = 0; i < logins->count; i++) {
		const struct login *l = &logins->list[i];
		const char *hash = l->hash;

		if (!is_user_name(l->user))
			return NULL;
		if (is_in_file(text, l->user)) {
			old_set(a, line, OLD_DIFFERENT, "'%s' has one password: that of the first line",
				l->user);
			continue;
		}
		if (l->password != NULL)
			hash = work_password_hash(a, l->password);
		if (hash == NULL || strpbrk(hash, ": \t\r\n") != NULL || password_refusal(hash) != NULL)
			return NULL;
		text = arena_printf(a, "%s%s:%s\n", text, l->user, hash);
	}
	return text;
}

static void take_logins(struct page *page, struct old_line *line, const struct logins *logins)
{
	struct haproxy *h = page->h;
	struct work_file *file = auth_file(h);
	const char *text;

	if (!h->work->with_files) {
		lose_login(page, line, logins, "convert with -o DIR, or run");
		return;
	}
	text = lines_for(page, line, logins);
	if (text == NULL) {
		lose_login(page, line, logins, "a user or hash that weir does not accept, run");
		return;
	}
	old_set(h->arena, line, OLD_CARRIED, NULL);
	if (file != NULL) {
		file->text = text;
		return;
	}
	(void)work_file(h->work, AUTH_FILE, text);
	ini_add(h->ini, page->stats, line, "auth-file", AUTH_FILE)->stand_in = "";
}

/* stats auth USER:PASSWORD */
static void take_auth(struct page *page, struct old_line *line)
{
	struct arena *a = page->h->arena;
	const char *login = old_word(line, 2), *colon = strchr(login, ':');
	struct logins logins = {.count = 0};

	if (colon == NULL)
		add_login(page->h, &logins, (struct login){.user = "NAME", .hash = ""});
	else
		add_login(page->h, &logins,
			  (struct login){.user = arena_strndup(a, login, (size_t)(colon - login)),
					 .password = colon + 1});
	if (colon == NULL)
		lose_login(page, line, &logins, "no password");
	else
		take_logins(page, line, &logins);
}

/* ---- lists of users ---- */

/* The value of a word of a line, "" if it has none. */
static const char *value_of(const struct old_line *line, const char *word)
{
	for (size_t i = 2; i + 1 < line->count; i++)
		if (strcmp(line->words[i], word) == 0)
			return line->words[i + 1];
	return "";
}

/* Is the user of the line in one of these groups? */
static bool is_member(const struct proxy *list, const struct old_line *user, const struct work_list *groups)
{
	for (size_t g = 0; g < groups->count; g++) {
		if (work_has_item(value_of(user, "groups"), ',', groups->items[g]))
			return true;
		for (size_t i = 0; i < list->all.count; i++) {
			const struct old_line *line = list->all.list[i];

			if (strcmp(line->words[0], "group") == 0 &&
			    strcmp(old_word(line, 1), groups->items[g]) == 0 &&
			    work_has_item(value_of(line, "users"), ',', old_word(user, 1)))
				return true;
		}
	}
	return groups->count == 0;
}

/* http_auth(LIST), or http_auth_group(LIST) GROUP...: the users it is true for. */
static void add_users(struct page *page, const char *criterion, const struct work_list *groups,
		      struct logins *to)
{
	struct haproxy *h = page->h;
	const char *name = strchr(criterion, '(') + 1;
	const struct proxy *list;

	name = arena_strndup(h->arena, name, strcspn(name, ")"));
	list = haproxy_find(h, 1u << PROXY_OTHER, name);
	if (list == NULL || strcmp(list->head->words[0], "userlist") != 0)
		return;
	old_set(h->arena, list->head, OLD_NO_EFFECT, "[stats] has a file of users: auth-file");
	for (size_t i = 0; i < list->all.count; i++) {
		struct old_line *line = list->all.list[i];
		const char *clear = value_of(line, "insecure-password"), *hash = value_of(line, "password");

		if (strcmp(line->words[0], "user") == 0 && is_member(list, line, groups) &&
		    clear[0] + hash[0] != 0)
			add_login(h, to,
				  (struct login){old_word(line, 1), clear[0] != '\0' ? clear : NULL, hash});
		old_set(h->arena, line, OLD_NO_EFFECT, "[stats] has a file of users: auth-file");
	}
}

static bool is_login(const char *word)
{
	return strncmp(word, "http_auth(", 10) == 0 || strncmp(word, "http_auth_group(", 16) == 0;
}

/* Adds the users for whom these words of a condition are true. */
static void add_users_of(struct page *page, const struct old_line *line, size_t at, struct logins *to)
{
	struct work_list groups = {.count = 0};

	if (strncmp(line->words[at], "http_auth_group(", 16) == 0)
		for (size_t i = at + 1; i < line->count && strcmp(line->words[i], "}") != 0; i++)
			work_list_add(page->h->arena, &groups, line->words[i]);
	add_users(page, line->words[at], &groups, to);
}

/* [stats] http-request auth [realm X] [if|unless CONDITION]: the users of the lists in the condition. */
static void take_user_list(struct page *page, struct old_line *line, size_t at)
{
	const struct old_lines *acls = &page->p->lists[LIST_ACL];
	struct logins logins = {.count = 0};

	for (size_t i = at; i < line->count; i++) {
		const char *word = line->words[i] + (line->words[i][0] == '!');

		if (is_login(word) && word == line->words[i])
			add_users_of(page, line, i, &logins);
		for (size_t n = 0; n < acls->count; n++) {
			struct old_line *acl = acls->list[n];

			if (strcmp(old_word(acl, 1), word) != 0 || !is_login(old_word(acl, 2)))
				continue;
			add_users_of(page, acl, 2, &logins);
			old_set(page->h->arena, acl, OLD_CARRIED, NULL);
		}
	}
	if (logins.count > 0) {
		take_logins(page, line, &logins);
	} else if (ini_find(page->stats, "auth-file") != NULL) {
		old_set(page->h->arena, line, OLD_NO_EFFECT, "auth-file asks everyone for a login");
	} else {
		add_login(page->h, &logins, (struct login){.user = "NAME", .hash = ""});
		lose_login(page, line, &logins, "no userlist of this file");
	}
}

/* ---- the lines of a page ---- */

/* [stats] http-request deny unless ACL, allow if ACL: who may see the page, if that is by network. False:
 * something else. `at` is that of the verdict. */
static bool take_networks(struct page *page, struct old_line *line, size_t at)
{
	struct haproxy *h = page->h;
	struct ini_section *stats = page->stats;
	const bool deny = strcmp(old_word(line, at), "deny") == 0;
	const char *when = old_word(line, at + 1);
	struct condition c;

	if ((!deny && strcmp(old_word(line, at), "allow") != 0) || line->count < at + 3)
		return false;
	haproxy_terms(h, page->p, line->words + at + 2, line->count - at - 2, strcmp(when, "unless") == 0,
		      &c);
	if (c.error != NULL || c.count != 1 || c.counts[0] != 1 || c.all[0][0]->kind != TERM_SRC ||
	    c.all[0][0]->negated != deny || ini_find(stats, "allow-from") != NULL)
		return false;
	ini_add(h->ini, stats, line, "allow-from", "%s", work_spaced(h->arena, c.all[0][0]->value))
	    ->stand_in = c.all[0][0]->file ? "" : NULL;
	condition_carried(h, &c);
	return true;
}

static bool is_one_of(const char *word, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(word, list[i]) == 0)
			return true;
	return false;
}

/* A second address: "*:PORT" and ":::PORT" are both families, which is one line of weir's. */
static void take_second_bind(struct page *page, struct old_line *line)
{
	static const char *const any[] = {"0.0.0.0", "[::]"};
	struct ini_line *first = ini_find(page->stats, "bind");
	const char *second = haproxy_address(page->h->arena, old_word(line, 1), true);

	for (size_t i = 0; i < ARRAY_LEN(any); i++) {
		const size_t len = strlen(any[i]), other = strlen(any[1 - i]);

		if (strncmp(first->value, any[i], len) != 0 || strncmp(second, any[1 - i], other) != 0 ||
		    first->value[len] != ':' || strcmp(first->value + len, second + other) != 0)
			continue;
		first->value += len;
		old_set(page->h->arena, line, OLD_CARRIED, NULL);
		return;
	}
	old_set(page->h->arena, line, OLD_LOST, "the page has one address: that of line %u",
		page->p->lists[LIST_BIND].list[0]->line);
}

/* How the page looks, and what only HTTP needs. */
static void take_look(struct page *page, struct old_line *line)
{
	static const char *const looks[] = {"enable",	    "uri",	 "refresh",   "realm",
					    "show-legends", "show-node", "show-desc", "hide-version",
					    "show-modules", "scope"};

	if (strcmp(line->words[0], "bind") == 0)
		take_second_bind(page, line);
	else if (strcmp(line->words[0], "stats") != 0)
		old_set(page->h->arena, line, OLD_NO_EFFECT,
			"the page is weir's: [stats] has an address and a login");
	else if (is_one_of(old_word(line, 1), looks, ARRAY_LEN(looks)))
		old_set(page->h->arena, line, OLD_NO_EFFECT, "the page is at /, metrics are at /metrics");
	else if (strcmp(old_word(line, 1), "admin") == 0)
		old_set(page->h->arena, line, OLD_DIFFERENT,
			"nothing on the page changes anything: use the admin socket, with weir ctl");
	else
		work_by_table(page->h->work, line, 0);
}

/* Where the verdict of an [stats] http-request or tcp-request line is; 0: it is another line. */
static size_t verdict_at(const struct old_line *line)
{
	const size_t at = strcmp(line->words[0], "stats") == 0 ? 1 : 0;

	if (strcmp(old_word(line, at), "http-request") == 0)
		return at + 1;
	return strcmp(line->words[0], "tcp-request") == 0 ? 2 : 0;
}

/* Who may see the page by address. */
static void take_verdict(struct page *page, struct old_line *line, size_t at)
{
	static const char *const refusals[] = {"deny", "reject", "silent-drop", "tarpit"};

	if (line->fate != OLD_OPEN || take_networks(page, line, at))
		return;
	if (is_one_of(old_word(line, at), refusals, ARRAY_LEN(refusals))) {
		old_set(page->h->arena, line, OLD_LOST,
			"'allow-from' and 'auth-file' of [stats] say who may see the page");
		page->closed = true;
	} else {
		old_set(page->h->arena, line, OLD_NO_EFFECT,
			"the page is weir's: [stats] has an address and a login");
	}
}

static void take_lines(struct page *page, const struct old_line *bind)
{
	const struct old_lines *all = &page->p->all;

	for (size_t i = 0; i < all->count; i++) {
		struct old_line *line = all->list[i];
		const size_t at = verdict_at(line);

		if (strcmp(line->words[0], "stats") == 0 && strcmp(old_word(line, 1), "auth") == 0)
			take_auth(page, line);
		else if (at > 0 && strcmp(old_word(line, at), "auth") == 0)
			take_user_list(page, line, at + 1);
	}
	for (size_t i = 0; i < all->count; i++)
		if (verdict_at(all->list[i]) > 0)
			take_verdict(page, all->list[i], verdict_at(all->list[i]));
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i] != bind && all->list[i]->fate == OLD_OPEN)
			take_look(page, all->list[i]);
}

/* Without its login, a page is for this machine alone, whatever networks it was for. */
static void close_page(struct page *page)
{
	struct ini_line *networks = ini_find(page->stats, "allow-from");

	if (networks != NULL && page->login_lost) {
		networks->left_out = true;
		old_set(page->h->arena, networks->from, OLD_DIFFERENT,
			"write allow-from = %s when there is an auth-file", networks->value);
	}
	if (page->closed && (networks == NULL || networks->left_out))
		work_note(page->h->work,
			  "[stats] is for this machine alone until 'auth-file' or 'allow-from' says more");
	else if (networks == NULL)
		ini_add(page->h->ini, page->stats, NULL, "allow-from", "0.0.0.0/0 ::/0");
}

void haproxy_page(struct haproxy *h, struct proxy *p)
{
	struct ini_section *stats = ini_only(h->ini, IN_STATS);
	struct old_line *bind = p->lists[LIST_BIND].count > 0 ? p->lists[LIST_BIND].list[0] : p->head;
	const char *address = old_word(bind, bind == p->head ? 2 : 1);
	const bool is_http = strcmp(slot_word(p, SLOT_MODE, 0), "http") == 0;
	struct page page = {.h = h, .p = p, .stats = stats};

	if (stats->count > 0) {
		p->why_not = "weir has one [stats]: that of the section before";
		return;
	}
	stats->above = p->head->above;
	stats->above_count = p->head->above_count;
	old_set(h->arena, p->head, OLD_DIFFERENT, "the page is weir's: [stats]%s",
		is_http ? "" : ", while HAProxy shows none in mode tcp");
	if (p->from != NULL)
		p->from->is_used = true;
	address = arena_strndup(h->arena, address, strcspn(address, ","));
	address = haproxy_bind_address(h, bind, address);
	haproxy_bind_stand_in(h, ini_add(h->ini, stats, bind, "bind", "%s", address), address, "");
	for (size_t i = 2; i < bind->count && bind != p->head; i++)
		if (strcmp(bind->words[i], "ssl") == 0)
			old_set(h->arena, bind, OLD_DIFFERENT, "the page is not over TLS");
	take_lines(&page, bind);
	close_page(&page);
}
