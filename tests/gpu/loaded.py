"""In one process with PyTorch, whoever comes first: there is one cuBLAS and one
NCCL, and both go on working. HDP_REQUIRE=cuda: no GPU, or no torch, is a
failure."""
import ctypes
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from required import without  # noqa: E402

LIBRARY = os.environ.get("HDP_LIBRARY", "")


def must(status, hdp, what):
    if status != 0:
        hdp.hdp_last_error.restype = ctypes.c_char_p
        sys.exit(f"{what}: {hdp.hdp_last_error().decode()}")


class ContextOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("log", ctypes.c_void_p),
                ("log_user", ctypes.c_void_p), ("log_level", ctypes.c_int32),
                ("reserved", ctypes.c_int32),
                ("cublas_path", ctypes.c_char_p),
                ("nccl_path", ctypes.c_char_p),
                ("nvml_path", ctypes.c_char_p),
                ("timeout_ns", ctypes.c_int64)]


def wheel_of_cublas():
    """In a virtual environment nothing that is mapped tells where its packages
    are; Python knows."""
    for folder in sys.path:
        for name in ("cu13/lib/libcublas.so.13", "cublas/lib/libcublas.so.12"):
            path = os.path.join(folder, "nvidia", name)
            if os.path.exists(path):
                return path.encode()
    return None


def use_hdp():
    """A group on the GPUs, measured with cuBLAS."""
    hdp = ctypes.CDLL(LIBRARY)
    context, group, profile = (ctypes.c_void_p() for _ in range(3))
    options = ContextOptions(size=ctypes.sizeof(ContextOptions),
                             cublas_path=wheel_of_cublas())
    must(hdp.hdp_context_create(ctypes.byref(context),
                                ctypes.byref(options)), hdp, "context")
    must(hdp.hdp_group_create_spec(ctypes.byref(group), context, b"cuda:all",
                                   None), hdp, "group")
    must(hdp.hdp_calibrate(ctypes.byref(profile), group, None), hdp,
         "calibrate")
    hdp.hdp_profile_destroy.argtypes = [ctypes.c_void_p]
    hdp.hdp_group_destroy.argtypes = [ctypes.c_void_p]
    hdp.hdp_context_destroy.argtypes = [ctypes.c_void_p]
    hdp.hdp_profile_destroy(profile)
    hdp.hdp_group_destroy(group)
    hdp.hdp_context_destroy(context)


def use_torch():
    import torch
    ones = torch.ones(256, 256, device="cuda")
    got = (ones @ ones).sum().item()
    if got != 256.0 ** 3:
        sys.exit(f"torch's product: expected {256.0 ** 3}, got {got}")


def mapped(name):
    """The files of a library that this process has mapped."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return sorted({line.split()[-1] for line in maps
                       if re.search(rf"/lib{name}\.so[.0-9]*$", line.strip())})


def both(order):
    for use in (use_hdp, use_torch) if order == "hdp" else (use_torch, use_hdp):
        use()
    for name in ("cublas", "nccl"):
        files = mapped(name)
        print(f"{order} first: {name}: {' '.join(files) or 'none'}")
        if len(files) > 1:
            sys.exit(f"{order} first: expected one {name}, got {files}")
    if not mapped("cublas"):
        sys.exit("no cuBLAS: the pattern is at fault")


if len(sys.argv) > 1:
    both(sys.argv[1])
    sys.exit(0)
found = subprocess.run([sys.executable, "-c",
                        "import torch; print(torch.cuda.is_available())"],
                       capture_output=True, text=True, check=False)
if found.returncode != 0:
    without("cuda", "there is no torch: " + found.stderr.strip().splitlines()[-1])
if found.stdout.strip() != "True":
    without("cuda", "torch finds no GPU")
failed = 0
for first in ("hdp", "torch"):
    done = subprocess.run([sys.executable, os.path.abspath(__file__), first],
                          capture_output=True, text=True, timeout=180,
                          check=False)
    print(done.stdout + done.stderr, end="")
    failed |= done.returncode != 0
sys.exit(failed)
