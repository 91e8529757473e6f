/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of an engine, as the configuration gives them. Constants after the engine is open;
 * any thread.
 */
#ifndef NB_CORE_MODEL_ENGINE_SETTINGS_H
#define NB_CORE_MODEL_ENGINE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "tokenizer/document.h"

struct nb_engine_settings {
    const char *directory; /* where the store lives; made if missing */
    struct nb_tokenizer_limits tokenizer;
    bool auto_create;  /* training creates models that do not exist */
    bool keep_words;   /* store the texts of features, for vocabulary listings */
    uint64_t map_size; /* initial size of the store's memory map in bytes; grows by itself */
    uint64_t journal;  /* bytes of small changes that wait for the store's file; 0: none */
    uint64_t disk;     /* bytes of the store above which old documents are forgotten; 0: no limit */
    uint64_t memory;   /* bytes of loaded models, above which cold ones are dropped; 0: no limit */
    uint64_t replay_features;      /* most feature changes that a start replays, of all models */
    uint64_t group_documents;      /* at most this many changes share one commit */
    uint64_t superseded_seconds;   /* how long superseded labels are kept for an undo */
    uint64_t refit_units;          /* work of a slice of a refit (core/model/refit.h); constant */
    uint64_t slice_long;           /* nanoseconds after which a commit takes no second slice */
    uint64_t quiet_after;          /* nanoseconds without work, before the writer tidies up */
    uint32_t unused_rows;          /* unused rows allowed per model while the writer is busy */
    uint32_t labels;               /* most labels of a model */
    uint64_t quarantine_documents; /* documents that may wait in a model's quarantine ... */
    uint64_t quarantine_bytes;     /* ... and their bytes together */
    uint32_t models;               /* most models */
    /* The key (NB_KEY_BYTES) of a new store, which an existing store must have, too; NULL: a new
     * store draws its own. Read when the engine opens. */
    const unsigned char *key;
    /* Other nodes share the changes (core/model/relayed.h): before the engine has a relay, it
     * makes no changes, neither requested ones nor its own. */
    bool shared;
    unsigned streams; /* number of streams of changes, 1 to NB_STREAMS_MOST */
};

/* Sets the defaults of the configuration. */
void nb_engine_settings_init(struct nb_engine_settings *settings);

#endif
