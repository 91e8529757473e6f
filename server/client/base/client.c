/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/base/client.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/platform/platform.h"
#include "core/base/string.h"
#include "server/http/call/path.h"

int nb_exit_status(int code)
{
    static const struct {
        int code, status;
    } STATUSES[] = {
        {NB_NO_MEMORY, EX_OSERR},
        {NB_NOT_FOUND, EX_NOINPUT},
        {NB_IO, EX_IOERR},
        {NB_DISK_FULL, EX_IOERR},
        {NB_EXISTS, EX_CANTCREAT},
        {NB_CALL_UNREACHABLE, EX_UNAVAILABLE},
        {NB_CALL_FORBIDDEN, EX_NOPERM},
        {NB_CALL_BUSY, EX_TEMPFAIL},
        {NB_CALL_PROTOCOL, EX_PROTOCOL},
        {NB_CALL_BAD_URL, EX_USAGE},
        {NB_CLIENT_USAGE, EX_USAGE},
        {NB_STOPPING, 128 + SIGINT}, /* as a shell reports a program ended by a signal */
    };
    for (size_t i = 0; i < sizeof STATUSES / sizeof STATUSES[0]; i++)
        if (STATUSES[i].code == code)
            return STATUSES[i].status;
    return EX_DATAERR;
}

int nb_model_get(const struct nb_client *client, json_t **model, struct nb_error *error)
{
    struct nb_buffer path = {0};
    int rc = nb_path_model(&path, client->model, "");
    const struct nb_call_request request = {.method = "GET", .path = path.bytes};
    *model = NULL;
    rc =
        rc == 0 ? nb_call_once(&client->daemon, &request, model, error) : nb_error_no_memory(error);
    nb_buffer_deinit(&path);
    return rc;
}

int nb_answer_print(const json_t *value, struct nb_error *error)
{
    int rc = json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
    if (rc != 0 || putchar('\n') == EOF)
        return nb_error_set(error, NB_IO, "standard output cannot be written");
    return 0;
}

char *nb_answer_dump(const json_t *value)
{
    return json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(10));
}

uint64_t nb_answer_number(const json_t *object, const char *name)
{
    return (uint64_t)json_integer_value(json_object_get(object, name));
}

const char *nb_answer_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

const json_t *nb_answer_member(const json_t *value, struct nb_string path)
{
    while (path.length > 0) {
        const char *dot = memchr(path.bytes, '.', path.length);
        size_t length = dot != NULL ? (size_t)(dot - path.bytes) : path.length;
        value = json_is_array(value) ? json_array_get(value, strtoul(path.bytes, NULL, 10))
                                     : json_object_getn(value, path.bytes, length);
        path = nb_string_from(path, length + (dot != NULL));
    }
    return value;
}

static int put(json_t *settings, const char *text, size_t length, struct nb_error *error)
{
    const char *equals = memchr(text, '=', length);
    if (equals == NULL || equals == text)
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "'%.100s' is not a setting: write NAME=VALUE, as in smoothing=0.5",
                            text);
    size_t value_length = length - (size_t)(equals + 1 - text);
    json_t *value = value_length == 0 ? json_null()
                                      : json_loadb(equals + 1, value_length, JSON_DECODE_ANY, NULL);
    if (value == NULL)
        value = json_stringn(equals + 1, value_length);
    if (json_object_setn_new(settings, text, (size_t)(equals - text), value) != 0)
        return nb_error_set(error, NB_CLIENT_USAGE, "'%.100s' is not UTF-8", text);
    return 0;
}

int nb_settings_put(json_t *settings, const char *text, struct nb_error *error)
{
    return put(settings, text, strlen(text), error);
}

int nb_settings_put_all(json_t *settings, const char *text, struct nb_error *error)
{
    int rc = 0;
    while (rc == 0 && *(text += strspn(text, " ")) != '\0') {
        size_t length = strcspn(text, " ");
        rc = put(settings, text, length, error);
        text += length;
    }
    return rc;
}

static volatile sig_atomic_t was_interrupted; /* set by the signal handler */

static void note_signal(int number)
{
    (void)number;
    was_interrupted = 1;
}

void nb_interrupt_catch(bool again_kills)
{
    struct sigaction action = {.sa_handler = note_signal,
                               .sa_flags = again_kills ? (int)SA_RESETHAND : 0};
    (void)sigaction(SIGINT, &action, NULL);
    if (!again_kills)
        (void)sigaction(SIGTERM, &action, NULL);
}

int nb_interrupt_check(struct nb_error *error)
{
    return was_interrupted == 0 ? 0 : nb_error_set(error, NB_STOPPING, "interrupted");
}

static int finish(FILE *out, const char *temporary, const char *name, struct nb_error *error)
{
    bool is_written = fflush(out) == 0 && fsync(fileno(out)) == 0;
    int written_errno = errno;
    if (fclose(out) != 0 || !is_written)
        return nb_error_errno(error, is_written ? errno : written_errno, name);
    return rename(temporary, name) == 0 ? 0 : nb_error_errno(error, errno, name);
}

int nb_write_file(const char *name, nb_write_content *content, void *user, struct nb_error *error)
{
    struct nb_buffer temporary = {0};
    if (strcmp(name, "-") == 0)
        return content(user, stdout, error);
    if (nb_buffer_printf(&temporary, "%s.part", name) != 0)
        return nb_error_no_memory(error);
    FILE *out = fopen(temporary.bytes, "we");
    int rc =
        out != NULL ? content(user, out, error) : nb_error_errno(error, errno, temporary.bytes);
    if (rc == 0)
        rc = finish(out, temporary.bytes, name, error);
    else if (out != NULL)
        (void)fclose(out); /* the file is removed */
    if (rc != 0 && out != NULL)
        (void)unlink(temporary.bytes);
    nb_buffer_deinit(&temporary);
    return rc;
}

static const char *temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");
    return folder != NULL && *folder != '\0' ? folder : "/tmp";
}

int nb_temporary_fault(int reason, struct nb_error *error)
{
    char text[NB_ERROR_TEXT];
    (void)snprintf(text, sizeof text, "the temporary file in %.200s (TMPDIR names another folder)",
                   temporary_folder());
    return nb_error_errno(error, reason, text);
}

int nb_temporary_file(struct nb_error *error)
{
    int file = nb_platform_nameless_file(temporary_folder(), "bayesc-");
    return file >= 0 ? file : nb_temporary_fault(errno, error);
}
