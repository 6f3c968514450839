/* SPDX-License-Identifier: MIT
 *
 * flow_states.tbl.h - one row per state of a flow: STATE(NAME, word).
 *
 * `show sess` prints the word, which never changes.
 */
STATE(IDLE, "idle")     /* the session is not connected yet */
STATE(OPEN, "open")     /* reads its source */
STATE(ENDED, "ended")   /* the source sent FIN and everything before it is written: FIN is passed on */
STATE(BROKEN, "broken") /* the source was reset and everything before is written: the session resets */
STATE(DONE, "done")     /* FIN was passed on */
STATE(DEAD, "dead")     /* the destination is gone, or the session closes: nothing moves any more */
