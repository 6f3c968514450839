/* SPDX-License-Identifier: MIT
 *
 * build.h - from lines to a snapshot: understand, check across sections, assemble.
 *
 * Three steps in this order, each in a file of its own: build.c, crosscheck.c, snapshot.c.
 * Everything here lives in the arena of one reading. Main thread.
 */
#ifndef WEIR_SETTINGS_BUILD_H
#define WEIR_SETTINGS_BUILD_H

#include "weir/config/document.h"
#include "weir/config/options.h"
#include "weir/config/words.h"

/* One use-backend line. */
struct route_line {
	struct route route;
	const char *name; /* of the backend */
	struct at at;	  /* of that name */
	const struct proxy *target; /* once checked */
	struct config_place place;
};

/* One [listen], [frontend] or [backend]. */
struct proxy {
	struct section *section;
	struct config_proxy set;
	struct config_bind *binds;
	struct at *bind_at; /* of each address */
	struct words *bind_words;
	size_t bind_count;
	struct config_server *servers;
	struct at *server_at; /* of each name */
	struct words *server_words;
	size_t server_count;
	struct route_line *routes;
	size_t route_count;
	const char *backend_name; /* of default-backend; NULL = none */
	struct at backend_at;
	const struct proxy *target; /* the backend of a frontend, once checked */
	struct config_origins origins;
	const struct entry **from; /* one an option: the section's own line that gave it; NULL = none */
	bool duplicate;		    /* its name is taken: looked at no further */
};

struct build {
	struct diag *diag;    /* borrows */
	struct document *doc; /* borrows */
	struct config_global global;
	struct config_global nowhere; /* what is read for its errors alone */
	struct at admin_at;
	struct config_proxy built_in; /* what the table says, before [defaults] */
	struct config_proxy defaults;
	struct config_origins defaults_origins;
	struct proxy *proxies;
	size_t proxy_count;
};

/* The file and the line of `at`, as a snapshot keeps them. */
static inline struct config_place build_place(struct at at)
{
	return (struct config_place){at.source->name, at.line};
}

/* Understands every line of `b->doc`; reports what it cannot. */
void build_document(struct build *b);
/* Checks what no single line shows: names, references, addresses used twice. */
void build_crosscheck(struct build *b);
/* The options of one section, one beside another: what has no effect, what cannot be. After the
 * references of all sections are known. Notes in `p->origins` what comes from [defaults] in vain. */
void build_check_options(struct build *b, struct proxy *p);
/* A frontend whose clients may send a PROXY header without being in `trusted`: warns, once, when anything
 * goes by what it says. After the references of all sections are known. In crosscheck_proxy.c. */
void build_check_trust(struct build *b, const struct proxy *p);
/* Is `p` a backend, so that a frontend can refer to it? A [listen] that names a backend is a frontend written
 * another way. */
static inline bool build_is_backend(const struct proxy *p)
{
	return p->section->kind == IN_BACKEND || (p->section->kind == IN_LISTEN && p->backend_name == NULL);
}
/* The snapshot, in memory of `a` that it takes; only after a build without errors. */
struct config *build_snapshot(const struct build *b, struct arena *a);

/* Applies -o arguments, which are the lines of `source`, to the document. */
void override_apply(struct document *doc, struct source *source);

#endif
