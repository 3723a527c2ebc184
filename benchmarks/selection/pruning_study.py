# SPDX-License-Identifier: Apache-2.0
"""What a rule of pruning would cost and lose, from the configurations that one exhaustive search timed (the file that
`selection --tried` writes). It replays the order in which the engine tries them with the times that were seen: list,
plan, warm-up, first burst, rounds. An estimate for choosing constants, no measurement: noise is left out.

    python3 benchmarks/selection/pruning_study.py benchmarks/results/2026-11-29-h200-configurations.csv --sure 8"""

import argparse
import csv
import math
from collections import Counter, defaultdict

LIST_MS = 30  # asking for the three lists, which the search did outside of what it wrote down
BURST_MS, LEAST_LAUNCHES, MOST_LAUNCHES = 0.2, 4, 16
BEHIND, NEAR, LEAST_ROUNDS, ROUNDS = 1.5, 1.10, 3, 5
FAR = 3.0  # of a family


def read(path):
    problems = defaultdict(list)
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            entry = {name: value if name in ("id", "choice") else int(value) for name, value in row.items()}
            entry["engine"] = entry["choice"].split("_")[0]
            entry["compiles"] = entry["behavior_notes"] & 1
            entry["time_ns"] = entry["median_ns"] if entry["median_ns"] >= 0 else entry["first_ns"]
            problems[row["id"]].append(entry)
    return problems


def plan(configurations, sure, least_others, second):
    """(tried in any case, tried while there is time), in the library's order."""
    listed = sorted((c for c in configurations if c["mode"] != 2), key=lambda c: (c["mode"], c["rank"]))
    listed = [c for c in listed if not c["compiles"] or (c["mode"] == 0 and c["rank"] == 0)]
    if not second and sum(c["mode"] == 0 for c in listed) >= least_others:
        listed = [c for c in listed if c["mode"] == 0]
    if len(listed) < least_others:
        listed += [c for c in configurations if c["mode"] == 2 and not c["compiles"]]
    first, rest, engines = [], [], set()
    for index, configuration in enumerate(listed):
        (first if index < sure or configuration["engine"] not in engines else rest).append(configuration)
        engines.add(configuration["engine"])
    return first, rest


def tune(configurations, arguments):
    """(milliseconds that it takes, time of the choice in nanoseconds)."""
    first, rest = plan(configurations, arguments.sure, arguments.least_others, not arguments.first_list)
    if arguments.skip_compiled and any(c["compiles"] and c["mode"] == 0 and c["rank"] == 0 for c in first):
        return LIST_MS, first[0]["time_ns"]
    spent_ms, best_ns, times_ns = 0.0, math.inf, []
    behind, near = Counter(), set()
    for index, c in enumerate(first + rest):
        if index >= len(first) and spent_ms > arguments.exploring_ms:
            break
        if c["build_ns"] < 0 or (behind[c["engine"]] and c["engine"] not in near):
            continue
        spent_ms += (c["build_ns"] + max(c["warm_up_ns"], 0)) / 1e6
        if c["time_ns"] < 0:
            continue
        time_ms = c["time_ns"] / 1e6
        if not (c["warm_up_ns"] > 15e6 and c["time_ns"] > 10 * best_ns):
            spent_ms += time_ms if time_ms > 1 else min(max(BURST_MS, LEAST_LAUNCHES * time_ms), MOST_LAUNCHES * time_ms)
            times_ns.append(c["time_ns"])
            best_ns = min(best_ns, c["time_ns"])
        if c["time_ns"] > FAR * best_ns:
            behind[c["engine"]] += 1
        else:
            near.add(c["engine"])
    left = [t for t in times_ns if t <= BEHIND * best_ns]
    if len(left) > 1:
        spent_ms += sum(max(1.0, t / 1e6) * ((ROUNDS if t <= NEAR * best_ns else LEAST_ROUNDS) - 1) for t in left)
    return spent_ms + LIST_MS, best_ns


def exhaustive_ms(configurations):
    return LIST_MS + sum((max(c["build_ns"], 0) + max(c["warm_up_ns"], 0) + max(c["first_ns"], 0)
                          + (7 * max(1e6, c["median_ns"]) if c["median_ns"] >= 0 else 0)) / 1e6 for c in configurations)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv")
    parser.add_argument("--sure", type=int, default=8, help="tried in any case, beside one of each engine")
    parser.add_argument("--exploring-ms", type=float, default=40)
    parser.add_argument("--first-list", action="store_true", help="the second list only if the first one has little")
    parser.add_argument("--skip-compiled", action="store_true", help="leave problems whose first choice is compiled")
    parser.add_argument("--least-others", type=int, default=4, help="with fewer the FALLBACK list is tried, too")
    arguments = parser.parse_args()
    problems = read(arguments.csv)
    results = {name: (*tune(each, arguments), min(c["time_ns"] for c in each if c["time_ns"] >= 0), exhaustive_ms(each))
               for name, each in problems.items()}
    regrets = sorted(((choice / best, name) for name, (_, choice, best, _) in results.items()), reverse=True)
    share = sum(r[0] for r in results.values()) / sum(r[3] for r in results.values())
    mean = math.exp(sum(math.log(r) for r, _ in regrets) / len(regrets))
    print(f"{len(results)} problems: {100 * share:.1f} % of an exhaustive search, regret {100 * (mean - 1):.2f} % "
          f"(geometric mean), {100 * (regrets[0][0] - 1):.1f} % at most")
    for regret, name in regrets[:5]:
        if regret > 1.001:
            print(f"  {name}: {100 * (regret - 1):.1f} %")


if __name__ == "__main__":
    main()
