/* SPDX-License-Identifier: Apache-2.0
 *
 * The stored form of settings: a number of entries, each a name and a value in a string of its own.
 */
#include <assert.h>
#include <stdlib.h>

#include "core/base/buffer.h"
#include "core/bayes/settings_private.h"

/* In the store only: the version of the tokenizer that made the counts. */
static const char version_name[] = "tokenizer_version";
static const char parent_name[] = "parent";
/* In the store only, and only where `smoothing` is more than one number. */
static const char smoothing_by_name[] = "smoothing_by";
/* In the store only, once a calibration has been fitted. */
static const char fitted_name[] = "calibration_fitted";
/* In the store only, in place of `thresholds` where one of them is not a number. */
static const char wishes_name[] = "threshold_wishes";
/* In the store only, and only for a challenger; without a value. */
static const char challenger_name[] = "challenger";

/* The place of a setting in the table. */
static size_t place_of(const char *name)
{
    size_t count, i = 0;
    const struct nb_setting *table = nb_settings_table(&count);
    while (i < count && strcmp(table[i].name, name) != 0)
        i++;
    assert(i < count);
    return i;
}

static void write_name(struct nb_packer *w, const char *name)
{
    nb_pack_string(w, nb_string_of(name));
}

static void write_value(struct nb_packer *w, const struct nb_setting *s,
                        const struct nb_settings *settings)
{
    switch (s->type) {
    case NB_SETTING_ENUM: /* by name: the order may change */
        write_name(w, s->names[nb_setting_get_int(settings, s)]);
        break;
    case NB_SETTING_DOUBLE:
    case NB_SETTING_WEIGHT:
    case NB_SETTING_SMOOTHING:
        nb_pack_double(w, nb_setting_get_double(settings, s));
        break;
    case NB_SETTING_COUNT:
        nb_pack_varint(w, nb_setting_get_count(settings, s));
        break;
    case NB_SETTING_BOOL:
        nb_pack_u8(w, nb_setting_get_bool(settings, s));
        break;
    case NB_SETTING_PRIOR:
        write_name(w, s->names[settings->prior]);
        nb_label_weights_write(w, settings->weights, settings->weight_count);
        if (settings->prior == NB_PRIOR_DIRICHLET)
            nb_pack_double(w, settings->prior_default);
        break;
    case NB_SETTING_THRESHOLDS:
        nb_label_thresholds_write(w, settings->thresholds, settings->threshold_count, false);
        break;
    case NB_SETTING_MODEL:
    case NB_SETTING_HOST:
        write_name(w, nb_setting_get_name(settings, s));
        break;
    case NB_SETTING_ATTRIBUTES: /* in the order of their numbers */
        nb_pack_varint(w, settings->attribute_count);
        for (size_t i = 0; i < settings->attribute_count; i++) {
            write_name(w, settings->attributes[i].name);
            write_name(w, s->names[settings->attributes[i].kind]);
        }
        break;
    case NB_SETTING_FIELDS: /* by name: other program versions may have other fields */
        nb_pack_varint(w, (uint64_t)__builtin_popcount(nb_setting_get_mask(settings, s)));
        for (int i = 0; s->names[i] != NULL; i++)
            if ((nb_setting_get_mask(settings, s) >> i & 1) != 0)
                write_name(w, s->names[i]);
        break;
    }
}

struct writing {
    struct nb_packer w, v;
    struct nb_buffer value;
};

/* Writes an entry with the value that was packed. */
static void write_entry(struct writing *to, const char *name)
{
    write_name(&to->w, name);
    nb_pack_string(&to->w, (struct nb_string){to->value.bytes, to->value.length});
    to->value.length = 0;
}

static void write_setting(struct writing *to, const struct nb_setting *s,
                          const struct nb_settings *settings)
{
    write_value(&to->v, s, settings);
    write_entry(to, s->name);
}

/* Whether a setting has an entry: a missing name and an empty list have none. */
static bool has_entry(const struct nb_setting *s, const struct nb_settings *settings)
{
    if (s->type == NB_SETTING_MODEL || s->type == NB_SETTING_HOST)
        return nb_setting_get_name(settings, s) != NULL;
    if (s->type == NB_SETTING_THRESHOLDS)
        return settings->threshold_count > 0 && !nb_settings_wish_thresholds(settings);
    return s->type != NB_SETTING_ATTRIBUTES || settings->attribute_count > 0;
}

/* Writes the parent first, where nb_settings_stored_parent looks for it at a start. */
int nb_settings_write(const struct nb_settings *settings, struct nb_buffer *out)
{
    struct writing to = {.w = {.out = out}};
    size_t before = out->length;
    size_t count;
    const struct nb_setting *table = nb_settings_table(&count);
    const struct nb_setting *parent = &table[place_of(parent_name)];
    size_t entries = 1; /* the version */
    to.v.out = &to.value;
    bool has_more = settings->smoothing_by.kind != NB_SMOOTHING_ONE;
    bool has_wishes = nb_settings_wish_thresholds(settings);
    for (size_t i = 0; i < count; i++)
        entries += has_entry(&table[i], settings);
    nb_pack_varint(&to.w, entries + has_more + (settings->fitted != NULL) +
                              settings->is_challenger + has_wishes);
    if (has_entry(parent, settings))
        write_setting(&to, parent, settings);
    for (size_t i = 0; i < count; i++)
        if (&table[i] != parent && has_entry(&table[i], settings))
            write_setting(&to, &table[i], settings);
    nb_pack_varint(&to.v, settings->tokenizer_version);
    write_entry(&to, version_name);
    if (has_more) {
        nb_smoothing_write(&to.v, &settings->smoothing_by);
        write_entry(&to, smoothing_by_name);
    }
    if (settings->fitted != NULL) {
        nb_calibration_write(&to.v, settings->fitted);
        write_entry(&to, fitted_name);
    }
    if (settings->is_challenger)
        write_entry(&to, challenger_name);
    if (has_wishes) {
        nb_label_thresholds_write(&to.v, settings->thresholds, settings->threshold_count, true);
        write_entry(&to, wishes_name);
    }
    nb_buffer_deinit(&to.value);
    int rc = to.w.code != 0 ? to.w.code : to.v.code;
    if (rc != 0)
        out->length = before;
    return rc;
}

struct nb_string nb_settings_stored_parent(struct nb_string stored)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    (void)nb_unpack_varint(&r);
    struct nb_string name = nb_unpack_string(&r);
    struct nb_string value = nb_unpack_string(&r);
    if (r.failed || !nb_string_equals(name, parent_name))
        return (struct nb_string){"", 0};
    r = nb_unpacker_of(value.bytes, value.length);
    value = nb_unpack_string(&r);
    return nb_unpacker_done(&r) ? value : (struct nb_string){"", 0};
}

/* Returns the number of a name in a list; -1: unknown, as only a newer program writes it. */
static int find_name(const char *const *names, struct nb_string s)
{
    for (int i = 0; names[i] != NULL; i++)
        if (nb_string_equals(s, names[i]))
            return i;
    return -1;
}

static int read_fields(struct nb_unpacker *r, const struct nb_setting *s, uint32_t *mask)
{
    uint64_t count =
        nb_unpack_bounded(r, (uint64_t)(r->end - r->at)); /* each takes at least a byte */
    *mask = 0;
    for (uint64_t i = 0; i < count && !r->failed; i++) {
        int field = find_name(s->names, nb_unpack_string(r));
        if (field < 0)
            return r->failed ? NB_CORRUPT : NB_VERSION;
        *mask |= 1u << field;
    }
    return r->failed || (uint64_t)__builtin_popcount(*mask) != count ? NB_CORRUPT : 0;
}

static int read_attributes(struct nb_unpacker *r, const struct nb_setting *s,
                           struct nb_settings *settings)
{
    uint64_t count = nb_unpack_bounded(r, NB_ATTRIBUTES_MOST);
    for (uint64_t i = 0; i < count; i++) {
        struct nb_string name = nb_unpack_string(r);
        struct nb_string kind = nb_unpack_string(r);
        int number = r->failed ? -1 : find_name(s->names, kind);
        if (number < 0)
            return r->failed ? NB_CORRUPT : NB_VERSION;
        if (!nb_attribute_name_is_good(name))
            return NB_CORRUPT;
        if (nb_settings_add_attribute(settings, name, number) != 0)
            return NB_NO_MEMORY;
    }
    return r->failed ? NB_CORRUPT : 0;
}

/* Reads the name of a model or a host. `to` points to a char * of the settings. */
static int read_name(struct nb_unpacker *r, char *to)
{
    struct nb_string name = nb_unpack_string(r);
    if (r->failed || name.length == 0 || memchr(name.bytes, '\0', name.length) != NULL)
        return NB_CORRUPT;
    char *copy = nb_string_copy(name);
    memcpy(to, &copy, sizeof copy);
    return copy == NULL ? NB_NO_MEMORY : 0;
}

static int read_value(struct nb_unpacker *r, const struct nb_setting *s,
                      struct nb_settings *settings)
{
    char *to = (char *)settings + s->offset;
    if (s->type == NB_SETTING_DOUBLE || s->type == NB_SETTING_WEIGHT ||
        s->type == NB_SETTING_SMOOTHING) {
        double value = nb_unpack_double(r);
        memcpy(to, &value, sizeof value);
    } else if (s->type == NB_SETTING_COUNT) {
        uint64_t value = nb_unpack_varint(r);
        memcpy(to, &value, sizeof value);
    } else if (s->type == NB_SETTING_BOOL) {
        bool value = nb_unpack_bounded(r, 1) == 1;
        memcpy(to, &value, sizeof value);
    } else if (s->type == NB_SETTING_MODEL || s->type == NB_SETTING_HOST) {
        return read_name(r, to);
    } else if (s->type == NB_SETTING_THRESHOLDS) {
        return nb_label_thresholds_read(r, false, &settings->thresholds,
                                        &settings->threshold_count);
    } else if (s->type == NB_SETTING_ATTRIBUTES) {
        return read_attributes(r, s, settings);
    } else if (s->type == NB_SETTING_FIELDS) {
        uint32_t mask;
        int rc = read_fields(r, s, &mask);
        memcpy(to, &mask, sizeof mask);
        return rc;
    } else {
        struct nb_string name = nb_unpack_string(r);
        int value = find_name(s->names, name);
        if (value < 0)
            return r->failed ? NB_CORRUPT : NB_VERSION;
        memcpy(to, &value, sizeof value);
        if (s->type != NB_SETTING_PRIOR)
            return 0;
        int rc = nb_label_weights_read(r, &settings->weights, &settings->weight_count);
        if (rc == 0 && settings->prior == NB_PRIOR_DIRICHLET)
            settings->prior_default = nb_unpack_double(r);
        return rc;
    }
    return 0;
}

/* Returns the number of an entry's bit: first the table's settings, then store-only entries. */
static size_t number_of(struct nb_string name)
{
    static const char *const stored_only[] = {version_name,    smoothing_by_name, fitted_name,
                                              challenger_name, wishes_name,       NULL};
    size_t count, i = 0;
    const struct nb_setting *table = nb_settings_table(&count);
    while (i < count && !nb_string_equals(name, table[i].name))
        i++;
    for (size_t k = 0; i == count + k && stored_only[k] != NULL; k++)
        i += !nb_string_equals(name, stored_only[k]);
    return i;
}

/* Reads one entry. `seen` has a bit for each entry, numbered as by number_of. */
static int read_entry(struct nb_unpacker *r, struct nb_settings *settings, uint64_t *seen,
                      struct nb_error *error)
{
    enum { VERSION, SMOOTHING, FITTED, CHALLENGER, WISHES, UNKNOWN };
    size_t count;
    const struct nb_setting *table = nb_settings_table(&count);
    struct nb_string name = nb_unpack_string(r);
    struct nb_string stored = nb_unpack_string(r);
    struct nb_unpacker value = nb_unpacker_of(stored.bytes, stored.length);
    size_t i = number_of(name);
    assert(count + UNKNOWN < 64); /* a bit each in `seen` */
    int rc = 0;
    if (r->failed || (*seen >> i & 1) != 0)
        rc = NB_CORRUPT;
    else if (i < count)
        rc = read_value(&value, &table[i], settings);
    else if (i == count + VERSION)
        settings->tokenizer_version = (uint32_t)nb_unpack_bounded(&value, UINT32_MAX);
    else if (i == count + SMOOTHING)
        rc = nb_smoothing_read(&value, &settings->smoothing_by);
    else if (i == count + FITTED)
        rc = nb_calibration_read(&value, &settings->fitted);
    else if (i == count + CHALLENGER)
        settings->is_challenger = true;
    else if (i == count + WISHES)
        rc = settings->threshold_count > 0
                 ? NB_CORRUPT
                 : nb_label_thresholds_read(&value, true, &settings->thresholds,
                                            &settings->threshold_count);
    else
        rc = NB_VERSION;
    *seen |= UINT64_C(1) << i;
    if (rc == 0 && !nb_unpacker_done(&value))
        rc = NB_CORRUPT;
    if (rc == NB_VERSION)
        return nb_error_set(error, rc, "the setting \"%.*s\" is of a newer version",
                            (int)(name.length < 64 ? name.length : 64), name.bytes);
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    return rc == 0 ? 0 : nb_error_set(error, rc, "the stored settings are damaged");
}

/* Returns the stored preset, which gives the defaults of settings that are not stored; `text` if it
 * is not stored. */
static enum nb_preset stored_preset(struct nb_unpacker r)
{
    size_t count;
    const struct nb_setting *setting = &nb_settings_table(&count)[place_of("preset")];
    uint64_t entries = nb_unpack_varint(&r);
    for (uint64_t i = 0; i < entries && !r.failed; i++) {
        struct nb_string name = nb_unpack_string(&r);
        struct nb_string value = nb_unpack_string(&r);
        if (!nb_string_equals(name, setting->name))
            continue;
        struct nb_unpacker v = nb_unpacker_of(value.bytes, value.length);
        int preset = find_name(setting->names, nb_unpack_string(&v));
        return preset < 0 ? NB_PRESET_TEXT : (enum nb_preset)preset;
    }
    return NB_PRESET_TEXT;
}

int nb_settings_read(struct nb_settings *settings, struct nb_string stored, struct nb_error *error)
{
    struct nb_settings read;
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    uint64_t seen = 0;
    int rc = 0;
    nb_settings_init(&read, stored_preset(r));
    uint64_t entries = nb_unpack_varint(&r);
    for (uint64_t i = 0; rc == 0 && i < entries; i++)
        rc = read_entry(&r, &read, &seen, error);
    if (rc == 0 && !nb_unpacker_done(&r))
        rc = nb_error_set(error, NB_CORRUPT, "the stored settings are damaged");
    if (rc == 0 && (seen >> place_of("tokenizer") & 1) == 0)
        read.tokenizer_fields =
            nb_settings_default_fields((enum nb_preset)read.preset, (enum nb_decision)read.decision,
                                       (enum nb_label_set_kind)read.label_set);
    if (rc == 0 && read.fitted != NULL && read.fitted->method != read.calibration)
        rc = nb_error_set(error, NB_CORRUPT, "the stored settings are damaged");
    if (rc == 0 && nb_settings_check(&read, error) != 0)
        rc = nb_error_set(error, NB_CORRUPT, "the stored settings have a value out of range");
    if (rc == 0)
        *settings = read;
    else
        nb_settings_deinit(&read);
    return rc;
}
