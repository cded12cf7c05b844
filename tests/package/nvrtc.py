"""Compiles the CUDA kernels by NVRTC, the compiler as a library, and says for
which architecture the machine code is.

    nvrtc.py LIBNVRTC SOURCE OUTPUT ARCH [INCLUDE_FOLDER]...
"""

import ctypes
import struct
import sys

EM_CUDA = 190


def fail(text):
    sys.exit(f"nvrtc.py: {text}")


def compile_unit(library, source, arch, folders):
    nvrtc = ctypes.CDLL(library)
    nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    program = ctypes.c_void_p()
    with open(source, "rb") as file:
        text = file.read()
    code = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), text, source.encode(), 0, None, None)
    if code != 0:
        fail(nvrtc.nvrtcGetErrorString(code).decode())
    options = [f"--gpu-architecture=sm_{arch}", "--std=c++14", "--fmad=false",
               "--device-as-default-execution-space"]
    options += [f"--include-path={folder}" for folder in folders]
    array = (ctypes.c_char_p * len(options))(
        *[option.encode() for option in options])
    code = nvrtc.nvrtcCompileProgram(program, len(options), array)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if code != 0:
        fail(f"NVRTC {major.value}.{minor.value}, sm_{arch}: "
             f"{nvrtc.nvrtcGetErrorString(code).decode()}\n"
             f"{log.value.decode()}")
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    if size.value == 0 or nvrtc.nvrtcGetCUBIN(program, cubin) != 0:
        fail(f"NVRTC {major.value}.{minor.value} made no code for sm_{arch}")
    return cubin.raw


def arch_of(cubin):
    """The architecture that the ELF header names: the flags' lowest byte."""
    if cubin[:4] != b"\x7fELF":
        fail("the code is no ELF file")
    machine, = struct.unpack_from("<H", cubin, 18)
    flags, = struct.unpack_from("<I", cubin, 48)
    if machine != EM_CUDA:
        fail(f"the code is for machine {machine}, not {EM_CUDA}")
    return flags & 0xff


def main():
    library, source, output, arch, *folders = sys.argv[1:]
    cubin = compile_unit(library, source, arch, folders)
    if arch_of(cubin) != int(arch):
        fail(f"asked for sm_{arch}, got sm_{arch_of(cubin)}")
    for name in ("combine", "accumulate", "scale", "convert", "fill",
                 "pattern", "check", "rows", "spin"):
        if f".text.hdpk_cuda_{name}\0".encode() not in cubin:
            fail(f"sm_{arch}: no kernel hdpk_cuda_{name}")
    with open(output, "wb") as file:
        file.write(cubin)
    print(f"sm_{arch}: {len(cubin)} bytes of machine code, all kernels")


if __name__ == "__main__":
    main()
