/* SPDX-License-Identifier: Apache-2.0
 *
 *     bench_train MAILS DIRECTORY [ROUNDS [BATCH]]
 *
 * Measures what it costs to learn mails in batches (of 500), without HTTP: microseconds of
 * processor time per mail, of all threads, of the writer's thread and of the threads that help it
 * with refits; memory and disk. Before each mail of MAILS a line has its label and its length in
 * bytes. The mails are learned into the model `mail` of a new store in DIRECTORY. Further rounds
 * learn them again under other ids, so that their features are known. callgrind counts the
 * instructions of each thread (`--separate-threads=yes`).
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/engine/engine.h"
#include "tests/bench/shared/framed.h"

static const struct nb_string MODEL = {"mail", 4};

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Reads the first line of a file in the thread's folder in /proc; "" if the thread has ended. */
static void read_line(const char *task, const char *name, char line[64])
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/task/%.10s/%s", task, name);
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(line, 64, file) == NULL)
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (file != NULL)
        (void)fclose(file);
}

/* Returns the seconds of processor time of all threads with this name. */
static double seconds_of(const char *thread)
{
    char line[64];
    double sum = 0;
    DIR *tasks = opendir("/proc/self/task");
    bench_require(tasks == NULL, "/proc/self/task");
    for (const struct dirent *task; (task = readdir(tasks)) != NULL;) {
        read_line(task->d_name, "comm", line);
        if (strcmp(line, thread) != 0)
            continue;
        read_line(task->d_name, "schedstat", line);
        sum += strtod(line, NULL) / 1e9;
    }
    (void)closedir(tasks);
    return sum;
}

static void train_batch(struct nb_engine *engine, const struct bench_mails *m, int round,
                        size_t from, size_t size)
{
    struct nb_batch *batch;
    size_t stop = from + size < m->count ? from + size : m->count;
    bench_require(nb_batch_new(engine, MODEL, false, &batch, NULL), "batch");
    for (size_t i = from; i < stop; i++) {
        char id[32];
        int length = snprintf(id, sizeof id, "%d-%zu", round, i);
        bench_require(nb_batch_train(batch, &m->mails[i].document, m->mails[i].label,
                                     (struct nb_string){id, (size_t)length}, (struct nb_string){0},
                                     NULL),
                      "train");
    }
    nb_engine_apply(engine, batch);
    for (size_t k = 0; k < nb_batch_size(batch); k++)
        bench_require(nb_batch_receipt(batch, k)->code, "commit");
    nb_batch_free(&batch);
}

static void train(struct nb_engine *engine, const struct bench_mails *m, int round, size_t batch)
{
    double all = seconds(CLOCK_PROCESS_CPUTIME_ID);
    double writer = seconds_of("writer");
    double refits = seconds_of("refits");
    for (size_t i = 0; i < m->count; i += batch)
        train_batch(engine, m, round, i, batch);
    all = seconds(CLOCK_PROCESS_CPUTIME_ID) - all;
    writer = seconds_of("writer") - writer;
    refits = seconds_of("refits") - refits;
    double mail = 1e6 / (double)m->count;
    printf("round %d: %.1f us a mail, of it the writer %.1f us, refits beside it %.1f us\n", round,
           all * mail, writer * mail, refits * mail);
}

int main(int argc, char **argv)
{
    struct bench_mails mails = {0};
    struct nb_engine *engine;
    struct nb_engine_settings settings;
    struct nb_engine_statistics s;
    if (argc < 3 || argc > 5) {
        fputs("usage: bench_train MAILS DIRECTORY [ROUNDS [BATCH]]\n", stderr);
        return 2;
    }
    bench_require(nb_tokenizer_setup(NULL), "setup");
    nb_engine_settings_init(&settings);
    settings.directory = argv[2];
    bench_mails_read(&mails, argv[1]);
    bench_require(nb_engine_open(&settings, &engine, NULL), argv[2]);
    int rounds = argc >= 4 ? atoi(argv[3]) : 1;
    size_t batch = argc == 5 && atoi(argv[4]) > 0 ? (size_t)atoi(argv[4]) : 500;
    for (int round = 0; round < rounds; round++)
        train(engine, &mails, round, batch);
    nb_engine_statistics(engine, &s);
    printf("memory %.0f bytes a mail\n", (double)s.memory / (double)s.documents);
    nb_engine_close(&engine); /* writes the rows that commits have put off */
    bench_require(nb_engine_open(&settings, &engine, NULL), argv[2]);
    nb_engine_statistics(engine, &s);
    printf("disk %.0f bytes a mail\n", (double)s.store_bytes / (double)s.documents);
    nb_engine_close(&engine);
    bench_mails_deinit(&mails);
    nb_tokenizer_teardown();
    return 0;
}
