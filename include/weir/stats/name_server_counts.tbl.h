/* SPDX-License-Identifier: MIT
 *
 * name_server_counts.tbl.h - what is counted per name server, in the order and with the words of HAProxy's
 * `show resolvers`: NAME_SERVER_COUNT(member, word, help).
 */
NAME_SERVER_COUNT(sent, "sent", "queries sent")
NAME_SERVER_COUNT(snd_error, "snd_error", "queries that could not be sent")
NAME_SERVER_COUNT(valid, "valid", "usable answers")
NAME_SERVER_COUNT(update, "update", "answers that changed the addresses of a name")
NAME_SERVER_COUNT(cname, "cname", "usable answers by way of a CNAME record")
NAME_SERVER_COUNT(cname_error, "cname_error", "CNAME records that lead nowhere")
NAME_SERVER_COUNT(any_err, "any_err", "answers without a record of the type asked for")
NAME_SERVER_COUNT(nx, "nx", "answers that the name does not exist (NXDOMAIN)")
NAME_SERVER_COUNT(timeout, "timeout", "queries without an answer in time")
NAME_SERVER_COUNT(refused, "refused", "queries that were refused (REFUSED)")
NAME_SERVER_COUNT(other, "other", "other failures of the name server (as SERVFAIL)")
NAME_SERVER_COUNT(invalid, "invalid", "answers that could not be understood")
NAME_SERVER_COUNT(too_big, "too_big", "answers longer than a query may have")
NAME_SERVER_COUNT(truncated, "truncated", "answers that were truncated and asked for again over TCP")
NAME_SERVER_COUNT(outdated, "outdated", "answers that came when nobody wanted them any more")
