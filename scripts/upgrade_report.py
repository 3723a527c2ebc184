# SPDX-License-Identifier: Apache-2.0
"""The tables of gpu-check-upgrade.sh, from the files upgrade-*.out and .err in a folder. Standard library only."""

import csv
import json
import math
import os
import re
import statistics
import sys

# Half a unit in the last place of the result's type: errors below it are no errors of the algorithm.
ROUNDOFF = {"fp64": 2.0 ** -53, "fp32": 2.0 ** -24, "fp16": 2.0 ** -11, "bf16": 2.0 ** -8}
# What a result may be off by, relative to the sum of the magnitudes of its products: inputs rounded to TF32 (2^-11
# each), or the result rounded to its type, twice over.
TOLERANCE = {"fp64": 2.0 ** -48, "fp32": 2.0 ** -9, "fp16": 2.0 ** -10, "bf16": 2.0 ** -7}

# What legacy_client appends to the id of a problem's form in mixed precision.
MIXED = "-amp"
# Timed runs of each kind, in turns.
TURNS = (1, 2, 3, 4)


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values))) if values else float("nan")


def read_rows(path):
    """The rows of a run of legacy_client without an error, by id; empty if it did not run."""
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        return {row["id"]: row for row in csv.DictReader(file) if not row["error"]}


def read_counter(path, name):
    """Of the last summary in a log; 0 if it does not have it."""
    text = open(path, errors="replace").read() if os.path.exists(path) else ""
    summaries = re.findall(r"cudnn-tune: .*?summary (.*)", text)
    found = re.search(rf"\b{name}=(\d+)", summaries[-1]) if summaries else None
    return int(found.group(1)) if found else 0


def verdict(holds):
    return "holds" if holds else "DOES NOT HOLD"


def error_ratio(row, other):
    floor = ROUNDOFF[dtype_of(row)]
    return max(float(row["rounding"]), floor) / max(float(other["rounding"]), floor)


def dtype_of_id(identity, dtypes):
    return "fp16" if identity.endswith(MIXED) else dtypes.get(identity, "fp32")


def dtype_of(row):
    return row["dtype"]


def client_table(folder):
    runs = {name: read_rows(f"{folder}/upgrade-{name}.out")
            for name in [f"{kind}-{turn}" for kind in ("legacy", "upgrade") for turn in (*TURNS, "checked")] + ["named"]}
    ids = set.intersection(*(set(rows) for rows in runs.values() if rows)) if runs["upgrade-1"] else set()
    if not ids:
        return
    dtypes = data_types(folder)
    for rows in runs.values():
        for row in rows.values():
            row["dtype"] = dtype_of_id(row["id"], dtypes)

    def time_us(kind, identity):
        return min(float(runs[f"{kind}-{turn}"][identity]["run_us"]) for turn in TURNS
                   if identity in runs[f"{kind}-{turn}"])

    ratios = {i: time_us("upgrade", i) / time_us("legacy", i) for i in ids}
    mean = geometric_mean(list(ratios.values()))
    slower = [i for i in ids if ratios[i] > 1.02]
    upgraded, checked = runs["upgrade-1"], runs["upgrade-checked"]
    launches = len(ids) * (1 + 9 * 20)
    print(f"\n== Legacy client, {len(ids)} problems of models.csv: time with upgrade / best legacy algorithm")
    print(f"geometric mean {mean:.3f} (at most 0.6: {verdict(mean <= 0.6)}), "
          f"about {read_counter(folder + '/upgrade-upgrade-1.err', 'upgraded') * len(ids) // max(launches, 1)} problems "
          f"ran a plan")
    print(f"worst {max(ratios.values()):.3f}, above 1.02: {len(slower)} ({verdict(not slower)})")
    same = [i for i in ids if checked[i]["hash"] == runs["legacy-checked"][i]["hash"] and
            checked[i]["algo"] == runs["legacy-checked"][i]["algo"]]
    others = [i for i in ids if i not in same]
    for what, of in [("another output: a plan or another algorithm", others), ("the very same algorithm and output", same)]:
        if of:
            print(f"  {what}: {len(of)} problems, worst {max(ratios[i] for i in of):.3f}, "
                  f"above 1.02: {sum(ratios[i] > 1.02 for i in of)}")
    forms = {"as listed": [i for i in ids if not i.endswith(MIXED)], "mixed precision": [i for i in ids if i.endswith(MIXED)]}
    for form, of in [*forms.items(), *((d, [i for i in ids if dtype_of_id(i, dtypes) == d]) for d in ("fp32", "fp16"))]:
        these = [ratios[i] for i in of]
        if these:
            print(f"  {form}: {len(these)} problems, geometric mean {geometric_mean(these):.3f}, "
                  f"best {min(these):.3f}, worst {max(these):.3f}")
    for identity in sorted(ids, key=lambda i: -ratios[i])[:6]:
        print(f"  {ratios[identity]:.3f} {identity} legacy {time_us('legacy', identity):.1f} us "
              f"(algorithm {runs['legacy-1'][identity]['algo']}), upgraded {time_us('upgrade', identity):.1f} us "
              f"(carrier {upgraded[identity]['algo']})")
    if runs["named"]:
        own = geometric_mean([float(runs["named"][i]["run_us"]) / time_us("legacy", i) for i in ids])
        print(f"the named algorithms by themselves take {own:.3f} of the best legacy algorithm (calls that fit no plan)")
    print("== How exact: largest |error| / sum of |products| of 64 results a problem")
    for dtype in sorted({dtype_of_id(i, dtypes) for i in ids}):
        these = [i for i in ids if dtype_of_id(i, dtypes) == dtype]
        print(f"  {dtype}: legacy {max(float(runs['legacy-checked'][i]['rounding']) for i in these):.2e}, "
              f"upgraded {max(float(checked[i]['rounding']) for i in these):.2e}")
    off = [i for i in ids if not float(checked[i]["rounding"]) <= TOLERANCE[dtype_of_id(i, dtypes)]]
    print(f"beyond the type's tolerance: {len(off)} ({verdict(not off)}) {' '.join(sorted(off)[:5])}")
    for what, name in [("the best legacy algorithm", "legacy-checked"), ("the named algorithm", "named")]:
        if runs[name]:
            errors = {i: error_ratio(checked[i], runs[name][i]) for i in ids}
            worse = sorted((i for i in ids if errors[i] > 2), key=lambda i: -errors[i])
            print(f"error / error of {what}: geometric mean {geometric_mean(list(errors.values())):.2f}, "
                  f"largest {max(errors.values()):.2f}, above 2: {len(worse)} ({verdict(not worse)})")
            for identity in worse[:6]:
                print(f"  {errors[identity]:.2f} {identity} {runs[name][identity]['rounding']} "
                      f"(algorithm {runs[name][identity]['algo']}) -> {checked[identity]['rounding']}")
    cold = read_rows(f"{folder}/upgrade-upgrade-cold.out")
    lost = [i for i in ids if i in cold and cold[i]["hash"] != upgraded[i]["hash"]]
    print(f"another handle, the same algorithm, another result: {len(lost)}")


def data_types(folder):
    """By the ids of models.csv, which lies beside this script or in the source."""
    here = os.path.dirname(os.path.abspath(__file__))
    for path in [f"{here}/benchmarks/shapes/models.csv", f"{here}/../benchmarks/shapes/models.csv"]:
        if os.path.exists(path):
            with open(path) as file:
                return {row["id"]: row["dtype"] for row in csv.DictReader(file)}
    return {}


def read_report(path):
    """The last line of JSON of a PyTorch run; nothing if it did not end."""
    lines = [line for line in open(path)] if os.path.exists(path) else []
    lines = [line for line in lines if line.startswith("{")]
    return json.loads(lines[-1]) if lines else None


def torch_table(folder):
    for model in ["resnet50", "mobilenet_v2"]:
        runs = {kind: [read_report(f"{folder}/upgrade-{model}-{kind}-{turn}.out") for turn in (1, 2)]
                for kind in ["graph", "upgrade"]}
        runs["legacy"] = [read_report(f"{folder}/upgrade-{model}-legacy.out")]
        times = {kind: [report["convolution_ms"] for report in reports if report and report["convolution_ms"]]
                 for kind, reports in runs.items()}
        if not times["graph"] or not times["upgrade"]:
            continue
        best = {kind: min(values) for kind, values in times.items() if values}
        ratio = best["upgrade"] / best["graph"]
        print(f"\n== PyTorch, {model}, AMP, channels-last, batch 64: GPU time of a step's convolutions")
        print(", ".join(f"{kind} {value:.3f} ms" for kind, value in best.items()))
        print(f"upgraded legacy path / graph path: {ratio:.3f} (at most 1.05: {verdict(ratio <= 1.05)})")


def loss_table(folder):
    curves = {}
    plain = ["default", "benchmark", "graph", "nudge-1", "nudge-2", "nudge-3"]
    for name in [*plain, "upgrade", "upgrade-again"]:
        report = read_report(f"{folder}/upgrade-loss-{name}.out")
        if report and report.get("losses"):
            curves[name] = report["losses"]
    if "upgrade-again" not in curves or "default" not in curves:
        return
    print("\n== Loss curves of 200 steps, ResNet-50, single precision")

    def distance(a, b):
        return math.sqrt(statistics.fmean((x - y) ** 2 for x, y in zip(curves[a], curves[b], strict=True)))

    print("last loss: " + ", ".join(f"{name} {losses[-1]:.4f}" for name, losses in curves.items()))
    plain = [name for name in plain if name in curves]
    noise = [distance(a, b) for i, a in enumerate(plain) for b in plain[i + 1:]]
    ours = [distance("upgrade-again", name) for name in plain]
    print("root mean square differences without this library: " + ", ".join(f"{value:.4f}" for value in noise))
    print("with plans from each of those: " + ", ".join(f"{value:.4f}" for value in ours))
    if noise:
        print(f"within run-to-run noise (the median of the second no larger than the largest of the first, by a tenth): "
              f"{verdict(statistics.median(ours) <= 1.1 * max(noise))}")


if __name__ == "__main__":
    client_table(sys.argv[1])
    torch_table(sys.argv[1])
    loss_table(sys.argv[1])
