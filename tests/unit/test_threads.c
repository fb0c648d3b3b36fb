/* test_threads.c - the pool: every index once, equal borders for any number of threads, nesting,
 * concurrent callers, failure to get threads; and the reading of CPU quotas from a made-up file
 * system. Meant to be run under the thread sanitizer as well. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cpus.h"
#include "base/threads.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

static sdx_pool *make_pool(uint32_t threads) {
    sdx_pool *pool = NULL;
    sdx_error error = {0};
    assert_int_equal(sdx_pool_create(NULL, threads, &pool, &error), SDX_STATUS_OK);
    assert_non_null(pool);
    return pool;
}

/* ---- loops -------------------------------------------------------------------------------- */

#define MOST 5000

/* Plain bytes, not atomics: two threads at one index would be a race that a sanitizer shows. */
typedef struct marks {
    uint8_t visits[MOST];
    uint8_t begins[MOST];
    size_t count, grain;
    atomic_bool wrong;
} marks;

static void mark(void *arg, size_t begin, size_t end) {
    marks *m = arg;
    bool good = begin < end && end <= m->count && begin % m->grain == 0 &&
                (end == m->count || end - begin == m->grain);
    if (!good) {
        atomic_store(&m->wrong, true);
        return;
    }
    m->begins[begin]++;
    for (size_t i = begin; i < end; i++) m->visits[i]++;
}

static void check_loop(sdx_pool *pool, size_t count, size_t grain) {
    static marks m;
    memset(m.visits, 0, sizeof m.visits);
    memset(m.begins, 0, sizeof m.begins);
    m.count = count;
    m.grain = grain == 0 ? 1 : grain;
    atomic_store(&m.wrong, false);
    sdx_parallel_for(pool, count, grain, mark, &m);
    assert_false(atomic_load(&m.wrong));
    for (size_t i = 0; i < MOST; i++) {
        if (m.visits[i] != (i < count)) fail_msg("index %zu of %zu/%zu", i, count, grain);
        if (m.begins[i] != (i < count && i % m.grain == 0))
            fail_msg("border %zu of %zu/%zu", i, count, grain);
    }
}

static void test_every_index_once(void **state) {
    (void)state;
    static const size_t counts[] = {0, 1, 2, 3, 7, 8, 63, 64, 65, 1000, 4999, 5000};
    static const size_t grains[] = {0, 1, 2, 3, 16, 63, 64, 100, 4999, 5000, SIZE_MAX};
    static const uint32_t threads[] = {1, 2, 3, 4, 9};
    for (size_t t = 0; t <= sizeof threads / sizeof threads[0]; t++) {
        sdx_pool *pool = t == 0 ? NULL : make_pool(threads[t - 1]);
        assert_int_equal(sdx_pool_threads(pool), t == 0 ? 1 : threads[t - 1]);
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
            for (size_t g = 0; g < sizeof grains / sizeof grains[0]; g++)
                check_loop(pool, counts[c], grains[g]);
        sdx_pool_release(pool);
    }
}

/* Thousands of short loops in a row: wake-ups, late workers and ends in all their orders. */
static void test_many_loops(void **state) {
    (void)state;
    sdx_pool *pool = make_pool(4);
    for (size_t round = 0; round < 3000; round++) {
        if (round % 500 == 0) usleep(2000); /* lets the workers fall asleep */
        check_loop(pool, round % 40, 1 + round % 3);
    }
    sdx_pool_release(pool);
}

/* One loop of a kind: what it is must fit together whenever a worker joins. */
typedef struct kind {
    size_t count, number;
    atomic_size_t done;
    atomic_bool wrong;
} kind;

static void count_small(void *arg, size_t begin, size_t end) {
    kind *k = arg;
    if (k->count > 8 || k->number % 2 || end > k->count) atomic_store(&k->wrong, true);
    atomic_fetch_add(&k->done, end - begin);
}

static void count_large(void *arg, uint32_t slot, size_t begin, size_t end) {
    kind *k = arg;
    if (k->count <= 8 || k->number % 2 == 0 || end > k->count || slot > 2)
        atomic_store(&k->wrong, true);
    atomic_fetch_add(&k->done, end - begin);
}

/* Loops of different bodies, sizes and arguments right behind one another: a worker that comes late for one
 * must not take a piece of it, nor a piece of the next one for it. */
static void test_late_workers(void **state) {
    (void)state;
    static const size_t sizes[] = {2, 900, 3, 9, 8, 97, 2, 10};
    sdx_pool *pool = make_pool(3);
    sdx_pool_begin_run(pool);
    for (size_t round = 0; round < 60000; round++) {
        kind k = {.count = sizes[round % 8], .number = round};
        if (round % 2) sdx_parallel_for_slots(pool, k.count, 1, count_large, &k);
        else sdx_parallel_for(pool, k.count, 1, count_small, &k);
        if (atomic_load(&k.wrong) || atomic_load(&k.done) != k.count)
            fail_msg("loop %zu: %zu of %zu done", round, atomic_load(&k.done), k.count);
        k.count = SIZE_MAX;
    }
    sdx_pool_end_run(pool);
    sdx_pool_release(pool);
}

/* ---- slots: no two at a time --------------------------------------------------------------------- */

typedef struct slots {
    atomic_uint inside[9];
    atomic_uint calls;
    uint32_t most;
    atomic_bool wrong;
} slots;

static void take_slot(void *arg, uint32_t slot, size_t begin, size_t end) {
    slots *s = arg;
    if (slot >= s->most || end != begin + 1 || atomic_fetch_add(&s->inside[slot], 1) != 0)
        atomic_store(&s->wrong, true);
    for (volatile int i = 0; i < 200; i++) {
    }
    if (slot < s->most) atomic_fetch_sub(&s->inside[slot], 1);
    atomic_fetch_add(&s->calls, 1);
}

static void test_slots(void **state) {
    (void)state;
    for (uint32_t threads = 0; threads <= 9; threads++) {
        sdx_pool *pool = threads ? make_pool(threads) : NULL;
        slots s = {.most = threads ? threads : 1};
        for (size_t round = 0; round < 50; round++)
            sdx_parallel_for_slots(pool, 40, 1, take_slot, &s);
        assert_false(atomic_load(&s.wrong));
        assert_int_equal(atomic_load(&s.calls), 50 * 40);
        sdx_pool_release(pool);
    }
}

typedef struct adder {
    atomic_size_t sum;
    atomic_size_t threads_seen;
} adder;

static void add_range(void *arg, size_t begin, size_t end) {
    adder *a = arg;
    size_t sum = 0;
    for (size_t i = begin; i < end; i++) sum += i;
    atomic_fetch_add(&a->sum, sum);
}

/* Far more pieces than threads: they are claimed in batches. */
static void test_many_pieces(void **state) {
    (void)state;
    sdx_pool *pool = make_pool(2);
    adder a = {0};
    sdx_parallel_for(pool, 1000000, 10, add_range, &a);
    assert_int_equal(atomic_load(&a.sum), (size_t)1000000 * 999999 / 2);
    sdx_pool_release(pool);
}

static void meet(void *arg, size_t begin, size_t end) {
    adder *a = arg;
    (void)begin, (void)end;
    atomic_fetch_add(&a->threads_seen, 1);
    for (int i = 0; i < 20000 && atomic_load(&a->threads_seen) < 3; i++) usleep(100);
    if (atomic_load(&a->threads_seen) >= 3) atomic_fetch_add(&a->sum, 1);
}

/* Three pieces wait for each other: all three threads really run at once. */
static void test_threads_run_at_once(void **state) {
    (void)state;
    sdx_pool *pool = make_pool(3);
    for (int round = 0; round < 20; round++) {
        adder a = {0};
        sdx_parallel_for(pool, 3, 1, meet, &a);
        assert_int_equal(atomic_load(&a.sum), 3);
    }
    sdx_pool_release(pool);
}

/* ---- nesting and concurrent callers ------------------------------------------------------- */

typedef struct nest {
    sdx_pool *pool, *other;
    adder inner;
} nest;

static void nested_body(void *arg, size_t begin, size_t end) {
    nest *n = arg;
    for (size_t i = begin; i < end; i++) {
        sdx_parallel_for(n->pool, 100, 7, add_range, &n->inner);
        sdx_parallel_for(n->other, 100, 7, add_range, &n->inner);
    }
}

static void test_nested(void **state) {
    (void)state;
    nest n = {.pool = make_pool(4), .other = make_pool(2)};
    for (size_t round = 0; round < 50; round++) {
        atomic_store(&n.inner.sum, 0);
        sdx_parallel_for(n.pool, 64, 1, nested_body, &n);
        assert_int_equal(atomic_load(&n.inner.sum), 64 * 2 * 4950);
    }
    /* A loop of one piece leaves the pool to the loop inside of it. */
    atomic_store(&n.inner.sum, 0);
    sdx_parallel_for(n.pool, 1, 1, nested_body, &n);
    assert_int_equal(atomic_load(&n.inner.sum), 2 * 4950);
    sdx_pool_release(n.pool);
    sdx_pool_release(n.other);
}

static void *caller(void *arg) {
    sdx_pool *pool = arg;
    for (int round = 0; round < 300; round++) {
        adder a = {0};
        sdx_parallel_for(pool, 1000, 10, add_range, &a);
        if (atomic_load(&a.sum) != 499500) return arg;
    }
    return NULL;
}

static void test_concurrent_callers(void **state) {
    (void)state;
    sdx_pool *pool = make_pool(3);
    pthread_t ids[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&ids[i], NULL, caller, pool), 0);
    for (int i = 0; i < 4; i++) {
        void *result = pool;
        pthread_join(ids[i], &result);
        assert_null(result);
    }
    sdx_pool_release(pool);
}

/* ---- runs -------------------------------------------------------------------------------- */

/* Loops close together, with short and long gaps, in runs and between them: whether workers spin, go
 * to sleep or are woken, every loop is whole. */
static void test_runs(void **state) {
    (void)state;
    for (uint32_t threads = 2; threads <= 4; threads++) {
        sdx_pool *pool = make_pool(threads);
        for (int run = 0; run < 30; run++) {
            if (run % 3) sdx_pool_begin_run(pool);
            for (int i = 0; i < 200; i++) {
                adder a = {0};
                sdx_parallel_for(pool, 64, 1, add_range, &a);
                assert_int_equal(atomic_load(&a.sum), 64 * 63 / 2);
                if (i % 50 == 0) usleep(i % 100 ? 30 : 200);
            }
            if (run % 3) sdx_pool_end_run(pool);
        }
        sdx_pool_release(pool);
    }
    sdx_pool_begin_run(NULL);
    sdx_pool_end_run(NULL);
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Nobody spins without a run, nor for long within one. */
static void test_idle(void **state) {
    (void)state;
    sdx_pool *pool = make_pool(2);
    adder a = {0};
    sdx_pool_begin_run(pool);
    sdx_parallel_for(pool, 1000, 1, add_range, &a);
    double before = cpu_seconds();
    usleep(100000);
    assert_true(cpu_seconds() - before < 0.02);
    sdx_pool_end_run(pool);
    before = cpu_seconds();
    usleep(100000);
    assert_true(cpu_seconds() - before < 0.02);
    sdx_pool_release(pool);
}

static void test_cpu_lists(void **state) {
    (void)state;
    cpu_set_t mine;
    assert_int_equal(sched_getaffinity(0, sizeof mine, &mine), 0);
    uint32_t cpus[2] = {0, 0};
    while (!CPU_ISSET(cpus[0], &mine)) cpus[0]++;
    cpus[1] = cpus[0];
    sdx_pool *pool = make_pool(3);
    assert_true(sdx_pool_set_cpus(pool, cpus, 2));
    assert_true(sdx_pool_set_cpus(pool, NULL, 0));
    check_loop(pool, 1000, 7);
    const uint32_t absent[1] = {CPU_SETSIZE - 1}, absurd[1] = {UINT32_MAX};
    assert_false(sdx_pool_set_cpus(pool, absent, 1));
    assert_false(sdx_pool_set_cpus(pool, absurd, 1));
    check_loop(pool, 1000, 7);
    cpu_set_t still;
    assert_int_equal(sched_getaffinity(0, sizeof still, &still), 0);
    assert_true(CPU_EQUAL(&mine, &still)); /* the caller's thread is left alone */
    sdx_pool_release(pool);
}

static void test_default_threads(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t threads; /* 0: as many as there are CPUs */
    } cases[] = {{"3", 3}, {"1", 1}, {"1024", 1024}, {"", 0}, {"0", 0}, {"-2", 0}, {"2x", 0},
                 {"99999", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("SARDONYX_THREADS", cases[i].text, 1);
        assert_int_equal(sdx_default_threads(),
                         cases[i].threads ? cases[i].threads : sdx_usable_cpus());
    }
    unsetenv("SARDONYX_THREADS");
    assert_int_equal(sdx_default_threads(), sdx_usable_cpus());
}

/* ---- making pools ------------------------------------------------------------------------- */

static void *no_memory(void *user, size_t size, size_t alignment) {
    (void)user, (void)size, (void)alignment;
    return NULL;
}

static void test_create(void **state) {
    (void)state;
    sdx_pool *pool = NULL;
    sdx_error error = {0};
    const sdx_allocator poor = {.allocate = no_memory};
    assert_int_equal(sdx_pool_create(&poor, 2, &pool, &error), SDX_STATUS_NO_MEMORY);
    assert_int_equal(error.code, SDX_STATUS_NO_MEMORY);
    assert_null(pool);
    assert_int_equal(sdx_pool_create(NULL, 2, NULL, NULL), SDX_STATUS_INVALID_ARGUMENT);
    pool = make_pool(0);
    assert_int_equal(sdx_pool_threads(pool), 1);
    check_loop(pool, 100, 7);
    sdx_pool_release(pool);
    sdx_pool_release(NULL);
    for (int i = 0; i < 30; i++) sdx_pool_release(make_pool(4)); /* ends without ever working */
}

/* In a child whose memory is closed, stacks for threads cannot be had. */
static void test_too_few_threads(void **state) {
    (void)state;
#if defined(SANITIZED)
    skip(); /* the sanitizers themselves need the memory */
#else
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sdx_pool *pool = NULL;
        adder a = {0};
        struct rlimit none = {.rlim_cur = 1, .rlim_max = 1};
        if (setrlimit(RLIMIT_AS, &none) != 0) _exit(10);
        if (sdx_pool_create(NULL, 64, &pool, NULL) != SDX_STATUS_OK) _exit(11);
        if (sdx_pool_threads(pool) < 1 || sdx_pool_threads(pool) >= 64) _exit(12);
        sdx_parallel_for(pool, 1000, 10, add_range, &a);
        if (atomic_load(&a.sum) != 499500) _exit(13);
        sdx_pool_release(pool);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
#endif
}

/* ---- CPUs --------------------------------------------------------------------------------- */

static char root[64];

/* Makes root/path with its folders; text NULL: nothing. */
static void write_file(const char *path, const char *text) {
    char full[512];
    int length = snprintf(full, sizeof full, "%s/%s", root, path);
    assert_true(length > 0 && (size_t)length < sizeof full);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(full, 0700);
        *at = '/';
    }
    FILE *file = fopen(full, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int new_root(void **state) {
    (void)state;
    snprintf(root, sizeof root, "/tmp/sardonyx-cpus-XXXXXX");
    return mkdtemp(root) == NULL ? -1 : 0;
}

static int drop_root(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static void test_quota_v2(void **state) {
    (void)state;
    assert_true(sdx_cgroup_cpus(root) == UINT32_MAX); /* nothing there */
    write_file("proc/self/cgroup", "0::/a/b/c\n");
    assert_true(sdx_cgroup_cpus(root) == UINT32_MAX);
    static const struct {
        const char *text;
        uint32_t cpus;
    } cases[] = {
        {"max 100000\n", UINT32_MAX},
        {"200000 100000\n", 2},
        {"150000 100000\n", 2},
        {"100001 100000\n", 2},
        {"1000 100000\n", 1},
        {"400000 100000", 4},
        {"", UINT32_MAX},
        {"garbage", UINT32_MAX},
        {"-1 100000", UINT32_MAX},
        {"0 100000", UINT32_MAX},
        {"100000 0", UINT32_MAX},
        {"100000", UINT32_MAX},
        {"99999999999999999999999 1", UINT32_MAX},
        {"18446744073709551 1", UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file("sys/fs/cgroup/a/b/c/cpu.max", cases[i].text);
        uint32_t cpus = sdx_cgroup_cpus(root);
        if (cpus != cases[i].cpus) fail_msg("\"%s\" gives %u", cases[i].text, cpus);
    }
    /* The narrowest of the groups around counts. */
    write_file("sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
    assert_int_equal(sdx_cgroup_cpus(root), 8);
    write_file("sys/fs/cgroup/a/cpu.max", "300000 100000\n");
    assert_int_equal(sdx_cgroup_cpus(root), 3);
    write_file("sys/fs/cgroup/cpu.max", "100000 100000\n");
    assert_int_equal(sdx_cgroup_cpus(root), 1);
    /* A path that leads out, and lines that are none. */
    write_file("proc/self/cgroup", "0::/../../x\n");
    assert_int_equal(sdx_cgroup_cpus(root), 1);
    write_file("proc/self/cgroup", "0\n:\n0:\n::\n0::relative\n\n");
    assert_true(sdx_cgroup_cpus(root) == UINT32_MAX);
    write_file("proc/self/cgroup", "0::/");
    assert_int_equal(sdx_cgroup_cpus(root), 1);
}

static void test_quota_v1(void **state) {
    (void)state;
    write_file("proc/self/cgroup", "12:memory:/docker/f00\n4:cpu,cpuacct:/docker/f00\n"
                                   "1:name=systemd:/docker/f00\n");
    /* The host's path, but mounted at the root, as in a container. */
    write_file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    write_file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_true(sdx_cgroup_cpus(root) == UINT32_MAX);
    write_file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n");
    assert_int_equal(sdx_cgroup_cpus(root), 3);
    write_file("sys/fs/cgroup/cpu/docker/f00/cpu.cfs_quota_us", "50000\n");
    write_file("sys/fs/cgroup/cpu/docker/f00/cpu.cfs_period_us", "50000\n");
    assert_int_equal(sdx_cgroup_cpus(root), 1);
    write_file("proc/self/cgroup", "4:cpuacct,cpuset:/docker/f00\n"); /* none of these is "cpu" */
    assert_true(sdx_cgroup_cpus(root) == UINT32_MAX);
    write_file("proc/self/cgroup", "4:cpuacct,cpu:/\n");
    assert_int_equal(sdx_cgroup_cpus(root), 3);
    char path[300];
    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    assert_true(sdx_cgroup_cpus(path) == UINT32_MAX); /* a root too long for any buffer */
}

static void test_machine_memory(void **state) {
    (void)state;
    uint64_t total, left;
    sdx_machine_memory(root, &total, &left);
    assert_true(total == UINT64_MAX && left == UINT64_MAX); /* nothing there */
    write_file("proc/meminfo", "MemTotal:       2000 kB\nMemFree:         10 kB\nMemAvailable:   1500 kB\n");
    sdx_machine_memory(root, &total, &left);
    assert_true(total == 2000 << 10 && left == 1500 << 10);
    /* Version 2: the group, and the one around it. Pages of files that may go count as left. */
    write_file("proc/self/cgroup", "0::/a/b\n");
    write_file("sys/fs/cgroup/a/b/memory.max", "max\n");
    write_file("sys/fs/cgroup/a/memory.max", "1000000\n");
    write_file("sys/fs/cgroup/a/memory.current", "700000\n");
    sdx_machine_memory(root, &total, &left);
    assert_true(total == 1000000 && left == 300000);
    write_file("sys/fs/cgroup/a/memory.stat", "anon 5\nfile 9\ninactive_file 200000\n");
    sdx_machine_memory(root, &total, &left);
    assert_true(total == 1000000 && left == 500000);
    write_file("sys/fs/cgroup/a/memory.current", "1300000\n"); /* more than allowed: nothing is left */
    sdx_machine_memory(root, &total, &left);
    assert_true(left == 0);
    /* Version 1. */
    write_file("proc/self/cgroup", "9:memory:/docker\n2:cpu:/\n");
    write_file("sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "800000\n");
    write_file("sys/fs/cgroup/memory/docker/memory.usage_in_bytes", "500000\n");
    write_file("sys/fs/cgroup/memory/docker/memory.stat", "inactive_file 7\ntotal_inactive_file 100000\n");
    sdx_machine_memory(root, &total, &left);
    assert_true(total == 800000 && left == 400000);
    write_file("sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    sdx_machine_memory(root, &total, &left);
    assert_true(total == 2000 << 10 && left == 1500 << 10);
}

static void test_cache_bytes(void **state) {
    (void)state;
    assert_int_equal(sdx_cache_bytes(root), 4 << 20); /* nothing there */
    write_file("sys/devices/system/cpu/cpu0/cache/index0/size", "32K\n");
    assert_int_equal(sdx_cache_bytes(root), 32 << 10);
    write_file("sys/devices/system/cpu/cpu0/cache/index1/size", "garbage\n");
    write_file("sys/devices/system/cpu/cpu0/cache/index2/size", "16384K\n");
    assert_int_equal(sdx_cache_bytes(root), 16 << 20);
    write_file("sys/devices/system/cpu/cpu0/cache/index3/size", "99999999999999\n");
    assert_int_equal(sdx_cache_bytes(root), 16 << 20);
}

static void test_usable_cpus(void **state) {
    (void)state;
    uint32_t cpus = sdx_usable_cpus();
    assert_true(cpus >= 1);
    assert_true(cpus <= (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_index_once),
        cmocka_unit_test(test_many_loops),
        cmocka_unit_test(test_late_workers),
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_many_pieces),
        cmocka_unit_test(test_threads_run_at_once),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_concurrent_callers),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_cpu_lists),
        cmocka_unit_test(test_default_threads),
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_too_few_threads),
        cmocka_unit_test_setup_teardown(test_quota_v2, new_root, drop_root),
        cmocka_unit_test_setup_teardown(test_quota_v1, new_root, drop_root),
        cmocka_unit_test_setup_teardown(test_cache_bytes, new_root, drop_root),
        cmocka_unit_test_setup_teardown(test_machine_memory, new_root, drop_root),
        cmocka_unit_test(test_usable_cpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
