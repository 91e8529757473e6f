/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/terminal/figure.h"

#include <stdio.h>

struct nb_figure nb_figure_of(uint64_t number)
{
    char digits[24];
    struct nb_figure figure = {""};
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            figure.text[at++] = ',';
        figure.text[at++] = digits[i];
    }
    return figure;
}

struct nb_figure nb_figure_of_seconds(double seconds)
{
    struct nb_figure figure;
    unsigned long long whole = seconds > 0 ? (unsigned long long)(seconds + 0.5) : 0;
    if (seconds < 10)
        (void)snprintf(figure.text, sizeof figure.text, "%.1f s", seconds);
    else if (whole < 60)
        (void)snprintf(figure.text, sizeof figure.text, "%llu s", whole);
    else if (whole < 3600)
        (void)snprintf(figure.text, sizeof figure.text, "%llu min %llu s", whole / 60, whole % 60);
    else
        (void)snprintf(figure.text, sizeof figure.text, "%llu h %llu min", whole / 3600,
                       whole / 60 % 60);
    return figure;
}
