/* SPDX-License-Identifier: MIT
 *
 * test_copy.c - copies of what was read, compared with a second reading: by same.h, and by same_config.h.
 */
#include "same_config.h"

#include "weir/config/copy.h"
#include "weir/config/same.h"

static const char text[] = "[global]\n"
			   "user = nobody\n"
			   "log = file:/tmp/x level=debug format=json\n"
			   "log = syslog:unix:/dev/log facility=local3\n"
			   "[backend x]\n"
			   "server a = 10.0.0.2:80\n"
			   "[backend y]\n"
			   "server a = app.example:80 source=client\n"
			   "check = expect=hello send \"PING\\r\\n\" expect=!no\n"
			   "congestion = reno\n"
			   "balance = source hash=consistent\n"
			   "[listen web]\n"
			   "bind main = 127.0.0.1:0 interface=lo backlog=7\n"
			   "bind = unix:@x accept-proxy\n"
			   "bind = unix:/tmp/weir-x mode=600\n"
			   "server a = 10.0.0.1:80 weight=2 source=10.0.0.9,10.0.0.8\n"
			   "server b = unix:/tmp/weir-y send-proxy=v2 proxy-v2-options=crc32c check=off\n"
			   "timeout-idle = 5m\n"
			   "allow-from = 10.0.0.0/8 ::1\n"
			   "deny-from = 10.1.0.0/16\n"
			   "trusted = 10.2.0.0/16\n"
			   "use-backend x = src=10.0.0.0/8 dst-port=1-9,80\n"
			   "use-backend y = dst-port=90\n"
			   "sniff = tls timeout=1s\n"
			   "use-backend y = sni=*.example.com,a.b,none alpn=h2\n"
			   "check = http GET /health host=h expect=200,300-301 expect=OK\n"
			   "congestion = reno\n"
			   "allow-uid = 0 1\n";

static void assert_frontend_copy(const struct config_frontend *copy, struct config_frontend *again)
{
	assert_true(config_frontend_same(copy, again));
	again->bind_count = 0; /* a copy has none */
	assert_same_frontend(copy, again);
}

static void assert_backend_copy(const struct config_backend *copy, struct config_backend *again)
{
	assert_true(config_backend_same(copy, again));
	again->server_count = 0; /* a copy has none */
	assert_same_backend(copy, again);
}

static void copies_of_one_reading_are_what_another_reads(void **state)
{
	struct loaded first = load_text(text), again = load_text(text);
	const struct config *c = first.config;
	struct config_frontend *web;
	struct config_backend *back[3];
	struct config_server *servers[2];
	struct config_bind *binds[3];
	struct config_log *logs[2];

	(void)state;
	if (c == NULL)
		fail_msg("%s", first.said);
	assert_int_equal(c->frontend_count, 1);
	assert_int_equal(c->backend_count, ARRAY_LEN(back));
	assert_int_equal(c->backends[2].server_count, ARRAY_LEN(servers));
	assert_int_equal(c->frontends[0].bind_count, ARRAY_LEN(binds));
	assert_int_equal(c->global.log_count, ARRAY_LEN(logs));
	web = config_frontend_copy(&c->frontends[0]);
	for (size_t i = 0; i < ARRAY_LEN(back); i++)
		back[i] = config_backend_copy(&c->backends[i]);
	for (size_t i = 0; i < ARRAY_LEN(servers); i++)
		servers[i] = config_server_copy(&c->backends[2].servers[i]);
	for (size_t i = 0; i < ARRAY_LEN(binds); i++)
		binds[i] = config_bind_copy(&c->frontends[0].binds[i]);
	for (size_t i = 0; i < ARRAY_LEN(logs); i++)
		logs[i] = config_log_copy(&c->global.logs[i]);
	unload(&first);

	for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
		assert_true(config_server_same(servers[i], &again.config->backends[2].servers[i]));
		assert_same_server(servers[i], &again.config->backends[2].servers[i]);
		config_server_copy_free(servers[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(binds); i++) {
		assert_true(config_bind_same(binds[i], &again.config->frontends[0].binds[i]));
		assert_same_bind(binds[i], &again.config->frontends[0].binds[i]);
		assert_string_equal(binds[i]->place.file, "t.ini");
		config_bind_copy_free(binds[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(logs); i++) {
		assert_true(config_log_same(logs[i], &again.config->global.logs[i]));
		config_log_copy_free(logs[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(back); i++) {
		assert_backend_copy(back[i], &again.config->backends[i]);
		config_backend_copy_free(back[i]);
	}
	assert_frontend_copy(web, &again.config->frontends[0]);
	config_frontend_copy_free(web);
	unload(&again);
}

static struct config_frontend *first_frontend(struct loaded *l, const char *lines)
{
	*l = load_text(lines);
	if (l->config == NULL)
		fail_msg("%s", l->said);
	return &l->config->frontends[0];
}

/* The same settings in another file, on other lines, written another way, with another backend before. */
static void where_and_how_it_is_written_does_not_count(void **state)
{
	struct loaded a, b, c;
	const struct config_frontend *x, *y, *z;

	(void)state;
	x = first_frontend(&a, "[listen l]\nbind = :4000\nserver s = 10.0.0.1:80\ntimeout-client = 1m\n"
			       "allow-from = 10.0.0.0/8\n");
	y = first_frontend(&b, "[defaults]\ntimeout-client = 60s\n[backend b]\nserver s = 10.0.0.1:80\n"
			       "[listen l]\nallow-from = 10.0.0.0/8\nserver s = 10.0.0.1:80\nbind = :4000\n");
	z = first_frontend(&c, "[listen l]\nbind = :4000\nserver s = 10.0.0.1:80\ntimeout-client = 1m\n"
			       "allow-from = 10.0.0.0/9\n");
	assert_true(config_frontend_same(x, y));
	assert_true(config_bind_same(&x->binds[0], &y->binds[0]));
	assert_true(config_backend_same(&a.config->backends[0], &c.config->backends[0]));
	assert_false(config_frontend_same(x, z));
	unload(&a);
	unload(&b);
	unload(&c);
}

/* addr_equal() ignores the interface of a link-local address; a connection does not. */
static void interface_of_an_address_counts(void **state)
{
	struct loaded a = load_text("[listen l]\nbind = :4000\nserver s = [fe80::1%lo]:80\n");
	struct config_server *copy;

	(void)state;
	if (a.config == NULL)
		fail_msg("%s", a.said);
	copy = config_server_copy(&a.config->backends[0].servers[0]);
	assert_true(config_server_same(copy, &a.config->backends[0].servers[0]));
	copy->addr.addr.in6.sin6_scope_id++;
	assert_false(config_server_same(copy, &a.config->backends[0].servers[0]));
	config_server_copy_free(copy);
	unload(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(copies_of_one_reading_are_what_another_reads),
	    cmocka_unit_test(where_and_how_it_is_written_does_not_count),
	    cmocka_unit_test(interface_of_an_address_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
