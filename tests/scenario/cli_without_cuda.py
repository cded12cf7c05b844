"""No driver and not one library of CUDA: in a tree that holds hdp_bench and
what it is linked to, and nothing else, all works but what asks for a GPU, and
that is refused with the reason and both versions."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "cli"))
if os.geteuid() != 0:
    print("skipped: needs root, for chroot")
    sys.exit(77)
if os.environ.get("HDP_SANITIZE"):
    print("skipped: a sanitizer needs more of a system than is left here")
    sys.exit(77)
import program  # noqa: E402, pylint: disable=wrong-import-position
if program.GPUS:
    print("skipped: a program on the fake CUDA has it in any tree")
    sys.exit(77)
from program import ask, end, expect, expect_true, run  # noqa: E402


def linked(path):
    """The files that the loader finds for a program."""
    said = subprocess.run(["ldd", path], capture_output=True, text=True,
                          check=True).stdout
    return re.findall(r"(/\S+) \(0x", said)


def fill(tree):
    for path in linked(program.BENCH):
        os.makedirs(tree + os.path.dirname(path), exist_ok=True)
        shutil.copy(path, tree + path)
    shutil.copy(program.BENCH, tree + "/hdp_bench")
    os.makedirs(tree + "/tmp", exist_ok=True)


def reason(text, what):
    """Why there is no GPU, as everything that is asked for one says it."""
    expect_true("driver 0, built for CUDA 1" in text or
                "built without CUDA" in text, f"{what}: {text}")


def without_any_library(inside):
    expect(run("--version", **inside).returncode, 0, "--version")
    expect(run("--help", **inside).returncode, 0, "--help")
    got = ask("discover", **inside)
    kinds = [device["backend"] for device in got["devices"]]
    expect(kinds, ["host"], "devices")
    reason(str(got["tool"]["runtime"]["libraries"]["cuda"]), "the list")
    for count in range(1, 9):
        spec = f"host:0-{count - 1}/threads=1"
        done = run("reduce", "-d", spec, "-e", "64KiB", "-n", "2", **inside)
        expect(done.returncode, 0, f"reduce, {count} members: {done.stderr}")
    done = run("run", "-d", "host:0-1/threads=1", "-N", "64", "--steps", "2",
               "--work", "gemm", "--budget", "20ms", **inside)
    expect(done.returncode, 0, f"run: {done.stderr}")
    done = run("split", "-d", "sim:0-1", "-N", "100", **inside)
    expect(done.returncode, 0, f"split: {done.stderr}")
    expect(run("doctor", **inside).returncode, 0, "doctor")
    done = run("calibrate", "-d", "cuda:0", **inside)
    expect(done.returncode != 0, True, "calibrate of a GPU is refused")
    reason(done.stderr, "calibrate")


def enter():
    os.chroot(root)
    os.chdir("/")


for library in linked(program.BENCH):
    expect_true(not re.search(r"/lib(cu|nv)", library), f"linked to {library}")
with tempfile.TemporaryDirectory() as root:
    fill(root)
    program.BENCH = "/hdp_bench"
    without_any_library({"preexec_fn": enter})
end()
