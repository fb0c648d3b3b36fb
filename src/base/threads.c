/* threads.c - the pool of worker threads that a context runs its kernels on. A loop is cut into
 * pieces, and these into a range for each thread, which claims its own first and then what others have
 * left, from atomic counters: a thread so gets the same part of each layer of a network, and finds much
 * of what it reads in its own cache. Nobody waits for a worker that has not joined, so a loop shorter
 * than a wake-up costs no more than one thread would need.
 *
 * A network is some hundred loops of a few microseconds each, so that opening and closing one takes no
 * lock as long as workers are awake, and they stay awake between the loops of a run
 * (sdx_pool_begin_run) for a short while; beyond that, and without a run, they sleep on a condition
 * variable. Three pairs of sides meet here, and in each a side first says what it does, then looks at
 * what the other said, in one order for all (seq_cst), so that at least one of them notices:
 *
 *   worker joins (joined + 1, looks at open)      caller closes (open = 0, looks at joined)
 *   worker sleeps (sleepers + 1, looks at open)   caller opens (open = n, looks at sleepers)
 *   worker leaves (joined - 1, looks at waiting)  caller sleeps (waiting = 1, looks at joined)
 *
 * What the caller says is exchanged rather than stored: qemu's 64-bit ARM lets a load pass a store before it,
 * though both are seq_cst, and a worker or the caller would sleep for ever. Processors take as long for either.
 */
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/clock.h"

#define MOST_THREADS 1024
#define SPIN_NS 80000    /* longer than the steps of a small network that are not parallel */
#define SPIN_PAUSES 32   /* between two looks at the clock */

/* One loop. Written by the caller while none is open and nobody has joined. */
typedef struct loop {
    sdx_loop_body body;
    sdx_slot_body slot_body; /* in its place */
    void *arg;
    size_t count, grain, pieces;
    size_t ranges; /* of pieces: one for each thread, if there are as many pieces */
    size_t batch;  /* pieces claimed at once, so that tiny pieces do not fight for the counter */
    const sdx_watch *watch;
} loop;

/* First piece of a thread's range that is not yet claimed. */
typedef struct counter {
    _Alignas(SDX_CACHE_LINE) atomic_size_t next;
} counter;

struct sdx_pool {
    const sdx_allocator *allocator;
    size_t size;      /* of this allocation */
    uint32_t threads; /* with the caller */
    uint32_t workers;
    bool spin;
    uint64_t rounds;    /* loops so far; the caller's alone */
    loop loop;
    const sdx_watch *watch; /* the caller's; NULL: none */
    pthread_mutex_t lock; /* for sleeping only */
    pthread_cond_t work, done;
    atomic_flag busy;     /* a loop runs: others, nested ones too, run in their own thread */
    atomic_uint born;     /* workers that have begun: each has its number from it */
    atomic_uint runs;     /* in progress: workers may spin */
    atomic_uint sleepers; /* workers that sleep or are about to */
    atomic_uint waiting;  /* 1: the caller sleeps until the last worker has left */
    atomic_bool stop;
    /* Workers look at these all the time: away from what others write. */
    _Alignas(SDX_CACHE_LINE) atomic_uint_fast64_t open; /* number of the loop that may be joined, or 0 */
    _Alignas(SDX_CACHE_LINE) atomic_uint joined;        /* workers inside the loop */
    _Alignas(SDX_CACHE_LINE) pthread_t *ids; /* of the workers; behind the counters */
    counter counters[];                      /* one a thread */
};

static void pause_cpu(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Pieces begin at multiples of grain, whoever runs them. */
static void run_pieces(const loop *l, uint32_t slot, size_t first, size_t last) {
    const sdx_watch *outer = sdx_watch_set(l->watch);
    for (size_t piece = first; piece < last; piece++) {
        if (l->watch && sdx_watch_over(l->watch)) break;
        size_t begin = piece * l->grain;
        size_t size = l->count - begin < l->grain ? l->count - begin : l->grain;
        if (l->body) l->body(l->arg, begin, begin + size);
        else l->slot_body(l->arg, slot, begin, begin + size);
    }
    sdx_watch_set(outer);
}

/* First piece of a range; of the one behind the last: the number of pieces. */
static size_t range_first(const loop *l, size_t range) {
    size_t extra = l->pieces % l->ranges;
    return l->pieces / l->ranges * range + (range < extra ? range : extra);
}

static void claim_range(sdx_pool *pool, const loop *l, uint32_t slot, size_t range) {
    atomic_size_t *next = &pool->counters[range].next;
    const size_t last = range_first(l, range + 1);
    while (atomic_load_explicit(next, memory_order_relaxed) < last) {
        size_t first = atomic_fetch_add_explicit(next, l->batch, memory_order_relaxed);
        if (first >= last) return;
        run_pieces(l, slot, first, last - first < l->batch ? last : first + l->batch);
    }
}

static void claim_pieces(sdx_pool *pool, const loop *l, uint32_t slot) {
    for (size_t i = 0; i < l->ranges; i++)
        claim_range(pool, l, slot, (slot + i) % l->ranges);
}

/* ---- workers --------------------------------------------------------------------------------- */

static bool is_new(sdx_pool *pool, uint_fast64_t seen) {
    uint_fast64_t open = atomic_load(&pool->open);
    return (open != 0 && open != seen) || atomic_load(&pool->stop);
}

/* Spins while a run is in progress, for a while; true: there is something new. */
static bool spin_for_loop(sdx_pool *pool, uint_fast64_t seen) {
    if (!pool->spin) return false;
    uint64_t start = sdx_nanoseconds();
    do {
        for (int i = 0; i < SPIN_PAUSES; i++) {
            if (is_new(pool, seen)) return true;
            pause_cpu();
        }
        if (atomic_load_explicit(&pool->runs, memory_order_relaxed) == 0) return false;
    } while (sdx_nanoseconds() - start < SPIN_NS);
    return false;
}

static void sleep_for_loop(sdx_pool *pool, uint_fast64_t seen) {
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->sleepers, 1);
    while (!is_new(pool, seen)) pthread_cond_wait(&pool->work, &pool->lock);
    atomic_fetch_sub(&pool->sleepers, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void leave(sdx_pool *pool) {
    if (atomic_fetch_sub(&pool->joined, 1) != 1 || atomic_load(&pool->waiting) == 0) return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_signal(&pool->done);
    pthread_mutex_unlock(&pool->lock);
}

static void *worker(void *arg) {
    sdx_pool *pool = arg;
    uint_fast64_t seen = 0;
    uint32_t slot = atomic_fetch_add(&pool->born, 1) + 1;
    for (;;) {
        if (!spin_for_loop(pool, seen)) sleep_for_loop(pool, seen);
        if (atomic_load(&pool->stop)) return NULL;
        atomic_fetch_add(&pool->joined, 1);
        uint_fast64_t open = atomic_load(&pool->open);
        if (open != 0) { /* else it is over already and needs no help any more */
            seen = open;
            loop l = pool->loop;
            claim_pieces(pool, &l, slot);
        }
        leave(pool);
    }
}

/* ---- making and ending ------------------------------------------------------------------------ */

/* Signals that the program handles are left to its own threads. Those that a thread raises by
 * its own fault stay open: a handler may want to see them. */
static void start_workers(sdx_pool *pool, uint32_t wanted) {
    sigset_t block, before;
    sigfillset(&block);
    sigdelset(&block, SIGSEGV);
    sigdelset(&block, SIGBUS);
    sigdelset(&block, SIGFPE);
    sigdelset(&block, SIGILL);
    sigdelset(&block, SIGTRAP);
    sigdelset(&block, SIGABRT);
    bool masked = pthread_sigmask(SIG_BLOCK, &block, &before) == 0;
    /* A system that gives fewer threads gives a slower pool, not an error. */
    while (pool->workers < wanted &&
           pthread_create(&pool->ids[pool->workers], NULL, worker, pool) == 0)
        pool->workers++;
    if (masked) pthread_sigmask(SIG_SETMASK, &before, NULL);
    pool->threads = pool->workers + 1;
}

sdx_status sdx_pool_create(const sdx_allocator *allocator, uint32_t threads, sdx_pool **out,
                           sdx_error *error) {
    if (out == NULL)
        return sdx_fail(error, SDX_STATUS_INVALID_ARGUMENT, "the place for the pool is NULL");
    *out = NULL;
    if (threads < 1) threads = 1;
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    size_t size = sizeof(sdx_pool) + threads * (sizeof(counter) + sizeof(pthread_t));
    sdx_pool *pool = sdx_alloc(allocator, size, SDX_CACHE_LINE);
    if (pool == NULL) return sdx_fail_memory(error, size, "a pool of threads");
    memset(pool, 0, size);
    pool->allocator = allocator;
    pool->size = size;
    pool->threads = 1;
    pool->ids = (pthread_t *)(void *)(pool->counters + threads);
    atomic_flag_clear(&pool->busy);
    for (uint32_t i = 0; i < threads; i++) atomic_init(&pool->counters[i].next, 0);
    atomic_init(&pool->open, 0);
    atomic_init(&pool->joined, 0);
    atomic_init(&pool->born, 0);
    atomic_init(&pool->runs, 0);
    atomic_init(&pool->sleepers, 0);
    atomic_init(&pool->waiting, 0);
    atomic_init(&pool->stop, false);
    bool lock = pthread_mutex_init(&pool->lock, NULL) == 0;
    bool work = lock && pthread_cond_init(&pool->work, NULL) == 0;
    bool done = work && pthread_cond_init(&pool->done, NULL) == 0;
    if (!done) {
        if (work) pthread_cond_destroy(&pool->work);
        if (lock) pthread_mutex_destroy(&pool->lock);
        sdx_free(allocator, pool, size);
        return sdx_fail(error, SDX_STATUS_NO_MEMORY, "the system gave no lock for a pool");
    }
    /* With more threads than CPUs a spinning thread would hold up one that has work. */
    pool->spin = threads <= sdx_usable_cpus();
    if (threads > 1) start_workers(pool, threads - 1);
    *out = pool;
    return SDX_STATUS_OK;
}

void sdx_pool_release(sdx_pool *pool) {
    if (pool == NULL) return;
    atomic_store(&pool->stop, true);
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->workers; i++) pthread_join(pool->ids[i], NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    sdx_free(pool->allocator, pool, pool->size);
}

uint32_t sdx_pool_threads(const sdx_pool *pool) { return pool == NULL ? 1 : pool->threads; }

uint32_t sdx_default_threads(void) {
    const char *text = getenv("SARDONYX_THREADS");
    char *end = NULL;
    long wanted = text ? strtol(text, &end, 10) : 0;
    if (text && *text && !*end && wanted >= 1 && wanted <= MOST_THREADS) return (uint32_t)wanted;
    return sdx_usable_cpus();
}

uint32_t sdx_useful_threads(uint32_t wanted) {
    uint32_t cpus = sdx_usable_cpus();
    if (wanted == 0) wanted = sdx_default_threads();
    return wanted < cpus ? wanted : cpus;
}

bool sdx_pool_set_cpus(sdx_pool *pool, const uint32_t *cpus, size_t count) {
    for (uint32_t i = 0; pool && count && i < pool->workers; i++) {
#if defined(__linux__)
        uint32_t cpu = cpus[(i + 1) % count];
        cpu_set_t set;
        CPU_ZERO(&set);
        if (cpu >= CPU_SETSIZE) return false;
        CPU_SET(cpu, &set);
        if (pthread_setaffinity_np(pool->ids[i], sizeof set, &set) != 0) return false;
#else
        (void)cpus;
        return false;
#endif
    }
    return true;
}

void sdx_pool_watch(sdx_pool *pool, const sdx_watch *watch) {
    if (pool) pool->watch = watch;
}

void sdx_pool_begin_run(sdx_pool *pool) {
    if (pool) atomic_fetch_add_explicit(&pool->runs, 1, memory_order_relaxed);
}

void sdx_pool_end_run(sdx_pool *pool) {
    if (pool) atomic_fetch_sub_explicit(&pool->runs, 1, memory_order_relaxed);
}

/* ---- loops ------------------------------------------------------------------------------------ */

static void open_loop(sdx_pool *pool, const loop *l) {
    pool->loop = *l;
    for (size_t r = 0; r < l->ranges; r++)
        atomic_store_explicit(&pool->counters[r].next, range_first(l, r), memory_order_relaxed);
    atomic_exchange(&pool->open, ++pool->rounds);
    if (atomic_load(&pool->sleepers) == 0) return;
    pthread_mutex_lock(&pool->lock);
    if (l->pieces - 1 >= pool->workers) {
        pthread_cond_broadcast(&pool->work);
    } else {
        for (size_t i = 1; i < l->pieces; i++) pthread_cond_signal(&pool->work);
    }
    pthread_mutex_unlock(&pool->lock);
}

/* No worker may join any more; those inside finish their last pieces. */
static void close_loop(sdx_pool *pool) {
    atomic_exchange(&pool->open, 0);
    if (atomic_load(&pool->joined) == 0) return;
    uint64_t start = pool->spin ? sdx_nanoseconds() : 0;
    while (pool->spin && sdx_nanoseconds() - start < SPIN_NS)
        for (int i = 0; i < SPIN_PAUSES; i++) {
            if (atomic_load(&pool->joined) == 0) return;
            pause_cpu();
        }
    pthread_mutex_lock(&pool->lock);
    atomic_exchange(&pool->waiting, 1);
    while (atomic_load(&pool->joined) != 0) pthread_cond_wait(&pool->done, &pool->lock);
    atomic_store(&pool->waiting, 0);
    pthread_mutex_unlock(&pool->lock);
}

static void run_loop(sdx_pool *pool, loop l) {
    if (l.count == 0) return;
    if (l.grain == 0) l.grain = 1;
    l.batch = 1;
    l.watch = pool && pool->watch ? pool->watch : sdx_watch_now();
    l.pieces = l.count / l.grain + (l.count % l.grain != 0);
    /* A counter runs past the end by a batch per thread; it must not wrap. */
    bool alone = pool == NULL || pool->workers == 0 || l.pieces == 1 || l.pieces > SIZE_MAX / 4;
    /* A body that starts a loop of its own finds the pool busy and so cannot wait for itself. */
    if (alone || atomic_flag_test_and_set_explicit(&pool->busy, memory_order_acquire)) {
        run_pieces(&l, 0, 0, l.pieces);
        return;
    }
    l.batch = l.pieces / ((size_t)pool->threads * 16);
    if (l.batch == 0) l.batch = 1;
    l.ranges = l.pieces < pool->threads ? l.pieces : pool->threads;
    open_loop(pool, &l);
    claim_pieces(pool, &l, 0);
    close_loop(pool);
    atomic_flag_clear_explicit(&pool->busy, memory_order_release);
}

void sdx_parallel_for(sdx_pool *pool, size_t count, size_t grain, sdx_loop_body body, void *arg) {
    run_loop(pool, (loop){.body = body, .arg = arg, .count = count, .grain = grain});
}

void sdx_parallel_for_slots(sdx_pool *pool, size_t count, size_t grain, sdx_slot_body body,
                            void *arg) {
    run_loop(pool, (loop){.slot_body = body, .arg = arg, .count = count, .grain = grain});
}
