/* Whether two nouns say the same in every field that a text keeps. Two texts
 * that agree are not enough: a writer may forget a field twice. */
#ifndef FUZZ_SAME_H
#define FUZZ_SAME_H
#include <string.h>
#include "core/machine.h"
#include "core/plan.h"
#include "core/report.h"
#include "fuzz/fuzz.h"

#define SAME(a, b, field)                                                      \
    FUZZ_CHECK((a)->field == (b)->field, #field " is lost")
#define SAME_TEXT(a, b, field)                                                 \
    FUZZ_CHECK(strcmp((a)->field, (b)->field) == 0, #field " is lost")
#define SAME_ARRAY(a, b, field, count)                                         \
    FUZZ_CHECK((count) == 0 ||                                                 \
                   memcmp((a)->field, (b)->field,                              \
                          (size_t)(count) * sizeof *(a)->field) == 0,          \
               #field " is lost")

static inline void plan_same(const hdp_plan *a, const hdp_plan *b)
{
    int32_t count = a->info.rank_count;

    SAME(a, b, info.rank_count);
    SAME(a, b, info.rule);
    SAME(a, b, info.total);
    SAME(a, b, info.quantum);
    SAME(a, b, info.step_ns);
    SAME(a, b, info.lower_bound_ns);
    SAME(a, b, info.equal_ns);
    SAME(a, b, info.best_single_ns);
    SAME(a, b, info.gap);
    SAME(a, b, info.hash);
    SAME(a, b, info.fingerprint);
    SAME_ARRAY(a, b, items, count);
    SAME_ARRAY(a, b, offsets, count);
    SAME_ARRAY(a, b, predicted_ns, count);
    SAME_ARRAY(a, b, quanta, count);
    SAME_ARRAY(a, b, weights, count);
    SAME_ARRAY(a, b, bound_by, count);
    SAME_ARRAY(a, b, state, count);
}

static inline void report_same(const hdp_report *a, const hdp_report *b)
{
    int32_t count = a->info.rank_count;

    SAME(a, b, info.rank_count);
    SAME(a, b, info.span_count);
    SAME(a, b, info.step);
    SAME(a, b, info.step_ns);
    SAME(a, b, info.reduce_engine);
    SAME_ARRAY(a, b, items, count);
    SAME_ARRAY(a, b, compute_ns, count);
    SAME_ARRAY(a, b, held_bytes, count);
    SAME_ARRAY(a, b, peak_bytes, count);
    SAME_ARRAY(a, b, free_bytes, count);
    SAME_ARRAY(a, b, first_at_share, count);
    SAME_ARRAY(a, b, cause, count);
    SAME_ARRAY(a, b, spans, a->info.span_count);
}

static inline void rank_same(const struct hdpi_rank_profile *a,
                             const struct hdpi_rank_profile *b)
{
    SAME(a, b, fixed_ns);
    SAME(a, b, item_ns);
    SAME(a, b, point_count);
    SAME_ARRAY(a, b, point_items, a->point_count);
    SAME_ARRAY(a, b, point_ns, a->point_count);
    SAME_ARRAY(a, b, monotone_ns, a->point_count);
    SAME(a, b, in_bytes_per_second);
    SAME(a, b, out_bytes_per_second);
    SAME(a, b, reduce_bytes_per_second);
    SAME(a, b, copy_bytes_per_second);
    SAME(a, b, launch_ns);
    SAME(a, b, weight);
    SAME(a, b, doubted);
    SAME(a, b, reliable);
    SAME_ARRAY(a, b, point_from, a->point_count);
    SAME(a, b, memory_bytes);
    SAME(a, b, memory_domain);
    SAME(a, b, lacks_dtype);
    SAME(a, b, simulated);
    SAME(a, b, provenance);
    SAME(a, b, duty_percent);
    SAME(a, b, rate);
    SAME(a, b, rate_flops);
    SAME(a, b, spread);
    SAME(a, b, sample_count);
    SAME_ARRAY(a, b, samples_ns, a->sample_count);
    SAME_TEXT(a, b, key);
}

static inline void profile_same(const hdp_profile *a, const hdp_profile *b)
{
    SAME(a, b, info.member_count);
    SAME(a, b, info.probe);
    SAME(a, b, info.dtype);
    SAME(a, b, info.compute);
    SAME(a, b, info.elapsed_ns);
    SAME(a, b, info.warmup_ns);
    SAME(a, b, info.ended_by);
    SAME(a, b, info.drifting);
    SAME(a, b, info.fingerprint);
    for (int32_t i = 0; i < a->info.member_count; i++)
        rank_same(&a->ranks[i], &b->ranks[i]);
}

static inline void device_same(const struct hdpi_device_row *a,
                               const struct hdpi_device_row *b)
{
    SAME(a, b, info.kind);
    SAME(a, b, info.logical_id);
    SAME(a, b, info.sm_count);
    SAME(a, b, info.thread_count);
    SAME(a, b, info.memory_bytes);
    SAME(a, b, info.free_bytes);
    SAME(a, b, info.partition_sms);
    SAME(a, b, info.duty_percent);
    SAME(a, b, info.compute_major);
    SAME(a, b, info.compute_minor);
    SAME(a, b, info.runnable);
    SAME(a, b, info.display);
    SAME(a, b, info.native_dtypes);
    SAME(a, b, info.slow_dtypes);
    SAME_TEXT(a, b, info.uuid);
    SAME_TEXT(a, b, info.pci);
    SAME_TEXT(a, b, info.name);
    SAME_TEXT(a, b, info.spec);
    SAME(a, b, ask.kind);
    SAME(a, b, place);
}

static inline void topology_same(const hdp_topology *a, const hdp_topology *b)
{
    int32_t count = a->info.device_count;

    SAME(a, b, info.device_count);
    SAME(a, b, info.mask_count);
    SAME(a, b, info.mask_set);
    SAME(a, b, info.mask_changed);
    SAME(a, b, visibility_error);
    for (int32_t i = 0; i < count; i++)
        device_same(&a->devices[i], &b->devices[i]);
    for (int32_t i = 0; i < a->info.mask_count; i++) {
        SAME(a, b, mask[i].verdict);
        SAME(a, b, mask[i].device);
        SAME_TEXT(a, b, mask[i].text);
        /* of an entry that names a row, the row's own uuid is written */
        if (a->mask[i].device < 0 && a->mask_uuids && b->mask_uuids)
            SAME_TEXT(a, b, mask_uuids[i]);
    }
    for (int32_t i = 0; a->links && b->links && i < count * count; i++) {
        SAME(a, b, links[i].kind);
        SAME(a, b, links[i].peer);
        SAME(a, b, links[i].bytes_per_second);
    }
    SAME(a, b, note_bytes);
    SAME_ARRAY(a, b, notes, a->note_bytes);
}

static inline void machine_same(const struct hdpi_machine *a,
                                const struct hdpi_machine *b)
{
    int32_t devices = a->topology->info.device_count;

    SAME_TEXT(a, b, name);
    SAME_TEXT(a, b, text);
    SAME(a, b, profile_count);
    topology_same(a->topology, b->topology);
    for (int32_t i = 0; i < a->profile_count; i++)
        profile_same(a->profiles[i], b->profiles[i]);
    SAME_ARRAY(a, b, members, a->profile_count * devices);
    for (int32_t i = 0; i < devices; i++) {
        SAME(a, b, faults[i].noise);
        SAME(a, b, faults[i].seed);
        SAME(a, b, faults[i].drift);
        SAME(a, b, faults[i].ramp);
        SAME(a, b, faults[i].ramp_ns);
        SAME(a, b, faults[i].newshape_ns);
        SAME(a, b, faults[i].fault_count);
        SAME(a, b, faults[i].slow_count);
    }
}
#endif
