/* SPDX-License-Identifier: MIT
 *
 * log.c - `error_log` and `access_log`: where weir's log lines go.
 *
 * nginx has a log of sessions and one of errors; weir has lines of a level, and those of sessions are of
 * level info. Main thread.
 */
#include <string.h>

#include "blocks.h"
#include "weir/config/options.h"

#define FORMAT "in weir's format; format=\"{client} ...\" makes another"

static struct ini_section *global(struct nginx *n)
{
	return ini_only(n->ini, IN_GLOBAL);
}

/* "syslog:server=ADDRESS,facility=local7,..." */
static const char *syslog_target(struct nginx *n, const char *text)
{
	const char *server = strstr(text, "server="), *facility = strstr(text, "facility=");
	const char *out;

	if (server == NULL)
		return NULL;
	server += 7;
	out = arena_printf(n->arena, "syslog:%.*s", (int)strcspn(server, ","), server);
	if (facility == NULL)
		return arena_printf(n->arena, "%s facility=local7", out);
	facility += 9;
	return arena_printf(n->arena, "%s facility=%.*s", out, (int)strcspn(facility, ","), facility);
}

/* The level of an error_log in our words. A connect that fails is an error for nginx, and a warning here. */
static const char *level_of(const char *word)
{
	if (word[0] == '\0' || strcmp(word, "error") == 0)
		return "warning";
	return strncmp(word, "debug", 5) == 0 ? "debug" : work_log_level(word);
}

/* Does a log line leave sessions out? */
static bool leaves_sessions_out(const struct ini_line *log)
{
	const char *level = strstr(log->value, " level=");

	return level != NULL && strcmp(level, " level=info") != 0 && strcmp(level, " level=debug") != 0;
}

/* An access_log goes where an error_log goes already. */
static void join_logs(struct nginx *n, struct old_line *line, const char *text)
{
	struct ini_section *s = global(n);

	for (size_t i = 0; i < s->count; i++) {
		struct ini_line *log = &s->lines[i];

		if (strcmp(log->key, "log") != 0 || !leaves_sessions_out(log) ||
		    strncmp(log->value, text, strlen(text)) != 0 || log->value[strlen(text)] != ' ')
			continue;
		log->value = text;
		old_set(n->arena, log->from, OLD_DIFFERENT,
			"access_log goes there, too: weir's sessions are of level info, and so is this log");
		old_set(n->arena, line, OLD_DIFFERENT, FORMAT);
	}
}

/* `if=` of an access_log has no counterpart. */
static void judge_condition(struct nginx *n, struct old_line *line)
{
	for (size_t i = 2; i < line->count; i++)
		if (strncmp(line->words[i], "if=", 3) == 0)
			old_set(n->arena, line, OLD_DIFFERENT,
				"'%s': weir logs all sessions, or with log-sample = errors those that failed",
				line->words[i]);
}

/* A relative path is below the prefix that nginx was built with, or -p: that is not always the folder of the
 * file, whose 'conf' is below it. */
static const char *log_path(struct nginx *n, struct old_line *line, const char *path)
{
	const char *folder = n->work->reading->prefix, *slash;

	if (path[0] == '/')
		return path;
	if (n->work->reading->guessed_prefix) {
		slash = strrchr(folder, '/');
		if (slash != NULL && strcmp(slash, "/conf") == 0)
			folder = arena_strndup(n->arena, folder, (size_t)(slash - folder));
		old_set(n->arena, line, OLD_DIFFERENT,
			"nginx puts its own prefix (nginx -V) before '%s': weir takes %s/%s; convert with "
			"--prefix, or write the path",
			path, folder, path);
	}
	return arena_printf(n->arena, "%s/%s", folder, path);
}

void nginx_judge_logs(struct nginx *n, const struct old_lines *main, const struct old_lines *stream)
{
	const bool replaced = nginx_find(stream, NULL, "error_log") != NULL;

	for (size_t i = 0; i < main->count && replaced; i++)
		if (strcmp(main->list[i]->words[0], "error_log") == 0 && main->list[i]->fate == OLD_CARRIED)
			old_set(n->arena, main->list[i], OLD_DIFFERENT,
				"nginx logs what happens in stream to the error_log there alone: weir logs "
				"all to both");
}

void nginx_log(struct nginx *n, struct old_line *line)
{
	const bool access = line->words[0][0] == 'a';
	const char *path = old_word(line, 1), *text;
	const char *level = access ? NULL : level_of(old_word(line, 2));

	if (access)
		judge_condition(n, line);
	if (strcmp(path, "off") == 0) {
		old_set(n->arena, line, OLD_DIFFERENT,
			"weir always logs sessions: log-sample = errors for fewer");
		return;
	}
	if (strncmp(path, "memory:", 7) == 0) {
		old_set(n->arena, line, OLD_LOST, "weir has no log in memory: leave this line out");
		return;
	}
	if (strcmp(path, "stderr") == 0 || strcmp(path, "/dev/stderr") == 0 ||
	    strcmp(path, "/dev/stdout") == 0)
		text = "auto";
	else if (strncmp(path, "syslog:", 7) == 0)
		text = syslog_target(n, path);
	else
		text = arena_printf(n->arena, "file:%s", log_path(n, line, path));
	if (text == NULL || strchr(path, '$') != NULL) {
		work_by_table(n->work, line, 0);
		return;
	}
	if (!work_log_is_new(n->work, line, text)) {
		if (access)
			join_logs(n, line, text);
		return;
	}
	if (level != NULL)
		text = arena_printf(n->arena, "%s level=%s", text, level);
	if (level != NULL && (strcmp(level, "warning") == 0 || strcmp(level, "notice") == 0))
		work_note(n->work,
			  "error_log: nginx logs a client that it refuses as an error, weir as a session, of "
			  "level info");
	/* The folder is that of the target machine. */
	ini_add(n->ini, global(n), line, "log", "%s", text)->stand_in =
	    strncmp(text, "file:", 5) == 0 ? "" : NULL;
	if (access)
		old_set(n->arena, line, OLD_DIFFERENT, FORMAT);
}

void nginx_block_log(struct nginx *n, struct old_line *line)
{
	const struct ini_section *s = global(n);
	size_t logs = 0, without = 0;

	for (size_t i = 0; i < s->count; i++) {
		logs += strcmp(s->lines[i].key, "log") == 0;
		without += strcmp(s->lines[i].key, "log") == 0 && leaves_sessions_out(&s->lines[i]);
	}
	if (line->words[0][0] == 'a' && strcmp(old_word(line, 1), "off") != 0 && logs > 0 && logs == without)
		nginx_log(n, line);
	if (line->fate != OLD_LOST)
		old_set(n->arena, line, OLD_DIFFERENT, "weir logs all sessions to the targets of [global]");
}
