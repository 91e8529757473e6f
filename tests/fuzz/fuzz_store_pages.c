/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk over the pages of a store with any bytes changed: it ends, and says what is wrong. The
 * input is a list of changes of 8 bytes to a small store: page (2), place in it (2), value (4). An
 * input that begins with "whole" is the data file itself.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/store/pages.h"
#include "core/store/store.h"

enum { PAGE = 4096, STORE_MOST = 1 << 20, CHANGE = 8, CHANGES_MOST = 256 };

static const char WHOLE[] = "whole";
static unsigned char good[STORE_MOST];
static size_t good_size;
static int file = -1;
static const char *names[NB_TABLES];

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int good_so_far)
{
    if (!good_so_far)
        abort();
}

static void fill(struct nb_store *store)
{
    static const char value[6000];
    for (uint32_t round = 0; round < 4; round++) {
        struct nb_view view;
        must(nb_store_begin(store, 0, &view, NULL) == 0);
        for (uint32_t i = 0; i < 300; i++) {
            struct nb_store_key key = nb_store_key_number(1, i * 7 % 64 + round);
            struct nb_string v = {value, i % 50 == 0 ? sizeof value : i};
            enum nb_table table = i % 3 == 0 ? NB_TABLE_ROWS : NB_TABLE_LEDGER;
            must(nb_store_put(&view, table, nb_store_key_string(&key), v, NULL) == 0);
        }
        must(nb_store_commit(&view, NULL) == 0);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char directory[] = "/tmp/bayesd-fuzz-XXXXXX";
    char path[64];
    struct nb_store *store = NULL;
    (void)argc;
    (void)argv;
    must(mkdtemp(directory) != NULL && nb_store_open(directory, 0, &store, NULL) == 0);
    fill(store);
    nb_store_close(&store);
    (void)snprintf(path, sizeof path, "%s/data.mdb", directory);
    FILE *in = fopen(path, "re");
    must(in != NULL);
    good_size = fread(good, 1, sizeof good, in);
    must(good_size > 0 && good_size < sizeof good && fclose(in) == 0);
    must(unlink(path) == 0);
    (void)snprintf(path, sizeof path, "%s/lock", directory);
    must(unlink(path) == 0);
    (void)snprintf(path, sizeof path, "%s/lock.mdb", directory);
    must(unlink(path) == 0 && rmdir(directory) == 0);
    file = memfd_create("store", MFD_CLOEXEC);
    must(file >= 0);
    for (int i = 0; i < NB_TABLES; i++)
        names[i] = nb_store_table_name((enum nb_table)i);
    return 0;
}

static void walk(void)
{
    struct nb_pages_question question = {
        .file = file, .path = "data.mdb", .tables = names, .table_count = NB_TABLES};
    struct nb_pages_answer answer;
    struct nb_meta metas[2];
    struct nb_error error = {0};
    int newest;
    int rc = nb_meta_read(file, question.path, metas, &newest, &error);
    for (int i = 0; rc == 0 && i < 2; i++) {
        question.meta = metas[i];
        (void)nb_pages_last_transaction(&question);
        must(nb_pages_check(&question, &answer, &error) == 0 || error.text[0] != '\0');
    }
    must(rc == 0 || rc == NB_NOT_FOUND || error.text[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= sizeof WHOLE && memcmp(data, WHOLE, sizeof WHOLE) == 0) {
        size -= sizeof WHOLE;
        must(ftruncate(file, 0) == 0);
        must(pwrite(file, data + sizeof WHOLE, size, 0) == (ssize_t)size);
        walk();
        must(ftruncate(file, 0) == 0);
        return 0;
    }
    must(pwrite(file, good, good_size, 0) == (ssize_t)good_size);
    for (size_t at = 0; at + CHANGE <= size && at < (size_t)CHANGES_MOST * CHANGE; at += CHANGE) {
        size_t page = (data[at] | (size_t)data[at + 1] << 8) % (good_size / PAGE);
        size_t place = (data[at + 2] | (size_t)data[at + 3] << 8) % (PAGE - 4);
        must(pwrite(file, data + at + 4, 4, (off_t)(page * PAGE + place)) == 4);
    }
    walk();
    return 0;
}
