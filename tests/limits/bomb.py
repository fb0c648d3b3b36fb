"""What all bombs are made with: models of some hundred bytes that ask for gigabytes, hours or both. Each
function returns the bytes of one; the decorator says what must stop it and which node the message must name."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

OPSET = 21
FLOAT, INT64, BOOL, STRING, UINT8, DOUBLE = (TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL,
                                             TensorProto.STRING, TensorProto.UINT8,
                                             TensorProto.DOUBLE)
HUGE = 17 << 28          # elements of float32 in 17 GB
BOMBS = []


def bomb(stops, *ops, options=(), default=False, finishes=False):
    """stops: what does, "memory", "time" or "load" (the limits of loading). ops: the operators, one of which the
    message must name; none: any message does. default: a run without any option is refused too. finishes: a
    run may come to an end without harm; not for those of time. The commands that only look at a model always
    may, unless loading stops them."""
    assert not (finishes and stops == "time")

    def keep(make):
        BOMBS.append({"name": make.__name__, "make": make, "stops": stops, "ops": ops,
                      "options": list(options), "default": default, "finishes": finishes})
        return make
    return keep


def array(name, values, dtype=np.int64):
    return numpy_helper.from_array(np.array(values, dtype), name)


def info(name, dtype=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def save(nodes, constants=(), inputs=(), outputs=("y",), opset=OPSET, functions=(), domains=()):
    made = [o if not isinstance(o, str) else helper.make_empty_tensor_value_info(o) for o in outputs]
    graph = helper.make_graph(nodes, "bomb", list(inputs), made, list(constants))
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, v) for d, v in domains]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10,
                             functions=list(functions)).SerializeToString()


def one(op, inputs, constants, opset=OPSET, outputs=("y",), domain="", **attrs):
    nodes = [helper.make_node(op, inputs, list(outputs), name="n", domain=domain, **attrs)]
    domains = [(domain, 3)] if domain else []
    return save(nodes, constants, opset=opset, domains=domains)


def hidden(op, inputs, constants, where, opset=OPSET, **attrs):
    """The same with the constant `where` behind a Cast from double: its size is known in the run only,
    so that the node's result comes from the heap."""
    nodes = [helper.make_node("Cast", [where], ["hidden"], to=INT64, name="c"),
             helper.make_node(op, ["hidden" if i == where else i for i in inputs], ["y"], name="n",
                              **attrs)]
    return save(nodes, constants, opset=opset)


def loop_body(nodes, carried, dtype=STRING, outputs=None, shape=None):
    ins = [info("i", INT64, []), info("k", BOOL, []), info("v", dtype, shape)]
    outs = [info("k2", BOOL, []), info(carried, dtype, shape)] + list(outputs or [])
    return helper.make_graph([helper.make_node("Identity", ["k"], ["k2"]), *nodes], "b", ins, outs)


def loop(body, start, rounds=1 << 62, outputs=("y",)):
    return save([helper.make_node("Loop", ["m", "", "x"], list(outputs), body=body, name="n")],
                [array("m", rounds), start], outputs=outputs[-1:])
