"""Recurrent layers: RNN, GRU, LSTM."""
import numpy as np

from case import Case, generator
from explained import REFERENCE, explained

# Activation functions with the ranges of alpha and beta, where they have them.
ACTIVATIONS = {
    "Relu": (), "Tanh": (), "Sigmoid": (), "Affine": ((0.5, 1.0), (-0.2, 0.2)),
    "LeakyRelu": ((0.01, 0.3),), "ThresholdedRelu": ((0.1, 0.5),),
    "ScaledTanh": ((0.5, 1.0), (0.5, 1.0)), "HardSigmoid": ((0.1, 0.3), (0.4, 0.6)),
    "Elu": ((0.5, 1.0),), "Softsign": (), "Softplus": (),
}


def _activations(random, count, directions, attributes):
    """Each with all the parameters it takes: the lists are read in the order of the functions."""
    names = [random.choice(ACTIVATIONS) for _ in range(count * directions)]
    attributes["activations"] = names
    for i, attribute in enumerate(("activation_alpha", "activation_beta")):
        values = [random.uniform(*ACTIVATIONS[n][i]) for n in names if len(ACTIVATIONS[n]) > i]
        if values:
            attributes[attribute] = values


def _layer(random, schema, gates, functions, states):
    """The case of a layer with this number of gates, activation functions, and states."""
    attributes = {}
    dtype = random.dtype(schema, "T")
    # ONNX Runtime has float32 in the layout 0 alone; the evaluator ignores sequence_lens, clip,
    # most activations and input_forget.
    special = random.chance(0.5)
    if special and random.chance(0.95):
        dtype = np.dtype(np.float32)
    direction = random.choice(("forward", "reverse", "bidirectional"))
    if direction != "forward" or random.chance(0.3):
        attributes["direction"] = direction
    directions = 2 if direction == "bidirectional" else 1
    batch, length = random.integer(1, 3), random.integer(1, 5)
    # Sometimes more than a vector holds.
    size, hidden = (random.integer(1, 40 if random.chance(0.2) else 4) for _ in range(2))
    if random.chance(0.7):
        attributes["hidden_size"] = hidden
    layout = int("layout" in schema.attributes and random.chance(0.05 if special else 0.3))
    if layout:
        attributes["layout"] = 1
    if schema.since_version < 7 and random.chance(0.3):
        attributes["output_sequence"] = 1
    if special and random.chance(0.5):
        _activations(random, functions, directions, attributes)
    if special and random.chance(0.3):
        attributes["clip"] = random.uniform(0.3, 3.0)
    state = (batch, directions, hidden) if layout else (directions, batch, hidden)
    inputs = [random.array(dtype, (batch, length, size) if layout else (length, batch, size), -2, 2),
              random.array(dtype, (directions, gates * hidden, size), -0.5, 0.5),
              random.array(dtype, (directions, gates * hidden, hidden), -0.5, 0.5),
              random.array(dtype, (directions, 2 * gates * hidden), -0.5, 0.5)
              if random.chance(0.6) else None,
              random.array(np.int32, (batch,), 1, length) if special and random.chance(0.5) else None]
    inputs += [random.array(dtype, state, -1, 1) if random.chance(0.4) else None
               for _ in range(states)]
    # Types of half a word are rounded at each gate of each step, whose inputs reach about 8.
    ulps = 32.0 * length if dtype.itemsize == 2 else None
    return Case(inputs, attributes, outputs=random.integer(1, 1 + states), ulps=ulps, scale=1.0,
                weights=(1, 2, 3))


@generator("RNN", prefer=(7, 14, 22, 22))
def rnn(random, schema):
    return _layer(random, schema, 1, 1, 1)


@generator("GRU", prefer=(7, 14, 22, 22))
def gru(random, schema):
    case = _layer(random, schema, 3, 2, 1)
    if "linear_before_reset" in schema.attributes and random.chance():
        case.attributes["linear_before_reset"] = random.integer(0, 1)
    if schema.since_version == 1:
        case.attributes.setdefault("direction", "forward")  # the schema's default is misspelt
        case.outputs = 2
    return case


@generator("LSTM", prefer=(7, 14, 22, 22))
def lstm(random, schema):
    case = _layer(random, schema, 4, 3, 2)
    dtype, hidden = case.inputs[0].dtype, case.inputs[2].shape[2]
    peepholes = (case.inputs[1].shape[0], 3 * hidden)
    case.inputs.append(random.array(dtype, peepholes, -0.5, 0.5) if random.chance(0.3) else None)
    if dtype == np.float32 and random.chance(0.2):
        case.attributes["input_forget"] = 1
    return case


@explained(("RNN", "GRU", "LSTM"), REFERENCE,
           "the evaluator ignores sequence_lens, clip, activations and input_forget")
def _ignores_options(case, ours, theirs):
    return case.inputs[4] is not None or any(
        name in case.attributes for name in ("clip", "activations", "input_forget"))
