/* threads.c - the pool of worker threads that a context runs its kernels on. A loop is cut into
 * pieces, and these into a range for each thread, which claims its own first and then what others have
 * left: a thread so gets the same part of each layer of a network, and finds much of what it reads in
 * its own cache. Nobody waits for a worker that has claimed nothing, so a loop shorter than a wake-up
 * costs no more than one thread would need.
 *
 * A network is some hundred loops of a few microseconds each, and a cache line takes 0.1 to 0.5 us from
 * one core to another. So while workers are awake, which they are between the loops of a run
 * (sdx_pool_begin_run) for a short while, a loop moves few lines: the board, all of what a loop is in one
 * line, to each worker; and the worker's own line, what it has claimed and done, back to the caller. Both
 * are written by plain stores that nobody waits for:
 *
 *   board   The caller sets `open` to 0, writes the fields, sets `open` to the loop's number. A worker reads
 *           the number, the fields and the number again; the same twice, and the fields belong to it.
 *   claims  A counter holds the number of a loop beside what is claimed of its range, and is moved on by
 *           compare-and-exchange. One of an earlier loop stands at 0 of this one, so that nobody sets them
 *           back; and who comes late, for a loop that is over, finds all claims of that number taken.
 *   done    A thread counts what it has done beside the loop's number. The loop is over when these sum up to
 *           its claims, whatever the workers do that claimed none.
 *
 * Beyond that, and without a run, they sleep on condition variables. Who goes to sleep and who would have to
 * wake it meet in one variable that both read and write in one operation, so that the later one sees what the
 * earlier one did before:
 *
 *   worker sleeps (sleepers + 1, looks at open)   caller opens (open = n, sleepers + 0)
 *   caller sleeps (waiting = 1, sums up done)     worker has done (done = n, waiting + 0)
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

#define CLAIM_BITS   16 /* of a counter; the rest is the loop's number */

/* One loop, as who runs it sees it. */
typedef struct loop {
    sdx_loop_body body;
    sdx_slot_body slot_body; /* in its place */
    void *arg;
    size_t count, grain;
    const sdx_watch *watch;
    uint64_t number;
    size_t pieces;
    size_t ranges; /* of pieces: one for each thread, if there are as many pieces */
    size_t batch;  /* pieces claimed at once, so that tiny pieces do not fight for the counter */
} loop;

/* The loop that may be joined, or the last one. A worker may read while the caller writes, and finds out. */
typedef struct board {
    _Alignas(SDX_CACHE_LINE) atomic_uint_fast64_t open; /* its number, or 0 */
    _Atomic(sdx_loop_body) body;
    _Atomic(sdx_slot_body) slot_body;
    _Atomic(void *) arg;
    atomic_size_t count, grain;
    _Atomic(const sdx_watch *) watch;
} board;

/* A thread's, with the number of a loop in the upper bits. */
typedef struct counter {
    _Alignas(SDX_CACHE_LINE) atomic_uint_fast64_t claimed; /* of its range, by whoever */
    atomic_uint_fast64_t done; /* of all ranges, by this thread, which alone writes it */
} counter;

struct sdx_pool {
    const sdx_allocator *allocator;
    size_t size;      /* of this allocation */
    uint32_t threads; /* with the caller */
    uint32_t workers;
    bool spin;
    uint64_t rounds;    /* loops so far; the caller's alone */
    const sdx_watch *watch; /* the caller's; NULL: none */
    pthread_mutex_t lock; /* for sleeping only */
    pthread_cond_t work, done;
    atomic_flag busy;     /* a loop runs: others, nested ones too, run in their own thread */
    atomic_uint born;     /* workers that have begun: each has its number from it */
    atomic_uint sleepers; /* workers that sleep or are about to */
    _Alignas(SDX_CACHE_LINE) atomic_uint waiting; /* 1: the caller sleeps until all is done */
    /* Workers look at these all the time: away from what others write. */
    _Alignas(SDX_CACHE_LINE) atomic_uint runs; /* in progress: workers may spin */
    atomic_bool stop;
    board board;
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

/* What a counter says of this very loop. */
static size_t count_of(uint_fast64_t value, uint64_t number) {
    return value >> CLAIM_BITS == number ? value & (((uint64_t)1 << CLAIM_BITS) - 1) : 0;
}

/* Times that somebody can claim of a range. */
static size_t range_claims(const loop *l, size_t range) {
    return (range_first(l, range + 1) - range_first(l, range) + l->batch - 1) / l->batch;
}

/* The next claim of a range, if there is one left of this very loop. */
static bool claim(counter *c, uint64_t number, size_t claims, size_t *which) {
    uint_fast64_t seen = atomic_load_explicit(&c->claimed, memory_order_relaxed);
    for (;;) {
        if (seen >> CLAIM_BITS > number) return false;
        *which = count_of(seen, number);
        if (*which >= claims) return false;
        if (atomic_compare_exchange_weak_explicit(&c->claimed, &seen,
                                                  (number << CLAIM_BITS) | (*which + 1),
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    }
}

/* Claims once of a range and runs that; `done`: how many claims this thread has done in all. */
static bool take(sdx_pool *pool, const loop *l, uint32_t slot, size_t range, size_t *done) {
    size_t which;
    if (!claim(&pool->counters[range], l->number, range_claims(l, range), &which)) return false;
    const size_t first = range_first(l, range) + which * l->batch, last = range_first(l, range + 1);
    run_pieces(l, slot, first, last - first < l->batch ? last : first + l->batch);
    atomic_store_explicit(&pool->counters[slot].done, (l->number << CLAIM_BITS) | ++*done,
                          memory_order_release);
    return true;
}

/* All that can be claimed, from the slot's own range on. */
static void take_all(sdx_pool *pool, const loop *l, uint32_t slot, size_t *done) {
    for (size_t i = 0; i < l->ranges; i++)
        while (take(pool, l, slot, (slot + i) % l->ranges, done)) continue;
}

/* ---- workers --------------------------------------------------------------------------------- */

static bool is_new(sdx_pool *pool, uint_fast64_t seen) {
    uint_fast64_t open = atomic_load_explicit(&pool->board.open, memory_order_acquire);
    return (open != 0 && open != seen) || atomic_load_explicit(&pool->stop, memory_order_acquire);
}

/* How the pieces of a loop are cut follows from its size. */
static void cut_pieces(uint32_t threads, loop *l) {
    l->pieces = l->count / l->grain + (l->count % l->grain != 0);
    l->batch = l->pieces / ((size_t)threads * 16);
    if (l->batch == 0) l->batch = 1;
    l->ranges = l->pieces < threads ? l->pieces : threads;
}

/* What the board says; false: nothing, or it was written meanwhile. */
static bool read_board(const sdx_pool *pool, loop *l) {
    const board *b = &pool->board;
    l->number = atomic_load_explicit(&b->open, memory_order_acquire);
    l->body = atomic_load_explicit(&b->body, memory_order_acquire);
    l->slot_body = atomic_load_explicit(&b->slot_body, memory_order_acquire);
    l->arg = atomic_load_explicit(&b->arg, memory_order_acquire);
    l->count = atomic_load_explicit(&b->count, memory_order_acquire);
    l->grain = atomic_load_explicit(&b->grain, memory_order_acquire);
    l->watch = atomic_load_explicit(&b->watch, memory_order_acquire);
    if (l->number == 0 || atomic_load_explicit(&b->open, memory_order_relaxed) != l->number)
        return false;
    cut_pieces(pool->threads, l);
    return true;
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

static void wake_caller(sdx_pool *pool) {
    if (atomic_fetch_add(&pool->waiting, 0) == 0) return;
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
        if (atomic_load_explicit(&pool->stop, memory_order_acquire)) return NULL;
        loop l;
        if (!read_board(pool, &l)) continue;
        seen = l.number;
        size_t done = 0;
        take_all(pool, &l, slot, &done);
        if (done) wake_caller(pool);
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
    for (uint32_t i = 0; i < threads; i++) {
        atomic_init(&pool->counters[i].claimed, 0);
        atomic_init(&pool->counters[i].done, 0);
    }
    atomic_init(&pool->board.open, 0);
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

static void open_loop(sdx_pool *pool, loop *l) {
    board *b = &pool->board;
    l->number = ++pool->rounds;
    atomic_store_explicit(&b->open, 0, memory_order_relaxed);
    atomic_store_explicit(&b->body, l->body, memory_order_release);
    atomic_store_explicit(&b->slot_body, l->slot_body, memory_order_release);
    atomic_store_explicit(&b->arg, l->arg, memory_order_release);
    atomic_store_explicit(&b->count, l->count, memory_order_release);
    atomic_store_explicit(&b->grain, l->grain, memory_order_release);
    atomic_store_explicit(&b->watch, l->watch, memory_order_release);
    atomic_store_explicit(&b->open, l->number, memory_order_release);
}

static void wake_workers(sdx_pool *pool, const loop *l) {
    pthread_mutex_lock(&pool->lock);
    if (l->pieces - 1 >= pool->workers) {
        pthread_cond_broadcast(&pool->work);
    } else {
        for (size_t i = 1; i < l->pieces; i++) pthread_cond_signal(&pool->work);
    }
    pthread_mutex_unlock(&pool->lock);
}

/* Whether all claims of the loop are done. */
static bool is_done(sdx_pool *pool, const loop *l) {
    size_t left = 0;
    for (size_t r = 0; r < l->ranges; r++) left += range_claims(l, r);
    for (uint32_t i = 0; i < pool->threads; i++) {
        uint_fast64_t done = atomic_load_explicit(&pool->counters[i].done, memory_order_acquire);
        left -= count_of(done, l->number);
    }
    return left == 0;
}

/* Workers finish what they have claimed. */
static void wait_for_workers(sdx_pool *pool, const loop *l) {
    if (is_done(pool, l)) return;
    uint64_t start = pool->spin ? sdx_nanoseconds() : 0;
    while (pool->spin && sdx_nanoseconds() - start < SPIN_NS)
        for (int i = 0; i < SPIN_PAUSES; i++) {
            if (is_done(pool, l)) return;
            pause_cpu();
        }
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->waiting, 1);
    while (!is_done(pool, l)) pthread_cond_wait(&pool->done, &pool->lock);
    atomic_fetch_sub(&pool->waiting, 1);
    pthread_mutex_unlock(&pool->lock);
}

static void run_loop(sdx_pool *pool, loop l) {
    if (l.count == 0) return;
    if (l.grain == 0) l.grain = 1;
    l.watch = pool && pool->watch ? pool->watch : sdx_watch_now();
    cut_pieces(sdx_pool_threads(pool), &l);
    bool alone = pool == NULL || pool->workers == 0 || l.pieces == 1;
    /* A body that starts a loop of its own finds the pool busy and so cannot wait for itself. */
    if (alone || atomic_flag_test_and_set_explicit(&pool->busy, memory_order_acquire)) {
        run_pieces(&l, 0, 0, l.pieces);
        return;
    }
    open_loop(pool, &l);
    /* Workers that are known to sleep are woken at once. One that falls asleep just now is found after the
     * caller's first claim: asking for certain waits until the board has left this core. */
    bool woken = atomic_load_explicit(&pool->sleepers, memory_order_relaxed) != 0;
    if (woken) wake_workers(pool, &l);
    size_t done = 0;
    take(pool, &l, 0, 0, &done);
    if (atomic_fetch_add(&pool->sleepers, 0) != 0 && !woken) wake_workers(pool, &l);
    take_all(pool, &l, 0, &done);
    wait_for_workers(pool, &l);
    atomic_flag_clear_explicit(&pool->busy, memory_order_release);
}

void sdx_parallel_for(sdx_pool *pool, size_t count, size_t grain, sdx_loop_body body, void *arg) {
    run_loop(pool, (loop){.body = body, .arg = arg, .count = count, .grain = grain});
}

void sdx_parallel_for_slots(sdx_pool *pool, size_t count, size_t grain, sdx_slot_body body,
                            void *arg) {
    run_loop(pool, (loop){.slot_body = body, .arg = arg, .count = count, .grain = grain});
}
