/* threads.c - the pool of worker threads that a context runs its kernels on. A loop is cut into
 * pieces; the caller and whichever workers are awake claim them from an atomic counter. Nobody
 * waits for a worker that has not joined, so a loop shorter than a wake-up costs no more than one
 * thread would need. Workers sleep on a condition variable between loops, after a short spin. */
#include "base/threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/checked.h"

#define MOST_THREADS 1024
#define SPIN_ROUNDS  400 /* of a pause instruction: some ten microseconds */

/* One loop. Written by the caller under the lock, read by workers that joined under it. */
typedef struct loop {
    sdx_loop_body body; /* NULL: none is open to join */
    void *arg;
    size_t count, grain, pieces;
    size_t batch; /* pieces claimed at once, so that tiny pieces do not fight for the counter */
} loop;

struct sdx_pool {
    const sdx_allocator *allocator;
    size_t size;      /* of this allocation */
    uint32_t threads; /* with the caller */
    bool spin;
    atomic_flag busy;           /* a loop runs: others, nested ones too, run in their own thread */
    atomic_size_t next;         /* first piece not yet claimed */
    atomic_uint_fast64_t round; /* changes with each loop; workers spin on it */
    pthread_mutex_t lock;       /* guards the rest */
    pthread_cond_t work, done;
    loop loop;
    atomic_uint joined; /* workers inside the loop; read without the lock while spinning */
    bool stop;
    uint32_t workers;
    pthread_t ids[];
};

static void pause_cpu(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Pieces begin at multiples of grain, whoever runs them. */
static void run_pieces(const loop *l, size_t first, size_t last) {
    for (size_t piece = first; piece < last; piece++) {
        size_t begin = piece * l->grain;
        size_t size = l->count - begin < l->grain ? l->count - begin : l->grain;
        l->body(l->arg, begin, begin + size);
    }
}

static void claim_pieces(sdx_pool *pool, const loop *l) {
    for (;;) {
        size_t first = atomic_fetch_add_explicit(&pool->next, l->batch, memory_order_relaxed);
        if (first >= l->pieces) return;
        size_t left = l->pieces - first;
        run_pieces(l, first, first + (left < l->batch ? left : l->batch));
    }
}

/* Waits, first spinning, until a loop is open that is newer than *seen. False: the pool ends. */
static bool next_loop(sdx_pool *pool, uint_fast64_t *seen, loop *l) {
    if (pool->spin) {
        for (int i = 0; i < SPIN_ROUNDS; i++) {
            if (atomic_load_explicit(&pool->round, memory_order_relaxed) != *seen) break;
            pause_cpu();
        }
    }
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        uint_fast64_t round = atomic_load_explicit(&pool->round, memory_order_relaxed);
        if (pool->stop) break;
        if (round != *seen) {
            *seen = round; /* if it is over already, it needs no help any more */
            if (pool->loop.body != NULL) {
                *l = pool->loop;
                atomic_fetch_add_explicit(&pool->joined, 1, memory_order_relaxed);
                break;
            }
        }
        pthread_cond_wait(&pool->work, &pool->lock);
    }
    bool stop = pool->stop;
    pthread_mutex_unlock(&pool->lock);
    return !stop;
}

static void *worker(void *arg) {
    sdx_pool *pool = arg;
    uint_fast64_t seen = 0;
    loop l;
    while (next_loop(pool, &seen, &l)) {
        claim_pieces(pool, &l);
        pthread_mutex_lock(&pool->lock);
        if (atomic_fetch_sub_explicit(&pool->joined, 1, memory_order_release) == 1)
            pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->lock);
    }
    return NULL;
}

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
    size_t size = sizeof(sdx_pool) + (threads - 1) * sizeof(pthread_t);
    sdx_pool *pool = sdx_alloc(allocator, size, SDX_CACHE_LINE);
    if (pool == NULL) return sdx_fail_memory(error, size, "a pool of threads");
    memset(pool, 0, size);
    pool->allocator = allocator;
    pool->size = size;
    pool->threads = 1;
    atomic_flag_clear(&pool->busy);
    atomic_init(&pool->next, 0);
    atomic_init(&pool->round, 0);
    atomic_init(&pool->joined, 0);
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
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    atomic_fetch_add_explicit(&pool->round, 1, memory_order_relaxed); /* ends spinning */
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (uint32_t i = 0; i < pool->workers; i++) pthread_join(pool->ids[i], NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    sdx_free(pool->allocator, pool, pool->size);
}

uint32_t sdx_pool_threads(const sdx_pool *pool) { return pool == NULL ? 1 : pool->threads; }

static void open_loop(sdx_pool *pool, const loop *l) {
    pthread_mutex_lock(&pool->lock);
    pool->loop = *l;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&pool->round, 1, memory_order_relaxed);
    if (l->pieces - 1 >= pool->workers) {
        pthread_cond_broadcast(&pool->work);
    } else {
        for (size_t i = 1; i < l->pieces; i++) pthread_cond_signal(&pool->work);
    }
    pthread_mutex_unlock(&pool->lock);
}

/* No worker may join any more; those inside finish their last pieces. */
static void close_loop(sdx_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->loop.body = NULL;
    pthread_mutex_unlock(&pool->lock);
    if (pool->spin) {
        for (int i = 0; i < SPIN_ROUNDS; i++) {
            if (atomic_load_explicit(&pool->joined, memory_order_acquire) == 0) break;
            pause_cpu();
        }
    }
    pthread_mutex_lock(&pool->lock);
    while (atomic_load_explicit(&pool->joined, memory_order_acquire) != 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

void sdx_parallel_for(sdx_pool *pool, size_t count, size_t grain, sdx_loop_body body, void *arg) {
    if (count == 0) return;
    if (grain == 0) grain = 1;
    loop l = {.body = body, .arg = arg, .count = count, .grain = grain, .batch = 1};
    l.pieces = count / grain + (count % grain != 0);
    /* The counter runs past the end by a batch per thread; it must not wrap. */
    bool alone = pool == NULL || pool->workers == 0 || l.pieces == 1 || l.pieces > SIZE_MAX / 4;
    /* A body that starts a loop of its own finds the pool busy and so cannot wait for itself. */
    if (alone || atomic_flag_test_and_set_explicit(&pool->busy, memory_order_acquire)) {
        run_pieces(&l, 0, l.pieces);
        return;
    }
    l.batch = l.pieces / ((size_t)pool->threads * 16);
    if (l.batch == 0) l.batch = 1;
    open_loop(pool, &l);
    claim_pieces(pool, &l);
    close_loop(pool);
    atomic_flag_clear_explicit(&pool->busy, memory_order_release);
}
