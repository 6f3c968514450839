/* SPDX-License-Identifier: MIT
 *
 * changes.tbl.h - the kinds of changes: CHANGE(function of changes.c); one in two rows concerns servers.
 */
CHANGE(add_server)
CHANGE(change_server)
CHANGE(remove_server)
CHANGE(command_server)
CHANGE(change_backend)
CHANGE(add_backend)
CHANGE(remove_backend)
CHANGE(rotate)
CHANGE(add_frontend)
CHANGE(change_frontend)
CHANGE(remove_frontend)
CHANGE(add_endpoint)
CHANGE(leave_endpoint)
CHANGE(stay_endpoint)
CHANGE(change_engine)
