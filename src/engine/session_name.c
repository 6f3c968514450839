/* SPDX-License-Identifier: MIT
 *
 * session_name.c - the server name that a client asks for: from its TLS hello, or from a trusted PROXY
 * header.
 *
 * A worker's thread.
 */
#include "session_name.h"

#include <string.h>

#include "weir/base/check.h"
#include "weir/net/client_hello.h"
#include "weir/net/proxy.h"
#include "extra.h"
#include "session.h"
#include "worker.h"

void session_name_drop(struct session *s)
{
	struct session_name *n = &s->extra->name;

	if (n->buf != NULL)
		buf_put(&s->worker->loop.bufs, n->buf);
	memset(n, 0, sizeof(*n));
}

/* Where `len` bytes go; NULL without memory. */
static uint8_t *make_room(struct session *s, size_t len)
{
	struct session_name *n = &s->extra->name;

	check(len <= 2 * UINT8_MAX);
	if (len <= sizeof(n->bytes))
		return n->bytes;
	n->buf = buf_get(&s->worker->loop.bufs, (uint32_t)len);
	return n->buf != NULL ? n->buf->data : NULL;
}

static bool store(struct session *s, const void *name, size_t len, const uint8_t *protocol,
		  size_t protocol_len)
{
	struct session_name *n = &s->extra->name;
	uint8_t *room;

	check(len <= UINT8_MAX);
	check(protocol_len <= UINT8_MAX);
	session_name_drop(s);
	room = make_room(s, len + protocol_len);
	if (room == NULL)
		return false;
	if (len > 0)
		memcpy(room, name, len);
	if (protocol_len > 0)
		memcpy(room + len, protocol, protocol_len);
	n->len = (uint8_t)len;
	n->protocol_len = (uint8_t)protocol_len;
	return true;
}

/* The only protocol that a hello offers: it is the one that will be spoken, if any is. */
static size_t only_protocol(const struct client_hello *hello, uint8_t *protocol)
{
	struct client_hello_protocols left = hello->alpn;
	const size_t len = client_hello_next_protocol(&left, protocol);
	uint8_t other[CLIENT_HELLO_PROTOCOL_MAX];

	return client_hello_next_protocol(&left, other) == 0 ? len : 0;
}

bool session_name_take_hello(struct session *s, const struct client_hello *hello)
{
	uint8_t protocol[CLIENT_HELLO_PROTOCOL_MAX];
	const size_t len = only_protocol(hello, protocol);

	if (!store(s, hello->name, hello->name_len, protocol, len))
		return false;
	s->extra->name.from_hello = true;
	return true;
}

/* As in a hello: lower case, without a trailing dot. Returns its length, 0 for what no name has. */
static size_t plain_name(const uint8_t *from, size_t len, char *to)
{
	if (len > 1 && from[len - 1] == '.')
		len--;
	for (size_t i = 0; i < len; i++) {
		if (from[i] <= ' ' || from[i] >= 127)
			return 0;
		to[i] = (char)(from[i] >= 'A' && from[i] <= 'Z' ? from[i] + 'a' - 'A' : from[i]);
	}
	return len;
}

bool session_name_take_tlvs(struct session *s, const uint8_t *tlvs, size_t len)
{
	size_t name_len = 0, protocol_len = 0;
	const uint8_t *authority = proxy_tlv_find(tlvs, len, PROXY_TLV_AUTHORITY, &name_len);
	const uint8_t *protocol = proxy_tlv_find(tlvs, len, PROXY_TLV_ALPN, &protocol_len);
	char name[CLIENT_HELLO_NAME_MAX];

	check(name_len <= sizeof(name)); /* the parser of headers has seen to that */
	name_len = authority != NULL ? plain_name(authority, name_len, name) : 0;
	if (protocol == NULL || protocol_len > UINT8_MAX)
		protocol_len = 0; /* TLS has no such protocol */
	return name_len + protocol_len == 0 || store(s, name, name_len, protocol, protocol_len);
}

static const uint8_t *bytes_of(const struct session_name *n)
{
	return n->buf != NULL ? n->buf->data : n->bytes;
}

const uint8_t *session_name_text(const struct session_name *n)
{
	return n->len > 0 ? bytes_of(n) : NULL;
}

const uint8_t *session_name_protocol(const struct session_name *n)
{
	return n->protocol_len > 0 ? bytes_of(n) + n->len : NULL;
}
