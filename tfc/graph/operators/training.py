"""Steps of optimizers: each changes a variable, and its slots, by TensorFlow's own formulas.

Inputs that name variables are handles; the gradient and the numbers are values.
"""

from collections.abc import Callable
from typing import Any

from tfc import numpy as tnp
from tfc.graph.operators.registry import operator

_STEP = {"types": "", "infer": lambda *_: [], "effect": "write"}


@operator("ResourceApplyGradientDescent", **_STEP)
def gradient_descent(var: Any, alpha: Any, delta: Any, *, context: Any) -> None:
    """var -= alpha * delta"""
    context.write(var, context.read(var) - alpha * delta)


@operator("ResourceApplyProximalGradientDescent", **_STEP)
def proximal_gradient_descent(
    var: Any, alpha: Any, l1: Any, l2: Any, delta: Any, *, context: Any
) -> None:
    """A step, and then the nearest point by the penalties l1 |var| + l2 / 2 var^2."""
    context.write(var, _nearest(context.read(var) - alpha * delta, alpha, l1, l2))


def _nearest(x: Any, rate: Any, l1: Any, l2: Any) -> Any:
    return tnp.sign(x) * tnp.maximum(tnp.abs(x) - rate * l1, 0) / (1 + rate * l2)


@operator("ResourceApplyMomentum", **_STEP)
def momentum(
    var: Any,
    accum: Any,
    lr: Any,
    grad: Any,
    momentum: Any,
    *,
    use_nesterov: bool = False,
    context: Any,
) -> None:
    """accum = momentum * accum + grad; var -= lr * accum, or Nesterov's step"""
    gathered = context.read(accum) * momentum + grad
    step = grad * lr + gathered * momentum * lr if use_nesterov else gathered * lr
    context.write(accum, gathered)
    context.write(var, context.read(var) - step)


@operator("ResourceApplyKerasMomentum", **_STEP)
def keras_momentum(
    var: Any,
    accum: Any,
    lr: Any,
    grad: Any,
    momentum: Any,
    *,
    use_nesterov: bool = False,
    context: Any,
) -> None:
    """accum = momentum * accum - lr * grad; var += accum, or Nesterov's step"""
    gathered = context.read(accum) * momentum - grad * lr
    step = gathered * momentum - grad * lr if use_nesterov else gathered
    context.write(accum, gathered)
    context.write(var, context.read(var) + step)


def _signed(
    var: Any, m: Any, grad: Any, beta: Any, factor: Callable[[Any], Any], context: Any
) -> None:
    """A step whose size depends on whether the gradient and its average have one sign."""
    before = context.read(m)
    average = before * beta + grad * (1 - beta)
    context.write(m, average)
    context.write(var, context.read(var) - factor(tnp.sign(grad) * tnp.sign(average)) * grad)


@operator("ResourceApplyAddSign", **_STEP)
def add_sign(
    var: Any, m: Any, lr: Any, alpha: Any, sign_decay: Any, beta: Any, grad: Any, *, context: Any
) -> None:
    """var -= lr * (alpha + sign_decay * sign(grad) * sign(m)) * grad"""
    _signed(var, m, grad, beta, lambda agree: lr * (alpha + sign_decay * agree), context)


@operator("ResourceApplyPowerSign", **_STEP)
def power_sign(
    var: Any, m: Any, lr: Any, logbase: Any, sign_decay: Any, beta: Any, grad: Any, *, context: Any
) -> None:
    """var -= lr * exp(logbase * sign_decay * sign(grad) * sign(m)) * grad"""
    _signed(var, m, grad, beta, lambda agree: lr * tnp.exp(logbase * sign_decay * agree), context)


@operator("ResourceApplyAdaMax", **_STEP)
def adamax(
    var: Any,
    m: Any,
    v: Any,
    beta1_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
    *,
    context: Any,
) -> None:
    """Adam by the largest gradient, of which older ones count less."""
    average = context.read(m)
    average = average + (grad - average) * (1 - beta1)
    largest = tnp.maximum(beta2 * context.read(v), tnp.abs(grad))
    context.write(m, average)
    context.write(v, largest)
    rate = lr / (1 - beta1_power)
    context.write(var, context.read(var) - rate * (average / (largest + epsilon)))


@operator("ResourceApplyAdagradV2", **_STEP)
def adagrad_with_epsilon(
    var: Any,
    accum: Any,
    lr: Any,
    epsilon: Any,
    grad: Any,
    *,
    update_slots: bool = True,
    context: Any,
) -> None:
    """accum += grad^2; var -= lr * grad / (sqrt(accum) + epsilon)"""
    gathered = context.read(accum) + grad * grad if update_slots else context.read(accum)
    context.write(accum, gathered)
    context.write(var, context.read(var) - grad * lr / (tnp.sqrt(gathered) + epsilon))


@operator("ResourceApplyAdagradDA", **_STEP)
def adagrad_dual_averaging(
    var: Any,
    gradient_accumulator: Any,
    gradient_squared_accumulator: Any,
    grad: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    global_step: Any,
    *,
    context: Any,
) -> None:
    """The best point by all gradients so far, with penalties that grow with the steps."""
    total = context.read(gradient_accumulator) + grad
    squares = context.read(gradient_squared_accumulator) + grad * grad
    steps = tnp.astype(global_step, grad.dtype)
    cut = tnp.sign(total) * tnp.maximum(tnp.abs(total) - l1 * steps, 0)
    context.write(gradient_accumulator, total)
    context.write(gradient_squared_accumulator, squares)
    context.write(var, -lr * cut / (l2 * steps * lr + tnp.sqrt(squares)))


@operator("ResourceApplyAdam", **_STEP)
def adam(
    var: Any,
    m: Any,
    v: Any,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
    *,
    use_nesterov: bool = False,
    context: Any,
) -> None:
    """var -= lr sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon)"""
    rate = lr * tnp.sqrt(1 - beta2_power) / (1 - beta1_power)
    first, second = context.read(m), context.read(v)
    first = first + (grad - first) * (1 - beta1)
    second = second + (grad * grad - second) * (1 - beta2)
    direction = grad * (1 - beta1) + beta1 * first if use_nesterov else first
    context.write(m, first)
    context.write(v, second)
    context.write(var, context.read(var) - direction * rate / (tnp.sqrt(second) + epsilon))


@operator("ResourceApplyAdagrad", **_STEP)
def adagrad(
    var: Any, accum: Any, lr: Any, grad: Any, *, update_slots: bool = True, context: Any
) -> None:
    """accum += grad^2; var -= lr * grad / sqrt(accum)"""
    gathered = context.read(accum) + grad * grad if update_slots else context.read(accum)
    context.write(accum, gathered)
    context.write(var, context.read(var) - grad * lr / tnp.sqrt(gathered))


@operator("ResourceApplyProximalAdagrad", **_STEP)
def proximal_adagrad(
    var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any, *, context: Any
) -> None:
    """Adagrad's step, and then the nearest point by the penalties."""
    gathered = context.read(accum) + grad * grad
    rate = lr / tnp.sqrt(gathered)
    context.write(accum, gathered)
    context.write(var, _nearest(context.read(var) - grad * rate, rate, l1, l2))


@operator("ResourceApplyAdadelta", **_STEP)
def adadelta(
    var: Any,
    accum: Any,
    accum_update: Any,
    lr: Any,
    rho: Any,
    epsilon: Any,
    grad: Any,
    *,
    context: Any,
) -> None:
    """Steps of the gradients' own scale: both are averaged as squares."""
    gathered = context.read(accum) * rho + grad * grad * (1 - rho)
    before = context.read(accum_update)
    update = tnp.sqrt(before + epsilon) / tnp.sqrt(gathered + epsilon) * grad
    context.write(accum, gathered)
    context.write(accum_update, before * rho + update * update * (1 - rho))
    context.write(var, context.read(var) - update * lr)


@operator("ResourceApplyRMSProp", **_STEP)
def rms_prop(
    var: Any,
    ms: Any,
    mom: Any,
    lr: Any,
    rho: Any,
    momentum: Any,
    epsilon: Any,
    grad: Any,
    *,
    context: Any,
) -> None:
    """ms: the average of squares; mom = momentum * mom + lr * grad / sqrt(ms + epsilon)"""
    square = context.read(ms)
    square = square + (grad * grad - square) * (1 - rho)
    step = context.read(mom) * momentum + grad * lr / tnp.sqrt(square + epsilon)
    context.write(ms, square)
    context.write(mom, step)
    context.write(var, context.read(var) - step)


@operator("ResourceApplyCenteredRMSProp", **_STEP)
def centered_rms_prop(
    var: Any,
    mg: Any,
    ms: Any,
    mom: Any,
    lr: Any,
    rho: Any,
    momentum: Any,
    epsilon: Any,
    grad: Any,
    *,
    context: Any,
) -> None:
    """As ResourceApplyRMSProp, by the variance: the average of squares less the mean's square."""
    mean, square = context.read(mg), context.read(ms)
    mean = mean + (grad - mean) * (1 - rho)
    square = square + (grad * grad - square) * (1 - rho)
    deviation = tnp.sqrt(square - mean * mean + epsilon)
    step = context.read(mom) * momentum + grad * lr / deviation
    context.write(mg, mean)
    context.write(ms, square)
    context.write(mom, step)
    context.write(var, context.read(var) - step)


@operator("ResourceApplyFtrl", **_STEP)
def ftrl(
    var: Any,
    accum: Any,
    linear: Any,
    grad: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    lr_power: Any,
    *,
    multiply_linear_by_lr: bool = False,
    context: Any,
) -> None:
    """Follow the regularized leader."""
    numbers = lr, l1, l2, lr_power
    _ftrl((var, accum, linear), grad, grad, *numbers, multiply_linear_by_lr, context)


@operator("ResourceApplyFtrlV2", **_STEP)
def ftrl_with_shrinkage(
    var: Any,
    accum: Any,
    linear: Any,
    grad: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    l2_shrinkage: Any,
    lr_power: Any,
    *,
    multiply_linear_by_lr: bool = False,
    context: Any,
) -> None:
    """Follow the regularized leader, the variable shrunk by a penalty of the gradient's size."""
    shrunk = grad + 2 * l2_shrinkage * context.read(var)
    numbers = lr, l1, l2, lr_power
    _ftrl((var, accum, linear), grad, shrunk, *numbers, multiply_linear_by_lr, context)


def _ftrl(
    handles: tuple[Any, Any, Any],
    grad: Any,
    direction: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    lr_power: Any,
    is_scaled: bool,
    context: Any,
) -> None:
    """A step; `is_scaled`: what is kept of the gradients is times the rate."""
    x, before, gradients = (context.read(handle) for handle in handles)
    gathered = before + grad * grad
    rate = lr if is_scaled else tnp.ones_like(lr)  # of what is kept
    scale = tnp.power(gathered, -lr_power)
    change = scale - tnp.power(before, -lr_power)
    gradients = gradients + direction * rate - change / (lr / rate) * x
    moved = (l1 * rate * tnp.sign(gradients) - gradients) / (scale / (lr / rate) + 2 * l2 * rate)
    is_far = tnp.abs(gradients) > l1 * rate
    context.write(handles[0], tnp.where(is_far, moved, tnp.zeros_like(moved)))
    context.write(handles[1], gathered)
    context.write(handles[2], gradients)
