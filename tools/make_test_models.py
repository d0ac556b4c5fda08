#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the small models of tests/plan/data.

    pip install onnx
    tools/make_test_models.py tests/plan/data

Each model is a few nodes around one thing that the planner or the executor must get right; what
they compute is said here in a line and worked out by the test in C (tests/plan/test_plan_control.c).
"""

import pathlib
import sys

from onnx import AttributeProto, TensorProto, checker, helper

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name, kind, shape, numbers):
    return helper.make_tensor(name, kind, shape, numbers)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=f"{op.lower()}_{outputs[0]}", **attributes)


def graph(name, nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, name, inputs, outputs, list(constants))


def if_same():
    """y = flag ? 2 relu(x + 1) : (x + 1) - 3; the sum is made outside the branches."""
    then = graph("then", [node("Relu", ["s"], ["r"]), node("Mul", ["r", "two"], ["t"])], [],
                 [value("t", F, ["N"])], [constant("two", F, [], [2.0])])
    other = graph("else", [node("Sub", ["s", "three"], ["e"])], [], [value("e", F, ["N"])],
                  [constant("three", F, [], [3.0])])
    return graph("if_same", [node("Add", ["x", "one"], ["s"]),
                             node("If", ["flag"], ["i"], then_branch=then, else_branch=other),
                             node("Neg", ["i"], ["y"])],
                 [value("flag", B, []), value("x", F, ["N"])], [value("y", F, ["N"])],
                 [constant("one", F, [], [1.0])])


def if_shapes():
    """y = -(flag ? x twice, one behind the other : x): the extent depends on the flag."""
    then = graph("then", [node("Concat", ["x", "x"], ["t"], axis=0)], [], [value("t", F, ["T"])])
    other = graph("else", [node("Identity", ["x"], ["e"])], [], [value("e", F, ["N"])])
    return graph("if_shapes", [node("If", ["flag"], ["i"], then_branch=then, else_branch=other),
                               node("Neg", ["i"], ["y"])],
                 [value("flag", B, []), value("x", F, ["N"])], [value("y", F, ["M"])])


def if_unfit():
    """y = flag ? x + (1, 2, 3) : -x: for other than 3 (or 1) elements the first branch is none."""
    then = graph("then", [node("Add", ["x", "three"], ["t"])], [], [value("t", F, ["N"])],
                 [constant("three", F, [3], [1.0, 2.0, 3.0])])
    other = graph("else", [node("Neg", ["x"], ["e"])], [], [value("e", F, ["N"])])
    return graph("if_unfit", [node("If", ["flag"], ["y"], then_branch=then, else_branch=other)],
                 [value("flag", B, []), value("x", F, ["N"])], [value("y", F, ["N"])])


def if_constant():
    """y = relu(x): the condition, that x has rank 1, is known while planning."""
    then = graph("then", [node("Relu", ["x"], ["t"])], [], [value("t", F, ["N"])])
    other = graph("else", [node("Neg", ["x"], ["e"])], [], [value("e", F, ["N"])])
    return graph("if_constant",
                 [node("Shape", ["x"], ["s"]), node("Size", ["s"], ["rank"]),
                  node("Equal", ["rank", "one"], ["c"]),
                  node("If", ["c"], ["y"], then_branch=then, else_branch=other)],
                 [value("x", F, ["N"])], [value("y", F, ["N"])], [constant("one", I, [], [1])])


def loop_fibonacci():
    """a, b = b, a + b while a < limit, n times at most; all a are kept. The carried values change
    places, so that copying one before the other is safe would destroy it."""
    body = graph("body", [node("Identity", ["b"], ["a_next"]), node("Add", ["a", "b"], ["b_next"]),
                          node("Less", ["a_next", "limit"], ["go_on"]),
                          node("Identity", ["a"], ["kept"])],
                 [value("turn", I, []), value("go", B, []), value("a", F, [1]), value("b", F, [1])],
                 [value("go_on", B, [1]), value("a_next", F, [1]), value("b_next", F, [1]),
                  value("kept", F, [1])])
    return graph("loop_fibonacci",
                 [node("Loop", ["n", "go", "a0", "b0"], ["a_end", "b_end", "all"], body=body)],
                 [value("n", I, []), value("go", B, []), value("limit", F, [1]),
                  value("a0", F, [1]), value("b0", F, [1])],
                 [value("a_end", F, [1]), value("b_end", F, [1]), value("all", F, ["T", 1])])


def loop_swap():
    """a, b = b, a, n times."""
    body = graph("body", [node("Identity", ["go"], ["go_on"]), node("Identity", ["b"], ["x"]),
                          node("Identity", ["a"], ["y"])],
                 [value("turn", I, []), value("go", B, []), value("a", F, [2]), value("b", F, [2])],
                 [value("go_on", B, []), value("x", F, [2]), value("y", F, [2])])
    return graph("loop_swap", [node("Loop", ["n", "", "a0", "b0"], ["a_end", "b_end"], body=body)],
                 [value("n", I, []), value("a0", F, [2]), value("b0", F, [2])],
                 [value("a_end", F, [2]), value("b_end", F, [2])])


def loop_grow():
    """v grows by x + turn in each of n turns: its extent is another one every time."""
    body = graph("body", [node("Cast", ["turn"], ["t"], to=F), node("Add", ["x", "t"], ["shifted"]),
                          node("Concat", ["v", "shifted"], ["v_next"], axis=0),
                          node("Identity", ["go"], ["go_on"])],
                 [value("turn", I, []), value("go", B, []), value("v", F, ["K"])],
                 [value("go_on", B, []), value("v_next", F, ["L"])])
    return graph("loop_grow", [node("Loop", ["n", "", "x"], ["v_end"], body=body),
                               node("Neg", ["v_end"], ["y"])],
                 [value("n", I, []), value("x", F, [3])], [value("y", F, ["M"])])


def loop_known():
    """4 turns, known while planning: sums[t] = x + scale * t, w = scale * x is used in every
    turn and was made before the loop; y = sums + w."""
    body = graph("body", [node("Cast", ["turn"], ["t"], to=F), node("Mul", ["w", "t"], ["wt"]),
                          node("Sub", ["wt", "w"], ["d"]), node("Add", ["d", "w"], ["e"]),
                          node("Add", ["e", "x"], ["sum"]), node("Identity", ["go"], ["go_on"])],
                 [value("turn", I, []), value("go", B, [])],
                 [value("go_on", B, []), value("sum", F, [3])])
    return graph("loop_known",
                 [node("Mul", ["x", "scale"], ["w"]),
                  node("Loop", ["four", "true"], ["sums"], body=body),
                  node("Add", ["sums", "w"], ["y"])],
                 [value("x", F, [3])], [value("y", F, [4, 3])],
                 [constant("scale", F, [1], [10.0]), constant("four", I, [], [4]),
                  constant("true", B, [], [True])])


def loop_nested():
    """acc += x * (inner turn + 1) for inner < 3 where the outer turn is even, else acc -= w,
    with w = 2 x made at the top; n outer turns."""
    inner = graph("inner", [node("Add", ["j", "one"], ["j1"]), node("Cast", ["j1"], ["f"], to=F),
                            node("Mul", ["x", "f"], ["p"]), node("Add", ["in_acc", "p"], ["in_next"]),
                            node("Identity", ["in_go"], ["in_on"])],
                  [value("j", I, []), value("in_go", B, []), value("in_acc", F, [2])],
                  [value("in_on", B, []), value("in_next", F, [2])])
    even = graph("even", [node("Loop", ["three", "", "acc"], ["e"], body=inner)], [],
                 [value("e", F, [2])])
    odd = graph("odd", [node("Sub", ["acc", "w"], ["o"])], [], [value("o", F, [2])])
    body = graph("body", [node("Mod", ["i", "two"], ["m"]), node("Equal", ["m", "zero"], ["c"]),
                          node("If", ["c"], ["acc_next"], then_branch=even, else_branch=odd),
                          node("Identity", ["go"], ["go_on"])],
                 [value("i", I, []), value("go", B, []), value("acc", F, [2])],
                 [value("go_on", B, []), value("acc_next", F, [2])])
    return graph("loop_nested",
                 [node("Add", ["x", "x"], ["w"]),
                  node("Loop", ["n", "", "start"], ["end"], body=body),
                  node("Sub", ["end", "w"], ["y"])],
                 [value("n", I, []), value("x", F, [2]), value("start", F, [2])],
                 [value("y", F, [2])],
                 [constant("one", I, [], [1]), constant("two", I, [], [2]),
                  constant("zero", I, [], [0]), constant("three", I, [], [3])])


def nonzero():
    """at = indices of what is not 0 in x, one a row; picked = 2 relu(x) at these places; count =
    how many."""
    return graph("nonzero",
                 [node("NonZero", ["x"], ["t"]), node("Transpose", ["t"], ["at"], perm=[1, 0]),
                  node("Relu", ["x"], ["r"]), node("GatherND", ["r", "at"], ["g"]),
                  node("Mul", ["g", "two"], ["picked"]), node("Shape", ["at"], ["s"]),
                  node("Gather", ["s", "zero"], ["count"], axis=0)],
                 [value("x", F, ["R", "C"])],
                 [value("at", I, ["K", 2]), value("picked", F, ["K"]), value("count", I, [])],
                 [constant("two", F, [], [2.0]), constant("zero", I, [], [0])])


def shapes():
    """y = x as N rows of all the rest, by Shape, Gather, Concat and Reshape; c = a constant that
    depends on constants only."""
    return graph("shapes",
                 [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"], axis=0),
                  node("Concat", ["n", "rest"], ["to"], axis=0),
                  node("Reshape", ["x", "to"], ["v"]), node("Neg", ["v"], ["y"]),
                  node("Add", ["p", "p"], ["q"]), node("Mul", ["q", "p"], ["c"])],
                 [value("x", F, ["N", 2, 3])], [value("y", F, ["N", 6]), value("c", F, [2])],
                 [constant("zero", I, [1], [0]), constant("rest", I, [1], [-1]),
                  constant("p", F, [2], [3.0, 4.0])])


def pass_through():
    """y = x under another shape, and x itself: outputs that are an input's memory."""
    return graph("pass_through", [node("Reshape", ["x", "to"], ["y"]), node("Identity", ["x"], ["z"])],
                 [value("x", F, [2, 3])], [value("y", F, [6]), value("z", F, [2, 3])],
                 [constant("to", I, [1], [6])])


def chain():
    """12 elementwise layers of equal size: two buffers' worth of memory, or one in place."""
    nodes, last = [], "x"
    for i in range(12):
        nodes.append(node("Transpose", [last], [f"t{i}"], perm=[1, 0]))
        last = f"t{i}"
    return graph("chain", nodes, [value("x", F, [32, 32])], [value(last, F, [32, 32])])


def residual():
    """relu(bn(conv(x)) + x): BatchNormalization, Add and Relu move into the convolution."""
    return graph("residual",
                 [node("Conv", ["x", "w", "b"], ["c"], kernel_shape=[1, 1]),
                  node("BatchNormalization", ["c", "gamma", "beta", "mean", "var"], ["n"],
                       epsilon=0.0),
                  node("Add", ["x", "n"], ["a"]), node("Relu", ["a"], ["y"])],
                 [value("x", F, ["N", 2, 2, 2])], [value("y", F, ["N", 2, 2, 2])],
                 [constant("w", F, [2, 2, 1, 1], [1.0, 2.0, 3.0, 4.0]),
                  constant("b", F, [2], [0.5, -0.5]), constant("gamma", F, [2], [2.0, 3.0]),
                  constant("beta", F, [2], [0.25, 0.75]), constant("mean", F, [2], [1.0, -1.0]),
                  constant("var", F, [2], [4.0, 9.0])])


def shared_middle():
    """relu(conv(x)) and conv(x) + 1: two look at the convolution, so nothing may be absorbed."""
    return graph("shared_middle",
                 [node("Conv", ["x", "w"], ["c"], kernel_shape=[1, 1]), node("Relu", ["c"], ["y"]),
                  node("Add", ["c", "one"], ["z"])],
                 [value("x", F, [1, 1, 2, 2])],
                 [value("y", F, [1, 1, 2, 2]), value("z", F, [1, 1, 2, 2])],
                 [constant("w", F, [1, 1, 1, 1], [-1.0]), constant("one", F, [], [1.0])])


def half(kind=TensorProto.FLOAT16):
    """y = relu(x·w + b) in half precision, rounded after each operator."""
    return graph("half", [node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "b"], ["s"]),
                          node("Relu", ["s"], ["y"])],
                 [value("x", kind, ["N", 3])], [value("y", kind, ["N", 2])],
                 [constant("w", kind, [3, 2], [1.0, -2.0, 0.5, 3.0, 0.25, 1.5]),
                  constant("b", kind, [2], [0.125, -0.375])])


def brain_half():
    """half, in bfloat16."""
    return half(TensorProto.BFLOAT16)


def half_dynamic():
    """y = exp of the elements of x that are not 0, in float16: as many as the data say."""
    return graph("half_dynamic",
                 [node("NonZero", ["x"], ["i"]), node("Squeeze", ["i", "zero"], ["at"]),
                  node("Gather", ["x", "at"], ["g"]), node("Exp", ["g"], ["y"])],
                 [value("x", TensorProto.FLOAT16, ["N"])],
                 [value("y", TensorProto.FLOAT16, ["M"])], [constant("zero", I, [1], [0])])


def scan_turned():
    """sum = sum + x[:, t] for t from the last to the first; y stacks the sums along axis 1, z the
    differences sum - x[:, t] along axis 0 with the last one first."""
    body = graph("body", [node("Add", ["s", "c"], ["s1"]), node("Identity", ["s1"], ["ys"]),
                          node("Sub", ["s1", "c"], ["zs"])],
                 [value("s", F, [2]), value("c", F, [2])],
                 [value("s1", F, [2]), value("ys", F, [2]), value("zs", F, [2])])
    return graph("scan_turned",
                 [node("Scan", ["start", "x"], ["last", "y", "z"], body=body, num_scan_inputs=1,
                       scan_input_axes=[1], scan_input_directions=[1], scan_output_axes=[1, 0],
                       scan_output_directions=[0, 1])],
                 [value("start", F, [2]), value("x", F, [2, "T"])],
                 [value("last", F, [2]), value("y", F, [2, "T"]), value("z", F, ["T", 2])])


def scan_outer():
    """y[t] = x[t] · k + x[0]: the body uses two values of the graph around it."""
    body = graph("body", [node("Mul", ["e", "k"], ["m"]), node("Add", ["m", "first"], ["o"])],
                 [value("e", F, [])], [value("o", F, [])])
    return graph("scan_outer",
                 [node("Gather", ["x", "zero"], ["first"]),
                  node("Scan", ["x"], ["y"], body=body, num_scan_inputs=1)],
                 [value("x", F, ["T"])], [value("y", F, ["T"])],
                 [constant("k", F, [], [3.0]), constant("zero", I, [], [0])])


def quantised():
    """A convolution between QuantizeLinear and DequantizeLinear, with scales for each channel."""
    return graph("quantised",
                 [node("QuantizeLinear", ["x", "sx", "zx"], ["q"]),
                  node("QLinearConv", ["q", "sx", "zx", "w", "sw", "zw", "sy", "zy", "b"], ["c"],
                       pads=[1, 1, 1, 1], strides=[2, 1], group=2),
                  node("DequantizeLinear", ["c", "sy", "zy"], ["y"])],
                 [value("x", F, [1, 2, 5, 4])], [value("y", F, [1, 2, 3, 4])],
                 [constant("sx", F, [], [0.05]), constant("zx", TensorProto.UINT8, [], [117]),
                  constant("w", TensorProto.INT8, [2, 1, 3, 3],
                           [-128, 3, 77, 0, 1, -5, 127, 100, -90,
                            9, -8, 7, -6, 5, -4, 3, -2, 1]),
                  constant("sw", F, [2], [0.01, 0.125]),
                  constant("zw", TensorProto.INT8, [2], [0, 0]),
                  constant("sy", F, [], [0.125]), constant("zy", TensorProto.UINT8, [], [131]),
                  constant("b", TensorProto.INT32, [2], [500, -40])])


def old_broadcast():
    """Opset 6: y = (x + channel) · row, the first along axis 1, the second along the last."""
    return graph("old_broadcast",
                 [node("Add", ["x", "channel"], ["s"], broadcast=1, axis=1),
                  node("Mul", ["s", "row"], ["y"], broadcast=1)],
                 [value("x", F, [2, 3, 2])], [value("y", F, [2, 3, 2])],
                 [constant("channel", F, [3], [10.0, 20.0, 30.0]),
                  constant("row", F, [2], [1.0, -1.0])])


def refer(made, attribute, name, kind):
    """The node, with an attribute that is what the function's attribute says."""
    made.attribute.append(AttributeProto(name=attribute, ref_attr_name=name, type=kind))
    return made


FUNCTIONS = [
    # leaky(x, slope)·k and the slope itself
    helper.make_function(
        "local", "scaled", ["x", "k"], ["y", "c"],
        [refer(node("LeakyRelu", ["x"], ["l"]), "alpha", "slope", AttributeProto.FLOAT),
         node("Mul", ["l", "k"], ["y"]),
         refer(node("Constant", [], ["c"]), "value_float", "slope", AttributeProto.FLOAT)],
        [helper.make_opsetid("", 13)], ["slope"]),
    # scaled twice, clipped where `low` is given, plus the first slope, which is 0.25 by default
    helper.make_function(
        "local", "twice", ["x", "k", "low"], ["z"],
        [refer(helper.make_node("scaled", ["x", "k"], ["a", "c1"], domain="local"), "slope", "s",
               AttributeProto.FLOAT),
         helper.make_node("scaled", ["a", "k"], ["b"], domain="local", slope=0.5),
         node("Clip", ["b", "low"], ["d"]), node("Add", ["d", "c1"], ["z"])],
        [helper.make_opsetid("", 13), helper.make_opsetid("local", 1)], [],
        [helper.make_attribute("s", 0.25)]),
]


def functions():
    """y = twice(twice(x, k), k, low, s = 0.125), functions of the model, one calling the other."""
    return graph("functions",
                 [helper.make_node("twice", ["x", "k"], ["a"], domain="local"),
                  helper.make_node("twice", ["a", "k", "low"], ["y"], domain="local", s=0.125)],
                 [value("x", F, ["N", 2])], [value("y", F, ["N", 2])],
                 [constant("k", F, [2], [2.0, -3.0]), constant("low", F, [], [-1.0])])


def sequence():
    """y stacks x[2], x[1], x[0] + x[3] along axis 1: rows of x as a sequence that is rearranged;
    n is its length."""
    return graph("sequence",
                 [node("SplitToSequence", ["x"], ["rows"], axis=0, keepdims=0),
                  node("SequenceAt", ["rows", "zero"], ["first"]),
                  node("SequenceAt", ["rows", "minus"], ["last"]),
                  node("Add", ["first", "last"], ["sum"]),
                  node("SequenceErase", ["rows"], ["three"]),
                  node("SequenceErase", ["three", "zero"], ["two"]),
                  node("SequenceAt", ["two", "zero"], ["one"]),
                  node("SequenceErase", ["two", "zero"], ["only"]),
                  node("SequenceInsert", ["only", "one"], ["turned"]),
                  node("SequenceInsert", ["turned", "sum"], ["all"]),
                  node("SequenceLength", ["all"], ["n"]),
                  node("ConcatFromSequence", ["all"], ["y"], axis=1, new_axis=1)],
                 [value("x", F, [4, 3])], [value("y", F, [3, 3]), value("n", I, [])],
                 [constant("zero", I, [], [0]), constant("minus", I, [], [-1])])


OPSETS = {"old_broadcast": 6}


def bad_index():
    """y = row `at` of x: an index out of range is an error of the run."""
    return graph("bad_index", [node("Gather", ["x", "at"], ["y"], axis=0)],
                 [value("x", F, [3, 2]), value("at", I, [])], [value("y", F, [2])])


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "tests/plan/data")
    for make in (if_same, if_shapes, if_unfit, if_constant, loop_fibonacci, loop_swap, loop_grow, loop_known,
                 loop_nested, nonzero, shapes, pass_through, chain, residual, shared_middle,
                 bad_index, half, brain_half, half_dynamic, scan_turned, scan_outer, quantised,
                 old_broadcast, functions, sequence):
        opset = OPSETS.get(make.__name__, 13)
        opsets = [helper.make_opsetid("", opset)]
        own = FUNCTIONS if make is functions else []
        if own:
            opsets.append(helper.make_opsetid("local", 1))
        model = helper.make_model(make(), producer_name="vatio make_test_models",
                                  opset_imports=opsets, functions=own, ir_version=8)
        checker.check_model(model)
        (folder / f"{make.__name__}.onnx").write_bytes(model.SerializeToString())


if __name__ == "__main__":
    main()
