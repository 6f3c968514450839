/* SPDX-License-Identifier: MIT
 *
 * test_checks_tls.c - checks over TLS: what each form becomes, the files of certificates, what is refused.
 *
 * A build without OpenSSL accepts only `check = tls` that verifies nothing, and says so of the rest.
 */
#include <unistd.h>

#include "weir/net/tls_trust.h"
#include "same_config.h"

#define HEAD "[listen a]\nbind = :1\nserver a = 10.0.0.1:80\n"

static char folder[] = "/tmp/weir-checks-XXXXXX";

static const char pem[] =
	"What is in front of it does not count.\n"
	"-----BEGIN CERTIFICATE-----\n"
	"MIIBcDCCARWgAwIBAgIUERWem1u71PijG+jDO2gLFtphMrkwCgYIKoZIzj0EAwIw\n"
	"DDEKMAgGA1UEAwwBdDAgFw0yNjExMjgxODM5MDlaGA8yMTI2MTEwNDE4MzkwOVow\n"
	"DDEKMAgGA1UEAwwBdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABKvpQWpm+Wrf\n"
	"+KcMQsxOk9r4vCddDa581QsMe82DbM9x3Nl1eDu+0b8UXhwXVyA/q0W5oI2yuInj\n"
	"lsVIfvthJQWjUzBRMB0GA1UdDgQWBBRB+eVwcXFdnzUXhiKDfVBPIZL9OTAfBgNV\n"
	"HSMEGDAWgBRB+eVwcXFdnzUXhiKDfVBPIZL9OTAPBgNVHRMBAf8EBTADAQH/MAoG\n"
	"CCqGSM49BAMCA0kAMEYCIQDese/e0jom1GLJsgfjs4Pw3R+CfAfAI52nIQOFwAUm\n"
	"JgIhAINU+tS38cMg4p8uIv41DlYHzjNrm0ggGwybAbEotNoM\n"
	"-----END CERTIFICATE-----\n";

static const char *in_folder(const char *name)
{
	static char path[100];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void write_file(const char *name, const char *text, size_t len)
{
	FILE *out = fopen(in_folder(name), "w");

	assert_non_null(out);
	assert_int_equal(fwrite(text, 1, len, out), len);
	assert_int_equal(fclose(out), 0);
}

static struct loaded load_check(const char *line)
{
	struct config_input input = {0};
	char text[600];
	struct loaded l;

	(void)snprintf(text, sizeof(text), HEAD "%s\n", line);
	write_file("t.ini", text, strlen(text));
	assert_int_equal(config_input_add_path(&input, in_folder("t.ini")), 0);
	l = load_input(&input);
	if (l.config == NULL)
		fail_msg("%s is refused:\n%s", line, l.said);
	return l;
}

static const struct config_check *check_of(const struct loaded *l)
{
	return &l->config->backends[0].check;
}

static void a_hello_alone_needs_no_library(void **state)
{
	struct loaded l = load_check("check = tls alpn=h2,http/1.1 sni=www.example.com port=8443");

	(void)state;
	assert_round_trip(l.config);
	assert_int_equal(check_of(&l)->kind, CONFIG_CHECK_TLS);
	assert_false(check_of(&l)->tls);
	assert_int_equal(check_of(&l)->verify, CONFIG_CHECK_VERIFY_HELLO);
	assert_string_equal(check_of(&l)->alpn, "h2,http/1.1");
	assert_string_equal(check_of(&l)->sni, "www.example.com");
	assert_int_equal(check_of(&l)->port, 8443);
	assert_null(check_of(&l)->trust);
	unload(&l);
}

static void https_has_what_http_has(void **state)
{
	struct loaded l;

	(void)state;
	if (!tls_is_built())
		skip();
	l = load_check("check = https HEAD /x host=a:8443 expect=200 verify=none sni=2001:db8::1 proxy=v1");
	assert_round_trip(l.config);
	assert_int_equal(check_of(&l)->kind, CONFIG_CHECK_HTTP);
	assert_true(check_of(&l)->tls);
	assert_string_equal(check_of(&l)->method, "HEAD");
	assert_string_equal(check_of(&l)->host, "a:8443");
	assert_string_equal(check_of(&l)->sni, "2001:db8::1");
	assert_int_equal(check_of(&l)->verify, CONFIG_CHECK_VERIFY_NONE);
	assert_null(check_of(&l)->trust);
	unload(&l);
}

static void certificates_are_read_once_and_shared(void **state)
{
	struct loaded l, again;
	const struct tls_trust *trust;

	(void)state;
	if (!tls_is_built())
		skip();
	write_file("ca.pem", pem, strlen(pem));
	l = load_check("check = https GET /readyz verify=ca.pem");
	trust = check_of(&l)->trust;
	assert_non_null(trust);
	assert_int_equal(check_of(&l)->verify, CONFIG_CHECK_VERIFY_FILE);
	assert_string_equal(check_of(&l)->ca_file, in_folder("ca.pem"));
	assert_round_trip(l.config);
	again = load_check("check = tls verify=ca.pem");
	assert_true(check_of(&again)->tls);
	assert_ptr_equal(check_of(&again)->trust, trust);
	unload(&again);
	/* Other contents are other certificates, whatever the name. */
	write_file("ca.pem", pem + 1, strlen(pem) - 1);
	again = load_check("check = https GET /readyz verify=ca.pem");
	assert_ptr_not_equal(check_of(&again)->trust, trust);
	unload(&again);
	unload(&l);
}

static void the_system_is_trusted_by_default(void **state)
{
	struct loaded l;

	(void)state;
	if (!tls_is_built())
		skip();
	write_file("ca.pem", pem, strlen(pem));
	assert_int_equal(setenv("SSL_CERT_FILE", in_folder("ca.pem"), 1), 0);
	l = load_check("check = https");
	assert_int_equal(check_of(&l)->verify, CONFIG_CHECK_VERIFY_SYSTEM);
	assert_non_null(check_of(&l)->trust);
	assert_round_trip(l.config);
	unload(&l);
	l = load_check("check = tls verify=system");
	assert_true(check_of(&l)->tls);
	unload(&l);
	assert_int_equal(setenv("SSL_CERT_FILE", in_folder("none"), 1), 0);
	assert_refused(HEAD "check = https\n", "t.ini:4:9: ", "cannot use the certificates in",
		       "verify=none", NULL);
	assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
}

static void assert_file_refused(const char *text, const char *why)
{
	char line[400];

	write_file("bad.pem", text, strlen(text));
	(void)snprintf(line, sizeof(line), HEAD "check = https verify=%s\n", in_folder("bad.pem"));
	assert_refused(line, "t.ini:4:22: ", "cannot use the certificates in", why, NULL);
}

static void files_without_certificates_are_refused(void **state)
{
	(void)state;
	if (!tls_is_built())
		skip();
	assert_file_refused("", "it has no certificate");
	assert_file_refused("-----BEGIN CERTIFICATE-----\nabcd\n", "certificate 1 cannot be read");
	assert_file_refused("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
			    "certificate 1 cannot be read");
	assert_refused(HEAD "check = https verify=/nonexistent/ca.pem\n", "t.ini:4:22: ",
		       "'/nonexistent/ca.pem': No such file", NULL);
	assert_refused(HEAD "check = https verify=/tmp\n", "t.ini:4:22: ", "Is a directory", NULL);
}

static void words_are_refused_at_their_place(void **state)
{
	static const struct {
		const char *line, *where, *hint;
	} rows[] = {
		{"check = http GET / sni=x", "t.ini:4:24: ", "'sni' is for 'check = https' and"},
		{"check = http GET / verify=none", "t.ini:4:27: ", "'verify' is for 'check = https'"},
		{"check = tcp verify=none", "t.ini:4:20: ", "'verify' is for 'check = https'"},
		{"check = tls host=x", "t.ini:4:18: ", "'host' is for 'check = http'"},
		{"check = tls expect=x", "t.ini:4:20: ", "'expect' is for"},
		{"check = tls sni=a/b", "t.ini:4:17: ", "sni=www.example.com"},
		{"check = tls sni=", "t.ini:4:13: ", "'sni' needs a value"},
		{"check = tls alpn=h2,,x", "t.ini:4:21: ", "write alpn=h2,http/1.1"},
		{"check = tls alpn=,h2", "t.ini:4:18: ", "write alpn=h2,http/1.1"},
		{"check = tls alpn=h2,", "t.ini:4:18: ", "write alpn=h2,http/1.1"},
		{"check = http alpn=h2", "t.ini:4:19: ", "'alpn' is for 'check = tls'"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[200];

		(void)snprintf(text, sizeof(text), HEAD "%s\n", rows[i].line);
		assert_refused(text, rows[i].where, rows[i].hint, NULL);
	}
	if (tls_is_built())
		return;
	assert_refused(HEAD "check = https GET /\n", "t.ini:4:9: ", "'check = https' needs OpenSSL",
		       NULL);
	assert_refused(HEAD "check = tls verify=none\n", "t.ini:4:20: ", "'verify' needs OpenSSL", NULL);
}

static void words_of_haproxy_lead_there(void **state)
{
	(void)state;
	assert_refused(HEAD "option ssl-hello-chk\n", "t.ini:4:1: ", "write 'check = tls'", NULL);
	assert_refused(HEAD "server b = 10.0.0.2:80 check-ssl\n", "write 'check = https GET /'", NULL);
	assert_refused(HEAD "server b = 10.0.0.2:80 check-sni x.example\n",
		       "'check = https GET / sni=x.example'", NULL);
	assert_refused(HEAD "server b = 10.0.0.2:80 check-alpn h2\n", "write 'check = tls alpn=h2'", NULL);
	assert_refused(HEAD "server b = 10.0.0.2:80 verify none\n", "'check = https GET / verify=none'",
		       NULL);
	assert_refused(HEAD "server b = 10.0.0.2:80 ca-file /a.pem\n",
		       "'check = https GET / verify=/a.pem'", NULL);
}

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = {"t.ini", "ca.pem", "bad.pem"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)unlink(in_folder(names[i])); /* a build may have made only some */
	assert_int_equal(rmdir(folder), 0);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hello_alone_needs_no_library),
		cmocka_unit_test(https_has_what_http_has),
		cmocka_unit_test(certificates_are_read_once_and_shared),
		cmocka_unit_test(the_system_is_trusted_by_default),
		cmocka_unit_test(files_without_certificates_are_refused),
		cmocka_unit_test(words_are_refused_at_their_place),
		cmocka_unit_test(words_of_haproxy_lead_there),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
