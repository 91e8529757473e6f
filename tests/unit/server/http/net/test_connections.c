/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "server/base/metrics.h"
#include "server/http/net/connections.h"
#include "server/http/server.h"
#include "tests/unit/run.h"

static const struct nb_configuration *configuration;
static struct nb_server server;
static struct nb_connections *connections;

static void begin(const char *most, const char *reserved, const char *each, const char *proxies)
{
    const char *keys[] = {"connections", "connections_reserved", "connections_per_address",
                          "proxies"};
    const char *values[] = {most, reserved, each, proxies};
    struct nb_config config;
    ck_assert_int_eq(nb_config_init(&config, NULL), 0);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(nb_config_set(&config, "server", keys[i], values[i], "test", NULL), 0);
    ck_assert_int_eq(nb_configuration_new(&config, &configuration, NULL), 0);
    server = (struct nb_server){.startup = &configuration->config,
                                .metrics = nb_metrics_new(NULL, NULL, 0, "1")};
    nb_configurations_begin(&server, configuration);
    connections = nb_connections_new(&server);
}

static void end(void)
{
    nb_connections_free(&connections);
    nb_metrics_free(&server.metrics);
    nb_configurations_end(&server);
    nb_configuration_release(&configuration);
}

union any {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static union any address_of(const char *text)
{
    union any a;
    memset(&a, 0, sizeof a);
    a.any.sa_family = AF_UNIX;
    if (inet_pton(AF_INET, text, &a.v4.sin_addr) == 1)
        a.any.sa_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &a.v6.sin6_addr) == 1)
        a.any.sa_family = AF_INET6;
    return a;
}

static enum nb_connection_place open_from(const char *text)
{
    union any a = address_of(text);
    return nb_connections_open(connections, &a.any);
}

static void close_from(const char *text)
{
    union any a = address_of(text);
    nb_connections_close(connections, &a.any);
}

START_TEST(keeps_places_for_this_machine)
{
    begin("10", "4", "0", "");
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(open_from("192.0.2.1"), NB_PLACE);
    ck_assert_int_eq(open_from("192.0.2.2"), NB_PLACE_FULL);
    ck_assert_int_eq(open_from("2001:db8::1"), NB_PLACE_FULL);
    ck_assert_int_eq(open_from("127.0.0.1"), NB_PLACE);
    ck_assert_int_eq(open_from("::1"), NB_PLACE);
    ck_assert_int_eq(open_from("::ffff:127.0.0.9"), NB_PLACE);
    ck_assert_int_eq(open_from("a Unix socket"), NB_PLACE);
    for (int i = 0; i < NB_PLACES_FOR_PROBES; i++)
        ck_assert_int_eq(open_from("127.0.0.1"), NB_PLACE_PROBE);
    ck_assert_int_eq(open_from("127.0.0.1"), NB_PLACE_FULL);
    close_from("192.0.2.1");
    ck_assert_int_eq(open_from("192.0.2.2"), NB_PLACE_FULL);
    ck_assert_int_eq(open_from("::1"), NB_PLACE_PROBE);
    end();
}
END_TEST

START_TEST(keeps_at_most_half)
{
    begin("3", "50", "0", "");
    ck_assert_int_eq(open_from("192.0.2.1"), NB_PLACE);
    ck_assert_int_eq(open_from("192.0.2.1"), NB_PLACE);
    ck_assert_int_eq(open_from("192.0.2.1"), NB_PLACE_FULL);
    ck_assert_int_eq(open_from("127.0.0.1"), NB_PLACE);
    end();
}
END_TEST

START_TEST(limits_each_address)
{
    begin("100", "0", "2", "192.0.2.64/26, 2001:db8:9::/48");
    const char *limited[] = {"192.0.2.1", "192.0.2.2", "2001:db8::1"};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(open_from(limited[i]), NB_PLACE);
        ck_assert_int_eq(open_from(limited[i]), NB_PLACE);
        ck_assert_int_eq(open_from(limited[i]), NB_PLACE_ADDRESS);
    }
    ck_assert_int_eq(open_from("::ffff:192.0.2.1"), NB_PLACE_ADDRESS);
    ck_assert_int_eq(open_from("2001:db8::ffff:0:0:1"), NB_PLACE_ADDRESS);
    ck_assert_int_eq(open_from("2001:db8:0:1::1"), NB_PLACE);
    close_from("2001:db8::1");
    ck_assert_int_eq(open_from("2001:db8::2"), NB_PLACE);
    const char *unlimited[] = {"127.0.0.1", "::1", "a Unix socket", "192.0.2.65", "2001:db8:9::1"};
    for (size_t i = 0; i < 5; i++)
        for (int n = 0; n < 5; n++)
            ck_assert_int_eq(open_from(unlimited[i]), NB_PLACE);
    end();
}
END_TEST

START_TEST(knows_probes)
{
    const struct {
        const char *bytes;
        enum nb_probe probe;
    } rows[] = {
        {"", NB_PROBE_MORE},
        {"G", NB_PROBE_MORE},
        {"GET /healthz", NB_PROBE_MORE},
        {"GET /healthz ", NB_PROBE_YES},
        {"GET /readyz HTTP/1.1", NB_PROBE_YES},
        {"HEAD /healthz HTTP/1.1", NB_PROBE_YES},
        {"HEAD /readyz H", NB_PROBE_YES},
        {"GET /healthzz", NB_PROBE_NO},
        {"GET /metrics ", NB_PROBE_NO},
        {"get /healthz ", NB_PROBE_NO},
        {"POST /healthz ", NB_PROBE_NO},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(nb_probe_sniff(rows[i].bytes, strlen(rows[i].bytes)) == rows[i].probe,
                      "row %zu: %s", i, rows[i].bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("connections");
    TCase *tests = tcase_create("connections");
    tcase_add_test(tests, keeps_places_for_this_machine);
    tcase_add_test(tests, keeps_at_most_half);
    tcase_add_test(tests, limits_each_address);
    tcase_add_test(tests, knows_probes);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
