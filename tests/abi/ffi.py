#!/usr/bin/env python3
"""hdp.h and lease.h as a foreign language meets them: preprocessed, read by a
plain parser that filters nothing and knows no compiler extension, turned into
ctypes, held against the C compiler's layout and against the built library.

    ffi.py [LIBHDP [ROOT]]   LIBHDP: the shared library (default: HDP_LIBRARY)

Environment: HDP_SOURCE_DIR, HDP_CC (else cc), HDP_SANITIZE: a sanitized
library cannot be loaded into python, its half is then skipped.
Exit: 0 all well, 1 something is not, 77 no library to load (the rest is well).
"""

import ctypes
import os
import re
import subprocess
import sys
import tempfile

# The whole vocabulary. A type that is not here, and not declared before in
# the header itself, is an error: that is the point.
BASIC = {
    "void": None,
    "char": ctypes.c_char,
    "double": ctypes.c_double,
    "size_t": ctypes.c_size_t,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
}
TOKEN = re.compile(r"[A-Za-z_]\w*|-?\d+|\S")


class Unreadable(Exception):
    pass


class Header:
    """Types, constants and functions of one preprocessed header."""

    def __init__(self, text):
        self.tokens = TOKEN.findall(text)
        self.at = 0
        self.types = dict(BASIC)
        self.structs = {}  # name -> [(field, C text of its type)]
        self.constants = {}
        self.functions = {}  # name -> (result, [arguments])
        while self.at < len(self.tokens):
            self.declaration()

    def peek(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ""

    def take(self, wanted=None):
        token = self.peek()
        if wanted is not None and token != wanted:
            near = " ".join(self.tokens[max(0, self.at - 8):self.at + 8])
            raise Unreadable(f"expected {wanted!r}, got {token!r} in: {near}")
        self.at += 1
        return token

    def name(self):
        token = self.take()
        if not re.fullmatch(r"[A-Za-z_]\w*", token):
            raise Unreadable(f"expected a name, got {token!r}")
        return token

    def accept(self, token):
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def declaration(self):
        if self.accept("enum"):
            self.enumeration()
        elif self.accept("typedef"):
            self.typedef()
        elif self.peek() == "struct" and self.peek(2) == ";":
            self.take()
            self.declare_struct(self.name())
        else:
            self.function()
        self.take(";")

    def declare_struct(self, tag):
        if tag not in self.types:
            self.types[tag] = type(tag, (ctypes.Structure,), {})
        return self.types[tag]

    def enumeration(self):
        self.take("{")
        while not self.accept("}"):
            name = self.name()
            self.take("=")
            if name in self.constants:
                raise Unreadable(f"{name} twice")
            self.constants[name] = int(self.take())
            if not self.accept(","):
                self.take("}")
                break

    def typedef(self):
        if self.peek() == "struct" and self.peek(2) == "{":
            self.take()
            self.struct(self.name())
        else:
            kind = self.type()
            if self.peek() == "(":
                name, kind = self.function_pointer(kind)
            else:
                name = self.name()
            known = self.types.setdefault(name, kind)
            if known is not kind:
                raise Unreadable(f"{name} means two things")

    def struct(self, tag):
        kind = self.declare_struct(tag)
        fields = []
        self.take("{")
        while not self.accept("}"):
            base = self.type()
            field = self.name()
            if self.accept("["):
                base = base * int(self.take())
                self.take("]")
            fields.append((field, base))
            self.take(";")
        kind._fields_ = fields
        self.structs[tag] = [field for field, _ in fields]
        if self.name() != tag:
            raise Unreadable(f"struct {tag} is typedefed by another name")

    def type(self):
        """[const] [struct] NAME (* [const])*: what ctypes calls it."""
        self.accept("const")
        if self.accept("struct"):
            kind = self.declare_struct(self.name())
        else:
            name = self.name()
            if name not in self.types:
                raise Unreadable(f"unknown type {name!r}")
            kind = self.types[name]
        while self.accept("*"):
            if kind is None:
                kind = ctypes.c_void_p
            elif kind is ctypes.c_char:
                kind = ctypes.c_char_p
            else:
                kind = ctypes.POINTER(kind)
            self.accept("const")
        return kind

    def arguments(self):
        self.take("(")
        if self.peek() == "void" and self.peek(1) == ")":
            self.take()
        kinds = []
        while not self.accept(")"):
            kinds.append(self.type())
            if isinstance(kinds[-1], type) and issubclass(
                    kinds[-1], ctypes.Structure):
                raise Unreadable("a struct goes by value")
            self.name()
            if not self.accept(","):
                self.take(")")
                break
        return kinds

    def function_pointer(self, result):
        self.take("(")
        self.take("*")
        name = self.name()
        self.take(")")
        return name, ctypes.CFUNCTYPE(result, *self.arguments())

    def function(self):
        result = self.type()
        name = self.name()
        if name in self.functions:
            raise Unreadable(f"{name} twice")
        self.functions[name] = (result, self.arguments())


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def preprocess(compiler, path, folder):
    """The header's own text alone: the two standard headers are left empty,
    so that nothing of them has to be filtered out."""
    for name in ("stddef.h", "stdint.h"):
        with open(os.path.join(folder, name), "w", encoding="ascii"):
            pass
    options = ["-std=c99", "-E", "-P", "-nostdinc", "-I", folder, "-DHDP_API="]
    return (run(compiler, *options, path),
            run(compiler, *options, "-dM", path))


def compiled_layout(compiler, include, header, folder):
    """Sizes and offsets as a C compiler sees them: {'hdp_x': 8, 'hdp_x.f': 0}"""
    source = os.path.join(folder, "layout.c")
    program = os.path.join(folder, "layout")
    with open(source, "w", encoding="ascii") as out:
        out.write("#include <hdp/lease.h>\n#include <stdio.h>\n"
                  "int main(void)\n{\n")
        for tag, fields in header.structs.items():
            out.write(f'printf("{tag} %zu\\n", sizeof({tag}));\n')
            for field in fields:
                out.write(f'printf("{tag}.{field} %zu\\n", '
                          f"offsetof({tag}, {field}));\n")
        out.write("return 0;\n}\n")
    run(compiler, "-std=c11", "-I", include, "-o", program, source)
    pairs = (line.split() for line in run(program).splitlines())
    return {name: int(value) for name, value in pairs}


class Check:
    def __init__(self):
        self.failed = 0
        self.passed = 0

    def __call__(self, what, expected, got):
        if expected == got:
            self.passed += 1
        else:
            self.failed += 1
            print(f"{what}: expected {expected!r}, got {got!r}")


def check_layout(check, header, layout):
    for tag, fields in header.structs.items():
        kind = header.types[tag]
        check(f"sizeof {tag}", layout[tag], ctypes.sizeof(kind))
        for field in fields:
            check(f"offset of {tag}.{field}", layout[f"{tag}.{field}"],
                  getattr(kind, field).offset)


def check_rules(check, header):
    """What a foreign interface relies on: one prefix, size first."""
    frozen = {"hdp_view", "hdp_span"}
    for tag, fields in header.structs.items():
        if tag not in frozen:
            check(f"first field of {tag}", "size", fields[0])
    for name in list(header.functions) + list(header.structs):
        check(f"prefix of {name}", "hdp_", name[:4])
    for name in header.constants:
        check(f"prefix of {name}", "HDP_", name[:4])
    check("80 functions or more", True, len(header.functions) >= 80)
    check("20 structs or more", True, len(header.structs) >= 20)


def check_library(check, header, macros, path):
    library = ctypes.CDLL(path)
    calls = {}
    for name, (result, arguments) in header.functions.items():
        try:
            call = getattr(library, name)
        except AttributeError:
            check(f"{name} in {path}", "found", "missing")
            continue
        call.restype, call.argtypes = result, arguments
        calls[name] = call
    if check.failed:
        return
    wanted = ".".join(re.search(rf"#define HDP_VERSION_{part} (\d+)",
                                macros).group(1)
                      for part in ("MAJOR", "MINOR", "PATCH"))
    check("hdp_version()", wanted, calls["hdp_version"]().decode())
    texts = {calls["hdp_status_string"](value)
             for name, value in header.constants.items()
             if name == "HDP_OK" or name.startswith("HDP_ERR_")}
    check("different texts of statuses", 18, len(texts))
    for tag, fields in header.structs.items():
        if fields[0] == "size":
            made = header.types[tag]()
            size = ctypes.sizeof(made)
            ctypes.memset(ctypes.byref(made), 0xff, size)
            check(f"hdp_options_init({tag})", 0,
                  calls["hdp_options_init"](ctypes.byref(made), size))
            check(f"bytes of {tag}",
                  size.to_bytes(ctypes.sizeof(ctypes.c_size_t),
                                sys.byteorder).ljust(size, b"\0"),
                  bytes(made))
    items = (ctypes.c_int64 * 2)()
    rates = (ctypes.c_double * 2)(3, 1)
    check("hdp_split_rates()", 0, calls["hdp_split_rates"](items, rates, 2, 8, 1))
    check("8 rows by 3 to 1", [6, 2], list(items))
    check("a negative total", header.constants["HDP_ERR_ARGUMENT"],
          calls["hdp_split_rates"](items, rates, 2, -1, 1))
    check("a text for it", True, len(calls["hdp_last_error"]()) > 0)
    for name, call in calls.items():
        if name.endswith("_destroy"):
            call(None)


def self_test(check):
    """The parser must refuse what no foreign interface could take."""
    for text in ("int hdp_x(void);", "int32_t hdp_x(int32_t a, ...);",
                 "typedef struct a { int32_t b : 3; } a;",
                 "typedef struct a { union { int32_t b; } c; } a;",
                 "typedef struct a { int32_t b; } a; void f(a b);",
                 "enum { A };", "extern int32_t x;", "void f(int32_t);",
                 "__extension__ void f(void);", "enum { A = 1, A = 2 };"):
        try:
            Header(text)
            check(f"parsing {text!r}", "refused", "taken")
        except Unreadable:
            check.passed += 1


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("HDP_LIBRARY")
    here = os.path.dirname(os.path.abspath(__file__))
    root = (sys.argv[2] if len(sys.argv) > 2 else
            os.environ.get("HDP_SOURCE_DIR", os.path.join(here, "..", "..")))
    compiler = os.environ.get("HDP_CC") or "cc"
    include = os.path.join(root, "include")
    check = Check()
    self_test(check)
    with tempfile.TemporaryDirectory() as folder:
        text, macros = preprocess(
            compiler, os.path.join(include, "hdp", "lease.h"), folder)
        try:
            header = Header(text)
        except Unreadable as error:
            print(f"lease.h, hdp.h: {error}")
            return 1
        check_rules(check, header)
        check_layout(check, header,
                     compiled_layout(compiler, include, header, folder))
    loadable = path and os.path.isfile(path) and not os.environ.get(
        "HDP_SANITIZE")
    if loadable:
        check_library(check, header, macros, path)
    print(f"{len(header.functions)} functions, {len(header.structs)} structs, "
          f"{check.passed} checks passed, {check.failed} failed")
    if check.failed:
        return 1
    if not loadable:
        print("skipped: no library that python could load")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
