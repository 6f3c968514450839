/* SPDX-License-Identifier: MIT
 *
 * test_probe_talk.c - answers to checks of MySQL, LDAP and SMTP servers: whole, cut anywhere, and with any
 * byte wrong.
 *
 * The answers of MariaDB 10.11 and OpenLDAP 2.5 were recorded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "weir/base/check.h"
#include "health/probe_talk.h"

#define MORE	PROBE_ANSWER_MORE
#define ASK	PROBE_ANSWER_ASK
#define GOOD	PROBE_ANSWER_GOOD
#define REFUSED PROBE_ANSWER_REFUSED
#define BROKEN	PROBE_ANSWER_BROKEN

#define EARLY	  "the answer ends too early"
#define NOTHING	  "connection closed without an answer"
#define NOT_MYSQL "the answer is not that of a MySQL server"
#define NOT_LOGIN "unexpected answer to the login"
#define NOT_LDAP  "the answer is not that of an LDAP server"
#define NOT_SMTP  "the answer is not that of an SMTP server"

#define TEXT(text) text, sizeof(text) - 1
#define WORD(text) ((char *)(uintptr_t)(text))

static const struct config_check mysql = {.kind = CONFIG_CHECK_MYSQL};
static const struct config_check user = {.kind = CONFIG_CHECK_MYSQL, .user = WORD("joe")};
static const struct config_check ldap = {.kind = CONFIG_CHECK_LDAP};
static const struct config_check helo = {.kind = CONFIG_CHECK_SMTP};
static const struct config_check ehlo = {
	.kind = CONFIG_CHECK_SMTP, .method = WORD("EHLO"), .hello = WORD("lb.example.com")};

/* ---- MySQL ---- */

#define MARIADB                                                                                              \
	"\x64\0\0\0\n5.5.5-10.11.19-MariaDB-0+deb12u1\0\6\0\0\0saltsalt\0\xfe\xf7\x08\2\0\xff\x81\x15"      \
	"\0\0\0\0\0\0\x1d\0\0\0saltsaltsalt\0mysql_native_password\0"
/* Without CLIENT_PLUGIN_AUTH; without CLIENT_PROTOCOL_41. */
#define MYSQL_50  "\x2a\0\0\0\n5.0\0\1\0\0\0saltsalt\0\x2c\xa2\x08\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0saltsa"
#define MYSQL_40  "\x16\0\0\0\n4.0.1\0\1\0\0\0saltsalt\0\x2c\0"
#define OK	  "\7\0\0\2\0\0\0\2\0\0\0"
#define DENIED	  "\x47\0\0\2\xff\x15\4#28000Access denied for user 'weir'@'10.77.0.1' (using password: NO)"
#define DENIED_NO "\x32\0\0\2\xff\xa2\6#28000Access denied for user 'weir'@'10.77.0.1'"
#define BLOCKED	  "\x1a\0\0\0\xff\x69\4Host 'x' is blocked ..."
#define SWITCH	  "\x2c\0\0\2\xfe" "caching_sha2_password\0aaaaaaaaaaaaaaaaaaaa\0"

#define ZEROS_23	     "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define LOGIN_HEAD(len, can) len "\0\0\1\1" can "\0\0\0\0\x21" ZEROS_23
#define LOGIN(len, name)     LOGIN_HEAD(len, "\x82\x08\0") name "\0\0mysql_native_password\0"
#define EMPTY(number)	     "\0\0\0" number

/* ---- LDAP ---- */

#define BIND	  "0\x0c\2\1\1`\7\2\1\3\4\0\x80\0"
#define BOUND	  "0\x0c\2\1\1a\7\n\1\0\4\0\4\0"
#define BOUND_84  "0\x84\0\0\0\x10\2\1\1a\x84\0\0\0\7\n\1\0\4\0\4\0" /* as Active Directory writes it */
#define BAD_AUTH  "0%\2\1\1a \n\1\x30\4\0\4\x19" "anonymous bind disallowed"

/* ---- the rows ---- */

/* What is known while the connection is open; what is not known then is BROKEN at its end. */
static const struct row {
	const struct config_check *check;
	const char *text;
	size_t len;
	enum probe_answer answer;
	const char *detail; /* at the end */
	const char *sent;
	size_t sent_len;
} rows[] = {
	{&mysql, TEXT(MARIADB DENIED), GOOD, "does not let 'weir' in", TEXT(LOGIN("\x3c", "weir"))},
	{&mysql, TEXT(MARIADB DENIED_NO), GOOD, "does not let 'weir' in", TEXT(LOGIN("\x3c", "weir"))},
	{&mysql, TEXT(MARIADB OK "whatever follows"), GOOD, "", TEXT(LOGIN("\x3c", "weir"))},
	{&user, TEXT(MARIADB OK), GOOD, "", TEXT(LOGIN("\x3b", "joe"))},
	{&user, TEXT(MYSQL_50 OK), GOOD, "", TEXT(LOGIN_HEAD("\x25", "\x82\0\0") "joe\0\0")},
	{&user, TEXT(MARIADB DENIED), REFUSED,
	 "1045: Access denied for user \\x27weir\\x27@\\x2710.77.0.1\\x27 (using password: N",
	 TEXT(LOGIN("\x3b", "joe"))},
	{&user, TEXT(MARIADB SWITCH "\7\0\0\4\0\0\0\2\0\0\0"), GOOD, "",
	 TEXT(LOGIN("\x3b", "joe") EMPTY("\3"))},
	{&mysql, TEXT(MARIADB SWITCH "\2\0\0\4\1\3\7\0\0\5\0\0\0\2\0\0\0"), GOOD, "",
	 TEXT(LOGIN("\x3c", "weir") EMPTY("\3"))},
	{&mysql, TEXT(MARIADB SWITCH "\2\0\0\4\1\4\x08\0\0\6\xff\x15\4#2800"), GOOD, "does not let 'weir' in",
	 TEXT(LOGIN("\x3c", "weir") EMPTY("\3") EMPTY("\5"))},
	{&mysql, TEXT(MARIADB "\1\0\0\2\xfe\1\0\0\4\xfe\1\0\0\6\xfe\1\0\0\x08\xfe"), BROKEN, NOT_LOGIN,
	 TEXT(LOGIN("\x3c", "weir") EMPTY("\3") EMPTY("\5") EMPTY("\7"))},
	{&mysql, TEXT(BLOCKED), REFUSED, "1129: Host \\x27x\\x27 is blocked ...", TEXT("")},
	{&mysql, TEXT("\x11\0\0\1\xff\x10\4#08004Too many"), REFUSED, "1040: Too many", TEXT("")},
	{&mysql, TEXT("\3\0\0\0\xff\x15\4"), REFUSED, "1045: an error without words", TEXT("")},
	{&mysql, TEXT(MARIADB "\6\0\0\2\xff\x10\4a\nb"), REFUSED, "1040: a\\x0ab",
	 TEXT(LOGIN("\x3c", "weir"))},
	{&mysql, TEXT("\2\0\0\0\xff\x15"), BROKEN, NOT_MYSQL, TEXT("")},
	{&mysql, TEXT(MYSQL_40), REFUSED, "is older than MySQL 4.1", TEXT("")},
	{&mysql, TEXT(""), MORE, NOTHING, TEXT("")},
	{&mysql, TEXT("\x64"), MORE, EARLY, TEXT("")},
	{&mysql, TEXT(MARIADB), ASK, EARLY, TEXT("")},
	{&mysql, TEXT(MARIADB "\7"), MORE, EARLY, TEXT(LOGIN("\x3c", "weir"))},
	{&mysql, TEXT("SSH-2.0-x\r\n"), BROKEN, NOT_MYSQL, TEXT("")},
	{&mysql, TEXT("220 mail.example.com\r\n"), BROKEN, NOT_MYSQL, TEXT("")},
	{&mysql, TEXT("\0\0\0\0"), BROKEN, NOT_MYSQL, TEXT("")},
	{&mysql, TEXT("\1\x40\0\0"), BROKEN, NOT_MYSQL, TEXT("")},
	{&mysql, TEXT("\x64\0\0\0\x09"), BROKEN, NOT_MYSQL, TEXT("")},
	{&mysql, TEXT("\4\0\0\0\n5.5"), BROKEN, NOT_MYSQL, TEXT("")},
	{&mysql, TEXT("\x11\0\0\0\n5\0\1\0\0\0saltsalt\0\xff"), BROKEN, NOT_MYSQL, TEXT("")},
	{&mysql, TEXT("\x15\0\0\0\n5\0\1\0\0\0saltsalt\0\xff\xff\0\0\0"), BROKEN, NOT_MYSQL, TEXT("")},
	{&mysql, TEXT("\x17\0\0\1\n5\0\1\0\0\0saltsalt\0\xff\xff\0\0\0\0\0"), BROKEN, NOT_MYSQL, TEXT("")},
	{&mysql, TEXT(MARIADB "\7\0\0\3"), BROKEN, NOT_LOGIN, TEXT(LOGIN("\x3c", "weir"))},
	{&mysql, TEXT(MARIADB "\1\0\0\2\n"), BROKEN, NOT_LOGIN, TEXT(LOGIN("\x3c", "weir"))},
	{&mysql, TEXT(MARIADB "\6\0\0\2\0\0\0\2\0\0"), BROKEN, NOT_LOGIN, TEXT(LOGIN("\x3c", "weir"))},
	{&mysql, TEXT(MARIADB "\2\0\0\2\xff\x15"), BROKEN, NOT_LOGIN, TEXT(LOGIN("\x3c", "weir"))},

	{&ldap, TEXT(BOUND "whatever follows"), GOOD, "", TEXT(BIND)},
	{&ldap, TEXT(BOUND_84), GOOD, "", TEXT(BIND)},
	{&ldap, TEXT("0\x81\x0d\2\1\1a\x81\7\n\1\0\4\0\4\0"), GOOD, "", TEXT(BIND)},
	{&ldap, TEXT("0\x10\2\1\1a\x09\n\1\0\4\0\4\0\x87\0\xa0\0"), GOOD, "", TEXT(BIND)},
	{&ldap, TEXT(BAD_AUTH), REFUSED, "48 inappropriateAuthentication: anonymous bind disallowed",
	 TEXT(BIND)},
	{&ldap, TEXT("0\x0c\2\1\1a\7\n\1\x34\4\0\4\0"), REFUSED, "52 unavailable", TEXT(BIND)},
	{&ldap, TEXT("0\x0f\2\1\1a\x0a\n\4\x7f\xff\xff\xff\4\0\4\0"), REFUSED, "2147483647", TEXT(BIND)},
	{&ldap, TEXT("0\x10\2\1\1a\x0b\n\1\x33\4\0\4\4a\"b\n"), REFUSED, "51 busy: a\\x22b\\x0a", TEXT(BIND)},
	{&ldap, TEXT("0$\2\1\0x\x1f\n\1\x34\4\0\4\0\x8a\x16" "1.3.6.1.4.1.1466.20.036"),
	 REFUSED, "52 unavailable", TEXT(BIND)},
	{&ldap, TEXT(""), MORE, NOTHING, TEXT(BIND)},
	{&ldap, TEXT("0"), MORE, EARLY, TEXT(BIND)},
	{&ldap, TEXT("0\x84\0\0\0"), MORE, EARLY, TEXT(BIND)},
	{&ldap, TEXT("1"), BROKEN, NOT_LDAP, TEXT(BIND)},
	{&ldap, TEXT("HTTP/1.1 400 Bad Request\r\n"), BROKEN, NOT_LDAP, TEXT(BIND)},
	{&ldap, TEXT(BIND), BROKEN, NOT_LDAP, TEXT(BIND)}, /* from an echo server */
	{&ldap, TEXT("0\x80"), BROKEN, NOT_LDAP, TEXT(BIND)},
	{&ldap, TEXT("0\x85"), BROKEN, NOT_LDAP, TEXT(BIND)},
	{&ldap, TEXT("0\xff"), BROKEN, NOT_LDAP, TEXT(BIND)},
	{&ldap, TEXT("0\x82\3\xfd"), BROKEN, NOT_LDAP, TEXT(BIND)},
	{&ldap, TEXT("0\x84\xff\xff\xff\xff"), BROKEN, NOT_LDAP, TEXT(BIND)},
	{&ldap, TEXT("0\0"), BROKEN, NOT_LDAP, TEXT(BIND)},
	{&ldap, TEXT("0\x0c\2\1\2a\7\n\1\0\4\0\4\0"), BROKEN, NOT_LDAP, TEXT(BIND)},
	{&ldap, TEXT("0\x0d\2\2\0\1a\7\n\1\0\4\0\4\0"), BROKEN, NOT_LDAP, TEXT(BIND)},
	{&ldap, TEXT("0\x0c\2\1\xff" "a\7\n\1\0\4\0\4\0"), BROKEN, NOT_LDAP, TEXT(BIND)},
	{&ldap, TEXT("0\x0c\2\1\1a\x08\n\1\0\4\0\4\0"), BROKEN, NOT_LDAP, TEXT(BIND)},
	{&ldap, TEXT("0\x0c\2\1\1a\7\n\1\0\4\0\4\1"), BROKEN, NOT_LDAP, TEXT(BIND)},
	{&ldap, TEXT("0\x0e\2\1\1a\x09\n\1\0\4\0\4\0\x1f\0"), BROKEN, NOT_LDAP, TEXT(BIND)},
	{&ldap, TEXT("0\x0d\2\1\1a\7\n\1\0\4\0\4\0\xa0"), BROKEN, NOT_LDAP, TEXT(BIND)},
	{&ldap, TEXT("0\x0c\2\1\0a\7\n\1\0\4\0\4\0"), BROKEN, NOT_LDAP, TEXT(BIND)},

	{&helo, TEXT("220 a ESMTP Postfix\r\n250 a\r\nmore"), GOOD, "", TEXT("HELO localhost\r\n")},
	{&ehlo, TEXT("220 a\r\n250-a\r\n250-PIPELINING\r\n250 CHUNKING\r\n"), GOOD, "",
	 TEXT("EHLO lb.example.com\r\n")},
	{&ehlo, TEXT("220-a\r\n220-b\r\n220 c\r\n250\r\n"), GOOD, "", TEXT("EHLO lb.example.com\r\n")},
	{&ehlo, TEXT("220\n250 a\n"), GOOD, "", TEXT("EHLO lb.example.com\r\n")},
	{&helo, TEXT("554-a\r\n554 5.7.1 \x22no\x22\r\n"), REFUSED, "554 5.7.1 \\x22no\\x22", TEXT("")},
	{&helo, TEXT("220-a\r\n421 b\r\n"), REFUSED, "421 b", TEXT("")},
	{&helo, TEXT("421-b\r\n220 a\r\n"), REFUSED, "220 a", TEXT("")},
	{&helo, TEXT("220 a\r\n501 Syntax: HELO hostname\r\n"), REFUSED, "501 Syntax: HELO hostname",
	 TEXT("HELO localhost\r\n")},
	{&helo, TEXT(""), MORE, NOTHING, TEXT("")},
	{&helo, TEXT("2"), MORE, EARLY, TEXT("")},
	{&helo, TEXT("220 a\r"), MORE, EARLY, TEXT("")},
	{&helo, TEXT("220-a\r\n"), MORE, EARLY, TEXT("")},
	{&helo, TEXT("220 a\r\n"), ASK, EARLY, TEXT("")},
	{&helo, TEXT("SSH-2.0-x\r\n"), BROKEN, NOT_SMTP, TEXT("")},
	{&helo, TEXT("+OK POP3\r\n"), BROKEN, NOT_SMTP, TEXT("")},
	{&helo, TEXT("\n"), BROKEN, NOT_SMTP, TEXT("")},
	{&helo, TEXT("22\n"), BROKEN, NOT_SMTP, TEXT("")},
	{&helo, TEXT("2201"), BROKEN, NOT_SMTP, TEXT("")},
	{&helo, TEXT("100 a\r\n"), BROKEN, NOT_SMTP, TEXT("")},
	{&helo, TEXT("600 a\r\n"), BROKEN, NOT_SMTP, TEXT("")},
	{&helo, TEXT("220 a\r\n2x"), BROKEN, NOT_SMTP, TEXT("HELO localhost\r\n")},
};

/* ---- walking ---- */

struct walk {
	struct probe_talk talk;
	enum probe_answer answer;
	char sent[512];
	size_t sent_len;
};

/* Takes the question that is due; true = there was one. */
static bool take_question(struct walk *w)
{
	size_t len = 0;
	const uint8_t *question = probe_talk_question(&w->talk, &len);

	if (question == NULL)
		return false;
	assert_true(len > 0 && len <= sizeof(w->sent) - w->sent_len);
	memcpy(w->sent + w->sent_len, question, len);
	w->sent_len += len;
	w->answer = MORE;
	return true;
}

static void begin(struct walk *w, const struct config_check *c)
{
	memset(w, 0, sizeof(*w));
	probe_talk_init(&w->talk, c, NULL);
	assert_int_equal(take_question(w), c->kind == CONFIG_CHECK_LDAP);
	assert_false(take_question(w));
}

/* Pushes at most `piece` bytes; sends the question that is due. Returns what was examined. */
static size_t push(struct walk *w, const char *text, size_t piece)
{
	size_t used = 0;

	if (w->answer == ASK)
		assert_true(take_question(w));
	w->answer = probe_talk_push(&w->talk, (const uint8_t *)text, piece, &used);
	assert_true(used <= piece);
	assert_true(used > 0 || (w->answer != MORE && w->answer != ASK));
	return used;
}

static enum probe_answer answer_to(struct walk *w, const struct config_check *c, const char *text, size_t len)
{
	begin(w, c);
	for (size_t at = 0; at < len && (w->answer == MORE || w->answer == ASK);)
		at += push(w, text + at, len - at);
	return probe_talk_end(&w->talk);
}

/* Pushes the answer in pieces of at most `first`, then `rest` bytes. */
static void walk(const struct row *row, size_t first, size_t rest)
{
	struct walk w;
	size_t at = 0;

	begin(&w, row->check);
	for (size_t piece = first; at < row->len && (w.answer == MORE || w.answer == ASK); piece = rest)
		at += push(&w, row->text + at, piece < row->len - at ? piece : row->len - at);
	if (w.answer != row->answer)
		fail_msg("row %zu cut at %zu: answer %d", (size_t)(row - rows), first, w.answer);
	assert_int_equal(probe_talk_end(&w.talk),
			 row->answer == MORE || row->answer == ASK ? BROKEN : row->answer);
	assert_string_equal(probe_talk_detail(&w.talk), row->detail);
	assert_int_equal(w.sent_len, row->sent_len);
	assert_memory_equal(w.sent, row->sent, row->sent_len);
}

static void answers_are_judged_the_same_in_any_pieces(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		for (size_t cut = 1; cut <= rows[i].len + 1; cut++) {
			walk(&rows[i], cut, rows[i].len + 1);
			walk(&rows[i], cut, 1);
		}
	}
}

static bool is_printable(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}

/* Each byte of each row with each value, and all that follows. */
static void any_byte_may_be_any_other(void **state)
{
	static char text[512];
	struct walk w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_true(rows[i].len <= sizeof(text));
		for (size_t at = 0; at < rows[i].len; at++) {
			memcpy(text, rows[i].text, rows[i].len);
			for (unsigned byte = 0; byte < 256; byte++) {
				text[at] = (char)byte;
				const enum probe_answer answer =
					answer_to(&w, rows[i].check, text, rows[i].len);

				assert_true(answer >= GOOD);
				assert_true(is_printable(probe_talk_detail(&w.talk)));
				assert_true(strlen(probe_talk_detail(&w.talk)) < PROBE_DETAIL_MAX);
				assert_true(answer == GOOD || probe_talk_detail(&w.talk)[0] != '\0');
			}
		}
	}
}

/* The shortest answers that pass, without one byte at the end. */
static void good_answers_are_needed_whole(void **state)
{
	static const struct {
		const struct config_check *check;
		const char *text;
		size_t len;
	} whole[] = {
		{&mysql, TEXT(MARIADB DENIED)},
		{&user, TEXT(MARIADB OK)},
		{&ldap, TEXT(BOUND)},
		{&ldap, TEXT(BOUND_84)},
		{&helo, TEXT("220 a\r\n250 a\r\n")},
	};
	struct walk w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(whole); i++) {
		assert_int_equal(answer_to(&w, whole[i].check, whole[i].text, whole[i].len), GOOD);
		for (size_t len = 0; len < whole[i].len; len++)
			assert_int_equal(answer_to(&w, whole[i].check, whole[i].text, len), BROKEN);
	}
}

/* The messages of LDAP have no byte that does not matter. */
static void no_byte_of_a_bind_response_may_be_another(void **state)
{
	char text[] = BOUND;
	struct walk w;

	(void)state;
	for (size_t at = 0; at < sizeof(text) - 1; at++) {
		const char right = text[at];

		for (unsigned byte = 0; byte < 256; byte++) {
			text[at] = (char)byte;
			if (text[at] != right)
				assert_int_not_equal(answer_to(&w, &ldap, text, sizeof(text) - 1), GOOD);
		}
		text[at] = right;
	}
}

/* ---- bounds ---- */

static void long_messages_are_cut(void **state)
{
	static const char head[] = "\0\x40\0\0\n";
	static const char error[] = MARIADB "\0\x40\0\2\xff\x10\4";
	struct walk w;

	(void)state;
	begin(&w, &mysql);
	(void)push(&w, head, sizeof(head) - 1);
	for (size_t i = 1; i < 0x4000; i++) {
		assert_int_equal(w.answer, MORE);
		(void)push(&w, "x", 1);
	}
	assert_int_equal(w.answer, BROKEN); /* a version without an end */
	begin(&w, &mysql);
	for (size_t at = 0; at < sizeof(error) - 1;)
		at += push(&w, error + at, sizeof(error) - 1 - at);
	for (size_t i = 3; i < 0x4000; i++) {
		assert_int_equal(w.answer, MORE);
		(void)push(&w, "!", 1);
	}
	assert_int_equal(w.answer, REFUSED);
	assert_memory_equal(probe_talk_detail(&w.talk), "1040: !!!!", 10);
}

static void longest_bind_response_is_kept_and_a_longer_one_refused(void **state)
{
	/* With a text that fills the rest. */
	char text[PROBE_LDAP_MESSAGE + 1] = "0\x82\x03\xfc\2\1\1a\x82\x03\xf5\n\1\x35\4\0\4\x82\x03\xec";
	struct walk w;

	(void)state;
	memset(text + 20, 't', sizeof(text) - 20);
	assert_int_equal(answer_to(&w, &ldap, text, PROBE_LDAP_MESSAGE), REFUSED);
	assert_memory_equal(probe_talk_detail(&w.talk), "53 unwillingToPerform: tttt", 27);
	text[3] = (char)0xfd;
	assert_int_equal(answer_to(&w, &ldap, text, 4), BROKEN);
	assert_string_equal(probe_talk_detail(&w.talk), NOT_LDAP);
}

static void smtp_lines_of_any_length_are_skipped(void **state)
{
	struct walk w;

	(void)state;
	begin(&w, &helo);
	(void)push(&w, "220-", 4);
	for (size_t i = 0; i < 60000; i++)
		(void)push(&w, "x", 1);
	(void)push(&w, "\r\n220 a\r\n", 9);
	assert_int_equal(w.answer, ASK);
}

static void longest_names_have_room(void **state)
{
	char name[256];
	struct config_check c = {.kind = CONFIG_CHECK_SMTP, .method = WORD("EHLO"), .hello = name};
	struct walk w;

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(answer_to(&w, &c, TEXT("220 a\n250 a\n")), GOOD);
	assert_int_equal(w.sent_len, 5 + 255 + 2);
	name[128] = '\0';
	c = (struct config_check){.kind = CONFIG_CHECK_MYSQL, .user = name};
	assert_int_equal(answer_to(&w, &c, TEXT(MARIADB OK)), GOOD);
	assert_int_equal(w.sent_len, 4 + 32 + 129 + 1 + 22);
}

/* ---- the end ---- */

static void farewells_are_those_that_servers_expect(void **state)
{
	static const struct {
		const struct config_check *check;
		const char *text;
		size_t len;
		const char *words;
	} ends[] = {
		{&user, TEXT(MARIADB OK), "\1"},
		{&mysql, TEXT(MARIADB DENIED), NULL},
		{&mysql, TEXT(BLOCKED), NULL},
		{&ldap, TEXT(BOUND), "0\5\2\1\2B"},
		{&ldap, TEXT(BAD_AUTH), "0\5\2\1\2B"},
		{&ldap, TEXT("0\x0c\2\1\0x\7\n\1\x34\4\0\4\0"), NULL},
		{&ldap, TEXT("x"), NULL},
		{&helo, TEXT("220 a\n250 a\n"), "QUIT\r\n"},
		{&helo, TEXT("554 a\n"), "QUIT\r\n"},
		{&helo, TEXT("554-a\n"), NULL},
		{&helo, TEXT("220 a\nx"), NULL},
	};
	struct walk w;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t len = 0;
		const uint8_t *words;

		(void)answer_to(&w, ends[i].check, ends[i].text, ends[i].len); /* other tests ask */
		words = probe_talk_farewell(&w.talk, &len);
		if (ends[i].words == NULL) {
			assert_null(words);
			continue;
		}
		assert_non_null(words);
		assert_memory_equal(words, ends[i].words, strlen(ends[i].words));
		assert_true(len >= strlen(ends[i].words));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_judged_the_same_in_any_pieces),
		cmocka_unit_test(any_byte_may_be_any_other),
		cmocka_unit_test(good_answers_are_needed_whole),
		cmocka_unit_test(no_byte_of_a_bind_response_may_be_another),
		cmocka_unit_test(long_messages_are_cut),
		cmocka_unit_test(longest_bind_response_is_kept_and_a_longer_one_refused),
		cmocka_unit_test(smtp_lines_of_any_length_are_skipped),
		cmocka_unit_test(longest_names_have_room),
		cmocka_unit_test(farewells_are_those_that_servers_expect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
