# SPDX-License-Identifier: Apache-2.0
"""A jitted convolution and its gradients under JAX, which finds cuDNN with dlsym: an ordinary program that knows nothing
of cudnn-tune. Compares with NumPy on the host; prints a line of JSON; exits with 1 if a result is wrong."""

import json
import os
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402


def reference(x, w):
    """Forward 3x3 convolution with padding 1 in float64."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return np.einsum("ncyxrs,kcrs->nkyx", windows, w.astype(np.float64), optimize=True)


def main():
    random = np.random.default_rng(0)
    x = random.standard_normal((4, 16, 20, 20), dtype=np.float32)
    w = random.standard_normal((24, 16, 3, 3), dtype=np.float32) / 12
    convolve = jax.jit(lambda x, w: jax.lax.conv(x, w, (1, 1), "SAME"))
    gradients = jax.jit(jax.grad(lambda x, w: 0.5 * (jax.lax.conv(x, w, (1, 1), "SAME") ** 2).sum(), argnums=(0, 1)))
    start = time.perf_counter()
    y = np.asarray(convolve(jnp.asarray(x), jnp.asarray(w)))
    dx, dw = (np.asarray(g) for g in gradients(jnp.asarray(x), jnp.asarray(w)))
    seconds = time.perf_counter() - start
    exact = reference(x, w)
    exact_dx = reference(exact, np.flip(w, (2, 3)).transpose(1, 0, 2, 3))
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    exact_dw = np.einsum("ncyxrs,nkyx->kcrs", windows, exact, optimize=True)

    def error(a, b):
        return float(np.sqrt(np.square(a - b).mean() / np.square(b).mean()))

    errors = {"y": error(y, exact), "dx": error(dx, exact_dx), "dw": error(dw, exact_dw)}
    ok = all(value < 5e-3 for value in errors.values())  # TF32
    print(json.dumps({"jax": jax.__version__, "seconds": round(seconds, 3), "errors": errors, "ok": ok}))
    sys.exit(0 if ok else 1)


if __name__ == "__main__":
    main()
