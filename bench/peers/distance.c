/* distance.c - two threads that wait for one another's number; see distance.h. */
#include "distance.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

enum { STRETCHES = 9, TRIPS = 400 };

/* Each number has a line of its own. */
typedef struct pair {
    _Alignas(128) atomic_long there;
    _Alignas(128) atomic_long back;
    _Alignas(128) atomic_bool stop;
} pair;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *answer(void *arg) {
    pair *p = arg;
    for (long seen = 0; !atomic_load_explicit(&p->stop, memory_order_relaxed);) {
        long number = atomic_load_explicit(&p->there, memory_order_acquire);
        if (number == seen) continue;
        seen = number;
        atomic_store_explicit(&p->back, number, memory_order_release);
    }
    return NULL;
}

#define START 0.2 /* seconds that the other thread has to begin */

/* Sends a number and waits for it; false: nothing came until the end, since the other thread does not run. */
static bool trip(pair *p, long number, double end) {
    atomic_store_explicit(&p->there, number, memory_order_release);
    for (long looks = 1; atomic_load_explicit(&p->back, memory_order_acquire) != number; looks++) {
        if (looks % 10000) continue;
        if (now() > end) return false;
        sched_yield();
    }
    return true;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_distance(double seconds) {
    static pair p;
    cpu_set_t cpus;
    pthread_t other;
    pthread_attr_t attributes;
    const int here = sched_getcpu();
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0 || CPU_COUNT(&cpus) < 2 || here < 0) return 0;
    CPU_CLR((size_t)here, &cpus); /* else the system may leave the new thread behind this one for a while */
    atomic_store(&p.there, 0);
    atomic_store(&p.back, 0);
    atomic_store(&p.stop, false);
    if (pthread_attr_init(&attributes) != 0) return 0;
    bool begun = pthread_attr_setaffinity_np(&attributes, sizeof cpus, &cpus) == 0 &&
                 pthread_create(&other, &attributes, answer, &p) == 0;
    pthread_attr_destroy(&attributes);
    if (!begun) return 0;
    double took[STRETCHES];
    long number = 0;
    int count = 0;
    bool there = trip(&p, ++number, now() + START);
    double end = now() + seconds;
    while (there && count < STRETCHES && now() < end) {
        double start = now();
        for (int i = 0; there && i < TRIPS; i++) there = trip(&p, ++number, end);
        if (there) took[count++] = (now() - start) / TRIPS * 1e9;
    }
    atomic_store(&p.stop, true);
    pthread_join(other, NULL);
    if (!count) return 0;
    qsort(took, (size_t)count, sizeof *took, ascending);
    return took[count / 2];
}
