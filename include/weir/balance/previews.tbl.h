/* SPDX-License-Identifier: MIT
 *
 * previews.tbl.h - one row per way in which a server fares when a client is to be sent to a backend:
 * PREVIEW(NAME, word, text).
 *
 * The word is an interface: scripts read it. The text is for people, and follows the name of the server.
 */
PREVIEW(TAKEN, "taken", "takes the client")
PREVIEW(AWAITED, "awaited", "the client waits in its queue")
PREVIEW(CANDIDATE, "candidate", "may take the client")
PREVIEW(BUSIER, "busier", "another one has less load for its weight")
PREVIEW(LATER, "later", "another one comes first")
PREVIEW(BEHIND, "behind", "clients that are already queued go first")
PREVIEW(FULL, "full", "its maxconn is reached")
PREVIEW(QUEUED, "queued", "clients are already waiting for it")
PREVIEW(OVER_BOUND, "over_bound", "it has more sessions than hash-balance-factor allows")
PREVIEW(BACKUP, "backup", "it is a backup, and is not needed now")
PREVIEW(NO_WEIGHT, "no_weight", "its weight is 0")
PREVIEW(DRAIN, "drain", "it is being drained")
PREVIEW(MAINT, "maint", "it is in maintenance")
PREVIEW(UNRESOLVED, "unresolved", "its name has no address yet")
PREVIEW(DOWN, "down", "it is down")
PREVIEW(NOT_YET, "not_yet", "it is about to be used")
