/* SPDX-License-Identifier: Apache-2.0
 *
 * A plot is a square with axes from 0 to 1, with curves in it and a legend beside it.
 */
#include "server/client/evaluate/plot.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

enum { LEFT = 60, TOP = 40, SIDE = 400, WIDTH = 660, HEIGHT = 500, TICKS = 5, LEGEND = 24 };

static const char *const COLOURS[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#000000", "#999999"};
enum { COLOUR_COUNT = sizeof COLOURS / sizeof COLOURS[0] };

static double x_of(double value)
{
    return LEFT + value * SIDE;
}

static double y_of(double value)
{
    return TOP + (1 - value) * SIDE;
}

/* Writes text with the special characters of XML escaped. Control characters are left out: XML 1.0
 * cannot hold them. */
static void put_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '<')
            (void)fputs("&lt;", out);
        else if (*text == '&')
            (void)fputs("&amp;", out);
        else if ((unsigned char)*text >= 32)
            (void)fputc(*text, out);
    }
}

static void begin(FILE *out, const char *title, const char *x_title, const char *y_title)
{
    (void)fprintf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                  "<text x=\"%d\" y=\"24\" font-size=\"15\">",
                  WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
    put_text(out, title);
    (void)fputs("</text>\n", out);
    for (int i = 0; i <= TICKS; i++) {
        double value = (double)i / TICKS;
        (void)fprintf(out,
                      "<path d=\"M%g %gV%g M%g %gH%g\" stroke=\"#ddd\" fill=\"none\"/>\n"
                      "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%g</text>\n"
                      "<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%g</text>\n",
                      x_of(value), y_of(0), y_of(1), x_of(0), y_of(value), x_of(1), x_of(value),
                      y_of(0) + 16, value, x_of(0) - 6, y_of(value) + 4, value);
    }
    (void)fprintf(out,
                  "<path d=\"M%g %gL%g %g\" stroke=\"#888\" stroke-dasharray=\"4 4\"/>\n"
                  "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">",
                  x_of(0), y_of(0), x_of(1), y_of(1), x_of(0.5), y_of(0) + 36);
    put_text(out, x_title);
    (void)fprintf(out,
                  "</text>\n<text transform=\"translate(16 %g) rotate(-90)\" "
                  "text-anchor=\"middle\">",
                  y_of(0.5));
    put_text(out, y_title);
    (void)fputs("</text>\n", out);
}

static void put_legend(FILE *out, const struct nb_report *report, size_t i)
{
    int y = TOP + 12 + (int)i * LEGEND;
    (void)fprintf(out,
                  "<path d=\"M%d %dh20\" stroke=\"%s\" stroke-width=\"2\"/>\n"
                  "<text x=\"%d\" y=\"%d\">",
                  LEFT + SIDE + 16, y - 4, COLOURS[i % COLOUR_COUNT], LEFT + SIDE + 42, y);
    put_text(out, report->names[i]);
    (void)fputs("</text>\n", out);
}

static void put_curve(FILE *out, const json_t *points, const char *x, const char *y, size_t colour,
                      bool is_marked)
{
    size_t i;
    const json_t *point;
    char letter = 'M';
    (void)fputs("<path d=\"", out);
    json_array_foreach(points, i, point)
    {
        const json_t *at = json_object_get(point, x), *to = json_object_get(point, y);
        if (!json_is_number(at) || !json_is_number(to))
            continue; /* a bin without documents */
        (void)fprintf(out, "%c%.2f %.2f", letter, x_of(json_number_value(at)),
                      y_of(json_number_value(to)));
        letter = 'L';
    }
    (void)fprintf(out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n",
                  COLOURS[colour % COLOUR_COUNT]);
    json_array_foreach(points, i, point)
    {
        json_int_t documents = json_integer_value(json_object_get(point, "documents"));
        if (!is_marked || documents == 0)
            continue;
        (void)fprintf(out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"4\" fill=\"%s\"><title>",
                      x_of(json_number_value(json_object_get(point, x))),
                      y_of(json_number_value(json_object_get(point, y))),
                      COLOURS[colour % COLOUR_COUNT]);
        (void)fprintf(out, "%lld documents</title></circle>\n", (long long)documents);
    }
}

static FILE *open_plot(const char *name, struct nb_error *error)
{
    FILE *out = fopen(name, "we");
    if (out == NULL)
        (void)nb_error_errno(error, errno, name);
    return out;
}

static int end(FILE *out, const char *name, struct nb_error *error)
{
    (void)fputs("</svg>\n", out);
    bool is_written = ferror(out) == 0;
    if (fclose(out) != 0 || !is_written)
        return nb_error_set(error, NB_IO, "%s cannot be written", name);
    return 0;
}

int nb_plot_roc(const struct nb_report *report, const char *name, struct nb_error *error)
{
    char y_title[128];
    FILE *out = open_plot(name, error);
    if (out == NULL)
        return error->code;
    (void)snprintf(y_title, sizeof y_title, "share of %s that is found", report->positive);
    begin(out, "ROC curve", "share of the others that is taken for it", y_title);
    for (size_t i = 0; i < report->count; i++) {
        put_curve(out, json_object_get(report->figures[i], "roc"), "false_positive_rate",
                  "true_positive_rate", i, false);
        put_legend(out, report, i);
    }
    return end(out, name, error);
}

int nb_plot_reliability(const struct nb_report *report, const char *name, struct nb_error *error)
{
    FILE *out = open_plot(name, error);
    if (out == NULL)
        return error->code;
    begin(out, "Reliability", "probability that was given", "share for which it was right");
    for (size_t i = 0; i < report->count; i++) {
        put_curve(out, json_object_get(report->figures[i], "reliability"), "confidence", "accuracy",
                  i, true);
        put_legend(out, report, i);
    }
    return end(out, name, error);
}
