// What a program does that has C++ protobuf: parse the whole model, tag each MatMul, serialize it.
#include "onnx.pb.h"

#include <fcntl.h>
#include <fstream>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    onnx::ModelProto model;
    int in = open(argv[1], O_RDONLY);
    google::protobuf::io::FileInputStream file(in);
    if (in < 0 || !model.ParseFromZeroCopyStream(&file))
        return 2;
    for (auto &node : *model.mutable_graph()->mutable_node()) {
        if (node.op_type() != "MatMul")
            continue;
        auto *entry = node.add_metadata_props();
        entry->set_key("sac.policy");
        entry->set_value("save");
    }
    std::ofstream out(argv[2], std::ios::binary);
    if (!model.SerializeToOstream(&out))
        return 2;
    out.close();
    _exit(0);
}
