/* SPDX-License-Identifier: Apache-2.0 */
#include "config/changes.h"

#include "config/value.h"

/* Writes the value of `running` into `next` when the option needs a restart. */
static int keep(struct nb_config *next, const struct nb_option *option, const char *running,
                struct nb_error *error)
{
    return option->change == NB_LIVE ? 0 : nb_value_set(next, option, running, "running", error);
}

static int compare(struct nb_config *next, const struct nb_config *running,
                   const struct nb_option *option, nb_config_changed *changed, void *user,
                   struct nb_error *error)
{
    struct nb_buffer now = {0}, then = {0};
    int rc = nb_value_print(next, option, &now);
    if (rc == 0)
        rc = nb_value_print(running, option, &then);
    if (rc == 0)
        rc = nb_buffer_append(&then, "", 1);
    struct nb_string unset = nb_string_of(option->default_text);
    bool is_unset = rc == 0 && nb_string_same((struct nb_string){now.bytes, now.length}, unset);
    bool is_same = rc == 0 && nb_string_same((struct nb_string){now.bytes, now.length},
                                             (struct nb_string){then.bytes, then.length - 1});
    if (rc != 0)
        (void)nb_error_no_memory(error);
    else if (!is_same)
        rc = keep(next, option, then.bytes, error);
    if (rc == 0 && !is_same)
        changed(user, option, is_unset);
    nb_buffer_deinit(&now);
    nb_buffer_deinit(&then);
    return rc;
}

int nb_config_carry_over(struct nb_config *next, const struct nb_config *running,
                         nb_config_changed *changed, void *user, struct nb_error *error)
{
    size_t count;
    const struct nb_option *options = nb_option_table(&count);
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = compare(next, running, &options[i], changed, user, error);
    return rc;
}
