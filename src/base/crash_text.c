/* SPDX-License-Identifier: MIT
 *
 * crash_text.c - builds a line of text where no function of the C library may be called.
 *
 * Owns the list of modules loaded at start; modules that a name service loads later have no name here.
 */
#include "crash_text.h"

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "weir/base/crash_report.h"

#define MODULES_MAX 24
#define MODULE_NAME_MAX 32

struct module {
	uintptr_t begin;
	uintptr_t end;
	uintptr_t base; /* offsets are relative to this */
	char name[MODULE_NAME_MAX];
};

static struct module modules[MODULES_MAX];
static unsigned module_count;
static int64_t zone_s; /* east of Greenwich */

/* ---- recorded at start ---- */

static int note_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *path = info->dlpi_name[0] != '\0' ? info->dlpi_name : program_invocation_short_name;
	const char *slash = strrchr(path, '/');
	struct module *m = &modules[module_count];

	(void)size;
	(void)arg;
	if (module_count == MODULES_MAX)
		return 1;
	*m = (struct module){.begin = UINTPTR_MAX, .base = info->dlpi_addr};
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		const uintptr_t begin = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD)
			continue;
		m->begin = begin < m->begin ? begin : m->begin;
		m->end = begin + part->p_memsz > m->end ? begin + part->p_memsz : m->end;
	}
	path = slash != NULL ? slash + 1 : path;
	memcpy(m->name, path, strnlen(path, MODULE_NAME_MAX - 1));
	module_count++;
	return 0;
}

void crash_text_prepare(void)
{
	const time_t now = time(NULL);
	struct tm tm;

	module_count = 0;
	(void)dl_iterate_phdr(note_module, NULL); /* modules beyond the limit have no name */
	if (localtime_r(&now, &tm) != NULL)
		zone_s = tm.tm_gmtoff;
}

/* ---- pieces ---- */

void crash_text_begin(struct crash_text *t)
{
	t->len = 0;
	t->bytes[0] = '\0';
}

static void put_byte(struct crash_text *t, char c)
{
	if (t->len + 1 >= sizeof(t->bytes))
		return;
	t->bytes[t->len++] = c;
	t->bytes[t->len] = '\0';
}

void crash_text_put(struct crash_text *t, const char *text)
{
	for (; *text != '\0'; text++)
		put_byte(t, *text);
}

/* Padded with zeros to `width`. */
static void put_digits(struct crash_text *t, uint64_t n, unsigned base, unsigned width)
{
	char digits[20];
	unsigned count = 0;

	do {
		digits[count++] = "0123456789abcdef"[n % base];
		n /= base;
	} while (n > 0);
	for (; width > count; width--)
		put_byte(t, '0');
	while (count > 0)
		put_byte(t, digits[--count]);
}

void crash_text_number(struct crash_text *t, uint64_t n, unsigned base)
{
	put_digits(t, n, base, 1);
}

void crash_text_place(struct crash_text *t, uintptr_t address)
{
	uintptr_t base = 0;

	for (unsigned i = 0; i < module_count; i++) {
		if (address < modules[i].begin || address >= modules[i].end)
			continue;
		crash_text_put(t, modules[i].name);
		crash_text_put(t, "+");
		base = modules[i].base;
		break;
	}
	crash_text_put(t, "0x");
	crash_text_number(t, address - base, 16);
}

void crash_text_end_line(struct crash_text *t)
{
	if (t->len + 1 >= sizeof(t->bytes))
		t->len--;
	put_byte(t, '\n');
}

/* ---- time ---- */

struct date {
	unsigned year, month, day;
	unsigned second; /* of the day */
};

/* gmtime_r(3) may take a lock. Days become a date by Hinnant's algorithm, in which years begin in March. */
static struct date date_of(int64_t seconds)
{
	const uint64_t s = seconds > 0 ? (uint64_t)seconds : 0;
	const uint64_t days = s / 86400 + 719468;
	const uint64_t era = days / 146097, of_era = days % 146097;
	const uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	const uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	const uint64_t march = (5 * of_year + 2) / 153;

	return (struct date){
		.year = (unsigned)(year + era * 400 + (march >= 10)),
		.month = (unsigned)(march < 10 ? march + 3 : march - 9),
		.day = (unsigned)(of_year - (153 * march + 2) / 5 + 1),
		.second = (unsigned)(s % 86400),
	};
}

static void put_clock(struct crash_text *t, unsigned second)
{
	put_digits(t, second / 3600, 10, 2);
	put_byte(t, ':');
	put_digits(t, second / 60 % 60, 10, 2);
	put_byte(t, ':');
	put_digits(t, second % 60, 10, 2);
}

static void put_utc(struct crash_text *t, const struct timespec *now)
{
	const struct date d = date_of(now->tv_sec);

	put_digits(t, d.year, 10, 4);
	put_byte(t, '-');
	put_digits(t, d.month, 10, 2);
	put_byte(t, '-');
	put_digits(t, d.day, 10, 2);
	put_byte(t, 'T');
	put_clock(t, d.second);
	put_byte(t, '.');
	put_digits(t, (uint64_t)now->tv_nsec / 1000000, 10, 3);
	put_byte(t, 'Z');
}

static void put_local(struct crash_text *t, const struct timespec *now)
{
	static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
					   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	const struct date d = date_of(now->tv_sec + zone_s);

	crash_text_put(t, months[(d.month - 1) % 12]);
	put_byte(t, ' ');
	if (d.day < 10)
		put_byte(t, ' ');
	crash_text_number(t, d.day, 10);
	put_byte(t, ' ');
	put_clock(t, d.second);
}

/* ---- frames ---- */

/* The text may be part of a JSON string, whose end must still fit. */
static void put_printable(struct crash_text *t, const char *text)
{
	for (; *text != '\0' && t->len < CRASH_TEXT_MAX - CRASH_REPORT_FRAME_MAX; text++) {
		const char c = *text;

		if (c == '"')
			put_byte(t, '\'');
		else if (c == '\\')
			put_byte(t, '/');
		else
			put_byte(t, c >= ' ' && c <= '~' ? c : '?');
	}
}

void crash_text_frame(struct crash_text *t, const char *frame, const char *text)
{
	struct timespec now = {0};

	(void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail: every kernel has this clock */
	crash_text_begin(t);
	for (; *frame != '\0'; frame++) {
		if (*frame == CRASH_REPORT_UTC[0])
			put_utc(t, &now);
		else if (*frame == CRASH_REPORT_LOCAL[0])
			put_local(t, &now);
		else if (*frame == CRASH_REPORT_TEXT[0])
			put_printable(t, text);
		else
			put_byte(t, *frame);
	}
}
