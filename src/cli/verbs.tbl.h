/* SPDX-License-Identifier: MIT
 *
 * verbs.tbl.h - the verbs of the command line, one row each: word, bit, function.
 *
 * Included, with VERB defined, by each file that needs the verbs.
 */
VERB("check", CLI_CHECK, cli_run)
VERB("forward", CLI_FORWARD, cli_forward)
VERB("ctl", CLI_CTL, cli_ctl)
VERB("help", CLI_HELP, cli_help)
VERB("version", CLI_VERSION, cli_version)
VERB("demo", CLI_DEMO, cli_demo)
VERB("status", CLI_STATUS, cli_status)
VERB("top", CLI_TOP, cli_top)
VERB("doctor", CLI_DOCTOR, cli_doctor)
VERB("healthcheck", CLI_HEALTHCHECK, cli_healthcheck)
VERB("reload", CLI_RELOAD, cli_reload)
VERB("plan", CLI_PLAN, cli_plan)
VERB("confirm", CLI_CONFIRM, cli_confirm)
VERB("rollback", CLI_ROLLBACK, cli_rollback)
