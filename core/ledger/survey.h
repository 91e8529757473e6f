/* SPDX-License-Identifier: Apache-2.0
 *
 * A survey of the whole ledger, without damaged entries: lists its entries, marks those of current
 * documents, and lists the models that should exist. For verification and rebuilding. One thread.
 */
#ifndef NB_CORE_LEDGER_SURVEY_H
#define NB_CORE_LEDGER_SURVEY_H

#include "core/ledger/ledger.h"

struct nb_surveyed_entry {
    uint64_t number;
    uint64_t replaced;
    uint32_t model;
    uint8_t kind;
    bool current; /* the newest entry of a document that is learned or stored unlabelled */
    bool is_unlabelled, has_score; /* for the counts of the indexes */
};

struct nb_surveyed_model {
    uint32_t number;
    struct nb_buffer name;
    struct nb_own_key own;
    bool named; /* the model was created, or its import was completed */
    bool gone;  /* the model was deleted or replaced */
    uint64_t entries, current, unlabelled, scores, words,
        garbage; /* numbers of rows that the indexes should have */
};

struct nb_survey {
    struct nb_surveyed_entry *entries; /* owned; by number */
    size_t entry_count, entry_room;
    struct nb_surveyed_model *models; /* owned; by number */
    size_t model_count, model_room;
    uint64_t lost;   /* damaged pieces and entries */
    uint64_t newest; /* number of the newest entry */
    bool has_key;
    unsigned char key[NB_KEY_BYTES]; /* the store's key */
};

/* Fills `survey`, which the caller deinits in any case. Calls `lost` with a line for each damaged
 * piece or entry. Returns 0 or a code. */
int nb_survey_read(const struct nb_view *view, struct nb_survey *survey,
                   void (*lost)(void *user, const char *line), void *user, struct nb_error *error);
void nb_survey_deinit(struct nb_survey *survey);

/* Finds a model by its number. NULL: the ledger has none. */
struct nb_surveyed_model *nb_survey_model(const struct nb_survey *survey, uint32_t number);

/* Whether the model should exist. */
static inline bool nb_surveyed_exists(const struct nb_surveyed_model *model)
{
    return model->named && !model->gone;
}

#endif
