/* What reads devices: fdinfo, records of unknown length, messages between processes, choices and
 * numbers of CUDA. */
#include "check.h"

#include "devices/choice.h"
#include "devices/gauge_wire.h"
#include "devices/visible.h"
#include "gauges/fdinfo.h"
#include "gauges/gauge.h"
#include "gauges/nvml.h"
#include "gauges/once.h"

#define MIB (1ull << 20)

static uint64_t used_in(const char *text, uint64_t *shared)
{
    struct fdinfo f;

    CHECK(fdinfo_parse(&f, text));
    return fdinfo_used(&f, shared);
}

static void test_memory_of_the_device_is_told_from_the_hosts(void)
{
    uint64_t shared;

    CHECK_EQ(
        used_in("drm-driver:\tamdgpu\ndrm-memory-vram:\t7 MiB\ndrm-memory-gtt: 9 MiB\n", &shared),
        7 * MIB);
    CHECK_EQ(shared, ABSENT);
    CHECK_EQ(used_in("drm-driver: i915\ndrm-resident-local0: 2048 KiB\ndrm-total-local0: 1 GiB\n"
                     "drm-shared-local0: 1 MiB\ndrm-resident-system0: 5 MiB\n",
                     &shared),
             2 * MIB);
    CHECK_EQ(shared, MIB);
    CHECK_EQ(used_in("drm-driver:\tpanfrost\ndrm-resident-memory:\t4096\n", &shared), 4096);
}

static void test_what_is_no_memory_is_no_number(void)
{
    uint64_t shared;

    CHECK_EQ(used_in("drm-driver: xe\ndrm-total-cycles-rcs: 9999\ndrm-cycles-rcs: 12\n", &shared),
             ABSENT);
    CHECK_EQ(used_in("drm-driver: x\ndrm-memory-vram: -1\n", &shared), ABSENT);
    CHECK_EQ(used_in("drm-driver: x\ndrm-memory-vram: 18446744073709551615 GiB\n", &shared),
             ABSENT);
    CHECK_EQ(used_in("drm-driver: x\ndrm-memory-: 5\ndrm-memory-vram:", &shared), ABSENT);
}

static void test_work_is_told_in_time_or_clocks(void)
{
    struct fdinfo f;

    CHECK(fdinfo_parse(
        &f, "drm-driver: i915\ndrm-client-id: 12\ndrm-pdev: 0000:00:02.0\n"
            "drm-engine-render: 100 ns\ndrm-engine-copy: 20 ns\ndrm-engine-capacity-copy: 2\n"));
    CHECK_EQ(f.engine_ns, 120);
    CHECK_EQ(f.client, 12);
    CHECK_STR(f.pdev, "0000:00:02.0");
    CHECK(fdinfo_parse(&f, "drm-driver: xe\ndrm-cycles-rcs: 7\ndrm-total-cycles-rcs: 70\n"));
    CHECK_EQ(f.cycles, 7);
    CHECK_EQ(f.total_cycles, 70);
    CHECK(!fdinfo_parse(&f, "pos:\t0\nflags:\t02\n"));
}

static void test_the_length_of_a_record_is_measured(void)
{
    static const size_t strides[] = {16, 24, 32};
    unsigned char bytes[1024];

    for (size_t i = 0; i < sizeof(strides) / sizeof(strides[0]); i++)
        for (size_t count = 1; count < 20; count++) {
            memset(bytes, NVML_BLANK, sizeof(bytes));
            memset(bytes, 0, strides[i] * count);
            CHECK_EQ(nvml_stride(bytes, sizeof(bytes), count), strides[i]);
        }
}

static void test_only_whole_messages_are_understood(void)
{
    static _Alignas(uint64_t) unsigned char room[WIRE_ANSWER_MOST];
    struct wire_head *h = (struct wire_head *)(void *)room;
    size_t size = sizeof(*h) + 2 * sizeof(struct wire_reading) + sizeof(struct wire_use);
    struct wire_answer a;

    *h = (struct wire_head){.kind = WIRE_READ, .devices = 2, .uses = 1};
    CHECK(wire_understand(&a, room, size));
    a.uses[0].device = 2;
    CHECK(!wire_understand(&a, room, size));
    a.uses[0].device = 1;
    CHECK(!wire_understand(&a, room, size - 1));
    CHECK(!wire_understand(&a, room, sizeof(*h) - 1));
    h->devices = WIRE_DEVICES_MOST + 1;
    CHECK(!wire_understand(&a, room, size));
    *h = (struct wire_head){.kind = WIRE_FOUND, .devices = 1};
    memset(h->note, 'x', sizeof(h->note));
    CHECK(wire_understand(&a, room, sizeof(*h) + sizeof(struct wire_device)));
    CHECK_EQ(strlen(h->note), sizeof(h->note) - 1);
    h->kind = 7;
    CHECK(!wire_understand(&a, room, sizeof(*h)));
}

static void test_choices_are_kinds_and_their_devices(void)
{
    struct device_choice c = {0};
    struct err err;
    const struct device_kind *nvidia = &device_kinds[DEVICE_KIND_nvidia],
                             *drm = &device_kinds[DEVICE_KIND_drm];

    CHECK(!device_choice_asked(&c) && device_choice_kind(&c, drm, NULL));
    CHECK_EQ(device_choice_parse("nvidia:1,drm", &c, &err), 0);
    CHECK(device_choice_kind(&c, drm, NULL) &&
          !device_choice_kind(&c, &device_kinds[DEVICE_KIND_ascend], NULL));
    CHECK(device_choice_device(&c, nvidia, NULL, "1") &&
          device_choice_device(&c, nvidia, NULL, "1.3"));
    CHECK(!device_choice_device(&c, nvidia, NULL, "11") &&
          !device_choice_device(&c, nvidia, NULL, "0"));
    CHECK(device_choice_device(&c, drm, NULL, "5"));
    CHECK_EQ(device_choice_parse("nvidia:", &c, &err), -1);
    CHECK_EQ(device_choice_parse_gpu("0.1", &c, &err), -1);
}

static void test_cuda_stops_at_what_it_does_not_understand(void)
{
    CHECK_EQ(visible_ordinal(NULL, true, "GPU-a", "2"), 2);
    CHECK_EQ(visible_ordinal(NULL, false, "GPU-a", "2"), DEVICE_CUDA_UNKNOWN);
    CHECK_EQ(visible_ordinal("GPU-b,GPU-a", false, "GPU-abc", "2"), 1);
    CHECK_EQ(visible_ordinal("2,-1,0", true, "GPU-a", "0"), DEVICE_CUDA_HIDDEN);
    CHECK_EQ(visible_ordinal("0,2", true, "GPU-a", "2"), 1);
    CHECK_EQ(visible_ordinal("0,2", false, "GPU-a", "2"), DEVICE_CUDA_UNKNOWN);
    CHECK_EQ(visible_ordinal("", true, "GPU-a", "0"), DEVICE_CUDA_HIDDEN);
}

static void test_a_sum_knows_what_it_lacks(void)
{
    static struct gauge_answer a;

    CHECK_EQ(gauge_ours(&a, 0, true), 0);
    CHECK_EQ(gauge_ours(&a, 0, false), ABSENT);
    gauge_use(&a, 0, 5)->used = 3;
    gauge_use(&a, 1, 5)->used = 9;
    gauge_use(&a, 0, 6)->used = 4;
    CHECK(gauge_use(&a, 0, 5)->used == 3 && a.uses == 3);
    CHECK_EQ(gauge_ours(&a, 0, false), 7);
    gauge_use(&a, 0, 7);
    CHECK_EQ(gauge_ours(&a, 0, true), ABSENT);
}

static void test_what_was_met_is_known_until_the_next_reading(void)
{
    static struct once room, *m = &room;
    bool fresh;

    once_forget(m);
    for (uint64_t i = 0; i < ONCE_MOST; i++)
        CHECK(once_meet(m, i << 40, &fresh) && fresh);
    CHECK(once_meet(m, 5ull << 40, &fresh) && !fresh);
    CHECK(once_meet(m, 1, &fresh) == NULL);
    once_forget(m);
    CHECK(once_meet(m, 5ull << 40, &fresh) && fresh);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"memory of the device is told from the host's",
         test_memory_of_the_device_is_told_from_the_hosts},
        {"what is no memory is no number", test_what_is_no_memory_is_no_number},
        {"work is told in time or clocks", test_work_is_told_in_time_or_clocks},
        {"the length of a record is measured", test_the_length_of_a_record_is_measured},
        {"only whole messages are understood", test_only_whole_messages_are_understood},
        {"choices are kinds and their devices", test_choices_are_kinds_and_their_devices},
        {"CUDA stops at what it does not understand",
         test_cuda_stops_at_what_it_does_not_understand},
        {"a sum knows what it lacks", test_a_sum_knows_what_it_lacks},
        {"what was met is known until the next reading",
         test_what_was_met_is_known_until_the_next_reading},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
