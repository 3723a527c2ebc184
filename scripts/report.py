# SPDX-License-Identifier: Apache-2.0
"""Tables for demo.sh and gpu-check.sh, from what the library, the tool and the clients print. Standard library only:
it also runs on a machine to which nothing can be installed."""

import argparse
import csv
import json
import math
import re
import statistics
import sys


def read_summary(path):
    """The counters of the last summary line that the library wrote to a log; empty if there is none."""
    counters = {}
    with open(path, errors="replace") as file:
        for line in file:
            found = re.search(r"cudnn-tune: .*?summary (.*)", line)
            if found:
                counters = dict(re.findall(r"(\w+)=([-0-9.]+)", found.group(1)))
    return {name: float(value) for name, value in counters.items()}


def print_table(rows, right=()):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.rjust(width) if i in right else cell.ljust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())


def number(value, digits=1):
    return "-" if value is None else f"{value:.{digits}f}"


def runs(arguments):
    """One line a run: what was asked, and what it cost. Fails if a run left no summary, or if --last-measures-nothing
    is given and the last one measured."""
    names = ["asked", "hits", "measured", "candidates", "choosing_ms"]
    rows = [["run", "problems asked", "hits", "measured", "candidates run", "time choosing"]]
    counters = {}
    for run in arguments.runs:
        name, path = run.split("=", 1)
        counters = read_summary(path)
        if not counters:
            sys.exit(f"the library said nothing at the end of the {name} run; it wrote: {path}")
        rows.append([name] + [f"{counters.get(key, 0):.0f}" for key in names[:-1]]
                    + [f"{counters.get('choosing_ms', 0):.1f} ms" + arguments.mark])
    print_table(rows, right=(1, 2, 3, 4, 5))
    if arguments.last_measures_nothing and (counters.get("measured", 0) > 0 or counters.get("hits", 0) == 0):
        sys.exit("the last run should have found everything in the cache")


def slowest(arguments):
    """The slowest entries of what `cudnn-tune list --json` printed, or those that gained most."""
    with open(arguments.list) as file:
        entries = [entry for entry in json.load(file) if entry["tuned"]]
    by_gain = arguments.by == "gain"
    entries.sort(key=lambda entry: -(entry["ratio"] or 0) if by_gain else -entry["tuned"]["time_us"])
    rows = [["problem", "heuristic's choice", "time", "tuned choice", "time", "ratio"]]
    for entry in entries[:arguments.count]:
        heuristic = entry["heuristic"] or {"name": "-", "time_us": None}
        times = [number(choice["time_us"]) + " us" + arguments.mark for choice in (heuristic, entry["tuned"])]
        problem = entry["problem"].split(" pad=")[0]
        rows.append([problem, heuristic["name"], times[0], entry["tuned"]["name"], times[1],
                     number(entry["ratio"], 2)])
    print_table(rows, right=(2, 4, 5))


def read_client(path):
    with open(path, newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file) if not row["error"]}


def geometric_mean(values):
    values = [value for value in values if value > 0]
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def client(arguments):
    """The C++ client's CSV of several runs, compared with the first one's."""
    tables = [(name, read_client(path)) for name, path in (run.split("=", 1) for run in arguments.runs)]
    common = set.intersection(*(set(table) for _, table in tables))
    if not common:
        sys.exit("no problem was run by all")
    base = tables[0][1]
    rows = [["run", "problems", "choosing, all", "convolutions, all", "faster than " + tables[0][0],
             "slower by > 5 %", "other choice", "outputs differ"]]
    for name, table in tables:
        ratios = [float(base[i]["run_us"]) / float(table[i]["run_us"]) for i in common if float(table[i]["run_us"]) > 0]
        choices = sum((base[i]["algo"], base[i]["math"]) != (table[i]["algo"], table[i]["math"]) for i in common)
        different = sum(not math.isclose(float(base[i]["mean_magnitude"]), float(table[i]["mean_magnitude"]),
                                         rel_tol=arguments.tolerance) for i in common)
        rows.append([name, str(len(common)),
                     f"{sum(float(table[i]['choose_us']) for i in common) / 1e3:.1f} ms",
                     f"{sum(float(table[i]['run_us']) for i in common) / 1e3:.2f} ms",
                     f"{number(geometric_mean(ratios), 3)} (most {number(max(ratios, default=None), 2)})",
                     str(sum(ratio < 1 / 1.05 for ratio in ratios)), str(choices), str(different)])
    print_table(rows, right=range(1, 8))


def again(arguments):
    """What a question costs that was asked before: without the library, and as a hit."""
    plain, warm = (read_client(path) for path in (arguments.plain, arguments.warm))
    common = sorted(set(plain) & set(warm))
    plain_us = [float(plain[i]["again_us"]) for i in common]
    warm_us = [float(warm[i]["again_us"]) for i in common]
    ratios = [a / b for a, b in zip(plain_us, warm_us) if b > 0]
    if not ratios:
        sys.exit("no question was asked again by both")
    print_table([["", "median", "slowest problem"],
                 ["the library's own answer", f"{statistics.median(plain_us):.3f} us", f"{max(plain_us):.3f} us"],
                 ["a hit", f"{statistics.median(warm_us):.3f} us", f"{max(warm_us):.3f} us"],
                 ["ratio", f"{statistics.median(ratios):.0f}", f"{min(ratios):.0f} (smallest)"]], right=(1, 2))


def torch(arguments):
    """What the PyTorch scripts wrote, a JSON object a run."""
    rows = [["run", "first step", "later steps", "convolution kernels", "outputs off by", "gradients off by"]]
    for run in arguments.runs:
        name, path = run.split("=", 1)
        try:
            with open(path) as file:
                result = json.loads(file.read().strip().splitlines()[-1])
        except (OSError, ValueError, IndexError):
            rows.append([name, "FAILED", "", "", "", ""])
            continue
        rows.append([name, f"{result['first_step_s']:.2f} s", f"{result['step_ms']:.2f} ms",
                     number(result.get("convolution_ms"), 2) + " ms",
                     *("-" if result.get(key) is None else f"{result[key]:.1e}"
                       for key in ("output_error", "gradient_error"))])
    print_table(rows, right=range(1, 6))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    for function in (runs, slowest, client, again, torch):
        command = commands.add_parser(function.__name__, help=function.__doc__)
        command.set_defaults(function=function)
        if function in (runs, client, torch):
            command.add_argument("runs", nargs="+", metavar="NAME=FILE")
        if function in (runs, slowest):
            command.add_argument("--mark", default="", help="follows every time, such as ' (simulated)'")
        if function is runs:
            command.add_argument("--last-measures-nothing", action="store_true")
        if function is slowest:
            command.add_argument("list")
            command.add_argument("--count", type=int, default=5)
            command.add_argument("--by", choices=["time", "gain"], default="time")
        if function is client:
            command.add_argument("--tolerance", type=float, default=1e-2)
        if function is again:
            command.add_argument("plain")
            command.add_argument("warm")
    arguments = parser.parse_args()
    arguments.function(arguments)


if __name__ == "__main__":
    main()
