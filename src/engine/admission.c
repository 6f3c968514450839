/* SPDX-License-Identifier: MIT
 *
 * admission.c - may this client come in, and to which backend does it go?
 *
 * A worker's thread; admission_init() and admission_free() are control's. Floor 4.
 */
#include "sluice/engine/admission.h"

#include "sluice/engine/engine.h"
#include "sluice/engine/session.h"

bool admission_admit(struct session *s)
{
	(void)s;
	return true;
}

void admission_leave(struct session *s)
{
	(void)s;
}

int admission_init(struct engine *e)
{
	(void)e;
	return 0;
}

void admission_free(struct engine *e)
{
	(void)e;
}
