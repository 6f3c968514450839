/* SPDX-License-Identifier: MIT
 *
 * text_address.h - addresses of clients from text, for tests.
 */
#ifndef WEIR_TESTS_TEXT_ADDRESS_H
#define WEIR_TESTS_TEXT_ADDRESS_H

#include <arpa/inet.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/net/addr.h"

/* With a port, which must not matter. */
static inline struct addr_brief text_address(const char *text)
{
	struct addr_brief a = {.family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET, .port = 4711};

	check(inet_pton(a.family, text, a.ip) == 1);
	return a;
}

#endif
