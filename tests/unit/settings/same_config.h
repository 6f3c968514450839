/* SPDX-License-Identifier: MIT
 *
 * same_config.h - are two snapshots the same? And: what -T prints of one reads back to the same.
 *
 * Functions are static inline, because each test is a program of its own.
 */
#ifndef WEIR_TESTS_SAME_CONFIG_H
#define WEIR_TESTS_SAME_CONFIG_H

#include "config_test.h"

static inline char *print_with(const struct config *c, void (*how)(const struct config *c, FILE *out))
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	how(c, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static inline char *print_text(const struct config *c)
{
	return print_with(c, config_print);
}

static inline void assert_same_text(const char *a, const char *b)
{
	assert_int_equal(a == NULL, b == NULL);
	if (a != NULL)
		assert_string_equal(a, b);
}

/* Members that a row makes, by its type: texts by what they say. */
#define SAME_OPT_TEXT(a, b)	  assert_same_text(a, b)
#define SAME_OPT_USER_NAME(a, b)  assert_same_text(a, b)
#define SAME_OPT_GROUP_NAME(a, b) assert_same_text(a, b)
#define SAME_OPT_BYTES_TEXT(a, b) assert_same_text(a, b)
#define SAME_OPT_AGENT(a, b)	  assert_memory_equal(&(a), &(b), sizeof(a))
#define SAME_OPT_IP(a, b)	  assert_memory_equal(&(a), &(b), sizeof(a))
#define SAME_OPT_DURATION(a, b)	  assert_int_equal(a, b)
#define SAME_OPT_MILLIS(a, b)	  assert_int_equal(a, b)
#define SAME_OPT_SECONDS(a, b)	  assert_int_equal(a, b)
#define SAME_OPT_SIZE(a, b)	  assert_int_equal(a, b)
#define SAME_OPT_BYTES(a, b)	  assert_int_equal(a, b)
#define SAME_OPT_PACE(a, b)	  assert_int_equal(a, b)
#define SAME_OPT_COUNT(a, b)	  assert_int_equal(a, b)
#define SAME_OPT_INT(a, b)	  assert_int_equal(a, b)
#define SAME_OPT_COUNT_AUTO(a, b) assert_int_equal(a, b)
#define SAME_OPT_INT_AUTO(a, b)	  assert_int_equal(a, b)
#define SAME_OPT_COUNT_OFF(a, b)  assert_int_equal(a, b)
#define SAME_OPT_SAMPLE(a, b)	  assert_int_equal(a, b)
#define SAME_OPT_PORT(a, b)	  assert_int_equal(a, b)
#define SAME_OPT_MARK(a, b)	  assert_int_equal(a, b)
#define SAME_OPT_DSCP(a, b)	  assert_int_equal(a, b)
#define SAME_OPT_SWITCH(a, b)	  assert_int_equal(a, b)
#define SAME_OPT_FLAG(a, b)	  assert_int_equal(a, b)
#define SAME_OPT_CHOICE(a, b)	  assert_int_equal(a, b)
#define SAME_MEMBER(type, member) SAME_##type(a->member, b->member);

static inline void assert_same_spec(const struct addr_spec *a, const struct addr_spec *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->family, b->family);
	assert_int_equal(a->port, b->port);
	assert_string_equal(a->host, b->host);
	assert_int_equal(a->addr.len, b->addr.len);
	if (a->addr.len != 0)
		assert_true(addr_equal(&a->addr, &b->addr));
}

static inline void assert_same_owner(const struct config_socket_owner *a, const struct config_socket_owner *b)
{
	assert_int_equal(a->mode, b->mode);
	assert_int_equal(a->uid, b->uid);
	assert_int_equal(a->gid, b->gid);
}

static inline void assert_same_ids(const struct config_ids *a, const struct config_ids *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++)
		assert_int_equal(a->list[i], b->list[i]);
}

static inline void assert_same_tcp(const struct config_tcp *a, const struct config_tcp *b)
{
	assert_int_equal(a->keepalive, b->keepalive);
	assert_int_equal(a->keepalive_idle_s, b->keepalive_idle_s);
#define OPTION_TCP SAME_MEMBER
#include "weir/config/option_members.tbl.h"
}

static inline void assert_same_lists(const struct config_list *a, size_t a_count,
				     const struct config_list *b, size_t b_count)
{
	assert_int_equal(a_count, b_count);
	for (size_t i = 0; i < a_count; i++) {
		assert_string_equal(a[i].name, b[i].name);
		assert_ptr_equal(a[i].list, b[i].list);
	}
}

static inline void assert_same_networks(const struct netset *a_set, const struct netset *b_set,
				 const struct config_networks *a, const struct config_networks *b)
{
	assert_int_equal(a_set == NULL, b_set == NULL);
	assert_int_equal(a->count, b->count);
	assert_int_equal(!config_has_networks(a), a_set == NULL);
	assert_same_lists(a->files, a->file_count, b->files, b->file_count);
	for (size_t i = 0; i < a->count; i++) {
		assert_int_equal(a->list[i].family, b->list[i].family);
		assert_int_equal(a->list[i].bits, b->list[i].bits);
		assert_memory_equal(a->list[i].ip, b->list[i].ip, sizeof(a->list[i].ip));
	}
}

static inline void assert_same_items(const struct config_text_item *a, size_t a_count,
				     const struct config_text_item *b, size_t b_count)
{
	assert_int_equal(a_count, b_count);
	for (size_t i = 0; i < a_count; i++)
		assert_string_equal(a[i].text, b[i].text);
}

static inline void assert_same_names(const struct config_route *a, const struct config_route *b)
{
	assert_int_equal(a->sni.any, b->sni.any);
	assert_int_equal(a->sni.none, b->sni.none);
	assert_same_items(a->sni.list, a->sni.count, b->sni.list, b->sni.count);
	assert_int_equal(a->hosts == NULL, b->hosts == NULL);
	assert_int_equal(a->hosts == NULL, !config_lists_names(&a->sni));
	assert_same_lists(a->sni.files, a->sni.file_count, b->sni.files, b->sni.file_count);
	assert_same_items(a->alpn, a->alpn_count, b->alpn, b->alpn_count);
	assert_int_equal(a->protos, b->protos);
}

static inline void assert_same_routes(const struct config_frontend *a, const struct config_frontend *b)
{
	assert_int_equal(a->route_count, b->route_count);
	for (size_t i = 0; i < a->route_count; i++) {
		const struct config_route *x = &a->routes[i], *y = &b->routes[i];

		assert_int_equal(x->backend, y->backend);
		assert_same_networks(x->src, y->src, &x->src_list, &y->src_list);
		assert_int_equal(x->port_count, y->port_count);
		for (size_t k = 0; k < x->port_count; k++) {
			assert_int_equal(x->ports[k].first, y->ports[k].first);
			assert_int_equal(x->ports[k].last, y->ports[k].last);
		}
		assert_same_names(x, y);
	}
}

static inline void assert_same_access(const struct config_frontend *a, const struct config_frontend *b)
{
	assert_same_networks(a->allow, b->allow, &a->allow_list, &b->allow_list);
	assert_same_networks(a->deny, b->deny, &a->deny_list, &b->deny_list);
	assert_same_networks(a->trusted, b->trusted, &a->trusted_list, &b->trusted_list);
	assert_same_networks(a->exempt, b->exempt, &a->exempt_list, &b->exempt_list);
	assert_int_equal(a->allow_uid_count, b->allow_uid_count);
	for (size_t i = 0; i < a->allow_uid_count; i++)
		assert_int_equal(a->allow_uids[i], b->allow_uids[i]);
	assert_same_routes(a, b);
}

static inline void assert_same_check(const struct config_check *a, const struct config_check *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->port, b->port);
	assert_int_equal(a->proxy, b->proxy);
	assert_same_text(a->method, b->method);
	assert_same_text(a->path, b->path);
	assert_same_text(a->host, b->host);
	assert_same_text(a->body, b->body);
	assert_same_text(a->hello, b->hello);
	assert_same_text(a->program, b->program);
	assert_same_items(a->args, a->arg_count, b->args, b->arg_count);
	assert_same_text(a->exec_path, b->exec_path);
	assert_int_equal(a->soft_stop, b->soft_stop);
	assert_int_equal(a->status_count, b->status_count);
	for (size_t i = 0; i < a->status_count; i++) {
		assert_int_equal(a->statuses[i].first, b->statuses[i].first);
		assert_int_equal(a->statuses[i].last, b->statuses[i].last);
	}
	assert_int_equal(a->step_count, b->step_count);
	for (size_t i = 0; i < a->step_count; i++) {
		assert_int_equal(a->steps[i].expect, b->steps[i].expect);
		assert_int_equal(a->steps[i].negate, b->steps[i].negate);
		assert_int_equal(a->steps[i].len, b->steps[i].len);
		assert_memory_equal(a->steps[i].bytes, b->steps[i].bytes, a->steps[i].len);
	}
	assert_int_equal(a->tls, b->tls);
	assert_same_text(a->sni, b->sni);
	assert_same_text(a->alpn, b->alpn);
	assert_int_equal(a->verify, b->verify);
	assert_same_text(a->ca_file, b->ca_file);
	assert_ptr_equal(a->trust, b->trust);
#define OPTION_CHECK SAME_MEMBER
#include "weir/config/option_members.tbl.h"
}

static inline void assert_same_server(const struct config_server *a, const struct config_server *b)
{
	assert_string_equal(a->name, b->name);
	assert_same_spec(&a->addr, &b->addr);
#define OPTION_SERVER SAME_MEMBER
#include "weir/config/option_members.tbl.h"
	assert_int_equal(a->source.client, b->source.client);
	assert_int_equal(a->source.count, b->source.count);
	for (size_t k = 0; k < a->source.count; k++)
		assert_true(addr_equal(&a->source.list[k], &b->source.list[k]));
	assert_int_equal(a->proxy_crc32c, b->proxy_crc32c);
	assert_int_equal(a->proxy_unique_id, b->proxy_unique_id);
	assert_int_equal(a->proxy_pass, b->proxy_pass);
	assert_int_equal(a->check, b->check);
}

static inline void assert_same_global(const struct config_global *a, const struct config_global *b)
{
#define OPTION_GLOBAL SAME_MEMBER
#include "weir/config/option_members.tbl.h"
	assert_int_equal(a->affinity, b->affinity);
	assert_int_equal(a->cpu_count, b->cpu_count);
	assert_memory_equal(a->cpus, b->cpus, sizeof(a->cpus));
	assert_int_equal(a->log_count, b->log_count);
	for (size_t i = 0; i < a->log_count; i++) {
		assert_int_equal(a->logs[i].kind, b->logs[i].kind);
		assert_int_equal(a->logs[i].level, b->logs[i].level);
		assert_same_text(a->logs[i].path, b->logs[i].path);
		assert_same_spec(&a->logs[i].address, &b->logs[i].address);
		assert_same_text(a->logs[i].format, b->logs[i].format);
		assert_int_equal(a->logs[i].facility, b->logs[i].facility);
	}
	assert_same_spec(&a->admin, &b->admin);
	assert_same_owner(&a->admin_owner, &b->admin_owner);
	assert_int_equal(a->admin_level, b->admin_level);
	assert_same_ids(&a->admin_uids, &b->admin_uids);
	assert_same_ids(&a->admin_gids, &b->admin_gids);
	assert_same_spec(&a->stats.addr, &b->stats.addr);
	assert_same_owner(&a->stats.owner, &b->stats.owner);
	assert_int_equal(a->stats.allow_list.count, b->stats.allow_list.count);
	assert_int_equal(a->stats.per_server_histograms, b->stats.per_server_histograms);
}

static inline void assert_same_bind(const struct config_bind *a, const struct config_bind *b)
{
	assert_string_equal(a->name, b->name);
	assert_same_spec(&a->addr, &b->addr);
	assert_same_owner(&a->owner, &b->owner);
#define OPTION_BIND SAME_MEMBER
#include "weir/config/option_members.tbl.h"
}

static inline void assert_same_timeouts(const struct config_timeouts *a, const struct config_timeouts *b)
{
#define OPTION_TIMEOUT SAME_MEMBER
#include "weir/config/option_members.tbl.h"
}

static inline void assert_same_frontend(const struct config_frontend *a, const struct config_frontend *b)
{
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->backend, b->backend);
	assert_int_equal(a->listen, b->listen);
#define OPTION_FRONT SAME_MEMBER
#include "weir/config/option_members.tbl.h"
	assert_same_timeouts(&a->timeouts, &b->timeouts);
	assert_same_tcp(&a->tcp, &b->tcp);
	assert_int_equal(a->source_rate.count, b->source_rate.count);
	assert_int_equal(a->source_rate.burst, b->source_rate.burst);
	assert_int_equal(a->source_rate.period_ns, b->source_rate.period_ns);
	assert_int_equal(a->sniff.kind, b->sniff.kind);
	assert_int_equal(a->sniff.timeout_ns, b->sniff.timeout_ns);
	assert_int_equal(a->sniff.required, b->sniff.required);
	assert_same_access(a, b);
	assert_int_equal(a->bind_count, b->bind_count);
	for (size_t i = 0; i < a->bind_count; i++)
		assert_same_bind(&a->binds[i], &b->binds[i]);
}

static inline void assert_same_backend(const struct config_backend *a, const struct config_backend *b)
{
	assert_string_equal(a->name, b->name);
	assert_memory_equal(&a->balance, &b->balance, sizeof(a->balance));
#define OPTION_BACK SAME_MEMBER
#include "weir/config/option_members.tbl.h"
	assert_same_timeouts(&a->timeouts, &b->timeouts);
	assert_same_tcp(&a->tcp, &b->tcp);
	assert_int_equal(a->server_count, b->server_count);
	assert_same_check(&a->check, &b->check);
	for (size_t i = 0; i < a->server_count; i++)
		assert_same_server(&a->servers[i], &b->servers[i]);
}

/* Reads back what `how` prints of `a`. */
static inline void assert_reads_back(const struct config *a, void (*how)(const struct config *c, FILE *out))
{
	char *first = print_text(a), *text = print_with(a, how);
	struct loaded l = load_text(text);
	char *second;

	if (l.config == NULL)
		fail_msg("-T does not read back:\n%s\n%s", text, l.said);
	/* What was warned about may be again; nothing else is. */
	if (l.config->warnings > a->warnings)
		fail_msg("-T warns:\n%s\n%s", text, l.said);
	second = print_text(l.config);
	assert_string_equal(first, second);
	assert_same_global(&a->global, &l.config->global);
	assert_int_equal(a->frontend_count, l.config->frontend_count);
	assert_int_equal(a->backend_count, l.config->backend_count);
	for (size_t i = 0; i < a->frontend_count; i++)
		assert_same_frontend(&a->frontends[i], &l.config->frontends[i]);
	for (size_t i = 0; i < a->backend_count; i++)
		assert_same_backend(&a->backends[i], &l.config->backends[i]);
	free(second);
	free(text);
	free(first);
	unload(&l);
}

/* With the origins and without them, it is the same snapshot. */
static inline void assert_round_trip(const struct config *a)
{
	assert_reads_back(a, config_print);
	assert_reads_back(a, config_print_origins);
}

#endif
