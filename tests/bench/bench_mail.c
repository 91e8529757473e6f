/* SPDX-License-Identifier: Apache-2.0
 *
 *     bench_mail BODIES DIRECTORY
 *
 * What a raw mail costs, stage by stage and without HTTP: microseconds of processor time on one
 * thread, averages over the mails of BODIES (framed as load.c reads them). Every mail is trained
 * first, ham and spam in turns, into the model `mail` of a new store in DIRECTORY, which is left
 * there for a daemon to serve; so bytes of memory and disk per learned mail are told as well.
 *
 * The stages are differences: reading a mail of which no field is counted, with and without its
 * HTML parts; counting all its fields; classifying it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/engine/engine.h"

enum { ROUNDS = 5, BATCH = 500 };

static const struct nb_string MODEL = {"mail", 4};

struct mails {
    struct nb_buffer bytes;
    struct nb_document *documents;
    size_t count;
};

static void require(int rc, const char *what)
{
    if (rc != 0) {
        fprintf(stderr, "bench_mail: %s: error %d\n", what, rc);
        exit(1);
    }
}

static void read_file(struct nb_buffer *out, const char *path)
{
    char block[1 << 16];
    FILE *file = fopen(path, "rb");
    require(file == NULL, path);
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;)
        require(nb_buffer_append(out, block, n), path);
    fclose(file);
}

static void read_mails(struct mails *m, const char *path)
{
    read_file(&m->bytes, path);
    const char *end = m->bytes.bytes + m->bytes.length;
    for (const char *at = m->bytes.bytes; at < end; m->count++) {
        char *body;
        size_t length = strtoul(at, &body, 10);
        require(*body++ != '\n' || length > (size_t)(end - body), "framing");
        if ((m->count & (m->count - 1)) == 0) /* a power of two: full */
            m->documents = realloc(m->documents, (m->count * 2 + 1) * sizeof *m->documents);
        require(m->documents == NULL, "memory");
        m->documents[m->count] =
            (struct nb_document){.kind = NB_DOCUMENT_MAIL, .bytes = body, .length = length};
        at = body + length;
    }
    require(m->count == 0, "no mails");
}

/* The same mails with HTML parts that are none to the tokenizer. */
static void hide_html(const struct mails *m, struct mails *hidden)
{
    static const char html[] = "text/html";
    require(nb_buffer_append(&hidden->bytes, m->bytes.bytes, m->bytes.length), "memory");
    hidden->count = m->count;
    hidden->documents = malloc(m->count * sizeof *m->documents);
    require(hidden->documents == NULL, "memory");
    for (size_t i = 0; i < m->count; i++) {
        hidden->documents[i] = m->documents[i];
        hidden->documents[i].bytes = hidden->bytes.bytes + (m->documents[i].bytes - m->bytes.bytes);
    }
    char *at = hidden->bytes.bytes;
    char *end = at + hidden->bytes.length;
    while ((at = memmem(at, (size_t)(end - at), html, sizeof html - 1)) != NULL)
        memcpy(at, "font", 4);
}

static void mails_deinit(struct mails *m)
{
    nb_buffer_deinit(&m->bytes);
    free(m->documents);
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* Microseconds of this thread's own time: other programs do not count. */
static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Per mail, the best of some rounds. */
static double time_tokenizer(const struct mails *m, uint32_t fields)
{
    const struct nb_tokenizer_limits limits = NB_TOKENIZER_LIMITS_DEFAULT;
    const struct nb_tokenizer_settings settings = {.fields = fields};
    const unsigned char secret[NB_KEY_BYTES] = {17, 63};
    struct nb_key key;
    struct nb_bag bag = {0};
    double best = 0;
    nb_key_restore(&key, secret);
    for (int round = 0; round < ROUNDS; round++) {
        double start = processor_time();
        for (size_t i = 0; i < m->count; i++)
            require(nb_document_tokenize(&m->documents[i], &key, &settings, &limits, &bag),
                    "tokenize");
        double time = processor_time() - start;
        best = round == 0 || time < best ? time : best;
    }
    nb_bag_deinit(&bag);
    return best / (double)m->count;
}

static double time_classify(struct nb_engine *engine, const struct mails *m)
{
    struct nb_verdict verdict;
    double best = 0;
    nb_verdict_init(&verdict);
    for (int round = 0; round < ROUNDS; round++) {
        double start = processor_time();
        for (size_t i = 0; i < m->count; i++)
            require(nb_engine_classify(engine, MODEL, &m->documents[i], 0, &verdict, NULL),
                    "classify");
        double time = processor_time() - start;
        best = round == 0 || time < best ? time : best;
    }
    nb_verdict_deinit(&verdict);
    return best / (double)m->count;
}

static void train(struct nb_engine *engine, const struct mails *m)
{
    static const struct nb_string labels[] = {{"ham", 3}, {"spam", 4}};
    for (size_t i = 0; i < m->count;) {
        struct nb_batch *batch;
        require(nb_batch_new(engine, MODEL, false, &batch, NULL), "batch");
        for (size_t stop = i + BATCH; i < stop && i < m->count; i++)
            require(nb_batch_train(batch, &m->documents[i], labels[i % 2], (struct nb_string){0},
                                   (struct nb_string){0}, NULL),
                    "train");
        nb_engine_apply(engine, batch);
        for (size_t k = 0; k < nb_batch_size(batch); k++)
            require(nb_batch_receipt(batch, k)->code, "commit");
        nb_batch_free(&batch);
    }
}

static void measure(const struct mails *m, struct nb_engine *engine)
{
    struct mails hidden = {0};
    struct nb_engine_statistics statistics;
    train(engine, m);
    nb_engine_statistics(engine, &statistics);
    hide_html(m, &hidden);
    uint32_t all = nb_settings_default_fields(NB_PRESET_MAIL, NB_DECISION_STACKED);
    double mime = time_tokenizer(&hidden, 0);
    double html = time_tokenizer(m, 0);
    double tokens = time_tokenizer(m, all);
    double classify = time_classify(engine, m);
    printf("mails %zu of %zu bytes\n", m->count, m->bytes.length / m->count);
    printf("MIME %.2f us\nHTML %.2f us\n", mime, html - mime);
    printf("tokens %.2f us\nscores %.2f us\n", tokens - html, classify - tokens);
    printf("memory %.0f bytes\n", (double)statistics.memory / (double)statistics.documents);
    mails_deinit(&hidden);
}

int main(int argc, char **argv)
{
    struct mails mails = {0};
    struct nb_engine *engine;
    struct nb_engine_settings settings;
    struct nb_engine_statistics statistics;
    if (argc != 3) {
        fputs("usage: bench_mail BODIES DIRECTORY\n", stderr);
        return 2;
    }
    require(nb_tokenizer_setup(NULL), "setup");
    nb_engine_settings_init(&settings);
    settings.directory = argv[2];
    read_mails(&mails, argv[1]);
    require(nb_engine_open(&settings, &engine, NULL), argv[2]);
    measure(&mails, engine);
    nb_engine_close(&engine); /* writes the rows that a commit left for later */
    require(nb_engine_open(&settings, &engine, NULL), argv[2]);
    nb_engine_statistics(engine, &statistics);
    printf("disk %.0f bytes\n", (double)statistics.store_bytes / (double)statistics.documents);
    nb_engine_close(&engine);
    mails_deinit(&mails);
    nb_tokenizer_teardown();
    return 0;
}
