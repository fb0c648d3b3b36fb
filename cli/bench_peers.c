/* bench_peers.c - the engines of a benchmark: Sardonyx itself, and those of --against, each a
 * runner's file that is found by its name. What is not installed is put down with how to install
 * it. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

#define RUNNERS     "bench/peers/runners"
#define HEADER_SIZE 4096

typedef struct place {
    char root[PATH_MAX];    /* of the project; "": not found */
    char runners[PATH_MAX]; /* folder of the runners */
    char self[PATH_MAX];    /* this program */
} place;

static bool is_folder(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The runners lie beside the folder that the program was built in, or a few above. */
static void find_place(const bench_options *o, place *p) {
    memset(p, 0, sizeof *p);
    if (!realpath("/proc/self/exe", p->self)) p->self[0] = 0;
    if (o->peers_folder) {
        if (!realpath(o->peers_folder, p->runners))
            snprintf(p->runners, sizeof p->runners, "%s", o->peers_folder);
        snprintf(p->root, sizeof p->root, "%s", p->runners);
        for (int up = 0; up < 3; up++) {
            char *slash = strrchr(p->root, '/');
            if (slash) *slash = 0;
        }
        return;
    }
    snprintf(p->root, sizeof p->root, "%s", p->self);
    for (int up = 0; up < 5; up++) {
        char *slash = strrchr(p->root, '/');
        if (!slash) break;
        *slash = 0;
        int length = snprintf(p->runners, sizeof p->runners, "%s/" RUNNERS, p->root);
        if (length > 0 && (size_t)length < sizeof p->runners && is_folder(p->runners)) return;
    }
    p->root[0] = p->runners[0] = 0;
}

/* The rest of the line behind `key` in the first bytes of a file, into value; "" where there is
 * none. */
static void header_line(const char *path, const char *key, char *value, size_t size) {
    char bytes[HEADER_SIZE + 1];
    value[0] = 0;
    FILE *file = fopen(path, "rb");
    if (!file) return;
    bytes[fread(bytes, 1, HEADER_SIZE, file)] = 0;
    fclose(file);
    for (char *line = bytes; line; line = strchr(line, '\n')) {
        line += strspn(line, "\n \t#/*");
        if (strncmp(line, key, strlen(key)) != 0) continue;
        const char *at = line + strlen(key);
        at += strspn(at, " \t");
        snprintf(value, size, "%.*s", (int)strcspn(at, "\r\n"), at);
        return;
    }
}

static bool can_run(const char *path) { return access(path, X_OK) == 0 && !is_folder(path); }

/* Writes the interpreter for a runner that is a script; false with a reason. */
static bool find_python(const place *where, const char *script, char *python, size_t size) {
    static const char *const usual[] = {".venv-peers/bin/python", ".venv/bin/python"};
    char asked[PATH_MAX];
    header_line(script, "python:", asked, sizeof asked);
    if (asked[0]) {
        snprintf(python, size, "%s%s%s", asked[0] == '/' ? "" : where->root,
                 asked[0] == '/' ? "" : "/", asked);
        return can_run(python);
    }
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        snprintf(python, size, "%s/%s", where->root, usual[i]);
        if (can_run(python)) return true;
    }
    return false;
}

/* A NULL-terminated command of copies; NULL: no memory. */
static char **make_command(const char *first, const char *second) {
    char **argv = calloc(3, sizeof *argv);
    if (!argv) return NULL;
    argv[0] = strdup(first);
    argv[1] = second ? strdup(second) : NULL;
    return argv;
}

static void free_peer(peer *p) {
    for (size_t i = 0; p->command && p->command[i]; i++) free(p->command[i]);
    free(p->command);
    free(p->name);
    free(p->install);
}

void peers_free(bench *b) {
    for (size_t i = 0; i < b->peer_count; i++) free_peer(&b->peers[i]);
    free(b->peers);
    b->peers = NULL;
    b->peer_count = 0;
}

static void log_path(const bench *b, const char *name, char *path, size_t size) {
    snprintf(path, size, "%s/%s.log", b->scratch, name);
}

bool peer_start(bench *b, const peer *p, client *c) {
    char log[PATH_MAX];
    log_path(b, p->name, log, sizeof log);
    return client_start(c, p->command, log);
}

/* Starts it once, to see whether it works and to ask for its version; then it is an engine. */
static bool try_peer(bench *b, peer *p) {
    client c;
    if (!peer_start(b, p, &c)) {
        /* Others are left out with the reason in the report; without its own there is none. */
        if (p->is_own && !interrupted()) complain("%s does not start: %s", p->name, c.problem);
        bench_add_skipped(&b->r, p->name, "", "", c.problem, p->install);
        client_quit(&c);
        return false;
    }
    const char *version = json_get_text(c.hello, "version");
    const char *label = p->packed ? "Sardonyx, packed" : json_get_text(c.hello, "label");
    p->converts = json_is_true(json_get(c.hello, "convert"));
    p->engine = bench_add_engine(&b->r, p->name, label ? label : p->name, version ? version : "");
    client_quit(&c);
    return p->engine != BENCH_NONE;
}

static bool add_peer(bench *b, peer p) {
    peer *bigger = realloc(b->peers, (b->peer_count + 1) * sizeof *bigger);
    bool good = bigger && p.name && p.install && p.command && p.command[0];
    if (bigger) b->peers = bigger;
    if (good && try_peer(b, &p)) {
        b->peers[b->peer_count++] = p;
        return true;
    }
    if (!good) b->r.no_memory = true;
    free_peer(&p);
    return false;
}

static void add_by_name(bench *b, const place *where, const char *given) {
    char name[100], path[PATH_MAX + 128], python[PATH_MAX + PATH_MAX], install[300];
    snprintf(name, sizeof name, "%s", strcmp(given, "ort") == 0 ? "onnxruntime" : given);
    for (size_t i = 0; i < b->peer_count; i++)
        if (strcmp(b->peers[i].name, name) == 0) return; /* named twice */
    char stem[100];
    snprintf(stem, sizeof stem, "%s", name);
    for (char *at = stem; *at; at++)
        if (*at == '-') *at = '_';
    snprintf(path, sizeof path, "%s/run_%s", where->runners, stem);
    bool script = !can_run(path);
    if (script) snprintf(path, sizeof path, "%s/run_%s.py", where->runners, stem);
    header_line(path, "install:", install, sizeof install);
    if (access(path, R_OK) != 0) {
        bench_add_skipped(&b->r, name, "", "",
                          where->runners[0] ? "there is no runner of that name"
                                            : "bench/peers/runners is not beside this program; "
                                              "--peers names it",
                          install);
        return;
    }
    if (script && !install[0]) snprintf(install, sizeof install, "tools/setup.sh peers");
    if (script && !find_python(where, path, python, sizeof python)) {
        bench_add_skipped(&b->r, name, "", "", "the Python that it runs on is not there", install);
        return;
    }
    add_peer(b, (peer){.name = strdup(name),
                       .install = strdup(install),
                       .command = script ? make_command(python, path) : make_command(path, NULL)});
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* --against all: every runner in the folder. */
static void add_all(bench *b, const place *where) {
    char **names = NULL;
    size_t count = 0;
    DIR *folder = opendir(where->runners);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        const char *name = entry->d_name;
        if (strncmp(name, "run_", 4) != 0) continue;
        char **more = realloc(names, (count + 1) * sizeof *names);
        char *stem = more ? strndup(name + 4, strcspn(name + 4, ".")) : NULL;
        if (more) names = more;
        if (!stem) {
            b->r.no_memory = true;
            break;
        }
        for (char *at = stem; *at; at++)
            if (*at == '_') *at = '-';
        names[count++] = stem;
    }
    if (folder) closedir(folder);
    if (count) qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0; i < count; i++) {
        if (!interrupted()) add_by_name(b, where, names[i]);
        free(names[i]);
    }
    free(names);
}

bool peers_find(bench *b) {
    place where;
    find_place(&b->o, &where);
    if (!add_peer(b, (peer){.name = strdup("sardonyx"),
                            .install = strdup(""),
                            .is_own = true,
                            .command = make_command(where.self, "runner")}))
        return false;
    if (b->o.packed && !add_peer(b, (peer){.name = strdup("sardonyx-packed"),
                                           .install = strdup(""),
                                           .is_own = true,
                                           .packed = true,
                                           .command = make_command(where.self, "runner")}))
        return false;
    const char *at = b->o.against;
    while (at && *at) {
        char name[100];
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (strcmp(name, "all") == 0) add_all(b, &where);
        else if (name[0] && !interrupted()) add_by_name(b, &where, name);
        at += length + (at[length] == ',');
    }
    return !b->r.no_memory;
}

/* ---- converted models
 * ----------------------------------------------------------------------------- */

static void make_folders(char *path) {
    for (char *at = path + 1; *at; at++)
        if (*at == '/') {
            *at = 0;
            mkdir(path, 0777);
            *at = '/';
        }
    mkdir(path, 0777);
}

/* The model packed, once for each level, by a runner of its own: what that takes is not measured.
 */
static bool pack_model(bench *b, const peer *p, client *c, size_t model, int level,
                       const char *given, char *path, size_t size) {
    client packer;
    snprintf(path, size, "%s/packed-%zu-%d.sdx", b->scratch, model, level);
    if (access(path, R_OK) == 0) return true;
    json_value *loaded = NULL, *saved = NULL;
    if (peer_start(b, p, &packer))
        loaded = client_ask(&packer, b->o.timeout, "load\t%s\t0\toptimize=%d\tonly=1", given, level);
    if (loaded) saved = client_ask(&packer, b->o.timeout, "save\t%s", path);
    bool good = saved != NULL;
    if (!good) snprintf(c->problem, sizeof c->problem, "%s", packer.problem);
    json_free(loaded);
    json_free(saved);
    client_quit(&packer);
    return good;
}

bool peer_file(bench *b, const peer *p, client *c, size_t model, int level, const char *shapes,
               char *path, size_t size) {
    char given[PATH_MAX];
    const char *file = b->r.models[model].file;
    if (!realpath(file, given) || !field_ok(given)) {
        snprintf(c->problem, sizeof c->problem, "%s: no such file, or a name with tabs", file);
        return false;
    }
    snprintf(path, size, "%s", given);
    if (p->packed) return pack_model(b, p, c, model, level, given, path, size);
    if (!p->converts) return true;
    place where;
    char folder[PATH_MAX + 300];
    find_place(&b->o, &where);
    snprintf(folder, sizeof folder, "%s/build/peers/bench/%s/%s",
             where.root[0] ? where.root : b->scratch, p->name, b->r.models[model].name);
    make_folders(folder);
    json_value *answer = client_ask(c, b->o.timeout, "convert\t%s\t%s\t%s", given, folder, shapes);
    const char *made = json_get_text(answer, "file");
    if (made) snprintf(path, size, "%s", made);
    else if (answer) snprintf(c->problem, sizeof c->problem, "its converter names no file");
    json_free(answer);
    return made != NULL;
}
