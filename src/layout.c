/* Where every field of every public struct lies, so that a binding in another
 * language can check itself at load. A test holds the list complete. */
#include <stddef.h>
#include <hdp/lease.h>
#include "layout.h"

#define FIELD(type, name)                                                      \
    {                                                                          \
#name, offsetof(type, name), sizeof(((type *)0)->name)                 \
    }
#define LAYOUT(type, fields)                                                   \
    {                                                                          \
#type, sizeof(type), fields, sizeof fields / sizeof *fields            \
    }

static const struct hdpi_field error_fields[] = {
    FIELD(hdp_error, size),         FIELD(hdp_error, status),
    FIELD(hdp_error, severity),     FIELD(hdp_error, member),
    FIELD(hdp_error, rank),         FIELD(hdp_error, vendor),
    FIELD(hdp_error, vendor_code),  FIELD(hdp_error, user_code),
    FIELD(hdp_error, reserved),     FIELD(hdp_error, step),
    FIELD(hdp_error, wanted_bytes), FIELD(hdp_error, largest_total),
    FIELD(hdp_error, text),
};
static const struct hdpi_field context_options_fields[] = {
    FIELD(hdp_context_options, size),
    FIELD(hdp_context_options, log),
    FIELD(hdp_context_options, log_user),
    FIELD(hdp_context_options, log_level),
    FIELD(hdp_context_options, reserved),
    FIELD(hdp_context_options, cublas_path),
    FIELD(hdp_context_options, nccl_path),
    FIELD(hdp_context_options, nvml_path),
    FIELD(hdp_context_options, timeout_ns),
};
static const struct hdpi_field device_fields[] = {
    FIELD(hdp_device, size),          FIELD(hdp_device, kind),
    FIELD(hdp_device, logical_id),    FIELD(hdp_device, sm_count),
    FIELD(hdp_device, thread_count),  FIELD(hdp_device, memory_bytes),
    FIELD(hdp_device, free_bytes),    FIELD(hdp_device, partition_sms),
    FIELD(hdp_device, duty_percent),  FIELD(hdp_device, compute_major),
    FIELD(hdp_device, compute_minor), FIELD(hdp_device, runnable),
    FIELD(hdp_device, display),       FIELD(hdp_device, native_dtypes),
    FIELD(hdp_device, slow_dtypes),   FIELD(hdp_device, uuid),
    FIELD(hdp_device, pci),           FIELD(hdp_device, name),
    FIELD(hdp_device, spec),
};
static const struct hdpi_field mask_entry_fields[] = {
    FIELD(hdp_mask_entry, size),
    FIELD(hdp_mask_entry, verdict),
    FIELD(hdp_mask_entry, device),
    FIELD(hdp_mask_entry, text),
};
static const struct hdpi_field link_fields[] = {
    FIELD(hdp_link, size),
    FIELD(hdp_link, peer),
    FIELD(hdp_link, kind),
    FIELD(hdp_link, bytes_per_second),
};
static const struct hdpi_field topology_info_fields[] = {
    FIELD(hdp_topology_info, size),
    FIELD(hdp_topology_info, device_count),
    FIELD(hdp_topology_info, mask_count),
    FIELD(hdp_topology_info, mask_set),
    FIELD(hdp_topology_info, mask_changed),
};
static const struct hdpi_field discover_options_fields[] = {
    FIELD(hdp_discover_options, size),
    FIELD(hdp_discover_options, machine),
    FIELD(hdp_discover_options, mask),
    FIELD(hdp_discover_options, order),
};
static const struct hdpi_field world_fields[] = {
    FIELD(hdp_world, size),          FIELD(hdp_world, process_count),
    FIELD(hdp_world, process_index), FIELD(hdp_world, local_count),
    FIELD(hdp_world, local_index),   FIELD(hdp_world, directory),
    FIELD(hdp_world, run_id),        FIELD(hdp_world, all_gather),
    FIELD(hdp_world, all_reduce),    FIELD(hdp_world, publish),
    FIELD(hdp_world, lookup),        FIELD(hdp_world, user),
};
static const struct hdpi_field group_options_fields[] = {
    FIELD(hdp_group_options, size),
    FIELD(hdp_group_options, world),
    FIELD(hdp_group_options, streams),
    FIELD(hdp_group_options, threads),
    FIELD(hdp_group_options, comm),
    FIELD(hdp_group_options, checked),
    FIELD(hdp_group_options, reserved),
    FIELD(hdp_group_options, timeout_ns),
    FIELD(hdp_group_options, spin_ns),
    FIELD(hdp_group_options, staging_bytes),
    FIELD(hdp_group_options, alloc),
    FIELD(hdp_group_options, free),
    FIELD(hdp_group_options, alloc_user),
};
static const struct hdpi_field group_info_fields[] = {
    FIELD(hdp_group_info, size),          FIELD(hdp_group_info, member_count),
    FIELD(hdp_group_info, rank_count),    FIELD(hdp_group_info, first_rank),
    FIELD(hdp_group_info, process_count), FIELD(hdp_group_info, process_index),
    FIELD(hdp_group_info, reserved),      FIELD(hdp_group_info, fingerprint),
    FIELD(hdp_group_info, step),
};
static const struct hdpi_field calibrate_options_fields[] = {
    FIELD(hdp_calibrate_options, size),
    FIELD(hdp_calibrate_options, dtype),
    FIELD(hdp_calibrate_options, probe),
    FIELD(hdp_calibrate_options, work),
    FIELD(hdp_calibrate_options, items),
    FIELD(hdp_calibrate_options, item_count),
    FIELD(hdp_calibrate_options, compute),
    FIELD(hdp_calibrate_options, budget_ns),
    FIELD(hdp_calibrate_options, cache),
};
static const struct hdpi_field model_fields[] = {
    FIELD(hdp_model, size),
    FIELD(hdp_model, fixed_ns),
    FIELD(hdp_model, item_ns),
    FIELD(hdp_model, in_bytes_per_second),
    FIELD(hdp_model, out_bytes_per_second),
    FIELD(hdp_model, reduce_bytes_per_second),
    FIELD(hdp_model, point_items),
    FIELD(hdp_model, point_ns),
    FIELD(hdp_model, point_count),
    FIELD(hdp_model, memory_bytes),
    FIELD(hdp_model, memory_domain),
    FIELD(hdp_model, reserved),
    FIELD(hdp_model, key),
};
static const struct hdpi_field profile_info_fields[] = {
    FIELD(hdp_profile_info, size),      FIELD(hdp_profile_info, member_count),
    FIELD(hdp_profile_info, dtype),     FIELD(hdp_profile_info, compute),
    FIELD(hdp_profile_info, probe),     FIELD(hdp_profile_info, ended_by),
    FIELD(hdp_profile_info, drifting),  FIELD(hdp_profile_info, elapsed_ns),
    FIELD(hdp_profile_info, warmup_ns), FIELD(hdp_profile_info, fingerprint),
};
static const struct hdpi_field split_options_fields[] = {
    FIELD(hdp_split_options, size),
    FIELD(hdp_split_options, rule),
    FIELD(hdp_split_options, keep_all),
    FIELD(hdp_split_options, quantum),
    FIELD(hdp_split_options, item_bytes),
    FIELD(hdp_split_options, fixed_bytes),
    FIELD(hdp_split_options, keep_free_bytes),
    FIELD(hdp_split_options, in_bytes),
    FIELD(hdp_split_options, out_bytes),
    FIELD(hdp_split_options, reduce_bytes),
    FIELD(hdp_split_options, may_bench),
    FIELD(hdp_split_options, overlap),
    FIELD(hdp_split_options, min_items),
    FIELD(hdp_split_options, max_items),
    FIELD(hdp_split_options, ratios),
};
static const struct hdpi_field plan_info_fields[] = {
    FIELD(hdp_plan_info, size),        FIELD(hdp_plan_info, rank_count),
    FIELD(hdp_plan_info, rule),        FIELD(hdp_plan_info, total),
    FIELD(hdp_plan_info, quantum),     FIELD(hdp_plan_info, quanta),
    FIELD(hdp_plan_info, items),       FIELD(hdp_plan_info, offsets),
    FIELD(hdp_plan_info, weights),     FIELD(hdp_plan_info, predicted_ns),
    FIELD(hdp_plan_info, bound_by),    FIELD(hdp_plan_info, state),
    FIELD(hdp_plan_info, step_ns),     FIELD(hdp_plan_info, lower_bound_ns),
    FIELD(hdp_plan_info, equal_ns),    FIELD(hdp_plan_info, best_single_ns),
    FIELD(hdp_plan_info, gap),         FIELD(hdp_plan_info, hash),
    FIELD(hdp_plan_info, fingerprint),
};
static const struct hdpi_field view_fields[] = {
    FIELD(hdp_view, data),
    FIELD(hdp_view, rows),
    FIELD(hdp_view, row_bytes),
    FIELD(hdp_view, row_stride_bytes),
};
static const struct hdpi_field shard_fields[] = {
    FIELD(hdp_shard, size),         FIELD(hdp_shard, kind),
    FIELD(hdp_shard, logical_id),   FIELD(hdp_shard, sm_count),
    FIELD(hdp_shard, thread_count), FIELD(hdp_shard, member),
    FIELD(hdp_shard, rank),         FIELD(hdp_shard, rank_count),
    FIELD(hdp_shard, flags),        FIELD(hdp_shard, offset),
    FIELD(hdp_shard, items),        FIELD(hdp_shard, share_items),
    FIELD(hdp_shard, total_items),  FIELD(hdp_shard, stream),
    FIELD(hdp_shard, inputs),       FIELD(hdp_shard, outputs),
    FIELD(hdp_shard, input_count),  FIELD(hdp_shard, output_count),
    FIELD(hdp_shard, step),         FIELD(hdp_shard, internal),
};
static const struct hdpi_field array_fields[] = {
    FIELD(hdp_array, size),
    FIELD(hdp_array, data),
    FIELD(hdp_array, member_data),
    FIELD(hdp_array, row_bytes),
    FIELD(hdp_array, row_stride_bytes),
    FIELD(hdp_array, memory),
    FIELD(hdp_array, member),
    FIELD(hdp_array, stream),
};
static const struct hdpi_field buffers_fields[] = {
    FIELD(hdp_buffers, size),         FIELD(hdp_buffers, dtype),
    FIELD(hdp_buffers, op),           FIELD(hdp_buffers, memory),
    FIELD(hdp_buffers, tensor_count), FIELD(hdp_buffers, elements),
    FIELD(hdp_buffers, send),         FIELD(hdp_buffers, recv),
    FIELD(hdp_buffers, streams),      FIELD(hdp_buffers, counts),
    FIELD(hdp_buffers, total_count),
};
static const struct hdpi_field work_fields[] = {
    FIELD(hdp_work, size),
    FIELD(hdp_work, host),
    FIELD(hdp_work, cuda),
    FIELD(hdp_work, user),
    FIELD(hdp_work, inputs),
    FIELD(hdp_work, outputs),
    FIELD(hdp_work, buckets),
    FIELD(hdp_work, input_count),
    FIELD(hdp_work, output_count),
    FIELD(hdp_work, bucket_count),
    FIELD(hdp_work, flags),
    FIELD(hdp_work, replica),
    FIELD(hdp_work, max_piece_items),
    FIELD(hdp_work, timeout_ns),
};
static const struct hdpi_field span_fields[] = {
    FIELD(hdp_span, start_ns), FIELD(hdp_span, end_ns), FIELD(hdp_span, rank),
    FIELD(hdp_span, lane),     FIELD(hdp_span, phase),  FIELD(hdp_span, piece),
};
static const struct hdpi_field report_info_fields[] = {
    FIELD(hdp_report_info, size),       FIELD(hdp_report_info, rank_count),
    FIELD(hdp_report_info, span_count), FIELD(hdp_report_info, step),
    FIELD(hdp_report_info, step_ns),    FIELD(hdp_report_info, items),
    FIELD(hdp_report_info, compute_ns), FIELD(hdp_report_info, spans),
    FIELD(hdp_report_info, held_bytes), FIELD(hdp_report_info, peak_bytes),
    FIELD(hdp_report_info, free_bytes), FIELD(hdp_report_info, first_at_share),
    FIELD(hdp_report_info, cause),      FIELD(hdp_report_info, reduce_engine),
    FIELD(hdp_report_info, reserved),
};
static const struct hdpi_field executor_options_fields[] = {
    FIELD(hdp_executor_options, size),
    FIELD(hdp_executor_options, group),
    FIELD(hdp_executor_options, calibrate),
    FIELD(hdp_executor_options, split),
    FIELD(hdp_executor_options, profile),
    FIELD(hdp_executor_options, min_items),
    FIELD(hdp_executor_options, max_items),
    FIELD(hdp_executor_options, learn),
    FIELD(hdp_executor_options, on_memory),
};
static const struct hdpi_field lease_options_fields[] = {
    FIELD(hdp_lease_options, size),    FIELD(hdp_lease_options, directory),
    FIELD(hdp_lease_options, mask),    FIELD(hdp_lease_options, order),
    FIELD(hdp_lease_options, profile), FIELD(hdp_lease_options, timeout_ns),
    FIELD(hdp_lease_options, count),   FIELD(hdp_lease_options, policy),
};
static const struct hdpi_field lease_info_fields[] = {
    FIELD(hdp_lease_info, size),
    FIELD(hdp_lease_info, device_count),
    FIELD(hdp_lease_info, descriptor_count),
    FIELD(hdp_lease_info, scope),
    FIELD(hdp_lease_info, adopted),
    FIELD(hdp_lease_info, waited_ns),
    FIELD(hdp_lease_info, directory),
    FIELD(hdp_lease_info, note),
};
static const struct hdpi_field lease_device_info_fields[] = {
    FIELD(hdp_lease_device_info, size),
    FIELD(hdp_lease_device_info, uuid),
    FIELD(hdp_lease_device_info, spec),
    FIELD(hdp_lease_device_info, file),
    FIELD(hdp_lease_device_info, shared),
    FIELD(hdp_lease_device_info, reserved),
};
static const struct hdpi_field lease_list_info_fields[] = {
    FIELD(hdp_lease_list_info, size),
    FIELD(hdp_lease_list_info, device_count),
    FIELD(hdp_lease_list_info, free_count),
    FIELD(hdp_lease_list_info, scope),
    FIELD(hdp_lease_list_info, reserved),
    FIELD(hdp_lease_list_info, directory),
    FIELD(hdp_lease_list_info, note),
};
static const struct hdpi_field lease_entry_fields[] = {
    FIELD(hdp_lease_entry, size),    FIELD(hdp_lease_entry, state),
    FIELD(hdp_lease_entry, pid),     FIELD(hdp_lease_entry, uid),
    FIELD(hdp_lease_entry, since_s), FIELD(hdp_lease_entry, elsewhere),
    FIELD(hdp_lease_entry, gone),    FIELD(hdp_lease_entry, since),
    FIELD(hdp_lease_entry, command), FIELD(hdp_lease_entry, uuid),
    FIELD(hdp_lease_entry, spec),    FIELD(hdp_lease_entry, file),
    FIELD(hdp_lease_entry, reason),
};

static const struct hdpi_layout layouts[] = {
    LAYOUT(hdp_error, error_fields),
    LAYOUT(hdp_context_options, context_options_fields),
    LAYOUT(hdp_device, device_fields),
    LAYOUT(hdp_mask_entry, mask_entry_fields),
    LAYOUT(hdp_link, link_fields),
    LAYOUT(hdp_topology_info, topology_info_fields),
    LAYOUT(hdp_discover_options, discover_options_fields),
    LAYOUT(hdp_world, world_fields),
    LAYOUT(hdp_group_options, group_options_fields),
    LAYOUT(hdp_group_info, group_info_fields),
    LAYOUT(hdp_calibrate_options, calibrate_options_fields),
    LAYOUT(hdp_model, model_fields),
    LAYOUT(hdp_profile_info, profile_info_fields),
    LAYOUT(hdp_split_options, split_options_fields),
    LAYOUT(hdp_plan_info, plan_info_fields),
    LAYOUT(hdp_view, view_fields),
    LAYOUT(hdp_shard, shard_fields),
    LAYOUT(hdp_array, array_fields),
    LAYOUT(hdp_buffers, buffers_fields),
    LAYOUT(hdp_work, work_fields),
    LAYOUT(hdp_span, span_fields),
    LAYOUT(hdp_report_info, report_info_fields),
    LAYOUT(hdp_executor_options, executor_options_fields),
    LAYOUT(hdp_lease_options, lease_options_fields),
    LAYOUT(hdp_lease_info, lease_info_fields),
    LAYOUT(hdp_lease_device_info, lease_device_info_fields),
    LAYOUT(hdp_lease_list_info, lease_list_info_fields),
    LAYOUT(hdp_lease_entry, lease_entry_fields),
};

const struct hdpi_layout *hdpi_layouts(size_t *out_count)
{
    *out_count = sizeof layouts / sizeof *layouts;
    return layouts;
}
