/* SPDX-License-Identifier: MIT
 *
 * probe_ldap.c - an LDAP health check: an anonymous bind, and its answer, parsed incrementally.
 *
 * Reads the subset of BER that RFC 4511, 5.1, permits: definite lengths, in one to four bytes, and numbers in
 * the shortest form. Elements that follow the known ones are skipped, as its section 4 requires, but must be
 * well-formed too. Never trusts the server. Any thread.
 */
#include "probe_ldap.h"

#include <stdio.h>
#include <string.h>

#include "weir/base/log.h"

/* Tags: of BER, and of LDAP. */
#define INTEGER	     0x02
#define TEXT	     0x04 /* OCTET STRING */
#define ENUMERATED   0x0a
#define SEQUENCE     0x30
#define BIND_ANSWER  0x61
#define NOTICE	     0x78 /* an ExtendedResponse */
#define TAG_HIGH     0x1f /* a tag that goes on in the next byte; LDAP has none */

#define LENGTH_LONG  0x80
#define LENGTH_BYTES_MAX 4

/* Of a message that answers no request: the server is about to disconnect. */
#define UNASKED 0
#define OUR_ID	1

struct ber {
	const uint8_t *at;
	size_t left;
};

/* ---- what is sent ---- */

const uint8_t *probe_ldap_request(size_t *len)
{
	/* Message 1: a bind with version 3, an empty name and an empty password. */
	static const uint8_t bind[] = {SEQUENCE, 12, INTEGER, 1, OUR_ID, 0x60, 7, INTEGER,
				       1,	 3,  TEXT,    0, 0x80,	 0};

	*len = sizeof(bind);
	return bind;
}

const uint8_t *probe_ldap_farewell(const struct probe_ldap *l, size_t *len)
{
	static const uint8_t unbind[] = {SEQUENCE, 5, INTEGER, 1, OUR_ID + 1, 0x42, 0};

	*len = sizeof(unbind);
	return l->bound ? unbind : NULL;
}

/* ---- verdicts ---- */

void probe_ldap_init(struct probe_ldap *l)
{
	memset(l, 0, sizeof(*l));
}

static void broken(struct probe_ldap *l)
{
	l->answer = PROBE_ANSWER_BROKEN;
	(void)snprintf(l->detail, sizeof(l->detail), "the answer is not that of an LDAP server"); /* fits */
}

/* The names of results that a server may give for a bind. */
static const char *result_name(uint32_t result)
{
	static const struct {
		uint32_t result;
		const char *name;
	} rows[] = {
		{1, "operationsError"},
		{2, "protocolError"},
		{7, "authMethodNotSupported"},
		{8, "strongerAuthRequired"},
		{10, "referral"},
		{13, "confidentialityRequired"},
		{48, "inappropriateAuthentication"},
		{49, "invalidCredentials"},
		{50, "insufficientAccessRights"},
		{51, "busy"},
		{52, "unavailable"},
		{53, "unwillingToPerform"},
		{80, "other"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].result == result)
			return rows[i].name;
	return "";
}

/* "51 busy: too many connections"; the text comes from the server. */
static void refuse(struct probe_ldap *l, uint32_t result, const struct ber *text)
{
	const char *name = result_name(result);
	char shown[PROBE_DETAIL_MAX - 42] = ""; /* numbers have 10 digits, names up to 27 letters */

	log_escape((const char *)text->at, text->left, shown, sizeof(shown));
	l->answer = PROBE_ANSWER_REFUSED;
	(void)snprintf(l->detail, sizeof(l->detail), "%u%s%s%s%s", result, name[0] != '\0' ? " " : "", name,
		       shown[0] != '\0' ? ": " : "", shown); /* always fits */
}

/* ---- BER ---- */

/* The length after a tag, which may go on behind `in`: then false. False also for one that LDAP does not
 * permit, with `*valid` false. */
static bool take_length(struct ber *in, size_t *len, bool *valid)
{
	size_t bytes;

	*valid = true;
	if (in->left == 0)
		return false;
	*len = in->at[0];
	bytes = *len < LENGTH_LONG ? 0 : *len - LENGTH_LONG;
	*valid = *len < LENGTH_LONG || (bytes > 0 && bytes <= LENGTH_BYTES_MAX);
	if (!*valid || in->left < 1 + bytes)
		return false;
	if (bytes > 0)
		*len = 0;
	for (size_t i = 1; i <= bytes; i++)
		*len = *len << 8 | in->at[i];
	in->at += 1 + bytes;
	in->left -= 1 + bytes;
	return true;
}

/* Takes an element with this tag and all of its `value`; false: there is none. */
static bool take(struct ber *in, uint8_t tag, struct ber *value)
{
	bool valid;
	size_t len;

	if (in->left == 0 || in->at[0] != tag)
		return false;
	in->at++;
	in->left--;
	if (!take_length(in, &len, &valid) || len > in->left)
		return false;
	*value = (struct ber){in->at, len};
	in->at += len;
	in->left -= len;
	return true;
}

/* The same for a number that is not negative. */
static bool take_number(struct ber *in, uint8_t tag, uint32_t *number)
{
	struct ber value;

	if (!take(in, tag, &value) || value.left == 0 || value.left > 4 || value.at[0] >= 0x80 ||
	    (value.left > 1 && value.at[0] == 0 && value.at[1] < 0x80))
		return false;
	*number = 0;
	for (size_t i = 0; i < value.left; i++)
		*number = *number << 8 | value.at[i];
	return true;
}

/* Are the remaining elements, whatever they are, well-formed? */
static bool is_well_formed(struct ber in)
{
	struct ber value;

	while (in.left > 0) {
		if ((in.at[0] & TAG_HIGH) == TAG_HIGH || !take(&in, in.at[0], &value))
			return false;
	}
	return true;
}

/* ---- the message ---- */

/* The same for both kinds of answer: a result, a name of no interest, a text and possibly more. */
static bool take_result(struct ber body, uint32_t *result, struct ber *text)
{
	struct ber name;

	return take_number(&body, ENUMERATED, result) && take(&body, TEXT, &name) &&
	       take(&body, TEXT, text) && is_well_formed(body);
}

static void take_message(struct probe_ldap *l, struct ber message)
{
	struct ber body, text;
	uint32_t id, result;
	bool notice;

	if (!take_number(&message, INTEGER, &id)) {
		broken(l);
		return;
	}
	notice = id == UNASKED;
	if ((!notice && id != OUR_ID) || !take(&message, notice ? NOTICE : BIND_ANSWER, &body) ||
	    !is_well_formed(message) || !take_result(body, &result, &text)) {
		broken(l);
		return;
	}
	l->bound = !notice;
	if (notice || result != 0)
		refuse(l, result, &text);
	else
		l->answer = PROBE_ANSWER_GOOD;
}

/* The message may be whole now. */
static void look(struct probe_ldap *l)
{
	struct ber in = {l->message + 1, l->len - 1};
	bool valid;
	size_t len;

	if (l->message[0] != SEQUENCE) {
		broken(l);
	} else if (take_length(&in, &len, &valid)) {
		if (len > sizeof(l->message) - (size_t)(in.at - l->message))
			broken(l);
		else if (in.left == len)
			take_message(l, in);
	} else if (!valid) {
		broken(l);
	}
}

enum probe_answer probe_ldap_push(struct probe_ldap *l, const uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len && l->answer == PROBE_ANSWER_MORE; i++) {
		l->message[l->len++] = data[i]; /* look() ends a message that has no room */
		look(l);
	}
	return l->answer;
}

enum probe_answer probe_ldap_end(struct probe_ldap *l)
{
	if (l->answer != PROBE_ANSWER_MORE)
		return l->answer;
	l->answer = PROBE_ANSWER_BROKEN;
	(void)snprintf(l->detail, sizeof(l->detail), "%s", probe_answer_cut(l->len == 0)); /* fits */
	return l->answer;
}
