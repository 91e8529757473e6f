/* SPDX-License-Identifier: Apache-2.0 */
#include "server/configured_engine.h"

#include "config/config.h"
#include "core/engine/engine.h"
#include "server/nodes/schema.h"

void nb_engine_settings_of(const struct nb_config *config, struct nb_engine_settings *settings)
{
    nb_engine_settings_init(settings);
    settings->directory = config->data;
    settings->tokenizer = (struct nb_tokenizer_limits){
        .tokens = (size_t)config->tokens,
        .mail_bytes = (size_t)config->mail_bytes,
        .mail_parts = (size_t)config->mail_parts,
        .mail_depth = (size_t)config->mail_depth,
        .header_bytes = (size_t)config->header_bytes,
        .work = (size_t)config->work,
    };
    settings->auto_create = config->auto_create;
    settings->keep_words = config->keep_words;
    settings->map_size = config->map_size;
    settings->journal = config->journal;
    settings->memory = config->memory;
    settings->disk = config->disk;
    settings->replay_features = config->replay_features;
    settings->group_documents = config->group_documents;
    settings->superseded_seconds = config->superseded_seconds;
    settings->labels = (uint32_t)config->labels;
    settings->quarantine_documents = config->quarantine_documents;
    settings->quarantine_bytes = config->quarantine_bytes;
    settings->models = (uint32_t)config->models;
}

int nb_engine_settings_share(const struct nb_config *config, unsigned char key[NB_KEY_BYTES],
                             struct nb_engine_settings *settings, struct nb_error *error)
{
    if (config->nodes_database[0] == '\0')
        return 0;
    if (config->nodes_key_file[0] == '\0')
        return nb_error_set(error, NB_INVALID, "[nodes] needs a key_file, the same on all nodes");
    uint64_t follow;
    int rc = nb_nodes_read_follow(config, &follow, error);
    if (rc != 0)
        return rc;
    settings->shared = true;
    settings->streams = (unsigned)config->nodes_streams;
    settings->refit_units = UINT64_MAX;
    settings->key = key;
    return nb_nodes_read_key(config->nodes_key_file, key, error);
}
