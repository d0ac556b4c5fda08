/* SPDX-License-Identifier: Apache-2.0 */
/* power.csv: every reading counts, no peak is lost, and what is wrong is named with its line. */
#include "vt_test.h"

#include <math.h>
#include <stdbool.h>

#include "report/tracks.h"
#include "vt_torture.h"

#define HEAD "t_ns,unix_ns,series,unit,value\n"

static struct vt_tracks parsed(const char *text)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_tracks tracks = {0};

    if (vt_tracks_parse(text, strlen(text), "power.csv", &err, &tracks) != VT_OK) {
        fail_msg("%s", err.text);
    }
    return tracks;
}

static void extremes_are_kept(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    double sum = 0;

    (void)state;
    (void)fputs(HEAD, out);
    for (int i = 0; i < 50000; i++) {
        const double watts = i == 33333 ? 900.25 : i == 7 ? 1.5 : 100 + i % 10;
        sum += watts;
        (void)fprintf(out, "%d,%d,rapl/package-0,W,%.17g\r\n", i * 1000 - 5000, i, watts);
    }
    assert_int_equal(fclose(out), 0);
    struct vt_tracks tracks = parsed(text);
    free(text);
    assert_int_equal(tracks.n, 1);
    assert_int_equal(tracks.begin_ns, -5000);
    assert_int_equal(tracks.end_ns, 49999 * 1000 - 5000);
    const struct vt_track *track = &tracks.tracks[0];
    assert_string_equal(track->name, "rapl/package-0");
    assert_int_equal(track->n, 50000);
    assert_true(track->low == 1.5 && track->high == 900.25);
    assert_true(fabs(track->sum - sum) <= 1e-9 * sum);
    double high = 0, low = 1e9;
    uint64_t n = 0;
    for (int i = 0; i < VT_TRACK_BINS; i++) {
        n += track->bins[i].n;
        high = fmax(high, track->bins[i].high);
        low = fmin(low, track->bins[i].low);
        assert_true(track->bins[i].n > 0);
    }
    assert_int_equal(n, 50000);
    assert_true(high == 900.25 && low == 1.5);
    /* The peak is where it was. */
    const int at = (int)(33333.0 / 49999 * VT_TRACK_BINS);
    assert_true(track->bins[at].high == 900.25);
    vt_tracks_release(&tracks);
}

static void names_may_be_quoted(void **state)
{
    struct vt_tracks tracks = parsed(HEAD "0,0,\"a, \"\"b\"\"\",W,1\n\n5,0,plain,\xc2\xb0"
                                          "C,-2e1\n");

    (void)state;
    assert_int_equal(tracks.n, 2);
    assert_string_equal(tracks.tracks[0].name, "a, \"b\"");
    assert_string_equal(tracks.tracks[1].unit, "\xc2\xb0"
                                               "C");
    assert_true(tracks.tracks[1].sum == -20);
    vt_tracks_release(&tracks);
    tracks = parsed(HEAD);
    assert_int_equal(tracks.n, 0);
    vt_tracks_release(&tracks);
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "power.csv:1:"},
        {"time,watts\n", "power.csv:1:"},
        {HEAD "1,2,a,W\n", "power.csv:2:"},
        {HEAD "1,2,a,W,3,4\n", "power.csv:2:"},
        {HEAD "1,2,a,W,3\nx,2,a,W,3\n", "power.csv:3:"},
        {HEAD "99999999999999999999,2,a,W,3\n", "power.csv:2:"},
        {HEAD "5000000000000000000,2,a,W,3\n", "power.csv:2:"},
        {HEAD "1,2,a,W,nan\n", "power.csv:2:"},
        {HEAD "1,2,a,W,1e300\n", "power.csv:2:"},
        {HEAD "1,2,,W,1\n", "power.csv:2:"},
        {HEAD "1,2,a,a unit that is too long,1\n", "power.csv:2:"},
        {HEAD "1,2,\"a,W,1\n", "power.csv:2:"},
        {HEAD "1,2,\"a\"b,W,1\n", "power.csv:2:"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vt_error err = VT_ERROR_INIT;
        struct vt_tracks tracks = {0};
        assert_int_equal(
            vt_tracks_parse(cases[i].text, strlen(cases[i].text), "power.csv", &err, &tracks),
            VT_ERR_FORMAT);
        assert_int_equal(strncmp(err.text, cases[i].says, strlen(cases[i].says)), 0);
        assert_null(strchr(err.text, '\n'));
        assert_null(tracks.tracks);
    }
}

static void series_are_limited(void **state)
{
    struct vt_error err = VT_ERROR_INIT;
    struct vt_tracks tracks = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    (void)fputs(HEAD, out);
    for (int i = 0; i <= VT_TRACKS_MAX; i++) {
        (void)fprintf(out, "%d,0,series %d,W,1\n", i, i);
    }
    assert_int_equal(fclose(out), 0);
    assert_int_equal(vt_tracks_parse(text, size, "power.csv", &err, &tracks), VT_ERR_LIMIT);
    free(text);
}

static void memory_may_run_out(void **state)
{
    static const char text[] = HEAD "0,0,a,W,1\n1,0,b,W,1\n2,0,c,W,1\n3,0,d,W,1\n4,0,e,W,1\n"
                                    "5,0,f,W,1\n6,0,g,W,1\n7,0,h,W,1\n8,0,i,W,1\n";
    bool done = false;

    (void)state;
    for (int allowed = 0; !done; allowed++) {
        struct vt_error err = VT_ERROR_INIT;
        struct vt_tracks tracks = {0};
        struct vt_torture torture;
        vt_torture_begin(&torture, allowed);
        const enum vt_status status =
            vt_tracks_parse(text, sizeof text - 1, "power.csv", &err, &tracks);
        done = status == VT_OK;
        vt_tracks_release(&tracks);
        assert_int_equal(vt_torture_end(&torture), 0);
        assert_true(done || status == VT_ERR_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extremes_are_kept),      cmocka_unit_test(names_may_be_quoted),
        cmocka_unit_test(what_is_wrong_is_named), cmocka_unit_test(series_are_limited),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
