/* SPDX-License-Identifier: MIT
 *
 * blames.tbl.h - one row per party that can end a session, or be the cause of its end: BLAME(NAME, limit,
 * words, help).
 *
 * `limit` is the row of limits.tbl.h for sessions that the same party slowed down, UNKNOWN if there is none.
 */
BLAME(NOBODY, UNKNOWN, "Ended normally", "both sides closed")
BLAME(CLIENT, CLIENT, "Client", "it left, reset the connection, was idle too long, or sent a bad header")
BLAME(SERVER, SERVER, "Server", "it refused, reset the connection, was idle too long, or none was usable")
BLAME(NETWORK, NETWORK, "Network", "nothing came back any more: a host, or the path to it, is down")
BLAME(RULES, UNKNOWN, "Our limits and rules", "a limit, a timeout or an access rule of the configuration")
BLAME(SHORTAGE, US, "Our resources", "this machine was short of descriptors, ports or memory, or weir failed")
BLAME(OPERATOR, UNKNOWN, "Our operator", "ended by the administrator, by a reload or by a stop")
