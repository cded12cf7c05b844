// The same in C++17, with the owners that a C++ program would write.
#include <hdp/hdp.h>
#include <cstdio>
#include <memory>

static_assert(__cplusplus >= 201703L, "C++17");

template <auto destroy> struct destroyer {
    template <class T> void operator()(T *object) const { destroy(object); }
};
using context_ptr =
    std::unique_ptr<hdp_context, destroyer<hdp_context_destroy>>;
using group_ptr = std::unique_ptr<hdp_group, destroyer<hdp_group_destroy>>;
using profile_ptr =
    std::unique_ptr<hdp_profile, destroyer<hdp_profile_destroy>>;
using plan_ptr = std::unique_ptr<hdp_plan, destroyer<hdp_plan_destroy>>;

int main()
{
    hdp_context *context = nullptr;
    hdp_group *group = nullptr;
    hdp_profile *profile = nullptr;
    hdp_plan *plan = nullptr;
    hdp_plan_info info;

    hdp_options_init(&info, sizeof info);
    if (hdp_context_create(&context, nullptr))
        return 1;
    const context_ptr keep_context{ context };
    if (hdp_group_create_spec(&group, context,
                              "sim:0/item=10us+sim:1/item=30us", nullptr))
        return 1;
    const group_ptr keep_group{ group };
    if (hdp_calibrate(&profile, group, nullptr))
        return 1;
    const profile_ptr keep_profile{ profile };
    if (hdp_split(&plan, profile, 20, nullptr))
        return 1;
    const plan_ptr keep_plan{ plan };
    if (hdp_plan_get(&info, plan) || info.items[0] != 15)
        return 1;
    return std::puts(hdp_version()) < 0;
}
