# SPDX-License-Identifier: Apache-2.0
"""Draws benchmarks/shapes/selection.csv from models.csv and reported.csv, before anything is measured:

1. rows that say all sizes and take at most 2^38 multiplications (an exhaustive search of a larger one takes minutes);
2. classes: direction, and the first that fits of 3-D, 1-D, depthwise, grouped, dilated, odd (a channel count or an extent
   that is odd and above 1), plain;
3. of each class the two rows (of plain and odd, three) whose id has the least SHA-256, in their own data type and layout;
4. each fp32 row of them in NCHW once more as mixed precision asks it: fp16, channels last.

    python3 benchmarks/selection/draw.py > benchmarks/shapes/selection.csv
"""

import csv
import hashlib
import pathlib
import sys

SHAPES = pathlib.Path(__file__).resolve().parent.parent / "shapes"
MOST_WORK = 2 ** 38
DRAWN = {"plain": 3, "odd": 3}


def number(row, column, default):
    return int(row[column]) if row[column] else default


def work(row):
    """Multiplications of the forward convolution."""
    total = number(row, "N", 1) * int(row["K"]) * (int(row["C"]) // number(row, "groups", 1))
    for size, kernel, axis in (("D", "T", "d"), ("H", "R", "h"), ("W", "S", "w")):
        extent, width = number(row, size, 1), number(row, kernel, 1)
        covered = (width - 1) * number(row, f"dil_{axis}", 1) + 1
        padded = extent + 2 * number(row, f"pad_{axis}", 0)
        total *= width * ((padded - covered) // number(row, f"stride_{axis}", 1) + 1)
    return total


def class_of(row):
    groups = number(row, "groups", 1)
    extents = [number(row, column, 1) for column in ("H", "W")]
    if row["D"]:
        kind = "3-D"
    elif 1 in extents:
        kind = "1-D"
    elif groups > 1:
        kind = "depthwise" if groups == int(row["C"]) else "grouped"
    elif number(row, "dil_h", 1) > 1 or number(row, "dil_w", 1) > 1:
        kind = "dilated"
    elif any(size > 1 and size % 2 for size in (int(row["C"]), int(row["K"]), *extents)):
        kind = "odd"
    else:
        kind = "plain"
    return row["op"], kind


def main():
    rows = []
    for name in ("models.csv", "reported.csv"):
        with open(SHAPES / name, newline="", encoding="utf-8") as file:
            rows += csv.DictReader(file)
    classes = {}
    for row in sorted(rows, key=lambda r: hashlib.sha256(r["id"].encode()).hexdigest()):
        if row["C"] and row["K"] and row["dtype"] in ("fp32", "fp16", "bf16") and work(row) <= MOST_WORK:
            classes.setdefault(class_of(row), []).append(row)
    columns = ["id", "source", "op", "dtype", "layout", "N", "C", "D", "H", "W", "K", "T", "R", "S", "pad_d", "pad_h",
               "pad_w", "stride_d", "stride_h", "stride_w", "dil_d", "dil_h", "dil_w", "groups", "note"]
    writer = csv.DictWriter(sys.stdout, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for (_, kind), members in sorted(classes.items()):
        for row in members[:DRAWN.get(kind, 2)]:
            writer.writerow({**row, "note": kind})
            if row["dtype"] == "fp32" and row["layout"].startswith("NC"):
                layout = "NDHWC" if row["D"] else "NHWC"
                writer.writerow({**row, "id": row["id"] + "-amp", "dtype": "fp16", "layout": layout, "note": kind})


if __name__ == "__main__":
    main()
