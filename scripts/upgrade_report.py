# SPDX-License-Identifier: Apache-2.0
"""The tables of gpu-check-upgrade.sh, from the files upgrade-*.out and .err in a folder. Standard library only."""

import csv
import json
import math
import os
import statistics
import sys

# Half a unit in the last place of the result's type: errors below it are no errors of the algorithm.
ROUNDOFF = {"fp64": 2.0 ** -53, "fp32": 2.0 ** -24, "fp16": 2.0 ** -11, "bf16": 2.0 ** -8}
# What a result may be off by, relative to the sum of the magnitudes of its products: inputs rounded to TF32 (2^-11
# each), or the result rounded to its type, twice over.
TOLERANCE = {"fp64": 2.0 ** -48, "fp32": 2.0 ** -9, "fp16": 2.0 ** -10, "bf16": 2.0 ** -7}

# What legacy_client appends to the id of a problem's form in mixed precision.
MIXED = "-amp"
# Runs that time both sides.
TURNS = (1, 2, 3)


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values))) if values else float("nan")


def read_rows(path, failed=False):
    """The rows of a run of legacy_client without an error (or those with one), by id; empty if it did not run."""
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        return {row["id"]: row for row in csv.DictReader(file) if bool(row["error"]) == failed}


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
    paths = [f"{folder}/upgrade-paired-{turn}.out" for turn in TURNS]
    paired = [read_rows(path) for path in paths]
    legacy, checked, named = (read_rows(f"{folder}/upgrade-{name}.out")
                              for name in ("legacy-checked", "upgrade-checked", "named"))
    paired = [rows for rows in paired if rows]
    if not paired or not checked or not legacy:
        return
    seen = [*paired, legacy, checked, *([named] if named else [])]
    ids = set.intersection(*map(set, seen))
    if not ids:
        return
    dtypes = data_types(folder)
    for rows in seen:
        for row in rows.values():
            row["dtype"] = dtype_of_id(row["id"], dtypes)
    same = {i for i in ids if checked[i]["hash"] == legacy[i]["hash"] and checked[i]["algo"] == legacy[i]["algo"]}
    failed = {i: row["error"] for path in paths for i, row in read_rows(path, failed=True).items()}
    speed_table(ids, same, paired, dtypes)
    if failed:
        print(f"not compared in some process: {len(failed)}, for example {min(failed.items())}")
    exactness_table(ids, legacy, checked, named)
    cold, warm = (read_rows(f"{folder}/upgrade-upgrade-{name}.out") for name in ("cold", "warm"))
    both = [i for i in cold if i in warm]
    lost = [i for i in both if cold[i]["hash"] != warm[i]["hash"]]
    print(f"another handle, the same algorithm, another result: {len(lost)} of {len(both)}")


def speed_table(ids, same, paired, dtypes):
    """`same`: problems that run what they run without plans. The other ones run a plan or another algorithm."""

    def all_ratios(identity, of, to):
        return [float(rows[identity][of]) / float(rows[identity][to]) for rows in paired]

    print(f"\n== Legacy client, {len(ids)} problems of models.csv: with upgrade / best legacy algorithm, median of "
          f"{len(paired)} processes that run both")
    groups = {"another output: a plan or another algorithm": ids - same,
              "the very same algorithm and output": same,
              "as listed": [i for i in ids if not i.endswith(MIXED)],
              "mixed precision": [i for i in ids if i.endswith(MIXED)],
              **{dtype: [i for i in ids if dtype_of_id(i, dtypes) == dtype] for dtype in ("fp32", "fp16")}}
    for what, ours, own in [("time of a call, 20 in a row until the last result is there", "call_us", "own_call_us"),
                            ("time of the GPU alone, which never waits for the host", "run_us", "own_us")]:
        ratios = {i: statistics.median(all_ratios(i, ours, own)) for i in ids}
        mean = geometric_mean(list(ratios.values()))
        slower = [i for i in ids if ratios[i] > 1.02]
        print(f"{what}: geometric mean {mean:.3f} (at most 0.6: {verdict(mean <= 0.6)}), "
              f"worst {max(ratios.values()):.3f}, above 1.02: {len(slower)} ({verdict(not slower)})")
        for name, group in groups.items():
            these = [ratios[i] for i in group]
            if these:
                print(f"  {name}: {len(these)} problems, geometric mean {geometric_mean(these):.3f}, "
                      f"best {min(these):.3f}, worst {max(these):.3f}, above 1.02: {sum(r > 1.02 for r in these)}")
        for identity in sorted(ids, key=lambda i: (-ratios[i], i))[:6]:
            middle = sorted(paired, key=lambda rows: float(rows[identity][ours]) / float(rows[identity][own]))
            row = middle[len(middle) // 2][identity]
            print(f"  {ratios[identity]:.3f} {identity} own {float(row[own]):.1f} us (algorithm {row['own_algo']}), "
                  f"answer {float(row[ours]):.1f} us (algorithm {row['algo']}"
                  f"{'' if identity in same else ', another output'}); "
                  f"ratios {' '.join(f'{ratio:.3f}' for ratio in all_ratios(identity, ours, own))}")
    host = [statistics.median(all_ratios(i, "own_call_us", "own_us")) for i in ids]
    print(f"a call of the best legacy algorithm takes {geometric_mean(host):.2f} times as long as its kernels "
          f"(more than 1.1 times in {sum(ratio > 1.1 for ratio in host)} problems)")
    alpha = [statistics.median(all_ratios(i, "own_us", "own_first_us")) for i in ids]
    print(f"what alpha 2 costs (own time / with alpha 1, before the question): median {statistics.median(alpha):.3f}, "
          f"largest {max(alpha):.3f}")


def exactness_table(ids, legacy, checked, named):
    print("== How exact: largest |error| / sum of |products| of 64 results a problem")
    for dtype in sorted({dtype_of(checked[i]) for i in ids}):
        these = [i for i in ids if dtype_of(checked[i]) == dtype]
        print(f"  {dtype}: legacy {max(float(legacy[i]['rounding']) for i in these):.2e}, "
              f"upgraded {max(float(checked[i]['rounding']) for i in these):.2e}")
    off = [i for i in ids if not float(checked[i]["rounding"]) <= TOLERANCE[dtype_of(checked[i])]]
    print(f"beyond the type's tolerance: {len(off)} ({verdict(not off)}) {' '.join(sorted(off)[:5])}")
    for what, rows in [("the best legacy algorithm", legacy), ("the named algorithm", named)]:
        if rows:
            errors = {i: error_ratio(checked[i], rows[i]) for i in ids}
            worse = sorted((i for i in ids if errors[i] > 2), key=lambda i: -errors[i])
            print(f"error / error of {what}: geometric mean {geometric_mean(list(errors.values())):.2f}, "
                  f"largest {max(errors.values()):.2f}, above 2: {len(worse)} ({verdict(not worse)})")
            for identity in worse[:6]:
                print(f"  {errors[identity]:.2f} {identity} {rows[identity]['rounding']} "
                      f"(algorithm {rows[identity]['algo']}) -> {checked[identity]['rounding']}")


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
        for kind in ["legacy", "plain"]:
            runs[kind] = [read_report(f"{folder}/upgrade-{model}-{kind}.out")]
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
