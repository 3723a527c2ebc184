# SPDX-License-Identifier: Apache-2.0
"""GPU time of the convolution kernels of a training step of several models under PyTorch, AMP and channels-last: an
ordinary program that knows nothing of cudnn-tune. Prints a line of JSON a model: the median over some profiled steps.
Start it in turn with and without the library, each process anew (PyTorch keeps its choices for the life of a process)."""

import argparse
import json
import statistics
import time
from types import SimpleNamespace

import torch

from torch_models import convolution_ms, make_model, step

SETTINGS = SimpleNamespace(amp=True, forward_only=False)


def measure(name, batch, steps):
    """(seconds of the first step, median milliseconds of the convolution kernels of a later one)."""
    torch.manual_seed(0)
    model, shape = make_model(name)
    model = model.cuda()
    x = torch.randn(batch, *shape).cuda()
    if x.dim() == 4:
        model = model.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    torch.cuda.synchronize()
    start = time.perf_counter()
    step(model, optimizer, x, SETTINGS)
    torch.cuda.synchronize()
    first_step_s = time.perf_counter() - start
    for _ in range(5):
        step(model, optimizer, x, SETTINGS)
    times_ms = [convolution_ms(model, optimizer, x, SETTINGS) for _ in range(steps)]
    return first_step_s, statistics.median(t for t in times_ms if t is not None)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", default=["resnet50", "mobilenet_v2", "unet", "wav2vec"])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=5, help="that are profiled")
    parser.add_argument("--benchmark", action="store_true", help="torch.backends.cudnn.benchmark")
    arguments = parser.parse_args()
    torch.backends.cudnn.benchmark = arguments.benchmark
    for name in arguments.models:
        first_step_s, time_ms = measure(name, arguments.batch, arguments.steps)
        print(json.dumps({"model": name, "benchmark": arguments.benchmark, "first_step_s": round(first_step_s, 3),
                          "convolution_ms": round(time_ms, 4)}), flush=True)


if __name__ == "__main__":
    main()
