/* SPDX-License-Identifier: MIT
 *
 * foreign_verbs.tbl.h - words that people type where a verb stands, one row each:
 * FOREIGN_VERB(word, what to do instead). Words of the admin socket are ADMIN_WORD(word): they are shown
 * behind 'weir ctl', with what follows them.
 */
FOREIGN_VERB("start", "'weir FILE' runs in the foreground; the service: systemctl start weir")
FOREIGN_VERB("stop", "'weir -s stop' ends a running weir at once; the service: systemctl stop weir")
FOREIGN_VERB("quit", "'weir -s quit' ends a running weir when its connections have ended")
FOREIGN_VERB("restart", "the service: systemctl restart weir")
FOREIGN_VERB("reopen", "'weir -s reopen' opens the log files of a running weir again")
FOREIGN_VERB("run", "'weir FILE' runs in the foreground")
FOREIGN_VERB("serve", "'weir FILE' runs in the foreground")
FOREIGN_VERB("test", "'weir check FILE' judges a configuration")
FOREIGN_VERB("configtest", "'weir check FILE' judges a configuration")
FOREIGN_VERB("validate", "'weir check FILE' judges a configuration")
FOREIGN_VERB("stats", "'weir status' is one page, 'weir ctl show stat' the table")
FOREIGN_VERB("logs", "of the service: journalctl -u weir")
ADMIN_WORD("show")
ADMIN_WORD("set")
ADMIN_WORD("get")
ADMIN_WORD("enable")
ADMIN_WORD("disable")
ADMIN_WORD("shutdown")
ADMIN_WORD("clear")
ADMIN_WORD("add")
ADMIN_WORD("del")
