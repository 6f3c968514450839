/* SPDX-License-Identifier: MIT
 *
 * foreign_checks.tbl.h - rows of foreign.tbl.h: HAProxy's health checks, most in a server's own protocol.
 */
FOREIGN("option mysql-check", "write 'check = mysql'")
FOREIGN("option mysql-check user", "write 'check = mysql user=...'")
FOREIGN("option smtpchk", "write 'check = smtp'")
FOREIGN("option smtpchk EHLO", "write 'check = smtp EHLO ...'")
FOREIGN("option smtpchk HELO", "write 'check = smtp HELO ...'")
FOREIGN("option ldap-check", "write 'check = ldap'")
FOREIGN("http-check disable-on-404", "write 'check = http GET / soft-stop=404'")
FOREIGN("option redis-check", "write 'check = redis'")
FOREIGN("option pgsql-check", "write 'check = pgsql user=NAME'")
FOREIGN("option pgsql-check user", "write 'check = pgsql user=...'")
FOREIGN("option external-check", "write 'check = exec PROGRAM', and 'exec-checks = 4' in [global]")
FOREIGN("external-check", "write 'exec-checks = 4' in [global]: how many programs may run at once")
FOREIGN("external-check command", "write 'check = exec ...', and 'exec-checks = 4' in [global]")
FOREIGN("external-check path", "write 'check = exec PROGRAM path=...'")
