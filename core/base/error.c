/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/string.h"

/* Ends a sentence that was cut, which may go into JSON: with " ..." after its last whole word, or
 * after a whole character if that word is very long. */
static void end_cut(char *text, size_t length)
{
    static const char mark[] = " ...";
    size_t end = length - (sizeof mark - 1), back = 1;
    while (end > length / 2 && text[end] != ' ')
        end--;
    if (text[end] == ' ') {
        memcpy(text + end, mark, sizeof mark);
        return;
    }
    while (back < NB_UTF8_MOST && back < length &&
           nb_utf8_is_continuation((unsigned char)text[length - back]))
        back++;
    const unsigned char *last = (const unsigned char *)text + length - back;
    if (nb_utf8_sequence(last, last + back) != back)
        text[length - back] = '\0';
}

int nb_error_set(struct nb_error *error, int code, const char *format, ...)
{
    if (error == NULL)
        return code;
    error->code = code;
    error->name = NULL;
    error->param[0] = '\0';
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof error->text)
        end_cut(error->text, sizeof error->text - 1);
    return code;
}

int nb_error_about(struct nb_error *error, int code, const char *name, const char *param)
{
    if (error == NULL)
        return code;
    error->name = name;
    (void)snprintf(error->param, sizeof error->param, "%s", param != NULL ? param : "");
    return code;
}

int nb_error_no_memory(struct nb_error *error)
{
    return nb_error_set(error, NB_NO_MEMORY, "out of memory");
}

int nb_error_errno(struct nb_error *error, int errno_value, const char *what)
{
    int code = NB_IO;
    if (errno_value == ENOSPC || errno_value == EDQUOT)
        code = NB_DISK_FULL;
    else if (errno_value == ENOMEM)
        code = NB_NO_MEMORY;
    else if (errno_value == ENOENT)
        code = NB_NOT_FOUND;
    /* In all C libraries of today the text is the thread's own. */
    return nb_error_set(error, code, "%s: %s", what, strerror(errno_value));
}
