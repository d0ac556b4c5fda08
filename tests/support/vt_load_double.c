/* SPDX-License-Identifier: Apache-2.0 */
#include "vt_load_double.h"

#include "vt_test.h"

static void drop_events(struct vt_fake_clock *clock)
{
    clock->first = 0;
    clock->n_events = 0;
}

static int64_t fake_now(void *ctx)
{
    struct vt_fake_clock *clock = ctx;
    clock->now_ns += clock->step_ns;
    return clock->now_ns;
}

static void complete(struct vt_fake_sut *sut, uint64_t id, uint64_t index)
{
    uint64_t sequence = id & UINT32_MAX;
    /* The response is the index, so that a test can tell whose it is. */
    struct vt_completion c = {.id = id, .response = &index, .response_bytes = sizeof(index)};
    if (sequence == sut->fail) {
        c.status = VT_ERR_ENGINE;
        c.text = "the double was told to fail";
    }
    if (!sut->started || (sequence >= sut->lose && sequence <= sut->lose_to)) {
        return;
    }
    sut->sink.complete(sut->sink.ctx, &c, 1);
    if (sequence == sut->repeat) {
        sut->sink.complete(sut->sink.ctx, &c, 1);
    }
    if (sequence == sut->invent_after) {
        c.id = sut->invent_id;
        sut->sink.complete(sut->sink.ctx, &c, 1);
    }
}

static void fake_sleep(void *ctx, int64_t deadline_ns, int64_t spin_ns)
{
    struct vt_fake_clock *clock = ctx;
    (void)spin_ns;
    while (clock->first < clock->n_events && clock->events[clock->first].at_ns <= deadline_ns) {
        struct vt_fake_event event = clock->events[clock->first++];
        clock->now_ns = event.at_ns > clock->now_ns ? event.at_ns : clock->now_ns;
        complete(clock->sut, event.id, event.index);
    }
    clock->now_ns = deadline_ns > clock->now_ns ? deadline_ns : clock->now_ns;
}

static void add_event(struct vt_fake_clock *clock, struct vt_fake_event event)
{
    if (clock->first == clock->n_events) {
        drop_events(clock);
    }
    if (clock->n_events == clock->room) {
        clock->room = clock->room != 0 ? 2 * clock->room : 1024;
        clock->events = realloc(clock->events, clock->room * sizeof(*clock->events));
        assert_non_null(clock->events);
    }
    size_t i = clock->n_events++;
    for (; i > clock->first && clock->events[i - 1].at_ns > event.at_ns; i--) {
        clock->events[i] = clock->events[i - 1];
    }
    clock->events[i] = event;
}

static const char *sut_name(void *ctx)
{
    (void)ctx;
    return "double";
}

static enum vt_status sut_start(void *ctx, const struct vt_completion_sink *sink,
                                enum vt_scenario scenario, struct vt_error *err)
{
    struct vt_fake_sut *sut = ctx;
    (void)scenario;
    sut->started = sink != NULL;
    if (sink == NULL) {
        sut->stops++;
        drop_events(sut->clock);
        return VT_OK;
    }
    if (sut->refuse_start) {
        sut->started = false;
        return vt_error_set(err, VT_ERR_ENGINE, "the double refuses to start");
    }
    sut->starts++;
    sut->busy_until_ns = 0;
    sut->sink = *sink;
    return VT_OK;
}

static void note(struct vt_fake_sut *sut, const struct vt_query_sample *sample)
{
    if (sut->issued == sut->room) {
        sut->room = sut->room != 0 ? 2 * sut->room : 4096;
        sut->indices = realloc(sut->indices, sut->room * sizeof(*sut->indices));
        sut->ids = realloc(sut->ids, sut->room * sizeof(*sut->ids));
        sut->issue_times_ns = realloc(sut->issue_times_ns, sut->room * sizeof(int64_t));
        assert_true(sut->indices != NULL && sut->ids != NULL && sut->issue_times_ns != NULL);
    }
    sut->indices[sut->issued] = sample->index;
    sut->ids[sut->issued] = sample->id;
    sut->issue_times_ns[sut->issued++] = sut->clock->now_ns - VT_FAKE_EPOCH;
}

static enum vt_status sut_issue(void *ctx, const struct vt_query_sample *samples, size_t n,
                                struct vt_error *err)
{
    struct vt_fake_sut *sut = ctx;
    struct vt_fake_clock *clock = sut->clock;
    sut->issues++;
    sut->largest_query = n > sut->largest_query ? n : sut->largest_query;
    for (size_t i = 0; i < n; i++) {
        note(sut, &samples[i]);
    }
    for (size_t i = 0; i < n; i++) {
        uint64_t sequence = samples[i].id & UINT32_MAX;
        if (sequence == sut->refuse_at) {
            return vt_error_set(err, VT_ERR_ENGINE, "the double refuses sample %d", (int)sequence);
        }
        if (sequence == sut->stop_at) {
            atomic_store(&sut->control->stop, true);
        }
        int64_t latency = sut->latency_ns ? sut->latency_ns(sut, sequence) : sut->fixed_ns;
        int64_t from = clock->now_ns;
        switch (sut->style) {
        case VT_FAKE_INLINE:
            clock->now_ns += latency;
            complete(sut, samples[i].id, samples[i].index);
            continue;
        case VT_FAKE_QUEUED:
            from = sut->busy_until_ns > from ? sut->busy_until_ns : from;
            sut->busy_until_ns = from + latency;
            break;
        case VT_FAKE_UNLIMITED:
            break;
        }
        add_event(clock, (struct vt_fake_event){from + latency, samples[i].id, samples[i].index});
    }
    return VT_OK;
}

static void sut_flush(void *ctx)
{
    ((struct vt_fake_sut *)ctx)->flushes++;
}

static void sut_abort(void *ctx)
{
    struct vt_fake_sut *sut = ctx;
    sut->aborts++;
    sut->busy_until_ns = 0;
    drop_events(sut->clock);
}

static const char *qsl_name(void *ctx)
{
    (void)ctx;
    return "double library";
}

static enum vt_status qsl_load(void *ctx, const uint64_t *indices, size_t n, struct vt_error *err)
{
    struct vt_fake_qsl *qsl = ctx;
    if (qsl->loads++ == qsl->refuse_load) {
        return vt_error_set(err, VT_ERR_READ, "the double library refuses to load");
    }
    for (size_t i = 0; i < n; i++) {
        assert_true(indices[i] < qsl->seam.total_count);
    }
    assert_int_equal(qsl->loaded, 0);
    qsl->loaded = n;
    return VT_OK;
}

static void qsl_unload(void *ctx, const uint64_t *indices, size_t n)
{
    struct vt_fake_qsl *qsl = ctx;
    (void)indices;
    qsl->unloads++;
    assert_int_equal(qsl->loaded, n);
    qsl->loaded = 0;
}

void vt_fake_init(struct vt_fake_clock *clock, struct vt_fake_sut *sut, struct vt_fake_qsl *qsl,
                  struct vt_load_control *control, uint64_t total, uint64_t performance)
{
    memset(control, 0, sizeof(*control));
    *clock = (struct vt_fake_clock){
        .seam = {fake_now, fake_sleep, clock, NULL}, .now_ns = VT_FAKE_EPOCH, .sut = sut};
    *sut = (struct vt_fake_sut){
        .seam = {VT_SUT_HEAD, sut_name, sut_start, sut_issue, sut_flush, sut_abort, sut},
        .clock = clock,
        .control = control,
        .lose = VT_FAKE_NONE,
        .repeat = VT_FAKE_NONE,
        .fail = VT_FAKE_NONE,
        .invent_after = VT_FAKE_NONE,
        .stop_at = VT_FAKE_NONE,
        .refuse_at = VT_FAKE_NONE,
    };
    *qsl = (struct vt_fake_qsl){
        .seam = {VT_QSL_HEAD, total, performance, qsl_name, qsl_load, qsl_unload, qsl},
        .refuse_load = VT_FAKE_NONE,
    };
    control->clock = &clock->seam;
}

void vt_fake_release(struct vt_fake_sut *sut)
{
    free(sut->clock->events);
    free(sut->indices);
    free(sut->ids);
    free(sut->issue_times_ns);
}
