/* The same for C++: header_c.c in this folder says what for. */
#include <hdp/hdp.h>
#include <hdp/hdp.h>

int header_alone();

int header_alone()
{
    hdp_context_options context = HDP_CONTEXT_OPTIONS_INIT;
    hdp_discover_options discover = HDP_DISCOVER_OPTIONS_INIT;
    hdp_world world = HDP_WORLD_INIT;
    hdp_group_options group = HDP_GROUP_OPTIONS_INIT;
    hdp_calibrate_options calibrate = HDP_CALIBRATE_OPTIONS_INIT;
    hdp_model model = HDP_MODEL_INIT;
    hdp_split_options split = HDP_SPLIT_OPTIONS_INIT;
    hdp_array array = HDP_ARRAY_INIT;
    hdp_buffers buffers = HDP_BUFFERS_INIT;
    hdp_work work = HDP_WORK_INIT;
    hdp_executor_options executor = HDP_EXECUTOR_OPTIONS_INIT;

    return context.size && discover.size && world.size && group.size &&
           calibrate.size && model.size && split.size && array.size &&
           buffers.size && work.size && executor.size;
}
