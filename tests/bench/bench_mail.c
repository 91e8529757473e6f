/* SPDX-License-Identifier: Apache-2.0
 *
 *     bench_mail BODIES DIRECTORY
 *
 * Measures what a raw mail costs, stage by stage and without HTTP: microseconds of processor time
 * on one thread, averages over the mails of BODIES (framed as load.c reads them). First it trains
 * every mail, ham and spam in turn, into the model `mail` of a new store in DIRECTORY. It prints
 * the bytes of memory and disk per learned mail, and leaves the store for a daemon to serve.
 *
 * Four times are measured, and the stages are their differences: reading a mail without its HTML
 * parts and without counting a field; reading its HTML parts too; counting all fields; classifying.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/engine/engine.h"
#include "tests/bench/shared/framed.h"

enum { ROUNDS = 5, BATCH = 500 };

static const struct nb_string MODEL = {"mail", 4};

/* Copies the mails, with "text/html" changed so that the tokenizer does not see HTML parts. */
static void hide_html(const struct bench_mails *m, struct bench_mails *hidden)
{
    static const char html[] = "text/html";
    bench_require(nb_buffer_append(&hidden->bytes, m->bytes.bytes, m->bytes.length), "memory");
    hidden->count = m->count;
    hidden->mails = malloc(m->count * sizeof *m->mails);
    bench_require(hidden->mails == NULL, "memory");
    for (size_t i = 0; i < m->count; i++) {
        hidden->mails[i] = m->mails[i];
        hidden->mails[i].document.bytes =
            hidden->bytes.bytes + (m->mails[i].document.bytes - m->bytes.bytes);
    }
    char *at = hidden->bytes.bytes;
    char *end = at + hidden->bytes.length;
    while ((at = memmem(at, (size_t)(end - at), html, sizeof html - 1)) != NULL)
        memcpy(at, "font", 4);
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* Returns the processor time of this thread, in microseconds. */
static double processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Returns the microseconds per mail of the best round. */
static double time_tokenizer(const struct bench_mails *m, uint32_t fields)
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
            bench_require(
                nb_document_tokenize(&m->mails[i].document, &key, &settings, &limits, &bag),
                "tokenize");
        double time = processor_time() - start;
        best = round == 0 || time < best ? time : best;
    }
    nb_bag_deinit(&bag);
    return best / (double)m->count;
}

static double time_classify(struct nb_engine *engine, const struct bench_mails *m)
{
    struct nb_verdict verdict;
    double best = 0;
    nb_verdict_init(&verdict);
    for (int round = 0; round < ROUNDS; round++) {
        double start = processor_time();
        for (size_t i = 0; i < m->count; i++)
            bench_require(
                nb_engine_classify(engine, MODEL, &m->mails[i].document, 0, &verdict, NULL),
                "classify");
        double time = processor_time() - start;
        best = round == 0 || time < best ? time : best;
    }
    nb_verdict_deinit(&verdict);
    return best / (double)m->count;
}

static void train(struct nb_engine *engine, const struct bench_mails *m)
{
    static const struct nb_string labels[] = {{"ham", 3}, {"spam", 4}};
    for (size_t i = 0; i < m->count;) {
        struct nb_batch *batch;
        bench_require(nb_batch_new(engine, MODEL, false, &batch, NULL), "batch");
        for (size_t stop = i + BATCH; i < stop && i < m->count; i++)
            bench_require(nb_batch_train(batch, &m->mails[i].document, labels[i % 2],
                                         (struct nb_string){0}, (struct nb_string){0}, NULL),
                          "train");
        nb_engine_apply(engine, batch);
        for (size_t k = 0; k < nb_batch_size(batch); k++)
            bench_require(nb_batch_receipt(batch, k)->code, "commit");
        nb_batch_free(&batch);
    }
}

static void measure(const struct bench_mails *m, struct nb_engine *engine)
{
    struct bench_mails hidden = {0};
    struct nb_engine_statistics statistics;
    train(engine, m);
    nb_engine_statistics(engine, &statistics);
    hide_html(m, &hidden);
    uint32_t all =
        nb_settings_default_fields(NB_PRESET_MAIL, NB_DECISION_STACKED, NB_LABEL_SET_ONE);
    double mime = time_tokenizer(&hidden, 0);
    double html = time_tokenizer(m, 0);
    double tokens = time_tokenizer(m, all);
    double classify = time_classify(engine, m);
    printf("mails %zu of %zu bytes\n", m->count, m->bytes.length / m->count);
    printf("MIME %.2f us\nHTML %.2f us\n", mime, html - mime);
    printf("tokens %.2f us\nscores %.2f us\n", tokens - html, classify - tokens);
    printf("memory %.0f bytes\n", (double)statistics.memory / (double)statistics.documents);
    bench_mails_deinit(&hidden);
}

int main(int argc, char **argv)
{
    struct bench_mails mails = {0};
    struct nb_engine *engine;
    struct nb_engine_settings settings;
    struct nb_engine_statistics statistics;
    if (argc != 3) {
        fputs("usage: bench_mail BODIES DIRECTORY\n", stderr);
        return 2;
    }
    bench_require(nb_tokenizer_setup(NULL), "setup");
    nb_engine_settings_init(&settings);
    settings.directory = argv[2];
    bench_mails_read(&mails, argv[1]);
    bench_require(nb_engine_open(&settings, &engine, NULL), argv[2]);
    measure(&mails, engine);
    nb_engine_close(&engine); /* writes the rows that commits have put off */
    bench_require(nb_engine_open(&settings, &engine, NULL), argv[2]);
    nb_engine_statistics(engine, &statistics);
    printf("disk %.0f bytes\n", (double)statistics.store_bytes / (double)statistics.documents);
    nb_engine_close(&engine);
    bench_mails_deinit(&mails);
    nb_tokenizer_teardown();
    return 0;
}
