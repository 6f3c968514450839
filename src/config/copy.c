/* SPDX-License-Identifier: MIT
 *
 * copy.c - copies of parts of a snapshot that outlive it, made from members.tbl.h.
 *
 * A copy is an arena of its own whose first block begins with the list of all its blocks. Any thread.
 */
#include "weir/config/copy.h"

#include <setjmp.h>
#include <stdalign.h>
#include <string.h>

#include "weir/base/check.h"
#include "weir/config/arena.h"
#include "weir/config/names.h"
#include "weir/net/list_file.h"
#include "weir/net/tls_trust.h"

/* The first block of a copy. */
struct copy {
	struct arena_block *memory; /* owns: all blocks, this one included */
	alignas(max_align_t) char structure[];
};

/* A set that lives as long as the copy. */
struct set_owner {
	struct netset *set; /* owns */
};

static void *copy_bytes(struct arena *a, const void *bytes, size_t size)
{
	void *copy;

	if (bytes == NULL)
		return NULL;
	copy = arena_alloc(a, size);
	memcpy(copy, bytes, size);
	return copy;
}

static char *copy_text(struct arena *a, const char *text)
{
	return text == NULL ? NULL : arena_strndup(a, text, strlen(text));
}

static void release_set(void *bytes)
{
	struct set_owner *o = bytes;

	netset_free(o->set);
}

/* The set of `from`, if there is a set of it already. */
static struct netset *copy_set(struct arena *a, const struct netset *set, const struct config_networks *from)
{
	struct set_owner *o;

	if (set == NULL)
		return NULL;
	o = arena_alloc_owner(a, sizeof(*o), release_set);
	o->set = config_networks_set(from);
	if (o->set == NULL)
		arena_no_memory(a);
	return o->set;
}

struct hosts_owner {
	struct host_set *set; /* owns */
};

static void release_hosts(void *bytes)
{
	struct hosts_owner *o = bytes;

	host_set_free(o->set);
}

static struct host_set *copy_hosts(struct arena *a, const struct host_set *set,
				   const struct config_names *from)
{
	struct hosts_owner *o;

	if (set == NULL)
		return NULL;
	o = arena_alloc_owner(a, sizeof(*o), release_hosts);
	o->set = config_names_set(from);
	if (o->set == NULL)
		arena_no_memory(a);
	return o->set;
}

static void release_trust(void *bytes)
{
	struct tls_trust **room = bytes;

	tls_trust_drop(*room);
	*room = NULL;
}

struct tls_trust **config_trust_room(struct arena *a)
{
	return arena_alloc_owner(a, sizeof(struct tls_trust *), release_trust);
}

struct tls_trust *config_trust_hold(struct arena *a, struct tls_trust *trust)
{
	struct tls_trust **room = trust != NULL ? config_trust_room(a) : NULL;

	if (room != NULL)
		*room = tls_trust_hold(trust);
	return trust;
}

static void release_list(void *bytes)
{
	struct list_file **room = bytes;

	list_file_drop(*room);
	*room = NULL;
}

struct list_file **config_list_room(struct arena *a)
{
	return arena_alloc_owner(a, sizeof(struct list_file *), release_list);
}

struct list_file *config_list_hold(struct arena *a, struct list_file *list)
{
	struct list_file **room = list != NULL ? config_list_room(a) : NULL;

	if (room != NULL)
		*room = list_file_hold(list);
	return list;
}

/* Without a line, `file` may be anything. */
static struct config_place copy_place(struct arena *a, struct config_place place)
{
	if (place.line == 0)
		return (struct config_place){0};
	return (struct config_place){copy_text(a, place.file), place.line};
}

/* own_TYPE() for each structure of the table: in `structure`, which is equal to the original byte for byte,
 * replaces every pointer into the original by one into the arena. */
#define STRUCT(type)                                                                                         \
	static void own_##type(struct arena *a, void *structure)                                             \
	{                                                                                                    \
		struct type *to = structure;                                                                 \
                                                                                                             \
		(void)a; /* unused where all members are numbers */                                          \
		(void)to;
#define END }
#define VALUE(member)
#define NAME(member)
#define BYTES(member)
#define TEXT(member)	    to->member = copy_text(a, to->member);
#define INNER(type, member) own_##type(a, &to->member);
#define SOCKADDR(member, len)
#define NUMBERS(list, count) to->list = copy_bytes(a, to->list, to->count * sizeof(*to->list));
#define ITEMS(type, list, count)                                                                             \
	NUMBERS(list, count)                                                                                 \
	for (size_t i = 0; i < to->count; i++)                                                               \
		own_##type(a, &to->list[i]);
#define NETSET(set, networks) to->set = copy_set(a, to->set, &to->networks);
#define HOSTSET(set, names)   to->set = copy_hosts(a, to->set, &to->names);
#define TRUST(member)	      to->member = config_trust_hold(a, to->member);
#define LISTED(member)	      to->member = config_list_hold(a, to->member);
#define INDEX(member)
#define PLACE(member)	to->member = copy_place(a, to->member);
#define ORIGINS(member) to->member = (struct config_origins){0};
#define OTHERS(list, count)                                                                                  \
	to->list = NULL;                                                                                     \
	to->count = 0;
#include "members.tbl.h"

/* Makes the copy in `a`; NULL when out of memory. What changes after setjmp() belongs to the caller, so that
 * it keeps its value. */
static void *fill(struct arena *a, const void *original, size_t size,
		  void (*own)(struct arena *a, void *structure))
{
	jmp_buf no_memory;
	struct copy *c;

	a->no_memory = &no_memory;
	if (setjmp(no_memory) != 0)
		return NULL;
	c = arena_alloc(a, sizeof(*c) + size);
	memcpy(c->structure, original, size);
	own(a, c->structure);
	c->memory = a->blocks;
	return c->structure;
}

static void *copy_structure(const void *original, size_t size, void (*own)(struct arena *a, void *structure))
{
	struct arena a = {0};
	void *structure;

	check(original != NULL);
	structure = fill(&a, original, size, own);
	if (structure == NULL)
		arena_free(&a);
	return structure;
}

static void free_structure(void *structure)
{
	struct arena a = {0};

	if (structure == NULL)
		return;
	a.blocks = ((struct copy *)((char *)structure - offsetof(struct copy, structure)))->memory;
	arena_free(&a);
}

struct config_frontend *config_frontend_copy(const struct config_frontend *original)
{
	return copy_structure(original, sizeof(*original), own_config_frontend);
}

void config_frontend_copy_free(struct config_frontend *copy)
{
	free_structure(copy);
}

struct config_backend *config_backend_copy(const struct config_backend *original)
{
	return copy_structure(original, sizeof(*original), own_config_backend);
}

void config_backend_copy_free(struct config_backend *copy)
{
	free_structure(copy);
}

struct config_server *config_server_copy(const struct config_server *original)
{
	return copy_structure(original, sizeof(*original), own_config_server);
}

void config_server_copy_free(struct config_server *copy)
{
	free_structure(copy);
}

struct config_bind *config_bind_copy(const struct config_bind *original)
{
	return copy_structure(original, sizeof(*original), own_config_bind);
}

void config_bind_copy_free(struct config_bind *copy)
{
	free_structure(copy);
}

struct config_check *config_check_copy(const struct config_check *original)
{
	return copy_structure(original, sizeof(*original), own_config_check);
}

void config_check_copy_free(struct config_check *copy)
{
	free_structure(copy);
}

struct config_log *config_log_copy(const struct config_log *original)
{
	return copy_structure(original, sizeof(*original), own_config_log);
}

void config_log_copy_free(struct config_log *copy)
{
	free_structure(copy);
}
