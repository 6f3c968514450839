/* SPDX-License-Identifier: MIT
 *
 * admin_table.c - which client, or which address that clients connect to, has which server: show table,
 * clear table, in HAProxy's syntax.
 *
 * A backend with `sticky` has one table, which has its name. Expired entries are removed before they are
 * shown. Main thread.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "admin_client_word.h"
#include "weir/admin/admin_answers.h"
#include "weir/balance/sticky.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "weir/base/log.h"
#include "weir/net/addr.h"

/* Entries copied under one lock. */
#define BATCH	64
/* Entries shown of one table: an answer is made as a whole, in memory. */
#define SHOWN_MAX 100000u
#define WORD_MAX  256
#define KEY_MAX	  (ADDR_TEXT_MAX + 8)

/* ---- one entry ---- */

static bool is_of_clients(const struct backend *b)
{
	return sticky_table_keys(b->sticky) == STICKY_CLIENTS;
}

/* "10.0.0.1" or "2001:db8:0:1::/64". */
static const char *key_text(const struct backend *b, const struct sticky_key *k,
			    char buf[static KEY_MAX])
{
	const struct addr_brief a = sticky_key_addr(k);
	char text[INET6_ADDRSTRLEN];

	check(inet_ntop(a.family, a.ip, text, sizeof(text)) != NULL);
	(void)snprintf(buf, KEY_MAX, "%s%s", text,
		       a.family == AF_INET6 && is_of_clients(b) ? "/64" : ""); /* fits */
	return buf;
}

static uint64_t left_ms(const struct sticky_row *row)
{
	const int64_t left_ns = row->expires_ns - clock_mono_ns();

	return left_ns > 0 ? (uint64_t)(left_ns / NS_PER_MS) : 0;
}

static void show_row(const struct admin_call *c, const struct backend *b, const struct sticky_row *row)
{
	const struct server *s = sticky_server(backend_roster(b), row->server);
	char key[KEY_MAX];

	(void)key_text(b, &row->key, key);
	if (c->json == NULL) {
		text_printf(c->out, "0x%08" PRIx32 ": key=%s use=0 exp=%" PRIu64
			    " shard=%u server_id=%u server_name=%s\n", row->number, key, left_ms(row),
			    row->part, s != NULL ? s->id : 0, s != NULL ? s->config->name : "-");
		return;
	}
	json_line(c->json, 6);
	json_object(c->json, NULL);
	json_string(c->json, "key", key);
	json_unsigned(c->json, "expires_ms", left_ms(row));
	json_string(c->json, "server", s != NULL ? s->config->name : NULL);
	json_object_end(c->json);
}

/* ---- one table ---- */

/* Returns how many of the part were shown. */
static uint32_t show_part(const struct admin_call *c, struct backend *b, unsigned part, uint32_t max)
{
	struct sticky_row rows[BATCH];
	uint32_t next = 1, shown = 0;

	while (next != 0 && shown < max) {
		const uint32_t room = max - shown;
		const size_t n = sticky_table_read(b->sticky, part, &next, rows, room < BATCH ? room : BATCH);

		for (size_t i = 0; i < n; i++)
			show_row(c, b, &rows[i]);
		shown += (uint32_t)n;
	}
	return shown;
}

static void show_all(const struct admin_call *c, struct backend *b, uint32_t used)
{
	uint32_t shown = 0;

	for (unsigned part = 0; part < sticky_table_parts(b->sticky) && shown < SHOWN_MAX; part++)
		shown += show_part(c, b, part, SHOWN_MAX - shown);
	if (shown == SHOWN_MAX && used > shown && c->json == NULL)
		text_printf(c->out, "# %" PRIu32 " more; ask for one with: show table %s key ADDRESS\n",
			    used - shown, b->config->name);
}

static void begin_table(const struct admin_call *c, const struct backend *b, uint32_t used)
{
	const uint32_t size = sticky_table_size(b->sticky);

	if (c->json == NULL) {
		text_printf(c->out, "# table: %s, type: ip, size:%" PRIu32 ", used:%" PRIu32 "\n",
			    b->config->name, size, used);
		return;
	}
	json_line(c->json, 2);
	json_object(c->json, NULL);
	json_string(c->json, "table", b->config->name);
	json_string(c->json, "type", "ip");
	json_string(c->json, "sticky", is_of_clients(b) ? "src" : "dst");
	json_unsigned(c->json, "size", size);
	json_unsigned(c->json, "used", used);
}

enum wanted { WANT_HEAD, WANT_ALL, WANT_KEY };

static void show_table(const struct admin_call *c, struct backend *b, enum wanted what,
		       const struct sticky_key *k)
{
	const uint32_t used = backend_sticky_used(b, clock_mono_ns());
	struct sticky_row row;

	begin_table(c, b, used);
	if (c->json != NULL && what != WANT_HEAD)
		json_array(c->json, "entries");
	if (what == WANT_ALL)
		show_all(c, b, used);
	if (what == WANT_KEY && sticky_table_find(b->sticky, k, &row))
		show_row(c, b, &row);
	if (c->json != NULL && what != WANT_HEAD) {
		json_line(c->json, 4);
		json_array_end(c->json);
	}
	if (c->json != NULL)
		json_object_end(c->json);
}

/* ---- the commands ---- */

static struct backend *find_table(const struct admin_call *c)
{
	struct backend *b = admin_find_backend(c, c->args[0], "No such table");

	if (b == NULL || b->sticky != NULL)
		return b;
	admin_refuse(c, "No such table", "backend '%s' has no table; with 'sticky' it has one",
		     b->config->name);
	return NULL;
}

/* The arguments behind the table: none, or "key ADDRESS". False: they were refused. */
static bool read_key(const struct admin_call *c, const struct backend *b, const char *haproxy,
		     struct sticky_key *k)
{
	char word[WORD_MAX], address[WORD_MAX];
	const char *why = "";
	struct addr_brief a;
	size_t len;

	if (strcmp(c->args[1], "key") != 0) {
		log_escape(c->args[1], strlen(c->args[1]), word, sizeof(word));
		admin_refuse(c, haproxy, "'%s' is not known here; write key ADDRESS", word);
		return false;
	}
	if (c->args[2][0] == '\0') {
		admin_refuse(c, "Key value expected", "the address is missing; write key ADDRESS");
		return false;
	}
	/* As it is shown. */
	len = strlen(c->args[2]);
	if (is_of_clients(b) && len > 3 && len < sizeof(address) &&
	    strcmp(c->args[2] + len - 3, "/64") == 0)
		len -= 3;
	(void)snprintf(address, sizeof(address), "%.*s", (int)(len < WORD_MAX ? len : WORD_MAX - 1),
		       c->args[2]);
	if (admin_read_client(address, &a, &why) == 0 && sticky_key_of(sticky_table_keys(b->sticky), &a, k))
		return true;
	log_escape(c->args[2], strlen(c->args[2]), word, sizeof(word));
	admin_refuse(c, NULL, "'%s' is not %s; write for example key 192.0.2.7", word,
		     is_of_clients(b) ? "the address of a client" : "an address");
	return false;
}

static void show_heads(const struct admin_call *c)
{
	const struct engine *e = c->ctx->engine;

	for (size_t i = 0; i < e->backend_count; i++)
		if (e->backends[i]->sticky != NULL)
			show_table(c, e->backends[i], WANT_HEAD, NULL);
}

static bool show_one(const struct admin_call *c, struct backend *b)
{
	struct sticky_key k;

	if (c->arg_count < 2) {
		show_table(c, b, WANT_ALL, NULL);
		return true;
	}
	if (!read_key(c, b,
		      "Optional argument only supports \"data.<store_data_type>\" <operator> <value> or "
		      "key <key>", &k))
		return false;
	show_table(c, b, WANT_KEY, &k);
	return true;
}

void admin_show_table(const struct admin_call *c)
{
	struct backend *b = c->arg_count > 0 ? find_table(c) : NULL;

	if (c->arg_count > 0 && b == NULL)
		return;
	if (c->json != NULL)
		json_array(c->json, NULL);
	if (b == NULL)
		show_heads(c);
	else if (!show_one(c, b))
		return;
	if (c->json != NULL) {
		json_line(c->json, 0);
		json_array_end(c->json);
	}
	text_add(c->out, "\n", c->json != NULL);
}

static const char *noun_of(const struct backend *b, uint32_t count)
{
	if (is_of_clients(b))
		return count == 1 ? "client" : "clients";
	return count == 1 ? "address" : "addresses";
}

void admin_clear_table(const struct admin_call *c)
{
	struct backend *b = find_table(c);
	const struct mark by = mark_now(c->peer->uid);
	char who[MARK_WHO_MAX];
	struct sticky_key k;
	uint32_t cleared;

	if (b == NULL)
		return;
	if (c->arg_count > 1 && !read_key(c, b, "Required arguments: <table> \"data.<store_data_type>\" "
					  "<operator> <value> or <table> key <key>", &k))
		return;
	cleared = sticky_table_clear(b->sticky, c->arg_count > 1 ? &k : NULL);
	log_line(LOG_LEVEL_NOTICE,
		 "backend %s: %" PRIu32 " sticky %s forgotten by %s over the admin socket",
		 b->config->name, cleared, noun_of(b, cleared), mark_who(&by, who));
}
