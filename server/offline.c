/* SPDX-License-Identifier: Apache-2.0 */
#include "server/offline.h"

#include <stdio.h>

#include "config/config.h"
#include "core/engine/engine.h"
#include "core/repair/repair.h"
#include "core/replica/queue.h"
#include "server/configure.h"
#include "server/engine_settings.h"
#include "server/join.h"
#include "server/request/configuration.h"

static void print_difference(void *user, const char *line)
{
    (void)fprintf(user, "%s\n", line);
}

int nb_offline_verify(const struct nb_config *config, struct nb_error *error)
{
    struct nb_engine_settings settings;
    nb_engine_settings_of(config, &settings);
    int rc = nb_engine_verify(&settings, print_difference, stdout, error);
    if (rc == 0)
        (void)printf("%s: every count is what the documents say\n", config->data);
    return rc;
}

/* A node whose store has lost something has to join again; one with a damaged outbox has not. */
static int mend_outbox(const struct nb_config *config, struct nb_error *error)
{
    struct nb_outbox_mended mended;
    int rc = nb_outbox_mend(config->data, &mended, error);
    if (rc != 0 || !mended.is_damaged)
        return rc;
    (void)printf("outbox: %llu changes are kept, at least %llu cannot be read and are lost; the "
                 "old file is outbox.old. The store was left as it is.\n",
                 (unsigned long long)mended.kept, (unsigned long long)mended.lost);
    return 1;
}

int nb_offline_rebuild(const struct nb_config *config, struct nb_error *error)
{
    struct nb_engine_settings settings;
    nb_engine_settings_of(config, &settings);
    int rc = mend_outbox(config, error);
    if (rc != 0)
        return rc;
    rc = nb_engine_rebuild(&settings, print_difference, stdout, error);
    if (rc == 0)
        (void)printf("%s: rebuilt; nothing differed\n", config->data);
    else if (rc > 0)
        (void)printf("%s: rebuilt; what differed is above, the old file is data.mdb.old\n",
                     config->data);
    return rc;
}

int nb_offline_restore(const struct nb_config *config, const char *backup, struct nb_error *error)
{
    struct nb_engine_settings settings;
    nb_engine_settings_of(config, &settings);
    int rc = nb_engine_restore(&settings, backup, print_difference, stdout, error);
    if (rc == 0)
        (void)printf("%s: restored; every count is what the documents say\n", config->data);
    else if (rc > 0)
        (void)printf(
            "%s: restored; what differs is above: it differed in the store that was saved, "
            "bayesd --rebuild mends it\n",
            config->data);
    return rc;
}

int nb_offline_join(const struct nb_config *config, const char *peer, struct nb_error *error)
{
    struct nb_engine_settings settings;
    unsigned char key[NB_KEY_BYTES];
    uint64_t position = 0;
    nb_engine_settings_of(config, &settings);
    int rc = nb_engine_settings_share(config, key, &settings, error);
    if (rc == 0)
        rc = nb_join(&settings, config, peer, &position, error);
    if (rc == 0)
        (void)printf("%s: has what %s has, up to change %llu of the stream; every count is what "
                     "the documents say\n",
                     config->data, peer, (unsigned long long)position);
    return rc;
}

int nb_offline_check_config(struct nb_config *config, struct nb_error *error)
{
    const struct nb_configuration *made;
    int rc = nb_configure_make(config, &made, error);
    nb_configuration_release(&made);
    if (rc == 0)
        (void)puts("the configuration is in order");
    return rc;
}

int nb_offline_print_config(struct nb_config *config, struct nb_error *error)
{
    int rc = nb_configure_hide(config, error);
    if (rc != 0)
        return rc;
    rc = nb_config_print(config, false, stdout);
    return rc == 0 ? 0 : nb_error_set(error, rc, "standard output cannot be written");
}
