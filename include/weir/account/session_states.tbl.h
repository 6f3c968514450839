/* SPDX-License-Identifier: MIT
 *
 * session_states.tbl.h - one row per state of a session: STATE(NAME, word, letter).
 *
 * `show sess` prints the word, which never changes. The letter is HAProxy's for a session that ends in this
 * state: 'Q' in a queue, 'C' not connected yet, 'D' data. session.c defines which state may follow which.
 */
STATE(FREE, "free", 'C')
STATE(ACCEPTED, "accepted", 'C')
STATE(HANDSHAKE, "handshake", 'C')   /* the client's PROXY header is on its way */
STATE(HELD, "held", 'C')             /* waits for another session of its source to end */
STATE(SNIFFING, "sniffing", 'C')     /* the client's TLS hello or RDP request is on its way */
STATE(QUEUED, "queued", 'Q')         /* waits for a place at a server */
STATE(RESOLVING, "resolving", 'C')   /* the name that its client asks for is being looked up */
STATE(CONNECTING, "connecting", 'C')
STATE(WAITING, "waiting", 'C')       /* between two tries */
STATE(FORWARDING, "forwarding", 'D')
STATE(CLOSING, "closing", 'C')
