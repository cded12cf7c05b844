/* A topology as adapters fill it: rows taken back, notes, and what counts as
 * valid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "core/topology.h"

static hdp_topology *topology;

static int make(void **state)
{
    (void)state;
    return hdpi_topology_new(&topology) != HDP_OK;
}

static int drop(void **state)
{
    (void)state;
    hdpi_topology_free(topology);
    return 0;
}

static struct hdpi_device_row *add(int32_t kind, int32_t logical_id)
{
    struct hdpi_device_row *row = hdpi_topology_append(topology);
    assert_non_null(row);
    row->info.kind = kind;
    row->info.logical_id = logical_id;
    row->info.duty_percent = 100;
    return row;
}

static void a_new_one_is_empty(void **state)
{
    (void)state;
    assert_int_equal(topology->info.device_count, 0);
    assert_int_equal(topology->info.size, sizeof topology->info);
    assert_int_equal(topology->object.tag, HDPI_TOPOLOGY);
    assert_null(topology->notes);
    assert_int_equal(hdpi_topology_is_valid(topology), 1);
    hdpi_topology_free(NULL);
}

static void rows(void **state)
{
    (void)state;
    for (int32_t i = 0; i < 1000; i++)
        add(i % 2 ? HDP_SIM : HDP_HOST, i / 2);
    assert_int_equal(topology->info.device_count, 1000);
    assert_int_equal(topology->devices[1].info.kind, HDP_SIM);
    assert_int_equal(topology->devices[998].info.logical_id, 499);
    assert_int_equal(hdpi_topology_is_valid(topology), 1);
}

/* An adapter that cannot meet an ask takes its rows back; the next one finds
 * a row as new. */
static void rows_taken_back_leave_nothing(void **state)
{
    (void)state;
    struct hdpi_device_row *row = add(HDP_SIM, 5);
    memset(row, 0x5a, sizeof *row);
    topology->info.device_count--;
    row = hdpi_topology_append(topology);
    assert_non_null(row);
    struct hdpi_device_row fresh = {
        .info = { .size = sizeof fresh.info, .logical_id = -1 },
        .ask = { .logical_id = -1, .margin_bytes = -1 }
    };
    assert_memory_equal(&row->info, &fresh.info, sizeof fresh.info);
    assert_int_equal(row->ask.logical_id, -1);
    assert_int_equal(row->ask.margin_bytes, -1);
    assert_string_equal(row->ask.uuid, "");
    assert_int_equal(row->ask.fault_count, 0);
}

static void notes(void **state)
{
    char longer[2000];
    (void)state;
    assert_int_equal(
        hdpi_topology_note(topology, "cuda", "no driver (libcuda.so.1)"),
        HDP_OK);
    assert_int_equal(hdpi_topology_note(topology, "sim", "a\nb"), HDP_OK);
    assert_string_equal(topology->notes,
                        "cuda: no driver (libcuda.so.1)\nsim: a\\x0ab\n");
    assert_int_equal(topology->note_bytes, strlen(topology->notes));
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(hdpi_topology_note(topology, "nccl", longer), HDP_OK);
    assert_int_equal(topology->note_bytes, strlen(topology->notes));
    assert_string_equal(topology->notes + topology->note_bytes - 5, "x...\n");
    assert_int_equal(hdpi_topology_is_valid(topology), 1);
}

/* Each breaks one rule; without the break all is well. */
static void what_is_not_valid(void **state)
{
    struct hdpi_topology_link links[1] = { { .bytes_per_second = -5 } };
    hdp_mask_entry entry = { .size = sizeof entry, .device = -1 };
    hdp_device *info = &add(HDP_HOST, 0)->info;
    const hdp_device sound = *info;
    (void)state;
    assert_int_equal(hdpi_topology_is_valid(topology), 1);
#define BREAK(statement)                                                       \
    do {                                                                       \
        statement;                                                             \
        if (hdpi_topology_is_valid(topology))                                  \
            fail_msg("%s: expected not valid, got valid", #statement);         \
        *info = sound;                                                         \
    } while (0)
    BREAK(info->size--);
    BREAK(info->kind = 0);
    BREAK(info->kind = HDP_SIM + 1);
    BREAK(info->logical_id = -2);
    BREAK(info->memory_bytes = -1);
    BREAK(info->free_bytes = -1);
    BREAK(info->duty_percent = 0);
    BREAK(info->duty_percent = 101);
    BREAK(info->sm_count = -1);
    BREAK(info->partition_sms = -1);
    BREAK(memset(info->uuid, 'x', sizeof info->uuid));
    BREAK(memset(info->pci, 'x', sizeof info->pci));
    BREAK(memset(info->name, 'x', sizeof info->name));
    BREAK(memset(info->spec, 'x', sizeof info->spec));
    assert_int_equal(hdpi_topology_is_valid(topology), 1);
    topology->links = links;
    assert_int_equal(hdpi_topology_is_valid(topology), 0);
    topology->links = NULL;
    topology->mask = &entry;
    topology->mask_capacity = 1;
    topology->info.mask_count = 1;
    assert_int_equal(hdpi_topology_is_valid(topology), 1);
    BREAK(entry.device = 1);
    entry.device = 0;
    BREAK(entry.verdict = HDP_MASK_OTHER_KIND + 1);
    entry.verdict = HDP_MASK_OTHER_KIND;
    BREAK(topology->info.mask_count = 2);
    topology->info.mask_count = 1;
    assert_int_equal(hdpi_topology_is_valid(topology), 1);
    topology->mask = NULL;
    topology->info.mask_count = 0;
    topology->object.tag = HDPI_PLAN;
    assert_int_equal(hdpi_topology_is_valid(topology), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, drop)
    const struct CMUnitTest tests[] = {
        TEST(a_new_one_is_empty),
        TEST(rows),
        TEST(rows_taken_back_leave_nothing),
        TEST(notes),
        TEST(what_is_not_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
