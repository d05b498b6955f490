/* SPDX-License-Identifier: MIT */
/* [export NAME]: what it may hold, what is refused, and that what is printed is read back. */
#include "common/config/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/temp_dir.h"

#define MAIN "[export main]\ntype=otlp\nurl=http://h\n"

static struct config *exports_of(const char *text)
{
	struct config_message message;
	struct config *c = NULL;

	if (config_parse(&c, text, "test.conf", &message))
		fail_msg("refused: %s", message.text);
	return c;
}

static char *printed(const struct config *c)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(config_print(c, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_none(void **state)
{
	cleanup(config_freep) struct config *c = exports_of("");
	cleanup(freep) char *text = printed(c);

	(void)state;
	assert_int_equal(c->n_exports, 0);
	assert_null(strstr(text, "export"));
}

static void test_defaults(void **state)
{
	cleanup(config_freep) struct config *c = exports_of(MAIN);
	const struct config_export *e = &c->exports[0];

	(void)state;
	assert_int_equal(c->n_exports, 1);
	assert_string_equal(e->name, "main");
	assert_string_equal(e->type, "otlp");
	assert_string_equal(e->url, "http://h");
	assert_string_equal(e->header_file, "");
	assert_string_equal(e->ca_file, "");
	assert_string_equal(e->services, "*");
	assert_string_equal(e->labels, "");
	assert_string_equal(e->keep, "");
	assert_int_equal(e->spool_size, UINT64_C(256) << 20);
	assert_int_equal(e->max_age_ns, 0);
}

static void test_values(void **state)
{
	cleanup(config_freep) struct config *c = exports_of(
		"[export\ta-b_9]\ntype = pyroscope\nurl = HTTPS://host.example:4040/tenant/\n"
		"header_file = /etc/profd/headers\nca_file = /etc/ssl/ca.pem\n"
		"services = nginx* , db.service\nservices = web,nginx*\n"
		"labels = team=a b, region=x\n"
		"labels = deployment.environment=caf\xc3\xa9=1\nkeep=thread,pid\n"
		"spool_size = 1G\nmax_age = 1h\n[sampling]\nfrequency = 7\n"
		"[export other]\ntype=parca\nurl=http://[::1]:7070\nkeep=pid\nkeep=\n");
	const struct config_export *e = &c->exports[0];

	(void)state;
	assert_int_equal(c->n_exports, 2);
	assert_int_equal(c->frequency, 7);
	assert_string_equal(e->name, "a-b_9");
	assert_string_equal(e->url, "HTTPS://host.example:4040/tenant/");
	assert_string_equal(e->header_file, "/etc/profd/headers");
	assert_string_equal(e->ca_file, "/etc/ssl/ca.pem");
	assert_string_equal(e->services, "nginx*,db.service,web");
	assert_string_equal(e->labels, "team=a b,region=x,deployment.environment=caf\xc3\xa9=1");
	assert_string_equal(e->keep, "thread,pid");
	assert_int_equal(e->spool_size, UINT64_C(1) << 30);
	assert_int_equal(e->max_age_ns, UINT64_C(3600000000000));
	assert_string_equal(c->exports[1].name, "other");
	assert_string_equal(c->exports[1].url, "http://[::1]:7070");
	assert_string_equal(c->exports[1].keep, "");
}

static void test_refusals(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"[export]\ntype=otlp", "test.conf:1: [export] needs a name"},
		{"[export  ]\n", "[export  ] needs a name"},
		{"[export Main]\n", "[export Main] is no name"},
		{"[export a b]\n", "is no name"},
		{"[export ../a]\n", "is no name"},
		{"[export aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]\n", "is no name"},
		{"[exports a]\nx=y", "unknown section [exports a]"},
		{"[expo]\nx=y", "unknown section [expo]"},
		{MAIN "\n[export main]\n",
		 "test.conf:5: [export main] is there twice: first in line 1"},
		{"[export a]\nurl=http://h\n\n", "test.conf:1: [export a] lacks type"},
		{"[export a]\ntype=otlp\n", "test.conf:1: [export a] lacks url"},
		{MAIN "url=\n", "test.conf:1: [export main] lacks url"},
		{MAIN "type=jaeger\n", "type must be pyroscope, parca or otlp, not 'jaeger'"},
		{MAIN "formats=x\n", "test.conf:4: unknown key 'formats' in [export]"},
		{MAIN "frequency=9\n", "unknown key 'frequency' in [export]"},
		{"[sampling]\ntype=otlp\n", "unknown key 'type' in [sampling]"},
		{MAIN "url=ftp://h\n", "url must begin with http:// or https://"},
		{MAIN "url=host:4040\n", "url must begin with http:// or https://"},
		{MAIN "url=https://\n", "url has no host"},
		{MAIN "url=https:///x\n", "url has no host"},
		{MAIN "url=https://:80\n", "url has no host"},
		{MAIN "url=https://h/a b\n", "url has a blank"},
		{MAIN "url=https://h/\xc3\xa9\n", "url has a blank"},
		{MAIN "url=https://h/?a=b\n", "url may have no ?"},
		{MAIN "url=https://h/#a\n", "url may have no ?"},
		{MAIN "url=https://me:secret@h/\n", "use header_file"},
		{MAIN "header_file=headers\n", "header_file must be an absolute path"},
		{MAIN "ca_file=ca.pem\n", "ca_file must be an absolute path"},
		{MAIN "services=a,,b\n", "services has an empty item"},
		{MAIN "services=a\x1b\n", "with control characters"},
		{MAIN "labels=team\n", "labels must be NAME=VALUE"},
		{MAIN "labels==a\n", "labels must be NAME=VALUE"},
		{MAIN "labels=9a=b\n", "labels must be NAME=VALUE"},
		{MAIN "labels=a b=c\n", "labels must be NAME=VALUE"},
		{MAIN "labels=a=\n", "labels needs a value of 1 to 200 bytes of UTF-8 for 'a'"},
		{MAIN "labels=a=\xff\n", "labels needs a value"},
		{MAIN "labels=a=b\x7f\n", "labels needs a value"},
		{MAIN "labels=a=b,a=c\n", "labels has 'a' twice"},
		{MAIN "labels=a=b\nlabels=a=b\n", "test.conf:5: labels has 'a' twice"},
		{MAIN "labels=__name__=b\n", "labels may not set '__name__'"},
		{MAIN "labels=service_name=b\n", "labels may not set 'service_name'"},
		{MAIN "labels=service.name=b\n", "labels may not set 'service.name'"},
		{MAIN "keep=Thread\n", "keep must be labels of samples"},
		{MAIN "keep=pid,pid\n", "keep has 'pid' twice"},
		{MAIN "spool_size=0\n", "spool_size must be 1M to 1T"},
		{MAIN "max_age=10\n", "max_age must be a duration"},
		{MAIN "max_age=10ms\n", "max_age must be at least 1s"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct config_message message;
		struct config *c = NULL;

		assert_int_equal(config_parse(&c, cases[i].text, "test.conf", &message),
				 CONFIG_E_INVALID);
		assert_null(c);
		assert_int_equal(message.n, 1);
		assert_null(strstr(message.text, "secret"));
		if (!strstr(message.text, cases[i].message))
			fail_msg("'%s' gave '%s'", cases[i].text, message.text);
	}
}

/* Each of them in its line, what belongs to a section that is refused left aside. */
static void test_all_errors(void **state)
{
	static const char text[] = "[export A]\ntype=x\n[export a]\ntype=x\nurl=y\n[export b]\n";
	struct config_message message;
	struct config *c = NULL;

	(void)state;
	assert_int_equal(config_parse(&c, text, "f", &message), CONFIG_E_INVALID);
	assert_string_equal(message.text,
			    "f:1: [export A] is no name: it takes 1 to 32 of the characters a-z "
			    "0-9 _ -\n"
			    "f:4: type must be pyroscope, parca or otlp, not 'x'\n"
			    "f:5: url must begin with http:// or https://");
	assert_int_equal(config_parse(&c, "[export a]\n[export b]\ntype=otlp\n", "f", &message),
			 CONFIG_E_INVALID);
	assert_string_equal(message.text, "f:1: [export a] lacks type\n"
					  "f:2: [export b] lacks url");
}

static void test_bounds(void **state)
{
	struct config_message message;
	struct config *c = NULL;
	char text[8192] = "";

	(void)state;
	for (int i = 0; i < CONFIG_EXPORTS_MAX; i++)
		snprintf(text + strlen(text), 100, "[export n%d]\ntype=otlp\nurl=http://h\n", i);
	c = exports_of(text);
	assert_int_equal(c->n_exports, CONFIG_EXPORTS_MAX);
	config_free(c);
	c = NULL;
	strcat(text, "[export more]\ntype=otlp\nurl=http://h\n");
	assert_int_equal(config_parse(&c, text, "f", &message), CONFIG_E_INVALID);
	assert_string_equal(message.text, "f:25: [export more] is one too many: there may be 8");
	strcpy(text, MAIN "labels = ");
	for (int i = 0; i < 17; i++)
		snprintf(text + strlen(text), 100, "%sa%d=b", i ? "," : "", i);
	assert_int_equal(config_parse(&c, text, "f", &message), CONFIG_E_INVALID);
	assert_non_null(strstr(message.text, "labels has more than 16 items"));
	strcpy(text, MAIN "services = ");
	for (int i = 0; i < 300; i++)
		snprintf(text + strlen(text), 100, "%sservice%d", i ? "," : "", i);
	assert_int_equal(config_parse(&c, text, "f", &message), CONFIG_E_INVALID);
	assert_non_null(strstr(message.text, "services is longer than 2000 bytes"));
}

static void test_print_reads_back(void **state)
{
	cleanup(config_freep) struct config *c = exports_of(
		"[export b]\ntype=parca\nurl=http://h\nmax_age=90m\nlabels=a=b,c=d e\n"
		"services=x*,y\nkeep=pid\n" MAIN);
	cleanup(freep) char *first = printed(c), *second = NULL;
	cleanup(config_freep) struct config *again = exports_of(first);

	(void)state;
	second = printed(again);
	assert_string_equal(first, second);
	assert_int_equal(again->n_exports, 2);
	assert_string_equal(again->exports[0].labels, "a=b,c=d e");
	assert_int_equal(again->exports[0].max_age_ns, UINT64_C(5400000000000));
	assert_non_null(strstr(first, "\n[export main]\ntype = otlp\nurl = http://h\n"
				      "header_file = \nca_file = \nservices = *\nlabels = \n"
				      "keep = \nspool_size = 256M\nmax_age = \n"));
}

/* A later file goes on with a section of an earlier one, whatever their names begin with. */
static void test_drop_ins(void **state)
{
	struct temp_dir dir;
	char path[256];
	cleanup(config_freep) struct config *c = NULL, *none = NULL;
	struct config_message message;

	(void)state;
	temp_dir_make(&dir);
	snprintf(path, sizeof(path), "%s/profd.conf", dir.path);
	write_text(dir.fd, "profd.conf", MAIN "labels=a=b\nservices=x\n");
	write_text(dir.fd, "profd.conf.d/1.conf",
		   "[export main]\nurl=https://other\nlabels=c=d\n[export second]\ntype=parca\n");
	write_text(dir.fd, "profd.conf.d/2.conf", "[export second]\nurl=http://second\n");
	assert_int_equal(config_load(&c, path, NULL, &message), CONFIG_E_OK);
	assert_int_equal(c->n_exports, 2);
	assert_string_equal(c->exports[0].url, "https://other");
	assert_string_equal(c->exports[0].labels, "a=b,c=d");
	assert_string_equal(c->exports[0].services, "x");
	assert_string_equal(c->exports[1].url, "http://second");
	write_text(dir.fd, "profd.conf.d/2.conf", "\n[export second]\nkeep=pid\n");
	assert_int_equal(config_load(&none, path, NULL, &message), CONFIG_E_INVALID);
	assert_non_null(strstr(message.text, "2.conf:2: [export second] lacks url"));
	temp_dir_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),       cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),     cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_all_errors), cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_drop_ins),   cmocka_unit_test(test_print_reads_back),
	};

	return cmocka_run_group_tests_name("config_export", tests, NULL, NULL);
}
