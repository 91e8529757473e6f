/* SPDX-License-Identifier: Apache-2.0
 *
 * The documents of a dump: each is checked, counted with the same function as in training, and
 * collected as an entry of the ledger.
 */
#include <math.h>

#include "core/archive/dump/entries.h"
#include "core/archive/dump/import.h"
#include "core/counts/model_pairs.h"
#include "core/model/learn/apply.h"
#include "core/model/learn/stored_score.h"

/* Checks and copies the bag. Sets *tokens to the sum of the counts of rows that are tokens. */
static int take_bag(struct nb_import *import, const struct nb_dump_document *document,
                    uint64_t *tokens, struct nb_error *error)
{
    const struct nb_model *counts = import->live->counts;
    import->rows.size = 0;
    *tokens = 0;
    for (size_t i = 0; i < document->size; i++) {
        uint32_t row = document->rows[i];
        if (row >= nb_model_rows(counts) || document->counts[i] == 0 ||
            (i > 0 && row <= document->rows[i - 1]))
            return nb_error_set(error, NB_INVALID,
                                "a document's rows must ascend, be known and have counts above 0");
        if (nb_rows_add(&import->rows, row, document->counts[i]) != 0)
            return nb_error_no_memory(error);
        import->totals.occurrences += document->counts[i];
        if (nb_feature_is_token(nb_model_row_id(counts, row)))
            *tokens += document->counts[i];
    }
    return 0;
}

/* Checks that a score has labels of the dump, a finite log odds, and probabilities between 0 and 1.
 */
static int check_score(const struct nb_import *import, struct nb_string stored,
                       struct nb_error *error)
{
    struct nb_stored_score_lists lists = {0};
    struct nb_stored_score scored;
    if (stored.length == 0)
        return 0;
    int rc = nb_stored_score_read(stored, &lists, &scored, error);
    bool good = rc == 0 && isfinite(scored.log_odds) &&
                scored.label < nb_model_label_count(import->live->counts);
    for (uint32_t i = 0; good && i < scored.size; i++)
        good = scored.labels[i] < nb_model_label_count(import->live->counts) &&
               scored.probabilities[i] >= 0 && scored.probabilities[i] <= 1;
    nb_stored_score_lists_deinit(&lists);
    if (rc == NB_NO_MEMORY || good)
        return good ? 0 : rc;
    return nb_error_set(error, NB_INVALID, "a document's score does not read back");
}

/* Adds the document to the counts, with the same function as the writer. */
static int apply(struct nb_import *import, const struct nb_change *change, struct nb_error *error)
{
    static const struct nb_applying how;
    struct nb_delta delta = {
        .add_label = nb_delta_label(change->label), .take_label = UINT32_MAX, .add = import->rows};
    int rc = nb_apply(import->live, change, &delta, &how, NULL, error);
    import->rows = delta.add;
    if (rc == NB_TOO_LARGE)
        return nb_error_set(error, rc, "a feature of the dump is counted over 4 billion times");
    if (rc == 0 && !nb_model_pairs_fit(import->live->counts, NULL, 0))
        return nb_error_set(
            error, NB_TOO_LARGE,
            "the dump has more pairs of values than \"structure\": \"tan\" has room "
            "for");
    return rc;
}

/* A document keeps its own source; if it has none, it gets that of the import. */
static int collect_document(struct nb_import *import, struct nb_change *change,
                            struct nb_string source)
{
    struct nb_buffer own = import->source;
    struct nb_buffer theirs = {(char *)(uintptr_t)source.bytes, source.length, 0};
    if (source.length > 0)
        import->source = theirs;
    int rc = nb_import_collect(import, change);
    import->source = own;
    return rc;
}

int nb_import_document(struct nb_import *import, const struct nb_dump_document *document,
                       struct nb_error *error)
{
    uint64_t tokens;
    if (import->is_sent)
        return nb_sending_document(&import->sending, document, error);
    int rc = nb_import_needs_header(import, error);
    if (rc == 0 && nb_check_id(document->id, error) != 0)
        rc = nb_error_set(error, NB_INVALID, "a document's id is not 1 to 256 bytes of UTF-8");
    if (rc == 0 && document->label != NB_NO_LABEL &&
        document->label >= nb_model_label_count(import->live->counts))
        rc = nb_error_set(error, NB_INVALID,
                          "a document has label number %u, the dump has %u labels", document->label,
                          nb_model_label_count(import->live->counts));
    if (rc == 0 && document->learned < 0)
        rc = nb_error_set(error, NB_INVALID, "a document was learned before 1970");
    if (rc == 0 && nb_check_source(document->source, error) != 0)
        rc = nb_error_set(error, NB_INVALID, "a document's source is over %d bytes of UTF-8",
                          NB_SOURCE_MOST);
    if (rc == 0)
        rc = check_score(import, document->score, error);
    if (rc == 0)
        rc = take_bag(import, document, &tokens, error);
    if (rc == 0 && tokens != document->tokens)
        rc = nb_error_set(error, NB_INVALID, "a document says %llu tokens, its counts sum to %llu",
                          (unsigned long long)document->tokens, (unsigned long long)tokens);
    if (rc != 0)
        return rc;
    import->bag.length = 0;
    if (nb_bag_encode(&import->rows, &import->bag) != 0)
        return nb_error_no_memory(error);
    struct nb_change change = {.kind = NB_CHANGE_TRAIN,
                               .id = document->id,
                               .label = document->label,
                               .time = document->learned,
                               .tokens = document->tokens,
                               .score = document->score,
                               .bag = nb_buffer_string(&import->bag)};
    rc = apply(import, &change, error);
    if (rc != 0)
        return rc;
    import->totals.documents++;
    return collect_document(import, &change, document->source) != 0
               ? nb_error_no_memory(error)
               : nb_import_flush(import, NB_IMPORT_FLUSH_BYTES, error);
}
