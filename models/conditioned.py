"""Random weights that behave like trained ones: activations near unit scale.

Untrained networks often output numbers that hardly depend on their input, or
that overflow; comparing two engines on those says little. Runs where torch is.
"""

import torch
from torch import nn

# BatchNorm sees a whole batch at a time: with fewer pictures in one, its
# statistics fit those too closely and others come out far too large.
CALIBRATION_BATCHES = 2
CALIBRATION_SIZE = 8


def images(count, height, width, generator):
    """Smooth random pictures with some noise, roughly of mean 0 and deviation 1.

    White noise alone would average out in the pooling layers and make every
    picture look the same to the classifier.
    """
    coarse = torch.randn(count, 3, 7, 7, generator=generator)
    smooth = nn.functional.interpolate(
        coarse, size=(height, width), mode="bilinear", align_corners=False)
    return smooth + 0.3 * torch.randn(count, 3, height, width, generator=generator)


def _fill_weight(weight, generator, gain):
    """Scales by the inputs each output sums up, so that variance is kept."""
    fan_in = weight[0].numel()
    weight.normal_(0.0, gain / fan_in ** 0.5, generator=generator)


@torch.no_grad()
def initialise(model, generator, branch_end=None):
    """Gives every parameter of the model a random value.

    branch_end is what the model calls the norm at the end of a residual branch.
    Its gain is then small, as training makes it: where each of many branches
    weighs as much as what it is added to, rounding errors grow from block to
    block until they show in the output.
    """
    for path, module in model.named_modules():
        own = dict(module.named_parameters(recurse=False))
        if isinstance(module, (nn.Conv2d, nn.Linear)):
            # Rectifiers lose half of the variance; the factor 2 restores it.
            gain = 2.0 ** 0.5 if isinstance(module, nn.Conv2d) else 1.0
            _fill_weight(own.pop("weight"), generator, gain)
        elif isinstance(module, (nn.modules.batchnorm._BatchNorm, nn.LayerNorm)):
            scale = 0.25 if branch_end and path.endswith(f".{branch_end}") else 1.0
            own.pop("weight").uniform_(0.8 * scale, 1.2 * scale, generator=generator)
        for name, parameter in own.items():
            if name.endswith("bias"):
                parameter.normal_(0.0, 0.1, generator=generator)
            elif name.endswith("weight") and parameter.dim() == 2:
                _fill_weight(parameter, generator, 1.0)  # a packed projection
            else:
                # Tokens, position tables, layer scales: large enough to show
                # in the output, unlike their usual starting values.
                parameter.normal_(0.0, 0.5, generator=generator)


@torch.no_grad()
def calibrate(model, height, width, generator):
    """Sets BatchNorm's running statistics to what random pictures cause."""
    norms = [module for module in model.modules()
             if isinstance(module, nn.modules.batchnorm._BatchNorm)]
    model.eval()
    if not norms:
        return
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # average all batches instead of forgetting
        norm.train()
    for _ in range(CALIBRATION_BATCHES):
        model(images(CALIBRATION_SIZE, height, width, generator))
    model.eval()
