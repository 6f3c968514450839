/* SPDX-License-Identifier: MIT
 *
 * probe_tls_none.c - in place of probe_tls.c in a build without OpenSSL: no configuration asks for it.
 */
#include <errno.h>

#include "weir/base/check.h"
#include "probe_tls.h"

struct probe_tls *probe_tls_new(const struct config_check *c, const char *name, bool named, int fd)
{
	(void)c;
	(void)name;
	(void)named;
	(void)fd;
	return NULL;
}

void probe_tls_free(struct probe_tls *t)
{
	check(t == NULL);
}

void probe_tls_next_turn(struct probe_tls *t)
{
	check(t != NULL);
}

int probe_tls_shake(struct probe_tls *t)
{
	check(t != NULL);
	return -ENOSYS;
}

bool probe_tls_heard(const struct probe_tls *t)
{
	check(t != NULL);
	return false;
}

ssize_t probe_tls_send(struct probe_tls *t, const void *data, size_t len)
{
	(void)data;
	(void)len;
	check(t != NULL);
	return -ENOSYS;
}

ssize_t probe_tls_recv(struct probe_tls *t, void *data, size_t len)
{
	(void)data;
	(void)len;
	check(t != NULL);
	return -ENOSYS;
}

bool probe_tls_wants_room(const struct probe_tls *t)
{
	check(t != NULL);
	return false;
}

void probe_tls_say_goodbye(struct probe_tls *t)
{
	check(t != NULL);
}

const char *probe_tls_why(const struct probe_tls *t)
{
	check(t != NULL);
	return "";
}

const char *probe_tls_protocol(const struct probe_tls *t)
{
	check(t != NULL);
	return "";
}
