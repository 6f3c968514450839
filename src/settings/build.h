/* SPDX-License-Identifier: MIT
 *
 * build.h - from lines to a snapshot: interpret, validate across sections, assemble.
 *
 * Three steps in this order, each in its own file: build.c, validate.c, snapshot.c. Everything here is
 * allocated in the arena of one reading. Main thread.
 */
#ifndef WEIR_SETTINGS_BUILD_H
#define WEIR_SETTINGS_BUILD_H

#include "weir/base/check.h"
#include "weir/config/document.h"
#include "weir/config/options.h"
#include "weir/config/words.h"
#include "setting.h"

/* One use-backend line. */
struct route_line {
	struct route route;
	const char *name; /* name of the backend */
	struct at at;	  /* place of that name */
	const struct proxy *target; /* set by validation */
	struct config_place place;
};

/* One [listen], [frontend] or [backend]. */
struct proxy {
	struct section *section;
	struct config_proxy set;
	struct config_bind *binds;
	struct at *bind_at; /* place of each address */
	struct words *bind_words;
	size_t bind_count;
	struct config_server *servers;
	struct at *server_at; /* place of each name */
	struct words *server_words; /* of each line; without what it inherits */
	size_t server_count;
	struct words server_defaults; /* the words that each server inherits */
	size_t own_defaults; /* how many of them the section's own lines have: they come first */
	struct route_line *routes;
	size_t route_count;
	const char *backend_name; /* name in default-backend; NULL = none */
	bool routes_only;	  /* `target` is that of the first route, for want of a default */
	struct at backend_at;
	const struct proxy *target; /* a frontend's backend, set by validation */
	const struct proxy *fallback; /* a backend's fallback, likewise; NULL = none */
	struct config_origins origins;
	const struct entry **from; /* one per option: the section's own line that set it; NULL = none */
	bool duplicate;		    /* its name is taken: not examined further */
	size_t backend_number;	    /* among the backends, in their order */
	bool is_used;		    /* another section sends clients to it */
	bool waits;		    /* a frontend lets its clients wait for a server of this backend */
};

struct build {
	struct diag *diag;    /* borrows */
	struct document *doc; /* borrows */
	struct config_global global;
	struct config_global nowhere; /* target of values read only for their errors */
	struct at admin_at;
	struct at stats_at; /* the same of [stats] */
	const struct entry **global_from; /* the same for [global] */
	const struct entry **stats_from; /* its lines, as `from` of a proxy; NULL = there is no [stats] */
	struct config_proxy built_in; /* the defaults of the table, before [defaults] */
	struct config_proxy defaults;
	struct config_origins defaults_origins;
	struct words server_defaults; /* of [defaults] */
	struct proxy *proxies;
	size_t proxy_count;
	struct proxy **by_name; /* all of them, sorted; those of one name in their order */
	const struct proxy **persisting; /* the backends with `persist` */
	size_t persisting_count;
};

/* The file and line of `at`, as a snapshot stores them. */
static inline struct config_place build_place(struct at at)
{
	return (struct config_place){at.source->name, at.line};
}

/* The section's own line of this option; NULL if there is none, as for what [defaults] set. */
static inline const struct entry *build_line_of(const struct proxy *p, const char *key)
{
	const struct option *o = option_find(p->section->kind, key).option;

	check(o != NULL);
	return p->from[o - options];
}

/* Servers and what they inherit, in build_server.c. */
/* Reads a line of server-defaults into `*defaults`, the words of such lines before it; a later word replaces
 * an earlier one of the same option. 0, or -EINVAL after reporting, with the words that are right. */
int build_read_server_words(const struct setting *s, struct words *defaults);
/* Adds to `p->server_defaults` those of [defaults] that neither they nor a key of the section replace. */
void build_inherit_server_words(const struct build *b, struct proxy *p);
/* Reads a line of a server or set. 0, or -EINVAL after reporting. */
int build_read_server(struct proxy *p, const struct entry *e, const struct setting *s,
		      const struct option_match *match);
/* Gives servers the settings of their section that nothing nearer sets. */
void build_finish_servers(struct arena *a, struct proxy *p);

/* Interprets every line of `b->doc`; reports those it cannot interpret. */
void build_document(struct build *b);
/* Gives a family of its own to each half of a pair such as ':80' and '[::]:80', in whatever sections they
 * are. Before validation. In families.c. */
void build_split_families(const struct build *b);
/* Validates what a single line cannot show: names, references, addresses used twice. */
void build_validate(struct build *b);
/* Validates that no address is bound twice. In validate_binds.c. */
void build_validate_binds(struct build *b);
/* Validates the options of one section together: options without effect, and contradictions. Call once the
 * references of all sections are resolved. Marks in `p->origins` values from [defaults] that have no
 * effect. */
void build_validate_options(struct build *b, struct proxy *p);
/* Warns, once, about a frontend whose clients may send a PROXY header without being in `trusted`, if anything
 * relies on that header. Call once the references of all sections are resolved. In validate_proxy.c. */
void build_validate_trust(struct build *b, const struct proxy *p);
/* Numbers the backends and sorts all sections by name, for the next. In sections.c. */
void build_sort_sections(struct build *b);
/* The place in `b->by_name` of the first section of this name; proxy_count = there is none. */
size_t build_first_of_name(const struct build *b, const char *name);
/* Marks the backends that other sections send clients to. Call once the references of all are resolved. */
void build_mark_used(struct build *b);
/* The backend that a line refers to; NULL after reporting. `at`: the name in that line. */
const struct proxy *build_refer(struct build *b, const char *name, struct at at);
/* Finds the fallbacks of all backends; reports unknown ones, circles and chains that are too long. In
 * validate_fallbacks.c, as the next. */
void build_validate_fallbacks(struct build *b);
/* What to write instead of HAProxy's `use_backend NAME CONDITION`, if the condition is that another backend
 * has no server; otherwise NULL. */
const char *build_fallback_hint(struct build *b, const char *name, const char *condition);
/* Do clients of `first` go to `p`, perhaps as a fallback? False while there are errors in the chain. */
bool build_reaches(const struct proxy *first, const struct proxy *p);
/* Do clients of frontend `front` go to `p`, by default or by one of its first `routes` use-backend lines? */
bool build_leads_to(const struct proxy *front, size_t routes, const struct proxy *p);
/* Warns about lines of [stats] without effect, and about passwords that others can read. In
 * validate_stats.c. */
void build_validate_stats(struct build *b);
/* Looks at the programs of `check = exec`, and at what allows them. In validate_exec.c. */
void build_validate_exec(struct build *b);
/* Validates the ports of one section: of servers that have the client's, and ranges. Call once the references
 * of all sections are resolved. In validate_ports.c. */
void build_validate_ports(struct build *b, const struct proxy *p);
/* Validates `persist` of all sections, and at the frontends that lead there. Call once the references of all
 * sections are resolved. In validate_persist.c, as the next. */
void build_validate_persist(struct build *b);
/* Do clients of this frontend go to a backend with `persist`? */
bool build_leads_to_persist(const struct build *b, const struct proxy *front);
/* Validates servers that are where clients ask to go (sni@), what goes with them, and who leads there; call
 * then, too. In validate_egress.c. */
void build_validate_egress(struct build *b, const struct proxy *p);
/* Warns about use-backend lines of a frontend that no client can meet. In validate_routes.c. */
void build_validate_routes(struct build *b, const struct proxy *p);
/* Is `p` a backend, so that a frontend can refer to it? A [listen] that names a backend is a frontend in
 * another notation. */
static inline bool build_is_backend(const struct proxy *p)
{
	return p->section->kind == IN_BACKEND || (p->section->kind == IN_LISTEN && p->backend_name == NULL);
}
/* Returns the snapshot, in memory of `a`, of which it takes ownership; call only after a build without
 * errors. */
struct config *build_snapshot(const struct build *b, struct arena *a);

/* Applies the -o arguments, the lines of `source`, to the document. */
void override_apply(struct document *doc, struct source *source);

#endif
