/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets as mail servers send them and as they do not; and the relay between a mail server and a
 * listener that stands for libmilter.
 */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "server/base/listen_unix.h"
#include "server/base/log.h"
#include "server/milter/packet.h"
#include "server/milter/relay.h"

#define COUNT(table) (int)(sizeof(table) / sizeof(table)[0])
#define BYTES(text)                                                                                \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

/* ---- packets ----------------------------------------------------------------------------------
 */

static const struct {
    struct nb_string data; /* command and what follows */
    bool is_right;
} packets[] = {
    {BYTES("O\0\0\0\6\0\0\1\xFF\0\x1F\xFF\xFF"), true},
    {BYTES("O\0\0\0\6\0\0\1\xFF\0\x1F\xFF"), false},
    {BYTES("DC"), true},
    {BYTES("DCj\0mx.example.net\0"), true},
    {BYTES("DCj\0\0"), true}, /* an empty value */
    {BYTES("DCj\0a\0{b}\0c\0"), true},
    {BYTES("DCj\0a\0b\0"), false},
    {BYTES("DMi\0abc"), false},
    {BYTES("DMi\0"), false},
    {BYTES("DM\0"), false},
    {BYTES("DMi"), false},
    {BYTES("D"), false},
    {BYTES("Chost\0U"), true},
    {BYTES("Chost\0004\0\31192.0.2.1\0"), true},
    {BYTES("Chost\0006\0\0::1\0"), true},
    {BYTES("Chost\0L\0\0/run/x\0"), true},
    {BYTES("C\0U"), true},
    {BYTES("Chost"), false},
    {BYTES("Chost\0"), false},
    {BYTES("Chost\0X\0\31192.0.2.1\0"), false},
    {BYTES("Chost\0\0"), false},
    {BYTES("Chost\0004"), false},
    {BYTES("Chost\0004\0\0"), false},
    {BYTES("Chost\0004\0\31192.0.2.1"), false},
    {BYTES("C"), false},
    {BYTES("Hname\0"), true},
    {BYTES("H\0"), true},
    {BYTES("Hname"), false},
    {BYTES("H"), false},
    {BYTES("M<a@example.org>\0SIZE=7\0"), true},
    {BYTES("M<a@example.org>"), false},
    {BYTES("M"), false},
    {BYTES("R<a@example.org>\0"), true},
    {BYTES("R"), false},
    {BYTES("LSubject\0lunch\0"), true},
    {BYTES("LSubject\0\0"), true},
    {BYTES("LSubject\0"), false},
    {BYTES("LSubject\0lunch"), false},
    {BYTES("L\0lunch\0"), false},
    {BYTES("L"), false},
    {BYTES("B"), true},
    {BYTES("Bany\0thing\xFF"), true},
    {BYTES("E"), true},
    {BYTES("Elast"), true},
    {BYTES("A"), true},
    {BYTES("K"), true},
    {BYTES("N"), true},
    {BYTES("Q"), true},
    {BYTES("T"), true},
    {BYTES("UHELP\0"), true},
    {BYTES("UHELP"), false},
    {BYTES("G"), false},
    {BYTES("\0"), false},
    {BYTES("\xFF"), false},
};

static void append_packet(struct nb_buffer *out, struct nb_string data)
{
    const char head[NB_PACKET_HEAD] = {(char)(data.length >> 24), (char)(data.length >> 16),
                                       (char)(data.length >> 8), (char)data.length};
    ck_assert_int_eq(nb_buffer_append(out, head, sizeof head), 0);
    ck_assert_int_eq(nb_buffer_append(out, data.bytes, data.length), 0);
}

START_TEST(a_packet_is_checked)
{
    struct nb_buffer bytes = {0};
    struct nb_error error = {0};
    size_t size = 0;
    append_packet(&bytes, packets[_i].data);
    for (size_t i = 0; i < bytes.length; i++)
        ck_assert_int_eq(nb_packet_check((struct nb_string){bytes.bytes, i}, &size, &error),
                         NB_PACKET_MORE);
    struct nb_string whole = {bytes.bytes, bytes.length};
    int rc = nb_packet_check(whole, &size, &error);
    ck_assert_msg(rc == (packets[_i].is_right ? 0 : NB_INVALID), "%d: %s", rc, error.text);
    ck_assert(rc != 0 || size == bytes.length);
    ck_assert(rc == 0 || error.text[0] != '\0');
    /* What follows does not matter. */
    append_packet(&bytes, (struct nb_string)BYTES("Zwhat"));
    ck_assert_int_eq(nb_packet_check((struct nb_string){bytes.bytes, bytes.length}, &size, &error),
                     rc);
    nb_buffer_deinit(&bytes);
}
END_TEST

START_TEST(the_length_is_bounded)
{
    static const struct {
        unsigned char head[NB_PACKET_HEAD];
        int rc;
    } heads[] = {
        {{0, 0, 0, 0}, NB_INVALID},         {{0, 0, 0, 1}, NB_PACKET_MORE},
        {{0, 4, 0, 0}, NB_PACKET_MORE}, /* NB_PACKET_MOST */
        {{0, 4, 0, 1}, NB_INVALID},         {{0x80, 0, 0, 0}, NB_INVALID},
        {{255, 255, 255, 255}, NB_INVALID},
    };
    struct nb_error error;
    size_t size;
    for (int i = 0; i < COUNT(heads); i++) {
        struct nb_string bytes = {(const char *)heads[i].head, sizeof heads[i].head};
        ck_assert_msg(nb_packet_check(bytes, &size, &error) == heads[i].rc, "%d", i);
    }
}
END_TEST

/* ---- the relay --------------------------------------------------------------------------------
 */

static struct {
    char folder[64], outer[80], inner[80];
    int listener; /* libmilter's */
    struct nb_milter_relay *relay;
} run;

static void start(size_t connections)
{
    struct nb_error error;
    int rc;
    nb_log_setup(NB_LOG_ERROR);
    (void)snprintf(run.folder, sizeof run.folder, "/tmp/test_relay-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(run.folder));
    (void)snprintf(run.outer, sizeof run.outer, "%s/outer", run.folder);
    (void)snprintf(run.inner, sizeof run.inner, "%s/inner", run.folder);
    struct nb_relay_settings settings = {
        .inner = run.inner, .connections = connections, .seconds = 1};
    ck_assert_int_eq(nb_listen_unix(run.inner, 0600, &run.listener, &error), 0);
    ck_assert_int_eq(nb_listen_unix(run.outer, 0600, &settings.listener, &error), 0);
    rc = nb_relay_start(&settings, &run.relay, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
}

static void stop(void)
{
    nb_relay_stop(&run.relay);
    ck_assert_ptr_null(run.relay);
    (void)close(run.listener);
    (void)unlink(run.outer);
    (void)unlink(run.inner);
    (void)rmdir(run.folder);
}

static void set_patience(int file)
{
    const struct timeval patience = {.tv_sec = 60};
    ck_assert_int_eq(setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
}

/* A mail server's connection. */
static int visit(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int file = socket(AF_UNIX, SOCK_STREAM, 0);
    memcpy(address.sun_path, run.outer, strlen(run.outer) + 1);
    ck_assert_int_eq(connect(file, (const struct sockaddr *)(const void *)&address, sizeof address),
                     0);
    set_patience(file);
    return file;
}

/* The connection that the relay makes for it. */
static int answer(void)
{
    int file;
    while ((file = accept(run.listener, NULL, NULL)) < 0)
        ck_assert(errno == EAGAIN && usleep(1000) == 0);
    set_patience(file);
    return file;
}

static void say(int file, struct nb_string bytes)
{
    ck_assert_int_eq(send(file, bytes.bytes, bytes.length, MSG_NOSIGNAL), (ssize_t)bytes.length);
}

static void hear(int file, struct nb_string bytes)
{
    char got[256];
    ck_assert_uint_le(bytes.length, sizeof got);
    ck_assert_int_eq(recv(file, got, bytes.length, MSG_WAITALL), (ssize_t)bytes.length);
    ck_assert_int_eq(memcmp(got, bytes.bytes, bytes.length), 0);
}

static void hear_end(int file)
{
    char byte;
    ssize_t got = recv(file, &byte, 1, 0);
    ck_assert_msg(got == 0 || (got < 0 && errno == ECONNRESET), "%zd", got);
    (void)close(file);
}

#define SAY(file, text) say(file, (struct nb_string)BYTES(text))
#define HEAR(file, text) hear(file, (struct nb_string)BYTES(text))

START_TEST(whole_packets_pass)
{
    start(10);
    int server = visit(), milter = answer();
    SAY(server, "\0\0\0\5Hme");
    SAY(milter, "\0\0\0\1c"); /* it need not wait */
    HEAR(server, "\0\0\0\1c");
    char byte;
    ck_assert_int_eq(recv(milter, &byte, 1, MSG_DONTWAIT), -1); /* not half of it */
    SAY(server, "!\0\0\0\0\1N\0\0");
    HEAR(milter, "\0\0\0\5Hme!\0\0\0\0\1N");
    SAY(server, "\0\1Q");
    HEAR(milter, "\0\0\0\1Q");
    SAY(milter, "last words");
    (void)close(milter);
    HEAR(server, "last words");
    hear_end(server);
    stop();
}
END_TEST

START_TEST(a_mail_server_may_go_first)
{
    start(10);
    int server = visit(), milter = answer();
    SAY(server, "\0\0\0\1N\0\0\0\1"); /* the second is not complete */
    (void)shutdown(server, SHUT_WR);
    HEAR(milter, "\0\0\0\1N");
    SAY(milter, "answer");
    HEAR(server, "answer");
    hear_end(milter);
    hear_end(server);
    server = visit();
    milter = answer();
    (void)close(server);
    hear_end(milter);
    stop();
}
END_TEST

START_TEST(a_bad_packet_ends_its_connection)
{
    start(10);
    int server = visit(), milter = answer(), other = visit(), other_milter = answer();
    SAY(server, "\0\0\0\7DMi\0abc");
    hear_end(server);
    hear_end(milter);
    SAY(other, "\0\0\0\1N");
    HEAR(other_milter, "\0\0\0\1N");
    (void)close(other);
    hear_end(other_milter);
    stop();
}
END_TEST

START_TEST(a_packet_must_come_to_its_end)
{
    start(10);
    int server = visit(), milter = answer(), idle = visit(), idle_milter = answer();
    SAY(server, "\0\0\0\5B");
    hear_end(server); /* after a second */
    hear_end(milter);
    SAY(idle, "\0\0\0\1N"); /* between packets there is time */
    HEAR(idle_milter, "\0\0\0\1N");
    (void)close(idle);
    hear_end(idle_milter);
    stop();
}
END_TEST

START_TEST(connections_are_counted)
{
    start(2);
    int first = visit(), first_milter = answer(), second = visit(), second_milter = answer();
    hear_end(visit());
    (void)close(first);
    hear_end(first_milter);
    int third = visit(), third_milter = answer();
    SAY(third, "\0\0\0\1N");
    HEAR(third_milter, "\0\0\0\1N");
    (void)close(second_milter);
    hear_end(second);
    (void)close(third);
    hear_end(third_milter);
    stop();
}
END_TEST

/* Sends until nothing more is taken; returns how many bytes that were. */
static size_t fill(int file)
{
    static const char body[NB_PACKET_HEAD + 1000] = {0, 0, 3, (char)0xE8, 'B'};
    size_t sent = 0;
    for (int quiet = 0; quiet < 50;) {
        ssize_t count = send(file, body + sent % sizeof body, sizeof body - sent % sizeof body,
                             MSG_DONTWAIT | MSG_NOSIGNAL);
        sent += count > 0 ? (size_t)count : 0;
        quiet = count > 0 ? 0 : quiet + 1;
        (void)usleep(count > 0 ? 0 : 2000);
    }
    return sent;
}

/* The relay does not gather what the other side does not read. */
START_TEST(who_does_not_read_is_sent_no_more)
{
    start(10);
    int server = visit(), milter = answer();
    char bytes[65536];
    size_t sent = fill(server), got = 0;
    ck_assert_uint_lt(sent, 4 << 20);
    (void)shutdown(server, SHUT_WR);
    for (ssize_t count; (count = recv(milter, bytes, sizeof bytes, 0)) > 0;)
        got += (size_t)count;
    ck_assert_uint_eq(got, sent - sent % (NB_PACKET_HEAD + 1000));
    sent = fill(milter);
    ck_assert_uint_lt(sent, 4 << 20);
    (void)close(milter);
    for (ssize_t count; (count = recv(server, bytes, sizeof bytes, 0)) > 0;)
        sent -= (size_t)count;
    ck_assert_uint_eq(sent, 0);
    (void)close(server);
    stop();
}
END_TEST

START_TEST(a_stop_ends_connections)
{
    start(10);
    int server = visit(), milter = answer();
    nb_relay_close_listener(run.relay);
    SAY(server, "\0\0\0\1N");
    HEAR(milter, "\0\0\0\1N");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, run.outer, strlen(run.outer) + 1);
    for (;;) { /* until the thread has seen it */
        int file = socket(AF_UNIX, SOCK_STREAM, 0);
        int rc = connect(file, (const struct sockaddr *)(const void *)&address, sizeof address);
        (void)close(file);
        if (rc != 0)
            break;
    }
    ck_assert_int_eq(errno, ECONNREFUSED);
    stop();
    hear_end(server);
    hear_end(milter);
}
END_TEST

/* As many as are open, so that no more can be opened; or what it was before. */
static void limit_descriptors(bool is_limited)
{
    static struct rlimit before;
    int next = dup(run.listener);
    if (before.rlim_max == 0)
        ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit limit = before;
    if (is_limited)
        limit.rlim_cur = (rlim_t)next;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    if (next >= 0)
        (void)close(next);
}

/* A mail server that waits is not asked in again and again. */
START_TEST(without_descriptors_the_relay_rests)
{
    char told[65536];
    int log[2], server = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    start(10);
    memcpy(address.sun_path, run.outer, strlen(run.outer) + 1);
    ck_assert_int_eq(pipe(log), 0);
    ck_assert_int_eq(dup2(log[1], STDERR_FILENO), STDERR_FILENO);
    (void)close(log[1]);
    limit_descriptors(true);
    ck_assert_int_eq(
        connect(server, (const struct sockaddr *)(const void *)&address, sizeof address), 0);
    ssize_t length = 0;
    while (memchr(told, '\n', (size_t)length) == NULL)
        length += read(log[0], told + length, 1);
    (void)usleep(500000);
    struct pollfd more = {.fd = log[0], .events = POLLIN};
    ck_assert_int_eq(poll(&more, 1, 0), 0);
    limit_descriptors(false);
    set_patience(server);
    int milter = answer(); /* in half a second */
    SAY(server, "\0\0\0\1N");
    HEAR(milter, "\0\0\0\1N");
    (void)close(server);
    hear_end(milter);
    stop();
    (void)close(log[0]);
}
END_TEST

START_TEST(without_libmilter_nobody_is_served)
{
    start(10);
    (void)close(run.listener);
    hear_end(visit());
    hear_end(visit());
    stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("relay");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, a_packet_is_checked, 0, COUNT(packets));
    tcase_add_test(all, the_length_is_bounded);
    tcase_add_test(all, whole_packets_pass);
    tcase_add_test(all, a_mail_server_may_go_first);
    tcase_add_test(all, a_bad_packet_ends_its_connection);
    tcase_add_test(all, a_packet_must_come_to_its_end);
    tcase_add_test(all, connections_are_counted);
    tcase_add_test(all, who_does_not_read_is_sent_no_more);
    tcase_add_test(all, a_stop_ends_connections);
    tcase_add_test(all, without_descriptors_the_relay_rests);
    tcase_add_test(all, without_libmilter_nobody_is_served);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
