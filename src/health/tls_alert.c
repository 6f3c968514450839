/* SPDX-License-Identifier: MIT
 *
 * tls_alert.c - what a TLS alert says, in words. Any thread.
 */
#include "tls_alert.h"

#include <stddef.h>
#include <stdio.h>

#include "weir/base/check.h"

static const struct {
	unsigned number;
	const char *words;
} alerts[] = {
#define TLS_ALERT(number, words) {number, words},
#include "tls_alerts.tbl.h"
#undef TLS_ALERT
};

const char *tls_alert_words(unsigned number, char buf[TLS_ALERT_MAX])
{
	for (size_t i = 0; i < ARRAY_LEN(alerts); i++) {
		if (alerts[i].number != number)
			continue;
		(void)snprintf(buf, TLS_ALERT_MAX, "TLS alert: %s", alerts[i].words); /* it fits */
		return buf;
	}
	(void)snprintf(buf, TLS_ALERT_MAX, "TLS alert %u", number); /* likewise */
	return buf;
}
