/* SPDX-License-Identifier: MIT
 *
 * probe_header.c - the PROXY header that a health check sends first.
 *
 * Main thread.
 */
#include "weir/entry/endpoint.h"
#include "weir/sys/sys.h"
#include "probe_steps.h"

/* As in HAProxy: a check sends the PROXY header that clients' connections send, except to a port that is only
 * for checks. */
enum config_send_proxy probe_header(const struct server *s)
{
	const struct config_check *c = &s->backend->check;

	switch (c->proxy) {
	case CONFIG_CHECK_PROXY_AUTO:
		break;
	case CONFIG_CHECK_PROXY_OFF:
		return CONFIG_SEND_PROXY_OFF;
	case CONFIG_CHECK_PROXY_V1:
		return CONFIG_SEND_PROXY_V1;
	case CONFIG_CHECK_PROXY_V2:
		return CONFIG_SEND_PROXY_V2;
	}
	if (c->port != 0 || s->config->check_port != 0 || s->config->check_addr.len != 0)
		return CONFIG_SEND_PROXY_OFF;
	return s->config->send_proxy;
}

/* As in HAProxy: a v2 header says LOCAL; a v1 header has the real addresses of the check's connection. */
int probe_put_header(struct probe *p)
{
	/* As in HAProxy, an agent gets none. */
	const enum config_send_proxy version = p->line != NULL ? CONFIG_SEND_PROXY_OFF
							       : probe_header(p->server);
	struct proxy_send send = {.version = 2, .local = true};
	struct addr src = {.len = sizeof(src.un)};
	ssize_t n;

	if (version == CONFIG_SEND_PROXY_OFF)
		return 0;
	if (version == CONFIG_SEND_PROXY_V1) {
		send.version = 1;
		send.local = false;
		const int err = sys_getsockname(p->fd, &src.sa, &src.len);

		if (err)
			return err;
		addr_to_brief(&src.sa, src.len, &send.src);
		addr_to_brief(&p->to.sa, p->to.len, &send.dst);
	}
	n = proxy_make(&send, p->header, sizeof(p->header));
	if (n < 0)
		return (int)n;
	p->out = p->header;
	p->out_len = (size_t)n;
	return 0;
}
