/* SPDX-License-Identifier: Apache-2.0 */
#include "mlperf/trace.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/version.h"

#define ISSUE_TRACK 1
/* Microseconds with three digits behind the point, of a time that is not negative. */
#define US       "%" PRId64 ".%03" PRId64
#define IN_US(t) (t) / 1000, (t) % 1000

static int64_t not_negative(int64_t ns)
{
    return ns > 0 ? ns : 0;
}

void vt_trace_begin(struct vt_trace *trace, FILE *out)
{
    *trace = (struct vt_trace){.out = out, .pid = getpid()};
    fprintf(out,
            "{\"traceEvents\":[\n"
            "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%ld,\"args\":{\"name\":\"vatio\"}},\n"
            "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%ld,\"tid\":%d,\"args\":{\"name\":"
            "\"issue\"}}",
            trace->pid, trace->pid, ISSUE_TRACK);
}

/* All samples of a query are issued together: one mark for the first of them. A span from the
 * schedule would overlap with the next query's where the load is late, which a track cannot show.
 */
static void put_issue(struct vt_trace *t, const struct vt_sample_record *record, int64_t zero_ns)
{
    int64_t issued = not_negative(zero_ns + record->issued_ns);

    fprintf(t->out,
            ",\n{\"name\":\"Issue\",\"ph\":\"i\",\"s\":\"t\",\"pid\":%ld,\"tid\":%d,\"ts\":" US
            ",\"args\":{\"query_seq\":%" PRIu32 ",\"late_ns\":%" PRId64 "}}",
            t->pid, ISSUE_TRACK, IN_US(issued), record->query,
            record->issued_ns - record->scheduled_ns);
}

static void put_parts(struct vt_trace *t, const struct vt_sample_record *record, int64_t zero_ns)
{
    int64_t start = not_negative(zero_ns + record->scheduled_ns);

    fprintf(t->out,
            ",\n{\"name\":\"Latency\",\"ph\":\"C\",\"pid\":%ld,\"ts\":" US
            ",\"args\":{\"issue_delay\":%" PRId64 ",\"issue_to_done\":%" PRId64 "}}",
            t->pid, IN_US(start), record->issued_ns - record->scheduled_ns,
            record->done_ns - record->issued_ns);
}

static void put_sample(struct vt_trace *t, const struct vt_load_report *r, uint64_t i,
                       int64_t zero_ns)
{
    const struct vt_sample_record *record = &r->records[i];
    uint64_t sequence = r->first_sequence + i;
    bool lost = record->done_ns == VT_RECORD_LOST;
    int64_t start = not_negative(zero_ns + record->scheduled_ns);
    int64_t done = not_negative(zero_ns + (lost ? r->duration_ns : record->done_ns));

    done = done > start ? done : start;
    fprintf(t->out,
            ",\n{\"name\":\"Sample\",\"cat\":\"default\",\"ph\":\"b\",\"pid\":%ld,\"id\":%" PRIu64
            ",\"ts\":" US ",\"args\":{\"sample_seq\":%" PRIu64 ",\"query_seq\":%" PRIu32
            ",\"sample_idx\":%" PRIu32 ",\"issue_start_ns\":%" PRId64 ",",
            t->pid, sequence, IN_US(start), sequence, record->query, record->index,
            record->issued_ns - record->scheduled_ns);
    if (lost) {
        fputs("\"lost\":true}}", t->out);
    } else {
        fprintf(t->out, "\"complete_ns\":%" PRId64 "}}", record->done_ns - record->scheduled_ns);
    }
    if (r->tokens != NULL && r->tokens[i].first_ns != VT_RECORD_LOST) {
        int64_t first = not_negative(zero_ns + r->tokens[i].first_ns);
        fprintf(t->out,
                ",\n{\"name\":\"First token\",\"cat\":\"default\",\"ph\":\"n\",\"pid\":%ld,"
                "\"id\":%" PRIu64 ",\"ts\":" US "}",
                t->pid, sequence, IN_US(first));
    }
    fprintf(t->out,
            ",\n{\"name\":\"Sample\",\"cat\":\"default\",\"ph\":\"e\",\"pid\":%ld,\"id\":%" PRIu64
            ",\"ts\":" US "}",
            t->pid, sequence, IN_US(done));
}

void vt_trace_add(struct vt_trace *t, const struct vt_load_report *r, int64_t zero_ns)
{
    for (uint64_t i = 0; i < r->n_records; i++) {
        const struct vt_sample_record *record = &r->records[i];
        if (i == 0 || record->query != record[-1].query) {
            put_issue(t, record, zero_ns);
        }
        if (r->settings.scenario == VT_SERVER && record->done_ns != VT_RECORD_LOST) {
            put_parts(t, record, zero_ns);
        }
        put_sample(t, r, i, zero_ns);
    }
}

void vt_trace_end(struct vt_trace *t, int64_t start_unix_ms)
{
    fprintf(t->out,
            "\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"start_unix_ms\":%" PRId64
            ",\"version\":\"vatio %s\"}\n}\n",
            start_unix_ms, vt_version());
}
