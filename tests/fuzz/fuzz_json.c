/* fuzz_json.c - any bytes as JSON: everything in it is visited, as `bench --compare` and the lines
 * of peers are read. */
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "json_read.h"

static void visit(const json_value *value) {
    static const char *const names[] = {"format",      "version", "cases",      "key",
                                        "metrics",     "time",    "samples",    "rounds",
                                        "environment", "cpu",     "interrupted"};
    fuzz_touch(&(double){json_as_number(value)}, sizeof(double));
    const char *text = json_as_text(value);
    if (text) fuzz_touch(text, strlen(text));
    json_is_true(value);
    size_t count = 0;
    for (const json_value *one = json_first(value); one; one = json_next(one), count++) visit(one);
    FUZZ_CHECK(count == json_count(value));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const json_value *member = json_get(value, names[i]);
        if (member) visit(member);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_value *value = json_parse((const char *)data, size);
    if (value) visit(value);
    json_free(value);
    return 0;
}
