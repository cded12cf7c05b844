"""The rows of tests/data/visibility.tsv: what the driver made of masks."""
import os

from program import SOURCE

ERRORS = ("cudaErrorNoDevice", "cudaErrorInvalidDevice")


def fill(field, a, b):
    """The mask of a row, for two UUIDs: placeholders, then C's escapes; None
    where the variable is not set."""
    if field == "(unset)":
        return None
    common = os.path.commonprefix([a, b])
    text = field[1:-1]
    for name, value in {
            "{A}": a, "{B}": b, "{A:5}": a[:5], "{A:12}": a[:12],
            "{A:hex}": a[4:], "{A:upper}": a.upper(),
            "{A:hexupper}": a[4:].upper(), "{common}": common}.items():
        text = text.replace(name, value)
    return text.replace("\\n", "\n").replace("\\t", "\t")


def rows():
    """Pairs: the field of the mask, and the indices or the error."""
    with open(os.path.join(SOURCE, "tests/data/visibility.tsv"),
              encoding="utf-8") as file:
        for line in file:
            if not line.startswith(("#", "input\t")):
                yield line.rstrip("\n").split("\t")


def answer(field, want, a, b):
    """What the driver says with these two UUIDs."""
    if field == '"{A:5}"' and a[:5] == b[:5]:
        return "cudaErrorNoDevice"  # too short to tell these two apart
    return want
