# SPDX-License-Identifier: Apache-2.0
"""Tables of what gpu-check-graph.sh logged."""

import json
import statistics
import sys
from collections import defaultdict


def summary(entry, name):
    for pair in entry["summary"].split():
        key, _, value = pair.partition("=")
        if key == name:
            return float(value)
    return None


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f}-{max(values):.3f})" if values else "-"


def main():
    by_label = defaultdict(list)
    with open(sys.argv[1], encoding="utf-8") as log:
        for line in log:
            entry = json.loads(line)
            by_label[entry["label"]].append(entry)
    print(f"{'run':34} {'n':>2}  {'first step s: median (range)':28} {'GPU ms a step':24} "
          f"{'asked':>5} {'hits':>5} {'meas.':>5} {'compiled':>8} {'saved':>5}")
    for label, entries in by_label.items():
        reports = [entry["report"] for entry in entries]
        if "first_s" not in reports[0] and "first_step_s" not in reports[0]:
            continue
        if label.startswith(("matrix", "models")):
            continue
        last = entries[-1]
        first = [report.get("first_s", report.get("first_step_s")) for report in reports]
        gpu = [report.get("gpu_ms") or report.get("convolution_ms") for report in reports]
        counts = [summary(last, name) for name in ("asked", "hits", "measured", "compilations", "compilations_saved")]
        print(f"{label:34} {len(entries):>2}  {spread(first):28} {spread([g for g in gpu if g]):24} "
              + " ".join(f"{'-' if count is None else int(count):>{width}}"
                         for count, width in zip(counts, (5, 5, 5, 8, 5))))
        digests = {report.get("digest") for report in reports if report.get("digest")}
        if digests:
            print(f"{'':34}     outputs: {', '.join(sorted(d[:12] for d in digests))}")
    where = {label: [entry["report"]["call_times"] for entry in entries] for label, entries in by_label.items()
             if entries[0]["report"].get("call_times")}
    if where:
        print("calls, and their milliseconds, of the first step: medians")
        print(f"{'':24}" + "".join(f"{label.removeprefix('where-'):>20}" for label in where))
        for name in next(iter(where.values()))[0]:
            cells = [[statistics.median(times[name][i] for times in runs) for i in (0, 1)] for runs in where.values()]
            print(f"{name:24}" + "".join(f"{f'{count:.0f} {time_ms:.1f}':>20}" for count, time_ms in cells))
    models = {label: entries for label, entries in by_label.items() if label.startswith("models")}
    if models:
        print("GPU ms of the convolution kernels of a step: median (range)")
    for label, entries in models.items():
        for name in dict.fromkeys(entry["report"]["model"] for entry in entries):
            mine = [entry["report"] for entry in entries if entry["report"]["model"] == name]
            print(f"{label:26} {name:14} {len(mine):>2}  {spread([r['convolution_ms'] for r in mine]):26} "
                  f"first step s {spread([r['first_step_s'] for r in mine])}")
        print(f"    {entries[-1]['summary']}")
    for label, entries in by_label.items():
        if label.startswith(("matrix-cold", "matrix-warm")):
            wrong = [entry["report"] for entry in entries if not entry["report"].get("ok", True)]
            print(f"{label}: {len(entries)} cases, {len(wrong)} off by more than their tolerance; "
                  f"largest output error {max(e['report'].get('output_error', 0) for e in entries):.2e}, "
                  f"gradient error {max(e['report'].get('gradient_error', 0) for e in entries):.2e}; "
                  f"{entries[-1]['summary']}")
            for report in wrong:
                print("  ", json.dumps(report))
    for label, entries in by_label.items():
        if label.startswith(("safety", "jax")):
            for entry in entries:
                print(label, json.dumps(entry["report"]))
            print(f"  {entries[-1]['summary']}")


if __name__ == "__main__":
    main()
