/* SPDX-License-Identifier: MIT
 *
 * help_verbs.c - `weir help VERB` and `weir VERB -h`: one page a verb.
 *
 * Main thread.
 */
#include <stdio.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/cli/cli.h"

static const struct page {
	unsigned verb; /* enum cli_verb */
	const char *text;
} pages[] = {
	{CLI_CHECK,
	 "weir check [--format=text|json] [--probe] [-q] [-f FILE|DIR]... [FILE]\n"
	 "weir -c | -t [FILE]            the same; -T prints the configuration that is in force\n"
	 "\n"
	 "Reads the configuration and shows every error in it, or one line when there is none.\n"
	 "  --probe         then also tries to bind, to resolve names and to connect to each server, 2 s\n"
	 "                  at most each; binds and closes again, and never touches a socket's path\n"
	 "  --json          the same as --format=json; with --probe also the table is JSON\n"
	 "exit: 0 fine   1 invalid   3 something that was probed failed\n"},
	{CLI_FORWARD,
	 "weir forward LISTEN SERVER...\n"
	 "\n"
	 "Forwards without a file:\n"
	 "  weir forward :8080 10.0.0.1:80 unix:/run/app.sock\n"
	 "  --print-config  shows the file that this would be, and does nothing else\n"
	 "  -c              checks only      -D, -p PIDFILE, -o as for a run\n"},
	{CLI_CTL,
	 "weir ctl [-s SOCKET | -f FILE] [--json] COMMAND...\n"
	 "\n"
	 "Sends one command to the admin socket of a running weir and prints the answer:\n"
	 "  weir ctl show info             weir ctl --json show stat         weir ctl help\n"
	 "  weir ctl set server web/a state drain\n"
	 "The socket is -s, else that of the configuration (-f, else " CLI_DEFAULT_FILE ").\n"
	 "exit: 0 answered   1 refused   3 nobody answers\n"},
	{CLI_STATUS, "weir status [-s SOCKET | -f FILE] [--json]\n"
		     "\n"
		     "One page about a running weir: its state, its frontends, its servers; what is down\n"
		     "comes first, and when no server of a backend is up the top says so.\n"
		     "exit: 0 answered   3 nobody answers\n"},
	{CLI_TOP, "weir top [-s SOCKET | -f FILE] [--once] [--json]\n"
		  "\n"
		  "The page of status with rates, again each second. What is down comes first.\n"
		  "  q               quits             s   sorts by the next column\n"
		  "  arrows, PgUp, PgDn, Home, End     scroll (as do k, j, g and G)\n"
		  "  --once          one page that a second was measured for; so it is without a terminal\n"},
	{CLI_HEALTHCHECK,
	 "weir healthcheck [-s SOCKET | -f FILE] [--ready]\n"
	 "\n"
	 "Does a weir answer at its admin socket, within 2 s? Says nothing when it does.\n"
	 "  --ready         and it is ready: not starting, not ending\n"
	 "exit: 0 yes   3 no\n"},
	{CLI_DOCTOR, "weir doctor [--json] [-f FILE]\n"
		     "\n"
		     "What this machine gives beside what the file asks for, and what to type for each\n"
		     "limit that is too small. Needs no running weir and changes nothing.\n"
		     "exit: 0 all is well, or hints only   3 something will bite\n"},
	{CLI_DEMO, "weir demo [--seconds N] [--json]\n"
		   "\n"
		   "Shows weir at work: servers, clients and a failure of its own making.\n"
		   "exit: 0 no client saw an error\n"},
	{CLI_HELP, "weir help [KEY | SECTION | VERB]\n"
		   "\n"
		   "The command line; or what a key of the configuration does, or a verb; or the keys\n"
		   "of a section: weir help listen\n"},
	{CLI_VERSION, "weir version | -v | -V\n"
		      "weir -vv\n"
		      "\n"
		      "The version; -vv also how it was built, and what the kernel has.\n"},
};

bool cli_help_verb(unsigned verb)
{
	for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
		if (pages[i].verb != verb)
			continue;
		fputs(pages[i].text, stdout);
		return true;
	}
	return false;
}
