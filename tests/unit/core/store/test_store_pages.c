/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk over the pages of data.mdb: it accepts every store that LMDB has written, and after it
 * has accepted a store with a changed bit, LMDB works and no entry differs without being called
 * damaged. STORE_FLIPS=N changes a bit in each N or so instead of 2,000; 1: every one, which takes
 * an hour.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/store/page.h"
#include "core/store/pages.h"
#include "core/store/store.h"
#include "tests/unit/folder.h"
#include "tests/unit/run.h"

/* Only one in so many trials of a kind is made. The thread sanitizer looks at each byte that is
 * hashed, which makes a trial a hundred times slower, and finds nothing here: there is one
 * thread. */
#ifdef __SANITIZE_THREAD__
enum { SHARE = 50 };
#else
enum { SHARE = 1 };
#endif

static char directory[NB_TEST_FOLDER_SIZE];
static char path[80];
static const char *names[NB_TABLES];
static uint64_t state;

static uint64_t draw(uint64_t below)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % below;
}

static void setup(void)
{
    test_folder_make(directory);
    snprintf(path, sizeof path, "%s/data.mdb", directory);
    for (int i = 0; i < NB_TABLES; i++)
        names[i] = nb_store_table_name((enum nb_table)i);
    state = 1;
}

static void teardown(void)
{
    test_folder_remove(directory);
}

static int walk(int file, struct nb_pages_answer *answer, struct nb_error *error)
{
    struct nb_pages_question question = {
        .file = file, .path = "data.mdb", .tables = names, .table_count = NB_TABLES};
    struct nb_meta metas[2];
    int newest;
    *answer = (struct nb_pages_answer){.used = 0};
    int rc = nb_meta_read(file, question.path, metas, &newest, error);
    if (rc != 0)
        return rc;
    question.meta = metas[newest];
    (void)nb_pages_last_transaction(&question);
    return nb_pages_check(&question, answer, error);
}

static void assert_accepted(void)
{
    struct nb_pages_answer answer;
    struct nb_error error = {0};
    int file = open(path, O_RDONLY);
    ck_assert_msg(walk(file, &answer, &error) == 0, "%s", error.text);
    close(file);
    ck_assert(answer.readable);
    ck_assert_uint_eq(answer.present, ((uint64_t)1 << NB_TABLES) - 1);
    ck_assert_uint_eq(answer.damaged, 0);
    ck_assert_str_eq(answer.unknown, "");
}

/* ---- stores of all kinds --------------------------------------------------------------------- */

static struct nb_string random_value(uint64_t most)
{
    static char bytes[70000];
    size_t length = (size_t)draw(draw(8) == 0 ? most : 300);
    memset(bytes, (int)draw(256), length);
    return (struct nb_string){bytes, length};
}

static struct nb_store_key random_key(uint64_t keys)
{
    struct nb_store_key key = nb_store_key_number(1, (uint32_t)draw(keys));
    /* Of different lengths; the longest leave few keys to a page, and make trees deep. */
    key.length += (size_t)draw(3) == 0 ? 200 + key.bytes[7] % 90 : 0;
    return key;
}

static void change(struct nb_store *store, uint64_t changes, uint64_t keys, uint64_t most)
{
    struct nb_view view;
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
    for (uint64_t i = 0; i < changes; i++) {
        enum nb_table table = (enum nb_table)(NB_TABLE_STATE + draw(3));
        struct nb_store_key key = random_key(keys);
        int rc;
        size_t deleted;
        if (draw(3) != 0)
            rc = nb_store_put(&view, table, nb_store_key_string(&key), random_value(most), NULL);
        else if (draw(50) == 0)
            rc = nb_store_clear(&view, table, (struct nb_string){(char *)key.bytes, 6},
                                (size_t)draw(200), &deleted, NULL);
        else
            rc = nb_store_delete(&view, table, nb_store_key_string(&key), NULL);
        ck_assert_int_eq(rc, 0);
    }
    if (draw(10) == 0)
        nb_store_abort(&view);
    else
        ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
}

START_TEST(every_store_is_accepted)
{
    for (int round = 0; round < 6; round++) {
        struct nb_store *store;
        struct nb_view snapshot = {0};
        uint64_t keys = (uint64_t)1 << (4 + draw(11));
        uint64_t most = draw(2) == 0 ? 70000 : 5000;
        ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
        nb_store_limit_journal(store, 0); /* pages are what this is about */
        for (int i = 0; i < 60; i++) {
            change(store, draw(1 + draw(400)), keys, most);
            /* Snapshots keep pages from being used again, so that the free list grows long. */
            if (i == 20)
                ck_assert_int_eq(nb_store_snapshot(store, &snapshot, NULL), 0);
            if (i == 40)
                nb_store_snapshot_end(&snapshot);
            assert_accepted();
        }
        nb_store_close(&store);
        assert_accepted();
        ck_assert_int_eq(truncate(path, 0), 0);
    }
}
END_TEST

START_TEST(an_empty_store_is_accepted)
{
    struct nb_store *store;
    ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
    nb_store_close(&store);
    assert_accepted();
    ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
    nb_store_close(&store);
}
END_TEST

/* ---- changed bits ---------------------------------------------------------------------------- */

static void put_one(struct nb_store *store, size_t length)
{
    static const char bytes[2000];
    struct nb_view view;
    struct nb_store_key key = nb_store_key_number(2, 1);
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
    ck_assert_int_eq(nb_store_put(&view, NB_TABLE_SCORES, nb_store_key_string(&key),
                                  (struct nb_string){bytes, length}, NULL),
                     0);
    ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
}

/* Makes a small store with every feature: several levels, large values, free pages. */
static void make_small(void)
{
    struct nb_store *store;
    ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
    nb_store_limit_journal(store, 0);
    for (int i = 0; i < 7; i++)
        change(store, 60, 64, 9000);
    put_one(store, 1500);
    nb_store_close(&store);
    assert_accepted();
}

struct entries {
    uint64_t hash[2000]; /* of table, key and value, each in order; 0: damaged */
    size_t count;
};

static int note_entry(void *user, enum nb_table table, struct nb_string key, struct nb_string value,
                      bool sound, struct nb_error *error)
{
    struct entries *entries = user;
    (void)error;
    uint64_t hash = XXH3_64bits_withSeed(key.bytes, key.length, (uint64_t)table + 1);
    ck_assert_uint_lt(entries->count, 2000);
    entries->hash[entries->count++] =
        sound ? XXH3_64bits_withSeed(value.bytes, value.length, hash) : 0;
    return 0;
}

static void read_entries(struct nb_store *store, struct entries *entries)
{
    struct nb_view view;
    entries->count = 0;
    ck_assert_int_eq(nb_store_snapshot(store, &view, NULL), 0);
    for (int t = 0; t < NB_TABLES; t++)
        ck_assert_int_eq(nb_store_inspect(&view, (enum nb_table)t, note_entry, entries, NULL), 0);
    nb_store_snapshot_end(&view);
}

/* Writes to every part of the store, then aborts, so that the file stays as it is. */
static void write_everywhere(struct nb_store *store)
{
    struct nb_view view;
    size_t deleted;
    ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
    for (int t = 0; t < NB_TABLES; t++)
        for (uint32_t i = 0; i < 64; i += 5) {
            struct nb_store_key key = nb_store_key_number(1, i);
            nb_store_put(&view, (enum nb_table)t, nb_store_key_string(&key), random_value(9000),
                         NULL);
        }
    for (int t = 0; t < NB_TABLES; t++)
        nb_store_clear(&view, (enum nb_table)t, (struct nb_string){"", 0}, 1000, &deleted, NULL);
    nb_store_abort(&view);
}

/* Uses the store like a daemon. Every refusal must have a text. */
static void use_store(const struct entries *want)
{
    static struct entries got;
    struct nb_store *store;
    struct nb_error error = {0};
    int rc = nb_store_open(directory, 0, &store, &error);
    if (rc != 0) {
        ck_assert_uint_gt(strlen(error.text), 20);
        return;
    }
    read_entries(store, &got);
    ck_assert_uint_eq(got.count, want->count);
    for (size_t i = 0; i < got.count; i++)
        ck_assert(got.hash[i] == 0 || got.hash[i] == want->hash[i]);
    write_everywhere(store);
    nb_store_close(&store);
}

/* Runs in a child process, which LMDB may end. `*at` is the bit that was changed last. */
static void flip_and_use(const struct entries *want, uint64_t most, volatile uint64_t *at)
{
    struct stat status;
    int file = open(path, O_RDWR);
    ck_assert_int_eq(fstat(file, &status), 0);
    for (uint64_t bit = draw(most); bit < (uint64_t)status.st_size * 8; bit += 1 + draw(most)) {
        unsigned char byte;
        off_t place = (off_t)(bit / 8);
        *at = bit;
        ck_assert_int_eq(pread(file, &byte, 1, place), 1);
        byte ^= (unsigned char)(1u << bit % 8);
        ck_assert_int_eq(pwrite(file, &byte, 1, place), 1);
        use_store(want);
        byte ^= (unsigned char)(1u << bit % 8);
        ck_assert_int_eq(pwrite(file, &byte, 1, place), 1);
    }
    close(file);
}

static uint64_t stride(void)
{
    const char *flips = getenv("STORE_FLIPS");
    return flips != NULL && atoi(flips) > 0 ? 2 * (uint64_t)atoi(flips) - 1 : 4000 * SHARE;
}

START_TEST(no_changed_bit_crashes_or_differs)
{
    static struct entries want;
    struct nb_store *store;
    int status;
    make_small();
    ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
    read_entries(store, &want);
    nb_store_close(&store);
    volatile uint64_t *at =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        flip_and_use(&want, stride(), at);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(status == 0, "status %x after bit %llu", (unsigned)status,
                  (unsigned long long)*at);
    munmap((void *)(uintptr_t)at, 4096);
}
END_TEST

/* The two heads, in every bit: nothing that was committed may vanish. */
START_TEST(no_changed_bit_of_the_heads_takes_anything_back)
{
    static struct entries want;
    static struct entries got;
    make_small();
    for (int commits = 0; commits < 4; commits++) {
        struct nb_store *store;
        ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
        struct nb_store_key key = nb_store_key_number(7, (uint32_t)commits);
        struct nb_view view;
        ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), 0);
        ck_assert_int_eq(nb_store_put(&view, NB_TABLE_LEDGER, nb_store_key_string(&key),
                                      nb_store_key_string(&key), NULL),
                         0);
        ck_assert_int_eq(nb_store_commit(&view, NULL), 0);
        read_entries(store, &want);
        nb_store_close(&store);
        int file = open(path, O_RDWR);
        unsigned char heads[2][160];
        for (int head = 0; head < 2; head++)
            ck_assert_int_eq(pread(file, heads[head], 160, head * 4096), 160);
        for (int bit = commits % SHARE; bit < 2 * 160 * 8; bit += SHARE) {
            unsigned char *head = heads[bit / (160 * 8)];
            off_t place = bit / (160 * 8) * 4096;
            head[bit / 8 % 160] ^= (unsigned char)(1 << bit % 8);
            ck_assert_int_eq(pwrite(file, head, 160, place), 160);
            head[bit / 8 % 160] ^= (unsigned char)(1 << bit % 8);
            if (nb_store_open(directory, 0, &store, NULL) == 0) {
                read_entries(store, &got);
                ck_assert_msg(got.count == want.count &&
                                  memcmp(got.hash, want.hash, got.count * sizeof *got.hash) == 0,
                              "commit %d, bit %d", commits, bit);
                nb_store_close(&store);
            }
            ck_assert_int_eq(pwrite(file, heads[0], 160, 0), 160);
            ck_assert_int_eq(pwrite(file, heads[1], 160, 4096), 160);
        }
        close(file);
    }
}
END_TEST

/* ---- each kind of damage --------------------------------------------------------------------- */

/* Offsets in a page (core/store/page.h), whose numbers are as the machine has them. */
enum {
    HEADER = NB_PAGE_HEADER,
    WORD = NB_PAGE_WORD,
    KIND = WORD + 2,
    LOWER = WORD + 4,
    UPPER = WORD + 6,
    PAGES = LOWER
};

static unsigned u16(const unsigned char *bytes)
{
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static uint32_t u32(const unsigned char *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static size_t word(const unsigned char *bytes)
{
    size_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static void put16(unsigned char *bytes, unsigned value)
{
    memcpy(bytes, &(uint16_t){(uint16_t)value}, sizeof(uint16_t));
}

static void put32(unsigned char *bytes, uint32_t value)
{
    memcpy(bytes, &value, sizeof value);
}

static void put_word(unsigned char *bytes, size_t value)
{
    memcpy(bytes, &value, sizeof value);
}

static bool is_tree_page(const unsigned char *page, unsigned kind, unsigned nodes)
{
    return u16(page + KIND) == kind && u16(page + LOWER) >= HEADER + 2 * nodes &&
           u16(page + LOWER) <= 4096;
}

static void swap_nodes(unsigned char *page)
{
    unsigned saved = u16(page + HEADER + 2);
    put16(page + HEADER + 2, u16(page + HEADER + 4));
    put16(page + HEADER + 4, saved);
}

static bool disorder_leaf(unsigned char *page)
{
    if (!is_tree_page(page, NB_PAGE_LEAF, 3))
        return false;
    swap_nodes(page);
    return true;
}

static bool disorder_branch(unsigned char *page)
{
    if (!is_tree_page(page, NB_PAGE_BRANCH, 3))
        return false;
    swap_nodes(page);
    return true;
}

/* Makes a separator greater than the keys after it. */
static bool raise_separator(unsigned char *page)
{
    if (!is_tree_page(page, NB_PAGE_BRANCH, 2))
        return false;
    unsigned at = u16(page + HEADER + 2);
    memset(page + at + 8, 0xff, u16(page + at + 6));
    return true;
}

/* Makes two branches point to the same page. */
static bool join_branches(unsigned char *page)
{
    if (!is_tree_page(page, NB_PAGE_BRANCH, 2))
        return false;
    memcpy(page + u16(page + HEADER + 2), page + u16(page + HEADER), 6);
    return true;
}

static bool branch_beyond(unsigned char *page)
{
    if (!is_tree_page(page, NB_PAGE_BRANCH, 1))
        return false;
    unsigned at = u16(page + HEADER);
    put32(page + at, u32(page + at) ^ (uint32_t)1 << 24);
    return true;
}

static bool cut_list(unsigned char *page)
{
    if (!is_tree_page(page, NB_PAGE_LEAF, 2))
        return false;
    put16(page + LOWER, u16(page + LOWER) - 2);
    return true;
}

static bool empty_leaf(unsigned char *page)
{
    if (!is_tree_page(page, NB_PAGE_LEAF, 1))
        return false;
    put16(page + LOWER, HEADER);
    put16(page + UPPER, 4096);
    return true;
}

static bool node_across(unsigned char *page)
{
    if (!is_tree_page(page, NB_PAGE_LEAF, 1))
        return false;
    unsigned at = u16(page + HEADER);
    put32(page + at, u32(page + at) ^ 0x4000);
    return true;
}

static bool long_key(unsigned char *page)
{
    if (!is_tree_page(page, NB_PAGE_LEAF, 1))
        return false;
    unsigned at = u16(page + HEADER);
    unsigned key = u16(page + at + 6);
    uint32_t value = u32(page + at);
    if (u16(page + at + 4) != 0 || key + value < 512)
        return false;
    put16(page + at + 6, 512); /* and the rest is value: the node stays as long */
    put32(page + at, key + value - 512);
    return true;
}

static bool strange_value(unsigned char *page)
{
    if (!is_tree_page(page, NB_PAGE_LEAF, 1))
        return false;
    unsigned flags = u16(page + HEADER) + 4;
    put16(page + flags, u16(page + flags) ^ 4);
    return true;
}

static bool short_overflow(unsigned char *page)
{
    if (u16(page + KIND) != NB_PAGE_OVERFLOW || u32(page + PAGES) < 2)
        return false;
    put32(page + PAGES, 1);
    return true;
}

static bool long_overflow(unsigned char *page)
{
    if (u16(page + KIND) != NB_PAGE_OVERFLOW)
        return false;
    put32(page + PAGES, u32(page + PAGES) + 1);
    return true;
}

static bool other_number(unsigned char *page)
{
    put_word(page, word(page) ^ 1);
    return is_tree_page(page, NB_PAGE_LEAF, 1);
}

static bool is_free_list(const unsigned char *page)
{
    unsigned at = u16(page + HEADER);
    return is_tree_page(page, NB_PAGE_LEAF, 1) && at < 4000 && u16(page + at + 6) == WORD &&
           u16(page + at + 4) == 0 && u32(page + at) >= 3 * WORD && word(page + at + 8) < 256 &&
           word(page + at + 8 + WORD) < u32(page + at) / WORD;
}

/* Changes the first of a list of free pages to page 3, which is in use or already free. */
static bool free_twice(unsigned char *page)
{
    if (!is_free_list(page))
        return false;
    unsigned at = u16(page + HEADER);
    unsigned char *list = page + at + 8 + WORD;
    size_t count = word(list);
    memcpy(list + WORD * count, list + WORD, WORD);
    return count > 1;
}

static bool free_more(unsigned char *page)
{
    if (!is_free_list(page))
        return false;
    unsigned char *list = page + u16(page + HEADER) + 8 + WORD;
    put_word(list, word(list) ^ 0x1000);
    return true;
}

static const struct {
    bool (*damage)(unsigned char *page);
    const char *words;
} kinds[] = {
    {disorder_leaf, "its keys are not in order"},
    {disorder_branch, "its keys are not in order"},
    {raise_separator, "its keys are"},
    {join_branches, "it is used twice"},
    {branch_beyond, "there is no such page"},
    {cut_list, "its nodes do not fill it"},
    {empty_leaf, "it has too few nodes"},
    {node_across, "its nodes do not fill it"},
    {long_key, "a key is too long"},
    {strange_value, "a value is of a wrong kind"},
    {short_overflow, "it is too short for its value"},
    {long_overflow, "it is used twice"},
    {other_number, "it has another page's number"},
    {free_twice, "it lists an impossible page as free"},
    {free_more, "it lists more free pages than there are"},
};

/* Damages each page of the right kind in turn; returns how many walks ended with these words. */
static int refusals(int file, uint64_t pages, bool (*damage)(unsigned char *page),
                    const char *words)
{
    int refused = 0;
    for (uint64_t number = 2; number < pages; number++) {
        unsigned char whole[4096];
        unsigned char page[4096];
        struct nb_pages_answer answer;
        struct nb_error error = {0};
        off_t at = (off_t)(number * sizeof page);
        ck_assert_int_eq(pread(file, whole, sizeof whole, at), sizeof whole);
        memcpy(page, whole, sizeof page);
        if (!damage(page))
            continue;
        ck_assert_int_eq(pwrite(file, page, sizeof page, at), sizeof page);
        if (walk(file, &answer, &error) != 0 && strstr(error.text, words) != NULL)
            refused++;
        ck_assert_int_eq(pwrite(file, whole, sizeof whole, at), sizeof whole);
    }
    return refused;
}

START_TEST(each_kind_of_damage_is_found)
{
    struct stat status;
    make_small();
    int file = open(path, O_RDWR);
    ck_assert_int_eq(fstat(file, &status), 0);
    int refused =
        refusals(file, (uint64_t)status.st_size / 4096, kinds[_i].damage, kinds[_i].words);
    close(file);
    ck_assert_msg(refused > 0, "never said: %s", kinds[_i].words);
    assert_accepted();
}
END_TEST

/* Numbers in the records of the trees, in the heads. */
START_TEST(damaged_counts_are_found)
{
    enum { RECORD = sizeof(struct nb_tree_record), FREE = offsetof(struct nb_meta, free) };
    static const int places[] = {0, 2, 4, 8, 8 + WORD, 8 + 2 * WORD, 8 + 3 * WORD, 8 + 4 * WORD};
    struct nb_meta metas[2];
    int newest;
    make_small();
    int file = open(path, O_RDWR);
    ck_assert_int_eq(nb_meta_read(file, path, metas, &newest, NULL), 0);
    for (size_t i = 0; i < 2 * sizeof places / sizeof *places; i++) {
        struct nb_pages_answer answer;
        unsigned char byte;
        off_t at = newest * 4096 + HEADER + FREE + places[i / 2] + (i % 2 == 0 ? 0 : RECORD);
        ck_assert_int_eq(pread(file, &byte, 1, at), 1);
        byte ^= 1;
        ck_assert_int_eq(pwrite(file, &byte, 1, at), 1);
        ck_assert_int_ne(walk(file, &answer, NULL), 0);
        byte ^= 1;
        ck_assert_int_eq(pwrite(file, &byte, 1, at), 1);
    }
    close(file);
    assert_accepted();
}
END_TEST

START_TEST(damage_is_said_in_words)
{
    struct nb_store *store;
    struct nb_error error = {0};
    struct nb_meta metas[2];
    int newest;
    make_small();
    int file = open(path, O_RDWR);
    ck_assert_int_eq(nb_meta_read(file, path, metas, &newest, NULL), 0);
    char byte = 0x44;
    ck_assert_int_eq(pwrite(file, &byte, 1, (off_t)metas[newest].main.root * 4096 + KIND), 1);
    close(file);
    ck_assert_int_eq(nb_store_open(directory, 0, &store, &error), NB_CORRUPT);
    ck_assert_ptr_nonnull(strstr(error.text, path));
    ck_assert_ptr_nonnull(strstr(error.text, "list of tables"));
    ck_assert_ptr_nonnull(strstr(error.text, "restore a backup"));
}
END_TEST

/* ---- damaged keys ---------------------------------------------------------------------------- */

/* Returns whether a page may be a leaf of a model's table, and not of META, whose loss is refused,
 * of the list of tables, or of the free list. */
static bool is_table_leaf(const unsigned char *page, uint64_t number, const struct nb_meta *meta)
{
    ck_assert_uint_eq(meta->free.depth, 1);
    if (!is_tree_page(page, NB_PAGE_LEAF, 1) || word(page) != number || number == meta->free.root)
        return false;
    const unsigned char *node = page + u16(page + HEADER);
    return (u16(node + 4) & NB_NODE_TREE) == 0 && memcmp(node + 8, "format", 6) != 0;
}

static unsigned nodes_of(const unsigned char *page)
{
    return (u16(page + LOWER) - HEADER) / 2;
}

/* Opens the store whose file was changed, and returns the number of lost entries. Sets *met_damage
 * if the opening reported damage. */
static unsigned lost_entries(const struct entries *want, bool *met_damage)
{
    static struct entries got;
    struct nb_store *store;
    struct nb_error error = {0};
    unsigned lost = 0;
    ck_assert_msg(nb_store_open(directory, 0, &store, &error) == 0, "%s", error.text);
    *met_damage = nb_store_met_damage(store, &error);
    read_entries(store, &got);
    ck_assert_uint_eq(got.count, want->count);
    for (size_t i = 0; i < got.count; i++) {
        ck_assert(got.hash[i] == 0 || got.hash[i] == want->hash[i]);
        lost += got.hash[i] == 0;
    }
    if (*met_damage && lost == 0) /* by chance a new key is the one that was lost */
        ck_assert_ptr_nonnull(strstr(error.text, "wrong checksum: 0"));
    write_everywhere(store);
    nb_store_close(&store);
    assert_accepted(); /* the keys that were replaced are in the file */
    return lost;
}

/* Calls `damage` for nodes of all leaves; `lost` entries at most may be lost then. */
static void damage_keys(void (*damage)(unsigned char *page), unsigned lost, unsigned *met)
{
    static struct entries want;
    struct nb_store *store;
    struct nb_meta metas[2];
    struct stat status;
    int newest;
    int trial = 0;
    make_small();
    ck_assert_int_eq(nb_store_open(directory, 0, &store, NULL), 0);
    read_entries(store, &want);
    nb_store_close(&store);
    int file = open(path, O_RDWR);
    ck_assert_int_eq(fstat(file, &status), 0);
    ck_assert_int_eq(nb_meta_read(file, path, metas, &newest, NULL), 0);
    for (off_t at = 8192; at < status.st_size; at += 4096) {
        unsigned char whole[4096];
        ck_assert_int_eq(pread(file, whole, sizeof whole, at), sizeof whole);
        if (!is_table_leaf(whole, (uint64_t)at / 4096, &metas[newest]))
            continue;
        for (int round = 0; round < 20; round++) {
            unsigned char page[4096];
            bool met_damage;
            if (trial++ % SHARE != 0)
                continue;
            memcpy(page, whole, sizeof page);
            damage(page);
            ck_assert_int_eq(pwrite(file, page, sizeof page, at), sizeof page);
            ck_assert_uint_le(lost_entries(&want, &met_damage), met_damage ? lost : 2);
            *met += met_damage;
            ck_assert_int_eq(pwrite(file, whole, sizeof whole, at), sizeof whole);
        }
    }
    close(file);
}

static unsigned char *draw_key(unsigned char *page, unsigned *length)
{
    unsigned at = u16(page + HEADER + 2 * draw(nodes_of(page)));
    *length = u16(page + at + 6);
    return page + at + 8;
}

static void change_byte(unsigned char *page)
{
    unsigned length;
    unsigned char *key = draw_key(page, &length);
    key[draw(length)] ^= (unsigned char)(1 + draw(255));
}

static void garble_key(unsigned char *page)
{
    unsigned length;
    unsigned char *key = draw_key(page, &length);
    for (unsigned i = 0; i < length; i++)
        key[i] = (unsigned char)draw(256);
}

static void garble_two(unsigned char *page)
{
    garble_key(page);
    garble_key(page);
}

START_TEST(a_wrong_byte_of_a_key_takes_only_its_entry)
{
    unsigned met = 0;
    damage_keys(change_byte, 1, &met);
    ck_assert_uint_gt(met, 50 / SHARE);
}
END_TEST

START_TEST(a_lost_key_takes_only_its_entry)
{
    unsigned met = 0;
    damage_keys(garble_key, 1, &met);
    ck_assert_uint_gt(met, 50 / SHARE);
}
END_TEST

START_TEST(lost_keys_take_only_their_entries)
{
    unsigned met = 0;
    damage_keys(garble_two, 2, &met);
    ck_assert_uint_gt(met, 50 / SHARE);
}
END_TEST

static int count_entry(void *user, enum nb_table table, struct nb_string key,
                       struct nb_string value, bool sound, struct nb_error *error)
{
    (void)table;
    (void)key;
    (void)value;
    (void)error;
    *(int *)user += sound;
    return 0;
}

/* What is sound can be read, also of a store that cannot be opened for writing. */
START_TEST(sound_tables_can_be_saved)
{
    struct nb_store *store;
    struct stat status;
    uint32_t damaged;
    int saved = 0;
    make_small();
    int file = open(path, O_RDWR);
    ck_assert_int_eq(fstat(file, &status), 0);
    for (off_t at = 8192; at < status.st_size; at += 4096) {
        unsigned char byte;
        ck_assert_int_eq(pread(file, &byte, 1, at), 1);
        byte ^= 1; /* another page's number */
        ck_assert_int_eq(pwrite(file, &byte, 1, at), 1);
        if (nb_store_open_reading(directory, &store, &damaged, NULL) == 0) {
            struct nb_view view;
            ck_assert_int_eq(nb_store_begin(store, 0, &view, NULL), NB_CONFLICT);
            ck_assert_int_eq(nb_store_snapshot(store, &view, NULL), 0);
            for (int t = 0; t < NB_TABLES; t++) {
                int count = 0;
                int rc = nb_store_inspect(&view, (enum nb_table)t, count_entry, &count, NULL);
                ck_assert_int_eq(rc, (damaged >> t & 1) != 0 ? NB_CORRUPT : 0);
                saved += damaged != 0 && count > 0;
            }
            nb_store_snapshot_end(&view);
            nb_store_close(&store);
        }
        byte ^= 1;
        ck_assert_int_eq(pwrite(file, &byte, 1, at), 1);
    }
    close(file);
    ck_assert_int_gt(saved, 10);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("store_pages");
    TCase *t = tcase_create("store_pages");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 3600);
    tcase_add_test(t, every_store_is_accepted);
    tcase_add_test(t, an_empty_store_is_accepted);
    tcase_add_test(t, no_changed_bit_crashes_or_differs);
    tcase_add_test(t, no_changed_bit_of_the_heads_takes_anything_back);
    tcase_add_loop_test(t, each_kind_of_damage_is_found, 0, (int)(sizeof kinds / sizeof *kinds));
    tcase_add_test(t, damaged_counts_are_found);
    tcase_add_test(t, damage_is_said_in_words);
    tcase_add_test(t, a_wrong_byte_of_a_key_takes_only_its_entry);
    tcase_add_test(t, a_lost_key_takes_only_its_entry);
    tcase_add_test(t, lost_keys_take_only_their_entries);
    tcase_add_test(t, sound_tables_can_be_saved);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return test_run(suite());
}
