/* SPDX-License-Identifier: MIT
 *
 * test_probe_pgsql.c - answers to PostgreSQL checks: whole, cut anywhere, and with any byte wrong.
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
#include "health/probe_pgsql.h"

#define ANY	CONFIG_CHECK_ROLE_ANY
#define PRIMARY CONFIG_CHECK_ROLE_PRIMARY
#define STANDBY CONFIG_CHECK_ROLE_STANDBY
#define MORE	PROBE_ANSWER_MORE
#define ASK	PROBE_ANSWER_ASK
#define GOOD	PROBE_ANSWER_GOOD
#define REFUSED PROBE_ANSWER_REFUSED
#define BROKEN	PROBE_ANSWER_BROKEN

#define NOT_ONE	 "the answer is not that of a PostgreSQL server"
#define NOT_THIS "unexpected answer to the question for its role"
#define EARLY	 "the answer ends too early"
#define PASSWORD "asks for a password: role= needs a user who may log in without one"

#define OK	 "R\0\0\0\10\0\0\0\0"
#define MD5	 "R\0\0\0\14\0\0\0\5abcd"
#define SCRAM	 "R\0\0\0\27\0\0\0\12SCRAM-SHA-256\0\0"
#define NOTICE	 "N\0\0\0\6Mx"
#define SETTING	 "S\0\0\0\26server_version\00015\0"
#define KEY	 "K\0\0\0\14\0\0\0\1\0\0\0\2"
#define READY	 "Z\0\0\0\5I"
#define LOGIN	 OK SETTING KEY READY
#define ROW(standby, len, on) "D\0\0\0" len "\0\2\0\0\0\1" standby "\0\0\0" on
#define OFF_ROW(standby) ROW(standby, "\22", "\3off")
#define ON_ROW(standby)	 ROW(standby, "\21", "\2on")
#define COLUMNS	 "T\0\0\0\6\0\2"
#define STARTING                                                                                             \
	"E\0\0\0\110SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0Fpostmaster.c\0\0"

#define TEXT(text) text, sizeof(text) - 1

/* What is known while the connection is open; what is not known then is BROKEN at its end. */
static const struct row {
	enum config_check_role role;
	const char *text;
	size_t len;
	enum probe_answer answer;
	const char *detail; /* at the end */
} rows[] = {
	{ANY, TEXT(OK), GOOD, ""},
	{ANY, TEXT(MD5), GOOD, "asks for a password"},
	{ANY, TEXT(SCRAM), GOOD, "asks for a password"},
	{ANY, TEXT(NOTICE OK "whatever follows"), GOOD, ""},
	{ANY, TEXT("v\0\0\0\14\0\0\0\0\0\0\0\0" OK), GOOD, ""},
	{ANY, TEXT(STARTING), REFUSED, "57P03: the database system is starting up"},
	{ANY, TEXT("E\0\0\0\14C28000\0"), MORE, EARLY},
	{ANY, TEXT("E\0\0\0\14C28000\0\0"), REFUSED, "28000: an error without words"},
	{ANY, TEXT("E\0\0\0\7Mx\0"), REFUSED, "x"},
	{ANY, TEXT("E\0\0\0\4"), REFUSED, "an error without words"},
	{ANY, TEXT("E\0\0\0\10Cxxx"), REFUSED, "xxx: an error without words"},
	{ANY, TEXT("E\0\0\0\15M\"\n\x80xx\0\0\0"), REFUSED, "\\x22\\x0a\\x80xx"},
	{ANY, TEXT("E\0\0\0\17C123456789\0"), REFUSED, "12345: an error without words"},
	{ANY, TEXT("Ecould not fork new process for connection: Cannot allocate memory\n\0"), REFUSED,
	 "could not fork new process for connection: Cannot allocate memory"},
	{ANY, TEXT(NOTICE "Ex\0"), REFUSED, "x"},
	{ANY, TEXT("Ecould not"), MORE, EARLY},
	{ANY, TEXT(""), MORE, "connection closed without an answer"},
	{ANY, TEXT("R"), MORE, EARLY},
	{ANY, TEXT(NOTICE), MORE, "connection closed without an answer"},
	{ANY, TEXT("SSH-2.0-x\r\n"), BROKEN, NOT_ONE},
	{ANY, TEXT("\0"), BROKEN, NOT_ONE},
	{ANY, TEXT("HTTP/1.1 400 Bad Request\r\n"), BROKEN, NOT_ONE},
	{ANY, TEXT(READY), BROKEN, NOT_ONE},
	{ANY, TEXT("\0\0\0\51\0\3\0\0user\0x\0"), BROKEN, NOT_ONE}, /* from an echo server */
	{ANY, TEXT("R\0\0\0\10\0\0\0\1"), BROKEN, NOT_ONE},
	{ANY, TEXT("R\0\0\0\10\0\0\0\10"), BROKEN, NOT_ONE},
	{ANY, TEXT("R\0\0\0\10\0\0\0\13"), BROKEN, NOT_ONE},
	{ANY, TEXT("R\0\0\0\10\1\0\0\0"), BROKEN, NOT_ONE},
	{ANY, TEXT("R\0\0\0\7"), BROKEN, NOT_ONE},
	{ANY, TEXT("R\0\0\0\3"), BROKEN, NOT_ONE},
	{ANY, TEXT("R\0\0\0\0"), BROKEN, NOT_ONE},
	{ANY, TEXT("R\0\1\0\0"), BROKEN, NOT_ONE},
	{ANY, TEXT("N\0\1\0\1"), BROKEN, NOT_ONE},
	{ANY, TEXT("N\377\377\377\377"), BROKEN, NOT_ONE},
	{PRIMARY, TEXT(MD5), REFUSED, PASSWORD},
	{PRIMARY, TEXT(SCRAM), REFUSED, PASSWORD},
	{PRIMARY, TEXT(OK), MORE, EARLY},
	{PRIMARY, TEXT(LOGIN), ASK, EARLY},
	{PRIMARY, TEXT(OK "E\0\0\0\22C3D000\0Mno x\0\0"), REFUSED, "3D000: no x"},
	{PRIMARY, TEXT(OK OK), BROKEN, NOT_ONE},
	{PRIMARY, TEXT(OK "Z\0\0\0\6II"), BROKEN, NOT_ONE},
	{PRIMARY, TEXT(OK "Exxxx"), BROKEN, NOT_ONE},
	{PRIMARY, TEXT(LOGIN COLUMNS OFF_ROW("f") "C"), GOOD, "primary"},
	{PRIMARY, TEXT(LOGIN COLUMNS ON_ROW("f")), REFUSED, "accepts no writes: transaction_read_only is on"},
	{PRIMARY, TEXT(LOGIN COLUMNS ON_ROW("t")), REFUSED, "is a standby, not a primary"},
	{PRIMARY, TEXT(LOGIN COLUMNS OFF_ROW("t")), REFUSED, "is a standby, not a primary"},
	{STANDBY, TEXT(LOGIN NOTICE COLUMNS ON_ROW("t")), GOOD, "standby"},
	{STANDBY, TEXT(LOGIN COLUMNS OFF_ROW("f")), REFUSED, "is a primary, not a standby"},
	{STANDBY, TEXT(LOGIN COLUMNS ON_ROW("f")), REFUSED, "is a primary, not a standby"},
	{PRIMARY, TEXT(LOGIN "E\0\0\0\20C42501\0Mno\0\0"), REFUSED, "42501: no"},
	{PRIMARY, TEXT(LOGIN COLUMNS), MORE, EARLY},
	{PRIMARY, TEXT(LOGIN COLUMNS ROW("x", "\22", "\3off")), BROKEN, NOT_THIS},
	{PRIMARY, TEXT(LOGIN COLUMNS ROW("f", "\22", "\3on ")), BROKEN, NOT_THIS},
	{PRIMARY, TEXT(LOGIN COLUMNS ROW("f", "\21", "\3on")), BROKEN, NOT_THIS},
	{PRIMARY, TEXT(LOGIN COLUMNS "D\0\0\0\4"), BROKEN, NOT_THIS},
	{PRIMARY, TEXT(LOGIN COLUMNS "D\0\0\0\6\0\0"), BROKEN, NOT_THIS},
	{PRIMARY, TEXT(LOGIN COLUMNS "C\0\0\0\6x\0"), BROKEN, NOT_THIS},
	{PRIMARY, TEXT(LOGIN "Z\0\0\0\5I"), BROKEN, NOT_THIS},
};

/* Pushes at most `piece` bytes; sends the question that is due. Returns what was examined. */
static size_t push(struct probe_pgsql *g, const char *text, size_t piece)
{
	size_t used = 0, len = 0;

	if (g->answer == ASK)
		assert_non_null(probe_pgsql_query(g, &len));
	(void)probe_pgsql_push(g, (const uint8_t *)text, piece, &used); /* is asked by the caller */
	assert_true(used <= piece);
	assert_true(used > 0 || (g->answer != MORE && g->answer != ASK));
	return used;
}

/* Pushes the answer in pieces of at most `first`, then `rest` bytes. */
static void walk(const struct row *row, size_t first, size_t rest)
{
	struct probe_pgsql g;
	size_t at = 0;

	probe_pgsql_init(&g, row->role);
	for (size_t piece = first; at < row->len && (g.answer == MORE || g.answer == ASK); piece = rest)
		at += push(&g, row->text + at, piece < row->len - at ? piece : row->len - at);
	if (g.answer != row->answer)
		fail_msg("row %zu cut at %zu: answer %d", (size_t)(row - rows), first, g.answer);
	assert_int_equal(probe_pgsql_end(&g),
			 row->answer == MORE || row->answer == ASK ? BROKEN : row->answer);
	assert_string_equal(g.detail, row->detail);
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

static enum probe_answer answer_to(enum config_check_role role, const char *text, size_t len)
{
	struct probe_pgsql g;

	probe_pgsql_init(&g, role);
	for (size_t at = 0; at < len && (g.answer == MORE || g.answer == ASK);)
		at += push(&g, text + at, len - at);
	return probe_pgsql_end(&g);
}

static void good_answers_are_needed_whole(void **state)
{
	static const char whole[] = LOGIN COLUMNS OFF_ROW("f");

	(void)state;
	for (size_t len = 0; len < sizeof(OK) - 1; len++)
		assert_int_equal(answer_to(ANY, OK, len), BROKEN);
	for (size_t len = 0; len < sizeof(whole) - 1; len++)
		assert_int_equal(answer_to(PRIMARY, whole, len), BROKEN);
	assert_int_equal(answer_to(PRIMARY, whole, sizeof(whole) - 1), GOOD);
}

/* Every value of every byte that the verdict depends on. */
static void no_byte_of_a_good_row_may_be_another(void **state)
{
	char whole[] = LOGIN COLUMNS OFF_ROW("f");
	const size_t row = sizeof(LOGIN COLUMNS) - 1, len = sizeof(whole) - 1;

	(void)state;
	for (size_t at = row; at < len; at++) {
		const char right = whole[at];

		for (unsigned byte = 0; byte < 256; byte++) {
			whole[at] = (char)byte;
			if (whole[at] != right && !(at == row && (byte == 'S' || byte == 'T' || byte == 'N')))
				assert_int_not_equal(answer_to(PRIMARY, whole, len), GOOD);
		}
		whole[at] = right;
	}
	assert_int_equal(answer_to(PRIMARY, whole, len), GOOD);
}

/* No length makes the reader keep or wait for more than a message may have. */
static void every_length_is_within_bounds(void **state)
{
	static const char types[] = "ERNvSKZTD";

	(void)state;
	for (size_t i = 0; i < strlen(types); i++) {
		for (unsigned bit = 0; bit < 32; bit++) {
			const uint32_t len = UINT32_C(1) << bit;
			struct probe_pgsql g;
			uint8_t head[] = {(uint8_t)types[i], (uint8_t)(len >> 24), (uint8_t)(len >> 16),
					  (uint8_t)(len >> 8), (uint8_t)len};
			size_t used;

			for (unsigned part = PROBE_PGSQL_PART_LOGIN; part <= PROBE_PGSQL_PART_ASKED; part++) {
				probe_pgsql_init(&g, PRIMARY);
				g.part = (enum probe_pgsql_part)part;
				(void)probe_pgsql_push(&g, head, sizeof(head), &used); /* any is right */
				assert_true(g.answer != MORE || g.old_error || g.left < 65536);
			}
		}
	}
}

/* A long message: its end is not kept, and is counted all the same. */
static void long_messages_are_skipped(void **state)
{
	static const uint8_t head[] = {'N', 0, 1, 0, 0}, ok[] = OK;
	struct probe_pgsql g;
	size_t used;

	(void)state;
	probe_pgsql_init(&g, ANY);
	assert_int_equal(probe_pgsql_push(&g, head, sizeof(head), &used), MORE);
	for (size_t i = 0; i < 65532; i++)
		assert_int_equal(probe_pgsql_push(&g, (const uint8_t *)"R", 1, &used), MORE);
	assert_int_equal(probe_pgsql_push(&g, ok, sizeof(ok) - 1, &used), GOOD);
}

static void errors_longer_than_is_kept_are_shown_cut(void **state)
{
	static const uint8_t head[] = {'E', 0, 0, 0x10, 0};
	const char first[] = "C53300\0Msorry, too many clients already ";
	struct probe_pgsql g;
	size_t used, sent = sizeof(first) - 1;

	(void)state;
	probe_pgsql_init(&g, ANY);
	(void)probe_pgsql_push(&g, head, sizeof(head), &used); /* not yet */
	(void)probe_pgsql_push(&g, (const uint8_t *)first, sent, &used); /* not yet */
	while (g.answer == MORE && sent++ < 0x1000)
		(void)probe_pgsql_push(&g, (const uint8_t *)"!", 1, &used); /* is asked below */
	assert_int_equal(g.answer, REFUSED);
	assert_int_equal(sent, 0x1000 - 4);
	assert_memory_equal(g.detail, "53300: sorry, too many clients already !!!", 42);
	assert_true(strlen(g.detail) < PROBE_DETAIL_MAX);
}

/* ---- what is sent ---- */

static void assert_startup(const struct config_check *c, const char *wanted, size_t len)
{
	uint8_t out[PROBE_PGSQL_ROOM];

	assert_int_equal(probe_pgsql_startup(c, out), len);
	assert_memory_equal(out, wanted, len);
}

static void startup_names_user_and_database(void **state)
{
	struct config_check c = {.kind = CONFIG_CHECK_PGSQL, .user = (char *)(uintptr_t)"joe"};

	(void)state;
	assert_startup(&c, TEXT("\0\0\0\72\0\3\0\0user\0joe\0database\0postgres\0"
				"application_name\0weir\0\0"));
	c.database = (char *)(uintptr_t)"d";
	assert_startup(&c, TEXT("\0\0\0\63\0\3\0\0user\0joe\0database\0d\0application_name\0weir\0\0"));
}

static void longest_names_have_room(void **state)
{
	char name[129];
	struct config_check c = {.user = name, .database = name};
	uint8_t out[PROBE_PGSQL_ROOM];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(probe_pgsql_startup(&c, out), 8 + 5 + 129 + 9 + 129 + 17 + 5 + 1);
}

static void query_has_its_length_and_terminate_follows_a_login_alone(void **state)
{
	struct probe_pgsql g;
	const uint8_t *query;
	size_t used, len = 0;

	(void)state;
	probe_pgsql_init(&g, PRIMARY);
	assert_null(probe_pgsql_farewell(&g, &len));
	assert_int_equal(probe_pgsql_push(&g, (const uint8_t *)LOGIN, sizeof(LOGIN) - 1, &used), ASK);
	query = probe_pgsql_query(&g, &len);
	assert_int_equal(g.answer, MORE);
	assert_int_equal(query[0], 'Q');
	assert_int_equal(query[1] | query[2] | query[3], 0);
	assert_int_equal(query[4], len - 1);
	assert_int_equal(strlen((const char *)query + 5), len - 6);
	assert_memory_equal(probe_pgsql_farewell(&g, &len), "X\0\0\0\4", 5);
	assert_int_equal(len, 5);
	probe_pgsql_init(&g, ANY);
	(void)probe_pgsql_push(&g, (const uint8_t *)MD5, sizeof(MD5) - 1, &used); /* asks for a password */
	assert_null(probe_pgsql_farewell(&g, &len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_judged_the_same_in_any_pieces),
		cmocka_unit_test(good_answers_are_needed_whole),
		cmocka_unit_test(no_byte_of_a_good_row_may_be_another),
		cmocka_unit_test(every_length_is_within_bounds),
		cmocka_unit_test(long_messages_are_skipped),
		cmocka_unit_test(errors_longer_than_is_kept_are_shown_cut),
		cmocka_unit_test(startup_names_user_and_database),
		cmocka_unit_test(longest_names_have_room),
		cmocka_unit_test(query_has_its_length_and_terminate_follows_a_login_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
