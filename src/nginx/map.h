/* SPDX-License-Identifier: MIT
 *
 * map.h - a map or geo of nginx's as entries in our words, in the order in which weir tries them.
 *
 * Main thread.
 */
#ifndef WEIR_SRC_NGINX_MAP_H
#define WEIR_SRC_NGINX_MAP_H

#include "blocks.h"

enum nginx_subject { BY_SNI, BY_PROTOCOL, BY_ALPN, BY_SOURCE, BY_PORT, BY_OTHER };

/* How early an entry must be tried. */
enum nginx_rank { RANK_EXACT, RANK_WILD, RANK_PATTERN, RANK_REST };

struct nginx_entry {
	struct old_line *line;
	const char *key; /* in our words, commas in between; "" = it is on the line of another */
	const char *value;
	enum nginx_rank rank;
	size_t len;
	size_t place;		  /* among the entries */
	struct nginx_entry *same; /* the next with this value, NULL = there is none */
	const struct nginx_entry *joined; /* the one whose line has its key, NULL = its own */
};

struct nginx_map {
	struct nginx *n;
	struct old_line *block;
	enum nginx_subject subject;
	bool hostnames; /* names that are read from here on may have wildcards */
	struct nginx_entry *entries;
	size_t count;
	const char *otherwise; /* of "default"; NULL = it has none */
	struct old_line *otherwise_line;
	/* Of all of its lines, before they are read. */
	const char *rest; /* of "default"; NULL = it has none */
	const struct old_line *last_other; /* the last pattern with another value; NULL = none has */
	bool past_other;		   /* that one has been read */
	const char *today;		   /* by version of TLS: what clients of 1.2 or 1.3 get */
	bool old_versions; /* by version: those of 1.3 get `rest`, and those without TLS something else */
	bool is_geo;
	bool ranges; /* its keys are ranges of addresses */
	struct index networks; /* of a geo: where its entries are, by key */
	bool ended; /* a pattern takes all clients that no exact entry takes; it is `otherwise` */
};

/* The map or geo that makes `$name`, in upper or lower case; NULL = none does. */
struct old_line *nginx_map_find(const struct nginx *n, const char *name);
/* Is a line inside a map no entry? */
bool nginx_map_is_parameter(const struct old_line *line);
/* What the map looks up, "$remote_addr" for a geo that does not say. */
const char *nginx_map_source(const struct old_line *block);
/* The subject of a variable with its '$'. */
enum nginx_subject nginx_subject_of(const char *variable);
/* The word of a use-backend line for a subject. */
const char *nginx_subject_word(enum nginx_subject subject);
/* Adds an entry with the value of its line. */
void nginx_map_add(struct nginx_map *m, struct old_line *line, const char *key, enum nginx_rank rank);
/* Adds the entry of a network, a range of addresses or a pattern over them. */
void nginx_map_take_network(struct nginx_map *m, struct old_line *line, const char *key);
/* Of a geo: its `default` is there. A map has none of this. */
void nginx_geo_take_default(struct nginx_map *m);
/* Of a geo: all of its lines have been read. */
void nginx_geo_settle(struct nginx_map *m);
/* Reads the entries of a map whose source is a variable of `subject` between two texts. */
void nginx_map_read(struct nginx *n, struct old_line *block, enum nginx_subject subject, const char *before,
		    const char *after, struct nginx_map *m);
/* Is each client of `one` one of `all`? Both are NAME, *.NAME, .NAME, "any" or "none". */
bool nginx_name_covers(const char *all, const char *one);
/* Leaves of the entries what they have in common with `keys`, a list in our words of any subject but ALPN.
 * Returns those keys that no entry covers; "" = nobody gets what is for the others. */
const char *nginx_map_narrow(struct nginx_map *m, const char *keys);
/* The value that the map has for a text without variables, "" if it has none, and `*line` of it, which stays
 * if there is none. NULL after saying why, at the block. */
const char *nginx_map_look_up(struct nginx *n, struct old_line *block, const char *text,
			      struct old_line **line);
/* Does a key "~PATTERN" fit the text? It is not known for a pattern that POSIX may take for another. */
enum nginx_fit { FITS_NOT, FITS, FIT_UNKNOWN };
enum nginx_fit nginx_fits(const char *key, const char *text);
/* Is the key for a version of TLS that clients of today have? */
bool nginx_is_of_today(const char *key);
/* Looks at all lines of a map. */
void nginx_map_survey(struct nginx_map *m);
/* Adds a name, *.NAME or ~PATTERN, in any order. */
void nginx_map_add_name(struct nginx_map *m, struct old_line *line, const char *name, const char *value);
/* Puts the entries in the order in which weir tries them. Adding one needs another call. */
void nginx_map_sort(struct nginx_map *m);
/* The keys of entry `i` and of those that can be on the same line, whose own keys become "". */
const char *nginx_map_join(struct nginx_map *m, size_t i);

#endif
