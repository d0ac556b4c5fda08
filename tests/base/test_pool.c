/* SPDX-License-Identifier: Apache-2.0 */
#include "vt_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/futex.h"
#include "base/pool.h"
#include "base/topology.h"

#define ITEMS 10007

struct loop {
    _Atomic int visits[ITEMS];
    _Atomic int outside; /* a worker number that is none */
    uint32_t threads;
};

static void visit(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    struct loop *loop = ctx;
    if (worker >= loop->threads) {
        atomic_fetch_add(&loop->outside, 1);
    }
    for (int64_t i = begin; i < end; i++) {
        atomic_fetch_add(&loop->visits[i], 1);
    }
}

static struct vt_pool *new_pool(uint32_t threads, int64_t spin_ns)
{
    struct vt_pool_options options = {.threads = threads, .idle_spin_ns = spin_ns};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_pool *pool = NULL;
    assert_int_equal(vt_pool_new(&options, &err, &pool), VT_OK);
    return pool;
}

static void every_item_is_visited_once(void **state)
{
    (void)state;
    static struct loop loop;
    for (uint32_t threads = 1; threads <= 5; threads++) {
        for (int64_t grain = 1; grain <= 5000; grain *= 7) {
            struct vt_pool *pool = new_pool(threads, threads % 2 == 0 ? 20 * VT_NS_PER_US : 0);
            memset(&loop, 0, sizeof loop);
            loop.threads = threads;
            for (int round = 0; round < 3; round++) {
                vt_pool_run(pool, ITEMS, grain, visit, &loop);
            }
            for (int i = 0; i < ITEMS; i++) {
                assert_int_equal(loop.visits[i], 3);
            }
            assert_int_equal(loop.outside, 0);
            vt_pool_free(pool);
        }
    }
}

static void many_short_loops_lose_no_wake_up(void **state)
{
    (void)state;
    static struct loop loop;
    struct vt_pool *pool = new_pool(3, 0);
    memset(&loop, 0, sizeof loop);
    loop.threads = 3;
    for (int round = 0; round < 20000; round++) {
        vt_pool_run(pool, 5, 1, visit, &loop);
    }
    for (int i = 0; i < 5; i++) {
        assert_int_equal(loop.visits[i], 20000);
    }
    vt_pool_free(pool);
}

/* --- with a worker or a CPU less
 * ----------------------------------------------------------------------------- */

struct held {
    _Atomic bool taken, holds; /* a worker is inside its first chunk, and stays there */
    _Atomic int done, held;    /* chunks that others did; that it has done */
    _Atomic uint32_t holder;
    _Atomic int wrong; /* chunks of another size, or of the one that is held */
    int others;        /* chunks but the one that is held */
};

/* The first worker that comes keeps its chunk until all others are done. The caller waits for one
 * to come, so there is always one. */
static void hold_one(void *ctx, int64_t begin, int64_t end, uint32_t worker)
{
    struct held *held = ctx;
    bool nobody = false;
    if (end - begin != 3) {
        atomic_fetch_add(&held->wrong, 1);
    }
    if (worker > 0 && atomic_compare_exchange_strong(&held->taken, &nobody, true)) {
        atomic_store(&held->holder, worker);
        atomic_store(&held->holds, true);
        while (atomic_load(&held->done) < held->others) {
            sched_yield();
        }
        atomic_fetch_add(&held->held, 1);
        return;
    }
    while (!atomic_load(&held->holds)) {
        sched_yield();
    }
    if (worker == atomic_load(&held->holder)) {
        atomic_fetch_add(&held->wrong, 1);
    }
    atomic_fetch_add(&held->done, 1);
}

static void others_do_what_a_held_worker_does_not(void **state)
{
    (void)state;
    for (uint32_t threads = 2; threads <= 4; threads++) {
        struct vt_pool *pool = new_pool(threads, threads % 2 == 0 ? 0 : 50 * VT_NS_PER_US);
        for (int round = 0; round < 20; round++) {
            struct held held = {.others = 40 - 1};
            vt_pool_run(pool, 120, 3, hold_one, &held); /* 40 chunks */
            assert_int_equal(held.done, 39);
            assert_int_equal(held.held, 1);
            assert_int_equal(held.wrong, 0);
        }
        vt_pool_free(pool);
    }
}

struct rival {
    _Atomic bool stop;
    uint32_t cpu;
};

static void *compute_on_a_cpu(void *argument)
{
    struct rival *rival = argument;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(rival->cpu, &set);
    (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    while (!atomic_load_explicit(&rival->stop, memory_order_relaxed)) {
    }
    return NULL;
}

/* However workers are moved about, every item is visited, and the caller stays as it was. */
static void a_rival_on_a_cpu_changes_nothing(void **state)
{
    (void)state;
    static struct loop loop;
    uint32_t order[2] = {0, 0};
    const uint32_t known = vt_topology_cpu_order(order, 2);
    cpu_set_t before, after;
    assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof before, &before), 0);
    for (uint32_t k = 0; k < known; k++) {
        struct rival rival = {.cpu = order[k]};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, compute_on_a_cpu, &rival), 0);
        for (uint32_t bound = 0; bound < 2; bound++) {
            struct vt_pool_options options = {.threads = 3,
                                              .cpus = bound != 0 ? order : NULL,
                                              .n_cpus = known,
                                              .idle_spin_ns = 50 * VT_NS_PER_US};
            struct vt_pool *pool = NULL;
            assert_int_equal(vt_pool_new(&options, NULL, &pool), VT_OK);
            memset(&loop, 0, sizeof loop);
            loop.threads = 3;
            for (int round = 0; round < 100; round++) {
                vt_pool_run(pool, ITEMS, 50, visit, &loop);
            }
            for (int i = 0; i < ITEMS; i++) {
                assert_int_equal(loop.visits[i], 100);
            }
            vt_pool_free(pool);
        }
        atomic_store(&rival.stop, true);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
}

static void empty_and_single_loops_need_no_pool(void **state)
{
    (void)state;
    static struct loop loop;
    memset(&loop, 0, sizeof loop);
    loop.threads = 1;
    vt_pool_run(NULL, 0, 1, visit, &loop);
    vt_pool_run(NULL, 100, 1, visit, &loop);
    assert_int_equal(loop.visits[99], 1);
    assert_int_equal(vt_pool_threads(NULL), 1);
    vt_pool_free(NULL);
}

static void too_many_threads_are_refused(void **state)
{
    (void)state;
    struct vt_pool_options options = {.threads = 1000000};
    struct vt_error err = VT_ERROR_INIT;
    struct vt_pool *pool;
    assert_int_equal(vt_pool_new(&options, &err, &pool), VT_ERR_USAGE);
    assert_non_null(strstr(err.text, "1000000"));
}

struct waiter {
    _Atomic uint32_t word;
    _Atomic bool returned;
};

static void *wait_for_change(void *argument)
{
    struct waiter *waiter = argument;
    bool changed = vt_futex_wait(&waiter->word, 0, VT_NEVER, 10 * VT_NS_PER_US);
    atomic_store(&waiter->returned, changed);
    return NULL;
}

static void a_futex_wakes_and_times_out(void **state)
{
    (void)state;
    static struct waiter waiter;
    pthread_t thread;
    int64_t start = vt_now_ns();

    assert_false(vt_futex_wait(&waiter.word, 0, start + 5 * VT_NS_PER_MS, 0));
    assert_true(vt_now_ns() - start >= 5 * VT_NS_PER_MS);
    assert_true(vt_futex_wait(&waiter.word, 1, VT_NEVER, 0));
    assert_int_equal(pthread_create(&thread, NULL, wait_for_change, &waiter), 0);
    vt_sleep_until_ns(vt_now_ns() + VT_NS_PER_MS, 0);
    atomic_store(&waiter.word, 7);
    vt_futex_wake(&waiter.word, 1);
    pthread_join(thread, NULL);
    assert_true(waiter.returned);
}

static void a_sleep_never_ends_early(void **state)
{
    (void)state;
    for (int64_t spin = 0; spin <= 100 * VT_NS_PER_US; spin += 50 * VT_NS_PER_US) {
        int64_t deadline = vt_now_ns() + 2 * VT_NS_PER_MS;
        vt_sleep_until_ns(deadline, spin);
        assert_true(vt_now_ns() >= deadline);
    }
    int64_t before = vt_now_ns();
    vt_sleep_until_ns(before - 1, 0);
}

/* MemTotal of /proc/meminfo, where that can be read. */
static void assert_memory_is_what_the_kernel_says(uint64_t bytes)
{
    char line[128] = "";
    FILE *file = fopen("/proc/meminfo", "r");

    assert_true(bytes > (uint64_t)1 << 20);
    if (file == NULL) {
        return;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "MemTotal:", 9) == 0) {
            double total = strtod(line + 9, NULL) * 1024;
            assert_true((double)bytes > 0.9 * total && (double)bytes < 1.1 * total);
        }
    }
    (void)fclose(file);
}

static void the_topology_makes_sense(void **state)
{
    (void)state;
    const struct vt_topology *machine = vt_topology();
    uint32_t order[64];

    assert_ptr_equal(machine, vt_topology());
    assert_true(machine->usable_cpus >= 1 && machine->usable_cpus <= machine->cpus);
    assert_true(machine->cores >= 1 && machine->cores <= machine->cpus);
    assert_true(machine->numa_nodes >= 1);
    assert_memory_is_what_the_kernel_says(machine->memory_bytes);
    assert_true(strlen(machine->cpu_model) > 0);
    uint32_t n = vt_topology_cpu_order(order, 64);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t k = 0; k < i; k++) {
            assert_int_not_equal(order[i], order[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_is_visited_once),
        cmocka_unit_test(many_short_loops_lose_no_wake_up),
        cmocka_unit_test(others_do_what_a_held_worker_does_not),
        cmocka_unit_test(a_rival_on_a_cpu_changes_nothing),
        cmocka_unit_test(empty_and_single_loops_need_no_pool),
        cmocka_unit_test(too_many_threads_are_refused),
        cmocka_unit_test(a_futex_wakes_and_times_out),
        cmocka_unit_test(a_sleep_never_ends_early),
        cmocka_unit_test(the_topology_makes_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
