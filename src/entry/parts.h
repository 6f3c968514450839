/* SPDX-License-Identifier: MIT
 *
 * parts.h - what the sources of this room need of each other. Control thread.
 */
#ifndef WEIR_ENTRY_PARTS_H
#define WEIR_ENTRY_PARTS_H

#include "weir/entry/entries.h"

/* Puts `ep` into its frontend, in front of `before`, and lets workers find it. */
void entries_publish(struct entries *e, struct endpoint *ep, struct list *before);
/* Workers do not find it any more. */
void entries_withdraw(struct entries *e, struct endpoint *ep);
/* What no worker can find any more: frees it when nobody uses it. */
void endpoint_settings_retire(struct endpoint_settings *s);

#endif
