/* Rows from sections. A list of objects gives a row an element, a plan one a
 * rank, any other object one row. What a reader of a single line must not miss,
 * which device and whether it was simulated, is repeated in every row. */
#include "rows.h"

#include <stdio.h>
#include <string.h>

struct maker {
    json_t *root, *rows;
    int flat;
};

/* A plan's and a result's lists run over the members; one row has one of each.
 */
static const struct {
    const char *list, *one;
} singular[] = { { "shares", "share" },
                 { "offsets", "offset" },
                 { "weights", "weight" },
                 { "quanta", "quantum" } };

static const char *singular_name(const char *list)
{
    for (size_t i = 0; i < sizeof singular / sizeof *singular; ++i)
        if (strcmp(singular[i].list, list) == 0)
            return singular[i].one;
    return list;
}

static int is_plain(const json_t *value)
{
    return !json_is_object(value) && !json_is_array(value);
}

static int holds_objects(const json_t *value)
{
    return json_is_object(json_array_get(value, 0));
}

/* ---- simulated or slowed ------------------------------------------------- */

/* Of a saved profile alone, what its ranks say of themselves. */
static json_t *devices_of(const struct maker *maker)
{
    json_t *devices = json_object_get(maker->root, "devices");

    return devices ? devices
                   : json_object_get(json_object_get(maker->root, "profile"),
                                     "members");
}

static void say_device(const struct maker *maker, json_t *row, size_t index)
{
    static const char *const keys[] = { "spec", "simulated", "slowdown" };
    json_t *device = json_array_get(devices_of(maker), index);
    json_t *key = json_object_get(device, "key");

    for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
        json_t *value = json_object_get(device, keys[i]);
        if (value)
            json_object_set(row, keys[i], value);
        else if (!json_object_get(row, keys[i]))
            json_object_set_new(row, keys[i], json_null());
    }
    if (key) /* in place of a specification */
        json_object_set(row, "key", key);
}

/* Whether any member is simulated, and every slowdown once. */
static void say_all_devices(const struct maker *maker, json_t *row)
{
    char text[512] = "";
    size_t i, used = 0;
    json_t *device;
    int simulated = 0;

    json_array_foreach(devices_of(maker), i, device)
    {
        const char *slow =
            json_string_value(json_object_get(device, "slowdown"));
        simulated |= json_is_true(json_object_get(device, "simulated"));
        if (!slow || strstr(text, slow) ||
            used + strlen(slow) + 3 > sizeof text)
            continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                 used ? "; " : "", slow);
    }
    json_object_set_new(row, "simulated", json_boolean(simulated));
    json_object_set_new(row, "slowdown",
                        used ? json_string(text) : json_null());
}

/* ---- one row ------------------------------------------------------------- */

/* step_ns: {median, n, ...} becomes step_median_ns and step_n: units last. */
static void copy_timing(json_t *row, const char *key, json_t *timing)
{
    const char *part;
    json_t *value;
    char name[96];
    size_t length = strlen(key);
    int is_ns = length > 3 && strcmp(key + length - 3, "_ns") == 0;
    int stem = (int)(is_ns ? length - 3 : length);

    json_object_foreach(timing, part, value)
    {
        const char *unit = is_ns && strcmp(part, "n") != 0 ? "_ns" : "";
        if (!is_plain(value))
            continue;
        snprintf(name, sizeof name, "%.*s_%s%s", stem, key, part, unit);
        json_object_set(row, name, value);
    }
}

static void copy_fields(const struct maker *maker, json_t *row, json_t *from)
{
    const char *key;
    json_t *value;

    json_object_foreach(from, key, value)
    {
        if (is_plain(value) || (!maker->flat && !holds_objects(value)))
            json_object_set(row, key, value);
        else if (maker->flat && json_is_object(value))
            copy_timing(row, key, value);
    }
}

static json_t *add_row(struct maker *maker, const char *type)
{
    json_t *row = json_object();

    json_object_set_new(row, "type", json_string(type));
    json_array_append_new(maker->rows, row);
    return row;
}

/* ---- sections ------------------------------------------------------------ */

/* One row a member, of an object whose lists run over the members. */
static void spread(struct maker *maker, const char *type, json_t *object)
{
    size_t count = json_array_size(json_object_get(object, "shares"));
    struct maker flat = { maker->root, maker->rows, 1 };
    const char *key;
    json_t *value;

    for (size_t i = 0; i < count; ++i) {
        json_t *row = add_row(maker, type);
        json_object_set(row, "rule", json_object_get(object, "rule"));
        json_object_set_new(row, "rank", json_integer((json_int_t)i));
        say_device(maker, row, i);
        json_object_foreach(object, key, value)
        {
            if (json_array_size(value) == count)
                json_object_set(row, singular_name(key),
                                json_array_get(value, i));
        }
        copy_fields(&flat, row, object);
        value = json_array_get(json_object_get(object, "quanta"), i);
        if (value) /* its own, for the 0 that says that they differ */
            json_object_set(row, "quantum", value);
    }
}

static void add_list(struct maker *maker, const char *type, json_t *list)
{
    int result = strcmp(type, "result") == 0;
    int device = strcmp(type, "device") == 0;
    int curve = strcmp(type, "curve") == 0; /* nothing but lists */
    int member = curve || strcmp(type, "member") == 0;
    int whole = result || strcmp(type, "reduce") == 0 ||
                strcmp(type, "phase") == 0 || strcmp(type, "dynamic") == 0;
    size_t i;
    json_t *object;

    if (curve && maker->flat)
        return;
    json_array_foreach(list, i, object)
    {
        if (strcmp(type, "rank") == 0 || (result && maker->flat)) {
            spread(maker, type, object);
            continue;
        }
        json_t *row = add_row(maker, type);
        if (device || member)
            json_object_set_new(row, device ? type : "member",
                                json_integer((json_int_t)i));
        if (member)
            say_device(maker, row, i);
        copy_fields(maker, row, object);
        if (whole)
            say_all_devices(maker, row);
    }
}

/* "devices" has a row "device". */
static void type_of_list(char *out, size_t size, const char *key)
{
    snprintf(out, size, "%s", key);
    size_t length = strlen(out);
    if (length > 1 && out[length - 1] == 's')
        out[length - 1] = 0;
}

static void add_section(struct maker *maker, const char *key, json_t *section)
{
    char type[48];
    const char *inner;
    json_t *value;

    if (json_is_array(section)) {
        type_of_list(type, sizeof type, key);
        if (holds_objects(section))
            add_list(maker, strcmp(key, "plans") ? type : "rank", section);
        return;
    }
    if (strcmp(key, "plan") == 0) {
        spread(maker, "rank", section);
        return;
    }
    json_t *row = add_row(maker, key);
    copy_fields(maker, row, section);
    if (!json_object_get(row, "simulated") && strcmp(key, "visibility"))
        say_all_devices(maker, row);
    json_object_foreach(section, inner, value)
    {
        type_of_list(type, sizeof type, inner);
        if (holds_objects(value))
            add_list(maker, strcmp(inner, "entries") ? type : "mask_entry",
                     value);
    }
}

/* What the first line and the last one of a document say. */
static int is_frame(const char *key, json_t *value)
{
    static const char *const keys[] = { "tool", "environment", "error" };

    for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i)
        if (strcmp(keys[i], key) == 0)
            return 1;
    return is_plain(value);
}

static json_t *make(json_t *root, int flat)
{
    struct maker maker = { root, json_array(), flat };
    const char *key;
    json_t *section;

    json_object_foreach(root, key, section)
    {
        if (is_frame(key, section) ||
            (strcmp(key, "plan") == 0 && json_object_get(root, "plans")))
            continue;
        add_section(&maker, key, section);
    }
    return maker.rows;
}

json_t *rows_all(json_t *root)
{
    return make(root, 0);
}

json_t *rows_flat(json_t *root)
{
    return make(root, 1);
}

json_t *rows_main(json_t *root)
{
    static const char *const types[][2] = {
        { "discover", "device" }, { "calibrate", "member" },
        { "split", "rank" },      { "run", "result" },
        { "run", "empty" },       { "reduce", "reduce" },
        { "run", "phase" },       { "run", "dynamic" },
        { "lease", "lease" },     { "demo", "result" },
        { "plot", "plot" },       { "doctor", "finding" },
        { "watch", "state" },
    };
    const char *command = json_string_value(json_object_get(root, "command"));
    json_t *flat = make(root, 1), *rows = json_array(), *row;
    size_t i;

    json_array_foreach(flat, i, row)
    {
        const char *type = json_string_value(json_object_get(row, "type"));
        for (size_t t = 0; t < sizeof types / sizeof *types; ++t)
            if (command && type && strcmp(types[t][0], command) == 0 &&
                strcmp(types[t][1], type) == 0)
                json_array_append(rows, row);
    }
    json_decref(flat);
    return rows;
}

json_t *rows_columns(json_t *rows, size_t first, size_t end)
{
    json_t *columns = json_object();
    const char *key;
    json_t *value;

    for (size_t i = first; i < end; ++i)
        json_object_foreach(json_array_get(rows, i), key, value)
        {
            if (strcmp(key, "type") != 0)
                json_object_set(columns, key, value);
        }
    return columns;
}
