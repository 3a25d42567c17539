#!/usr/bin/env python3
"""Writes the hostile files that table.txt names into the current folder. Nothing here comes from the library."""
import bz2
import os
import struct
import zlib

# ---- protobuf

def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out + bytes([n]))

def as_bytes(x):
    return x.encode() if isinstance(x, str) else x

def rec(field, body):
    body = as_bytes(body)
    return varint(field << 3 | 2) + varint(len(body)) + body

def num(field, n):
    return varint(field << 3) + varint(n)

def entry(field, key, value):
    return rec(field, rec(1, key) + rec(2, value))

# ---- ONNX

def node(op, ins, outs, name="", attrs=(), domain="", more=b""):
    return (b"".join(rec(1, i) for i in ins) + b"".join(rec(2, o) for o in outs) + rec(3, name) + rec(4, op)
            + b"".join(rec(5, a) for a in attrs) + (rec(7, domain) if domain else b"") + more)

def mm(x, w, y, name=""):
    return node("MatMul", [x, w], [y], name)

def tensor(name, dims=(4, 4), more=b"", dtype=1):
    return b"".join(num(1, d) for d in dims) + num(2, dtype) + rec(8, name) + more

def info(name, dims=(2, 4)):
    return rec(1, name) + rec(2, rec(1, num(1, 1) + rec(2, b"".join(rec(1, num(1, d)) for d in dims))))

def graph(nodes, params=("w",), ins=("x",), outs=(), more=b""):
    tensors = (p if isinstance(p, bytes) else tensor(p) for p in params)
    return (b"".join(rec(1, n) for n in nodes) + b"".join(rec(5, t) for t in tensors) + b"".join(rec(11, info(i)) for i in ins)
            + b"".join(rec(12, info(o)) for o in outs) + more)

def subgraph(name, g):
    return rec(1, name) + rec(6, g) + num(20, 5)

def ints(name, values):
    return rec(1, name) + b"".join(num(8, v) for v in values) + num(20, 7)

def text_attr(name, value):
    return rec(1, name) + rec(4, value) + num(20, 3)

def function(name, nodes, ins=("x", "w"), outs=("y",)):
    return (rec(1, name) + b"".join(rec(4, i) for i in ins) + b"".join(rec(5, o) for o in outs)
            + b"".join(rec(7, n) for n in nodes) + rec(10, "f"))

def model(g, more=b"", functions=()):
    return num(1, 8) + rec(7, g) + rec(8, rec(1, "") + num(2, 17)) + b"".join(rec(25, f) for f in functions) + more

GOOD = model(graph([mm("x", "w", "y", "n")]))
X_W = ["x", "w"]

def external(location, offset=None, length=None):
    data = entry(13, "location", location) if location is not None else b""
    if offset is not None:
        data += entry(13, "offset", offset)
    if length is not None:
        data += entry(13, "length", length)
    return model(graph([mm("x", "w", "y", "n")], [tensor("w", more=data + num(14, 1))]))

# ---- zip

def zipped(members, central=None, count=None, comment=b"", end64=None):
    """members: (name, data) or (name, data, changes): what the headers say instead of the truth."""
    out, directory = b"", b""
    for name, data, *changes in members:
        how = {"method": 0, "flags": 0, "crc": zlib.crc32(data), "stored": len(data), "size": len(data), "local": len(out),
               "local_name": name, "extra": b"", **(changes[0] if changes else {})}
        name, local_name = as_bytes(name), as_bytes(how["local_name"])
        sizes = struct.pack("<III", how["crc"] & 0xffffffff, how["stored"], how["size"])
        out += (b"PK\3\4" + struct.pack("<HHHI", 20, how["flags"], how["method"], 0x210000) + sizes
                + struct.pack("<HH", len(local_name), 0) + local_name + data)
        directory += (b"PK\1\2" + struct.pack("<HHHHI", 0x31e, 20, how["flags"], how["method"], 0x210000) + sizes
                      + struct.pack("<HHHHHII", len(name), len(how["extra"]), 0, 0, 0, 0, how["local"]) + name + how["extra"])
    at = len(out) if central is None else central
    n = len(members) if count is None else count
    return (out + directory + (end64(len(out), len(directory), n) if end64 else b"") + b"PK\5\6"
            + struct.pack("<HHHHIIH", 0, 0, n & 0xffff, n & 0xffff, len(directory), at, len(comment)) + comment)

PROGRAM = "serialized_exported_program.json"

def flat(text):
    return zipped([(PROGRAM, as_bytes(text)), ("version", b"8.2")])

def deflated(data):
    c = zlib.compressobj(9, zlib.DEFLATED, -15)
    return c.compress(data) + c.flush()

def program(nodes="", inputs="", values="", specs="", outputs="", rest=""):
    return ('{"graph_module": {"graph": {"inputs": [' + inputs + '], "outputs": [' + outputs + '], "nodes": [' + nodes
            + '], "tensor_values": {' + values + '}}, "signature": {"input_specs": [' + specs + '], "output_specs": []}, '
            '"module_call_graph": []' + rest + '}, "opset_version": {"aten": 10}, "schema_version": {"major": 8, "minor": 2}}')

def aten(target, ins, outs):
    args = ", ".join('{"name": "a%d", "arg": {"as_tensor": {"name": "%s"}}}' % (i, n) for i, n in enumerate(ins))
    return ('{"target": "%s", "inputs": [%s], "outputs": [%s], "metadata": {}}'
            % (target, args, ", ".join('{"as_tensor": {"name": "%s"}}' % o for o in outs)))

# ---- the files

F = {}

def protobuf_files():
    F["empty.onnx"] = b""
    F["text.onnx"] = b"This is a plain text file, and no model at all.\n"
    F["lfs.onnx"] = (b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n")
    F["html.onnx"] = b"<!DOCTYPE html>\n<html><head><title>404</title></head></html>\n"
    F["json.onnx"] = b'{"graph": {"node": []}}'
    F["zeros.onnx"] = bytes(4096)
    F["no_graph.onnx"] = num(1, 8) + rec(2, "producer")
    F["gzip.onnx"] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + bytes(30)
    F["elf.onnx"] = b"\x7fELF\x02\x01\x01" + bytes(57)
    F["cut.onnx"] = GOOD[:40]
    F["length_lies.onnx"] = GOOD + varint(7 << 3 | 2) + varint(1 << 62) + b"x"
    F["length_3g.onnx"] = num(1, 8) + varint(7 << 3 | 2) + varint(3 << 30) + b"x" * 100
    F["length_negative.onnx"] = GOOD + varint(7 << 3 | 2) + b"\xff" * 9 + b"\x01"
    F["varint_long.onnx"] = GOOD + varint(1 << 3) + b"\xff" * 10 + b"\x01"
    F["field_0.onnx"] = GOOD + varint(2) + varint(0)
    F["field_big.onnx"] = GOOD + varint(1 << 32) + varint(1)
    F["type_6.onnx"] = GOOD + varint(99 << 3 | 6)
    F["type_7.onnx"] = GOOD + varint(99 << 3 | 7)
    F["group_open.onnx"] = GOOD + varint(500 << 3 | 3)
    F["group_end.onnx"] = GOOD + varint(500 << 3 | 4)
    F["group_crossed.onnx"] = GOOD + varint(500 << 3 | 3) + varint(501 << 3 | 4)
    F["groups_deep.onnx"] = GOOD + varint(500 << 3 | 3) * 100000
    F["groups_60.onnx"] = GOOD + varint(500 << 3 | 3) * 60 + varint(500 << 3 | 4) * 60
    F["count_cut.onnx"] = model(graph([mm("x", "w", "y", "n")], [varint(1 << 3 | 2) + varint(1 << 40) + num(2, 1) + rec(8, "w")]))

def graph_files():
    g = graph([mm("x", "w", "y", "n")], ["w"], ["x"])
    for i in range(3000):
        g = graph([node("If", ["x"], ["y%d" % i], "", [subgraph("then_branch", g)])], [], ["x"] if i == 2999 else [])
    F["nested_3000.onnx"] = model(g)
    F["empty_nodes.onnx"] = num(1, 8) + rec(7, b"\x0a\0" * (4 << 20))
    F["empty_attributes.onnx"] = model(graph([node("MatMul", X_W, ["y"], "n", more=b"\x2a\0" * 1000000)]))
    F["empty_inputs.onnx"] = model(graph([node("MatMul", X_W, ["y"], "n", more=b"\x0a\0" * 1000000)]))
    F["cycle.onnx"] = model(graph([mm("b", "w", "a", "n1"), mm("a", "w", "b", "n2")]))
    F["cycle_self.onnx"] = model(graph([mm("a", "w", "a", "me")]))
    F["cycle_long.onnx"] = model(graph([node("Relu", ["v%d" % i], ["v%d" % ((i + 1) % 20000)], "r%d" % i) for i in range(20000)]))
    F["two_outputs.onnx"] = model(graph([mm("x", "w", "a", "n1"), mm("x", "w", "a", "n2")]))
    F["two_initializers.onnx"] = model(graph([mm("x", "w", "a", "n1")], ["w", "w"]))
    F["output_is_input.onnx"] = model(graph([mm("x", "w", "x", "n1")]))
    F["undefined.onnx"] = model(graph([mm("nowhere", "w", "a", "n1")]))
    F["unsorted.onnx"] = model(graph([mm("a", "w", "b", "second"), mm("x", "w", "a", "first")]))
    F["unsorted_30000.onnx"] = model(graph([mm("v%d" % i, "w", "v%d" % (i + 1), "n%d" % i) for i in reversed(range(30000))],
                                           ["w"], ["v0"]))
    F["dims_negative.onnx"] = model(graph([mm("x", "w", "y", "n")], [tensor("w", (-1, 4))]))
    F["dims_huge.onnx"] = model(graph([mm("x", "w", "y", "n")], [tensor("w", (1 << 62, 1 << 62))]))
    F["dims_million.onnx"] = model(graph([mm("x", "w", "y", "n")], [tensor("w", (1,) * 1000000)]))
    F["transpose_wrong.onnx"] = model(graph([node("Transpose", ["w"], ["t"], "t", [ints("perm", [5, -1])]), mm("x", "t", "y", "n")]))
    shape = tensor("s", (1 << 61,), rec(9, struct.pack("<qq", -1, 1 << 62)), 7)
    F["reshape_wrong.onnx"] = model(graph([node("Reshape", ["w", "s"], ["t"], "r"), mm("x", "t", "y", "n")], ["w", shape]))
    F["einsum_long.onnx"] = model(graph([node("Einsum", X_W, ["y"], "e", [text_attr("equation", "ij,jk->" + "z" * 1000000)])]))
    F["no_operands.onnx"] = model(graph([node("MatMul", [], ["y"], "n"), node("Gemm", ["x"], ["z"], "g")]))
    chain = [node("Transpose", ["t%d" % i], ["t%d" % (i + 1)], "", [ints("perm", [1, 0])]) for i in range(50000)]
    F["weight_far.onnx"] = model(graph(chain + [mm("x", "t50000", "y", "n")], ["t0"]))
    F["ir_huge.onnx"] = num(1, (1 << 63) - 1) + rec(7, graph([mm("x", "w", "y", "n")])) + rec(8, rec(1, "") + num(2, 17))

def function_files():
    def nest(depth, fan, leaf):
        out = [function("f0", leaf)]
        for i in range(1, depth):
            calls = [node("f%d" % (i - 1), ["t%d" % (j - 1) if j else "x", "w"], ["t%d" % j if j < fan - 1 else "y"], "c%d" % j, domain="f")
                     for j in range(fan)]
            out.append(function("f%d" % i, calls))
        return model(graph([node("f%d" % (depth - 1), X_W, ["y"], "top", domain="f")]), functions=out)
    F["calls_2_to_60.onnx"] = nest(60, 2, [mm("x", "w", "y", "n")])
    F["calls_8_to_8.onnx"] = nest(9, 8, [node("Relu", ["x"], ["y"], "r")])
    many = [node("MatMul", ["a%d" % i if i else "x", "w"], ["a%d" % (i + 1) if i < 99 else "y"], "n%d" % i) for i in range(100)]
    F["calls_of_many.onnx"] = nest(7, 8, many)
    F["calls_deep.onnx"] = nest(2000, 1, [mm("x", "w", "y", "n")])

    def calls(function_name, times):
        return model(graph([node(function_name, X_W, ["y%d" % i], domain="f") for i in range(times)]), functions=bodies)
    # Each of many nodes asks where a value comes from that 500 calls hand on; nodes with many operands run often.
    asked = [node("Relu", ["y"], ["r%d" % i]) for i in range(10)]
    bodies = [function("f0", [mm("x", "w", "y", "n")])]
    bodies += [function("f%d" % i, [node("f%d" % (i - 1), X_W, ["y"], domain="f")] + asked) for i in range(1, 500)]
    F["calls_handed_on.onnx"] = calls("f499", 100)
    bodies = [function("s", [node("Sum", ["x"] * 20000, ["t"]), mm("t", "w", "y", "n")])]
    F["calls_of_operands.onnx"] = calls("s", 5000)
    F["calls_of_operands_less.onnx"] = calls("s", 300)
    F["recursive.onnx"] = model(graph([node("r", X_W, ["y"], "top", domain="f")]), functions=[function("r", [node("r", X_W, ["y"], "again", domain="f")])])
    F["recursive_two.onnx"] = model(graph([node("r", X_W, ["y"], "top", domain="f")]),
                                    functions=[function(a, [node(b, X_W, ["y"], "to_" + b, domain="f")]) for a, b in ("rs", "sr")])
    F["function_twice.onnx"] = model(graph([node("r", X_W, ["y"], "top", domain="f")]), functions=[function("r", [mm("x", "w", "y", "n")])] * 2)

    def loops(depth, trips):
        body = [mm("x", "w", "r", "n")]
        last = "r"
        for d in range(depth):
            inner = graph(body, [], ["i%d" % d, "c%d" % d, "s%d" % d], ["c%d" % d, last])
            body = [node("Loop", ["M", "", "x"], ["l%d" % d], "loop%d" % d, [subgraph("body", inner)])]
            last = "l%d" % d
        return model(graph(body, ["w", tensor("M", (), rec(9, struct.pack("<q", trips)), 7)]))
    F["loop_forever.onnx"] = loops(1, (1 << 63) - 1)
    F["loop_negative.onnx"] = loops(1, -5)
    F["loops_64_to_10.onnx"] = loops(10, 64)
    F["loops_2_to_40.onnx"] = loops(40, 2)

def name_files():
    evil = {"newline": b"a\nindex\t0", "escape": b"\x1b[31mred\x1b]0;t\x07", "nul": b"a\0b", "utf8": b"\xff\xc0\x80\xed\xa0\x80",
            "turned": "abc\u202e\u2066def\u2028".encode(), "c1": "\u009b31m\u0085".encode(), "dash": b"-", "percent": b"%s%n%1000000d",
            "forged": b"x' (offset 1)\nsactag: done"}
    for key, name in evil.items():
        F["name_%s.onnx" % key] = model(graph([mm("x", "w", name, name)]))
        F["undefined_%s.onnx" % key] = model(graph([mm(name, "w", "y", "n")]))
    bad = b"\x1b[31m\n\tindex\xff\xc2\x9b"
    same = ["layers.0.b%d.q.bias" % i for i in range(10000)]
    F["scopes_of_one_name.onnx"] = model(graph([mm("x", "w", "y%d" % i, "/layers.0/q_%d/MatMul" % i) for i in range(10000)], ["w"] + same))
    layers, nodes = [], []
    for i in b"01":
        for name, shape in ((b"w", (4, 4)), (b"a.gate", (4, 4)), (b"a." + bad, (4, 4))):
            fqn = bad + b"." + bytes([i]) + b"." + name
            layers.append(tensor(fqn + b".weight", shape))
            nodes.append(node("Transpose", [fqn + b".weight"], [fqn + b"t"], b"t" + bad, [ints("perm", [1, 0])]))
            nodes.append(node("MatMul", ["x", fqn + b"t"], [fqn + b"y"], b"/" + fqn.replace(b".", b"/") + b"/MatMul",
                              more=entry(9, bad, bad)))
    nodes.append(node(bad, ["x"], ["z" + "q"], bad, [text_attr(bad, bad)], domain=bad))
    F["names.onnx"] = (num(1, 8) + rec(2, bad) + rec(3, bad) + rec(7, graph(nodes, layers) + rec(2, bad)) + rec(8, rec(1, "") + num(2, 17))
                       + rec(8, rec(1, bad) + num(2, 1)) + entry(14, bad, bad))
    F["name_long.onnx"] = model(graph([mm("x", "w", "y", b"L" * 1000000)]))
    F["undefined_long.onnx"] = model(graph([mm(b"L" * 1000000, "w", "y", "n")]))
    deep = ".".join(str(i) for i in range(20000))
    F["name_long_fqn.onnx"] = model(graph([mm("x", "w" * 1000000 + ".weight", "y", "n")], ["w" * 1000000 + ".weight"]))
    F["scope_deep.onnx"] = model(graph([mm("x", deep + ".weight", "y", "/" + deep.replace(".", "/") + "/MatMul")], [deep + ".weight"]))
    F["producer.onnx"] = num(1, 8) + rec(2, b"\x1b[2J\nrows 0") + rec(3, b"\xff\0") + rec(7, graph([mm("x", "w", "y", "n")]))
    scopes = "['" + "', 'a" * 100000 + "']"
    F["scopes_long.onnx"] = model(graph([node("MatMul", X_W, ["y"], "n", more=entry(9, "pkg.torch.onnx.name_scopes", scopes))]))
    F["scopes_broken.onnx"] = model(graph([node("MatMul", X_W, ["y"], "n", more=entry(9, "pkg.torch.onnx.name_scopes", "['', 'a\\"))]))

def plan_entry(text, nodes=None):
    return model(nodes or graph([mm("x", "w", "y", "n")]), entry(14, "sac.plan", text))

def tag_files():
    zeros = "0" * 32
    fine = '{"version":1,"carrier":"metadata","tag":"mm","digest":"%s","options":{},"regions":[],"keys":["sac.policy"],"nodes":"%s","of":%s%s}'
    F["plan_text.onnx"] = plan_entry("{not json")
    F["plan_version.onnx"] = plan_entry('{"version":2,"carrier":"metadata"}')
    F["plan_two.onnx"] = plan_entry(fine % (zeros, "0", "1", "")) + entry(14, "sac.plan", fine % (zeros, "0", "1", ""))
    F["plan_nodes_huge.onnx"] = plan_entry(fine % (zeros, "1*4000000000", "1", ""))
    F["plan_nodes_overflow.onnx"] = plan_entry(fine % (zeros, "18446744073709551615,1*99999999999999999999", "1", ""))
    F["plan_of_huge.onnx"] = plan_entry(fine % (zeros, "1*4294967290", "4294967295", ""))
    F["plan_fields.onnx"] = plan_entry(fine % (zeros, "0", "1", ',"fields":["0/4000000000/00"]'))
    F["plan_widths.onnx"] = plan_entry(fine % (zeros, "0", "1", ',"widths":[[4000000000,"0","0"]]'))
    F["plan_deep.onnx"] = plan_entry("[" * 200000)
    F["tags_foreign.onnx"] = model(graph([node("MatMul", X_W, ["y"], "n", more=entry(9, "sac.policy", "banana\n\x1b[31m")
                                                                           + entry(9, "sac.region", "q#9"))]))

def external_files():
    os.makedirs("data")
    os.makedirs("elsewhere")
    with open("data/w.bin", "wb") as f:
        f.write(b"w" * 64)
    with open("elsewhere/secret.bin", "wb") as f:
        f.write(b"s" * 64)
    os.symlink("../elsewhere/secret.bin", "data/link.bin")
    os.symlink("../elsewhere", "data/folder")
    os.symlink("link.bin", "data/link_to_link.bin")
    os.link("data/w.bin", "data/hard.bin")
    os.mkfifo("data/fifo.bin")
    os.mkdir("data/dir")
    F["data/good.onnx"] = external("w.bin", "0", "64")
    F["data/hard.onnx"] = external("hard.bin")
    F["data/parent.onnx"] = external("../elsewhere/secret.bin")
    F["data/parent_inside.onnx"] = external("dir/../../elsewhere/secret.bin")
    F["data/parent_back.onnx"] = external("dir/../w.bin")
    F["data/parent_only.onnx"] = external("..")
    F["data/prefix.onnx"] = external("../data_secret/x.bin")
    F["data/dots.onnx"] = external("./.././elsewhere/secret.bin")
    F["data/absolute.onnx"] = external("/etc/passwd")
    F["data/slashes.onnx"] = external("//etc/passwd")
    F["data/backslash.onnx"] = external("..\\elsewhere\\secret.bin")
    F["data/url.onnx"] = external("file:///etc/passwd")
    F["data/link.onnx"] = external("link.bin")
    F["data/link_link.onnx"] = external("link_to_link.bin")
    F["data/link_folder.onnx"] = external("folder/secret.bin")
    F["data/fifo.onnx"] = external("fifo.bin")
    F["data/folder.onnx"] = external("dir")
    F["data/slash_end.onnx"] = external("w.bin/")
    F["data/missing.onnx"] = external("nothing.bin")
    F["data/nul.onnx"] = external(b"w.bin\0.txt")
    F["data/newline.onnx"] = external("w\n\x1b[31m.bin")
    F["data/nothing.onnx"] = external("")
    F["data/none.onnx"] = external(None)
    F["data/long.onnx"] = external("a" * 5000)
    F["data/component.onnx"] = external("a" * 300 + "/b")
    F["data/offset_negative.onnx"] = external("w.bin", "-5", "4")
    F["data/offset_huge.onnx"] = external("w.bin", str(1 << 50), "4")
    F["data/length_huge.onnx"] = external("w.bin", "0", str(1 << 50))
    F["data/length_overflow.onnx"] = external("w.bin", "9223372036854775807", "9223372036854775807")
    F["data/length_more.onnx"] = external("w.bin", "1", "64")
    F["data/offset_hex.onnx"] = external("w.bin", "0x10", "4")
    F["data/offset_digits.onnx"] = external("w.bin", "9" * 400, "4")
    F["data/self.onnx"] = external("self.onnx")
    bad = entry(13, "location", "../elsewhere/secret.bin") + num(14, 1)
    inner = tensor("v", more=bad)
    F["data/attribute.onnx"] = model(graph([node("Constant", [], ["w"], "c", [rec(1, "value") + rec(5, inner) + num(20, 4)]), mm("x", "w", "y", "n")], []))
    F["data/sparse.onnx"] = model(graph([mm("x", "w", "y", "n")], more=rec(15, rec(1, inner) + rec(2, tensor("i", (1,), dtype=7)) + num(3, 4))))
    F["data/function.onnx"] = model(graph([mm("x", "w", "y", "n")]),
                                    functions=[function("g", [node("Constant", [], ["y"], "c", [rec(1, "value") + rec(5, inner) + num(20, 4)])])])

def zip_files():
    small = program()
    F["zip_empty.pt2"] = zipped([])
    F["zip_other.pt2"] = zipped([("readme.txt", b"x")])
    F["zip_pickle.pt2"] = zipped([("archive/data.pkl", b"cos\nsystem\n(S'id'\ntR.")])
    F["zip_script.pt2"] = zipped([("model/code/__torch__.py", b"x"), ("model/data.pkl", b"x")])
    F["zip_cut.pt2"] = flat(small)[:-30]
    F["zip_cut_directory.pt2"] = zipped([(PROGRAM, small.encode())], central=len(small) + 200)
    F["zip_tail.pt2"] = flat(small) + b"and more"
    F["zip_before.pt2"] = b"PK\3\4 something before" + flat(small)
    F["zip_count.pt2"] = zipped([(PROGRAM, small.encode())], count=60000)
    F["zip_twice.pt2"] = zipped([(PROGRAM, small.encode()), (PROGRAM, b"{}")])
    F["zip_overlap.pt2"] = zipped([(PROGRAM, small.encode()), ("a", b"x" * 50), ("b", b"y" * 10, {"local": 0, "local_name": "b"})])
    F["zip_inside.pt2"] = zipped([(PROGRAM, small.encode()), ("b", b"y" * 10, {"local": 40})])
    hidden = b"PK\3\4" + struct.pack("<HHHIIIIHH", 20, 0, 0, 0x210000, zlib.crc32(b"y"), 1, 1, 1, 0) + b"b" + b"y"
    F["zip_nested.pt2"] = zipped([("a", hidden), (PROGRAM, small.encode()), ("b", b"y", {"local": 31})])
    F["zip_parent.pt2"] = zipped([(PROGRAM, small.encode()), ("../../etc/cron.d/x", b"x")])
    F["zip_absolute.pt2"] = zipped([(PROGRAM, small.encode()), ("/etc/passwd", b"x")])
    F["zip_drive.pt2"] = zipped([(PROGRAM, small.encode()), ("C:\\x", b"x")])
    F["zip_control.pt2"] = zipped([(PROGRAM, small.encode()), ("a\x1b[31m\n", b"x")])
    F["zip_renamed.pt2"] = zipped([(PROGRAM, small.encode(), {"local_name": "serialized_exported_program.jsoN"})])
    F["zip_checksum.pt2"] = zipped([(PROGRAM, small.encode(), {"crc": 1})])
    F["zip_encrypted.pt2"] = zipped([(PROGRAM, small.encode(), {"flags": 1})])
    F["zip_method.pt2"] = zipped([(PROGRAM, small.encode(), {"method": 93})])
    F["zip_bzip2.pt2"] = zipped([(PROGRAM, bz2.compress(small.encode()), {"method": 12, "size": len(small), "crc": zlib.crc32(small.encode())})])
    F["zip_size.pt2"] = zipped([(PROGRAM, small.encode(), {"size": 1 << 31})])
    bomb = deflated(bytes(64 << 20))
    F["bomb.pt2"] = zipped([(PROGRAM, bomb, {"method": 8, "size": 64 << 20, "crc": zlib.crc32(bytes(64 << 20))})])
    F["bomb_4g.pt2"] = zipped([(PROGRAM, bomb, {"method": 8, "size": 0xfffffffe})])
    F["bomb_lies.pt2"] = zipped([(PROGRAM, bomb, {"method": 8, "size": 1000})])
    F["deflate_broken.pt2"] = zipped([(PROGRAM, b"\xff" * 100, {"method": 8, "size": 1000})])

    def end64(**wrong):
        def make(at, n_bytes, n):
            v = {"n": n, "len": n_bytes, "at": at, "to": at + n_bytes, **wrong}
            return (b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 0x31e, 45, 0, 0, v["n"], v["n"], v["len"], v["at"])
                    + b"PK\6\7" + struct.pack("<IQI", 0, v["to"], 1))
        return make
    F["zip_many.pt2"] = zipped([(PROGRAM, small.encode())] + [("m%d" % i, b"x") for i in range(70000)], end64=end64())
    F["zip_end_in_comment.pt2"] = zipped([(PROGRAM, small.encode())], comment=b"PK\5\6" + bytes(18))
    F["zip64_good.pt2"] = zipped([(PROGRAM, program().encode())], end64=end64())
    F["zip64_count.pt2"] = zipped([(PROGRAM, small.encode())], end64=end64(n=1 << 60))
    F["zip64_place.pt2"] = zipped([(PROGRAM, small.encode())], end64=end64(to=(1 << 64) - 1))
    F["zip64_directory.pt2"] = zipped([(PROGRAM, small.encode())], end64=end64(at=(1 << 64) - 8))
    wide = struct.pack("<HHQQQ", 1, 24, (1 << 64) - 1, (1 << 64) - 1, (1 << 64) - 1)
    F["zip64_sizes.pt2"] = zipped([(PROGRAM, small.encode(), {"stored": 0xffffffff, "size": 0xffffffff, "local": 0xffffffff, "extra": wide})])
    F["zip64_short.pt2"] = zipped([(PROGRAM, small.encode(), {"stored": 0xffffffff, "size": 0xffffffff, "extra": struct.pack("<HHQ", 1, 8, 5)})])

def json_files():
    F["json_deep.pt2"] = flat("[" * 1000000)
    F["json_deep_meta.pt2"] = flat(program(rest=', "metadata": ' + "[" * 900 + "]" * 900))
    F["json_cut.pt2"] = flat(program()[:100])
    F["json_empty.pt2"] = flat("")
    F["json_list.pt2"] = flat("[]")
    F["json_nothing.pt2"] = flat("{}")
    F["json_utf8.pt2"] = flat(b'{"graph_module": "\xff\xfe"}')
    F["json_nul.pt2"] = flat(program() + "\0\0")
    F["json_two.pt2"] = flat(program() + program())
    F["json_twice.pt2"] = flat(program().replace('"nodes": []', '"nodes": [], "nodes": [1]'))
    F["json_number.pt2"] = flat(program(nodes="1"))
    F["json_undefined.pt2"] = flat(program(nodes=aten("torch.ops.aten.relu.default", ["no\\u001b[31mwhere"], ["y"])))
    F["json_defined_twice.pt2"] = flat(program(nodes=aten("torch.ops.aten.rand.default", [], ["y"]) + ", " + aten("torch.ops.aten.rand.default", [], ["y"])))
    graphs = program()
    for _ in range(100):
        graphs = '{"name": "g", "graph": {"inputs": [], "outputs": [], "tensor_values": {}, "nodes": [{"target": "torch.ops.higher_order.cond", ' \
                 '"outputs": [], "metadata": {}, "inputs": [{"name": "", "arg": {"as_graph": ' + \
                 (graphs if graphs[2] == "n" else '{"name": "g", "graph": {"inputs": [], "outputs": [], "tensor_values": {}, "nodes": []}}') + '}}]}]}}'
    F["json_graphs.pt2"] = flat(program(nodes='{"target": "torch.ops.higher_order.cond", "outputs": [], "metadata": {}, '
                                              '"inputs": [{"name": "", "arg": {"as_graph": ' + graphs + '}}]}'))
    F["json_sizes.pt2"] = flat(program(inputs='{"as_tensor": {"name": "x"}}',
                                       values='"x": {"dtype": 7, "sizes": [{"as_int": 99999999999999999999}], "requires_grad": false, '
                                              '"device": {"type": "cpu"}, "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}'))

def plan_files():
    F["good.onnx"] = GOOD
    row = ('{"index": %s, "graph": null, "node": "n", "output": "y", "op": "MatMul", "block": "whole", "call": 0, "fqn": null, '
           '"evidence": null, "rhs": "4x4", "policy": "%s", "reason": "odd:1"}')
    head = ('{"sactag": "plan", "version": 1, "model": {"name": "good.onnx", "digest": "%s"}, "options": {"fqns": [], "force_shapes": [], '
            '"match": "exact", "profile": null, "blocks": ["whole"], "mm_rule": "onnx", "mm_ops": [], "order": "auto", "strict": false, '
            '"specialize": false}, "rows": [%s]}')
    zeros = "0" * 32
    F["other_graph.json"] = head % (zeros, row % (0, "save"))
    F["row_twice.json"] = head % (zeros, ", ".join([row % (0, "save")] * 2))
    F["row_20000.json"] = head % (zeros, ", ".join(row % (i, "save") for i in range(20000)))
    F["row_index.json"] = head % (zeros, row % ("99999999999999999999", "save"))
    F["row_negative.json"] = head % (zeros, row % ("-1", "save"))
    F["row_exponent.json"] = head % (zeros, row % ("1e3", "save"))
    F["row_policy.json"] = head % (zeros, row % (0, "saved\\u001b[31m"))
    F["digest_short.json"] = head % ("00", row % (0, "save"))
    F["deep.json"] = '{"sactag": ' + "[" * 100000
    F["version.json"] = (head % (zeros, row % (0, "save"))).replace('"version": 1', '"version": 99')
    F["nul.json"] = '{"sactag": "plan"\0, "version": 1}'
    F["utf8.json"] = b'{"sactag": "\xff\xfe"}'
    F["cut.json"] = (head % (zeros, row % (0, "save")))[:400]
    F["twice.json"] = '{"sactag": "plan", "sactag": "plan", "version": 1}'
    F["forged.tsv"] = "index\tgraph\tnode\toutput\top\tblock\tcall\tfqn\tevidence\trhs\tpolicy\treason\n0\t-\tn\n"
    F["rhs.tsv"] = ("index\tgraph\tnode\toutput\top\tblock\tcall\tfqn\tevidence\trhs\tpolicy\treason\n"
                    "0\t-\tn\ty\tMatMul\twhole\t0\t-\t-\t99999999999999999999x4\tsave\todd:1\n")

def option_files():
    F["unknown.conf"] = "fqn = a\n\x1b[31mfqn = b\n"
    F["nul.conf"] = "fqn = a\0b\n"
    F["long.conf"] = "fqn = " + "a" * 70000 + "\n"
    F["binary.conf"] = b"\xff\xfe\xfd\n"
    F["output.conf"] = "output = /etc/passwd\n"
    F["config.conf"] = "config = config.conf\n"
    F["shape.conf"] = "force-shape = 99999999999999999999x4\n"
    F["shape_negative.conf"] = "force-shape = -4x4\n"
    F["many.conf"] = "fqn = a.b\n" * 100000
    F["stars.conf"] = "match = glob\nfqn = " + "**a" * 2000 + "\n"
    F["glob.conf"] = "match = glob\nfqn = **w*w*.w**x\n"

def main():
    for make in (protobuf_files, graph_files, function_files, name_files, tag_files, external_files, zip_files, json_files, plan_files, option_files):
        make()
    for path, data in F.items():
        with open(path, "wb") as f:
            f.write(as_bytes(data))
    # Takes no room.
    with open("sparse_3g.onnx", "wb") as f:
        f.truncate(3 << 30)

if __name__ == "__main__":
    main()
