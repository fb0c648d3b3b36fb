/* json_read.h - reads JSON, through cJSON: the one door to it. Everything takes NULL and gives the
 * empty answer then, so that a chain of look-ups needs one check at its end. */
#ifndef SDX_REPORT_JSON_READ_H
#define SDX_REPORT_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cJSON json_value;

bool json_can_read(void); /* false in a build without cJSON */
/* One value and white space; NULL where it is something else, or memory ran out. */
json_value *json_parse(const char *text, size_t length);
void json_free(json_value *value);

const json_value *json_get(const json_value *object, const char *name); /* NULL: none */
size_t json_count(const json_value *array);
const json_value *json_first(const json_value *array); /* first element, and the one behind it */
const json_value *json_next(const json_value *element);
double json_as_number(const json_value *value);     /* NaN if it is none */
const char *json_as_text(const json_value *value);  /* NULL if it is none */
bool json_is_true(const json_value *value);
double json_get_number(const json_value *object, const char *name);
const char *json_get_text(const json_value *object, const char *name);

#endif
