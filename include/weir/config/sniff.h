/* SPDX-License-Identifier: MIT
 *
 * sniff.h - `sniff`: what is read of clients before they get a backend. Part of config.h.
 */
#ifndef WEIR_CONFIG_SNIFF_H
#define WEIR_CONFIG_SNIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum config_sniff_kind { CONFIG_SNIFF_OFF, CONFIG_SNIFF_TLS, CONFIG_SNIFF_AUTO, CONFIG_SNIFF_RDP };
/* What clients speak, as bits; OTHER: they have sent something else. Of a silent client, none is set. */
enum config_proto {
	CONFIG_PROTO_TLS = 1 << 0,
	CONFIG_PROTO_HTTP = 1 << 1,
	CONFIG_PROTO_SSH = 1 << 2,
	CONFIG_PROTO_OTHER = 1 << 3,
	CONFIG_PROTO_RDP = 1 << 4, /* reported for sessions; 'proto=' does not take it */
};

/* What clients send before they get a backend. */
struct config_sniff {
	enum config_sniff_kind kind;
	int64_t timeout_ns; /* since the accept; -1 = timeout-handshake; 0 = no limit */
	bool required;      /* clients that send something else are closed */
};

/* Does it read TLS hellos? */
static inline bool config_sniffs_tls(const struct config_sniff *s)
{
	return s->kind == CONFIG_SNIFF_TLS || s->kind == CONFIG_SNIFF_AUTO;
}

/* The word for it in logs; NULL for what is none of them, as 0. */
static inline const char *config_proto_word(unsigned proto)
{
	switch (proto) {
	case CONFIG_PROTO_TLS:
		return "tls";
	case CONFIG_PROTO_HTTP:
		return "http";
	case CONFIG_PROTO_SSH:
		return "ssh";
	case CONFIG_PROTO_OTHER:
		return "other";
	case CONFIG_PROTO_RDP:
		return "rdp";
	default:
		return NULL;
	}
}

#endif
