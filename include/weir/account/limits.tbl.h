/* SPDX-License-Identifier: MIT
 *
 * limits.tbl.h - one row per answer to "who slowed this session down?": LIMIT(NAME, word).
 *
 * The word is the `limited_by` of a log line, which never changes; limited_by_WORD are rows of counters.tbl.h
 * and tallies.tbl.h.
 */
LIMIT(NONE, none)       /* nobody: there was nothing to send most of the time */
LIMIT(CLIENT, client)   /* the client, which read too slowly */
LIMIT(SERVER, server)   /* the server, which read too slowly */
LIMIT(NETWORK, network) /* the network: bytes were on their way, or lost */
LIMIT(US, us)           /* this proxy: the send buffer of a socket was too small */
