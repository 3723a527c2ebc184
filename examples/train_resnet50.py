# SPDX-License-Identifier: Apache-2.0
"""An ordinary PyTorch job that knows nothing of cudnn-tune: ResNet-50, mixed precision, channels-last, random pictures."""
import time

import torch
import torchvision

STEPS, BATCH = 50, 64
torch.backends.cudnn.benchmark = True

model = torchvision.models.resnet50().cuda().to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler()
images = torch.randn(BATCH, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
labels = torch.randint(1000, (BATCH,), device="cuda")
torch.cuda.synchronize()


def step():
    with torch.autocast("cuda", dtype=torch.float16):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    torch.cuda.synchronize()


start = time.perf_counter()
step()
print(f"first step: {time.perf_counter() - start:.2f} s", flush=True)
start = time.perf_counter()
for _ in range(STEPS):
    step()
print(f"then {1e3 * (time.perf_counter() - start) / STEPS:.1f} ms a step")
