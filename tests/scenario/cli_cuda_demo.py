"""The demo on GPUs of the fake CUDA: which it takes, in which type, what it
says of the others, and that the network learns on them."""
import json
import os
import sys
import tempfile

ALL = "--all" in sys.argv
if ALL:
    sys.argv.remove("--all")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "cli"))
from fakes import on, run
from program import document, end, expect, expect_true

RULES = ["equal", "single", "proportional", "finish"]


def demo(what):
    """Document and screen of a demo that must succeed."""
    with tempfile.TemporaryDirectory() as folder:
        done = run("demo", "--out", folder, "--budget", "200ms")
        expect(done.returncode, 0, f"{what}: exit code: {done.stderr[-300:]}")
        try:
            with open(os.path.join(folder, "hdp-demo.json"),
                      encoding="utf-8") as file:
                got = document(file.read())
            with open(os.path.join(folder, "hdp-demo.svg"),
                      encoding="utf-8") as file:
                picture = file.read()
        except (OSError, json.JSONDecodeError) as error:
            expect(str(error), "two files", what)
            end()
    expect([r["rule"] for r in got["results"]], RULES, f"{what}: rules")
    expect(got["check"]["ok"], True, f"{what}: gradients: {got['check']}")
    right = got["training"]["right"]
    expect_true(max(right.values()) - min(right.values()) <= 1,
                f"{what}: rules train alike: {right}")
    expect_true(min(right.values()) > 297 * 0.7, f"{what}: it learns: {right}")
    for device in got["devices"]:
        name = device["spec"].split("/")[0]
        expect_true(name in picture, f"{what}: {name} in the picture")
    expect_true("slowed" not in done.stdout, f"{what}: nothing is slowed")
    expect_true(len(done.stdout.splitlines()) <= 42, f"{what}: one screen")
    return got, done.stdout


def warnings(got, code):
    return [w["text"] for w in got["warnings"] if w["code"] == code]


# Warnings of speed and spread say that this machine is busy, which the fake is.
on("desk")
got, text = demo("desk, CUDA 12")
expect([d["backend"] for d in got["devices"]], ["cuda"] * 3, "three members")
expect([d["simulated"] for d in got["devices"]], [False] * 3, "backends")
expect(got["dtype"]["chosen"], "f32", "desk's type")
expect([w["code"] for w in got["warnings"]
        if w["code"] not in ("below_goal", "library")],
       ["dtype"], f"one warning: {got['warnings']}")
expect_true(warnings(got, "dtype")[0].endswith("GTX 1080 Ti lacks bf16"),
            f"the warning: {got['warnings']}")
expect_true("lacks bf16" in text and "left out" not in text, text)

on("desk", version=13)
got, text = demo("desk, CUDA 13")
expect(len(got["devices"]), 2, "members")
expect(got["dtype"]["chosen"], "bf16", "the type of the two")
expect_true("left out" in text and "no code for compute capability 6.1" in text,
            f"why the 1080 Ti is left out: {text}")
expect(len(warnings(got, "left_out")), 1, f"{got['warnings']}")
expect(warnings(got, "dtype"), [], "no word of types")

on("turing")
got, text = demo("turing")
expect(got["dtype"]["chosen"], "f16", "turing's type")
expect_true("type      f16: bf16 is slow on cuda:0" in text, text)
expect(warnings(got, "dtype"), [], "slow is not absent")

if not ALL:  # a quarter of a minute each
    end()

on("turing", words="busy=1")
got, text = demo("turing, one card held by another process")
expect([d["backend"] for d in got["devices"]], ["cuda", "host"], "the rest")
expect(got["dtype"]["chosen"], "f32", "what the host has too")
expect_true("RTX 2080 Ti: another process has it" in text, text)
end()
