"""Runs hdp_bench the way a user does, for the tests of its command line. They
must hold with and without GPUs, also where HDP_TEST_GPUS='machine=twin', in the
words of fakecuda/fake.h, gives them some: HDP_TEST_GPUS=... ctest -R cli_"""
import json
import os
import subprocess
import sys
import tempfile

BENCH = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("HDP_BENCH", "")
SOURCE = os.environ.get("HDP_SOURCE_DIR",
                        os.path.join(os.path.dirname(
                            os.path.abspath(__file__)), *[".."] * 3))
FAILURES = []
GPUS = os.environ.get("HDP_TEST_GPUS", "")
LIBRARIES = tempfile.TemporaryDirectory()  # what a machine with GPUs has


def have_gpus(bench, library):
    """hdp_bench on the fake CUDA, which it finds where a driver would be."""
    for name in ("libcublas.so.12", "libcublas.so.13", "libnvidia-ml.so.1"):
        os.symlink(library, os.path.join(LIBRARIES.name, name))
    os.environ["LD_LIBRARY_PATH"] = LIBRARIES.name
    os.environ["FAKE_CUDA"] = f"clock=real {GPUS}"
    return bench


if GPUS:
    BENCH = have_gpus(os.environ.get("HDP_BENCH_FAKE12", ""),
                      os.environ.get("HDP_FAKE_CUDA", ""))

# The tests' own variables: the library knows none of them and would say so.
for name in [name for name in os.environ if name.startswith("HDP_")]:
    del os.environ[name]


def run(*words, env=None, **more):
    """The finished process of hdp_bench WORDS; text in and out."""
    return subprocess.run([BENCH, *words], capture_output=True, text=True,
                          timeout=300, env={**os.environ, **(env or {})},
                          **more)


def refuse(constant):
    raise ValueError(f"{constant} is no JSON")


def document(text):
    """The one JSON document of a stdout: strict, and nothing beside it."""
    return json.loads(text, parse_constant=refuse)


def ask(*words, code=0, **more):
    """The document of hdp_bench WORDS -o json, after checking its exit code."""
    done = run(*words, "-o", "json", **more)
    expect(done.returncode, code, f"exit code of {' '.join(words)}: "
           f"{done.stderr.strip()}")
    try:
        got = document(done.stdout)
    except ValueError as error:
        expect(str(error), "one document", f"stdout of {' '.join(words)}")
        return {}
    expect(got.get("schema"), "hdp.bench", "schema")
    expect(got.get("schema_version"), 1, "schema_version")
    return got


def gpus():
    """The GPUs that hdp_bench finds on this machine."""
    return [device for device in ask("discover").get("devices", [])
            if device["backend"] == "cuda"]


def expect(got, want, what):
    if got != want:
        FAILURES.append(f"{what}: got {got!r}, expected {want!r}")


def expect_true(holds, what):
    if not holds:
        FAILURES.append(what)


def end():
    """Prints what failed; the script's last line."""
    for failure in FAILURES:
        print("FAILED", failure)
    sys.exit(1 if FAILURES else 0)


if not BENCH or not os.access(BENCH, os.X_OK):
    print(f"skipped: no hdp_bench at '{BENCH}'")
    sys.exit(77)
