"""run --reduce-bytes: what a step reduces is what its plan counts on, to the
nanosecond on simulated members, and checked on all."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "cli"))
from program import ask, end, expect, expect_true, run

RULES = ["run", "--rule", "equal,finish", "--steps", "3", "--warmup", "1"]
PAIR = "sim:0/item=10us/link=4GB+sim:1/item=30us/link=1GB"
# rows of 16 KiB go in and out over the same links; empty has none
COPY = ["--work", "copy", "--in-bytes", "16384", "--out-bytes", "16384"]


def steps(got):
    return [row["step_ns"]["median"] for row in got["results"]]


def planned(got):
    return [got["plan"]["equal_ns"], got["plan"]["predicted_ns"]]


# ---- by hand: 256 at 30 us / 384 at 10 and 128 at 30, and a ring of two over
# the slower link: 2 x 1/2 of 8 MB at 1 GB/s
got = ask(*RULES, "-d", PAIR, "-N", "512", "--work", "empty",
          "--reduce-bytes", "8000000")
expect(steps(got), [7680000 + 8000000, 3840000 + 8000000], "by hand")
expect(planned(got), steps(got), "the plan by hand")

# ---- a machine of three, every work: 2 x 2/3 of the bytes at 3 GB/s
for work in (["--work", "empty"], COPY):
    base = ask(*RULES, "-d", "@desk", "-N", "256", *work)
    got = ask(*RULES, "-d", "@desk", "-N", "256", *work, "--reduce-bytes",
              "6000000")
    for have, want, without in zip(steps(got), planned(got), steps(base)):
        expect_true(abs(have - want) <= 1,
                    f"{work}: expected {want} ns, got {have}")
        expect_true(abs(have - without - 2666667) <= 1,
                    f"{work}: expected {without} + 2666667 ns, got {have}")
    expect(got["check"]["ok"], True, f"{work}: checked")
    expect(got["check"]["tolerance"], 1e-6, f"{work}: tolerance")
    expect_true("the bucket" in got["check"]["against"],
                f"{work}: {got['check']['against']}")
    expect_true("bucket" not in base["check"]["against"],
                f"{work}: {base['check']['against']}")

# ---- mlp reduces its gradients, and plans so: 19,210 floats
got = ask(*RULES, "-d", "@desk", "-N", "256", "--in-bytes", "65")
for have, want in zip(steps(got), planned(got)):
    expect_true(abs(have - want) <= 2, f"mlp: expected {want} ns, got {have}")
same = ask(*RULES, "-d", "@desk", "-N", "256", "--in-bytes", "65",
           "--reduce-bytes", "76840")
expect(steps(same), steps(got), "mlp's own bytes")

# ---- real members, one and several threads, and with learning
for words in ([], ["--threads", "caller"]):
    for work in ("gemm", "copy", "mixed"):
        got = ask(*RULES, "-d", "host:0-1/threads=1", "-N", "64", "--budget",
                  "20ms", "--work", work, "--reduce-bytes", "40000", *words)
        expect(got["check"]["ok"], True, f"{work} {words}: checked")
        expect_true(got["check"]["max_rel_error"] <= 1e-6,
                    f"{work} {words}: {got['check']}")
got = ask("run", "--adapt", "-d", "@desk", "-N", "256", "--work", "copy",
          "--reduce-bytes", "6000000", "--slow", "1=2x@10", "--steps", "30",
          "--check")
expect(got["check"]["ok"], True, "--adapt: checked")
member = max(s * ns for s, ns in zip(got["steps"]["shares"],
                                     (1562500, 1183712, 3720238)))
expect_true(got["steps"]["step_ns"][5] > member + 2666666,
            f"--adapt reduces: {got['steps']['step_ns'][5]} ns, members take "
            f"{member}")

# ---- refusals, before any work
for words, part in (
        (["--reduce-bytes", "4"], "mlp reduces its gradients, 76840 bytes"),
        (["--reduce-bytes", "5", "--work", "copy"], "a multiple of 4"),
        (["--reduce-bytes", "4", "--dynamic"], "reduce nothing"),
        (["--bench-members"], "hdp_bench split plans them"),
        (["--bench-members", "--adapt"], "cannot be run yet")):
    got = ask("run", "-d", "@desk", "-N", "256", *words, code=2)
    expect_true(part in got["error"]["text"], f"{words}: {got['error']}")
    expect_true("profile" not in got, f"{words}: before the work")
text = ask("run", "-d", "host:0/threads=1", "--work", "empty",
           "--reduce-bytes", "4", code=2)["error"]["text"]
expect_true("empty step" in text, text)
text = ask("run", "-d", "@desk", "-N", "256", "--work", "copy",
           "--reduce-bytes", "64TiB", code=4)["error"]["text"]
expect_true("out of memory" in text, text)
for command in ("run", "split"):
    expect_true("--reduce-bytes" in run(command, "--help").stdout,
                f"help of {command}")

end()
