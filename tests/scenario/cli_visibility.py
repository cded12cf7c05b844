"""What the driver made of 72 masks, through hdp_bench discover --machine."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "cli"))
from masks import ERRORS, answer, fill, rows
from program import ask, end, expect, expect_true, gpus, run


def machine(uuids):
    return "+".join(f"sim:{i}/uuid={uuid}" for i, uuid in enumerate(uuids))


def explain(uuids, *words, **more):
    """The visibility section and the UUIDs of the devices of a discover."""
    got = ask("discover", "--machine", machine(uuids), *words, **more)
    return (got.get("visibility", {}),
            [device["uuid"] for device in got.get("devices", [])])


def check_row(field, want, a, b):
    mask = fill(field, a, b)
    words = [] if mask is None else ["--mask=" + mask]
    want = answer(field, want, a, b)
    order = [] if want in ERRORS else [int(i) for i in want.split(",")]
    seen, devices = explain((a, b), *words)
    what = f"{field} with {a[:12]} and {b[:12]}"
    expect(seen.get("error"), want if want in ERRORS else None,
           f"error of {what}")
    expect(seen.get("visible"), order, f"visible of {what}")
    expect(devices, [(a, b)[i] for i in order], f"devices of {what}")
    expect(seen.get("mask"), words[0][7:] if words else None,
           f"mask of {what}")
    named = [entry["device"] for entry in seen["entries"]
             if entry["verdict"] == "accepted"]
    if words and want not in ERRORS:
        expect(named, devices, f"accepted entries of {what}")


FIRST = "GPU-ee4d17bc-95d6-c2a1-0b57-3d1f2ac48f60"
count = 0
for second in ("GPU-8a74bd32-38c8-0c0c-b195-1ce4be75623b",
               "GPU-ee4d17b8-38c8-0c0c-b195-1ce4be75623b"):
    for field, want in rows():
        check_row(field, want, FIRST, second)
        count += 1
expect(count, 2 * 72, "rows of the table")

# ---- the scheduler's machine
THREE = ("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6",
         "GPU-5d1a9c60-1f0b-4b1e-9d2a-7c1c5b0a6f11",
         "GPU-b07e5512-88aa-4c3d-b6e0-0d9f3e2a7c44")
for mask, order in ((None, [0, 1, 2]), ("", []), ("-1", []), ("2,1", [2, 1]),
                    ("0,2,-1,1", [0, 2]), ("0,7,1", [0]),
                    ("GPU-8932f937", [0]), ("GPU-b07e,GPU-5d1a", [2, 1])):
    seen, devices = explain(THREE, *([] if mask is None else
                                     [f"--mask={mask}"]))
    expect(seen["visible"], order, f"list, mask {mask}")
    expect(devices, [THREE[i] for i in order], f"devices, mask {mask}")
    expect(seen["error"], None if order else "cudaErrorNoDevice",
           f"error, mask {mask}")

# ---- every verdict, and whom a spoiled mask names
seen, _ = explain(THREE, "--mask", "1,GPU-b07e,0")
expect([e["verdict"] for e in seen["entries"]],
       ["accepted", "other_kind", "after_cut"], "verdicts of a mixed list")
seen, _ = explain(THREE, "--mask=GPU--,0")
expect([e["verdict"] for e in seen["entries"]], ["ambiguous", "after_cut"],
       "verdicts of an ambiguous list")
seen, devices = explain(THREE, "--mask", "0,2,0,7,x")
expect([(e["text"], e["verdict"], e["device"]) for e in seen["entries"]],
       [("0", "accepted", THREE[0]), ("2", "accepted", THREE[2]),
        ("0", "repeat", THREE[0]), ("7", "range", None),
        ("x", "after_cut", None)], "entries of a spoiled list")
expect((seen["error"], devices), ("cudaErrorInvalidDevice", []),
       "a spoiled list")
seen, _ = explain(THREE, "--mask=x")
expect(seen["entries"][0]["verdict"], "not_a_number", "no number")

# ---- logical is not physical
eight = ask("discover", "--machine", "sim:0-7", "--mask", "0,1,2,3,4,6")
expect(len(eight["devices"]), 6, "a gap: count")
expect([d["logical_id"] for d in eight["devices"]], list(range(6)),
       "a gap: logical ids")
expect(eight["devices"][5]["uuid"], "SIM-6", "a gap: the sixth")
expect(eight["devices"][5]["spec"], "sim:6", "a gap: the sixth's spec")

# ---- the fast card first, or the order of the slots
PAIR = "sim:0/item=30us/name=small+sim:1/item=10us/name=big"
for order, names, places in ((None, ["big", "small"], [1, 0]),
                             ("FASTEST_FIRST", ["big", "small"], [1, 0]),
                             ("PCI_BUS_ID", ["small", "big"], [0, 1])):
    got = ask("discover", "--machine", PAIR,
              *([] if order is None else ["--order", order]))
    expect([d["name"] for d in got["devices"]], names, f"order {order}")
    expect([d["logical_id"] for d in got["devices"]], [0, 1], f"order {order}")
    expect(got["visibility"]["visible"], places, f"places, {order}")
    expect(got["visibility"]["order"], order, f"order, of {order}")
    one = ask("discover", "--machine", PAIR, "--mask=1",
              *([] if order is None else ["--order", order]))
    expect([d["name"] for d in one["devices"]], names[1:],
           f"mask 1, {order}")
for order in ("pci_bus_id", "", "PCI_BUS_ID "):
    seen, devices = explain(THREE, f"--order={order}")
    expect((seen["error"], seen["visible"], devices),
           ("cudaErrorInvalidDevice", [], []), f"order '{order}'")

# ---- only what was given counts, and the host is no GPU
seen, _ = explain(THREE, env={"CUDA_VISIBLE_DEVICES": "1",
                              "CUDA_DEVICE_ORDER": "nonsense"})
expect((seen["mask"], seen["order"], seen["visible"]), (None, None, [0, 1, 2]),
       "a described machine and the environment")
mixed = ask("discover", "--machine", "host:0/threads=1+" + machine(THREE),
            "--mask=2,0")
expect([d["backend"] for d in mixed["devices"]], ["host", "sim", "sim"],
       "backends behind a mask")
expect(mixed["visibility"]["visible"], [2, 0], "places beside a host")
own = ask("discover", env={"CUDA_VISIBLE_DEVICES": "1"})
expect(own["visibility"]["mask"], "1", "this process's mask")
expect(own["visibility"]["error"],
       "cudaErrorNoDevice" if len(gpus()) == 1 else None,
       "this process's error")

# ---- words for people; nothing that a terminal would obey
table = run("discover", "--machine", machine(THREE), "--mask",
            "1\x1b[31m,5,0")
expect(table.returncode, 0, "exit code of a table")
for part in ("accepted, " + THREE[1], "no such device", "after the end",
             "in this order: 1"):
    expect_true(part in table.stdout, f"the table lacks '{part}'")
expect_true("\x1b" not in table.stdout, "a mask's control bytes are escaped")
long = ask("discover", "--machine", machine(THREE), "--mask=1" + "x" * 2624)
expect(long["visibility"]["visible"], [0, 1, 2], "a mask that is too long")
expect([w["code"] for w in long["warnings"]], ["mask_too_long"],
       "warning of a mask that is too long")
end()
