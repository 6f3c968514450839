/* SPDX-License-Identifier: MIT
 *
 * flow_states.tbl.h - one row for each state of a flow: STATE(NAME, word).
 *
 * The word is that of `show sess`, and never changes.
 */
STATE(IDLE, "idle")     /* the session is not connected yet */
STATE(OPEN, "open")     /* reads its source */
STATE(ENDED, "ended")   /* the source sent FIN and all before it is written: FIN is passed on */
STATE(BROKEN, "broken") /* the source was reset and all before it is written: the session resets */
STATE(DONE, "done")     /* FIN was passed on */
STATE(DEAD, "dead")     /* the destination is gone, or the session closes: nothing moves any more */
