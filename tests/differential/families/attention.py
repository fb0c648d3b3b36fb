"""Attention: scaled dot products, the linear kind, programmable scores, rotary positions."""
import math

import numpy as np
from onnx import TensorProto, helper

from case import Case, generator, onnx_dtype
from explained import ORT, REFERENCE, explained

EXACT_SCALES = (0.0625, 0.25, 0.5625, 1.0, 2.25)  # with roots that float32 holds


def _ulps(attributes, *dtypes):
    """Types of half a word are rounded after each product, and the softmax takes powers of them:
    scores of size 8 with an error of half a unit move a weight by 4 units. Of doubles, the standard's
    functions compute the root of the scale in float32, and the softmax where it is asked for."""
    if any(t.itemsize == 2 for t in dtypes):
        return 32.0
    exact = attributes.get("scale") in EXACT_SCALES and attributes.get("softmax_precision") != 1
    return None if dtypes[0] == np.float32 or exact else 64 * 2.0 ** 29


def _scale(random, dtype):
    if dtype == np.float64 and random.chance(0.7):
        return {"scale": random.choice(EXACT_SCALES)}
    return {"scale": random.uniform(0.1, 1.5)} if random.chance(0.3) else {}


def _sizes(random):
    """Batch, heads of queries and of keys, lengths, head sizes."""
    kv_heads = random.integer(1, 3)
    heads = kv_heads * random.choice((1, 1, 2, 3))
    return (random.integer(1, 3), heads, kv_heads, random.integer(1, 5), random.integer(1, 6),
            random.integer(1, 4), random.integer(1, 4))


def _packed(array):
    """(batch, heads, length, size) as (batch, length, heads * size)."""
    batch, heads, length, size = array.shape
    return np.ascontiguousarray(array.transpose(0, 2, 1, 3)).reshape(batch, length, heads * size)


def _mask(random, dtype, whole, total):
    """A mask that broadcasts to the whole shape, of booleans or of the queries' type (the schema's
    other types have no meaning)."""
    shape = whole[-random.integer(2, 4):]
    shape = (*(1 if random.chance(0.3) else n for n in shape[:-1]), total)
    if random.chance(0.5):
        mask = random.array(np.bool_, shape)
        if random.chance(0.9):
            mask[..., 0] = True  # else some rows may have no key at all
        return mask
    return random.array(dtype, shape, -2, 2)


@generator("Attention")
def attention(random, schema):
    batch, heads, kv_heads, length, kv_length, size, v_size = _sizes(random)
    dtype = random.dtype(schema, "T1")
    v_dtype = random.dtype(schema, "T2") if random.chance(0.05) else dtype
    attributes, known = {}, schema.attributes
    q = random.array(dtype, (batch, heads, length, size), -2, 2)
    k = random.array(dtype, (batch, kv_heads, kv_length, size), -2, 2)
    v = random.array(v_dtype, (batch, kv_heads, kv_length, v_size), -2, 2)
    past_key = past_value = nonpad = None
    past = 0
    if random.chance(0.3):
        past = random.integer(1, 4)
        past_key = random.array(dtype, (batch, kv_heads, past, size), -2, 2)
        past_value = random.array(v_dtype, (batch, kv_heads, past, v_size), -2, 2)
    elif len(schema.inputs) > 6 and random.chance(0.2):
        nonpad = random.array(np.int64, (batch,), 1, kv_length)
    total = past + kv_length
    mask = None
    if random.chance(0.5):
        shorter = schema.since_version >= 24 and random.chance(0.1)
        least = int(nonpad.max()) if nonpad is not None else 1
        width = random.integer(least, total) if shorter else total
        mask = _mask(random, dtype, (batch, heads, length, total), width)
    if random.chance(0.3):
        attributes["is_causal"] = random.integer(0, 1)
    attributes.update(_scale(random, dtype))
    if random.chance(0.2):
        attributes["softcap"] = random.uniform(0.5, 5.0)
    if random.chance(0.2):
        attributes["softmax_precision"] = random.choice((1, 1, onnx_dtype(dtype)))
    if "left_window_size" in known and random.chance(0.3):
        attributes["left_window_size"] = random.choice((-1, 0, 1, 2))
        attributes["right_window_size"] = random.choice((-1, 0, 1))
    outputs = 1
    if past:  # present keys and values come with past ones
        outputs = random.integer(3, 4)
        if outputs == 4:
            attributes["qk_matmul_output_mode"] = random.integer(0, 3)
    if random.chance(0.4):
        attributes["q_num_heads"], attributes["kv_num_heads"] = heads, kv_heads
        q, k, v = _packed(q), _packed(k), _packed(v)
    inputs = [q, k, v, mask, past_key, past_value]
    if len(schema.inputs) > 6:
        inputs.append(nonpad)
    return Case(inputs, attributes, outputs=outputs, ulps=_ulps(attributes, dtype, v_dtype),
                scale=2.0)


def _modifier(element, name, operator, constant):
    """A subgraph of one input and one node (with a constant beside it, if it takes two)."""
    shape = [None] * 4
    value = helper.make_tensor_value_info("given", element, shape)
    result = helper.make_tensor_value_info("modified", element, shape)
    nodes, names = [], ["given"]
    if constant is not None:
        nodes.append(helper.make_node("Constant", [], ["constant"], value=helper.make_tensor(
            "value", element, [], [constant])))
        names.append("constant")
    nodes.append(helper.make_node(operator, names, ["modified"]))
    return helper.make_graph(nodes, name, [value], [result])


@generator("FlexAttention", domain="ai.onnx.preview")
def flex_attention(random, schema):
    batch, heads, kv_heads, length, kv_length, size, v_size = _sizes(random)
    dtype = random.dtype(schema, "T1")
    attributes = {}
    precision = TensorProto.DOUBLE if dtype == np.float64 else TensorProto.FLOAT
    if random.chance(0.3):
        precision = random.choice((TensorProto.FLOAT, TensorProto.DOUBLE, onnx_dtype(dtype)))
        attributes["softmax_precision"] = precision
    attributes.update(_scale(random, dtype))
    if random.chance(0.4):
        attributes["score_mod"] = _modifier(precision, "score", *random.choice(
            (("Tanh", None), ("Mul", 0.5), ("Add", -1.0), ("Neg", None), ("Abs", None))))
    if random.chance(0.4):
        attributes["prob_mod"] = _modifier(precision, "probability", *random.choice(
            (("Mul", 0.5), ("Identity", None), ("Sqrt", None), ("Add", 0.25))))
    inputs = [random.array(dtype, (batch, heads, length, size), -2, 2),
              random.array(dtype, (batch, kv_heads, kv_length, size), -2, 2),
              random.array(dtype, (batch, kv_heads, kv_length, v_size), -2, 2)]
    return Case(inputs, attributes, ulps=_ulps(attributes, dtype), scale=2.0)


@generator("LinearAttention")
def linear_attention(random, schema):
    batch, heads, kv_heads, length, _, size, v_size = _sizes(random)
    dtype = random.dtype(schema, "T")
    state = random.dtype(schema, "S") if random.chance(0.2) else dtype
    rule = random.choice(("linear", "gated", "delta", "gated_delta"))
    attributes = {"q_num_heads": heads, "kv_num_heads": kv_heads}
    if rule != "gated_delta" or random.chance():
        attributes["update_rule"] = rule
    if random.chance(0.4):
        attributes["scale"] = random.uniform(0.1, 1.0)
    if random.chance(0.2):
        attributes["chunk_size"] = random.choice((1, 2, 16))
    decay = beta = None
    if "gated" in rule:
        width = kv_heads * (size if random.chance() else 1)
        decay = random.array(dtype, (batch, length, width), -1, 0)
    if "delta" in rule:
        beta = random.array(dtype, (batch, length, kv_heads if random.chance(0.7) else 1), 0, 1)
    inputs = [random.array(dtype, (batch, length, heads * size), -1, 1),
              random.array(dtype, (batch, length, kv_heads * size), -0.7, 0.7),
              random.array(dtype, (batch, length, kv_heads * v_size), -1, 1),
              random.array(state, (batch, kv_heads, size, v_size), -1, 1)
              if random.chance() else None, decay, beta]
    if inputs[3] is None:
        state = dtype
    # A state of few digits is rounded at each step, and each step multiplies what it was.
    coarse = any(t.itemsize == 2 for t in (dtype, state))
    return Case(inputs, attributes, outputs=2, ulps=8.0 * (length + 1) if coarse else None, scale=1.0)


@generator("RotaryEmbedding")
def rotary_embedding(random, schema):
    dtype = random.dtype(schema, "T")
    batch, heads, length, half = (random.integer(1, 3), random.integer(1, 3), random.integer(1, 5),
                                  random.integer(1, 4))
    size = 2 * half
    attributes, rotated = {}, half
    if random.chance(0.4):
        rotated = random.integer(1, half)
        attributes["rotary_embedding_dim"] = 2 * rotated
    if random.chance():
        attributes["interleaved"] = random.integer(0, 1)
    data = random.array(dtype, (batch, heads, length, size))
    if random.chance(0.5):
        attributes["num_heads"] = heads
        data = _packed(data)
    positions = None
    cache = (batch, length, rotated)
    if random.chance(0.6):
        count = random.integer(length, length + 4)
        positions = random.array(np.int64, (batch, length), 0, count - 1)
        cache = (count, rotated)
    angle = random.rng.uniform(0, 2 * math.pi, cache)
    return Case([data, np.cos(angle).astype(dtype), np.sin(angle).astype(dtype), positions],
                attributes, scale=3.0)


@explained("Attention", ORT,
           "a key that a row may not attend has a bias of minus infinity; the scores that ONNX "
           "Runtime shows have the lowest finite number", shown_by=185)
def _lowest_for_infinity(case, ours, theirs):
    if isinstance(ours, str) or case.attributes.get("qk_matmul_output_mode") != 2:
        return False
    lowest = np.isneginf(ours[3].astype(np.float64)) & (theirs[3] < -1e4)
    return lowest.any() and not np.isinf(theirs[3].astype(np.float64)).any()


@explained("Attention", REFERENCE,
           "mode 0 shows the product of queries and keys; the evaluator shows it after softcap")
def _softcap_in_mode_0(case, ours, theirs):
    return (case.outputs == 4 and case.attributes.get("softcap", 0) > 0
            and case.attributes.get("qk_matmul_output_mode", 0) == 0)


@explained("Attention", REFERENCE,
           "the causal bound differs from row to row; where a mask is broadcast over the queries, the "
           "evaluator computes it for the first row alone")
def _first_row_for_all(case, ours, theirs):
    mask = case.inputs[3]
    return (bool(case.attributes.get("is_causal")) and mask is not None and mask.shape[-2] == 1
            and case.inputs[0].shape[-2] > 1)


@explained("Attention", ORT,
           "one query after a past attends the keys up to its own; ONNX Runtime leaves the bound out "
           "where there is one query, and attends the keys after it too", shown_by=254)
def _one_query_unbounded(case, ours, theirs):
    return (bool(case.attributes.get("is_causal")) and case.inputs[4] is not None
            and case.inputs[0].shape[-2] == 1 and case.inputs[1].shape[-2] > 1)


@explained("Attention", ORT,
           "a row that may attend no key gives zeros, as in onnx.reference; ONNX Runtime runs the "
           "function body of the schema for float64, where Softmax of minus infinities alone is NaN",
           shown_by=484)
def _nothing_to_attend(case, ours, theirs):
    if isinstance(ours, str) or ours[0].dtype != np.float64 or ours[0].shape != theirs[0].shape:
        return False
    undefined = np.isnan(theirs[0])
    return (undefined.any() and not ours[0][undefined].any()
            and np.allclose(ours[0][~undefined], theirs[0][~undefined], rtol=1e-9, atol=1e-12))
