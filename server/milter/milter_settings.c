/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/milter_settings.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/log.h"
#include "server/http/call/call.h"

static struct {
    pthread_mutex_t lock; /* guards `current` and all counts of users */
    struct nb_milter_settings *current;
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- making and sharing ---------------------------------------------------------------------- */

int nb_milter_settings_new(struct nb_milter_options *options, struct nb_milter_settings **made,
                           struct nb_error *error)
{
    struct nb_milter_settings *settings = calloc(1, sizeof *settings);
    if (settings == NULL) {
        nb_milter_options_deinit(options);
        return nb_error_no_memory(error);
    }
    settings->options = *options;
    settings->users = 1;
    struct nb_call_target *target = &settings->options.target;
    int rc = nb_access_token_read(target->token_file, &target->token, error);
    if (rc == 0)
        rc = nb_ask_init(&settings->ask, target, settings->options.pause, error);
    if (rc != 0) {
        nb_milter_options_deinit(&settings->options);
        free(settings);
        return rc;
    }
    *made = settings;
    return 0;
}

struct nb_milter_settings *nb_milter_settings_take(void)
{
    (void)pthread_mutex_lock(&held.lock);
    struct nb_milter_settings *settings = held.current;
    assert(settings != NULL);
    settings->users++;
    (void)pthread_mutex_unlock(&held.lock);
    return settings;
}

void nb_milter_settings_release(struct nb_milter_settings **settings)
{
    struct nb_milter_settings *given = *settings;
    *settings = NULL;
    if (given == NULL)
        return;
    (void)pthread_mutex_lock(&held.lock);
    bool is_last = --given->users == 0;
    (void)pthread_mutex_unlock(&held.lock);
    if (!is_last)
        return;
    nb_ask_deinit(&given->ask);
    nb_milter_options_deinit(&given->options);
    free(given);
}

void nb_milter_settings_publish(struct nb_milter_settings *settings)
{
    (void)pthread_mutex_lock(&held.lock);
    struct nb_milter_settings *old = held.current;
    held.current = settings;
    (void)pthread_mutex_unlock(&held.lock);
    nb_milter_settings_release(&old);
}

/* ---- reading the options again --------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_token(const struct nb_buffer *a, const struct nb_buffer *b)
{
    return nb_string_same((struct nb_string){a->bytes, a->length},
                          (struct nb_string){b->bytes, b->length});
}

static void name_if(bool has_changed, const char *name, struct nb_buffer *list)
{
    /* If memory is short, the log names fewer options. */
    if (has_changed)
        (void)nb_buffer_printf(list, "%s%s", list->length > 0 ? "," : "", name);
}

static void name_live(const struct nb_milter_options *old, const struct nb_milter_options *new,
                      struct nb_buffer *list)
{
    name_if(!same_text(old->target.url, new->target.url), "url", list);
    name_if(!same_token(&old->target.token, &new->target.token), "token", list);
    name_if(!same_text(old->target.ca_file, new->target.ca_file), "ca-file", list);
    name_if(!same_text(old->target.certificate, new->target.certificate), "cert", list);
    name_if(!same_text(old->target.key, new->target.key), "key", list);
    name_if(old->target.timeout != new->target.timeout, "timeout", list);
    name_if(old->pause != new->pause, "pause", list);
    name_if(old->max_bytes != new->max_bytes, "max-bytes", list);
    name_if(old->on_reject != new->on_reject, "on-reject", list);
    name_if(old->on_failure != new->on_failure, "on-failure", list);
    name_if(old->skip_authenticated != new->skip_authenticated, "skip-authenticated", list);
    name_if(old->is_quiet != new->is_quiet, "quiet", list);
}

static void name_fixed(const struct nb_milter_options *first, const struct nb_milter_options *new,
                       struct nb_buffer *list)
{
    name_if(!same_text(first->socket, new->socket), "socket", list);
    name_if(first->socket_mode != new->socket_mode, "socket-mode", list);
    name_if(!same_text(first->socket_group, new->socket_group), "socket-group", list);
    name_if(!same_text(first->pid_file, new->pid_file), "pid-file", list);
    name_if(first->max_connections != new->max_connections, "max-connections", list);
}

static const char *text_of(const struct nb_buffer *list)
{
    return list->length > 0 ? list->bytes : "nothing";
}

static void report(const struct nb_milter_options *first, const struct nb_milter_options *old,
                   const struct nb_milter_options *new)
{
    struct nb_buffer live = {0}, fixed = {0};
    name_live(old, new, &live);
    name_fixed(first, new, &fixed);
    if (new->file != NULL)
        nb_log(NB_LOG_INFO, "options and token read again file=%s changed=%s", new->file,
               text_of(&live));
    else
        nb_log(NB_LOG_INFO, "token read again, there is no file of options (--config) changed=%s",
               text_of(&live));
    if (fixed.length > 0)
        nb_log(NB_LOG_WARNING, "options that need a restart options=%s", text_of(&fixed));
    nb_buffer_deinit(&live);
    nb_buffer_deinit(&fixed);
}

void nb_milter_settings_reload(int argc, char **argv, const struct nb_milter_options *first)
{
    struct nb_milter_options options;
    struct nb_milter_settings *made = NULL, *old;
    struct nb_error error = {0};
    int rc = nb_milter_options_read(argc, argv, &options, &error);
    if (rc == 0)
        rc = nb_milter_settings_new(&options, &made, &error);
    if (rc != 0) {
        nb_log(NB_LOG_ERROR, "nothing is changed: %s", error.text);
        return;
    }
    old = nb_milter_settings_take();
    report(first, &old->options, &made->options);
    nb_log_set_level(made->options.is_quiet ? NB_LOG_WARNING : NB_LOG_INFO);
    nb_milter_settings_publish(made);
    nb_milter_settings_release(&old);
}
