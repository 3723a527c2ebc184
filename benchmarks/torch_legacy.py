# SPDX-License-Identifier: Apache-2.0
"""A training step of ResNet-50 over cuDNN's legacy API: PyTorch as it is, told by its own variable to use that API.
Prints one line of JSON; --save and --compare judge outputs and gradients of the first step."""

import os

os.environ["TORCH_CUDNN_V8_API_DISABLED"] = "1"  # read when PyTorch is loaded

import torch_models  # noqa: E402

if __name__ == "__main__":
    torch_models.main()
