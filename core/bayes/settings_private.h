/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads values of settings as the table describes them; for core/bayes/settings/settings*.c alone.
 */
#ifndef NB_CORE_BAYES_SETTINGS_PRIVATE_H
#define NB_CORE_BAYES_SETTINGS_PRIVATE_H

#include <string.h>

#include "core/bayes/settings.h"

/* The member of a settings struct that an entry of the table describes. */
static inline const void *nb_setting_member(const struct nb_settings *settings,
                                            const struct nb_setting *s)
{
    return (const char *)settings + s->offset;
}

static inline int nb_setting_get_int(const struct nb_settings *settings, const struct nb_setting *s)
{
    int value;
    memcpy(&value, nb_setting_member(settings, s), sizeof value);
    return value;
}

static inline uint64_t nb_setting_get_count(const struct nb_settings *settings,
                                            const struct nb_setting *s)
{
    uint64_t value;
    memcpy(&value, nb_setting_member(settings, s), sizeof value);
    return value;
}

static inline double nb_setting_get_double(const struct nb_settings *settings,
                                           const struct nb_setting *s)
{
    double value;
    memcpy(&value, nb_setting_member(settings, s), sizeof value);
    return value;
}

static inline bool nb_setting_get_bool(const struct nb_settings *settings,
                                       const struct nb_setting *s)
{
    bool value;
    memcpy(&value, nb_setting_member(settings, s), sizeof value);
    return value;
}

static inline uint32_t nb_setting_get_mask(const struct nb_settings *settings,
                                           const struct nb_setting *s)
{
    uint32_t value;
    memcpy(&value, nb_setting_member(settings, s), sizeof value);
    return value;
}

static inline const char *nb_setting_get_name(const struct nb_settings *settings,
                                              const struct nb_setting *s)
{
    char *value;
    memcpy(&value, nb_setting_member(settings, s), sizeof value);
    return value;
}

static inline int nb_setting_names(const char *const *names)
{
    int count = 0;
    while (names[count] != NULL)
        count++;
    return count;
}

#endif
