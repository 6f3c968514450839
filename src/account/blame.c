/* SPDX-License-Identifier: MIT
 *
 * blame.c - whose doing the end of a session was: the client's, the server's, the network's, or ours.
 *
 * Any thread.
 */
#include "weir/account/blame.h"

#include "weir/base/check.h"

static const struct blame_row rows[BLAMES] = {
#define BLAME(name, limit, words, help) {words, help, LIMITED_##limit},
#include "weir/account/blames.tbl.h"
#undef BLAME
};

const struct blame_row *blame_row(enum blame blame)
{
	check((unsigned)blame < BLAMES);
	return &rows[blame];
}

/* HAProxy's letter says what ended it. */
static enum blame blame_of_letter(char letter)
{
	switch (letter) {
	case '-':
		return BLAME_NOBODY;
	case 'C':
	case 'c':
		return BLAME_CLIENT;
	case 'S':
	case 's':
	case 'D':
		return BLAME_SERVER;
	case 'K':
		return BLAME_OPERATOR;
	case 'R':
	case 'I':
		return BLAME_SHORTAGE;
	default:
		return BLAME_RULES;
	}
}

/* Where that is not the party: what vanishes does not act, a queue is bounded by our limits, either side may
 * be half-closed, and a bad header is the client's. */
enum blame blame_of(enum close_reason reason)
{
	switch (reason) {
	case CLOSE_CLIENT_LOST:
	case CLOSE_SERVER_LOST:
	case CLOSE_CONNECT_TIMEOUT:
	case CLOSE_CONNECT_FAILED:
		return BLAME_NETWORK;
	case CLOSE_QUEUE_TIMEOUT:
	case CLOSE_QUEUE_FULL:
	case CLOSE_HALF_CLOSED_TIMEOUT:
		return BLAME_RULES;
	case CLOSE_PROXY_NOT_HEADER:
	case CLOSE_PROXY_BAD_V1:
	case CLOSE_PROXY_BAD_VERSION:
	case CLOSE_PROXY_BAD_FAMILY:
	case CLOSE_PROXY_BAD_LENGTH:
	case CLOSE_PROXY_BAD_TLV:
	case CLOSE_PROXY_BAD_CHECKSUM:
	case CLOSE_PROXY_TOO_LONG:
		return BLAME_CLIENT;
	default:
		return blame_of_letter(close_reason_row(reason)->letter1);
	}
}
