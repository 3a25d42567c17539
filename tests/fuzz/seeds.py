#!/usr/bin/env python3
"""Seeds for the .pt2 target that no model of the tests is small enough for: seeds.py FOLDER."""
import os
import sys
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "hostile"))
from make import PROGRAM, deflated, zipped  # noqa: E402

def meta(*sizes, grad="false"):
    strides = [1]
    for n in sizes[:0:-1]:
        strides.insert(0, strides[0] * n)
    ints = lambda values: ", ".join('{"as_int": %d}' % v for v in values)
    return ('{"dtype": 7, "sizes": [%s], "requires_grad": %s, "device": {"type": "cpu"}, "strides": [%s], '
            '"storage_offset": {"as_int": 0}, "layout": 7}' % (ints(sizes), grad, ints(strides)))

def tensor(name):
    return '{"as_tensor": {"name": "%s"}}' % name

def node(target, out, *args, stack="layers.0.a"):
    inputs = ", ".join('{"name": "%s", "arg": %s}' % (n, tensor(v) if isinstance(v, str) and v[0] != "{" else v) for n, v in args)
    name = stack.replace(".", "_")
    return ('{"target": "torch.ops.aten.%s", "inputs": [%s], "outputs": [%s], "metadata": {"nn_module_stack": '
            '"L__self__,,M;L__self___%s,%s,torch.nn.modules.linear.Linear"}}' % (target, inputs, tensor(out), name, stack))

def text():
    nodes = [
        node("permute.default", "wt", ("self", "w"), ("dims", '{"as_ints": [1, 0]}')),
        node("mm.default", "a", ("self", "x"), ("mat2", "wt")),
        node("addmm.default", "b", ("self", "bias"), ("mat1", "a"), ("mat2", "wt"), ("beta", '{"as_float": 1.0}'), ("alpha", '{"as_float": "Infinity"}')),
        node("einsum.default", "c", ("equation", '{"as_string": "ij,jk->ik"}'), ("tensors", '{"as_tensors": [{"name": "b"}, {"name": "w"}]}'),
             ("path", '{"as_none": true}')),
        node("view.default", "d", ("self", "c"), ("size", '{"as_sym_ints": [{"as_int": 2}, {"as_name": "s0"}]}')),
        node("transpose.int", "e", ("self", "w"), ("dim0", '{"as_int": 0}'), ("dim1", '{"as_int": -1}')),
        node("linear.default", "f", ("input", "d"), ("weight", "w"), ("bias", '{"as_none": true}'), stack="layers.1.a"),
        node("index.Tensor", "g", ("self", "f"), ("indices", '{"as_optional_tensors": [{"as_tensor": {"name": "x"}}, {"as_none": true}]}')),
        node("matmul.default", "h", ("self", "g"), ("other", "e"), stack="layers.1.b"),
        node("tensordot.default", "i", ("self", "h"), ("other", "w"), ("dims_self", '{"as_ints": [1]}'), ("dims_other", '{"as_ints": [0]}')),
        node("to.dtype", "j", ("self", "i"), ("dtype", '{"as_scalar_type": 7}'), ("copy", '{"as_bool": false}')),
    ]
    values = ['"%s": %s' % (n, meta(4, 4, grad="true" if n == "w" else "false")) for n in "x w wt a b c d e f g h i j".split()]
    values.append('"bias": ' + meta(4))
    specs = ('{"parameter": {"arg": {"name": "w"}, "parameter_name": "layers.0.a.weight"}}, '
             '{"buffer": {"arg": {"name": "bias"}, "buffer_name": "layers.0.b", "persistent": true}}, {"user_input": {"arg": %s}}' % tensor("x"))
    return ('{"graph_module": {"graph": {"inputs": [%s], "outputs": [%s], "nodes": [%s], "tensor_values": {%s}}, "signature": {"input_specs": '
            '[%s], "output_specs": []}, "module_call_graph": [{"fqn": "", "signature": null}, {"fqn": "layers.0.a"}], "metadata": {}}, '
            '"opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 2}}'
            % (", ".join(map(tensor, ("w", "bias", "x"))), tensor("j"), ", ".join(nodes), ", ".join(values), specs))

def graph_argument(name, inputs, outputs, *nodes):
    values = ", ".join('"%s": %s' % (n, meta(4, 4)) for n in ("v", "u"))
    return '{"as_graph": {"name": "%s", "graph": {"inputs": [%s], "outputs": [%s], "nodes": [%s], "tensor_values": {%s}}}}' % (
        name, ", ".join(map(tensor, inputs)), ", ".join(map(tensor, outputs)), ", ".join(nodes), values)

def loops():
    """cond in map, scan and while_loop, whose condition multiplies, too."""
    tensors = lambda *names: '{"as_tensors": [%s]}' % ", ".join('{"name": "%s"}' % n for n in names)
    operator = lambda name, out, *args: node("x", out, *(("", a) for a in args)).replace("torch.ops.aten.x", "torch.ops.higher_order." + name)
    mm = lambda out, x: node("mm.default", out, ("self", x), ("mat2", "w"))
    branch = lambda name: graph_argument(name, ("v", "w"), ("u",), mm("u", "v"))
    nodes = [
        operator("map_impl", "a", graph_argument("body", ("v", "w"), ("c",), operator("cond", "c", '{"as_bool": true}', branch("t"), branch("f"),
                                                                                       tensors("v", "w"))), tensors("x"), tensors("w")),
        operator("scan", "b", graph_argument("step", ("h", "v", "w"), ("u", "u"), mm("u", "v")), tensors("x"), tensors("a"), '{"as_int": 1}',
                 '{"as_bool": false}', tensors("w")),
        operator("while_loop", "d", graph_argument("test", ("v", "w"), ("u",), mm("u", "v")), graph_argument("body", ("v", "w"), ("u",), mm("u", "v")),
                 tensors("b"), tensors("w")),
        mm("e", "d"),
    ]
    values = ", ".join('"%s": %s' % (n, meta(4, 4, grad="true" if n == "w" else "false")) for n in "x w a b d e".split())
    specs = '{"parameter": {"arg": {"name": "w"}, "parameter_name": "layers.0.a.weight"}}, {"user_input": {"arg": %s}}' % tensor("x")
    return ('{"graph_module": {"graph": {"inputs": [%s, %s], "outputs": [%s], "nodes": [%s], "tensor_values": {%s}}, "signature": '
            '{"input_specs": [%s]}}}' % (tensor("w"), tensor("x"), tensor("e"), ", ".join(nodes), values, specs))

def weight(fqn, place, trained):
    return '"%s": {"path_name": "%s", "is_param": %s, "use_pickle": false, "tensor_meta": %s}' % (fqn, place, trained, meta(6, 4, grad="true"))

def main(folder):
    program = text().encode()
    packed = deflated(program)
    weights = ", ".join((weight("layers.0.a.weight", "weight_0", "true"), weight("tied.weight", "weight_0", "true"),
                         weight("dead.weight", "weight_1", "true"), weight("mask", "weight_2", "false")))
    files = {
        "ops.json": program,
        "loops.json": loops().encode(),
        "ops": zipped([(PROGRAM, program), ("version", b"8.2")]),
        "deflated": zipped([(PROGRAM, packed, {"method": 8, "size": len(program), "crc": zlib.crc32(program)})]),
        "packaged": zipped([("m/data/weights/model_weights_config.json", ('{"config": {%s}}' % weights).encode()), ("m/models/model.json", program),
                            ("m/archive_format", b"pt2")]),
    }
    for name, data in files.items():
        with open(os.path.join(folder, "made_" + name), "wb") as f:
            f.write(data)

main(sys.argv[1])
