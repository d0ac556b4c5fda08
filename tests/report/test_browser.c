/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page in a browser, from a file, without network: nothing goes wrong, nothing is asked for,
 * and every plot is there, on light and dark ground, wide and narrow, and on paper.
 * VT_TEST_PICTURES names a folder that gets pictures of it.
 */
#include "vt_test.h"

#include <stdbool.h>

#include "browser.h"
#include "fixture.h"

static struct browser browser;

/* Pixels of a canvas that are painted, how many colours they have, and what its chart holds. */
static const char look[] =
    "(function () {"
    "  const all = Array.from(document.querySelectorAll('canvas')).map(function (canvas, i) {"
    "    const d = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
    "    const colours = new Set(); let painted = 0;"
    "    for (let k = 0; k < d.length; k += 4) {"
    "      if (d[k + 3] > 0) { painted++; if (d[k + 3] === 255) {"
    "        colours.add(d[k] << 16 | d[k + 1] << 8 | d[k + 2]); } } }"
    "    const chart = window.vatioCharts[i];"
    "    const inside = chart.data.datasets.every(function (set, s) {"
    "      return chart.getDatasetMeta(s).data.every(function (e) {"
    "        return isFinite(e.x) && isFinite(e.y) && e.x >= chart.chartArea.left - 2 &&"
    "          e.x <= chart.chartArea.right + 2 && e.y >= chart.chartArea.top - 2 &&"
    "          e.y <= chart.chartArea.bottom + 2; }); });"
    "    return { painted: painted / (canvas.width * canvas.height), colours: colours.size,"
    "      width: canvas.clientWidth, sets: chart.data.datasets.length, inside: inside,"
    "      points: chart.data.datasets.reduce(function (n, s) { return n + s.data.length; }, 0),"
    "      title: canvas.closest('figure').querySelector('figcaption strong').textContent,"
    "      label: canvas.getAttribute('aria-label').length, focus: canvas.tabIndex,"
    "      rows: canvas.closest('figure').querySelectorAll('details tbody tr').length }; });"
    "  return { canvases: all, wide: document.documentElement.scrollWidth, view: innerWidth,"
    "    paper: getComputedStyle(document.body).backgroundColor,"
    "    images: document.querySelectorAll('img, iframe, object, embed, b').length,"
    "    scripts: document.scripts.length }; })()";

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void assert_no_trouble(void)
{
    assert_string_equal(browser.problems, "");
    assert_string_equal(browser.strangers, "");
}

/* Contrast of text as WCAG 2 counts it, of everything that has text of its own. */
static const char contrast[] =
    "(function () {"
    "  const parse = function (c) { return c.match(/[\\d.]+/g).map(Number); };"
    "  const light = function (c) { return c.slice(0, 3).map(function (v) { v /= 255;"
    "    return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); })"
    "    .reduce(function (s, v, i) { return s + v * [0.2126, 0.7152, 0.0722][i]; }, 0); };"
    "  let least = 21;"
    "  document.querySelectorAll('body *').forEach(function (e) {"
    "    const own = Array.from(e.childNodes).some(function (n) {"
    "      return n.nodeType === 3 && n.textContent.trim() !== ''; });"
    "    if (!own || e.tagName === 'SCRIPT') { return; }"
    "    let ground = e; while (ground && parse(getComputedStyle(ground).backgroundColor)[3] === "
    "0) {"
    "      ground = ground.parentElement; }"
    "    const a = light(parse(getComputedStyle(e).color));"
    "    const b = light(parse(getComputedStyle(ground || document.body).backgroundColor));"
    "    least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)); });"
    "  return least; })()";

static void keep_picture(const char *name, int width, bool dark)
{
    const char *folder = getenv("VT_TEST_PICTURES");
    char path[512];
    size_t size;

    if (folder == NULL) {
        return;
    }
    unsigned char *bytes = browser_picture(&browser, &size);
    (void)snprintf(path, sizeof path, "%s/%s-%s-%d.png", folder, name, dark ? "dark" : "light",
                   width);
    FILE *file = fopen(path, "wb");
    if (file != NULL) {
        (void)fwrite(bytes, 1, size, file);
        (void)fclose(file);
    }
    free(bytes);
}

static void check_page(const char *name, int width, bool dark, size_t least_plots)
{
    const json_t *canvas;
    size_t i;

    browser_visit(&browser, fixture_path(name), width, 900, dark);
    json_t *seen = browser_evaluate(&browser, look);
    assert_no_trouble();
    const json_t *canvases = json_object_get(seen, "canvases");
    assert_true(json_array_size(canvases) >= least_plots);
    json_array_foreach(canvases, i, canvas)
    {
        const char *title = json_string_value(json_object_get(canvas, "title"));
        if (number_of(canvas, "painted") < 0.01 || number_of(canvas, "colours") < 3 ||
            number_of(canvas, "sets") < 1 || number_of(canvas, "points") < 1 ||
            number_of(canvas, "rows") < 1 || number_of(canvas, "label") < 10 ||
            number_of(canvas, "focus") != 0 || number_of(canvas, "width") < 200 ||
            !json_is_true(json_object_get(canvas, "inside"))) {
            char *text = json_dumps(canvas, 0);
            fail_msg("%s at %d px: %s: %s", name, width, title, text);
        }
    }
    /* Nothing is wider than the window: what is wide scrolls by itself. */
    assert_true(number_of(seen, "wide") <= number_of(seen, "view"));
    assert_int_equal(number_of(seen, "images"), 0);
    assert_int_equal(number_of(seen, "scripts"), 3);
    assert_string_equal(json_string_value(json_object_get(seen, "paper")),
                        dark ? "rgb(20, 23, 27)" : "rgb(255, 255, 255)");
    json_decref(seen);
    if (width > 1000) {
        json_t *least = browser_evaluate(&browser, contrast);
        assert_true(json_number_value(least) >= 4.5);
        json_decref(least);
    }
    keep_picture(name, width, dark);
}

static void write_page(const char *name, char *text)
{
    fixture_write(name, text, strlen(text));
    free(text);
}

static void every_plot_is_drawn(void **state)
{
    (void)state;
    write_page("all.html", fixture_report("html", "run", "again", "comparison", "profile", "sweep",
                                          "bare", NULL));
    for (int dark = 0; dark < 2; dark++) {
        check_page("all.html", 1280, dark == 1, 25);
        check_page("all.html", 390, dark == 1, 25);
    }
}

static void one_run_alone(void **state)
{
    (void)state;
    write_page("run.html", fixture_report("html", "run", NULL));
    check_page("run.html", 1280, false, 8);
}

static void hostile_names_stay_names(void **state)
{
    (void)state;
    write_page("hostile.html", fixture_report("html", "hostile", NULL));
    check_page("hostile.html", 390, false, 1);
    json_t *title = browser_evaluate(&browser, "document.querySelector('h1').textContent");
    assert_string_equal(json_string_value(title), "</script><img src=x onerror=alert(1)>");
    json_decref(title);
}

/* The button changes the ground, and plots with it; a legend's button hides a series; keys walk
 * along points and speak. */
static void hands_on(void **state)
{
    static const char acts[] =
        "(function () {"
        "  const ground = function () { return getComputedStyle(document.body).backgroundColor; };"
        "  const said = {}; said.before = ground();"
        "  const ink = window.vatioCharts[0].options.scales.x.ticks.color;"
        "  document.getElementById('theme').click();"
        "  said.after = ground();"
        "  said.redrawn = ink !== window.vatioCharts[0].options.scales.x.ticks.color;"
        "  const button = document.querySelector('.legend button');"
        "  const index = Number(button.closest('figure').id.slice(1));"
        "  button.click();"
        "  said.hidden = !window.vatioCharts[index].isDatasetVisible(0) &&"
        "    button.getAttribute('aria-pressed') === 'false';"
        "  const canvas = document.getElementById('plot0');"
        "  canvas.focus();"
        "  ['ArrowRight', 'End'].forEach(function (key) {"
        "    canvas.dispatchEvent(new KeyboardEvent('keydown', { key: key, bubbles: true })); });"
        "  said.focused = document.activeElement === canvas;"
        "  said.tooltip = window.vatioCharts[0].tooltip.getActiveElements().length;"
        "  said.spoken = document.getElementById('spoken').textContent;"
        "  return said; })()";

    (void)state;
    browser_visit(&browser, fixture_path("run.html"), 1280, 900, false);
    json_t *said = browser_evaluate(&browser, acts);
    assert_no_trouble();
    assert_string_equal(json_string_value(json_object_get(said, "before")), "rgb(255, 255, 255)");
    assert_string_equal(json_string_value(json_object_get(said, "after")), "rgb(20, 23, 27)");
    assert_true(json_is_true(json_object_get(said, "redrawn")));
    assert_true(json_is_true(json_object_get(said, "hidden")));
    assert_true(json_is_true(json_object_get(said, "focused")));
    assert_int_equal(number_of(said, "tooltip"), 1);
    assert_non_null(strstr(json_string_value(json_object_get(said, "spoken")), "samples/s"));
    json_decref(said);
}

/* A pointer above a point of the sweep's front shows which setting it is. */
static void hovering_tells(void **state)
{
    static const char acts[] =
        "new Promise(function (resolve) {"
        "  const chart = window.vatioCharts.find(function (c) { return c.data.datasets.some("
        "    function (s) { return s.label === 'Pareto front'; }); });"
        "  const element = chart.getDatasetMeta(1).data[0];"
        "  chart.canvas.scrollIntoView();"
        "  const box = chart.canvas.getBoundingClientRect();"
        "  chart.canvas.dispatchEvent(new MouseEvent('mousemove', { bubbles: true,"
        "    clientX: box.left + element.x, clientY: box.top + element.y }));"
        "  setTimeout(function () { resolve({ shown: chart.tooltip.opacity,"
        "    text: chart.tooltip.body.map(function (b) { return b.lines.join(); }).join() }); }, "
        "300);"
        "})";

    (void)state;
    browser_visit(&browser, fixture_path("all.html"), 1280, 900, false);
    json_t *said = browser_evaluate(&browser, acts);
    assert_no_trouble();
    assert_true(number_of(said, "shown") > 0);
    assert_non_null(strstr(json_string_value(json_object_get(said, "text")), "batch "));
    json_decref(said);
}

static void on_paper(void **state)
{
    size_t size;

    (void)state;
    browser_visit(&browser, fixture_path("all.html"), 1280, 900, true);
    unsigned char *pdf = browser_print(&browser, &size);
    assert_no_trouble();
    assert_true(size > 50000);
    assert_memory_equal(pdf, "%PDF-", 5);
    const char *folder = getenv("VT_TEST_PICTURES");
    if (folder != NULL) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/all.pdf", folder);
        FILE *file = fopen(path, "wb");
        if (file != NULL) {
            (void)fwrite(pdf, 1, size, file);
            (void)fclose(file);
        }
    }
    free(pdf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plot_is_drawn),      cmocka_unit_test(one_run_alone),
        cmocka_unit_test(hostile_names_stay_names), cmocka_unit_test(hands_on),
        cmocka_unit_test(hovering_tells),           cmocka_unit_test(on_paper),
    };
    const char *program = browser_program();

    if (program == NULL) {
        printf("skipped: no chromium-headless-shell and no chromium (packages/test)\n");
        return VT_TEST_SKIPPED;
    }
    browser_open(&browser, program);
    const int failed = cmocka_run_group_tests(tests, fixture_make, fixture_remove);
    browser_close(&browser);
    return failed;
}
