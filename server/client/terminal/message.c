/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/terminal/message.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "server/client/terminal/terminal.h"

enum { MESSAGE_MOST = 4096 /* bytes; the rest of a longer message is cut */ };

void nb_message(const char *format, ...)
{
    char text[MESSAGE_MOST];
    struct nb_buffer safe = {0};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    nb_terminal_safe(text, SIZE_MAX, &safe);
    (void)fprintf(stderr, "%sbayesc: %s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "",
                  safe.bytes != NULL ? safe.bytes : "");
    nb_buffer_deinit(&safe);
}
