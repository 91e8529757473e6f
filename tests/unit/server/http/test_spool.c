/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/http/budget.h"
#include "tests/unit/run.h"

enum { SEED = 1763 };

static char directory[] = "/tmp/bayesd-spool-XXXXXX";

static int count_files(void)
{
    DIR *dir = opendir(directory);
    ck_assert_ptr_nonnull(dir);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(dir);
    return count;
}

/* Reads the contents of the spool, from memory or from its file. */
static void read_back(const struct nb_spool *spool, struct nb_buffer *out)
{
    if (spool->file < 0) {
        ck_assert_int_eq(nb_buffer_append(out, spool->tail.bytes, spool->tail.length), 0);
        return;
    }
    ck_assert_uint_eq(spool->tail.length, 0);
    ck_assert_int_eq(nb_buffer_reserve(out, (size_t)spool->written), 0);
    ck_assert_int_eq(pread(spool->file, out->bytes, (size_t)spool->written, 0),
                     (ssize_t)spool->written);
    out->length = (size_t)spool->written;
}

START_TEST(stays_in_memory_up_to_the_limit)
{
    struct nb_spool spool;
    nb_spool_init(&spool, directory, 10, NULL);
    nb_buffer_puts(&spool.tail, "0123456789");
    ck_assert_int_eq(nb_spool_settle(&spool, NULL), 0);
    ck_assert_int_eq(nb_spool_finish(&spool, NULL), 0);
    ck_assert_int_eq(spool.file, -1);
    ck_assert_uint_eq(nb_spool_length(&spool), 10);
    nb_buffer_puts(&spool.tail, "x");
    ck_assert_int_eq(nb_spool_settle(&spool, NULL), 0);
    ck_assert_int_ge(spool.file, 0);
    ck_assert_uint_eq(nb_spool_length(&spool), 11);
    nb_spool_deinit(&spool);
    nb_spool_deinit(&spool);
}
END_TEST

START_TEST(begins_again)
{
    struct nb_spool spool;
    struct nb_buffer back = {0};
    nb_spool_init(&spool, directory, 4, NULL);
    nb_buffer_puts(&spool.tail, "in the file");
    ck_assert_int_eq(nb_spool_settle(&spool, NULL), 0);
    nb_buffer_puts(&spool.tail, "tail");
    nb_spool_deinit(&spool);
    ck_assert_uint_eq(nb_spool_length(&spool), 0);
    nb_buffer_puts(&spool.tail, "new");
    ck_assert_int_eq(nb_spool_settle(&spool, NULL), 0);
    ck_assert_int_eq(nb_spool_finish(&spool, NULL), 0);
    read_back(&spool, &back);
    ck_assert_uint_eq(back.length, 3);
    ck_assert_int_eq(memcmp(back.bytes, "new", 3), 0);
    nb_buffer_deinit(&back);
    nb_spool_deinit(&spool);
}
END_TEST

START_TEST(gives_back_what_was_put_in)
{
    static const size_t memories[] = {0, 1, 100, 100000, (size_t)1 << 30};
    printf("seed %d\n", SEED);
    srand48(SEED);
    for (int round = 0; round < 50; round++) {
        struct nb_spool spool;
        struct nb_buffer expected = {0}, got = {0};
        size_t memory = memories[(size_t)round % 5];
        nb_spool_init(&spool, directory, memory, NULL);
        for (long i = lrand48() % 2000; i >= 0; i--) {
            char text[400];
            size_t length = (size_t)lrand48() % sizeof text;
            memset(text, 'a' + (int)(i % 26), sizeof text);
            nb_buffer_append(&expected, text, length);
            nb_buffer_append(&spool.tail, text, length);
            ck_assert_int_eq(nb_spool_settle(&spool, NULL), 0);
            ck_assert_uint_eq(nb_spool_length(&spool), expected.length);
            ck_assert_uint_le(spool.tail.length, memory > 262144 ? memory : 262144);
        }
        ck_assert_int_eq(nb_spool_finish(&spool, NULL), 0);
        read_back(&spool, &got);
        ck_assert_msg(got.length == expected.length &&
                          (got.length == 0 || memcmp(got.bytes, expected.bytes, got.length) == 0),
                      "seed %d round %d", SEED, round);
        ck_assert_int_eq(count_files(), 0); /* the file never has a name */
        nb_spool_deinit(&spool);
        nb_buffer_deinit(&expected);
        nb_buffer_deinit(&got);
    }
}
END_TEST

START_TEST(says_why_there_is_no_file)
{
    struct nb_spool spool;
    struct nb_error error = {0};
    nb_spool_init(&spool, "/nonexistent/directory", 1, NULL);
    nb_buffer_puts(&spool.tail, "long");
    ck_assert_int_ne(nb_spool_settle(&spool, &error), 0);
    ck_assert_ptr_nonnull(strstr(error.text, "temporary file"));
    nb_spool_deinit(&spool);
}
END_TEST

/* /dev/full answers every write with ENOSPC: a disk that fills while a reply is spooled. */
START_TEST(says_that_the_disk_is_full)
{
    struct nb_spool spool;
    struct nb_error error = {0};
    nb_spool_init(&spool, directory, 0, NULL);
    nb_buffer_puts(&spool.tail, "x");
    ck_assert_int_eq(nb_spool_settle(&spool, NULL), 0);
    FILE *full = fopen("/dev/full", "r+");
    if (full == NULL) { /* some sandboxes have no /dev/full */
        nb_spool_deinit(&spool);
        return;
    }
    ck_assert_int_ge(dup2(fileno(full), spool.file), 0);
    fclose(full);
    nb_buffer_puts(&spool.tail, "y");
    ck_assert_int_eq(nb_spool_finish(&spool, &error), NB_DISK_FULL);
    nb_spool_deinit(&spool);
}
END_TEST

static struct nb_budget budgets[NB_BUDGETS] = {
    {.kind = NB_BUDGET_BODIES}, {.kind = NB_BUDGET_REPLIES}, {.kind = NB_BUDGET_SPOOLS}};

static void limit(uint64_t memory, uint64_t files)
{
    atomic_store(&budgets[NB_BUDGET_REPLIES].most, memory);
    atomic_store(&budgets[NB_BUDGET_SPOOLS].most, files);
}

static uint64_t used(enum nb_budget_kind kind)
{
    return atomic_load(&budgets[kind].used);
}

static void append(struct nb_spool *spool, size_t length)
{
    static char bytes[1 << 20];
    ck_assert_uint_le(length, sizeof bytes);
    ck_assert_int_eq(nb_buffer_append(&spool->tail, bytes, length), 0);
}

START_TEST(goes_to_the_file_early_when_there_is_no_memory_left)
{
    struct nb_spool first, second;
    limit(300000, UINT64_MAX);
    nb_spool_init(&first, directory, 1 << 20, budgets);
    nb_spool_init(&second, directory, 1 << 20, budgets);
    append(&first, 200000);
    ck_assert_int_eq(nb_spool_settle(&first, NULL), 0);
    ck_assert_int_eq(first.file, -1);
    append(&second, 60000); /* too small to be counted in a budget */
    ck_assert_int_eq(nb_spool_settle(&second, NULL), 0);
    ck_assert_int_eq(second.file, -1);
    append(&second, 200000);
    ck_assert_int_eq(nb_spool_settle(&second, NULL), 0);
    ck_assert_int_ge(second.file, 0);
    ck_assert_uint_eq(used(NB_BUDGET_SPOOLS), 260000);
    ck_assert_int_eq(nb_spool_finish(&second, NULL), 0);
    ck_assert_uint_eq(second.tail.capacity, 0);
    nb_spool_deinit(&second);
    ck_assert_uint_eq(used(NB_BUDGET_SPOOLS), 0);
    nb_spool_deinit(&first);
    ck_assert_uint_eq(used(NB_BUDGET_REPLIES), 0);
}
END_TEST

START_TEST(all_files_together_are_bounded)
{
    struct nb_spool first, second;
    struct nb_error error = {0};
    limit(UINT64_MAX, 1000000);
    nb_spool_init(&first, directory, 10, budgets);
    nb_spool_init(&second, directory, 10, budgets);
    append(&first, 600000);
    ck_assert_int_eq(nb_spool_settle(&first, &error), 0);
    append(&second, 600000);
    ck_assert_int_eq(nb_spool_settle(&second, &error), NB_DISK_FULL);
    ck_assert_ptr_nonnull(strstr(error.text, "spool_bytes"));
    nb_spool_deinit(&first);
    ck_assert_int_eq(nb_spool_settle(&second, &error), 0);
    nb_spool_deinit(&second);
    ck_assert_uint_eq(used(NB_BUDGET_SPOOLS), 0);
    nb_spool_deinit(&second);
}
END_TEST

START_TEST(prepares_its_folder)
{
    char folder[64], left[96], other[96];
    struct nb_error error = {0};
    snprintf(folder, sizeof folder, "%s/tmp", directory);
    snprintf(left, sizeof left, "%s/.bayesd-reply-abcdef", folder);
    snprintf(other, sizeof other, "%s/notes", folder);
    ck_assert_int_eq(nb_spool_prepare(folder, &error), 0);
    fclose(fopen(left, "w"));
    fclose(fopen(other, "w"));
    ck_assert_int_eq(nb_spool_prepare(folder, &error), 0);
    ck_assert_int_ne(access(left, F_OK), 0);
    ck_assert_int_eq(access(other, F_OK), 0);
    ck_assert_int_ne(nb_spool_prepare(other, &error), 0);
    ck_assert_ptr_nonnull(strstr(error.text, "spool_directory"));
    ck_assert_int_eq(unlink(other), 0);
    ck_assert_int_eq(rmdir(folder), 0);
    struct nb_spool spool; /* its folder is gone */
    nb_spool_init(&spool, folder, 1, NULL);
    nb_buffer_puts(&spool.tail, "long");
    ck_assert_msg(nb_spool_settle(&spool, &error) == 0, "%s", error.text);
    nb_spool_deinit(&spool);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

int main(void)
{
    if (mkdtemp(directory) == NULL)
        return 1;
    Suite *suite = suite_create("spool");
    TCase *tcase = tcase_create("spool");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, stays_in_memory_up_to_the_limit);
    tcase_add_test(tcase, begins_again);
    tcase_add_test(tcase, gives_back_what_was_put_in);
    tcase_add_test(tcase, says_why_there_is_no_file);
    tcase_add_test(tcase, says_that_the_disk_is_full);
    tcase_add_test(tcase, goes_to_the_file_early_when_there_is_no_memory_left);
    tcase_add_test(tcase, all_files_together_are_bounded);
    tcase_add_test(tcase, prepares_its_folder);
    suite_add_tcase(suite, tcase);
    int status = test_run(suite);
    return rmdir(directory) == 0 ? status : EXIT_FAILURE;
}
