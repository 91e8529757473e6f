/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/shared/framed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = 100 };

void bench_require(int rc, const char *what)
{
    if (rc != 0) {
        fprintf(stderr, "%s: %s: error %d\n", program_invocation_short_name, what, rc);
        exit(1);
    }
}

static void read_file(struct nb_buffer *out, const char *path)
{
    char block[1 << 16];
    FILE *file = fopen(path, "rb");
    bench_require(file == NULL, path);
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;)
        bench_require(nb_buffer_append(out, block, n), path);
    fclose(file);
}

/* Returns the mail whose line begins at `at`. */
static struct bench_mail parse_mail(const char *at, const char *end)
{
    size_t rest = (size_t)(end - at);
    const char *line_end = memchr(at, '\n', rest < LINE_MOST ? rest : LINE_MOST);
    bench_require(line_end == NULL, "framing");
    const char *space = memchr(at, ' ', (size_t)(line_end - at));
    char *after;
    size_t length = strtoul(space != NULL ? space : at, &after, 10);
    bench_require(after != line_end || length > (size_t)(end - line_end) - 1, "framing");
    return (struct bench_mail){
        .label = {at, space != NULL ? (size_t)(space - at) : 0},
        .document = {.kind = NB_DOCUMENT_MAIL, .bytes = line_end + 1, .length = length}};
}

void bench_mails_read(struct bench_mails *m, const char *path)
{
    read_file(&m->bytes, path);
    const char *end = m->bytes.bytes + m->bytes.length;
    for (const char *at = m->bytes.bytes; at < end; m->count++) {
        if ((m->count & (m->count - 1)) == 0) /* a power of two: full */
            m->mails = realloc(m->mails, (m->count * 2 + 1) * sizeof *m->mails);
        bench_require(m->mails == NULL, "memory");
        m->mails[m->count] = parse_mail(at, end);
        at = m->mails[m->count].document.bytes + m->mails[m->count].document.length;
    }
    bench_require(m->count == 0, "no mails");
}

void bench_mails_deinit(struct bench_mails *m)
{
    nb_buffer_deinit(&m->bytes);
    free(m->mails);
}
