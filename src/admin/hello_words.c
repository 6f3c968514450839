/* SPDX-License-Identifier: MIT
 *
 * hello_words.c - the words of `explain` about what a client sends first: sni=, alpn=, proto=.
 *
 * Main thread.
 */
#include "hello_words.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/net/host_pattern.h"
#include "admin_steps.h"

bool hello_words_read_name(struct hello_words *h, const struct admin_call *c, const char *value)
{
	struct host_pattern name;
	const char *why = NULL;

	h->given = true;
	if (strcmp(value, "none") == 0)
		return true;
	if (host_pattern_parse(value, &name, &why) != 0 || name.reach != HOST_EXACT) {
		admin_refuse(c, NULL, "'sni' is not a server name%s%s; write sni=www.example.com or sni=none",
			     why != NULL ? ": " : "", why != NULL ? why : "");
		return false;
	}
	memcpy(h->name, name.name, sizeof(name.name));
	return true;
}

void hello_words_read_protocol(struct hello_words *h, const char *value)
{
	h->given = true;
	h->protocol = value;
}

bool hello_words_read_proto(struct hello_words *h, const struct admin_call *c, const char *value)
{
	static const struct {
		const char *word;
		enum config_proto proto;
	} protos[] = {{"tls", CONFIG_PROTO_TLS}, {"http", CONFIG_PROTO_HTTP}, {"ssh", CONFIG_PROTO_SSH},
		      {"other", CONFIG_PROTO_OTHER}};

	for (size_t i = 0; i < ARRAY_LEN(protos); i++) {
		if (strcmp(value, protos[i].word) != 0)
			continue;
		h->proto = protos[i].proto;
		h->given = h->given || h->proto == CONFIG_PROTO_TLS;
		return true;
	}
	admin_refuse(c, NULL, "'proto' is none of tls, http, ssh, other");
	return false;
}

/* A client that names a server, or offers a protocol, speaks TLS. */
static unsigned proto_of(const struct hello_words *h)
{
	return h->given ? CONFIG_PROTO_TLS : h->proto;
}

/* Without sniffing, only a PROXY header may name a server. */
static bool is_of_header(const struct config_frontend *rules, const struct endpoint *ep)
{
	return !config_sniffs_tls(&rules->sniff) &&
	       ep->config->accept_proxy != CONFIG_ACCEPT_PROXY_OFF && rules_use_names(rules);
}

struct rules_hello hello_words_known(const struct hello_words *h, const struct config_frontend *rules,
				     const struct endpoint *ep)
{
	const bool sniffs = config_sniffs_tls(&rules->sniff);
	const unsigned proto = rules->sniff.kind == CONFIG_SNIFF_AUTO ? proto_of(h) : 0;

	if (!h->given || !(sniffs || is_of_header(rules, ep)))
		return (struct rules_hello){.proto = proto};
	return (struct rules_hello){.came = sniffs, .name = h->name, .name_len = strlen(h->name),
				    .proto = proto, .protocol = (const uint8_t *)h->protocol,
				    .protocol_len = h->protocol != NULL ? strlen(h->protocol) : 0};
}

static void explain_names(const struct hello_words *h, const struct admin_call *c,
			  const struct config_frontend *rules, const struct endpoint *ep)
{
	if (!rules_use_names(rules)) {
		if (h->given)
			steps_add(c, "sni", "no rule looks at the name of the server that a client requests");
	} else if (!is_of_header(rules, ep)) {
		steps_add(c, "sni", "%s does not sniff: it does not know what TLS clients request",
			  rules->name);
	} else if (h->given) {
		steps_add(c, "sni", "%s does not sniff: the name is taken for that of a PROXY header whose "
			  "sender is in 'trusted'", rules->name);
	}
}

bool hello_words_explain(const struct hello_words *h, const struct admin_call *c,
			 const struct config_frontend *rules, const struct endpoint *ep)
{
	if (rules->sniff.kind == CONFIG_SNIFF_RDP)
		steps_add(c, "sniff", "an RDP request without a cookie: with one, 'persist' may choose "
			  "the server");
	if (!config_sniffs_tls(&rules->sniff)) {
		explain_names(h, c, rules, ep);
		return true;
	}
	if (h->given)
		steps_add(c, "sniff", "a TLS hello %s%s", h->name[0] != '\0' ? "for " : "without a name",
			  h->name);
	else if (rules->sniff.kind == CONFIG_SNIFF_AUTO)
		steps_add(c, "sniff", "%s", h->proto == CONFIG_PROTO_HTTP ? "an HTTP request" :
			  h->proto == CONFIG_PROTO_SSH ? "the identification of an SSH client" :
			  h->proto == CONFIG_PROTO_OTHER ? "neither TLS nor HTTP nor SSH" :
			  "the client is silent: no rule with 'proto', 'sni' or 'alpn' matches; write "
			  "proto=tls, http, ssh or other for one that is not");
	else if (!rules->sniff.required)
		steps_add(c, "sniff", "the client sends no TLS hello: no rule with 'sni' or 'alpn' "
			  "matches; with one, write sni=NAME");
	return h->given || !rules->sniff.required;
}
