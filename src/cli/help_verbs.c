/* SPDX-License-Identifier: MIT
 *
 * help_verbs.c - `weir help VERB` and `weir VERB -h`: one page per verb.
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
	 "weir -c | -t [FILE]            the same; -T prints the effective configuration\n"
	 "\n"
	 "Reads the configuration and prints every error in it, or one line if there are none.\n"
	 "  --probe         then also tries to bind, to resolve names and to connect to each server, for\n"
	 "                  at most 2 s each; closes what it binds, and never touches a socket's path;\n"
	 "                  runs no program of 'check = exec'\n"
	 "  --json          the same as --format=json; with --probe the table is JSON too\n"
	 "exit: 0 success   1 invalid   3 a test of --probe failed\n"},
	{CLI_FORWARD,
	 "weir forward LISTEN SERVER...\n"
	 "\n"
	 "Forwards without a configuration file:\n"
	 "  weir forward :8080 10.0.0.1:80 unix:/run/app.sock\n"
	 "  --print-config  prints the equivalent file, and does nothing else\n"
	 "  -c              validates only   -D, -p PIDFILE, -o as for a run\n"},
	{CLI_CTL,
	 "weir ctl [-s SOCKET | -f FILE] [--json] COMMAND...\n"
	 "\n"
	 "Sends one command to the admin socket of a running weir and prints the answer:\n"
	 "  weir ctl show info             weir ctl --json show stat         weir ctl help\n"
	 "  weir ctl set server web/a state drain\n"
	 "The socket is given by -s, else by the configuration (-f, else " CLI_DEFAULT_FILE ").\n"
	 "exit: 0 answered   1 refused   3 no answer\n"},
	{CLI_STATUS, "weir status [-s SOCKET | -f FILE] [--json]\n"
		     "\n"
		     "Prints one page about a running weir: its state, its frontends, its servers.\n"
		     "Whatever is down comes first, and the head names backends with no server that is up.\n"
		     "exit: 0 answered   3 no answer\n"},
	{CLI_TOP, "weir top [-s SOCKET | -f FILE] [--once] [--json]\n"
		  "\n"
		  "Shows the page of 'weir status' with rates, refreshed each second, and three more:\n"
		  "servers with the bytes per second of the last two minutes, one server with its trends\n"
		  "and changes, and sessions. Whatever is down comes first.\n"
		  "  v, Tab          shows the next page     s   sorts by the next column\n"
		  "  Enter           shows the server at the top of the list: n and p the next and the\n"
		  "                  previous one, Esc the list again\n"
		  "  /               shows only rows that contain a text: Enter keeps it, Esc removes it\n"
		  "  arrows, PgUp, PgDn, Home, End           scroll (as do k, j, g and G)\n"
		  "  q               quits\n"
		  "  --once          measures for a second and prints one page; the default without\n"
		  "                  a terminal\n"},
	{CLI_HEALTHCHECK,
	 "weir healthcheck [-s SOCKET | -f FILE] [--ready]\n"
	 "\n"
	 "Tests whether a weir answers at its admin socket within 2 s. Silent if it does.\n"
	 "  --ready         also requires that it is ready: neither starting nor stopping\n"
	 "exit: 0 yes   3 no\n"},
	{CLI_RELOAD,
	 "weir reload [--wait] [--confirm TIME [--hold]] [-q]\n"
	 "            [--pid PID | -p PIDFILE | -s SOCKET | -f FILE]\n"
	 "\n"
	 "Makes a running weir read its configuration again and use it, without a restart: open\n"
	 "connections continue. If the configuration has an error, weir changes nothing, and the\n"
	 "errors are printed.\n"
	 "  --wait          also waits up to 30 s until what the change removed is no longer in use\n"
	 "  --confirm TIME  on trial for this long, such as 60s: without a 'weir confirm' in time, weir\n"
	 "                  returns to the configuration before, and a restart starts from that\n"
	 "  --hold          stays until the trial ends; if this command ends first, weir returns at once\n"
	 "  -q              prints nothing unless weir does not reload\n"
	 "The weir is given by its process or by its admin socket; else it is the one with a control\n"
	 "socket in /run/weir, else the one of " CLI_DEFAULT_FILE ".\n"
	 "exit: 0 reloaded (with --hold: and confirmed)   1 not reloaded   3 no answer\n"},
	{CLI_PLAN,
	 "weir plan [FILE] [--json] [-q] [--pid PID | -p PIDFILE | -s SOCKET | -f FILE]\n"
	 "\n"
	 "Prints what a reload of a running weir would change, and changes nothing: what would be\n"
	 "added (+), removed (-), changed (~) or moved to another frontend (>), with the old and the\n"
	 "new value of each option; what needs a restart (!); and the sessions of what is removed.\n"
	 "  FILE            with this file or directory instead of weir's own; only root and the user\n"
	 "                  that weir runs as may have weir read another file\n"
	 "  -q              prints nothing but errors\n"
	 "The weir is found as by 'weir reload'.\n"
	 "exit: 0 nothing would change   10 something would   1 no plan: the files have errors\n"
	 "      3 no answer\n"},
	{CLI_CONFIRM,
	 "weir confirm [--file] [-q] [--pid PID | -p PIDFILE | -s SOCKET | -f FILE]\n"
	 "\n"
	 "Keeps the configuration that 'weir reload --confirm' has put on trial.\n"
	 "  --file          reloads, and accepts a text that was not confirmed in time or that an\n"
	 "                  operator went back from: a plain reload refuses it\n"
	 "The weir is found as by 'weir reload'.\n"
	 "exit: 0 confirmed   1 not confirmed   3 no answer\n"},
	{CLI_ROLLBACK,
	 "weir rollback [GENERATION] [-q] [--pid PID | -p PIDFILE | -s SOCKET | -f FILE]\n"
	 "\n"
	 "Goes back to the configuration before, without reading the files: during a trial to what was\n"
	 "in effect before it, otherwise to the last one with another text. A number goes to any\n"
	 "generation whose text is kept: 'weir ctl show generations' lists them. The files are not\n"
	 "changed; until they are, a reload refuses them and a restart starts from the text in effect.\n"
	 "The weir is found as by 'weir reload'.\n"
	 "exit: 0 rolled back   1 not rolled back   3 no answer\n"},
	{CLI_DOCTOR, "weir doctor [--json] [-f FILE]\n"
		     "\n"
		     "Compares what this machine provides with what the file asks for, and prints a fix for\n"
		     "each limit that is too low. Needs no running weir and changes nothing.\n"
		     "exit: 0 no warnings (hints at most)   3 warnings\n"},
	{CLI_DEMO, "weir demo [--seconds N] [--json]\n"
		   "\n"
		   "Shows weir at work: clients, a server that stops and returns, a wrong file that is\n"
		   "refused, a server that is added at run time, and a file on trial that nobody confirms.\n"
		   "exit: 0 no client saw an error, and everything went as it should\n"},
	{CLI_HELP, "weir help [KEY | SECTION | VERB]\n"
		   "\n"
		   "Prints the command line, or explains a key of the configuration or a verb, or lists the\n"
		   "keys of a section: weir help listen\n"},
	{CLI_CONVERT,
	 "weir convert FILE... [-o DIR] [--report FILE] [--json] [--strict] [-q]\n"
	 "             [--from haproxy|nginx] [--prefix DIR]\n"
	 "\n"
	 "Prints the configuration of weir for one of HAProxy or nginx (stream), and on standard error\n"
	 "what becomes of each line: carried, no effect here, different, lost, or not ours (HTTP, TLS\n"
	 "termination, UDP). Several files, and folders of HAProxy's, are one configuration.\n"
	 "  -o DIR          writes weir.ini there, with the lists and password hashes that it names\n"
	 "  --report FILE   writes the report there;  --json: as one object;  -q: only what is different\n"
	 "                  or lost\n"
	 "  --strict        writes no configuration if something is different or lost\n"
	 "  --prefix DIR    the folder that nginx's relative names are below; else that of the file\n"
	 "exit: 0 nothing is lost   10 something is   11 with --strict   1 no result\n"},
	{CLI_COMPLETE, "weir complete -- WORD...\n"
		       "\n"
		       "Prints what may come next on a command line, for the completion of shells: one\n"
		       "word per line, and after a tab what it means. The last WORD is begun, or empty.\n"
		       "':files' stands for names of files.\n"},
	{CLI_VERSION, "weir version | -v | -V\n"
		      "weir -vv\n"
		      "\n"
		      "Prints the version; -vv also how it was built, and what the kernel has.\n"},
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
