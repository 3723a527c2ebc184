# SPDX-License-Identifier: Apache-2.0
"""cudnnConvolutionBiasActivationForward as PyTorch calls it over cuDNN's legacy API (torch.cudnn_convolution_relu and
…_add_relu), against the formula in double precision. Prints one line of JSON: the largest error of each data type over
the root mean square of the right result, and how many results are not numbers if one input is none. Exits with 1 if an
error is beyond what the type allows."""

import json
import os
import sys

os.environ["TORCH_CUDNN_V8_API_DISABLED"] = "1"  # read when PyTorch is loaded

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402

# Inputs rounded to TF32 or to the type itself, with room for sums in another order.
LIMITS = {"fp32": 5e-3, "fp16": 2e-2}
# Batch, input channels, output channels, size, filter, stride.
SHAPES = [(16, 64, 64, 56, 3, 1), (16, 64, 256, 56, 1, 1), (8, 128, 128, 28, 3, 2), (32, 32, 64, 30, 5, 1), (4, 256, 256, 14, 3, 1)]


def main():
    torch.manual_seed(0)
    errors = {"fp32": 0.0, "fp16": 0.0}
    nan_results = {"fp32": 0, "fp16": 0}
    for batch, channels, filters, size, kernel, stride in SHAPES:
        for name, dtype in (("fp32", torch.float32), ("fp16", torch.float16)):
            last = torch.channels_last if dtype == torch.float16 else torch.contiguous_format
            x = torch.randn(batch, channels, size, size, device="cuda").to(dtype, memory_format=last)
            w = (torch.randn(filters, channels, kernel, kernel, device="cuda") / (channels * kernel ** 2) ** 0.5).to(
                dtype, memory_format=last)
            bias = torch.randn(filters, device="cuda").to(dtype)
            pads = [kernel // 2] * 2
            exact = functional.conv2d(x.double(), w.double(), bias.double(), stride, pads)
            z = torch.randn_like(exact).to(dtype, memory_format=last)
            for _ in range(3):
                plain = torch.cudnn_convolution_relu(x, w, bias, [stride] * 2, pads, [1, 1], 1)
                added = torch.cudnn_convolution_add_relu(x, w, z, 1.0, bias, [stride] * 2, pads, [1, 1], 1)
                for result, right in ((plain, exact.relu()), (added, (exact + z.double()).relu())):
                    off = (result.double() - right).abs().max() / right.square().mean().sqrt()
                    errors[name] = max(errors[name], off.item())
            x[0, 0, 0, 0] = float("nan")
            results = torch.cudnn_convolution_relu(x, w, bias, [stride] * 2, pads, [1, 1], 1)
            nan_results[name] += results.isnan().sum().item()
    print(json.dumps({"errors": errors, "limits": LIMITS, "nan_results": nan_results}))
    return int(any(not errors[name] <= limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
