/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the beginning of a connection: told from HTTP the same way however few have come,
 * and as the head of a line protocol read the same way in one piece and byte by byte.
 */
#include <stdint.h>
#include <string.h>

#include "server/mail/line_head.h"
#include "server/mail/line_reply.h"
#include "server/mail/line_routes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        __builtin_trap();
}

static void check_sniff(struct nb_string bytes)
{
    enum nb_line_sniff before = NB_SNIFF_MORE;
    for (size_t i = 0; i <= bytes.length && i <= NB_LINE_SNIFF_BYTES; i++) {
        enum nb_line_sniff now = nb_line_sniff(bytes.bytes, i);
        check(before == NB_SNIFF_MORE || now == before);
        check(i < NB_LINE_SNIFF_BYTES || now != NB_SNIFF_MORE);
        before = now;
    }
}

/* Byte by byte up to a bound: longer ones would only take longer. */
static int read_slowly(struct nb_line_head *head, struct nb_string bytes)
{
    int rc = NB_LINE_MORE;
    nb_line_head_begin(head, bytes);
    for (size_t i = bytes.length > 2000 ? bytes.length : 0; rc == NB_LINE_MORE; i++) {
        rc = nb_line_head_read(head, (struct nb_string){bytes.bytes, i}, NULL);
        if (i == bytes.length)
            break;
    }
    return rc;
}

static void check_head(struct nb_string bytes)
{
    struct nb_line_head head, slow;
    struct nb_error error;
    nb_line_head_begin(&head, bytes);
    int rc = nb_line_head_read(&head, bytes, &error);
    check(read_slowly(&slow, bytes) == rc);
    check(head.scanned == slow.scanned && head.version == slow.version &&
          head.length == slow.length);
    check(head.scanned <= bytes.length && head.scanned <= NB_LINE_HEAD_BYTES);
    if (rc != 0)
        return;
    struct nb_string user = nb_line_head_field(&head, bytes, "User");
    check(user.bytes == NULL ||
          (user.bytes >= bytes.bytes && user.bytes + user.length <= bytes.bytes + head.scanned));
    struct nb_string mail = {bytes.bytes + head.scanned, bytes.length - head.scanned};
    check(nb_line_header(mail).length <= mail.length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nb_string bytes = {(const char *)data, size};
    check_sniff(bytes);
    if (nb_line_sniff(bytes.bytes, size < NB_LINE_SNIFF_BYTES ? size : NB_LINE_SNIFF_BYTES) ==
        NB_SNIFF_LINE)
        check_head(bytes);
    return 0;
}
