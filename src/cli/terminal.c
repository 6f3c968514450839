/* SPDX-License-Identifier: MIT
 *
 * terminal.c - what a terminal can do, and taking it over temporarily.
 *
 * Owns the only terminal there is, hence the one static. Signals are blocked and read from a descriptor, so
 * `top` always leaves through terminal_close(), which restores the screen. Main thread.
 */
#include "terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "weir/base/check.h"

/* Switch to the alternate screen without a cursor, and back. */
#define SCREEN_ON  "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J"
#define SCREEN_OFF "\x1b[?25h\x1b[?1049l"

static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};

static struct {
	bool open;
	int signals; /* owns; signalfd(2) */
	int ended_by;
	struct termios before;
	sigset_t mask_before;
	char typed[64]; /* keys not yet processed */
	bool typing;	/* they are text */
	char character;
} terminal = {.signals = -1};

static bool is_dumb(void)
{
	const char *term = getenv("TERM");

	return term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0;
}

bool terminal_wants_colour(int fd)
{
	const char *no = getenv("NO_COLOR");

	if (no != NULL && no[0] != '\0')
		return false;
	return !is_dumb() && isatty(fd) == 1;
}

bool terminal_can_draw(int fd)
{
	return !is_dumb() && isatty(fd) == 1;
}

struct terminal_size terminal_size(int fd)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
		return (struct terminal_size){.columns = 80, .rows = 24};
	return (struct terminal_size){.columns = size.ws_col, .rows = size.ws_row};
}

/* A terminal that has gone takes no bytes; then there is nothing to restore. */
static void put_bytes(const char *text)
{
	(void)!write(STDOUT_FILENO, text, strlen(text));
}

static int take_over(void)
{
	struct termios raw = terminal.before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0)
		return -errno;
	put_bytes(SCREEN_ON);
	return 0;
}

static void restore_screen(void)
{
	put_bytes(SCREEN_OFF);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before); /* the terminal may be gone */
}

int terminal_open(void)
{
	sigset_t set;
	int err;

	check(!terminal.open);
	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(watched); i++)
		(void)sigaddset(&set, watched[i]);
	if (tcgetattr(STDIN_FILENO, &terminal.before) != 0)
		return -errno;
	terminal.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (terminal.signals < 0)
		return -errno;
	(void)sigprocmask(SIG_BLOCK, &set, &terminal.mask_before); /* fails only for a wrong first argument */
	err = take_over();
	if (err) {
		(void)sigprocmask(SIG_SETMASK, &terminal.mask_before, NULL);
		(void)close(terminal.signals);
		return err;
	}
	terminal.ended_by = 0;
	terminal.typed[0] = '\0';
	terminal.typing = false;
	terminal.open = true;
	return 0;
}

static enum terminal_event take_signal(void)
{
	struct signalfd_siginfo info;

	if (read(terminal.signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return TERMINAL_DRAW;
	if (info.ssi_signo == SIGWINCH)
		return TERMINAL_DRAW;
	if (info.ssi_signo != SIGTSTP) {
		terminal.ended_by = (int)info.ssi_signo;
		return TERMINAL_QUIT;
	}
	restore_screen();
	(void)raise(SIGSTOP); /* the shell takes over here */
	return take_over() == 0 ? TERMINAL_DRAW : TERMINAL_QUIT;
}

/* What keys send: a letter, or the sequence of an xterm or a Linux console. */
static const struct {
	const char *bytes;
	enum terminal_event event;
} keys[] = {
	{"q", TERMINAL_QUIT},	     {"Q", TERMINAL_QUIT},	 {"\x04", TERMINAL_QUIT},
	{"v", TERMINAL_PAGE},	     {"\t", TERMINAL_PAGE},	 {"/", TERMINAL_FILTER},
	{"\n", TERMINAL_ENTER},	     {"\r", TERMINAL_ENTER},
	{"n", TERMINAL_NEXT},	     {"p", TERMINAL_PREVIOUS},
	{"s", TERMINAL_SORT},	     {"k", TERMINAL_UP},	 {"j", TERMINAL_DOWN},
	{" ", TERMINAL_PAGE_DOWN},   {"b", TERMINAL_PAGE_UP},	 {"g", TERMINAL_HOME},
	{"G", TERMINAL_END},	     {"\x1b[A", TERMINAL_UP},	 {"\x1bOA", TERMINAL_UP},
	{"\x1b[B", TERMINAL_DOWN},   {"\x1bOB", TERMINAL_DOWN}, {"\x1b[5~", TERMINAL_PAGE_UP},
	{"\x1b[6~", TERMINAL_PAGE_DOWN}, {"\x1b[H", TERMINAL_HOME}, {"\x1b[1~", TERMINAL_HOME},
	{"\x1bOH", TERMINAL_HOME},   {"\x1b[F", TERMINAL_END},	 {"\x1b[4~", TERMINAL_END},
	{"\x1bOF", TERMINAL_END},
};

static void drop_typed(size_t len)
{
	memmove(terminal.typed, terminal.typed + len, strlen(terminal.typed + len) + 1);
}

/* Takes the first key as text. */
static enum terminal_event next_character(void)
{
	const char c = terminal.typed[0];

	drop_typed(1);
	terminal.character = c;
	if (c == '\n' || c == '\r')
		return TERMINAL_ENTER;
	if (c == '\x7f' || c == '\b')
		return TERMINAL_ERASE;
	if (c == '\x04')
		return TERMINAL_QUIT;
	return c >= ' ' && c < '\x7f' ? TERMINAL_CHARACTER : TERMINAL_DRAW;
}

/* Takes the first key from the input. An unknown one discards all that follows it. */
static enum terminal_event next_key(void)
{
	if (strcmp(terminal.typed, "\x1b") == 0) {
		terminal.typed[0] = '\0';
		return TERMINAL_ESCAPE;
	}
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const size_t len = strlen(keys[i].bytes);

		if (strncmp(terminal.typed, keys[i].bytes, len) != 0 || (terminal.typing && len == 1))
			continue;
		drop_typed(len);
		return keys[i].event;
	}
	if (terminal.typing && terminal.typed[0] != '\x1b')
		return next_character();
	terminal.typed[0] = '\0';
	return TERMINAL_DRAW;
}

static enum terminal_event take_key(void)
{
	const ssize_t n = read(STDIN_FILENO, terminal.typed, sizeof(terminal.typed) - 1);

	/* End of input means that the terminal was closed. */
	if (n <= 0)
		return TERMINAL_QUIT;
	terminal.typed[n] = '\0';
	return next_key();
}

enum terminal_event terminal_wait(int wait_ms)
{
	struct pollfd p[2] = {
		{.fd = terminal.signals, .events = POLLIN},
		{.fd = STDIN_FILENO, .events = POLLIN},
	};

	check(terminal.open);
	if (terminal.typed[0] != '\0')
		return next_key();
	if (poll(p, 2, wait_ms) <= 0)
		return TERMINAL_TIME;
	return p[0].revents != 0 ? take_signal() : take_key();
}

void terminal_type(bool on)
{
	terminal.typing = on;
}

char terminal_character(void)
{
	return terminal.character;
}

void terminal_close(void)
{
	if (!terminal.open)
		return;
	terminal.open = false;
	restore_screen();
	(void)close(terminal.signals);
	terminal.signals = -1;
	(void)sigprocmask(SIG_SETMASK, &terminal.mask_before, NULL);
	if (terminal.ended_by != 0 && terminal.ended_by != SIGINT)
		(void)raise(terminal.ended_by);
}
