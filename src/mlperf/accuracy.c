/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/accuracy.h"

#include <inttypes.h>

void vt_accuracy_begin(struct vt_accuracy_log *log, FILE *out)
{
    *log = (struct vt_accuracy_log){.out = out};
    putc('[', out);
}

static void put_hex(FILE *out, const char *label, const void *data, size_t bytes)
{
    static const char digits[] = "0123456789ABCDEF";
    const unsigned char *at = data;
    char block[1024];

    fprintf(out, "\"%s\" : \"", label);
    while (bytes > 0) {
        size_t n = bytes < sizeof block / 2 ? bytes : sizeof block / 2;
        for (size_t i = 0; i < n; i++) {
            block[2 * i] = digits[at[i] >> 4];
            block[2 * i + 1] = digits[at[i] & 15];
        }
        fwrite(block, 1, 2 * n, out);
        at += n;
        bytes -= n;
    }
    putc('"', out);
}

void vt_accuracy_add(struct vt_accuracy_log *log, const struct vt_load_report *report)
{
    const struct vt_load_settings *s = &report->settings;
    FILE *out = log->out;

    for (uint64_t i = 0; i < report->n_responses; i++) {
        const struct vt_load_response *response = &report->responses[i];
        fprintf(out, "%s\n{ \"seq_id\" : %" PRIu64 ", \"qsl_idx\" : %" PRIu64 ", ",
                log->begun ? "," : "", response->sequence, response->index);
        put_hex(out, "data", response->data, response->bytes);
        if (s->use_token_latencies && s->scenario != VT_OFFLINE) {
            fputs(", ", out);
            put_hex(out, "token_data", response->first_token, response->first_token_bytes);
        }
        if (s->use_token_latencies) {
            fprintf(out, ", \"token_count\" : %" PRId64, response->n_tokens);
        }
        fputs(" }", out);
        log->begun = true;
    }
}

void vt_accuracy_end(struct vt_accuracy_log *log)
{
    fputs("\n]\n", log->out);
}
