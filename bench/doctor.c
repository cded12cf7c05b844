/* Findings as they are made: one line for people, one object for programs. */
#include "doctor.h"

#include <stdarg.h>
#include <string.h>

static const char *const names[DOCTOR_SEVERITIES] = { "ok", "note", "warning",
                                                      "error" };

void doctor_say(struct doctor *self, const char *section,
                enum severity severity, const char *remedy, const char *format,
                ...)
{
    FILE *out = self->bench->document.text;
    json_t *json = json_object();
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    json_object_set_new(json, "section", json_string(section));
    json_object_set_new(json, "severity", json_string(names[severity]));
    json_object_set_new(json, "text", document_text_or_null(text));
    json_object_set_new(json, "remedy", document_text_or_null(remedy));
    json_array_append_new(self->findings, json);
    self->counts[severity]++;
    if (!self->section || strcmp(self->section, section) != 0)
        fprintf(out, "\n%s\n", section);
    self->section = section;
    fprintf(out, "  %-8s %s\n", names[severity], text);
    if (remedy)
        fprintf(out, "  %-8s %s\n", "  ->", remedy);
}
