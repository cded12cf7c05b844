"""hdp_bench on the fake CUDA: GPUs of machines that nobody need own. Import it
before program, which forgets the tests' variables."""
import os
import sys

BENCHES = {12: os.environ.get("HDP_BENCH_FAKE12", ""),
           13: os.environ.get("HDP_BENCH_FAKE13", "")}
LIBRARY = os.environ.get("HDP_FAKE_CUDA", "")
LIBRARIES = ["--cublas", LIBRARY, "--nvml", LIBRARY]

for path in (*BENCHES.values(), LIBRARY):
    if not os.access(path, os.X_OK):
        print(f"skipped: no hdp_bench on the fake CUDA at '{path}'")
        sys.exit(77)

import program  # noqa: E402, pylint: disable=wrong-import-position


def on(machine, version=12, words=""):
    """From now on hdp_bench has the GPUs of a machine and the images that a
    build with that CUDA has; work takes the time that the machine says."""
    program.BENCH = BENCHES[version]
    os.environ["FAKE_CUDA"] = f"machine={machine} clock=real {words}".strip()


def run(*words, **more):
    return program.run(*words, *LIBRARIES, **more)


def ask(*words, **more):
    return program.ask(*words, *LIBRARIES, **more)
