/* SPDX-License-Identifier: Apache-2.0
 *
 * A network of any bytes as JSON: refused with a reason, or written and read again as itself, drawn
 * and asked. The first line is a question to it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/draw.h"
#include "server/api/network_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CELLS = 2000 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

static struct nb_string string_of(const struct nb_buffer *buffer)
{
    return (struct nb_string){buffer->bytes, buffer->length};
}

static void check_same(const struct nb_network *network)
{
    struct nb_buffer once = {0}, twice = {0};
    struct nb_network *again = NULL;
    require(nb_network_write(network, &once) == 0);
    require(nb_network_read(string_of(&once), CELLS, &again, NULL) == 0);
    require(nb_network_write(again, &twice) == 0);
    require(nb_string_same(string_of(&once), string_of(&twice)));
    once.length = 0;
    require(nb_network_dot(network, nb_string_of("n"), &once) == 0);
    require(nb_network_svg(network, nb_string_of("n"), &once) == 0);
    nb_network_free(&again);
    nb_buffer_deinit(&once);
    nb_buffer_deinit(&twice);
}

static void ask(const struct nb_network *network, struct nb_string question)
{
    struct nb_network_question q;
    struct nb_inference_limits limits = {CELLS, CELLS * 10.};
    struct nb_error error = {0};
    double probabilities[NB_NETWORK_STATES], sum = 0;
    if (nb_network_question_read(question, network, &q, &error) != 0) {
        require(error.text[0] != '\0');
        return;
    }
    if (nb_network_infer(network, &q.evidence, 0, &limits, probabilities, NULL, &error) == 0) {
        for (uint32_t s = 0; s < network->nodes[0].state_count; s++)
            sum += probabilities[s];
        require(fabs(sum - 1) < 1e-9);
    }
    nb_network_question_deinit(&q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *line = size == 0 ? NULL : memchr(text, '\n', size);
    size_t length = line == NULL ? 0 : (size_t)(line - text);
    struct nb_string json = {text + length, size - length};
    struct nb_network *network = NULL;
    struct nb_error error = {0};
    if (nb_network_read(json, CELLS, &network, &error) != 0) {
        require(error.text[0] != '\0');
        return 0;
    }
    check_same(network);
    ask(network, (struct nb_string){text, length});
    nb_network_free(&network);
    return 0;
}
