/* SPDX-License-Identifier: MIT
 *
 * session_detail.c - one live session in full: what it waits for, ages, rates, both connections.
 *
 * Each fact has one name, in text and in JSON. Any thread.
 */
#include <stdio.h>

#include "weir/account/limited_by.h"
#include "weir/account/session_facts.h"
#include "weir/account/session_state.h"
#include "weir/base/check.h"
#include "weir/base/clock.h"
#include "session_fields.h"

/* ---- what it waits for ---- */

/* While it forwards: whoever does not take bytes that are held here, or else whoever sends none. */
static const char *forwarding_wait(const struct session_facts *f, char buf[static SESSION_WAIT_MAX])
{
	const uint32_t to_server = f->held[FLOW_TO_SERVER], to_client = f->held[FLOW_TO_CLIENT];
	const bool client_ended = f->flow_state[FLOW_TO_SERVER] == FLOW_DONE;
	const bool server_ended = f->flow_state[FLOW_TO_CLIENT] == FLOW_DONE;

	if (to_server > 0 && to_client > 0)
		return "the server and the client to read";
	if (to_server > 0 || to_client > 0) {
		(void)snprintf(buf, SESSION_WAIT_MAX, "the %s to read: %u bytes are held here",
			       to_server > 0 ? "server" : "client", to_server + to_client); /* fits */
		return buf;
	}
	if (client_ended)
		return "the server to send or to close: the client has closed its side";
	if (server_ended)
		return "the client to send or to close: the server has closed its side";
	if (f->detailed && f->tcp[0].unsent_bytes > 0)
		return "the client to acknowledge what was sent";
	if (f->detailed && f->tcp[1].unsent_bytes > 0)
		return "the server to acknowledge what was sent";
	return "the client or the server to send";
}

const char *session_facts_wait(const struct session_facts *f, char buf[static SESSION_WAIT_MAX])
{
	switch ((enum session_state)f->state) {
	case SESSION_HANDSHAKE:
		return "the client to send its PROXY header";
	case SESSION_HELD:
		return "another session of its source to end";
	case SESSION_SNIFFING:
		return "the client to send its TLS hello or RDP request";
	case SESSION_QUEUED:
		(void)snprintf(buf, SESSION_WAIT_MAX, "a place at a server of %s", f->backend); /* fits */
		return buf;
	case SESSION_RESOLVING:
		return "the name that the client asks for to be looked up";
	case SESSION_CONNECTING:
		(void)snprintf(buf, SESSION_WAIT_MAX, "%s/%s to answer the connect", f->backend,
			       f->server); /* fits */
		return buf;
	case SESSION_WAITING:
		return "the pause after a failed connect to end";
	case SESSION_FORWARDING:
		return forwarding_wait(f, buf);
	case SESSION_CLOSING:
		return "the last bytes to be delivered";
	case SESSION_FREE:
	case SESSION_ACCEPTED:
		break;
	}
	return "nothing";
}

/* ---- the facts ---- */

#define KEY_MAX 64

static void put_seconds(const struct fields *to, const char *key, int64_t ns)
{
	const double seconds = (double)ns / (double)NS_PER_SEC;

	if (to->text == NULL)
		json_printf(to->json, key, "%.3f", seconds);
	else
		fields_put_as(to, key, "%.3f", seconds);
}

/* Bytes per second since the session began. */
static double rate_of(uint64_t bytes, int64_t age_ns)
{
	return age_ns > 0 ? (double)bytes * (double)NS_PER_SEC / (double)age_ns : 0.;
}

static void put_progress(const struct session_facts *f, const struct fields *to)
{
	const enum limited_by by = limited_by(&f->tcp[0], &f->tcp[1], f->age_ns);
	char wait[SESSION_WAIT_MAX];

	fields_put(to, "waits_for", session_facts_wait(f, wait));
	if (f->state == SESSION_FORWARDING && by != LIMITED_UNKNOWN)
		fields_put(to, "limited_by", limited_by_word(by));
	put_seconds(to, "idle_s", f->idle_ns);
	if (f->left_ns >= 0)
		put_seconds(to, "deadline_s", f->left_ns);
	fields_put_as(to, "rate_in", "%.0f", rate_of(f->bytes_to_server, f->age_ns));
	fields_put_as(to, "rate_out", "%.0f", rate_of(f->bytes_to_client, f->age_ns));
}

static void put_of_side(const struct fields *to, const char *side, const char *name, uint64_t value)
{
	char key[KEY_MAX];

	(void)snprintf(key, sizeof(key), "%s_%s", side, name); /* fits */
	fields_put_as(to, key, "%llu", (unsigned long long)value);
}

static void put_tcp(const struct fields *to, const char *side, const struct tcp_facts *tcp)
{
	char key[KEY_MAX];

	if (!tcp->known)
		return;
	(void)snprintf(key, sizeof(key), "%s_tcp", side); /* fits */
	fields_put(to, key, tcp_facts_state_word(tcp->state));
	put_of_side(to, side, "rtt_us", tcp->rtt_us);
	put_of_side(to, side, "rtt_var_us", tcp->rtt_var_us);
	put_of_side(to, side, "min_rtt_us", tcp->min_rtt_us);
	put_of_side(to, side, "cwnd", tcp->cwnd);
	put_of_side(to, side, "unacked", tcp->unacked);
	put_of_side(to, side, "lost", tcp->lost);
	put_of_side(to, side, "retransmits", tcp->retransmits);
	put_of_side(to, side, "unsent_bytes", tcp->unsent_bytes);
	put_of_side(to, side, "delivery_rate", tcp->delivery_rate);
	put_of_side(to, side, "busy_us", tcp->busy_us);
	put_of_side(to, side, "window_limited_us", tcp->window_us);
	put_of_side(to, side, "send_buffer_limited_us", tcp->send_buffer_us);
	put_of_side(to, side, "since_sent_ms", tcp->since_sent_ms);
	put_of_side(to, side, "since_received_ms", tcp->since_received_ms);
}

static void put_all(const struct session_facts *f, const struct fields *to)
{
	check(f->detailed);
	session_fields_put(f, to);
	put_progress(f, to);
	put_tcp(to, "client", &f->tcp[0]);
	put_tcp(to, "server", &f->tcp[1]);
}

void session_facts_show_detail(const struct session_facts *f, struct text *out)
{
	const struct fields to = {.text = out, .lines = true};

	put_all(f, &to);
}

void session_facts_show_detail_json(const struct session_facts *f, struct json *out)
{
	const struct fields to = {.json = out};

	json_object(out, NULL);
	put_all(f, &to);
	json_object_end(out);
}
