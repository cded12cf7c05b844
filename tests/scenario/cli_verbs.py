"""What the commands answer, on simulated and host members."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "cli"))
from program import BENCH, ask, document, end, expect, expect_true, run

ISSUE = "sim:0/fixed=500us/item=10us+sim:1/fixed=1.5ms/item=50us"
HOSTS = "host:0/threads=1+host:1/threads=1/duty=50"

# ---- split: the figures of the issue
got = ask("split", "-d", ISSUE, "-N", "256")
plan = got.get("plan", {})
WANT = {
    "rule": "finish", "total": 256, "quantum": 1, "asked": None,
    "shares": [230, 26], "offsets": [0, 230],
    "weights": [0.8984375, 0.1015625], "predicted_ns": 2800000,
    "lower_bound_ns": 2800000, "gap": 0, "state": ["active", "active"],
    "bound_by": ["speed", "speed"], "equal_ns": 7900000,
    "best_single_ns": 3060000,
}
for key, value in WANT.items():
    expect(plan.get(key), value, f"plan.{key}")
expect_true(isinstance(plan["predicted_ns"], int), "nanoseconds are integers")
expect(got["error"], None, "error of a success")
expect([d["simulated"] for d in got["devices"]], [True, True], "simulated")
expect_true(all("simulated" in d["slowdown"] for d in got["devices"]),
            "a simulated member says so in words")

dropped = ask("split", "-d", "sim:0/fixed=500us/item=10us",
              "-d", "sim:1/fixed=4ms/item=50us", "-N", "256")["plan"]
expect(dropped["shares"], [256, 0], "shares with a slow start")
expect(dropped["predicted_ns"], 3060000, "time with a slow start")
expect(dropped["state"], ["active", "empty"], "state with a slow start")
expect(dropped["bound_by"][1], "dropped", "reason with a slow start")

table = run("split", "-d", ISSUE, "-N", "256")
expect(table.returncode, 0, "exit code of a table")
expect_true("2.800 ms" in table.stdout and "230" in table.stdout,
            f"the table lacks the plan: {table.stdout}")
expect(table.stderr, "", "stderr of a table")

manual = ask("split", "-d", ISSUE, "-N", "10", "--rule", "manual=3/2")["plan"]
expect(manual["shares"], [6, 4], "manual shares")
expect(manual["asked"], [3.0, 2.0], "asked ratios")
two = ask("split", "-d", ISSUE, "-N", "256", "--rule", "equal,single")
expect([p["rule"] for p in two["plans"]], ["equal", "single"], "two rules")
expect(two["plans"][0]["shares"], [128, 128], "equal shares")

# ---- a variable that nobody reads is told by name, without its value
slip = ask("discover", env={"HDP_DEVCES": "sim:0"})
expect([w["text"] for w in slip["warnings"] if "HDP_DEVCES" in w["text"]],
       ["environment: not a variable of this library: HDP_DEVCES"],
       "an unknown variable")
expect_true("sim:0" not in run("discover", env={"HDP_DEVCES": "sim:0"}).stderr,
            "the value of an unknown variable")

# ---- any locale, any umask, closed descriptors
plain = run("split", "-d", ISSUE, "-N", "256", "-o", "json").stdout
for locale in ("de_DE.UTF-8", "fr_FR.UTF-8", "C"):
    other = run("split", "-d", ISSUE, "-N", "256", "-o", "json",
                env={"LC_ALL": locale}).stdout
    expect(document(other)["plan"], plan, f"plan under {locale}")
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "out.json")
    done = subprocess.run(
        ["sh", "-c", 'umask 0; exec "$0" split -d "$1" -N 256 -o json '
         '--out "$2" <&- >&- 2>&-', BENCH, ISSUE, path])
    expect(done.returncode, 0, "exit code with closed descriptors")
    expect(document(open(path).read())["plan"], plan,
           "plan written with closed descriptors")

    # ---- profiles travel through files
    saved = os.path.join(folder, "profile.json")
    ask("calibrate", "-d", ISSUE, "--save", saved)
    expect(ask("split", "--profile", saved, "-N", "256")["plan"]["shares"],
           [230, 26], "shares from a saved profile alone")
    check = ask("calibrate", "-d", ISSUE, "--check", saved)["check"]
    expect(check["ok"], True, "a profile against itself")
    drift = ask("calibrate", "-d",
                "sim:0/fixed=500us/item=20us+sim:1/fixed=1.5ms/item=50us",
                "--check", saved, code=1)
    expect(drift["check"]["ok"], False, "a profile against another speed")
    expect([m["ok"] for m in drift["check"]["moves"]], [False, False],
           "members: one's time, and both ratios, moved")

    # a slowdown of all alike moves no ratio, but the times; half a percent
    # moves nothing
    slow = ask("calibrate", "-d", "sim:0/fixed=1ms/item=20us+"
               "sim:1/fixed=3ms/item=100us", "--check", saved, code=1)
    expect([round(d, 9) for d in slow["check"]["drift"]], [0, 0],
           "ratios of a common slowdown")
    expect([round(m["time_moved"], 6) for m in slow["check"]["moves"]],
           [1, 1], "times of a common slowdown")
    expect(slow["error"]["text"],
           "member 0: time moved by 100.0 %, 5.0 % are allowed", "what moved")
    ask("calibrate", "-d", "sim:0/fixed=502us/item=10050ns+"
        "sim:1/fixed=1.5ms/item=50us", "--check", saved)

    # the saved probe and type are asked for again, another is refused
    LINKED = "sim:0/item=10us/link=%s+sim:1/item=50us/link=4GB"
    every = os.path.join(folder, "all.json")
    figures = ask("calibrate", "-d", LINKED % "8GB", "--probe", "all",
                  "--dtype", "f64", "--save", every)["profile"]["members"]
    expect([m["in_bytes_per_second"] for m in figures], [8e9, 4e9], "links in")
    expect([m["out_bytes_per_second"] for m in figures], [8e9, 4e9],
           "links out")
    same = ask("calibrate", "-d", LINKED % "8GB", "--check", every)
    expect((same["profile"]["members"][0]["probe"],
            same["profile"]["members"][0]["dtype"]), ("all", "f64"),
           "probe and type of a check")
    worse = ask("calibrate", "-d", LINKED % "6GB", "--check", every, code=1)
    expect(worse["error"]["text"],
           "member 0: link in moved by 25.0 %, 5.0 % are allowed",
           "a slower link")
    for words in (["--probe", "copy"], ["--dtype", "f32"]):
        ask("calibrate", "-d", LINKED % "8GB", "--check", every, *words,
            code=2)

    # a member that fails is no drift of the others
    gone = ask("calibrate", "-d", ISSUE + "/fail=wait:1-", "--check", saved,
               code=1)
    expect(gone["error"]["text"], "member 1: could not be measured",
           "a member that fails")
    expect(gone["profile"]["members"][1]["reliable"], False,
           "reliable of a member that fails")

# ---- discover and calibrate
found = ask("discover")
expect_true(any(d["backend"] == "host" for d in found["devices"]),
            "discover finds the host")
expect(found["visibility"]["error"], None, "visibility.error")
rates = ask("calibrate", "-d", HOSTS, "--budget", "100ms")["profile"]
expect(len(rates["members"]), 2, "members of a profile")
expect_true(abs(sum(m["ratio"] for m in rates["members"]) - 1) < 1e-9,
            "ratios sum to 1")
expect_true(rates["ended_by"] in ("spread", "budget"), "what ended it")

# again and again: models of 10 and 30 us an item, so 0.75 and 0.25
again = ask("calibrate", "-d", "sim:0/item=10us/noise=2%+sim:1/item=30us",
            "--repeat", "4", "--reference", "1s")["repeat"]
expect(again["count"], 4, "repeats")
expect(len(again["measurements"]), 4, "measurements told")
expect(again["reference_ns"], 1000000000, "reference_ns")
for told, right in zip(again["members"], (0.75, 0.25), strict=True):
    expect_true(abs(told["ratio_median"] / right - 1) < 0.01, "median ratio")
    expect_true(abs(told["reference"] / right - 1) < 0.01, "long run's ratio")
    worst = max(abs(m["ratios"][0 if right > 0.5 else 1] / told["reference"] - 1)
                for m in again["measurements"])
    expect_true(abs(told["worst_error"] - worst) < 1e-12, "worst error")

# ---- run: the model's time exactly, and every result checked
sim = ask("run", "-d", ISSUE, "--work", "gemm", "-N", "256", "--steps", "3",
          "--warmup", "0")
by_rule = {r["rule"]: r for r in sim["results"]}
expect(by_rule["finish"]["step_ns"]["samples"], [2800000] * 3, "sim steps")
expect(by_rule["equal"]["step_ns"]["median"], 7900000, "sim equal step")
expect(by_rule["single"]["step_ns"]["median"], 3060000, "sim single step")
expect(by_rule["finish"]["efficiency"], 1.0, "sim efficiency")
expect(sim["optimum"]["shares"], [230, 26], "optimum by the other method")
expect(sim["check"]["ok"], True, "sim results")
for work in ("mlp", "gemm", "copy", "mixed"):
    host = ask("run", "-d", HOSTS, "--work", work, "-N", "256", "--steps", "2",
               "--warmup", "0", "--budget", "50ms")
    expect(host["check"]["ok"], True, f"results of {work}")
    expect_true(host["check"]["max_rel_error"] <= host["check"]["tolerance"],
                f"error of {work}")
    expect_true("declared" in host["devices"][1]["slowdown"],
                "a declared slowdown is said in words")
    for result in host["results"]:
        sample = result["step_ns"]
        expect((sample["n"], len(sample["samples"])), (2, 2),
               f"samples of {work}")
empty = ask("run", "-d", "host:0/threads=1", "--work", "empty", "--steps",
            "2000")["empty"]
expect(empty["bare_loop"], "spin", "bare loop of one member")
expect_true(empty["step_ns"] > 0 and empty["bare_ns"] > 0, "empty step")

# ---- reduce
for words in (["--op", "sum"], ["--weights", "3/1"], ["--op", "max"],
              ["--op", "mean", "--dtype", "bf16"],
              ["--op", "sum", "--dtype", "i64"]):
    reduced = ask("reduce", "-d", HOSTS, "-b", "8", "-e", "64K", "-n", "3",
                  "-w", "1", *words)
    expect_true(len(reduced["reduce"]) == 14, f"sizes of {words}")
    expect([row["wrong"] for row in reduced["reduce"]], [0] * 14,
           f"wrong elements of {words}")
expect(ask("reduce", "-d", HOSTS, "-e", "1K", "-n", "1", "--weights",
           "3/1")["reduce"][0]["op"], "weighted_mean", "name of the op")

# ---- split: of many ranks
many = ask("split", "-d", ISSUE, "-N", "256", "--bench", "3", "--ranks",
           "5000")["cluster_bench"]
expect((many["ranks"], many["total"]), (5000, 5000000), "the cluster")
for kind in ("plan", "rates"):
    expect_true(many[kind]["n"] == 3 and many[kind]["min"] > 0,
                f"samples of {kind}")
for ranks, timed in ((300, 300), (20000, None)):  # of a million: minutes
    got = ask("split", "-d", ISSUE, "-N", "256", "--bench", "2", "--ranks",
              str(ranks))
    expect(got.get("balancer_bench", {}).get("ranks"), timed,
           f"a balancer of {ranks}")
# what --check asks for is what the help says
got = ask("split", "-d", ISSUE, "-N", "256", "--bench", "2", "--ranks", "100")
expect([got[name]["limit_ns"] for name in
        ("split_bench", "cluster_bench", "balancer_bench")],
       [2000, 20 * 100, 50000], "limits")
told = " ".join(run("split", "--help").stdout.split())
for part in ("a split takes more than 2 us", "more than 20 ns a rank",
             "up to 1000 ranks more than 50 us"):
    expect_true(part in told, f"lacks '{part}': {told}")
expect_true("cluster_bench" not in
            ask("split", "-d", ISSUE, "-N", "256", "--bench", "2"),
            "no cluster unless asked for")

# ---- progress and quiet
lines = run("split", "-d", ISSUE, "-N", "256", "--bench", "3", "--progress",
            "jsonl").stderr.splitlines()
expect_true(lines and all("phase" in document(line) for line in lines),
            "progress as lines of json")
expect(run("--version").stdout.startswith("hdp_bench "), True, "version")
expect_true("--total" in run("split", "--help").stdout, "help of split")
end()
