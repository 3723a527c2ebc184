# SPDX-License-Identifier: Apache-2.0
"""Four models under PyTorch's default (graph) path, each in eight settings that cover every pair of values of precision,
layout, benchmark, deterministic and allow_tf32, all in one process: an ordinary program that knows nothing of
cudnn-tune. --save keeps a sample of every output and gradient, and how far they are from the same without cuDNN (PyTorch's
own kernels): engines round differently, and batch normalisation at random weights magnifies that. --compare says how far
off this run's are. Prints a line of JSON a case and exits with 1 if one is off by more than its tolerance."""

import argparse
import json
import sys
import time

import torch

from torch_models import make_model, off_by

# precision, channels last, benchmark, deterministic, allow_tf32
SETTINGS = [("fp32", False, False, False, True), ("fp32", True, True, True, False), ("amp", False, True, False, False),
            ("amp", True, False, True, True), ("fp32", True, False, False, False), ("amp", False, False, True, False),
            ("fp32", False, True, True, True), ("amp", True, True, False, True)]
# Of outputs and of gradients, relative RMS; beyond it, three times the distance from PyTorch's own kernels is allowed.
TOLERANCE = {"fp32": (1e-4, 1e-3), "tf32": (5e-3, 5e-2), "amp": (2e-2, 1e-1)}
SAMPLE = 4096  # elements of a tensor that are kept


def sample(tensor):
    flat = tensor.detach().float().flatten()
    return flat[:: max(1, flat.numel() // SAMPLE)].cpu()


def run(name, setting, batch):
    precision, channels_last, benchmark, deterministic, tf32 = setting
    torch.backends.cudnn.benchmark = benchmark
    torch.backends.cudnn.deterministic = deterministic
    torch.backends.cudnn.allow_tf32 = tf32
    torch.manual_seed(0)
    model, shape = make_model(name)
    model = model.cuda()
    x = torch.randn(batch, *shape).cuda()
    if channels_last and x.dim() == 4:
        model = model.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    torch.cuda.synchronize()
    start = time.perf_counter()
    with torch.autocast("cuda", dtype=torch.float16, enabled=precision == "amp"):
        outputs = model(x)
    outputs.float().square().mean().backward()
    torch.cuda.synchronize()
    first_step_s = time.perf_counter() - start
    gradients = [sample(p.grad) for p in model.parameters() if p.grad is not None]
    return first_step_s, [sample(outputs)], gradients


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", default=["resnet50", "mobilenet_v2", "unet", "wav2vec"])
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--save", metavar="FILE")
    parser.add_argument("--compare", metavar="FILE")
    arguments = parser.parse_args()
    reference = torch.load(arguments.compare) if arguments.compare else {}
    kept = {}
    worst_ok = True
    for name in arguments.models:
        for index, setting in enumerate(SETTINGS):
            first_step_s, outputs, gradients = run(name, setting, arguments.batch)
            kept[name, index] = (outputs, gradients)
            if arguments.save:
                torch.backends.cudnn.enabled = False
                _, other_outputs, other_gradients = run(name, setting, arguments.batch)
                torch.backends.cudnn.enabled = True
                kept[name, index] += (off_by(other_outputs, outputs), off_by(other_gradients, gradients))
            report = {"model": name, "setting": index, "precision": setting[0], "channels_last": setting[1],
                      "benchmark": setting[2], "deterministic": setting[3], "tf32": setting[4],
                      "first_step_s": round(first_step_s, 3)}
            if (name, index) in reference:
                kind = "amp" if setting[0] == "amp" else "tf32" if setting[4] else "fp32"
                report["output_error"] = off_by(outputs, reference[name, index][0])
                report["gradient_error"] = off_by(gradients, reference[name, index][1])
                report["own_output_error"], report["own_gradient_error"] = reference[name, index][2:]
                report["ok"] = (report["output_error"] <= max(TOLERANCE[kind][0], 3 * report["own_output_error"])
                                and report["gradient_error"] <= max(TOLERANCE[kind][1],
                                                                    3 * report["own_gradient_error"]))
                worst_ok = worst_ok and report["ok"]
            print(json.dumps(report), flush=True)
    if arguments.save:
        torch.save(kept, arguments.save)
    sys.exit(0 if worst_ok else 1)


if __name__ == "__main__":
    main()
