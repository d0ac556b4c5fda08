/* SPDX-License-Identifier: Apache-2.0 */
#include "result/records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/file.h"

#define HEADER_BYTES 32
#define RECORD_BYTES 32

static const uint8_t magic[8] = {'V', 'T', 'R', 'E', 'C', 0, 0, 1};

static void put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

static void put_u64(uint8_t *at, uint64_t value)
{
    put_u32(at, (uint32_t)value);
    put_u32(at + 4, (uint32_t)(value >> 32));
}

static uint32_t get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t get_u64(const uint8_t *at)
{
    return (uint64_t)get_u32(at) | (uint64_t)get_u32(at + 4) << 32;
}

static void encode(const struct vt_sample_record *record, uint8_t *bytes)
{
    put_u64(bytes, (uint64_t)record->scheduled_ns);
    put_u64(bytes + 8, (uint64_t)record->issued_ns);
    put_u64(bytes + 16, (uint64_t)record->done_ns);
    put_u32(bytes + 24, record->index);
    put_u32(bytes + 28, record->query);
}

static void decode(const uint8_t *bytes, struct vt_sample_record *ret)
{
    ret->scheduled_ns = (int64_t)get_u64(bytes);
    ret->issued_ns = (int64_t)get_u64(bytes + 8);
    ret->done_ns = (int64_t)get_u64(bytes + 16);
    ret->index = get_u32(bytes + 24);
    ret->query = get_u32(bytes + 28);
}

enum vt_status vt_records_write(const struct vt_load_report *report, const char *path,
                                struct vt_error *err)
{
    enum { CHUNK = 512 };
    uint8_t bytes[CHUNK * RECORD_BYTES];
    struct vt_file_writer writer;

    enum vt_status status = vt_file_writer_open(&writer, path, err);
    if (status != VT_OK) {
        return status;
    }
    memcpy(bytes, magic, sizeof magic);
    put_u32(bytes + 8, (uint32_t)report->settings.scenario);
    put_u32(bytes + 12, (uint32_t)report->settings.mode);
    put_u64(bytes + 16, report->n_records);
    put_u64(bytes + 24, (uint64_t)report->start_unix_ms);
    bool fine = fwrite(bytes, 1, HEADER_BYTES, writer.stream) == HEADER_BYTES;
    for (uint64_t done = 0; fine && done < report->n_records;) {
        size_t n = report->n_records - done < CHUNK ? (size_t)(report->n_records - done) : CHUNK;
        for (size_t i = 0; i < n; i++) {
            encode(&report->records[done + i], bytes + i * RECORD_BYTES);
        }
        fine = fwrite(bytes, RECORD_BYTES, n, writer.stream) == n;
        done += n;
    }
    /* A failed write is kept in the stream: commit reports it and leaves nothing behind. */
    return vt_file_writer_commit(&writer, err);
}

/* The header, and that there are as many records as it says. */
static enum vt_status check_header(const uint8_t *bytes, size_t size, const char *name,
                                   struct vt_error *err)
{
    if (size < HEADER_BYTES || memcmp(bytes, magic, sizeof magic - 1) != 0) {
        return vt_error_set(err, VT_ERR_FORMAT, "%s: not a records file (records.vtr of a run)",
                            name);
    }
    if (bytes[7] != magic[7]) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "%s: records of version %u, this vatio reads version %u", name,
                            (unsigned)bytes[7], (unsigned)magic[7]);
    }
    uint32_t scenario = get_u32(bytes + 8), mode = get_u32(bytes + 12);
    if (scenario >= VT_SCENARIO_COUNT || mode > VT_ACCURACY) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "%s: scenario %" PRIu32 ", mode %" PRIu32
                            ": no such scenario or mode, the file is damaged",
                            name, scenario, mode);
    }
    uint64_t n = get_u64(bytes + 16);
    uint64_t room = (size - HEADER_BYTES) / RECORD_BYTES;
    if (n != room || (size - HEADER_BYTES) % RECORD_BYTES != 0) {
        return vt_error_set(err, VT_ERR_FORMAT,
                            "%s: says that it holds %" PRIu64
                            " records, but its %zu bytes hold %" PRIu64
                            ": it is cut short or damaged",
                            name, n, size, room);
    }
    return VT_OK;
}

enum vt_status vt_records_parse(const uint8_t *bytes, size_t size, const char *name,
                                struct vt_error *err, struct vt_records *ret)
{
    enum vt_status status = check_header(bytes, size, name, err);
    if (status != VT_OK) {
        return status;
    }
    struct vt_records records = {.bytes = bytes + HEADER_BYTES,
                                 .n = get_u64(bytes + 16),
                                 .scenario = (enum vt_scenario)get_u32(bytes + 8),
                                 .mode = (enum vt_mode)get_u32(bytes + 12),
                                 .start_unix_ms = (int64_t)get_u64(bytes + 24)};
    for (uint64_t i = 0; i < records.n; i++) {
        struct vt_sample_record record = vt_records_get(&records, i);
        int64_t latency;
        if (record.done_ns != VT_RECORD_LOST &&
            __builtin_sub_overflow(record.done_ns, record.scheduled_ns, &latency)) {
            return vt_error_set(err, VT_ERR_FORMAT,
                                "%s: record %" PRIu64 " spans from %" PRId64 " to %" PRId64
                                " ns, the file is damaged",
                                name, i, record.scheduled_ns, record.done_ns);
        }
    }
    *ret = records;
    return VT_OK;
}

enum vt_status vt_records_open(const char *path, struct vt_error *err, struct vt_records *ret)
{
    struct vt_file_map map = {NULL, 0};

    enum vt_status status = vt_file_map_open(path, err, &map);
    if (status == VT_OK) {
        status = vt_records_parse(map.bytes, map.size, path, err, ret);
        if (status == VT_OK) {
            ret->map = map;
        } else {
            vt_file_map_release(&map);
        }
    }
    return status;
}

struct vt_sample_record vt_records_get(const struct vt_records *records, uint64_t i)
{
    struct vt_sample_record record;

    decode(records->bytes + i * RECORD_BYTES, &record);
    return record;
}

void vt_records_release(struct vt_records *records)
{
    vt_file_map_release(&records->map);
    *records = (struct vt_records){0};
}

/* Decimal digits without printf, whose cost would dominate a dump of millions of lines. */
static char *put_decimal(char *at, int64_t value)
{
    char digits[20];
    int n = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    if (value < 0) {
        *at++ = '-';
    }
    do {
        digits[n++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    while (n > 0) {
        *at++ = digits[--n];
    }
    return at;
}

static size_t csv_line(uint64_t sample, const struct vt_sample_record *record, char *line)
{
    char *at = put_decimal(line, (int64_t)sample);

    *at++ = ',';
    at = put_decimal(at, record->query);
    *at++ = ',';
    at = put_decimal(at, record->index);
    *at++ = ',';
    at = put_decimal(at, record->scheduled_ns);
    *at++ = ',';
    at = put_decimal(at, record->issued_ns);
    *at++ = ',';
    if (record->done_ns != VT_RECORD_LOST) {
        at = put_decimal(at, record->done_ns);
        *at++ = ',';
        at = put_decimal(at, record->done_ns - record->scheduled_ns);
    } else {
        *at++ = ',';
    }
    *at++ = '\n';
    return (size_t)(at - line);
}

enum vt_status vt_records_dump(const char *path, FILE *out, struct vt_error *err)
{
    struct vt_records records = {0};
    char line[192];

    enum vt_status status = vt_records_open(path, err, &records);
    if (status == VT_OK) {
        bool fine =
            fputs("sample,query,index,scheduled_ns,issued_ns,done_ns,latency_ns\n", out) >= 0;
        for (uint64_t i = 0; fine && i < records.n; i++) {
            struct vt_sample_record record = vt_records_get(&records, i);
            size_t bytes = csv_line(i, &record, line);
            fine = fwrite(line, 1, bytes, out) == bytes;
        }
        if (fflush(out) != 0 || !fine) {
            status = vt_error_set(err, VT_ERR_WRITE, "%s: the records cannot be written out: %s",
                                  path, strerror(errno));
        }
    }
    vt_records_release(&records);
    return status;
}
