/* SPDX-License-Identifier: MIT
 *
 * failure_phases.tbl.h - one row per phase in which something fails: PHASE(NAME, word).
 *
 * `show errors` prints the word, which never changes.
 */
PHASE(ADMISSION, "admission") /* the client was not let in */
PHASE(HANDSHAKE, "handshake") /* its PROXY header, its TLS hello or its RDP request */
PHASE(CHOICE, "choice")       /* no server could be chosen */
PHASE(QUEUE, "queue")         /* while it waited for a place */
PHASE(CONNECT, "connect")     /* one try to connect to a server */
PHASE(CLIENT, "client")       /* the established connection with the client */
PHASE(SERVER, "server")       /* the established connection with the server */
PHASE(SESSION, "session")     /* an established session, on neither side in particular */
