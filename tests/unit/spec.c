/* The grammar of devices, row by row: what each text means, and where and how
 * each wrong one is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "core/spec.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- what is right ------------------------------------------------------- */

/* The asks in canonical form, each with its 0-based position. */
static const struct {
    const char *text, *asks;
} good[] = {
    { "0,2", "cuda:0@0 cuda:2@2" },
    { "7", "cuda:7@0" },
    { "all", "cuda:all@0" },
    { "GPU-ee4d17bc", "cuda:GPU-ee4d17bc@0" },
    { "cuda:0,2", "cuda:0@5 cuda:2@7" },
    { "cuda:2,0-1", "cuda:2@5 cuda:0@7 cuda:1@7" },
    { "cuda:all", "cuda:all@5" },
    { "host:all", "host:all@5" },
    { "cuda:GPU-ee4d17bc", "cuda:GPU-ee4d17bc@5" },
    { "cuda:MIG-0ab1c2d3-0000-1111-2222-333344445555",
      "cuda:MIG-0ab1c2d3-0000-1111-2222-333344445555@5" },
    { "cuda:0,GPU-aa/mem=1GiB", "cuda:0/mem=1GiB@5 cuda:GPU-aa/mem=1GiB@7" },
    { "cuda:1/sms=48", "cuda:1/sms=48@5" },
    { "cuda:1/sms=48+cuda:1/sms=84", "cuda:1/sms=48@5 cuda:1/sms=84@19" },
    { "cuda:2/compute=f32/mem=10GiB/margin=1GiB",
      "cuda:2/compute=f32/mem=10GiB/margin=1GiB@5" },
    { "cuda:0/compute=tf32;cuda:1/compute=bf16",
      "cuda:0/compute=tf32@5 cuda:1/compute=bf16@25" },
    { "host:0-1/threads=1+host:2/threads=1/duty=50",
      "host:0/threads=1@5 host:1/threads=1@5 host:2/threads=1/duty=50@24" },
    { "host:255/duty=100", "host:255/duty=100@5" },
    { "host:0/mem=1kB/margin=0B", "host:0/mem=1kB/margin=0B@5" },
    { "sim:0/fixed=500us/item=10us/mem=80GiB+"
      "sim:1/fixed=1.5ms/item=50us/link=0.8GB/noise=3%/fail=alloc:3",
      "sim:0/fixed=500us/item=10us/mem=80GiB@4 "
      "sim:1/fixed=1.5ms/item=50us/link=800MB/noise=3%/fail=alloc:3@42" },
    { "sim:1048575", "sim:1048575@4" },
    { "sim:0/item=0ns/fixed=0s", "sim:0/fixed=0s/item=0s@4" },
    { "sim:0/item=4.35us", "sim:0/item=4350ns@4" },
    { "sim:0/item=1e3ns", "sim:0/item=1us@4" },
    { "sim:0/fail=alloc:1/fail=copy:2-/fail=launch:3/fail=wait:4-/"
      "fail=reduce:5",
      "sim:0/fail=alloc:1/fail=copy:2-/fail=launch:3/fail=wait:4-"
      "/fail=reduce:5@4" },
    { "sim:0/uuid=GPU-aa11/name=RTX_3090(x4)",
      "sim:0/uuid=GPU-aa11/name=RTX_3090(x4)@4" },
    { "sim:3/seed=42/noise=0.5%", "sim:3/noise=0.5%/seed=42@4" },
    { "sim:0/compute=f32/sms=82/display=1",
      "sim:0/sms=82/compute=f32/display=1@4" },
    { "sim:0/display=0", "sim:0@4" },
    { "sim:0/sms=8+sim:1/sms=8", "sim:0/sms=8@4 sim:1/sms=8@16" },
    { "sim:0/drift=3%/noise=1%", "sim:0/noise=1%/drift=3%@4" },
    { "sim:0/ramp=20%@1s", "sim:0/ramp=20%@1s@4" },
    { "sim:0/ramp=12.5%@1500ms", "sim:0/ramp=12.5%@1.5s@4" },
    { "sim:0/newshape=300ms", "sim:0/newshape=0.3s@4" },
    { "sim:0/newshape=0s", "sim:0/newshape=0s@4" },
    { "sim:0/slow=2x@100", "sim:0/slow=2x@100@4" },
    { "sim:0/fail=wait:1/slow=2x@100/slow=1x@200/slow=1.5x@201",
      "sim:0/slow=2x@100/slow=1x@200/slow=1.5x@201/fail=wait:1@4" },
    { "sim:0/mem=1.5GiB", "sim:0/mem=1536MiB@4" },
    { "sim:0/mem=0.8GB", "sim:0/mem=800MB@4" },
    { "sim:0/mem=9223372036854775807B", "sim:0/mem=9223372036854775807B@4" },
    { "sim:0/mem=1.3GiB", "sim:0/mem=1395864371B@4" }, /* .2 of a byte cut */
    { "sim:0/link=1.5KiB", "sim:0/link=1536B@4" },
    { " cuda:0 ;\tsim:3 ", "cuda:0@6 sim:3@14" },
    { "cuda:0\n+\nhost:0\n", "cuda:0@5 host:0@14" },
    { "host:0+cuda:0+sim:0", "host:0@5 cuda:0@12 sim:0@18" },
    { "auto", "(auto)" },
    { "  auto\n", "(auto)" },
    { "@desk", "(machine desk)" },
    { "@lab-2_b.v1", "(machine lab-2_b.v1)" },
    { "@./my machine;1+2.json", "(machine ./my machine;1+2.json)" },
    { " @/etc/hdp/lab.json ", "(machine /etc/hdp/lab.json)" },
    { "@../up.json", "(machine ../up.json)" },
};

static void describe(char *out, size_t capacity, const struct hdpi_spec *spec)
{
    size_t used = 0;
    out[0] = '\0';
    if (spec->automatic)
        snprintf(out, capacity, "(auto)");
    if (spec->machine[0])
        snprintf(out, capacity, "(machine %s)", spec->machine);
    for (int32_t i = 0; i < spec->count && used < capacity; i++) {
        char ask[256];
        hdpi_spec_write(ask, sizeof ask, &spec->asks[i]);
        snprintf(out + used, capacity - used, "%s%s@%d", i ? " " : "", ask,
                 (int)spec->asks[i].position);
        used += strlen(out + used);
    }
}

static void what_is_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(good); i++) {
        struct hdpi_spec spec = { 0 };
        char got[2048];
        if (hdpi_spec_parse(&spec, good[i].text) != HDP_OK)
            fail_msg("\"%s\": expected %s, got \"%s\"", good[i].text,
                     good[i].asks, hdp_last_error());
        describe(got, sizeof got, &spec);
        if (strcmp(got, good[i].asks) != 0)
            fail_msg("\"%s\": expected %s, got %s", good[i].text, good[i].asks,
                     got);
        hdpi_spec_finish(&spec);
    }
}

/* ---- what is wrong ------------------------------------------------------- */

/* The part that is quoted, its 1-based position, and words of the reason. */
static const struct {
    const char *text, *quoted;
    int position;
    const char *reason;
} bad[] = {
    { "sim:0/item=", "item=", 7, "no value" },
    { "cuda:0,0", "0", 8, "\"0\" at 6 names already" },
    { "host:9999999999", "9999999999", 6, "host ids are 0 to 255" },
    { "sim:0/item=-1us", "-1us", 12, "duration" },
    { "sim:0/bogus=1", "bogus", 7, "sim has no such key; it has" },
    { "cuda:3-1", "3-1", 6, "backwards" },
    { "cuda:0;;cuda:1", "", 8, "empty item" },
    { "cuda:0;", "", 8, "empty item" },
    { "+cuda:0", "", 1, "empty item" },
    { " ; ", "", 2, "empty item" },
    { "gpu:0", "gpu", 1, "no such adapter" },
    { "CUDA:0", "CUDA", 1, "no such adapter" },
    { "cuda:1+cuda:1/sms=48", "1", 13, "whole and a part" },
    { "cuda:1/sms=48;cuda:0-3", "0-3", 20, "whole and a part" },
    { "cuda:all+cuda:1/sms=48", "1", 15, "whole and a part" },
    { "cuda:1,1/sms=48", "1", 8, "names already" },
    { "cuda:0-3,2", "2", 10, "\"0-3\" at 6 names already" },
    { "cuda:2;host:0;2", "2", 15, "\"2\" at 6 names already" },
    { "cuda:all,0", "0", 10, "\"all\" at 6 names already" },
    { "cuda:0;all", "all", 8, "\"0\" at 6 names already" },
    { "GPU-aa,GPU-aa", "GPU-aa", 8, "names already" },
    { "GPU-aabb,GPU-aa", "GPU-aa", 10, "\"GPU-aabb\" at 1" },
    { "sim:all", "all", 5, "named" },
    { "cuda:", "", 6, "no device" },
    { "cuda:,0", "", 6, "no device" },
    { "cuda:0,", "", 8, "no device" },
    { "cuda:-1", "-1", 6, "no device" },
    { "cuda:1-", "1-", 6, "no device" },
    { "cuda:1-2-3", "2-3", 8, "no device" },
    { "cuda:+1", "", 6, "no device" },
    { "cuda: 0", " 0", 6, "no device" },
    { "cuda:0 ,1", "0 ", 6, "no device" },
    { "cuda:0x1", "0x1", 6, "no device" },
    { "cuda:0x", "0x", 6, "no device" },
    { "cuda:0 cuda:1", "0 cuda:1", 6, "no device" },
    { "cuda:1.5", "1.5", 6, "no device" },
    { "cuda:gpu-aa", "gpu", 6, "no device" },
    { "cuda:GPU-", "GPU-", 6, "no device" },
    { "cuda:GPU-a_b", "GPU", 6, "no device" },
    { "host:GPU-aa", "GPU", 6, "no device" },
    { "host:256", "256", 6, "0 to 255" },
    { "sim:1048576", "1048576", 5, "0 to 1048575" },
    { "cuda:65536", "65536", 6, "0 to 65535" },
    { "sim:0-99999999999999999999", "99999999999999999999", 7, "sim ids" },
    { "sim:0-4096", "0-4096", 5, "more than 4096 devices" },
    { "sim:0-4000+sim:4001-4100", "4001-4100", 16, "more than 4096" },
    { "host:0/threads=0", "0", 16, "from 1 to 4096" },
    { "host:0/threads=4097", "4097", 16, "from 1 to 4096" },
    { "host:0/threads=2x", "2x", 16, "whole number" },
    { "host:0/threads=1.5", "1.5", 16, "whole number" },
    { "host:0/duty=101", "101", 13, "from 1 to 100" },
    { "host:0/duty=0", "0", 13, "from 1 to 100" },
    { "host:0/duty=50%", "50%", 13, "whole number" },
    { "host:0/sms=4", "sms", 8, "host has no such key; it has threads duty" },
    { "cuda:0/duty=50", "duty", 8, "cuda has no such key; it has sms" },
    { "cuda:0/fixed=1us", "fixed", 8, "no such key" },
    { "cuda:0/", "", 8, "no such key" },
    { "cuda:0//sms=1", "", 8, "no such key" },
    { "cuda:0/=1", "", 8, "no such key" },
    { "cuda:0/sms", "sms", 8, "no value" },
    { "cuda:0/sms =1", "sms ", 8, "no such key" },
    { "cuda:0/sms= 1", " 1", 12, "whole number" },
    { "cuda:0/sms=1/sms=1", "sms=1", 14, "given twice" },
    { "cuda:0/compute=fp32", "fp32", 16, "one of f32 tf32 f16 bf16 f64" },
    { "cuda:0/compute=F32", "F32", 16, "one of f32" },
    { "cuda:0/mem=10", "10", 12, "a size is" },
    { "cuda:0/mem=10GIB", "10GIB", 12, "a size is" },
    { "cuda:0/mem=GiB", "GiB", 12, "a size is" },
    { "cuda:0/mem=.5GiB", ".5GiB", 12, "a size is" },
    { "cuda:0/mem=1 GiB", "1 GiB", 12, "a size is" },
    { "cuda:0/mem=0GiB", "0GiB", 12, "more than 0" },
    { "cuda:0/mem=0.5B", "0.5B", 12, "more than 0" },
    { "cuda:0/mem=8388608TiB", "8388608TiB", 12, "below 8 EiB" },
    { "cuda:0/mem=9223372036854775808B", "9223372036854775808B", 12, "8 EiB" },
    { "cuda:0/margin=-1B", "-1B", 15, "a size is" },
    { "sim:0/item=10", "10", 12, "duration" },
    { "sim:0/item=10m", "10m", 12, "duration" },
    { "sim:0/item=10us ms", "10us ms", 12, "duration" },
    { "sim:0/item=nanus", "nanus", 12, "duration" },
    { "sim:0/item=1e300s", "1e300s", 12, "duration" },
    { "sim:0/item=1,5ms", "1,5ms", 12, "duration" },
    { "sim:0/noise=3", "3", 13, "0% to 100%" },
    { "sim:0/noise=100.1%", "100.1%", 13, "0% to 100%" },
    { "sim:0/link=0B", "0B", 12, "above 0" },
    { "sim:0/link=0.8", "0.8", 12, "bytes a second" },
    { "sim:0/seed=-1", "-1", 12, "whole number" },
    { "sim:0/seed=9223372036854775808", "9223372036854775808", 12, "whole" },
    { "sim:0/name=", "name=", 7, "no value" },
    { "sim:0/name=a b", " ", 13, "letters, digits" },
    { "sim:0/uuid=a\"b", "\"", 13, "letters, digits" },
    { "sim:0/name=caf\xc3\xa9", "\\xc3", 15, "letters, digits" },
    { "sim:0-1/uuid=a", "sim:0-1/uuid=a", 1, "one uuid for 2 devices" },
    { "sim:0/uuid=a+sim:1/uuid=a", "sim:1/uuid=a", 14, "at 5 bears" },
    { "sim:0/fail=alloc", "alloc", 12, "fail is alloc, copy" },
    { "sim:0/fail=alloc:", "alloc:", 12, "fail is" },
    { "sim:0/fail=alloc:0", "alloc:0", 12, "N from 1" },
    { "sim:0/fail=free:1", "free:1", 12, "fail is" },
    { "sim:0/fail=:1", ":1", 12, "fail is" },
    { "sim:0/fail=alloc:1-2", "2", 20, "only - can follow" },
    { "sim:0/fail=alloc:1x", "x", 19, "only - can follow" },
    { "sim:0/display=2", "2", 15, "from 0 to 1" },
    { "sim:0/sms=0", "0", 11, "from 1 to 65536" },
    { "sim:0/sms=8+sim:0/sms=16", "0", 17, "names already" },
    { "sim:0/compute=f8", "f8", 15, "one of f32" },
    { "sim:0/drift=3", "3", 13, "drift is 0% to 100%" },
    { "sim:0/drift=3%/s", "s", 16, "no such key" },
    { "sim:0/drift=101%", "101%", 13, "drift is 0% to 100%" },
    { "sim:0/ramp=20%", "20%", 12, "ramp is P%@D" },
    { "sim:0/ramp=20@1s", "20@1s", 12, "ramp is P%@D" },
    { "sim:0/ramp=0%@1s", "0%@1s", 12, "ramp is P%@D" },
    { "sim:0/ramp=100%@1s", "100%@1s", 12, "ramp is P%@D" },
    { "sim:0/ramp=20%@0s", "20%@0s", 12, "ramp is P%@D" },
    { "sim:0/ramp=20%@1s@2s", "20%@1s@2s", 12, "ramp is P%@D" },
    { "sim:0/ramp=2%@1s/ramp=2%@1s", "ramp=2%@1s", 18, "given twice" },
    { "sim:0/newshape=300", "300", 16, "duration" },
    { "sim:0/slow=2@100", "2@100", 12, "slow is Fx@N" },
    { "sim:0/slow=2x", "2x", 12, "slow is Fx@N" },
    { "sim:0/slow=x@1", "x@1", 12, "slow is Fx@N" },
    { "sim:0/slow=2xx@1", "2xx@1", 12, "slow is Fx@N" },
    { "sim:0/slow=2x@0", "2x@0", 12, "slow is Fx@N" },
    { "sim:0/slow=2x@1s", "2x@1s", 12, "slow is Fx@N" },
    { "sim:0/slow=0x@1", "0x@1", 12, "0.001 to 1000000" },
    { "sim:0/slow=1e7x@1", "1e7x@1", 12, "0.001 to 1000000" },
    { "sim:0/slow=2x@9/slow=3x@9", "3x@9", 22, "no later than the slow" },
    { "cuda:0/slow=2x@1", "slow", 8, "cuda has no such key" },
    { "auto+host:0", "auto", 1, "stands alone" },
    { "host:0;auto", "auto", 8, "stands alone" },
    { "host:0+@desk", "@desk", 8, "stands alone" },
    { "auto:0", "auto", 1, "no such adapter" },
    { "autox", "autox", 1, "no device" },
    { "@", "@", 1, "@NAME or @./FILE" },
    { "@a b", " ", 3, "letters, digits" },
    { "@desk+host:0", "@desk", 1, "stands alone" },
    { "@desk;@lab", "@desk", 1, "stands alone" },
    { "@./a\nb", "\\x0a", 5, "no character" },
    { "x", "x", 1, "no device" },
    { "\x1b[31m", "\\x1b[31m", 1, "no device" },
};

static void check_refusal(size_t row)
{
    struct hdpi_spec spec = { 0 };
    char wanted[512];
    hdp_status status = hdpi_spec_parse(&spec, bad[row].text);
    hdpi_spec_finish(&spec);
    snprintf(wanted, sizeof wanted, "devices: \"%s\" at %d: ", bad[row].quoted,
             bad[row].position);
    if (status != HDP_ERR_ARGUMENT ||
        strncmp(hdp_last_error(), wanted, strlen(wanted)) != 0 ||
        !strstr(hdp_last_error() + strlen(wanted), bad[row].reason))
        fail_msg("\"%s\": expected %d %s... %s, got %d %s", bad[row].text,
                 HDP_ERR_ARGUMENT, wanted, bad[row].reason, (int)status,
                 status == HDP_OK ? "(success)" : hdp_last_error());
}

static void what_is_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        check_refusal(i);
}

static void no_text_and_too_much(void **state)
{
    struct hdpi_spec spec = { 0 };
    static char text[200000];
    (void)state;
    assert_int_equal(hdpi_spec_parse(&spec, NULL), HDP_ERR_ARGUMENT);
    assert_non_null(strstr(hdp_last_error(), "NULL"));
    assert_int_equal(hdpi_spec_parse(&spec, ""), HDP_ERR_ARGUMENT);
    assert_non_null(strstr(hdp_last_error(), "empty"));
    assert_int_equal(hdpi_spec_parse(&spec, " \t\n"), HDP_ERR_ARGUMENT);
    assert_non_null(strstr(hdp_last_error(), "empty"));
    memset(text, '1', sizeof text - 1);
    assert_int_equal(hdpi_spec_parse(&spec, text), HDP_ERR_ARGUMENT);
    assert_non_null(strstr(hdp_last_error(), "longer than 65536 bytes"));
    /* A long part is quoted in part. */
    text[65536] = '\0';
    assert_int_equal(hdpi_spec_parse(&spec, text), HDP_ERR_ARGUMENT);
    assert_non_null(strstr(hdp_last_error(), "1...\" at 1: cuda ids"));
    snprintf(text, sizeof text, "@%0255d", 0);
    assert_int_equal(hdpi_spec_parse(&spec, text), HDP_OK);
    assert_int_equal(strlen(spec.machine), 255);
    hdpi_spec_finish(&spec);
    snprintf(text, sizeof text, "@%0256d", 0);
    assert_int_equal(hdpi_spec_parse(&spec, text), HDP_ERR_ARGUMENT);
    hdpi_spec_finish(&spec);
}

static void the_most_of_everything(void **state)
{
    struct hdpi_spec spec = { 0 };
    char text[512];
    (void)state;
    assert_int_equal(hdpi_spec_parse(&spec, "sim:0-4095/item=1us"), HDP_OK);
    assert_int_equal(spec.count, 4096);
    assert_int_equal(spec.asks[4095].logical_id, 4095);
    assert_true(spec.asks[4095].item_ns == 1000);
    hdpi_spec_finish(&spec);
    strcpy(text, "sim:0");
    for (int i = 0; i < HDPI_FAULT_MAX; i++)
        strcat(text, "/fail=copy:1");
    assert_int_equal(hdpi_spec_parse(&spec, text), HDP_OK);
    assert_int_equal(spec.asks[0].fault_count, HDPI_FAULT_MAX);
    hdpi_spec_finish(&spec);
    strcat(text, "/fail=copy:1");
    assert_int_equal(hdpi_spec_parse(&spec, text), HDP_ERR_ARGUMENT);
    assert_non_null(strstr(hdp_last_error(), "more than 8 faults"));
    hdpi_spec_finish(&spec);
    strcpy(text, "sim:0");
    for (int i = 1; i <= HDPI_SLOW_MAX + 1; i++)
        snprintf(text + strlen(text), 16, "/slow=2x@%d", i);
    assert_int_equal(hdpi_spec_parse(&spec, text), HDP_ERR_ARGUMENT);
    assert_non_null(strstr(hdp_last_error(), "more than 8 changes of speed"));
    hdpi_spec_finish(&spec);
    snprintf(text, sizeof text, "sim:0/name=%0127d/uuid=%063d", 1, 2);
    assert_int_equal(hdpi_spec_parse(&spec, text), HDP_OK);
    assert_int_equal(strlen(spec.asks[0].name), 127);
    assert_int_equal(strlen(spec.asks[0].uuid), 63);
    hdpi_spec_finish(&spec);
    snprintf(text, sizeof text, "sim:0/name=%0128d", 1);
    assert_int_equal(hdpi_spec_parse(&spec, text), HDP_ERR_ARGUMENT);
    assert_non_null(strstr(hdp_last_error(), "1 to 127 characters"));
    hdpi_spec_finish(&spec);
}

/* ---- values -------------------------------------------------------------- */

static void fields(void **state)
{
    struct hdpi_spec spec = { 0 };
    (void)state;
    assert_int_equal(hdpi_spec_parse(&spec,
                                     "sim:7/fixed=1.5ms/item=50us/mem=2GiB/"
                                     "margin=1MB/link=0.8GB/noise=3%/seed=9/"
                                     "uuid=U/name=N/fail=wait:6-"),
                     HDP_OK);
    const struct hdpi_ask *ask = &spec.asks[0];
    assert_int_equal(ask->kind, HDP_SIM);
    assert_int_equal(ask->logical_id, 7);
    assert_true(ask->fixed_ns == 1500000);
    assert_true(ask->item_ns == 50000);
    assert_int_equal(ask->given_fixed, 1);
    assert_int_equal(ask->given_item, 1);
    assert_int_equal(ask->memory_bytes, INT64_C(2147483648));
    assert_int_equal(ask->margin_bytes, 1000000);
    assert_true(ask->link_bytes_per_second == 800000000);
    assert_true(ask->noise == 0.03);
    assert_int_equal(ask->seed, 9);
    assert_string_equal(ask->uuid, "U");
    assert_string_equal(ask->name, "N");
    assert_int_equal(ask->fault_count, 1);
    assert_int_equal(ask->faults[0].hook, HDPI_HOOK_WAIT);
    assert_int_equal(ask->faults[0].nth, 6);
    assert_int_equal(ask->faults[0].lasting, 1);
    hdpi_spec_finish(&spec);
    assert_int_equal(hdpi_spec_parse(&spec, "sim:0/sms=82/compute=f32/display=1"
                                            "/drift=3%/ramp=20%@2s/newshape=1ms"
                                            "/slow=2x@100/slow=0.5x@200"),
                     HDP_OK);
    ask = &spec.asks[0];
    assert_int_equal(ask->sms, 82);
    assert_int_equal(ask->compute, HDP_F32);
    assert_int_equal(ask->display, 1);
    assert_true(ask->drift == 0.03);
    assert_true(ask->ramp == 0.2 && ask->ramp_ns == 2e9);
    assert_true(ask->newshape_ns == 1e6 && ask->given_newshape == 1);
    assert_int_equal(ask->slow_count, 2);
    assert_true(ask->slows[1].factor == 0.5 && ask->slows[1].nth == 200);
    hdpi_spec_finish(&spec);
    assert_int_equal(hdpi_spec_parse(&spec, "cuda:3/sms=48/compute=bf16"),
                     HDP_OK);
    ask = &spec.asks[0];
    assert_int_equal(ask->sms, 48);
    assert_int_equal(ask->compute, HDP_BF16);
    assert_int_equal(ask->margin_bytes, -1);
    assert_int_equal(ask->memory_bytes, 0);
    assert_int_equal(ask->given_item, 0);
    hdpi_spec_finish(&spec);
}

/* A text without room loses whole keys, never a part of one. */
static void narrow_texts_still_parse(void **state)
{
    struct hdpi_spec spec = { 0 }, again = { 0 };
    char text[160];
    (void)state;
    assert_int_equal(
        hdpi_spec_parse(&spec, "sim:12/fixed=1.5ms/item=50us/name=long_name/"
                               "fail=alloc:1/fail=copy:22-"),
        HDP_OK);
    for (size_t room = 7; room < sizeof text; room++) {
        memset(text, 0x5a, sizeof text);
        hdpi_spec_write(text, room, &spec.asks[0]);
        assert_true(strlen(text) < room);
        if (hdpi_spec_parse(&again, text) != HDP_OK)
            fail_msg("%zu bytes: expected a text that parses, got \"%s\"", room,
                     text);
        hdpi_spec_finish(&again);
    }
    hdpi_spec_write(text, 24, &spec.asks[0]);
    assert_string_equal(text, "sim:12/fixed=1.5ms");
    hdpi_spec_write(NULL, 0, &spec.asks[0]);
    hdpi_spec_finish(&spec);
}

static void devices_get_their_names(void **state)
{
    hdp_topology *topology;
    (void)state;
    assert_int_equal(hdpi_topology_new(&topology), HDP_OK);
    struct hdpi_device_row *row = hdpi_topology_append(topology);
    assert_non_null(row);
    row->info.kind = HDP_CUDA; /* found for cuda:GPU-ee/sms=48 */
    row->info.logical_id = 3;
    row->ask.kind = HDP_CUDA;
    row->ask.sms = 48;
    strcpy(row->ask.uuid, "GPU-ee");
    row = hdpi_topology_append(topology);
    assert_non_null(row);
    row->info.kind = HDP_HOST; /* found without being asked for */
    row->info.logical_id = 0;
    row = hdpi_topology_append(topology);
    assert_non_null(row);
    row->info.kind = HDP_SIM;
    strcpy(row->info.spec, "its own");
    hdpi_spec_name_devices(topology);
    assert_string_equal(topology->devices[0].info.spec, "cuda:3/sms=48");
    assert_string_equal(topology->devices[1].info.spec, "host:0");
    assert_string_equal(topology->devices[2].info.spec, "its own");
    hdpi_topology_free(topology);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_right),
        cmocka_unit_test(what_is_wrong),
        cmocka_unit_test(no_text_and_too_much),
        cmocka_unit_test(the_most_of_everything),
        cmocka_unit_test(fields),
        cmocka_unit_test(narrow_texts_still_parse),
        cmocka_unit_test(devices_get_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
