#!/usr/bin/python3
"""The gradients of gradient_cases.py by PyTorch's autograd, first and second order, for gradient.py, which
runs in another interpreter and hands the arrays over in a file.

usage: gradient_torch.py GIVEN.npz FOUND.npz
"""
import sys

import numpy as np

try:
    import torch
except ImportError:
    sys.exit(77)

import gradient_cases


def gradients(case, given, order):
    """Of the bent output; second order: of those gradients times the turns."""
    count = len(case.variables)
    xs = [torch.tensor(given[f"{case.name}/value/{i}"], requires_grad=True) for i in range(count)]
    total = torch.sin(1.3 * case.function(*xs) + 0.7).sum()
    for _ in range(order):
        if not total.requires_grad:  # nothing depends on them any more
            return [torch.zeros_like(x) for x in xs]
        found = torch.autograd.grad(total, xs, create_graph=True, allow_unused=True)
        found = [torch.zeros_like(x) if f is None else f for f, x in zip(found, xs)]
        total = sum((f * torch.tensor(given[f"{case.name}/turn/{i}"])).sum()
                    for i, f in enumerate(found))
    return found


def main():
    found = {}
    with np.load(sys.argv[1]) as given:
        for case in gradient_cases.CASES:
            if not case.function or f"{case.name}/value/0" not in given:
                continue
            for order in (1, 2) if case.second else (1,):
                try:
                    results = gradients(case, given, order)
                except RuntimeError as error:
                    sys.exit(f"{case.name}: {error}")
                for i, one in enumerate(results):
                    # A tensor that PyTorch knows to be zero may have no memory: the sum has.
                    whole = torch.zeros(one.shape, dtype=one.dtype) + one
                    found[f"{case.name}/{order}/{i}"] = whole.detach().numpy()
    np.savez(sys.argv[2], **found)


if __name__ == "__main__":
    main()
