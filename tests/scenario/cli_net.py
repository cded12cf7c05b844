"""run --net and calibrate --net: the net of a chosen size on host members, on
simulated ones and on the fake CUDA's GPUs, and what is refused."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "cli"))
FAKES = os.access(os.environ.get("HDP_BENCH_FAKE12", ""), os.X_OK)
if FAKES:
    from fakes import ask as ask_fake, on
import program
from program import end, expect, expect_true

QUICK = ["--steps", "2", "--warmup", "0", "--budget", "20ms"]
HOST = "host:0/threads=2+host:1/threads=1"


def check(got, what, total=None):
    expect(got["status"], "ok", f"{what}: {got.get('error')}")
    expect(got["check"]["ok"], True, f"{what}: {got.get('check')}")
    expect_true(0 <= got["check"]["max_rel_error"] <= got["check"]["tolerance"]
                < 0.2, f"{what}: {got['check']}")
    expect_true("one device" in got["check"]["against"], f"{what}: against")
    for row in got.get("results", []) if total else []:
        expect(sum(row["shares"]), total, f"{what}: items of {row['rule']}")


def hosts():
    ask = program.ask
    for net, products, reduced in (("1x64", 1, 0), ("3x64", 3, 0),
                                   ("1x64/train", 2, 16384),
                                   ("3x64/train", 8, 49152)):
        got = ask("run", "-d", HOST, "-N", "300", "--net", net, *QUICK)
        check(got, net, 300)
        work = got["work"]
        expect((work["name"], work["net"]), ("mlp", net), "the work")
        expect(work["item_flops"], products * 2 * 64 * 64, f"{net}: flops")
        expect(work["item_bytes"], 2 * 64 * 4, f"{net}: bytes")
        for row in got["results"]:
            flops = 300 * work["item_flops"] / row["step_ns"]["median"] * 1e9
            told = work["flops_per_second"][row["rule"]]
            expect_true(abs(told / flops - 1) < 1e-3,
                        f"{net}, {row['rule']}: {told}, expected {flops}")
        same = ask("run", "-d", HOST, "-N", "60", "--net", net, *QUICK,
                   "--reduce-bytes", str(reduced))
        check(same, f"{net} with its own --reduce-bytes", 60)
    # fewer rows than the check looks for, one thread for all
    for net in ("2x8", "2x8/train"):
        check(ask("run", "-d", HOST, "-N", "1", "--net", net, *QUICK), net, 1)
        check(ask("run", "-d", "host:0-1/threads=1", "-N", "50", "--net", net,
                  "--threads", "caller", *QUICK), f"{net}, caller", 50)
        check(ask("run", "--adapt", "-d", HOST, "-N", "64", "--net", net,
                  "--steps", "12", "--slow", "1=2x@6", "--budget", "20ms"),
              f"{net}, --adapt")
    got = ask("calibrate", "-d", HOST, "--probe", "work", "--net", "2x64/train",
              "--budget", "20ms")
    expect(len(got["profile"]["members"]), 2, "a net calibrated")
    text = program.run("run", "-d", HOST, "-N", "64", "--net", "2x64/train",
                       *QUICK).stdout
    expect_true("work mlp 2x64/train (products by" in text and
                "# TFLOP/s of all" in text, f"the table: {text}")
    # what a plan counts on is what its steps do: 2 x 32 KiB at 1 GB/s
    pair = "sim:0/item=10us/link=4GB+sim:1/item=30us/link=1GB"
    got = ask("run", "-d", pair, "-N", "64", "--net", "2x64/train", *QUICK)
    check(got, "simulated", 64)
    base = ask("run", "-d", pair, "-N", "64", "--net", "2x64", *QUICK)
    for row, plain in zip(got["results"], base["results"]):
        took = row["step_ns"]["median"] - plain["step_ns"]["median"]
        expect_true(abs(took - 2 * 64 * 64 * 4) <= 2,
                    f"{row['rule']}: the reduce took {took} ns")
    expect(got["work"]["flops_per_second"], {}, "no rate of a model")


def refusals():
    pair = ["-d", "sim:0-1/item=1us"]
    for words, part, position in (
            (["run", "--net", "0x8"], "1 to 1000", 1),
            (["run", "--net", "4x"], "whole number", 3),
            (["run", "--net", "4x8192/foo"], "/train", 7),
            (["run", "--net", "4x12"], "multiple of 8", 3),
            (["run", "--net", "99999999999999999999x8"], "64 bits", 1),
            (["run", "--net", ""], "4x8192", 1),
            (["calibrate", "--probe", "work", "--net", "4x"], "number", 3),
            (["run", "--net", "4x8", "--work", "gemm"], "--work gemm", None),
            (["calibrate", "--net", "4x8"], "--probe work", None),
            (["split", "-N", "8", "--net", "4x8"], "--probe work", None),
            (["run", "--net", "4x8", "--dynamic"], "--dynamic", None),
            (["run", "--net", "4x8", "--reduce-bytes", "4"], "/train", None),
            (["run", "--net", "4x8/train", "--reduce-bytes", "4"],
             "1024 bytes", None),
            (["run", "--net", "4x8", "--dtype", "bf16"], "f32", None)):
        got = program.ask(*words, *pair, code=2)
        expect_true(part in got["error"]["text"], f"{words}: {got['error']}")
        expect(got["error"].get("position"), position, f"{words}: position")
        expect_true("profile" not in got, f"{words}: before the work")
    for total in ("1000000000", "9000000000000000000"):
        got = program.ask("run", "-d", "host:0", "--net", "4x8192", "-N",
                          total, code=4)
        expect_true("GB on the host" in got["error"]["text"],
                    f"-N {total}: {got['error']}")
    for command in ("run", "calibrate", "split"):
        expect_true("--net LxW[/train]" in
                    program.run(command, "--help").stdout, f"{command} --help")
    expect_true("\\-\\-net" in program.run("--help-man").stdout,
                "the manual page")


def graphics():
    ask = ask_fake
    for machine, spec, dtypes in (
            ("desk", "cuda:all", ["f32"]),
            ("lab", "cuda:0-1", ["f32", "tf32", "f16", "bf16"]),
            ("twin", "cuda:0/sms=24+cuda:0/sms=40", ["bf16"]),
            ("desk", "cuda:0+host:0/threads=2", ["f32"])):
        on(machine)
        for net in ("4x64", "3x64/train"):
            for dtype in dtypes:
                check(ask("run", "-d", spec, "-N", "96", "--net", net,
                          "--dtype", dtype, *QUICK),
                      f"{machine}, {spec}: {net} in {dtype}", 96)
    on("lab")
    check(ask("run", "--adapt", "-d", "cuda:0-1", "-N", "64", "--net",
              "2x32/train", "--steps", "12", "--slow", "1=2x@6", "--budget",
              "20ms"), "--adapt on GPUs")
    check(ask("run", "-d", "cuda:0-1", "-N", "64", "--net", "2x32/train",
              "--threads", "caller", *QUICK), "one thread for two GPUs", 64)
    got = ask("calibrate", "-d", "cuda:all", "--probe", "work", "--net",
              "2x32", "--budget", "20ms")
    expect(len(got["profile"]["members"]), 3, "a net calibrated on GPUs")
    for spec in ("cuda:0", "cuda:0/sms=24+cuda:0/sms=40"):
        got = ask("run", "-d", spec, "--net", "100x65536/train", "--dtype",
                  "bf16", code=4)
        expect_true("GB on cuda:0" in got["error"]["text"] and
                    "are free" in got["error"]["text"],
                    f"no room on {spec}: {got['error']}")
        expect_true("profile" not in got, "told before measuring")
    on("lab", words="fail=cuMemAlloc:3-")
    got = ask("run", "-d", "cuda:all", "-N", "64", "--net", "2x32", code=4)
    expect_true("out of memory" in got["error"]["text"],
                f"memory that is gone: {got['error']}")
    on("lab", words="fail=cublasGemmEx:5")
    got = ask("run", "-d", "cuda:0-1", "-N", "64", "--net", "2x32", *QUICK,
              code=4)
    expect_true("cublasGemmEx" in got["error"]["text"],
                f"a product that fails: {got['error']}")


hosts()
refusals()
if FAKES:
    graphics()
end()
