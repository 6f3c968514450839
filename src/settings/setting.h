/* SPDX-License-Identifier: MIT
 *
 * setting.h - one option and its value: parsed into its field, and printed from it.
 *
 * Scalars are in setting_scalar.c, lines of several words in setting_line.c and its neighbours; a type's
 * parser and printer are in the same file, so that what is printed reads back. Main thread.
 */
#ifndef WEIR_SETTINGS_SETTING_H
#define WEIR_SETTINGS_SETTING_H

#include <stdbool.h>
#include <stdio.h>

#include "weir/config/diag.h"
#include "weir/config/options.h"
#include "weir/config/words.h"
#include "weir/net/list_file.h"

/* The maximum length of names and paths, so that what -T prints fits on a line however it is quoted. */
#define SETTING_TEXT_MAX 1023

struct setting {
	struct diag *diag;
	const struct option *option;
	struct words words; /* at least one */
	void *base;	    /* the structure that the option's section fills */
};

/* A type: `parse` returns 0, or -EINVAL after reporting; `field` is the option's own. */
struct setting_type {
	int (*parse)(const struct setting *s, void *field);
	void (*print)(const void *field, const struct option *option, FILE *out);
	bool (*is_set)(const void *field); /* NULL = always printed */
};

/* The types that setting_scalar.c reads; the others have no `parse`. */
extern const struct setting_type setting_scalar_types[OPT_TYPES];

/* Any type; types that are read where proxies are built have no `parse`. */
const struct setting_type *setting_type_of(enum option_type type);

int setting_parse(const struct setting *s);
/* Reads the words from `from` on as options of `section` ("weight=2 v6only") into `s->base`. */
int setting_parse_words(const struct setting *s, size_t from, unsigned section);
/* Sets every field of `section` that has a default. */
void setting_defaults(struct arena *a, unsigned section, void *base);
/* Does the option have a value that -T shows? */
bool setting_is_set(const struct option *option, const void *base);
void setting_print(const struct option *option, const void *base, FILE *out);
/* " weight=2": every option of `section` that is set. */
void setting_print_words(unsigned section, const void *base, FILE *out);

/* Reports an error at `offset` bytes into a word. Always returns -EINVAL. */
int setting_bad(const struct setting *s, const struct word *w, size_t offset, const char *text);
/* Validates a number against the row's range; an error quotes the word `w`. */
int setting_in_range(const struct setting *s, const struct word *w, uint64_t number);
/* Parses an address such as "10.0.0.1:80"; reports what is wrong with it. */
int setting_address(const struct setting *s, const struct word *w, struct addr_spec *spec);
/* The same with a set of enum addr_ports. */
int setting_address_ports(const struct setting *s, const struct word *w, unsigned ports,
			  struct addr_spec *spec);
void setting_print_address(const struct addr_spec *spec, FILE *out);
/* Parses a size and validates its range. */
int setting_size(const struct setting *s, uint64_t *bytes);
void setting_print_choice(const void *field, const struct option *option, FILE *out);
/* The word of option `key` among the words of a line; NULL = not written. */
const struct word *setting_find_word(struct arena *a, const struct words *words, unsigned section,
				     const char *key);
int setting_choice(const struct setting *s, const struct word *w, unsigned *index);
/* Printers for text types, and for those that -T shows in converted form. */
void setting_print_text(const void *field, const struct option *option, FILE *out);
bool setting_text_is_set(const void *field);
bool setting_never_set(const void *field);

/* Owner and mode of a socket, in setting_owner.c. */
int setting_parse_mode(const struct setting *s, void *field);
void setting_print_mode(const void *field, const struct option *option, FILE *out);
int setting_parse_id(const struct setting *s, void *field);
int setting_parse_account(const struct setting *s, void *field);
int setting_parse_text(const struct setting *s, void *field);
void setting_print_id(const void *field, const struct option *option, FILE *out);
bool setting_owner_is_set(const void *field);
/* Targets of the log, in setting_log.c. */
/* Without any log line the table's default applies. */
void setting_default_log(struct arena *a, struct config_global *g);
int setting_parse_log(const struct setting *s, void *field);
void setting_print_log(const struct config_log *log, FILE *out);
int setting_parse_log_format(const struct setting *s, void *field);
int setting_parse_sample(const struct setting *s, void *field);
void setting_print_sample(const void *field, const struct option *option, FILE *out);
/* Who may use the admin socket, in setting_admin.c. */
int setting_parse_admin(const struct setting *s, void *field);
void setting_print_admin(const void *field, const struct option *option, FILE *out);
bool setting_admin_is_set(const void *field);
int setting_parse_stats(const struct setting *s, void *field);
void setting_print_stats(const void *field, const struct option *option, FILE *out);
void setting_print_ids(const void *field, const struct option *option, FILE *out);
bool setting_ids_are_set(const void *field);
/* Who may use the HTTP endpoint, in setting_auth.c. */
int setting_parse_auth(const struct setting *s, void *field);
void setting_print_auth(const void *field, const struct option *option, FILE *out);
bool setting_auth_is_set(const void *field);
/* Name servers, in setting_resolvers.c. */
int setting_parse_resolvers(const struct setting *s, void *field);
void setting_print_resolvers(const void *field, const struct option *option, FILE *out);
bool setting_resolvers_is_set(const void *field);
/* The composite types, in setting_line.c. */
int setting_parse_cpus(const struct setting *s, void *field);
void setting_print_cpus(const void *field, const struct option *option, FILE *out);
int setting_parse_keepalive(const struct setting *s, void *field);
/* `s->base` is a struct config_proxy. */
int setting_parse_keepalives(const struct setting *s, void *field);
void setting_print_keepalive(const void *field, const struct option *option, FILE *out);
/* How a server is chosen, in setting_balance.c. */
int setting_parse_balance(const struct setting *s, void *field);
void setting_print_balance(const void *field, const struct option *option, FILE *out);
/* Numbers of sockets, in setting_socket.c. */
int setting_parse_bytes(const struct setting *s, void *field);
void setting_print_bytes(const void *field, const struct option *option, FILE *out);
int setting_parse_pace(const struct setting *s, void *field);
void setting_print_pace(const void *field, const struct option *option, FILE *out);
int setting_parse_port(const struct setting *s, void *field);
void setting_print_port(const void *field, const struct option *option, FILE *out);
bool setting_port_is_set(const void *field);
int setting_parse_mark(const struct setting *s, void *field);
void setting_print_mark(const void *field, const struct option *option, FILE *out);
int setting_parse_dscp(const struct setting *s, void *field);
void setting_print_dscp(const void *field, const struct option *option, FILE *out);
/* Connects of clients, in setting_observe.c. */
int setting_parse_observe(const struct setting *s, void *field);
void setting_print_observe(const void *field, const struct option *option, FILE *out);
int setting_parse_sticky(const struct setting *s, void *field);
void setting_print_sticky(const void *field, const struct option *option, FILE *out);
/* Health checks, in setting_check.c, and the texts in them, in setting_text.c. */
int setting_parse_check(const struct setting *s, void *field);
void setting_print_check(const void *field, const struct option *option, FILE *out);
int setting_parse_check_send(const struct setting *s, void *field);
int setting_parse_check_expect(const struct setting *s, void *field);
int setting_parse_check_host(const struct setting *s, void *field);
int setting_parse_check_status(const struct setting *s, void *field);
void setting_print_check_status(const void *field, const struct option *option, FILE *out);
/* Does this word belong to the kind of check, which `kind` names in quotes? 0, or -EINVAL after reporting. */
int setting_validate_kind(const struct setting *s, bool right, const char *kind);
/* setting_check_role.c */
/* "[EHLO|HELO NAME]" at word 1; how many words, or -EINVAL after reporting. */
int setting_take_hello(const struct setting *s, struct config_check *c);
void setting_print_hello(const struct config_check *c, FILE *out);
int setting_parse_check_login(const struct setting *s, void *field);
int setting_parse_check_role(const struct setting *s, void *field);
void setting_print_check_role(const void *field, const struct option *option, FILE *out);
/* setting_check_tls.c */
int setting_parse_check_sni(const struct setting *s, void *field);
int setting_parse_check_alpn(const struct setting *s, void *field);
int setting_parse_check_verify(const struct setting *s, void *field);
void setting_print_check_verify(const void *field, const struct option *option, FILE *out);
/* All words of `c` are read: what they leave out. 0, or -EINVAL after reporting. */
int setting_finish_check_tls(const struct setting *s, struct config_check *c);
/* setting_check_exec.c */
/* The words of a `check = exec` line with those of ours behind the program and its arguments. */
struct words setting_sort_program(const struct setting *s);
/* "PROGRAM [ARG...]" at word 1 of such a line; how many words, or -EINVAL after reporting. */
int setting_take_program(const struct setting *s, struct config_check *c);
void setting_print_program(const struct config_check *c, FILE *out);
int setting_parse_check_path(const struct setting *s, void *field);
/* Replaces escapes (\r \n \t \0 \\ \" \xHH) by their bytes; the result is also NUL-terminated. */
int setting_unescape(const struct setting *s, const struct word *w, uint8_t **bytes, size_t *len);
/* The agent of a server, in setting_agent.c. */
int setting_parse_agent(const struct setting *s, void *field);
void setting_print_agent(const void *field, const struct option *option, FILE *out);
int setting_parse_bytes_text(const struct setting *s, void *field);
void setting_print_bytes_text(const void *field, const struct option *option, FILE *out);
/* Prints text, in quotes, that setting_unescape() reads back. `literal`: also escapes a first byte that would
 * have a special meaning. */
void setting_print_bytes_quoted(const uint8_t *bytes, size_t len, bool literal, FILE *out);
/* Allowed clients and ports, in setting_access.c. */
int setting_parse_networks(const struct setting *s, void *field);
int setting_parse_users(const struct setting *s, void *field);
int setting_parse_ports(const struct setting *s, void *field);
/* One network, reported at `at` if it is not one; likewise one name of setting_sniff.c. */
int setting_network(const struct setting *s, struct at at, const char *text, struct net_prefix *prefix);
int setting_name(const struct setting *s, struct at at, const char *text, struct host_pattern *pattern);
/* Adds such a part of a line, which may also be "@FILE". */
int setting_add_network(const struct setting *s, const struct word *part, struct config_networks *n);
int setting_add_name(const struct setting *s, const struct word *part, struct config_names *names);
/* Maximum bytes of a list of names, with what separates them, so that -T can print it on one line. */
#define SETTING_NAMES_BYTES_MAX 2048
/* Files of networks and names, in setting_list.c. */
/* Adds the list that the word "@FILE" names. */
int setting_add_list(const struct setting *s, const struct word *w, enum list_kind kind,
		     struct config_list **files, size_t *count);
/* "@FILE" */
void setting_print_list(const struct config_list *list, FILE *out);
/* "@FILE (100000 networks, hash 0123456789abcdef)": for a person. */
void setting_print_list_facts(const struct config_list *list, FILE *out);
bool setting_same_lists(const struct config_list *a, size_t a_count, const struct config_list *b,
			size_t b_count);
/* New connections of one source, in setting_source_rate.c. */
int setting_parse_source_rate(const struct setting *s, void *field);
void setting_print_source_rate(const void *field, const struct option *option, FILE *out);
/* What TLS clients say, in setting_sniff.c. */
int setting_parse_sniff(const struct setting *s, void *field);
void setting_print_sniff(const void *field, const struct option *option, FILE *out);
int setting_parse_egress_names(const struct setting *s, void *field);
void setting_print_egress_names(const void *field, const struct option *option, FILE *out);
bool setting_egress_names_are_set(const void *field);
int setting_parse_egress_networks(const struct setting *s, void *field);
void setting_print_egress_networks(const void *field, const struct option *option, FILE *out);
bool setting_egress_networks_are_set(const void *field);
int setting_parse_names(const struct setting *s, void *field);
int setting_parse_protocols(const struct setting *s, void *field);
int setting_parse_protos(const struct setting *s, void *field);
void setting_print_tls_words(const struct config_route *route, FILE *out);
bool setting_same_tls_words(const struct config_route *a, const struct config_route *b);
/* Lines of use-backend, in setting_route.c. */
int setting_parse_route(const struct setting *s, struct route *route);
void setting_print_route(const struct config_route *route, FILE *out);
/* Lines of addresses, in setting_bind.c and setting_server_line.c. */
int setting_parse_bind(const struct setting *s, struct config_bind *bind);
int setting_parse_server(const struct setting *s, struct config_server *server);
/* The words of a server line behind its address, and of a set those of a servers line. */
int setting_parse_server_words(const struct setting *s, struct config_server *server);
/* Sets of servers, in setting_set_line.c. */
int setting_parse_servers(const struct setting *s, struct config_server *set);
/* "dns://HOST:PORT" or "srv://NAME". */
void setting_print_set(const struct config_server *set, FILE *out);
/* The family of a name that a server line leaves open; a name of SRV records has none. */
void setting_set_family(struct config_server *server, enum config_resolve_family family);
/* Words of a server line, in setting_server.c. */
int setting_parse_ip(const struct setting *s, void *field);
void setting_print_ip(const void *field, const struct option *option, FILE *out);
bool setting_ip_is_set(const void *field);
int setting_parse_source(const struct setting *s, void *field);
void setting_print_source(const void *field, const struct option *option, FILE *out);
bool setting_source_is_set(const void *field);
int setting_parse_proxy_tlvs(const struct setting *s, void *field);
void setting_print_proxy_tlvs(const void *field, const struct option *option, FILE *out);
bool setting_proxy_tlvs_is_set(const void *field);

#endif
