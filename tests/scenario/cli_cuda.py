"""hdp_bench with GPU members, on the five machines of the fake CUDA: what it
finds, runs and reduces, and that every result is right."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "cli"))
from fakes import ask, on, run
import program
from program import end, expect, expect_true

QUICK = ["--steps", "2", "--warmup", "0", "--budget", "20ms"]
MACHINES = {  # GPUs, and the pairs with peer access, one way each
    "desk": (3, 0), "turing": (2, 0), "twin": (2, 0), "laptop": (1, 0),
    "lab": (3, 2),
}


def check_reduce(got, what, count):
    wrong = [row["wrong"] for row in got.get("reduce", [])]
    expect(wrong, [0] * count, f"{what}: wrong elements")
    expect(got["check"]["ok"], True, f"{what}: check")


def check_run(got, what, total):
    expect(got["check"]["ok"], True, f"{what}: {got.get('check')}")
    expect_true(got["check"]["max_rel_error"] <= got["check"]["tolerance"],
                f"{what}: {got['check']}")
    for row in got["results"]:
        expect(sum(row["shares"]), total, f"{what}: items of {row['rule']}")


# ---- every machine
for machine, (count, peers) in MACHINES.items():
    on(machine)
    got = ask("discover")
    gpus = [d for d in got["devices"] if d["backend"] == "cuda"]
    expect(len(gpus), count, f"{machine}: GPUs")
    for device in gpus:
        expect(device["simulated"], False, f"{machine}: a real figure")
        expect_true(device["uuid"] and device["pci"] and device["sms"],
                    f"{machine}: identity of {device}")
    links = got.get("links", [])
    expect(len(links), count * (count - 1), f"{machine}: links")
    expect(len([link for link in links if link["peer"]]), peers,
           f"{machine}: peer access")
    text = run("discover").stdout
    if count > 1:
        expect_true("from a row's device to a column's" in text,
                    f"{machine}: the matrix: {text}")

    got = ask("run", "-d", "cuda:all", "-N", "96", *QUICK)
    check_run(got, f"{machine}: mlp", 96)
    expect({d["backend"] for d in got["devices"]}, {"cuda"},
           f"{machine}: backend")
    got = ask("reduce", "-d", "cuda:all", "-e", "64K", "-f", "16", "-n", "2")
    check_reduce(got, machine, 4)
    expect_true("by a kernel" in got["check"]["against"],
                f"{machine}: {got['check']}")

# ---- every work, on a machine of unlike cards
on("desk")
for work in ("gemm", "copy", "mixed"):
    check_run(ask("run", "-d", "cuda:all", "-N", "64", "--work", work,
                  "--reduce-bytes", "4096", *QUICK), work, 64)
check_run(ask("run", "-d", "cuda:0,2", "-N", "64", "--work", "gemm",
              "--threads", "caller", *QUICK), "caller", 64)
# the same weights on a GPU and on the host, and both in one reduce
for work in ("mlp", "mixed"):
    got = ask("run", "-d", "cuda:0+host:0/threads=1", "-N", "64", "--work",
              work, *QUICK)
    check_run(got, f"{work}, mixed group", 64)
    expect([d["backend"] for d in got["devices"]], ["cuda", "host"],
           f"{work}: backends")
text = run("run", "-d", "cuda:0+host:0/threads=1", "-N", "64", *QUICK).stdout
expect_true("cuBLAS and " in text, f"the products of both: {text}")
expect_true("empty" in ask("run", "-d", "cuda:all", "--work", "empty",
                           "--steps", "50"), "empty steps")
got = ask("run", "--adapt", "-d", "cuda:0-1", "--work", "copy", "-N", "64",
          "--steps", "12", "--slow", "1=2x@6", "--budget", "20ms")
expect(got["check"]["ok"], True, "--adapt: checked")
got = ask("run", "--dynamic", "-d", "cuda:all", "--work", "copy", "-N", "32",
          "--steps", "20", "--budget", "20ms")
expect_true(all(row["makespan_ns"] > 0 for row in got["dynamic"]),
            f"--dynamic: {got['dynamic']}")

# ---- types: the members' own, compared with f64 within what they round
on("lab")
for dtype in ("tf32", "f16", "bf16"):
    for work in ("mlp", "gemm"):
        got = ask("run", "-d", "cuda:0-1", "-N", "64", "--work", work,
                  "--dtype", dtype, *QUICK)
        check_run(got, f"{work} in {dtype}", 64)
text = run("run", "-d", "cuda:0", "-N", "64", "--dtype", "f16", *QUICK).stdout
expect_true("cuBLAS in f16" in text, f"the type is told: {text}")
for words, part in ((["--dtype", "f64"], "computes in f32"),
                    (["--dtype", "f16", "--work", "copy"], "computes in f32")):
    text = ask("run", "-d", "cuda:0", "-N", "64", *words,
               code=2)["error"]["text"]
    expect_true(part in text, f"{words}: {text}")
text = ask("run", "-d", "cuda:0+host:0", "-N", "64", "--dtype", "f16",
           code=2)["error"]["text"]
expect_true("on these devices" in text, text)

# ---- parts of one GPU, and a part beside a whole one
for spec in ("cuda:0/sms=24+cuda:0/sms=40", "cuda:0/sms=48+cuda:1"):
    check_run(ask("run", "-d", spec, "-N", "64", *QUICK), spec, 64)
    check_reduce(ask("reduce", "-d", spec, "-e", "4K", "-f", "64", "-n", "2"),
                 spec, 2)

# ---- reduces: every operation, types too small for a pattern, a weight of 0
on("desk", words="copies=2")
BOTH = ["reduce", "-d", "cuda:all", "-b", "1000", "-e", "1000", "-n", "1", "-w",
        "1"]
for op in ("sum", "mean", "min", "max", "sum_over_total"):
    for dtype in ("f32", "bf16", "f64"):
        check_reduce(ask(*BOTH, "--op", op, "--dtype", dtype),
                     f"{op} of {dtype}", 1)
for dtype in ("i8", "u8", "i32", "i64", "f16"):
    check_reduce(ask(*BOTH, "--dtype", dtype), f"sum of {dtype}", 1)
check_reduce(ask(*BOTH, "--weights", "3/1/0/2/1/1", "--dtype", "f16"),
             "weights", 1)
check_reduce(ask(*BOTH, "--weights", "1000003/1/0/2/1/1"), "uneven weights", 1)
on("desk")
got = ask("reduce", "-d", "cuda:all+host:0/threads=1", "-e", "64K", "-f", "64",
          "-n", "2", "--weights", "3/1/2/2")
check_reduce(got, "GPUs and host", 3)

# ---- measuring and planning
got = ask("calibrate", "-d", "cuda:all", "--budget", "60ms")
ratios = [member["ratio"] for member in got["profile"]["members"]]
expect_true(min(ratios) > 0 and abs(sum(ratios) - 1) < 1e-9,
            f"ratios of desk: {ratios}")
got = ask("calibrate", "-d", "cuda:0-1", "--probe", "work", "--work", "copy",
          "--budget", "20ms")
expect(len(got["profile"]["members"]), 2, "a work measured")
got = ask("split", "-d", "cuda:all", "-N", "1000", "--budget", "60ms")
expect(sum(got["plan"]["shares"]), 1000, "planned")

# ---- what is not there
text = program.ask("run", "-d", "cuda:0", "-N", "64", "--cublas",
                   "/nowhere/b.so", code=3)["error"]["text"]
expect_true("/nowhere/b.so" in text, f"a cuBLAS that is not there: {text}")
got = ask("run", "-d", "cuda:3", "-N", "64", code=3)
expect_true("cuda:3" in got["error"]["text"], f"no such GPU: {got['error']}")
on("desk", words="fail=cuMemAlloc:3-")
got = ask("run", "-d", "cuda:all", "-N", "64", code=4)
expect_true("out of memory" in got["error"]["text"],
            f"no room on a device: {got['error']}")
on("desk", words="fail=cuLaunchKernel:5")
got = ask("run", "-d", "cuda:all", "-N", "64", "--work", "copy", *QUICK, code=4)
expect_true("hdpk_cuda_rows" in got["error"]["text"],
            f"a kernel that cannot start: {got['error']}")

# ---- a device that hangs is waited for once; that one and what had to do with
# one that ended CUDA are told and left behind
for words, code, part in (("hang=hdpk_cuda_rows:10", 5, "still at work"),
                          ("sticky=cuLaunchKernel:40:700", 4, "(700)")):
    on("twin", words=words)
    got = ask("run", "-d", "cuda:all", "-N", "64", "--work", "copy", "--rule",
              "equal", "--timeout", "500ms", "--budget", "20ms", code=code,
              env={"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") +
                   ":detect_leaks=0"})  # left behind is what it is
    told = [w["text"] for w in got["warnings"] if w["code"] == "abandoned"]
    expect_true(len(told) == 1 and part in told[0] and "left behind" in told[0],
                f"{words}: what is left behind: {got['warnings']}")

# ---- what needs no GPU makes no call of CUDA or NVML: this machine ends those
on("nonesuch")
for words in (["split", "-d", "sim:0/item=1us", "-N", "8"],
              ["calibrate", "-d", "@desk"],
              ["run", "-d", "sim:0-1/item=1us", "-N", "64", *QUICK],
              ["run", "--adapt", "-d", "sim:0-1/item=1us", "--work", "copy",
               "-N", "64", "--steps", "12", "--slow", "1=2x@6"],
              ["run", "--dynamic", "-d", "@twin", "--work", "copy", "-N", "32",
               "--steps", "20"],
              ["reduce", "-d", "@twin", "-e", "4K", "-f", "64", "-n", "2"],
              ["lease", "--list", "-d", "sim:0/uuid=GPU-a"],
              ["discover", "--machine", "@desk"]):
    program.ask(*words)
saved = os.path.join(program.SOURCE, "tests", "data", "plots", "busbw.json")
expect(program.run("plot", saved).returncode, 0, "plot without CUDA")
expect(program.run("discover").returncode != 0, True, "the machine is none")
end()
