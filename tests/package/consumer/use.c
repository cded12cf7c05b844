/* A whole use of the library, in C11: devices, rates, shares. Prints the
 * version of the library that it met. */
#include <hdp/hdp.h>
#include <stdio.h>

_Static_assert(__STDC_VERSION__ >= 201112L, "C11");

int main(void)
{
    hdp_context *context = NULL;
    hdp_group *group = NULL;
    hdp_profile *profile = NULL;
    hdp_plan *plan = NULL;
    hdp_plan_info info;
    int failed;

    hdp_options_init(&info, sizeof info);
    failed = hdp_context_create(&context, NULL) ||
             hdp_group_create_spec(&group, context,
                                   "sim:0/item=10us+sim:1/item=30us", NULL) ||
             hdp_calibrate(&profile, group, NULL) ||
             hdp_split(&plan, profile, 20, NULL) || hdp_plan_get(&info, plan);
    if (failed)
        fprintf(stderr, "%s\n", hdp_last_error());
    else if (info.rank_count != 2 || info.items[0] != 15)
        failed = 1;
    else
        puts(hdp_version());
    hdp_plan_destroy(plan);
    hdp_profile_destroy(profile);
    hdp_group_destroy(group);
    hdp_context_destroy(context);
    return failed;
}
