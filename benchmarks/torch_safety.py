# SPDX-License-Identifier: Apache-2.0
"""Situations that a library inside a program must not disturb: a cold convolution inside the capture of a CUDA graph, a
thread that captures in a loop while another meets new problems, many threads with equal and different problems, and a
DataLoader with forked workers. An ordinary program that knows nothing of cudnn-tune. Prints a line of JSON for each; exits
with 1 if one fails. With --benchmark PyTorch measures itself, which invalidates captures of other threads by itself."""

import argparse
import faulthandler
import json
import sys
import threading
import traceback

import torch
from torch.nn import functional


def convolution(channels, size, batch=4, dtype=torch.float16):
    # Numbers from the host: PyTorch's generator of a GPU may not be used while any thread captures.
    generator = torch.Generator().manual_seed(channels * 1000 + size)
    x = torch.randn(batch, channels, size, size, generator=generator)
    w = torch.randn(32, channels, 3, 3, generator=generator) / (3 * channels ** 0.5)
    return x.to("cuda", dtype), w.to("cuda", dtype)


def exact(x, w):
    return functional.conv2d(x.double(), w.double(), padding=1)


def is_right(y, x, w):
    error = (y.double() - exact(x, w)).square().mean().sqrt() / exact(x, w).square().mean().sqrt()
    return error.item() < 1e-2


def capture_of_a_cold_convolution():
    x, w = convolution(24, 40)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):  # cuBLAS, cuDNN and the allocator are warm; the problem is not
        functional.conv2d(*convolution(16, 40), padding=1)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        y = functional.conv2d(x, w, padding=1)
    x.copy_(convolution(24, 40, batch=4)[0].flip(0))
    graph.replay()
    torch.cuda.synchronize()
    return is_right(y, x, w)


def captures_beside_new_problems():
    stop = threading.Event()
    failures = []
    captures = [0]

    def capture_in_a_loop():
        try:
            x, w = convolution(48, 28)
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                functional.conv2d(x, w, padding=1)
            torch.cuda.synchronize()
            while not stop.is_set():
                graph = torch.cuda.CUDAGraph()
                # What other threads may do is what is tested: a strict mode would forbid PyTorch's own allocations.
                with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
                    y = functional.conv2d(x, w, padding=1)
                graph.replay()
                torch.cuda.synchronize()
                captures[0] += 1
                if not is_right(y, x, w):
                    failures.append("wrong result")
        except Exception as error:  # pylint: disable=broad-except
            failures.append(str(error).splitlines()[0])
            traceback.print_exc()

    thread = threading.Thread(target=capture_in_a_loop, daemon=True)
    thread.start()
    for size in range(20, 36):
        x, w = convolution(40, size)
        if not is_right(functional.conv2d(x, w, padding=1), x, w):
            failures.append(f"size {size} is wrong")
    stop.set()
    thread.join()
    return not failures and captures[0] > 0, {"captures": captures[0], "failures": failures[:3]}


def eight_threads():
    failures = []

    def work(index):
        try:
            for size in (24, 26, 28, 30 + index):
                x, w = convolution(56, size)
                if not is_right(functional.conv2d(x, w, padding=1), x, w):
                    failures.append(f"thread {index} size {size} is wrong")
        except Exception as error:  # pylint: disable=broad-except
            failures.append(str(error).splitlines()[0])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return not failures, {"different_problems": 3 + 8, "failures": failures[:3]}


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return functional.conv2d(torch.full((1, 3, 32, 32), float(index)), torch.ones(3, 3, 3, 3), padding=1)[0]


def forked_workers():
    loader = torch.utils.data.DataLoader(Images(), batch_size=8, num_workers=4, multiprocessing_context="fork")
    w = torch.ones(8, 3, 3, 3, device="cuda")
    count = 0
    for batch in loader:
        functional.conv2d(batch.cuda(), w, padding=1)
        count += len(batch)
    torch.cuda.synchronize()
    return count == 64


def main():
    situations = {each.__name__: each for each in
                  (capture_of_a_cold_convolution, captures_beside_new_problems, eight_threads, forked_workers)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmark", action="store_true")
    parser.add_argument("--only", nargs="+", choices=situations, default=list(situations), metavar="SITUATION")
    arguments = parser.parse_args()
    faulthandler.enable()
    torch.backends.cudnn.benchmark = arguments.benchmark
    ok = True
    for situation in map(situations.get, arguments.only):
        result = situation()
        passed, more = result if isinstance(result, tuple) else (result, {})
        ok = ok and passed
        print(json.dumps({"situation": situation.__name__, "ok": passed, **more}), flush=True)
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
