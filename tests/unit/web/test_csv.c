/* SPDX-License-Identifier: MIT
 *
 * test_csv.c - HAProxy's table, its quotes, and tables that are cut off.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "web/csv.h"

static void fields_are_found_by_row_and_name(void **state)
{
	char text[] = "# pxname,svname,qcur,-,\nweb,a,1,-,\nweb,BACKEND,,-,\n";
	struct csv c;

	(void)state;
	assert_int_equal(csv_read(&c, text), 0);
	assert_int_equal(c.rows, 2);
	assert_string_equal(csv_field(&c, 0, csv_column(&c, "pxname")), "web");
	assert_string_equal(csv_field(&c, 0, csv_column(&c, "qcur")), "1");
	assert_string_equal(csv_field(&c, 1, csv_column(&c, "svname")), "BACKEND");
	assert_string_equal(csv_field(&c, 1, csv_column(&c, "qcur")), "");
	assert_int_equal(csv_column(&c, "scur"), CSV_NO_COLUMN);
	assert_string_equal(csv_field(&c, 1, CSV_NO_COLUMN), "");
	csv_free(&c);
}

static void quotes_protect_commas_newlines_and_themselves(void **state)
{
	char text[] = "# a,b,\n\"x,\"\"y\"\"\nz\",2,\n";
	struct csv c;

	(void)state;
	assert_int_equal(csv_read(&c, text), 0);
	assert_int_equal(c.rows, 1);
	assert_string_equal(csv_field(&c, 0, 0), "x,\"y\"\nz");
	assert_string_equal(csv_field(&c, 0, 1), "2");
	csv_free(&c);
}

static void a_table_that_is_cut_off_is_refused(void **state)
{
	char cut[] = "# a,b,c,\n1,2,3,\n1", quote[] = "# a,b,\n\"1,2,\n", empty[] = "";
	struct csv c;

	(void)state;
	assert_int_equal(csv_read(&c, cut), -EINVAL);
	assert_null(c.fields);
	assert_int_equal(csv_read(&c, quote), -EINVAL);
	assert_int_equal(csv_read(&c, empty), 0);
	assert_int_equal(c.rows, 0);
	csv_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_found_by_row_and_name),
		cmocka_unit_test(quotes_protect_commas_newlines_and_themselves),
		cmocka_unit_test(a_table_that_is_cut_off_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
