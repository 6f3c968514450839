/* SPDX-License-Identifier: MIT
 *
 * server_words.c - one server in the words of HAProxy's `add server`: name, address, words, and the line that
 * they make, which is parsed as in a file.
 *
 * Where HAProxy refuses a name or an address, its text is used. Control thread.
 */
#include "weir/settings/server_words.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/base/digit.h"
#include "server_word.h"

static struct arena *word_arena(struct word_reader *r)
{
	return &r->result->memory;
}

static int validate_name(struct word_reader *r)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	const size_t fine = strspn(r->name, allowed);

	if (r->name[0] == '\0')
		return word_refuse(r, "the server has no name; write BACKEND/SERVER");
	if (r->name[fine] != '\0')
		return word_refuse(r, "character '%c' is not permitted in server name '%s'.", r->name[fine],
			      r->name);
	if (strlen(r->name) >= CONFIG_NAME_MAX)
		return word_refuse(r, "the name of a server has at most %d bytes", CONFIG_NAME_MAX - 1);
	return 0;
}

/* HAProxy takes "::1:80"; the port is behind the last colon. */
static const char *with_brackets(struct word_reader *r, const char *address)
{
	const char *colon = strrchr(address, ':');
	struct in6_addr six;
	char host[INET6_ADDRSTRLEN];
	size_t len;

	if (colon == NULL || address[0] == '[')
		return address;
	len = (size_t)(colon - address);
	if (len >= sizeof(host))
		return address;
	memcpy(host, address, len);
	host[len] = '\0';
	if (inet_pton(AF_INET6, host, &six) != 1)
		return address;
	return arena_printf(word_arena(r), "[%s]%s", host, colon);
}

/* A port that is not one, where HAProxy has words for it. */
static int validate_port(struct word_reader *r, const char *address)
{
	const char *colon = strrchr(address, ':');
	const char *port = colon != NULL ? colon + 1 : "";

	if (address[0] == '/' || strchr(address, '@') != NULL || strchr(port, ']') != NULL ||
	    port[0] == '\0' || port[0] == '+' || port[0] == '-')
		return 0;
	if (!is_digit(port[0]) && strcmp(port, "*") != 0)
		return word_refuse(r, "invalid character '%c' in port number '%s' in '%s'\n", port[0], port,
			      address);
	if (strchr(port, '-') != NULL)
		return word_refuse(r, "port range not permitted here in '%s'", address);
	if (strtol(port, NULL, 10) > UINT16_MAX)
		return word_refuse(r, "invalid port '%s'", port);
	return 0;
}

static void take_diag(struct word_reader *r)
{
	const struct diag_item *item = NULL;

	for (size_t i = 0; i < r->diag.count && item == NULL; i++)
		if (r->diag.items[i].level == DIAG_LEVEL_ERROR)
			item = &r->diag.items[i];
	check(item != NULL);
	(void)word_refuse(r, "%s", item->text);
	if (item->hint != NULL)
		word_advise(r, "%s; %s", item->text, item->hint);
}

static int parse_line(struct word_reader *r)
{
	struct config_server *config = &r->result->config;
	const struct setting s = {
		.diag = &r->diag,
		.option = option_find(IN_BACKEND, "server").option,
		.words = r->out,
	};

	memcpy(config->name, r->name, strlen(r->name));
	if (setting_parse_server(&s, config) != 0) {
		take_diag(r);
		return -EINVAL;
	}
	if (config->addr.kind == ADDR_SNI)
		return word_refuse(r, "sni@ is for a server in the configuration file, whose backend has "
				      "allow-sni");
	if (setting_egress_names_are_set(&r->backend->allow_sni))
		return word_refuse(r, "the backend has allow-sni, which goes with a server sni@ and no "
				      "other server");
	if (config->addr.client_port && config->check && config->check_port == 0 &&
	    r->backend->check.port == 0)
		return word_refuse(r, "the health checks of the server have no port; add port PORT");
	return 0;
}

static int read_all(struct word_reader *r)
{
	int err = validate_name(r);

	if (err)
		return err;
	err = validate_port(r, r->in[0]);
	if (err)
		return err;
	word_push(r, with_brackets(r, arena_printf(word_arena(r), "%s", r->in[0])));
	r->at = 1;
	err = word_take_all(r);
	return err ? err : parse_line(r);
}

/* Returns at once when memory runs out: then `*finished` stays false. What changes after setjmp() belongs to
 * the caller, so that it keeps its value. */
static int read_or_jump(struct word_reader *r, bool *finished)
{
	jmp_buf no_memory;
	int err;

	if (setjmp(no_memory) != 0)
		return -ENOMEM;
	word_arena(r)->no_memory = &no_memory;
	err = read_all(r);
	*finished = true;
	return err;
}

int server_words_read(struct server_words *w, const struct config_backend *b, const char *name,
		      const char *const *words, size_t count, bool ours)
{
	struct word_reader r = {
		.result = w, .backend = b, .name = name, .in = words, .count = count, .ours = ours};
	bool finished = false;
	int err;

	check(count > 0);
	memset(w, 0, sizeof(*w));
	r.diag.arena = &w->memory;
	err = read_or_jump(&r, &finished);
	check(finished || err == -ENOMEM);
	w->memory.no_memory = NULL; /* the jump ends here */
	return err;
}

void server_words_free(struct server_words *w)
{
	arena_free(&w->memory);
	memset(w, 0, sizeof(*w));
}
