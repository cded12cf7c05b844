/* Where every field of every public struct lies on a 64-bit machine.
 *
 * IF THIS FAILS YOU HAVE BROKEN EVERY PROGRAM BUILT SO FAR. Do not mend the
 * number: put the field back. A new field goes to the end of its struct and a
 * new line here; hdp_view and hdp_span take none at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>
#include <hdp/lease.h>

struct place {
    const char *type, *field; /* NULL field: the whole struct */
    size_t pinned, got, bytes;
};

#define SIZE(type, pinned)                                                     \
    {                                                                          \
#type, NULL, pinned, sizeof(type), 0                                   \
    }
#define AT(type, field, pinned)                                                \
    {                                                                          \
#type, #field, pinned, offsetof(type, field),                          \
            sizeof(((const type *)0)->field)                                   \
    }

static const struct place places[] = {
    SIZE(hdp_error, 320),
    AT(hdp_error, size, 0),
    AT(hdp_error, status, 8),
    AT(hdp_error, severity, 12),
    AT(hdp_error, member, 16),
    AT(hdp_error, rank, 20),
    AT(hdp_error, vendor, 24),
    AT(hdp_error, vendor_code, 28),
    AT(hdp_error, user_code, 32),
    AT(hdp_error, reserved, 36),
    AT(hdp_error, step, 40),
    AT(hdp_error, wanted_bytes, 48),
    AT(hdp_error, largest_total, 56),
    AT(hdp_error, text, 64),

    SIZE(hdp_context_options, 64),
    AT(hdp_context_options, size, 0),
    AT(hdp_context_options, log, 8),
    AT(hdp_context_options, log_user, 16),
    AT(hdp_context_options, log_level, 24),
    AT(hdp_context_options, reserved, 28),
    AT(hdp_context_options, cublas_path, 32),
    AT(hdp_context_options, nccl_path, 40),
    AT(hdp_context_options, nvml_path, 48),
    AT(hdp_context_options, timeout_ns, 56),

    SIZE(hdp_device, 360),
    AT(hdp_device, size, 0),
    AT(hdp_device, kind, 8),
    AT(hdp_device, logical_id, 12),
    AT(hdp_device, sm_count, 16),
    AT(hdp_device, thread_count, 20),
    AT(hdp_device, memory_bytes, 24),
    AT(hdp_device, free_bytes, 32),
    AT(hdp_device, partition_sms, 40),
    AT(hdp_device, duty_percent, 44),
    AT(hdp_device, compute_major, 48),
    AT(hdp_device, compute_minor, 52),
    AT(hdp_device, runnable, 56),
    AT(hdp_device, display, 60),
    AT(hdp_device, native_dtypes, 64),
    AT(hdp_device, slow_dtypes, 68),
    AT(hdp_device, uuid, 72),
    AT(hdp_device, pci, 136),
    AT(hdp_device, name, 168),
    AT(hdp_device, spec, 296),

    SIZE(hdp_mask_entry, 112),
    AT(hdp_mask_entry, size, 0),
    AT(hdp_mask_entry, verdict, 8),
    AT(hdp_mask_entry, device, 12),
    AT(hdp_mask_entry, text, 16),

    SIZE(hdp_link, 24),
    AT(hdp_link, size, 0),
    AT(hdp_link, peer, 8),
    AT(hdp_link, kind, 12),
    AT(hdp_link, bytes_per_second, 16),

    SIZE(hdp_topology_info, 24),
    AT(hdp_topology_info, size, 0),
    AT(hdp_topology_info, device_count, 8),
    AT(hdp_topology_info, mask_count, 12),
    AT(hdp_topology_info, mask_set, 16),
    AT(hdp_topology_info, mask_changed, 20),

    SIZE(hdp_discover_options, 32),
    AT(hdp_discover_options, size, 0),
    AT(hdp_discover_options, machine, 8),
    AT(hdp_discover_options, mask, 16),
    AT(hdp_discover_options, order, 24),

    SIZE(hdp_world, 80),
    AT(hdp_world, size, 0),
    AT(hdp_world, process_count, 8),
    AT(hdp_world, process_index, 12),
    AT(hdp_world, local_count, 16),
    AT(hdp_world, local_index, 20),
    AT(hdp_world, directory, 24),
    AT(hdp_world, run_id, 32),
    AT(hdp_world, all_gather, 40),
    AT(hdp_world, all_reduce, 48),
    AT(hdp_world, publish, 56),
    AT(hdp_world, lookup, 64),
    AT(hdp_world, user, 72),

    SIZE(hdp_group_options, 88),
    AT(hdp_group_options, size, 0),
    AT(hdp_group_options, world, 8),
    AT(hdp_group_options, streams, 16),
    AT(hdp_group_options, threads, 24),
    AT(hdp_group_options, comm, 28),
    AT(hdp_group_options, checked, 32),
    AT(hdp_group_options, reserved, 36),
    AT(hdp_group_options, timeout_ns, 40),
    AT(hdp_group_options, spin_ns, 48),
    AT(hdp_group_options, staging_bytes, 56),
    AT(hdp_group_options, alloc, 64),
    AT(hdp_group_options, free, 72),
    AT(hdp_group_options, alloc_user, 80),

    SIZE(hdp_group_info, 48),
    AT(hdp_group_info, size, 0),
    AT(hdp_group_info, member_count, 8),
    AT(hdp_group_info, rank_count, 12),
    AT(hdp_group_info, first_rank, 16),
    AT(hdp_group_info, process_count, 20),
    AT(hdp_group_info, process_index, 24),
    AT(hdp_group_info, reserved, 28),
    AT(hdp_group_info, fingerprint, 32),
    AT(hdp_group_info, step, 40),

    SIZE(hdp_calibrate_options, 56),
    AT(hdp_calibrate_options, size, 0),
    AT(hdp_calibrate_options, dtype, 8),
    AT(hdp_calibrate_options, probe, 12),
    AT(hdp_calibrate_options, work, 16),
    AT(hdp_calibrate_options, items, 24),
    AT(hdp_calibrate_options, item_count, 32),
    AT(hdp_calibrate_options, compute, 36),
    AT(hdp_calibrate_options, budget_ns, 40),
    AT(hdp_calibrate_options, cache, 48),

    SIZE(hdp_model, 96),
    AT(hdp_model, size, 0),
    AT(hdp_model, fixed_ns, 8),
    AT(hdp_model, item_ns, 16),
    AT(hdp_model, in_bytes_per_second, 24),
    AT(hdp_model, out_bytes_per_second, 32),
    AT(hdp_model, reduce_bytes_per_second, 40),
    AT(hdp_model, point_items, 48),
    AT(hdp_model, point_ns, 56),
    AT(hdp_model, point_count, 64),
    AT(hdp_model, memory_bytes, 72),
    AT(hdp_model, memory_domain, 80),
    AT(hdp_model, reserved, 84),
    AT(hdp_model, key, 88),

    SIZE(hdp_profile_info, 56),
    AT(hdp_profile_info, size, 0),
    AT(hdp_profile_info, member_count, 8),
    AT(hdp_profile_info, dtype, 12),
    AT(hdp_profile_info, compute, 16),
    AT(hdp_profile_info, probe, 20),
    AT(hdp_profile_info, ended_by, 24),
    AT(hdp_profile_info, drifting, 28),
    AT(hdp_profile_info, elapsed_ns, 32),
    AT(hdp_profile_info, warmup_ns, 40),
    AT(hdp_profile_info, fingerprint, 48),

    SIZE(hdp_split_options, 104),
    AT(hdp_split_options, size, 0),
    AT(hdp_split_options, rule, 8),
    AT(hdp_split_options, keep_all, 12),
    AT(hdp_split_options, quantum, 16),
    AT(hdp_split_options, item_bytes, 24),
    AT(hdp_split_options, fixed_bytes, 32),
    AT(hdp_split_options, keep_free_bytes, 40),
    AT(hdp_split_options, in_bytes, 48),
    AT(hdp_split_options, out_bytes, 56),
    AT(hdp_split_options, reduce_bytes, 64),
    AT(hdp_split_options, may_bench, 72),
    AT(hdp_split_options, overlap, 76),
    AT(hdp_split_options, min_items, 80),
    AT(hdp_split_options, max_items, 88),
    AT(hdp_split_options, ratios, 96),

    SIZE(hdp_plan_info, 144),
    AT(hdp_plan_info, size, 0),
    AT(hdp_plan_info, rank_count, 8),
    AT(hdp_plan_info, rule, 12),
    AT(hdp_plan_info, total, 16),
    AT(hdp_plan_info, quantum, 24),
    AT(hdp_plan_info, quanta, 32),
    AT(hdp_plan_info, items, 40),
    AT(hdp_plan_info, offsets, 48),
    AT(hdp_plan_info, weights, 56),
    AT(hdp_plan_info, predicted_ns, 64),
    AT(hdp_plan_info, bound_by, 72),
    AT(hdp_plan_info, state, 80),
    AT(hdp_plan_info, step_ns, 88),
    AT(hdp_plan_info, lower_bound_ns, 96),
    AT(hdp_plan_info, equal_ns, 104),
    AT(hdp_plan_info, best_single_ns, 112),
    AT(hdp_plan_info, gap, 120),
    AT(hdp_plan_info, hash, 128),
    AT(hdp_plan_info, fingerprint, 136),

    SIZE(hdp_view, 32),
    AT(hdp_view, data, 0),
    AT(hdp_view, rows, 8),
    AT(hdp_view, row_bytes, 16),
    AT(hdp_view, row_stride_bytes, 24),

    SIZE(hdp_shard, 120),
    AT(hdp_shard, size, 0),
    AT(hdp_shard, kind, 8),
    AT(hdp_shard, logical_id, 12),
    AT(hdp_shard, sm_count, 16),
    AT(hdp_shard, thread_count, 20),
    AT(hdp_shard, member, 24),
    AT(hdp_shard, rank, 28),
    AT(hdp_shard, rank_count, 32),
    AT(hdp_shard, flags, 36),
    AT(hdp_shard, offset, 40),
    AT(hdp_shard, items, 48),
    AT(hdp_shard, share_items, 56),
    AT(hdp_shard, total_items, 64),
    AT(hdp_shard, stream, 72),
    AT(hdp_shard, inputs, 80),
    AT(hdp_shard, outputs, 88),
    AT(hdp_shard, input_count, 96),
    AT(hdp_shard, output_count, 100),
    AT(hdp_shard, step, 104),
    AT(hdp_shard, internal, 112),

    SIZE(hdp_array, 56),
    AT(hdp_array, size, 0),
    AT(hdp_array, data, 8),
    AT(hdp_array, member_data, 16),
    AT(hdp_array, row_bytes, 24),
    AT(hdp_array, row_stride_bytes, 32),
    AT(hdp_array, memory, 40),
    AT(hdp_array, member, 44),
    AT(hdp_array, stream, 48),

    SIZE(hdp_buffers, 72),
    AT(hdp_buffers, size, 0),
    AT(hdp_buffers, dtype, 8),
    AT(hdp_buffers, op, 12),
    AT(hdp_buffers, memory, 16),
    AT(hdp_buffers, tensor_count, 20),
    AT(hdp_buffers, elements, 24),
    AT(hdp_buffers, send, 32),
    AT(hdp_buffers, recv, 40),
    AT(hdp_buffers, streams, 48),
    AT(hdp_buffers, counts, 56),
    AT(hdp_buffers, total_count, 64),

    SIZE(hdp_work, 96),
    AT(hdp_work, size, 0),
    AT(hdp_work, host, 8),
    AT(hdp_work, cuda, 16),
    AT(hdp_work, user, 24),
    AT(hdp_work, inputs, 32),
    AT(hdp_work, outputs, 40),
    AT(hdp_work, buckets, 48),
    AT(hdp_work, input_count, 56),
    AT(hdp_work, output_count, 60),
    AT(hdp_work, bucket_count, 64),
    AT(hdp_work, flags, 68),
    AT(hdp_work, replica, 72),
    AT(hdp_work, max_piece_items, 80),
    AT(hdp_work, timeout_ns, 88),

    SIZE(hdp_span, 32),
    AT(hdp_span, start_ns, 0),
    AT(hdp_span, end_ns, 8),
    AT(hdp_span, rank, 16),
    AT(hdp_span, lane, 20),
    AT(hdp_span, phase, 24),
    AT(hdp_span, piece, 28),

    SIZE(hdp_report_info, 104),
    AT(hdp_report_info, size, 0),
    AT(hdp_report_info, rank_count, 8),
    AT(hdp_report_info, span_count, 12),
    AT(hdp_report_info, step, 16),
    AT(hdp_report_info, step_ns, 24),
    AT(hdp_report_info, items, 32),
    AT(hdp_report_info, compute_ns, 40),
    AT(hdp_report_info, spans, 48),
    AT(hdp_report_info, held_bytes, 56),
    AT(hdp_report_info, peak_bytes, 64),
    AT(hdp_report_info, free_bytes, 72),
    AT(hdp_report_info, first_at_share, 80),
    AT(hdp_report_info, cause, 88),
    AT(hdp_report_info, reduce_engine, 96),
    AT(hdp_report_info, reserved, 100),

    SIZE(hdp_executor_options, 64),
    AT(hdp_executor_options, size, 0),
    AT(hdp_executor_options, group, 8),
    AT(hdp_executor_options, calibrate, 16),
    AT(hdp_executor_options, split, 24),
    AT(hdp_executor_options, profile, 32),
    AT(hdp_executor_options, min_items, 40),
    AT(hdp_executor_options, max_items, 48),
    AT(hdp_executor_options, learn, 56),
    AT(hdp_executor_options, on_memory, 60),

    SIZE(hdp_lease_options, 56),
    AT(hdp_lease_options, size, 0),
    AT(hdp_lease_options, directory, 8),
    AT(hdp_lease_options, mask, 16),
    AT(hdp_lease_options, order, 24),
    AT(hdp_lease_options, profile, 32),
    AT(hdp_lease_options, timeout_ns, 40),
    AT(hdp_lease_options, count, 48),
    AT(hdp_lease_options, policy, 52),

    SIZE(hdp_lease_info, 544),
    AT(hdp_lease_info, size, 0),
    AT(hdp_lease_info, device_count, 8),
    AT(hdp_lease_info, descriptor_count, 12),
    AT(hdp_lease_info, scope, 16),
    AT(hdp_lease_info, adopted, 20),
    AT(hdp_lease_info, waited_ns, 24),
    AT(hdp_lease_info, directory, 32),
    AT(hdp_lease_info, note, 288),

    SIZE(hdp_lease_device_info, 240),
    AT(hdp_lease_device_info, size, 0),
    AT(hdp_lease_device_info, uuid, 8),
    AT(hdp_lease_device_info, spec, 72),
    AT(hdp_lease_device_info, file, 136),
    AT(hdp_lease_device_info, shared, 232),
    AT(hdp_lease_device_info, reserved, 236),

    SIZE(hdp_lease_list_info, 536),
    AT(hdp_lease_list_info, size, 0),
    AT(hdp_lease_list_info, device_count, 8),
    AT(hdp_lease_list_info, free_count, 12),
    AT(hdp_lease_list_info, scope, 16),
    AT(hdp_lease_list_info, reserved, 20),
    AT(hdp_lease_list_info, directory, 24),
    AT(hdp_lease_list_info, note, 280),

    SIZE(hdp_lease_entry, 584),
    AT(hdp_lease_entry, size, 0),
    AT(hdp_lease_entry, state, 8),
    AT(hdp_lease_entry, pid, 12),
    AT(hdp_lease_entry, uid, 16),
    AT(hdp_lease_entry, since_s, 24),
    AT(hdp_lease_entry, elsewhere, 32),
    AT(hdp_lease_entry, gone, 36),
    AT(hdp_lease_entry, since, 40),
    AT(hdp_lease_entry, command, 72),
    AT(hdp_lease_entry, uuid, 104),
    AT(hdp_lease_entry, spec, 168),
    AT(hdp_lease_entry, file, 232),
    AT(hdp_lease_entry, reason, 328),
};

enum { PLACE_COUNT = sizeof places / sizeof *places };

static void offsets_are_as_pinned(void **state)
{
    size_t i, wrong = 0;

    (void)state;
    for (i = 0; i < PLACE_COUNT; ++i) {
        const struct place *at = &places[i];
        if (at->got == at->pinned)
            continue;
        print_error("%s%s %s: expected %zu, got %zu\n",
                    at->field ? "offset of " : "size of ", at->type,
                    at->field ? at->field : "", at->pinned, at->got);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

/* No holes: what initialisers leave in one is not defined, and a foreign
 * language may lay it out differently. Also proves that no field is missing
 * from the list above. */
static void fields_touch(void **state)
{
    size_t i, end = 0, size = 0, wrong = 0;
    const char *type = "";

    (void)state;
    for (i = 0; i <= PLACE_COUNT; ++i) {
        const struct place *at = i < PLACE_COUNT ? &places[i] : NULL;
        if (at && at->field) {
            if (at->got != end) {
                print_error("%s.%s: expected at %zu, got %zu\n", at->type,
                            at->field, end, at->got);
                wrong++;
            }
            end = at->got + at->bytes;
            continue;
        }
        if (end != size) {
            print_error("%s: fields end at %zu, size is %zu\n", type, end,
                        size);
            wrong++;
        }
        if (at) {
            type = at->type;
            size = at->got;
            end = 0;
        }
    }
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_are_as_pinned),
        cmocka_unit_test(fields_touch),
    };

    if (sizeof(void *) != 8 || sizeof(size_t) != 8) {
        print_message("skipped: the numbers are those of 64-bit machines\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
