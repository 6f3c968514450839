/* SPDX-License-Identifier: MIT
 *
 * changes.tbl.h - the kinds of changes: CHANGE(name, function).
 */
CHANGE(add_server, objects_add_server)
CHANGE(change_server, objects_change_server)
CHANGE(remove_server, objects_remove_server)
CHANGE(command_server, objects_command_server)
CHANGE(run_time_add, objects_run_time_add)
CHANGE(run_time_delete, objects_run_time_delete)
CHANGE(run_time_move, objects_run_time_move)
CHANGE(change_backend, change_backend)
CHANGE(add_backend, add_backend)
CHANGE(remove_backend, remove_backend)
CHANGE(rotate, rotate)
CHANGE(add_frontend, objects_add_frontend)
CHANGE(change_frontend, objects_change_frontend)
CHANGE(remove_frontend, objects_remove_frontend)
CHANGE(add_endpoint, objects_add_endpoint)
CHANGE(leave_endpoint, objects_leave_endpoint)
CHANGE(stay_endpoint, objects_stay_endpoint)
CHANGE(take_over_endpoint, objects_take_over_endpoint)
CHANGE(change_engine, change_engine)
CHANGE(several, objects_several)
