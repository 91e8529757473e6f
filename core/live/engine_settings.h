/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of an engine, as the configuration gives them. Constants after the engine is open;
 * any thread.
 */
#ifndef NB_CORE_LIVE_ENGINE_SETTINGS_H
#define NB_CORE_LIVE_ENGINE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "tokenizer/document.h"

struct nb_engine_settings {
    const char *directory; /* where the store lives; made if missing */
    struct nb_tokenizer_limits tokenizer;
    bool auto_create;  /* train makes models that do not exist */
    bool keep_words;   /* the texts of features are kept, for vocabulary listings */
    uint64_t map_size; /* bytes of address space the store starts with; grows by itself */
    uint64_t disk;     /* bytes of the store, above which the oldest documents go; 0: no limit */
    uint64_t memory;   /* bytes that loaded models may take before cold ones are dropped */
    uint64_t replay_features; /* of all models: a start replays at most so many feature changes */
    uint64_t group_documents; /* at most this many changes share one commit */
    uint64_t superseded_seconds;   /* how long an undo finds the labels that documents had before */
    uint64_t refit_units;          /* of a slice of a refit (core/live/refit.h); always the same */
    uint32_t unused_rows;          /* rows without counts that a model may have while others work */
    uint32_t labels;               /* labels per model */
    uint64_t quarantine_documents; /* that may wait in a model's quarantine ... */
    uint64_t quarantine_bytes;     /* ... and how much room they may take together */
    uint32_t models;               /* models */
};

/* The defaults, for tests and as the configuration's. */
void nb_engine_settings_init(struct nb_engine_settings *settings);

#endif
