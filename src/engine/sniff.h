/* SPDX-License-Identifier: MIT
 *
 * sniff.h - the client's TLS hello or RDP request, which says where it wants to go. A worker's thread.
 */
#ifndef WEIR_ENGINE_SNIFF_H
#define WEIR_ENGINE_SNIFF_H

struct session;

/* The client was let in, and its frontend sniffs: reads the hello, if that is what it sends. Then the session
 * has its backend, and goes on with connect_begin(). It may be in any later state afterwards. */
void sniff_begin(struct session *s);
/* The client has had its time. */
void sniff_late(struct session *s);

#endif
