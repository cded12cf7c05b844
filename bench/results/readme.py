#!/usr/bin/env python3
"""Writes the measured table of README.md anew from the results kept here.

usage: python3 bench/results/readme.py [--check]

The table stands between two marks in README.md; --check changes nothing and
answers 1 when it is not what the results say.
"""
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
README = HERE.parent.parent / "README.md"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"


def demo_rows(result):
    for row in result["results"]:
        shares = " + ".join(str(share) for share in row["shares"])
        step = row["step_ns"]
        spread = 100 * step["mad"] / step["median"]
        yield (f"| {row['rule']} | {shares} | {step['median'] / 1e6:.1f} ms | "
               f"{spread:.1f} % | {row['speedup_vs_equal']:.2f} × | "
               f"{row['efficiency']:.3f} |")


def empty_rows():
    for members in (1, 2, 4, 8):
        kept = HERE / f"empty-host-{members}.json"
        empty = json.loads(kept.read_text())["empty"]
        yield (f"| {members} | {empty['step_ns'] / 1e3:.2f} µs | "
               f"{empty['bare_ns'] / 1e3:.2f} µs ({empty['bare_loop']}) | "
               f"+ {empty['over_ns'] / 1e3:.2f} µs, {empty['ratio']:.2f} × |")


def plan_rows():
    """A split for 8, 1,000 and 1,000,000 ranks, and a balancer's step."""
    kept = json.loads((HERE / "split-8.json").read_text())
    yield (f"| 8 | {kept['split_bench']['median_ns'] / 1e3:.2f} µs | | "
           f"{kept['balancer_bench']['steady_ns']['median'] / 1e3:.2f} µs |")
    for ranks in (1000, 1000000):
        kept = json.loads((HERE / f"split-{ranks}.json").read_text())
        plan = kept["cluster_bench"]["plan"]["median"]
        rates = kept["cluster_bench"]["rates"]["median"]
        learn = kept.get("balancer_bench")
        step = f"{learn['steady_ns']['median'] / 1e3:,.0f} µs" if learn else ""
        yield (f"| {ranks:,} | {plan / 1e3:,.0f} µs | {rates / 1e3:,.0f} µs | "
               f"{step} |")


def adapt_rows(result):
    for phase in result["steps"]["phases"]:
        steps = phase["steps_to_goal"]
        worth = phase["efficiency"]
        yield (f"| {phase['step']} | {phase['text']} | "
               f"{'never' if steps is None else steps} | "
               f"{phase['resplits']} | {phase['lost_steps']:.1f} | "
               f"{'' if worth is None else format(worth, '.3f')} |")


def learned():
    result = json.loads((HERE / "adapt-host.json").read_text())
    goal = result["steps"]["goal"]
    return [
        "A machine that changes: two host members, one of which is made to "
        "take twice its time and released again (`hdp_bench run --adapt`). "
        f"`steps` until the shares are worth {goal} of the new optimum, "
        "`lost` beyond it in steps, then what the median step is worth:",
        "",
        "| at step | what happens | steps | re-splits | lost | worth |",
        "|---|---|---|---|---|---|",
        *adapt_rows(result),
        "",
        "A plan, by arithmetic alone (`hdp_bench split --bench`); the "
        "balancer's column is its plan and its observe in a steady step:",
        "",
        "| ranks | `hdp_split` | `hdp_split_rates` | balancer |",
        "|---|---|---|---|",
        *plan_rows(),
        "",
    ]


def gpu_rows(result):
    for row in result["results"]:
        shares = " + ".join(f"{share:,}" for share in row["shares"])
        step = row["step_ns"]
        spread = 100 * step["mad"] / step["median"]
        yield (f"| {row['rule']} | {shares} | {step['median'] / 1e6:.2f} ms | "
               f"{spread:.1f} % | {row['speedup_vs_equal']:.2f} × | "
               f"{row['speedup_vs_best_single']:.2f} × | "
               f"{row['efficiency']:.3f} |")


def gpu_steps(file, what):
    """A table of steps on GPUs, under a line that says of what."""
    result = json.loads((HERE / file).read_text())
    devices = " and ".join(f"`{device['spec']}` ({device['name']})"
                           for device in result["devices"])
    check = result["check"]
    return [
        f"{what.format(devices=devices)}, commit "
        f"{result['tool']['build']['commit'][:12]}; results within "
        f"{check['max_rel_error']:.1e} of {check['against']} (allowed "
        f"{check['tolerance']:.0e}):",
        "",
        "| rule | rows | step | MAD | against equal | against one GPU | "
        "of the optimum |",
        "|---|---|---|---|---|---|---|",
        *gpu_rows(result),
        "",
    ]


def calibration_rows():
    for file, note in (("f32", ""), ("bf16", ""), ("tf32", ""),
                       ("long", "bf16, `--budget 2s`"),
                       ("rested", "bf16, after 30 s idle"),
                       ("equal-f32", ""), ("equal-bf16", "")):
        kept = HERE / f"calibrate-h200-parts-{file}.json"
        result = json.loads(kept.read_text())
        first, repeat = result["repeat"]["members"][0], result["repeat"]
        parts = " : ".join(str(device["partition_sms"])
                           for device in result["devices"])
        worst = max(member["worst_error"] for member in repeat["members"])
        yield (f"| {parts} | {note or result['profile']['members'][0]['dtype']} | "
               f"{repeat['count']} | {first['ratio_median']:.4f} | "
               f"{100 * first['spread']:.2f} % | {first['reference']:.4f} | "
               f"{100 * worst:.2f} % |")


def on_gpus():
    return [
        *gpu_steps("run-mlp-h200-pair.json",
                   "A training step on two unequal GPUs, {devices}, forward, "
                   "backward, weighted mean of the gradients and update in "
                   "bf16 (`hdp_bench run --work mlp`)"),
        *gpu_steps("run-net-h200-parts.json",
                   "Four layers of 8,192 × 8,192, forward in bf16, on two "
                   "parts of one GPU, {devices} (`hdp_bench run --net "
                   "4x8192`)"),
        "Calibrations of 300 ms of parts of one H200 (`hdp_bench calibrate "
        "--repeat`): the first part's share of the throughput, how far the "
        "repeats lie apart, and the worst of all parts and repeats against the "
        "mean of a run of 5 s:",
        "",
        "| multiprocessors | | repeats | ratio | MAD | in 5 s | worst off |",
        "|---|---|---|---|---|---|---|",
        *calibration_rows(),
        "",
    ]


def table():
    result = json.loads((HERE / "demo-host.json").read_text())
    slowed = [device["slowdown"] for device in result["devices"]
              if device["slowdown"]]
    step = result["results"][0]["step_ns"]
    return "\n".join([
        BEGIN,
        *on_gpus(),
        f"A training step on two host members ({'; '.join(slowed)}), "
        f"`hdp_bench demo`, commit {result['tool']['build']['commit'][:12]}: "
        f"medians of {step['n']} rounds in which the rules take turns; "
        "`of the optimum` is against the best split of curves measured in the "
        "same rounds.",
        "",
        "| rule | rows | step | MAD | against equal | of the optimum |",
        "|---|---|---|---|---|---|",
        *demo_rows(result),
        "",
        "A step without work, against a bare hand-off loop of the same threads "
        "in the same run (`hdp_bench run --work empty`):",
        "",
        "| host members | step | bare loop | over it |",
        "|---|---|---|---|",
        *empty_rows(),
        "",
        *learned(),
        "All but the GPUs: two cores of a virtual machine without one "
        f"({result['devices'][0]['name']}); every sample is in "
        "[`bench/results`](bench/results). Reduces of GPUs go through pinned "
        "memory in this version, and are not yet fast.",
        END,
    ])


def main():
    text = README.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    fresh = before + table() + after
    if "--check" in sys.argv[1:]:
        return int(fresh != text)
    README.write_text(fresh)
    return 0


if __name__ == "__main__":
    sys.exit(main())
