/* SPDX-License-Identifier: MIT
 *
 * foreign_verbs.tbl.h - words that people type in place of a verb, one row each: FOREIGN_VERB(word, what to
 * do instead). Commands of the admin socket are ADMIN_WORD(word): the message shows them after 'weir ctl',
 * with the rest of the line.
 */
FOREIGN_VERB("start", "'weir FILE' runs in the foreground; the service: systemctl start weir")
FOREIGN_VERB("stop", "'weir -s stop' ends a running weir at once; the service: systemctl stop weir")
FOREIGN_VERB("quit", "'weir -s quit' ends a running weir when its connections have ended")
FOREIGN_VERB("restart", "the service: systemctl restart weir")
FOREIGN_VERB("reopen", "'weir -s reopen' reopens the log files of a running weir")
FOREIGN_VERB("run", "'weir FILE' runs in the foreground")
FOREIGN_VERB("serve", "'weir FILE' runs in the foreground")
FOREIGN_VERB("test", "'weir check FILE' validates a configuration")
FOREIGN_VERB("configtest", "'weir check FILE' validates a configuration")
FOREIGN_VERB("validate", "'weir check FILE' validates a configuration")
FOREIGN_VERB("stats", "'weir status' prints one page, 'weir ctl show stat' the table")
FOREIGN_VERB("logs", "the service: journalctl -u weir")
FOREIGN_VERB("migrate", "'weir convert FILE' converts a configuration of HAProxy or nginx")
FOREIGN_VERB("import", "'weir convert FILE' converts a configuration of HAProxy or nginx")
FOREIGN_VERB("translate", "'weir convert FILE' converts a configuration of HAProxy or nginx")
ADMIN_WORD("show")
ADMIN_WORD("set")
ADMIN_WORD("get")
ADMIN_WORD("enable")
ADMIN_WORD("disable")
ADMIN_WORD("shutdown")
ADMIN_WORD("clear")
ADMIN_WORD("add")
ADMIN_WORD("del")
