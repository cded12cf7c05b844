"""Masks in fresh processes: which GPUs the driver itself gives, and whether
discover names the same ones. HDP_REQUIRE=cuda: no GPU is a failure."""
import ctypes
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

SELF = os.path.abspath(__file__)
DRIVER = os.environ.get("HDP_TEST_DRIVER", "libcuda.so.1")


# ---- the driver, asked by a process of its own, without the library

def uuid_of(driver, index):
    device, room = ctypes.c_int(), (ctypes.c_ubyte * 16)()
    driver.cuDeviceGet(ctypes.byref(device), index)
    driver.cuDeviceGetUuid_v2(room, device)
    text = bytes(room).hex()
    return "GPU-" + "-".join((text[:8], text[8:12], text[12:16], text[16:20],
                              text[20:]))


def driver_says():
    """UUIDs in the order of this process, or the driver's error."""
    try:
        driver = ctypes.CDLL(DRIVER)
    except OSError as error:
        return {"missing": str(error)}
    count = ctypes.c_int(0)
    code = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if code or count.value == 0:
        return {"error": code or 100}
    return {"uuids": [uuid_of(driver, i) for i in range(count.value)]}


if sys.argv[1:] == ["--driver"]:
    print(json.dumps(driver_says()))
    sys.exit(0)

TESTS = os.path.dirname(os.path.dirname(SELF))
sys.path[:0] = [TESTS, os.path.join(TESTS, "scenario", "cli")]
from required import without  # noqa: E402
from masks import ERRORS, answer, fill, rows  # noqa: E402
from program import ask, end, expect  # noqa: E402

CODES = dict(zip((100, 101), ERRORS))


def driver_of(env):
    done = subprocess.run([sys.executable, SELF, "--driver"], text=True,
                          capture_output=True, timeout=120, check=True,
                          env={**os.environ, **env, "HDP_TEST_DRIVER": DRIVER})
    return json.loads(done.stdout)


unmasked = driver_of({})
if "uuids" not in unmasked:
    without("cuda", f"no GPU: {unmasked}")
GPUS = unmasked["uuids"]
NOBODY = "GPU-5eed5eed-5eed-5eed-5eed-5eed5eed5eed"
FIRST, SECOND = (GPUS + [NOBODY])[:2]


def gpus_of(got):
    return [d["uuid"] for d in got["devices"] if d["backend"] == "cuda"]


def look(row):
    """One mask: the driver's answer, discover in such a process, and what
    discover makes of the mask without living under it."""
    mask = fill(row[0], FIRST, SECOND)
    env = {} if mask is None else {"CUDA_VISIBLE_DEVICES": mask}
    words = [] if mask is None else [f"--mask={mask}"]
    return driver_of(env), ask("discover", env=env), ask("discover", *words)


with ThreadPoolExecutor(4) as pool:
    table = list(rows())
    for (field, want), (driver, under, told) in zip(table,
                                                    pool.map(look, table)):
        want = answer(field, want, FIRST, SECOND)
        uuids = driver.get("uuids", [])
        expect(gpus_of(under), uuids, f"GPUs of a process under {field}")
        expect(gpus_of(told), uuids, f"GPUs that discover tells of {field}")
        if field != "(unset)":
            expect(told["visibility"]["error"], CODES.get(driver.get("error")),
                   f"error of {field}")
        if len(GPUS) == 2:  # as the table's machine had
            expect(CODES.get(driver.get("error")) or
                   ",".join(str(GPUS.index(u)) for u in uuids), want,
                   f"the table's answer to {field}")
expect(len(table), 72, "rows of the table")
end()
