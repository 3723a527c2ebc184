# SPDX-License-Identifier: Apache-2.0
"""Figures of the selection benchmark from the CSV that `selection` wrote; --plot draws regret against the problems.

Regret of a choice: its time over the least of all times judged for that problem, less one."""

import argparse
import csv
import math


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def number(row, column):
    return float(row[column]) if row.get(column) else None


def geometric_mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else float("nan")


def regrets(rows, names, name):
    """(id, time over the least time) for each row where the choice ran."""
    found = []
    for row in rows:
        times = [t for t in (number(row, f"{n}_us") for n in names) if t]
        mine = number(row, f"{name}_us")
        if mine and times:
            found.append((row["id"], mine / min(times)))
    return found


def slower_than_heuristic(rows, name):
    """Rows where the choice is slower than the heuristic's by more than 2 MAD of either."""
    found = []
    for row in rows:
        mine, theirs = number(row, f"{name}_us"), number(row, "heuristic_us")
        noise = 2 * max(number(row, f"{name}_mad_us") or 0, number(row, "heuristic_mad_us") or 0)
        if mine and theirs and mine - theirs > noise:
            found.append(f"{row['id']} {theirs:g} -> {mine:g} us")
    return found


def different(rows, first, second):
    """Rows where two tunings' choices differ by more than 2 MAD of either."""
    found = []
    for row in rows:
        a, b = number(row, f"{first}_us"), number(row, f"{second}_us")
        noise = 2 * max(number(row, f"{first}_mad_us") or 0, number(row, f"{second}_mad_us") or 0)
        if a and b and abs(a - b) > noise:
            found.append(f"{row['id']} {a:g} / {b:g} us")
    return found


def plot(rows, names, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(10, 4.5))
    for name, marker in zip([n for n in names if n != "exhaustive"], "o^sxv"):
        values = sorted(ratio for _, ratio in regrets(rows, names, name))
        axes.plot(range(1, len(values) + 1), [100 * (v - 1) + 0.05 for v in values], marker, label=name, markersize=4)
    axes.set_yscale("log")
    axes.set_xlabel("problems, each choice by its own order")
    axes.set_ylabel("slower than the best choice, % (+0.05)")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("csv")
    parser.add_argument("--plot", metavar="FILE", help="an .svg or .png")
    arguments = parser.parse_args()
    every = rows_of(arguments.csv)
    rows = [row for row in every if number(row, "exhaustive_us")]
    names = [column[:-3] for column in every[0] if column.endswith("_us") and not column.endswith("_mad_us")]
    tuned = [name for name in names if name not in ("exhaustive", "heuristic")]
    print(f"{len(rows)} problems judged; {len(every) - len(rows)} could not be")
    exhaustive_s = sum(number(row, "exhaustive_s") for row in rows)
    print(f"{'choice':12} {'n':>3} {'regret, geo. mean':>17} {'worst':>8}  {'cost':>8} {'of exhaustive':>13}  worst problems")
    for name in names:
        found = sorted(regrets(rows, names, name), key=lambda pair: -pair[1])
        if not found:
            continue
        worst = ", ".join(f"{i} {100 * (r - 1):.1f} %" for i, r in found[:3] if r > 1.01)
        cost_s = exhaustive_s if name == "exhaustive" else sum(number(row, f"{name}_s") or 0 for row in rows)
        cost = f"{cost_s:7.1f}s {100 * cost_s / exhaustive_s:12.1f}%" if name != "heuristic" else f"{'-':>8} {'-':>13}"
        print(f"{name:12} {len(found):>3} {100 * (geometric_mean([r for _, r in found]) - 1):>16.2f}% "
              f"{100 * (found[0][1] - 1):>7.1f}%  {cost}  {worst}")
    for name in tuned:
        slower = slower_than_heuristic(rows, name)
        print(f"{name}: slower than the heuristic's first beyond 2 MAD: {len(slower)}"
              + "".join(f"\n    {line}" for line in slower))
    repeated = [name for name in tuned if name.rstrip("0123456789") + "1" in tuned and not name.endswith("1")]
    for name in repeated:
        first = name.rstrip("0123456789") + "1"
        differing = different(rows, first, name)
        print(f"{first} and {name}: differ beyond 2 MAD: {len(differing)}" + "".join(f"\n    {x}" for x in differing))
    if arguments.plot:
        plot(rows, names, arguments.plot)


if __name__ == "__main__":
    main()
