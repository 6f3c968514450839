/* SPDX-License-Identifier: MIT
 *
 * setting_agent.c - `check-agent`, `check-agent-send`: where the agent of a server is, and what it is sent.
 *
 * Rejects names: an agent that is elsewhere has an IP address. Main thread.
 */
#include "setting.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "weir/config/values.h"

static int refuse_agent(const struct setting *s, const struct word *w)
{
	diag_error(s->diag, DIAG_BAD_VALUE, w->at, "'%s' cannot be '%s'", s->option->key, w->text);
	diag_hint(s->diag,
		  "write a port (1 to 65535) of each server, an address such as 10.0.0.9:9000, or off");
	return -EINVAL;
}

int setting_parse_agent(const struct setting *s, void *field)
{
	const struct word *w = &s->words.list[0];
	struct config_agent *agent = field;
	struct addr_spec spec = {.kind = ADDR_NONE};
	uint64_t port = 0;

	memset(agent, 0, sizeof(*agent)); /* copies are compared byte by byte, gaps included */
	if (strcmp(w->text, "off") == 0)
		return 0;
	if (value_number(w->text, &port) == 0) {
		if (port == 0 || port > UINT16_MAX)
			return refuse_agent(s, w);
		agent->port = (uint16_t)port;
		return 0;
	}
	if (addr_parse(w->text, &spec, NULL, NULL) != 0 || spec.kind != ADDR_IP || addr_port(&spec.addr) == 0)
		return refuse_agent(s, w);
	agent->port = addr_port(&spec.addr);
	memcpy(&agent->addr, &spec.addr, sizeof(agent->addr));
	return 0;
}

void setting_print_agent(const void *field, const struct option *option, FILE *out)
{
	const struct config_agent *agent = field;
	char text[ADDR_TEXT_MAX];

	(void)option; /* the same for every row */
	if (agent->port == 0)
		fputs("off", out);
	else if (agent->addr.len == 0)
		fprintf(out, "%u", agent->port);
	else
		fputs(addr_format(&agent->addr, text), out);
}

int setting_parse_bytes_text(const struct setting *s, void *field)
{
	const struct word *w = &s->words.list[0];
	uint8_t *bytes;
	size_t len;
	char *text;

	if (setting_unescape(s, w, &bytes, &len) != 0)
		return -EINVAL;
	if (len == 0 || memchr(bytes, '\0', len) != NULL) {
		diag_error(s->diag, DIAG_BAD_VALUE, w->at, "'%s' must be text without a zero byte",
			   s->option->key);
		return -EINVAL;
	}
	text = (char *)bytes;
	memcpy(field, &text, sizeof(text));
	return 0;
}

void setting_print_bytes_text(const void *field, const struct option *option, FILE *out)
{
	char *text;

	(void)option; /* the same for every row */
	memcpy(&text, field, sizeof(text));
	setting_print_bytes_quoted((const uint8_t *)text, strlen(text), false, out);
}
