#!/usr/bin/env python3
"""The library from Python's ctypes, nothing filtered, nothing wrapped: what a
person without a C compiler can do on the first day.

    smoke.py [LIBHDP]      LIBHDP: the shared library (default: HDP_LIBRARY)
    smoke.py LIBHDP leave  ends with living groups; the exit code is the test

Exit: 0 all well, 1 something is not, 77 skipped with a reason.
"""

import ctypes
import json
import os
import subprocess
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_int64
from ctypes import c_size_t, c_uint64, c_void_p, cast, sizeof

OK, ARGUMENT, MEMORY, CAPACITY, CALLBACK = 0, -1, -2, -3, -8
HOST, SIM, F32, MEAN = 1, 3, 1, 0
THREADS_MEMBER, THREADS_CALLER = 0, 1
INFO_API = 3


def struct(name, *fields):
    """A struct of hdp.h; `size` is set, all else is zero, as everywhere."""
    kind = type(name, (ctypes.Structure,), {"_fields_": list(fields)})
    if fields[0][0] == "size":
        kind.__init__ = lambda self, **given: ctypes.Structure.__init__(
            self, **dict(given, size=sizeof(kind)))
    return kind


Error = struct(
    "hdp_error", ("size", c_size_t), ("status", c_int32),
    ("severity", c_int32), ("member", c_int32), ("rank", c_int32),
    ("vendor", c_int32), ("vendor_code", c_int32), ("user_code", c_int32),
    ("reserved", c_int32), ("step", c_uint64), ("wanted_bytes", c_int64),
    ("largest_total", c_int64), ("text", ctypes.c_char * 256))
GroupOptions = struct(
    "hdp_group_options", ("size", c_size_t), ("world", c_void_p),
    ("streams", c_void_p), ("threads", c_int32), ("comm", c_int32),
    ("checked", c_int32), ("reserved", c_int32), ("timeout_ns", c_int64),
    ("spin_ns", c_int64), ("staging_bytes", c_int64), ("alloc", c_void_p),
    ("free", c_void_p), ("alloc_user", c_void_p))
GroupInfo = struct(
    "hdp_group_info", ("size", c_size_t), ("member_count", c_int32),
    ("rank_count", c_int32), ("first_rank", c_int32),
    ("process_count", c_int32), ("process_index", c_int32),
    ("reserved", c_int32), ("fingerprint", c_uint64), ("step", c_uint64))
Model = struct(
    "hdp_model", ("size", c_size_t), ("fixed_ns", c_double),
    ("item_ns", c_double), ("in_bytes_per_second", c_double),
    ("out_bytes_per_second", c_double), ("reduce_bytes_per_second", c_double),
    ("point_items", POINTER(c_int64)), ("point_ns", POINTER(c_double)),
    ("point_count", c_int64), ("memory_bytes", c_int64),
    ("memory_domain", c_int32), ("reserved", c_int32), ("key", c_char_p))
View = struct("hdp_view", ("data", c_void_p), ("rows", c_int64),
              ("row_bytes", c_int64), ("row_stride_bytes", c_int64))
Shard = struct(
    "hdp_shard", ("size", c_size_t), ("kind", c_int32),
    ("logical_id", c_int32), ("sm_count", c_int32), ("thread_count", c_int32),
    ("member", c_int32), ("rank", c_int32), ("rank_count", c_int32),
    ("flags", c_int32), ("offset", c_int64), ("items", c_int64),
    ("share_items", c_int64), ("total_items", c_int64), ("stream", c_void_p),
    ("inputs", POINTER(View)), ("outputs", POINTER(View)),
    ("input_count", c_int32), ("output_count", c_int32), ("step", c_uint64),
    ("internal", c_void_p))
Array = struct(
    "hdp_array", ("size", c_size_t), ("data", c_void_p),
    ("member_data", c_void_p), ("row_bytes", c_int64),
    ("row_stride_bytes", c_int64), ("memory", c_int32), ("member", c_int32),
    ("stream", c_void_p))
Buffers = struct(
    "hdp_buffers", ("size", c_size_t), ("dtype", c_int32), ("op", c_int32),
    ("memory", c_int32), ("tensor_count", c_int32),
    ("elements", POINTER(c_int64)), ("send", POINTER(c_void_p)),
    ("recv", POINTER(c_void_p)), ("streams", c_void_p),
    ("counts", POINTER(c_int64)), ("total_count", c_int64))
WORK_FN = ctypes.CFUNCTYPE(c_int32, POINTER(Shard), c_void_p)
Work = struct(
    "hdp_work", ("size", c_size_t), ("host", WORK_FN), ("cuda", WORK_FN),
    ("user", c_void_p), ("inputs", POINTER(Array)),
    ("outputs", POINTER(Array)), ("buckets", POINTER(Buffers)),
    ("input_count", c_int32), ("output_count", c_int32),
    ("bucket_count", c_int32), ("flags", c_int32),
    ("replica", POINTER(Buffers)), ("max_piece_items", c_int64),
    ("timeout_ns", c_int64))
ReportInfo = struct(
    "hdp_report_info", ("size", c_size_t), ("rank_count", c_int32),
    ("span_count", c_int32), ("step", c_uint64), ("step_ns", c_int64),
    ("items", POINTER(c_int64)), ("compute_ns", POINTER(c_int64)),
    ("spans", c_void_p), ("held_bytes", POINTER(c_int64)),
    ("peak_bytes", POINTER(c_int64)), ("free_bytes", POINTER(c_int64)),
    ("first_at_share", POINTER(c_int32)), ("cause", POINTER(c_int32)),
    ("reduce_engine", c_int32), ("reserved", c_int32))
STRUCTS = (Error, GroupOptions, GroupInfo, Model, View, Shard, Array, Buffers,
           Work, ReportInfo)

failures = []


def expect(what, expected, got):
    if expected != got:
        failures.append(f"{what}: expected {expected!r}, got {got!r}")


class Library:
    """Functions by their names in hdp.h, without the prefix."""

    def __init__(self, path):
        self.dll = ctypes.CDLL(path)
        for name in ("version", "last_error", "status_string"):
            self.get(name).restype = c_char_p
        self.dll.hdp_status_string.argtypes = [c_int32]
        self.dll.hdp_split.argtypes = [c_void_p, c_void_p, c_int64, c_void_p]
        for noun in ("context", "group", "profile", "plan", "report"):
            function = self.get(noun + "_destroy")
            function.restype, function.argtypes = None, [c_void_p]

    def get(self, name):
        return getattr(self.dll, "hdp_" + name)

    def __getattr__(self, name):
        return self.get(name)

    def error(self):
        out = Error()
        expect("hdp_error_get", OK, self.error_get(byref(out)))
        return out

    def must(self, name, *arguments):
        """Calls what has to succeed."""
        status = self.get(name)(*arguments)
        if status != OK:
            raise AssertionError(
                f"hdp_{name}: expected 0, got {status}: "
                f"{self.last_error().decode()}")

    def make(self, name, *arguments):
        """The handle that comes through the first parameter."""
        out = c_void_p()
        self.must(name, byref(out), *arguments)
        return out

    def text(self, name, *arguments):
        """Text out: ask for the size, then for the text."""
        needed = c_size_t()
        self.must(name, *arguments, None, c_size_t(0), byref(needed))
        room = ctypes.create_string_buffer(needed.value)
        self.must(name, *arguments, room, c_size_t(needed.value), None)
        expect(f"length of hdp_{name}", needed.value - 1, len(room.value))
        return room.value


# ---- one part each ---------------------------------------------------------


def library_functions(hdp):
    parts = hdp.version().decode().split(".")
    expect("parts of the version", 3, len(parts))
    expect("version in digits", True, all(p.isdigit() for p in parts))
    expect("status 0", True, b"success" in hdp.status_string(0))
    expect("an unknown status", True, len(hdp.status_string(-999)) > 0)

    options = GroupOptions(threads=7, spin_ns=9)
    hdp.must("options_init", byref(options), c_size_t(sizeof(options)))
    expect("size after init", sizeof(options), options.size)
    expect("fields after init", (0, 0), (options.threads, options.spin_ns))
    expect("init of NULL", ARGUMENT,
           hdp.options_init(None, c_size_t(sizeof(options))))


def layouts(hdp):
    """The structs above are the library's, field by field."""
    told = json.loads(hdp.text("info", c_int32(INFO_API)))["structs"]
    for kind in STRUCTS:
        name = kind.__name__
        if name not in told:
            failures.append(f"{name}: not in HDP_INFO_API")
            continue
        expect(f"sizeof({name})", told[name]["size"], sizeof(kind))
        expect(f"fields of {name}", list(told[name]["fields"]),
               [field for field, _ in kind._fields_])
        for field, place in told[name]["fields"].items():
            mine = getattr(kind, field, None)
            if mine is not None:
                expect(f"{name}.{field}", (place["offset"], place["size"]),
                       (mine.offset, mine.size))


def plan_of(hdp, *items):
    return hdp.make("plan_create", (c_int64 * len(items))(*items),
                    c_int32(len(items)))


def plans(hdp):
    models = (Model * 2)(Model(fixed_ns=500e3, item_ns=10e3),
                         Model(fixed_ns=1500e3, item_ns=50e3))
    profile = hdp.make("profile_create", models, c_int32(2))
    plan = hdp.make("split", profile, c_int64(256), None)
    text = hdp.text("plan_to_json", plan)
    told = json.loads(text)
    expect("schema", "hdp.plan", told["schema"])
    expect("shares", [230, 26], told["shares"])
    expect("weights", [0.8984375, 0.1015625], told["weights"])
    expect("predicted_ns", 2800000, told["predicted_ns"])
    expect("equal_ns", 7900000, told["equal_ns"])
    expect("best_single_ns", 3060000, told["best_single_ns"])

    again = hdp.make("plan_from_json", text, c_size_t(len(text)))
    expect("the plan's text, read and written", text,
           hdp.text("plan_to_json", again))
    damaged = text.replace(b"[230,26]", b"[230,-26]")
    none = c_void_p(1)
    expect("a negative share", ARGUMENT,
           hdp.plan_from_json(byref(none), damaged, c_size_t(len(damaged))))
    expect("its plan", None, none.value)
    expect("its text", b"shares[1]: expected an integer >= 0, got -26",
           hdp.last_error())

    short = ctypes.create_string_buffer(8)
    expect("a short buffer", CAPACITY,
           hdp.plan_to_json(plan, short, c_size_t(8), None))
    expect("the text cut", text[:7], short.value)
    for handle in (again, plan):
        hdp.plan_destroy(handle)
    hdp.profile_destroy(profile)


def doubling(seen):
    """A work function: y = 2 x on f32 rows; notes whom it was called for."""

    def function(shard, user):
        s = shard.contents
        seen.append((s.member, s.offset, s.items))
        x = cast(s.inputs[0].data, POINTER(ctypes.c_float))
        y = cast(s.outputs[0].data, POINTER(ctypes.c_float))
        per_row = s.inputs[0].row_bytes // 4
        for i in range(s.items * per_row):
            y[i] = 2 * x[i]
        return 0

    return WORK_FN(function)


def group_of(hdp, context, spec, threads=THREADS_CALLER):
    options = GroupOptions(threads=threads)
    return hdp.make("group_create_spec", context, spec, byref(options))


def run(hdp, group, plan, function, rows, per_row=3):
    """One step over arrays of rows; gives what came out, and the report."""
    count = rows * per_row
    x = (ctypes.c_float * count)(*range(count))
    y = (ctypes.c_float * count)()
    inputs = Array(data=cast(x, c_void_p), row_bytes=4 * per_row)
    outputs = Array(data=cast(y, c_void_p), row_bytes=4 * per_row)
    work = Work(host=function, inputs=ctypes.pointer(inputs), input_count=1,
                outputs=ctypes.pointer(outputs), output_count=1)
    return list(y), hdp.make("run", group, plan, byref(work)), list(y)


def runs(hdp, context, spec):
    group = group_of(hdp, context, spec)
    info = GroupInfo()
    hdp.must("group_get", byref(info), group)
    expect(f"members of {spec}", (2, 2, 0),
           (info.member_count, info.rank_count, info.first_rank))

    seen = []
    function = doubling(seen)
    plan = plan_of(hdp, 5, 2)
    before, report, after = run(hdp, group, plan, function, 7)
    expect(f"calls on {spec}", [(0, 0, 5), (1, 5, 2)], seen)
    expect(f"rows of {spec} before", [0.0] * 21, before)
    expect(f"rows of {spec}", [2.0 * i for i in range(21)], after)

    told = ReportInfo()
    hdp.must("report_get", byref(told), report)
    expect("items of the report", [5, 2], told.items[:2])
    expect("step of the report", 1, told.step)
    expect("compute times", True, all(t >= 0 for t in told.compute_ns[:2]))
    expect("the report as JSON", [5, 2],
           json.loads(hdp.text("report_to_json", report))["items"])
    hdp.report_destroy(report)
    reduces(hdp, group, plan)
    callbacks(hdp, group, plan)
    hdp.plan_destroy(plan)
    hdp.group_destroy(group)


def reduces(hdp, group, plan):
    """MEAN with the plan's 5 and 2 items: (5 a + 2 b) / 7."""
    a = (ctypes.c_float * 2)(7, 14)
    b = (ctypes.c_float * 2)(14, -7)
    pointers = (c_void_p * 2)(cast(a, c_void_p), cast(b, c_void_p))
    elements = (c_int64 * 1)(2)
    buffers = Buffers(dtype=F32, op=MEAN, tensor_count=1, elements=elements,
                      recv=pointers)
    hdp.must("all_reduce", group, plan, byref(buffers))
    expect("the weighted mean, member 0", [9.0, 8.0], list(a))
    expect("the weighted mean, member 1", [9.0, 8.0], list(b))


def callbacks(hdp, group, plan):
    """A function's own number comes back, and the group works on."""
    failing = WORK_FN(lambda shard, user: 42 * shard.contents.member)
    work = Work(host=failing)
    report = c_void_p()
    expect("a failing function", CALLBACK,
           hdp.run(byref(report), group, plan, byref(work)))
    expect("its report", None, report.value)
    error = hdp.error()
    expect("the error", (CALLBACK, 42, 1, 1),
           (error.status, error.user_code, error.member, error.rank))
    fine = Work(host=WORK_FN(lambda shard, user: 0))
    hdp.must("run", None, group, plan, byref(fine))


def refusals(hdp, context):
    group = c_void_p(1)
    for spec, part in ((b"sim:0/item=", b"item"), (b"cuda:0,0", b"at 8"),
                       (b"host:9999999999", b"9999999999"),
                       (b"sim:0/bogus=1", b"bogus")):
        group.value = 1
        expect(f"{spec}", ARGUMENT,
               hdp.group_create_spec(byref(group), context, spec, None))
        expect(f"group of {spec}", None, group.value)
        if part not in hdp.last_error():
            failures.append(f"error of {spec}: expected {part} in it, got "
                            f"{hdp.last_error()}")
    info, device = GroupInfo(), ctypes.create_string_buffer(1024)
    out = c_void_p(1)
    for what, status in (
            ("group_get", hdp.group_get(byref(info), None)),
            ("group_get of a context", hdp.group_get(byref(info), context)),
            ("group_device", hdp.group_device(device, None, 0)),
            ("run", hdp.run(byref(out), None, None, None)),
            ("split", hdp.split(byref(out), None, 8, None)),
            ("plan_to_json", hdp.plan_to_json(None, None, c_size_t(0), None)),
            ("context_create", hdp.context_create(None, None))):
        expect(f"hdp_{what} of NULL", ARGUMENT, status)
        expect(f"the error of hdp_{what}", ARGUMENT, hdp.error().status)
    expect("what hdp_split of NULL gives", None, out.value)
    for noun in ("context", "group", "profile", "plan", "report"):
        hdp.get(noun + "_destroy")(None)


def leave(hdp):
    """Two groups, one with threads, after a step, and no destroy."""
    context = hdp.make("context_create", None)
    plan = plan_of(hdp, 3, 1)
    function = WORK_FN(lambda shard, user: 0)
    for spec, threads in ((b"sim:0/item=1us+sim:1/item=2us", THREADS_CALLER),
                          (b"host:0/threads=1+host:1/threads=1",
                           THREADS_MEMBER)):
        group = group_of(hdp, context, spec, threads)
        hdp.must("run", None, group, plan, byref(Work(host=function)))


def leaving(path):
    done = subprocess.run([sys.executable, __file__, path, "leave"],
                          capture_output=True, timeout=40)
    expect("end with living groups", (0, b"", b""),
           (done.returncode, done.stdout, done.stderr))


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("HDP_LIBRARY")
    if os.environ.get("HDP_SANITIZE"):
        print("skipped: python cannot load a sanitized library")
        return 77
    if not path:
        print("smoke.py: which library? an argument or HDP_LIBRARY")
        return 1
    hdp = Library(os.path.abspath(path))
    if sys.argv[2:] == ["leave"]:
        leave(hdp)
        return 0
    library_functions(hdp)
    layouts(hdp)
    plans(hdp)
    context = hdp.make("context_create", None)
    runs(hdp, context, b"sim:0/fixed=500us/item=10us+sim:1/item=50us")
    runs(hdp, context, b"host:0/threads=1+host:1/threads=1")
    refusals(hdp, context)
    hdp.context_destroy(context)
    leaving(path)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
