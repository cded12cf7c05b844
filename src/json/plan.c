/* Plans. The shares alone make one; what follows from them (offsets, weights,
 * total, hash) is computed again and must agree. */
#include <float.h>
#include <math.h>
#include "json/reader.h"
#include "json/writer.h"

static const char schema[] = "hdp.plan";

/* Weights are for people, and other writers keep fewer digits. */
static const double weight_slack = 1e-6;

/* ---- writing ------------------------------------------------------------- */

static void write_times(struct hdpi_json *json, const hdp_plan_info *info)
{
    hdpi_json_knowns(json, "rank_ns", info->predicted_ns, info->rank_count);
    hdpi_json_known(json, "predicted_ns", info->step_ns);
    hdpi_json_known(json, "lower_bound_ns", info->lower_bound_ns);
    hdpi_json_real(json, "gap", info->gap);
    hdpi_json_known(json, "equal_ns", info->equal_ns);
    hdpi_json_known(json, "best_single_ns", info->best_single_ns);
}

hdp_status hdpi_plan_write_json(char **out, const hdp_plan *plan)
{
    const hdp_plan_info *info = &plan->info;
    int32_t count = info->rank_count;
    struct hdpi_json *json;

    *out = NULL;
    HDPI_RETURN_IF(hdpi_json_new_document(&json, schema));
    hdpi_json_name(json, "rule", &hdpi_rule_names, info->rule);
    hdpi_json_int(json, "total", info->total);
    hdpi_json_int(json, "quantum", info->quantum);
    if (info->quantum == 0)
        hdpi_json_knowns(json, "quanta", info->quanta, count);
    hdpi_json_knowns(json, "shares", info->items, count);
    hdpi_json_knowns(json, "offsets", info->offsets, count);
    hdpi_json_reals(json, "weights", info->weights, count);
    write_times(json, info);
    hdpi_json_all_names(json, "state", &hdpi_state_names, info->state, count);
    hdpi_json_all_names(json, "bound_by", &hdpi_bound_names, info->bound_by,
                        count);
    hdpi_json_bits(json, "hash", info->hash);
    hdpi_json_bits(json, "fingerprint", info->fingerprint);
    return hdpi_json_end(json, out);
}

/* ---- reading ------------------------------------------------------------- */

static hdp_status read_times(hdp_plan *plan, const struct hdpi_json_at *root)
{
    hdp_plan_info *info = &plan->info;
    size_t count = (size_t)info->rank_count;

    HDPI_RETURN_IF(
        hdpi_json_take_ints(root, "rank_ns", -1, count, plan->predicted_ns));
    HDPI_RETURN_IF(
        hdpi_json_take_int(root, "predicted_ns", 0, INT64_MAX, &info->step_ns));
    HDPI_RETURN_IF(hdpi_json_take_int(root, "lower_bound_ns", 0, INT64_MAX,
                                      &info->lower_bound_ns));
    HDPI_RETURN_IF(hdpi_json_take_real(root, "gap", 0, DBL_MAX, &info->gap));
    HDPI_RETURN_IF(
        hdpi_json_take_int(root, "equal_ns", 0, INT64_MAX, &info->equal_ns));
    return hdpi_json_take_int(root, "best_single_ns", 0, INT64_MAX,
                              &info->best_single_ns);
}

static hdp_status read_quanta(hdp_plan *plan, const struct hdpi_json_at *root)
{
    hdp_plan_info *info = &plan->info;
    const struct hdpi_json_at quanta = hdpi_json_member(root, "quanta");

    HDPI_RETURN_IF(
        hdpi_json_take_int(root, "quantum", 0, INT64_MAX, &info->quantum));
    for (int32_t i = 0; i < info->rank_count; i++)
        plan->quanta[i] = info->quantum;
    if (info->quantum > 0)
        return HDP_OK;
    if (!quanta.value)
        return hdpi_json_refuse(&quanta, "an array, as quantum is 0");
    return hdpi_json_take_ints(root, "quanta", 1, (size_t)info->rank_count,
                               plan->quanta);
}

/* Which of the ranks without rows stay in the reduce only the text can say. */
static hdp_status read_states(hdp_plan *plan, const struct hdpi_json_at *root)
{
    size_t count = (size_t)plan->info.rank_count;
    const struct hdpi_json_at states = hdpi_json_member(root, "state");

    for (size_t i = 0; i < count; i++)
        plan->state[i] = plan->items[i] > 0 ? HDP_ACTIVE : HDP_EMPTY;
    HDPI_RETURN_IF(hdpi_json_take_names(root, "state", &hdpi_state_names, count,
                                        plan->state));
    for (size_t i = 0; i < count; i++) {
        struct hdpi_json_at at = hdpi_json_element(&states, i);
        if ((plan->items[i] > 0) != (plan->state[i] == HDP_ACTIVE))
            return hdpi_json_refuse(&at, plan->items[i] > 0
                                             ? "active, as it has items"
                                             : "empty or benched, as it has "
                                               "no items");
    }
    return hdpi_json_take_names(root, "bound_by", &hdpi_bound_names, count,
                                plan->bound_by);
}

/* What the text says of what follows from the shares. */
static hdp_status check_sealed(const hdp_plan *plan,
                               const struct hdpi_json_at *root)
{
    size_t count = (size_t)plan->info.rank_count, given;
    const struct hdpi_json_at offsets = hdpi_json_member(root, "offsets");
    const struct hdpi_json_at weights = hdpi_json_member(root, "weights");
    const struct hdpi_json_at hash = hdpi_json_member(root, "hash");
    int64_t total = plan->info.total;
    uint64_t bits = plan->info.hash;

    HDPI_RETURN_IF(hdpi_json_take_int(root, "total", total, total, &total));
    HDPI_RETURN_IF(hdpi_json_need_array(&offsets, offsets.value ? count : 0,
                                        count, &given));
    for (size_t i = 0; i < given; i++) {
        struct hdpi_json_at at = hdpi_json_element(&offsets, i);
        int64_t offset = plan->offsets[i];
        HDPI_RETURN_IF(hdpi_json_read_int(&at, offset, offset, &offset));
    }
    HDPI_RETURN_IF(hdpi_json_need_array(&weights, weights.value ? count : 0,
                                        count, &given));
    for (size_t i = 0; i < given; i++) {
        struct hdpi_json_at at = hdpi_json_element(&weights, i);
        double weight = 0;
        HDPI_RETURN_IF(hdpi_json_read_real(&at, 0, 1, &weight));
        if (fabs(weight - plan->weights[i]) > weight_slack)
            return hdpi_json_refuse(&at, "the share divided by the total");
    }
    HDPI_RETURN_IF(hdpi_json_take_bits(root, "hash", &bits));
    if (bits != plan->info.hash)
        return hdpi_json_complain(&hash, "of other shares than these");
    return HDP_OK;
}

static hdp_status read_plan(hdp_plan *plan, const struct hdpi_json_at *root)
{
    hdp_plan_info *info = &plan->info;

    info->rule = HDP_RULE_MANUAL;
    info->quantum = 1;
    info->step_ns = info->lower_bound_ns = -1;
    info->equal_ns = info->best_single_ns = -1;
    for (int32_t i = 0; i < info->rank_count; i++)
        plan->predicted_ns[i] = -1;
    HDPI_RETURN_IF(
        hdpi_json_take_name(root, "rule", &hdpi_rule_names, &info->rule));
    HDPI_RETURN_IF(hdpi_json_take_ints(root, "shares", 0,
                                       (size_t)info->rank_count, plan->items));
    HDPI_RETURN_IF(read_quanta(plan, root));
    HDPI_RETURN_IF(read_times(plan, root));
    HDPI_RETURN_IF(read_states(plan, root));
    HDPI_RETURN_IF(
        hdpi_json_take_bits(root, "fingerprint", &info->fingerprint));
    HDPI_RETURN_IF(hdpi_plan_seal(plan));
    HDPI_RETURN_IF(check_sealed(plan, root));
    if (!hdpi_plan_is_valid(plan))
        return hdpi_json_complain(root, "not a plan: its parts disagree");
    return HDP_OK;
}

hdp_status hdpi_plan_read_json(hdp_plan **out, const char *text, size_t length)
{
    hdp_status status = HDP_OK;
    json_t *document = NULL;
    hdp_plan *plan = NULL;
    size_t count;

    *out = NULL;
    HDPI_TRY(hdpi_json_load(&document, text, length, schema));
    const struct hdpi_json_at root = { .value = document };
    const struct hdpi_json_at shares = hdpi_json_member(&root, "shares");
    HDPI_TRY(hdpi_json_need_array(&shares, 1, HDPI_JSON_RANKS_MAX, &count));
    HDPI_TRY(hdpi_plan_new(&plan, (int32_t)count));
    HDPI_TRY(read_plan(plan, &root));
    *out = plan;
    plan = NULL;
out:
    hdpi_plan_free(plan);
    json_decref(document);
    return status;
}
