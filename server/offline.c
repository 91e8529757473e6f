/* SPDX-License-Identifier: Apache-2.0 */
#include "server/offline.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config/config.h"
#include "core/archive/repair/repair.h"
#include "core/engine/engine.h"
#include "server/configure.h"
#include "server/configured_engine.h"
#include "server/join.h"
#include "server/request/configuration.h"

enum { PATH_ROOM = 4096 };

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

int nb_offline_rebuild(const struct nb_config *config, struct nb_error *error)
{
    struct nb_engine_settings settings;
    nb_engine_settings_of(config, &settings);
    int rc = nb_engine_rebuild(&settings, print_difference, stdout, error);
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

/* A node that has a store fetches the other one beside it, and hands over what it alone has. */
static int place_of(const struct nb_config *config, char *folder, size_t size,
                    struct nb_error *error)
{
    int length = snprintf(folder, size, "%s/data.mdb", config->data);
    bool has_store = access(folder, F_OK) == 0;
    if (length > 0 && (size_t)length < size)
        length = snprintf(folder, size, "%s%s", config->data, has_store ? "/join" : "");
    return length > 0 && (size_t)length < size
               ? 0
               : nb_error_set(error, NB_UNUSABLE, "the data directory's path is too long");
}

int nb_offline_join(const struct nb_config *config, const char *peer, struct nb_error *error)
{
    struct nb_engine_settings settings;
    unsigned char key[NB_KEY_BYTES];
    char folder[PATH_ROOM];
    uint64_t position = 0;
    bool replaced;
    nb_engine_settings_of(config, &settings);
    settings.directory = folder;
    int rc = nb_engine_settings_share(config, key, &settings, error);
    if (rc == 0)
        rc = place_of(config, folder, sizeof folder, error);
    if (rc == 0)
        rc = nb_join(&settings, config, peer, &position, error);
    if (rc == 0 && strcmp(folder, config->data) != 0)
        rc = nb_join_put(config, &replaced, error);
    if (rc == 0)
        (void)printf("%s: has what %s has, up to change %llu; every count is what the documents "
                     "say\n",
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
