/* SPDX-License-Identifier: MIT
 *
 * resolv_conf.c - what resolv.conf(5) says: name servers, search domains, ndots.
 *
 * Any thread.
 */
#include "resolv_conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BLANKS	  " \t\r"
#define BYTES_MAX 65536
/* What libc allows. */
#define NDOTS_MAX 15

static void add_server(struct resolv_conf *c, const char *word)
{
	char text[300];
	struct addr_spec spec;

	if (word == NULL || c->server_count == NAME_SERVERS_MAX)
		return;
	(void)snprintf(text, sizeof(text), strchr(word, ':') != NULL ? "[%s]:53" : "%s:53", word);
	if (addr_parse(text, &spec, NULL, NULL) == 0 && spec.kind == ADDR_IP)
		c->servers[c->server_count++] = spec.addr;
}

/* The last line of `search` or `domain` counts. */
static void set_domains(struct resolv_conf *c, char **rest)
{
	const char *word;

	c->domain_count = 0;
	while ((word = strtok_r(NULL, BLANKS, rest)) != NULL && c->domain_count < RESOLV_CONF_DOMAINS_MAX) {
		const size_t len = strlen(word);

		if (len < sizeof(c->domains[0]) && strcmp(word, ".") != 0)
			memcpy(c->domains[c->domain_count++], word, len + 1);
	}
}

static void set_options(struct resolv_conf *c, char **rest)
{
	const char *word;

	while ((word = strtok_r(NULL, BLANKS, rest)) != NULL) {
		if (strncmp(word, "ndots:", 6) != 0)
			continue;
		c->ndots = (unsigned)strtoul(word + 6, NULL, 10);
		if (c->ndots > NDOTS_MAX)
			c->ndots = NDOTS_MAX;
	}
}

static void parse_line(struct resolv_conf *c, char *line)
{
	char *rest = NULL;
	const char *word = strtok_r(line, BLANKS, &rest);

	if (word == NULL)
		return;
	if (strcmp(word, "nameserver") == 0)
		add_server(c, strtok_r(NULL, BLANKS, &rest));
	else if (strcmp(word, "search") == 0 || strcmp(word, "domain") == 0)
		set_domains(c, &rest);
	else if (strcmp(word, "options") == 0)
		set_options(c, &rest);
}

void resolv_conf_parse(struct resolv_conf *c, const char *text)
{
	char line[1024];

	*c = (struct resolv_conf){.ndots = 1};
	while (*text != '\0') {
		const size_t len = strcspn(text, "\n");

		if (len < sizeof(line)) {
			memcpy(line, text, len);
			line[len] = '\0';
			parse_line(c, line);
		}
		text += len + (text[len] == '\n');
	}
	if (c->server_count == 0)
		add_server(c, "127.0.0.1");
}

void resolv_conf_read(struct resolv_conf *c, const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = malloc(BYTES_MAX);
	size_t len = 0;

	if (f != NULL && text != NULL)
		len = fread(text, 1, BYTES_MAX - 1, f);
	if (f != NULL)
		(void)fclose(f); /* nothing was written */
	if (text != NULL)
		text[len] = '\0';
	resolv_conf_parse(c, text != NULL ? text : "");
	free(text);
}

bool file_seen_changed(struct file_seen *seen, const char *path)
{
	struct stat st = {0};
	struct file_seen now = {.known = true};

	if (stat(path, &st) == 0) {
		now.version[0] = (long long)st.st_ino;
		now.version[1] = (long long)st.st_size;
		now.version[2] = (long long)st.st_mtim.tv_sec;
		now.version[3] = (long long)st.st_mtim.tv_nsec;
	}
	if (seen->known && memcmp(seen->version, now.version, sizeof(now.version)) == 0)
		return false;
	*seen = now;
	return true;
}
