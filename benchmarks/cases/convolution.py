"""Convolutions and max-pooling, with their gradients. JAX's data is NHWC, its kernels HWIO.

PyTorch is given the same bytes of data as NCHW views ("channels last", which its convolutions are
fastest on), and ONNX Runtime NCHW.
"""

from typing import Any

from benchmarks.case import Case, Torch, flops, normal, traffic

_AIMS = {"best": 1.0}


def _channels_first(torch: Any, x: Any, *kernels: Any) -> tuple[Any, ...]:
    """NHWC and HWIO to NCHW and OIHW; what follows the kernel is data again."""
    turned = [k.permute(3, 2, 0, 1).contiguous() for k in kernels[:1]]
    return (x.permute(0, 3, 1, 2), *turned, *(g.permute(0, 3, 1, 2) for g in kernels[1:]))


def _channels_last(torch: Any, results: Any) -> Any:
    """NCHW back to NHWC; of a pair of gradients the second is a kernel's."""
    if isinstance(results, tuple):
        return results[0].permute(0, 2, 3, 1), results[1].permute(2, 3, 1, 0)
    return results.permute(0, 2, 3, 1)


def _convolution(
    name: str,
    size: int,
    inputs: int,
    outputs: int,
    kernel: int,
    stride: int = 1,
    groups: int = 1,
    batch: int = 8,
) -> list[Case]:
    """The forward pass and both gradients of a convolution of square images."""
    padding = kernel // 2

    def forward(jax: Any, x: Any, w: Any) -> Any:
        return jax.lax.conv_general_dilated(
            x, w, (stride, stride), ((padding, padding),) * 2,
            dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups,
        )  # fmt: skip

    def gradients(jax: Any, x: Any, w: Any, g: Any) -> Any:
        return jax.vjp(lambda x, w: forward(jax, x, w), x, w)[1](g)

    def forward_torch(torch: Any, x: Any, w: Any) -> Any:
        return torch.nn.functional.conv2d(x, w, None, stride, padding, 1, groups)

    def gradients_torch(torch: Any, x: Any, w: Any, g: Any) -> Any:
        return torch.ops.aten.convolution_backward(
            g, x, w, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups,
            (True, True, False),
        )[:2]  # fmt: skip

    def dims(batch: int, size: int) -> tuple[tuple[int, ...], ...]:
        out = (size - 1) // stride + 1
        w = (kernel, kernel, inputs // groups, outputs)
        return (batch, size, size, inputs), w, (batch, out, out, outputs)

    full, small = dims(batch, size), dims(1, 8)
    pixels = full[2][0] * full[2][1] * full[2][2]
    count = 2 * pixels * kernel**2 * (inputs // groups) * outputs
    stated = {"tolerance": 1e-4, "aims": _AIMS}
    return [
        Case(
            "convolution", name, forward, normal(*full[:2]), normal(*small[:2]),
            torch=Torch(forward_torch, _channels_first, _channels_last),
            work=flops(count), **stated,
        ),
        Case(
            "convolution", f"{name}, gradients", gradients, normal(*full), normal(*small),
            torch=Torch(gradients_torch, _channels_first, _channels_last, exported=False),
            work=flops(2 * count), **stated,
        ),
    ]  # fmt: skip


def _max_pool(jax: Any, x: Any) -> Any:
    return jax.lax.reduce_window(
        x, -jax.numpy.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (1, 1), (0, 0))
    )


def _max_pool_gradient(jax: Any, x: Any, g: Any) -> Any:
    return jax.vjp(lambda x: _max_pool(jax, x), x)[1](g)[0]


def _max_pool_torch(torch: Any, x: Any) -> Any:
    return torch.nn.functional.max_pool2d(x, 3, 2, 1)


def _max_pool_gradient_torch(torch: Any, x: Any, g: Any) -> Any:
    x = x.detach().requires_grad_()
    return torch.autograd.grad(_max_pool_torch(torch, x), x, g)[0]


def _images_first(torch: Any, *images: Any) -> tuple[Any, ...]:
    return tuple(x.permute(0, 3, 1, 2) for x in images)


_IMAGES, _POOLED = (8, 112, 112, 64), (8, 56, 56, 64)

CASES = [
    *_convolution("3×3, 8×56×56×64", 56, 64, 64, 3),
    *_convolution("1×1, 8×56×56, 256 → 64", 56, 256, 64, 1),
    *_convolution("7×7/2, 8×224×224, 3 → 64", 224, 3, 64, 7, stride=2),
    *_convolution("depthwise 3×3, 8×56×56×128", 56, 128, 128, 3, groups=128),
    Case(
        "convolution", "max-pool 3×3/2, 8×112×112×64", _max_pool, normal(_IMAGES),
        normal((1, 8, 8, 4)), torch=Torch(_max_pool_torch, _images_first, _channels_last),
        work=traffic(5 * 8 * 112 * 112 * 64), tolerance=0,
    ),
    Case(
        "convolution", "max-pool, gradient", _max_pool_gradient, normal(_IMAGES, _POOLED),
        normal((1, 8, 8, 4), (1, 4, 4, 4)),
        torch=Torch(_max_pool_gradient_torch, _images_first, _channels_last, exported=False),
        work=traffic(9 * 8 * 112 * 112 * 64),
    ),
]  # fmt: skip
