# SPDX-License-Identifier: Apache-2.0
"""Steps of a model under PyTorch: an ordinary program that knows nothing of cudnn-tune. Prints one line of JSON with the
time of the first step (what choosing costs is in it), the median of the later ones, and the GPU time of the convolution
kernels of one step. --save writes the outputs and gradients of the first step, --compare says how far off they are.
--loss-curve trains on a few random pictures and prints the loss of every step."""

import argparse
import ctypes
import json
import statistics
import time

import torch
from torch import nn


class UNet(nn.Module):
    """A small 2-D U-Net: two levels, transposed convolutions on the way up."""

    def __init__(self):
        super().__init__()

        def block(channels_in, channels_out):
            return nn.Sequential(nn.Conv2d(channels_in, channels_out, 3, padding=1), nn.ReLU(),
                                 nn.Conv2d(channels_out, channels_out, 3, padding=1), nn.ReLU())

        self.down = nn.ModuleList([block(3, 32), block(32, 64)])
        self.bottom = block(64, 128)
        self.up = nn.ModuleList([nn.ConvTranspose2d(128, 64, 2, stride=2), nn.ConvTranspose2d(64, 32, 2, stride=2)])
        self.join = nn.ModuleList([block(128, 64), block(64, 32)])
        self.last = nn.Conv2d(32, 2, 1)

    def forward(self, x):
        skipped = []
        for block in self.down:
            x = block(x)
            skipped.append(x)
            x = nn.functional.max_pool2d(x, 2)
        x = self.bottom(x)
        for up, join in zip(self.up, self.join):
            x = join(torch.cat([up(x), skipped.pop()], dim=1))
        return self.last(x)


def wav2vec():
    """The 1-D convolutions in front of wav2vec 2.0."""
    layers = []
    channels = 1
    for kernel, stride in [(10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2)]:
        layers += [nn.Conv1d(channels, 512, kernel, stride=stride, bias=False), nn.GELU()]
        channels = 512
    return nn.Sequential(*layers)


def make_model(name):
    """The model, and the shape of its input for one sample."""
    if name == "unet":
        return UNet(), (3, 192, 192)
    if name == "wav2vec":
        return wav2vec(), (1, 80000)
    import torchvision
    return getattr(torchvision.models, name)(weights=None), (3, 224, 224)


def step(model, optimizer, x, arguments):
    """One step; its outputs."""
    with torch.autocast("cuda", dtype=torch.float16, enabled=arguments.amp):
        outputs = model(x)
    if not arguments.forward_only:
        optimizer.zero_grad(set_to_none=True)
        outputs.float().square().mean().backward()
    return outputs


def convolution_ms(model, optimizer, x, arguments):
    """GPU time of the kernels that the convolution operators started in one step; nothing if it cannot be measured."""
    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                                torch.profiler.ProfilerActivity.CUDA]) as profile:
            step(model, optimizer, x, arguments)
            torch.cuda.synchronize()
    except RuntimeError:
        return None
    operators = {"aten::cudnn_convolution", "aten::cudnn_convolution_transpose", "aten::convolution_backward",
                 "aten::_conv_depthwise2d", "aten::cudnn_convolution_relu"}
    time_us = sum(getattr(event, "self_device_time_total", 0) for event in profile.key_averages()
                  if event.key in operators)
    return time_us / 1e3 if time_us > 0 else None


def loss_curve(arguments, memory_format):
    """The losses of that many training steps of a fresh model, in single precision, on four batches that repeat."""
    torch.manual_seed(1)
    model, shape = make_model(arguments.model)
    model = model.cuda().to(memory_format=memory_format)
    with torch.no_grad():  # what rounding alone does to a training; TF32 rounds all of them by up to half as much
        next(model.parameters()).view(-1)[0] *= 1 + arguments.nudge / 1024
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    batches = [(torch.randn(arguments.batch, *shape).cuda().to(memory_format=memory_format),
                torch.randint(0, 1000, (arguments.batch,)).cuda()) for _ in range(4)]
    losses = []
    for i in range(arguments.loss_curve):
        x, labels = batches[i % len(batches)]
        loss = nn.functional.cross_entropy(model(x), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [loss.item() for loss in losses]


def read_call_times():
    """By the name of a call: how often it was made so far, the milliseconds that it took, and the longest ones'."""
    read = ctypes.CDLL(None).call_times_json
    read.restype = ctypes.c_char_p
    return json.loads(read())


def off_by(these, those):
    """The root mean square of a tensor's difference from its counterpart, relative to that one's: the largest."""
    return max(((a.double() - b.double()).square().mean().sqrt() / b.double().square().mean().sqrt().clamp_min(1e-30))
               .item() for a, b in zip(these, those, strict=True))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="resnet50", help="unet, wav2vec or one of torchvision's")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=20, help="after the first")
    parser.add_argument("--amp", action="store_true", help="automatic mixed precision, fp16")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--benchmark", action="store_true", help="torch.backends.cudnn.benchmark")
    parser.add_argument("--deterministic", action="store_true", help="torch.backends.cudnn.deterministic")
    parser.add_argument("--no-tf32", action="store_true", help="torch.backends.cudnn.allow_tf32 = False")
    parser.add_argument("--forward-only", action="store_true")
    parser.add_argument("--no-profile", action="store_true", help="leave out the time of the convolution kernels")
    parser.add_argument("--call-times", action="store_true",
                        help="what libcall_times.so, preloaded, counted until the end of the first step")
    parser.add_argument("--loss-curve", type=int, default=0, metavar="N", help="of a model that classifies pictures")
    parser.add_argument("--nudge", type=int, default=0, metavar="N",
                        help="of --loss-curve: begin with one weight that is N units of TF32 (1/1024) larger")
    parser.add_argument("--save", metavar="FILE")
    parser.add_argument("--compare", metavar="FILE", help="what another run saved")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    torch.backends.cudnn.benchmark = arguments.benchmark
    torch.backends.cudnn.deterministic = arguments.deterministic
    torch.backends.cudnn.allow_tf32 = not arguments.no_tf32
    torch.manual_seed(0)
    model, shape = make_model(arguments.model)
    memory_format = torch.channels_last if arguments.channels_last else torch.contiguous_format
    model = model.cuda().to(memory_format=memory_format)
    x = torch.randn(arguments.batch, *shape).cuda()
    if x.dim() == 4:
        x = x.to(memory_format=memory_format)
    # No learning rate: every step does the same work on the same numbers.
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    torch.cuda.synchronize()

    before = read_call_times() if arguments.call_times else {}
    start = time.perf_counter()
    outputs = step(model, optimizer, x, arguments)
    torch.cuda.synchronize()
    first_step_s = time.perf_counter() - start
    after = read_call_times() if arguments.call_times else {}
    results = {"outputs": [outputs.detach().float().cpu()],
               "gradients": [p.grad.float().cpu() for p in model.parameters() if p.grad is not None]}

    times_ms = []
    for _ in range(arguments.steps):
        start = time.perf_counter()
        step(model, optimizer, x, arguments)
        torch.cuda.synchronize()
        times_ms.append(1e3 * (time.perf_counter() - start))
    report = {"model": arguments.model, "gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
              "cudnn": torch.backends.cudnn.version(), "benchmark": arguments.benchmark, "first_step_s": first_step_s,
              "step_ms": statistics.median(times_ms) if times_ms else 0.0,
              "convolution_ms": None if arguments.no_profile else convolution_ms(model, optimizer, x, arguments)}
    if arguments.call_times:
        report["call_times"] = {name: [count - before[name][0], round(time_ms - before[name][1], 1), longest_ms]
                                for name, (count, time_ms, longest_ms) in after.items()}
    if arguments.loss_curve:
        report["losses"] = loss_curve(arguments, memory_format)
    if arguments.save:
        torch.save(results, arguments.save)
    if arguments.compare:
        saved = torch.load(arguments.compare)
        report["output_error"] = off_by(results["outputs"], saved["outputs"])
        report["gradient_error"] = off_by(results["gradients"], saved["gradients"]) if results["gradients"] else None
    print(json.dumps(report))


if __name__ == "__main__":
    main()
