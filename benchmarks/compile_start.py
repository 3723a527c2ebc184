# SPDX-License-Identifier: Apache-2.0
"""How long a program waits for run-time compilation: one case in one process, an ordinary program that knows nothing of
cudnn-tune. Prints one line of JSON: seconds of the first step, the median GPU time of the later ones, a digest of what the
first step gave, and for the cases that have a reference, the error. Start it in turn with and without LD_PRELOAD, each
process anew; equal digests are equal results bit for bit.

    for i in 1 2 3 4 5; do for p in "" libcudnn_tune.so; do LD_PRELOAD=$p python3 compile_start.py mobilenet_v2; done; done
"""

import argparse
import hashlib
import json
import statistics
import sys
import time

MODELS = ("mobilenet_v2", "efficientnet_b0", "convnext_tiny", "resnet50")


def timed(torch, step, steps):
    """(seconds of the first step, what it returned, median GPU milliseconds of the later ones)."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    first = step()
    torch.cuda.synchronize()
    first_s = time.perf_counter() - start
    times_ms = []
    for _ in range(steps):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        step()
        end.record()
        end.synchronize()
        times_ms.append(begin.elapsed_time(end))
    return first_s, first, statistics.median(times_ms)


def digest(arrays):
    """Of numpy arrays, bit for bit."""
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(array.tobytes())
    return sha.hexdigest()[:32]


def torch_model(name, arguments):
    """A training step with automatic mixed precision and channels-last tensors, in PyTorch's default mode."""
    import torch
    import torchvision
    torch.manual_seed(0)
    model = getattr(torchvision.models, name)(weights=None).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    x = torch.randn(arguments.batch, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            y = model(x)
        y.float().square().mean().backward()
        optimizer.step()
        return y.detach()

    first_s, y, step_ms = timed(torch, step, arguments.steps)
    return {"first_step_s": first_s, "step_gpu_ms": step_ms, "digest": digest([y.float().cpu().numpy()])}


def torch_attention(arguments):
    """cuDNN's attention, forward and backward, with and without a causal mask, compared with the plain formula."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    torch.manual_seed(0)
    q, k, v = (torch.randn(4, 16, 1024, 64, device="cuda", dtype=torch.float16, requires_grad=True) for _ in range(3))
    attention = torch.nn.functional.scaled_dot_product_attention

    def step(backend=SDPBackend.CUDNN_ATTENTION, inputs=(q, k, v)):
        results = []
        with sdpa_kernel(backend):
            for causal in (False, True):
                y = attention(*inputs, is_causal=causal)
                # A sum: the gradients of a mean over four million elements are too small for fp16.
                results += [y.detach(), *torch.autograd.grad(y.float().square().sum(), inputs)]
        return results

    first_s, results, step_ms = timed(torch, step, arguments.steps)
    wide = tuple(t.detach().double().requires_grad_() for t in (q, k, v))
    expected = step(SDPBackend.MATH, wide)
    error = max(((a.double() - b).norm() / b.norm()).item() for a, b in zip(results, expected, strict=True))
    return {"first_step_s": first_s, "step_gpu_ms": step_ms, "relative_error": error,
            "digest": digest([t.cpu().numpy() for t in results[:1]])}  # gradients may be summed in any order


def jax_depthwise(arguments):
    """Depthwise convolutions in JAX, compared with a sum over the filter's taps."""
    import jax
    import numpy as np
    rng = np.random.default_rng(0)
    cases = []
    for channels, size, kernel, dtype in ((96, 56, 3, np.float16), (144, 28, 5, np.float16), (96, 56, 7, np.float32)):
        x = rng.standard_normal((16, size, size, channels)).astype(dtype)
        w = rng.standard_normal((kernel, kernel, 1, channels)).astype(dtype)
        cases.append((jax.device_put(x), jax.device_put(w)))

    @jax.jit
    def convolve(x, w):
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                            feature_group_count=x.shape[3])

    jax.block_until_ready(cases)
    start = time.perf_counter()
    results = [np.asarray(convolve(x, w)) for x, w in cases]
    first_s = time.perf_counter() - start
    times_ms = []
    for _ in range(arguments.steps):
        start = time.perf_counter()
        jax.block_until_ready([convolve(x, w) for x, w in cases])
        times_ms.append((time.perf_counter() - start) * 1e3)

    error = 0.0
    for (x, w), y in zip(cases, results, strict=True):
        x, w, y = (np.asarray(a).astype(np.float64) for a in (x, w, y))
        half = w.shape[0] // 2
        padded = np.pad(x, ((0, 0), (half, half), (half, half), (0, 0)))
        expected = sum(padded[:, i:i + x.shape[1], j:j + x.shape[2], :] * w[i, j, 0]
                       for i in range(w.shape[0]) for j in range(w.shape[1]))
        error = max(error, float(np.linalg.norm(y - expected) / np.linalg.norm(expected)))
    return {"first_step_s": first_s, "step_wall_ms": statistics.median(times_ms), "relative_error": error,
            "digest": digest(results)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", choices=(*MODELS, "attention", "jax_depthwise"))
    parser.add_argument("--batch", type=int, default=64, help="of the models")
    parser.add_argument("--steps", type=int, default=20, help="after the first")
    parser.add_argument("--most-error", type=float, default=2e-2, help="relative; beyond it the exit status is 1")
    arguments = parser.parse_args()
    if arguments.case in MODELS:
        result = torch_model(arguments.case, arguments)
    else:
        result = (torch_attention if arguments.case == "attention" else jax_depthwise)(arguments)
    rounded = {name: round(value, 6) if isinstance(value, float) else value for name, value in result.items()}
    print(json.dumps({"case": arguments.case, **rounded}), flush=True)
    return 1 if result.get("relative_error", 0) > arguments.most_error else 0


if __name__ == "__main__":
    sys.exit(main())
