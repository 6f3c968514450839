/* SPDX-License-Identifier: MIT
 *
 * state_columns.tbl.h - one row per column of `show servers state`: COLUMN(name, nothing), in the order of
 * HAProxy's version 1, which is frozen.
 *
 * `nothing` is the value of a column that is not filled in: NULL = 0, else a text.
 */
COLUMN(be_id, NULL)
COLUMN(be_name, "-")
COLUMN(srv_id, NULL)
COLUMN(srv_name, "-")
COLUMN(srv_addr, "-")
COLUMN(srv_op_state, NULL)
COLUMN(srv_admin_state, NULL)
COLUMN(srv_uweight, NULL)
COLUMN(srv_iweight, NULL)
COLUMN(srv_time_since_last_change, NULL)
COLUMN(srv_check_status, NULL)
COLUMN(srv_check_result, NULL)
COLUMN(srv_check_health, NULL)
COLUMN(srv_check_state, NULL)
COLUMN(srv_agent_state, NULL)
COLUMN(bk_f_forced_id, NULL)
COLUMN(srv_f_forced_id, NULL)
COLUMN(srv_fqdn, "-")
COLUMN(srv_port, NULL)
COLUMN(srvrecord, "-")
COLUMN(srv_use_ssl, NULL)
COLUMN(srv_check_port, NULL)
COLUMN(srv_check_addr, "-")
COLUMN(srv_agent_addr, "-")
COLUMN(srv_agent_port, NULL)
