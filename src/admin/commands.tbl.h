/* SPDX-License-Identifier: MIT
 *
 * commands.tbl.h - one row per command of the admin protocol:
 * COMMAND(words, more, help, whose, verdict, level, run, json, min_args, max_args).
 *
 * words     begin the command. The longest ones that match count. A command with several forms has a row for
 *           each, one after the other.
 * more      its arguments, for people
 * help      what it does, for people
 * whose     HAPROXY has it too, or it is of WEIR alone. To a client that speaks HAProxy's words, the number
 *           of arguments of HAProxy's commands is not checked: those missing are "", and more are ignored.
 * verdict   enum admin_verdict, without ADMIN_
 * level     enum config_admin_level, without CONFIG_ADMIN_
 * run       a function of admin_answers.h: it answers if the verdict is ANSWERED, else it reads the
 *           arguments of the question; or NULL
 * json      what a last word "json" does: NEVER nothing; OF_LINES turns the lines into an object; OWN leaves
 *           it to the function
 * min_args, max_args   the number of arguments, without "json"; at most ADMIN_ARGS_MAX
 */
COMMAND("show info", "[typed|json]", "the daemon, its counters, frontends, servers and listeners",
	HAPROXY, ANSWERED, USER, admin_show_info, OWN, 0, 1)
COMMAND("show stat", "[PROXY TYPE SID] [typed|json]", "HAProxy's CSV: frontends, servers, backends",
	HAPROXY, ASK_TALLIES, USER, admin_ask_stat, OWN, 0, 6)
COMMAND("show sess", "[ID|all|help] [older AGE] [json]", "one line per session; ID or all: in detail",
	HAPROXY, ASK_SESSIONS, OPERATOR, admin_ask_sess, OWN, 0, 3)
COMMAND("show activity", "[-1|0|WORKER]", "what each worker has counted: all, the sums, or one worker",
	HAPROXY, ANSWERED, OPERATOR, admin_show_activity, NEVER, 0, 1)
COMMAND("show fd", "[FD]", "the sockets of listeners and sessions",
	HAPROXY, ASK_SESSIONS, OPERATOR, admin_ask_fd, NEVER, 0, 1)
COMMAND("show pools", "[json]", "pipes and buffers",
	HAPROXY, ANSWERED, OPERATOR, admin_show_pools, OF_LINES, 0, 0)
COMMAND("show backend", "[json]", "the names of all backends",
	HAPROXY, ANSWERED, USER, admin_show_backend, OWN, 0, 0)
COMMAND("show servers state", "[BACKEND] [json]", "each server's state, in HAProxy's version 1",
	HAPROXY, ANSWERED, OPERATOR, admin_show_servers_state, OWN, 0, 1)
COMMAND("show servers history", "[BACKEND[/SERVER]] [json]", "the last changes of each server and why",
	WEIR, ANSWERED, OPERATOR, admin_show_history, OWN, 0, 1)
COMMAND("show errors", "[PROXY] [json]", "the last failures, with both addresses, phase and errno",
	HAPROXY, ANSWERED, OPERATOR, admin_show_errors, OWN, 0, 1)
COMMAND("show resolvers", "[default] [json]", "the name servers, and what they answered",
	HAPROXY, ANSWERED, OPERATOR, admin_show_resolvers, OWN, 0, 1)
COMMAND("explain",
	"listener=FRONTEND client=IP [dst=IP] [port=N] [sni=NAME] [alpn=PROTOCOL] [proto=PROTO] [json]",
	"what would happen to a client: rules, backend, and each server with the reason",
	WEIR, ANSWERED, OPERATOR, admin_explain, OWN, 2, 7)
COMMAND("why", "BACKEND[/SERVER] [json]", "why it is as it is: state, last changes and failures",
	WEIR, ANSWERED, OPERATOR, admin_why, OWN, 1, 1)
COMMAND("show version", "", "the version", HAPROXY, ANSWERED, USER, admin_show_version, NEVER, 0, 0)
COMMAND("show hash", "[BACKEND] [json]", "algorithm and checksum; equal checksums, equal choices",
	WEIR, ANSWERED, OPERATOR, admin_show_hash, OWN, 0, 1)
COMMAND("show table", "[BACKEND [key ADDRESS]] [json]", "the tables of 'sticky', or the clients in one",
	HAPROXY, ANSWERED, OPERATOR, admin_show_table, OWN, 0, 3)
COMMAND("clear table", "BACKEND [key ADDRESS]", "forget which server its clients have, or one of them",
	HAPROXY, ANSWERED, ADMIN, admin_clear_table, NEVER, 1, 3)
COMMAND("config diff", "[json]", "what differs from the configuration, by whom and since when",
	WEIR, ANSWERED, OPERATOR, admin_config_diff, OWN, 0, 0)
COMMAND("get weight", "BACKEND/SERVER", "its current and its configured weight",
	HAPROXY, ANSWERED, USER, admin_get_weight, NEVER, 1, 1)
COMMAND("set server", "BACKEND/SERVER state ready|drain|maint", "take all, no new, or no connections",
	HAPROXY, ANSWERED, ADMIN, admin_set_server, NEVER, 3, 3)
COMMAND("set server", "BACKEND/SERVER weight N|N%", "set its share, 0 to 256 or percent",
	HAPROXY, ANSWERED, ADMIN, admin_set_server, NEVER, 3, 3)
COMMAND("set server", "BACKEND/SERVER addr IP [port PORT]", "use another address until it is set back",
	HAPROXY, ANSWERED, ADMIN, admin_set_server, NEVER, 3, 5)
COMMAND("set server", "BACKEND/SERVER check-addr IP [port PORT]", "check another address",
	HAPROXY, ANSWERED, ADMIN, admin_set_server, NEVER, 3, 5)
COMMAND("set server", "BACKEND/SERVER check-port PORT", "check another port",
	HAPROXY, ANSWERED, ADMIN, admin_set_server, NEVER, 3, 3)
COMMAND("set server", "BACKEND/SERVER health up|stopping|down", "set what health checks would find",
	HAPROXY, ANSWERED, ADMIN, admin_set_server, NEVER, 3, 3)
COMMAND("set server", "BACKEND/SERVER agent up|down", "as if its agent had said so",
	HAPROXY, ANSWERED, ADMIN, admin_set_server, NEVER, 3, 3)
COMMAND("set weight", "BACKEND/SERVER N|N%", "the same",
	HAPROXY, ANSWERED, ADMIN, admin_set_weight, NEVER, 2, 2)
COMMAND("set maxconn server", "BACKEND/SERVER N", "set its maxconn, 0 for no limit",
	HAPROXY, ANSWERED, ADMIN, admin_set_maxconn, NEVER, 2, 2)
COMMAND("set maxconn frontend", "FRONTEND N", "set its maxconn; 0 lets nobody in",
	HAPROXY, ANSWERED, ADMIN, admin_set_maxconn_frontend, NEVER, 2, 2)
COMMAND("set maxconn global", "N", "set maxconn of the process, 0 for that of the file",
	HAPROXY, ANSWERED, ADMIN, admin_set_maxconn_global, NEVER, 1, 1)
COMMAND("set rate-limit", "connections global N", "set the clients per second, 0 for no limit",
	HAPROXY, ANSWERED, ADMIN, admin_set_rate_limit, NEVER, 3, 3)
COMMAND("enable server", "BACKEND/SERVER", "end maintenance or drain",
	HAPROXY, ANSWERED, ADMIN, admin_enable_server, NEVER, 1, 1)
COMMAND("disable server", "BACKEND/SERVER", "begin maintenance",
	HAPROXY, ANSWERED, ADMIN, admin_disable_server, NEVER, 1, 1)
COMMAND("add server", "BACKEND/SERVER ADDRESS:PORT [WORD...]", "add one, in maintenance, in HAProxy's words",
	HAPROXY, ANSWERED, ADMIN, admin_add_server, NEVER, 2, ADMIN_ARGS_MAX)
COMMAND("del server", "BACKEND/SERVER", "delete one that is in maintenance and has no sessions",
	HAPROXY, ANSWERED, ADMIN, admin_del_server, NEVER, 1, 1)
COMMAND("enable health", "BACKEND/SERVER", "resume its health checks",
	HAPROXY, ANSWERED, ADMIN, admin_enable_health, NEVER, 1, 1)
COMMAND("disable health", "BACKEND/SERVER", "suspend its health checks",
	HAPROXY, ANSWERED, ADMIN, admin_disable_health, NEVER, 1, 1)
COMMAND("enable agent", "BACKEND/SERVER", "ask its agent again, whose answers count from now on",
	HAPROXY, ANSWERED, ADMIN, admin_enable_agent, NEVER, 1, 1)
COMMAND("disable agent", "BACKEND/SERVER", "ask its agent no more; nothing that it said counts",
	HAPROXY, ANSWERED, ADMIN, admin_disable_agent, NEVER, 1, 1)
COMMAND("wait", "DURATION [srv-removable BACKEND/SERVER]", "wait, at most until a server can be deleted",
	HAPROXY, WAIT, ADMIN, NULL, NEVER, 1, 3)
COMMAND("enable frontend", "FRONTEND", "listen again after 'disable frontend'",
	HAPROXY, ANSWERED, ADMIN, admin_enable_frontend, NEVER, 1, 1)
COMMAND("disable frontend", "FRONTEND", "leave its addresses until it is enabled",
	HAPROXY, ANSWERED, ADMIN, admin_disable_frontend, NEVER, 1, 1)
COMMAND("shutdown frontend", "FRONTEND", "leave its addresses until its section changes",
	HAPROXY, ANSWERED, ADMIN, admin_shutdown_frontend, NEVER, 1, 1)
COMMAND("shutdown sessions server", "BACKEND/SERVER", "close its sessions",
	HAPROXY, ANSWERED, ADMIN, admin_shutdown_sessions, NEVER, 1, 1)
COMMAND("shutdown session", "ID", "close one session; its id is in 'show sess' and in log lines",
	HAPROXY, ASK_SESSIONS, ADMIN, admin_shutdown_session, NEVER, 1, 1)
COMMAND("clear counters", "[all]",
	"begin anew what HAProxy's tools are shown: maxima, or everything; 'weir ctl' and metrics never fall",
	HAPROXY, ASK_TALLIES, ADMIN, admin_ask_clear, NEVER, 0, 1)
COMMAND("plan", "[FILE] [json]", "what a reload would change; FILE: with this file instead",
	WEIR, PLAN, OPERATOR, NULL, OWN, 0, 1)
COMMAND("show generations", "[json]", "what was in effect: when, by whom, what changed",
	WEIR, ANSWERED, OPERATOR, admin_show_generations, OWN, 0, 0)
COMMAND("reload", "[wait] [confirm=TIME [hold]]",
	"read the configuration again; wait: until what left is gone; confirm: on trial",
	WEIR, RELOAD, ADMIN, NULL, NEVER, 0, 3)
COMMAND("confirm", "[file]", "keep what is on trial; file: reload, and keep a text that was not kept",
	WEIR, CONFIRM, ADMIN, NULL, NEVER, 0, 1)
COMMAND("rollback", "[GENERATION]", "go back to the generation before, or to another whose text is kept",
	WEIR, ROLLBACK, ADMIN, NULL, NEVER, 0, 1)
COMMAND("set timeout", "cli TIME", "set how long a connection with a prompt may be idle",
	HAPROXY, TIMEOUT, USER, NULL, NEVER, 2, 2)
COMMAND("set severity-output", "none|number|string", "begin messages to HAProxy's tools with their kind",
	HAPROXY, SEVERITY, USER, NULL, NEVER, 1, 1)
COMMAND("help", "[COMMAND]", "this list, or the forms of a command",
	HAPROXY, ANSWERED, USER, admin_show_help, NEVER, 0, ADMIN_ARGS_MAX)
COMMAND("prompt", "", "keep the connection open, or no longer; \"> \" follows each answer",
	HAPROXY, PROMPT, USER, NULL, NEVER, 0, 0)
COMMAND("quit", "", "close a connection with a prompt", HAPROXY, QUIT, USER, NULL, NEVER, 0, 0)
