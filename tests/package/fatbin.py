"""Lists what a fatbin holds, one image a line: "elf 61" is machine code for
sm_61, "ptx 120" is PTX of compute_120.

    fatbin.py FILE
"""

import struct
import sys

MAGIC = 0xBA55ED50
KINDS = {1: "ptx", 2: "elf"}


def images(data):
    """Yields kind and architecture of each image."""
    at = 0
    while at < len(data):
        magic, _, head, size = struct.unpack_from("<IHHQ", data, at)
        if magic != MAGIC:
            sys.exit(f"fatbin.py: byte {at} begins no fatbin: {magic:#x}")
        at += head
        end = at + size
        while at < end:
            kind, _, head, size = struct.unpack_from("<HHIQ", data, at)
            arch, = struct.unpack_from("<I", data, at + 28)
            yield KINDS.get(kind, str(kind)), arch
            at += head + size


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    for kind, arch in images(data):
        print(kind, arch)


if __name__ == "__main__":
    main()
