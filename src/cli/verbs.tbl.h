/* SPDX-License-Identifier: MIT
 *
 * verbs.tbl.h - the verbs of the command line, one row each: VERB(word, bit, function, help).
 *
 * Included, with VERB defined, by each file that needs the verbs. The help is what a shell shows beside the
 * word when it completes it.
 */
VERB("check", CLI_CHECK, cli_run, "validate a configuration")
VERB("forward", CLI_FORWARD, cli_forward, "forward without a configuration file")
VERB("ctl", CLI_CTL, cli_ctl, "send a command to a running weir")
VERB("help", CLI_HELP, cli_help, "explain a key, a section or a verb")
VERB("version", CLI_VERSION, cli_version, "print the version")
VERB("demo", CLI_DEMO, cli_demo, "see weir at work on loopback")
VERB("status", CLI_STATUS, cli_status, "show one page about a running weir")
VERB("top", CLI_TOP, cli_top, "the same with rates, refreshed each second")
VERB("doctor", CLI_DOCTOR, cli_doctor, "compare this machine with what the file asks for")
VERB("healthcheck", CLI_HEALTHCHECK, cli_healthcheck, "test whether a running weir answers")
VERB("reload", CLI_RELOAD, cli_reload, "make a running weir use its changed configuration")
VERB("plan", CLI_PLAN, cli_plan, "print what a reload would change")
VERB("confirm", CLI_CONFIRM, cli_confirm, "keep the configuration that is on trial")
VERB("rollback", CLI_ROLLBACK, cli_rollback, "go back to an earlier configuration")
VERB("convert", CLI_CONVERT, cli_convert, "convert a HAProxy or nginx configuration")
VERB("complete", CLI_COMPLETE, cli_complete, "print what may come next on a command line, for shells")
