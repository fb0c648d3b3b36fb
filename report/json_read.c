/* json_read.c - JSON from files and runners, read by cJSON, or not at all in a build without it. */
#include "json_read.h"

#include <math.h>

#if defined(SDX_WITH_CJSON)
#include <cjson/cJSON.h>

bool json_can_read(void) { return true; }

json_value *json_parse(const char *text, size_t length) {
    const char *end = NULL;
    json_value *value = cJSON_ParseWithLengthOpts(text, length, &end, 0);
    while (value && end < text + length && (*end == ' ' || *end == '\n' || *end == '\r' || *end == '\t'))
        end++;
    if (value && end != text + length) {
        cJSON_Delete(value);
        return NULL;
    }
    return value;
}

void json_free(json_value *value) { cJSON_Delete(value); }

const json_value *json_get(const json_value *object, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

size_t json_count(const json_value *array) {
    return cJSON_IsArray(array) ? (size_t)cJSON_GetArraySize(array) : 0;
}

const json_value *json_first(const json_value *array) {
    return cJSON_IsArray(array) ? array->child : NULL;
}

const json_value *json_next(const json_value *element) { return element ? element->next : NULL; }

double json_as_number(const json_value *value) {
    return cJSON_IsNumber(value) ? value->valuedouble : (double)NAN;
}

const char *json_as_text(const json_value *value) {
    return cJSON_IsString(value) ? value->valuestring : NULL;
}

bool json_is_true(const json_value *value) { return cJSON_IsTrue(value); }

#else

bool json_can_read(void) { return false; }

json_value *json_parse(const char *text, size_t length) {
    (void)text;
    (void)length;
    return NULL;
}

void json_free(json_value *value) { (void)value; }

const json_value *json_get(const json_value *object, const char *name) {
    (void)object;
    (void)name;
    return NULL;
}

size_t json_count(const json_value *array) {
    (void)array;
    return 0;
}

const json_value *json_first(const json_value *array) { return json_get(array, ""); }
const json_value *json_next(const json_value *element) { return json_get(element, ""); }

double json_as_number(const json_value *value) {
    (void)value;
    return (double)NAN;
}

const char *json_as_text(const json_value *value) {
    (void)value;
    return NULL;
}

bool json_is_true(const json_value *value) {
    (void)value;
    return false;
}

#endif

double json_get_number(const json_value *object, const char *name) {
    return json_as_number(json_get(object, name));
}

const char *json_get_text(const json_value *object, const char *name) {
    return json_as_text(json_get(object, name));
}
