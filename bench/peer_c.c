/* What a program does that has protobuf-c alone: unpack the whole model, tag each MatMul, pack it again. */
#include "schema/onnx.pb-c.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static _Noreturn void die(const char *what)
{
    perror(what);
    exit(2);
}

static uint8_t *read_all(const char *path, size_t *n)
{
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0)
        die(path);
    uint8_t *bytes = malloc((size_t)st.st_size);
    for (*n = 0; bytes && *n < (size_t)st.st_size;) {
        ssize_t k = read(fd, bytes + *n, (size_t)st.st_size - *n);
        if (k <= 0)
            die(path);
        *n += (size_t)k;
    }
    close(fd);
    return bytes;
}

static void write_all(const char *path, const uint8_t *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0)
        die(path);
    while (n) {
        ssize_t k = write(fd, bytes, n);
        if (k <= 0)
            die(path);
        bytes += k;
        n -= (size_t)k;
    }
    close(fd);
}

static void tag(Onnx__NodeProto *node)
{
    static char key[] = "sac.policy", value[] = "save";
    Onnx__StringStringEntryProto *e = malloc(sizeof *e);
    size_t n = node->n_metadata_props;
    node->metadata_props = realloc(node->metadata_props, (n + 1) * sizeof *node->metadata_props);
    if (!e || !node->metadata_props)
        die("memory");
    onnx__string_string_entry_proto__init(e);
    e->key = key;
    e->value = value;
    node->metadata_props[n] = e;
    node->n_metadata_props = n + 1;
}

int main(int argc, char **argv)
{
    size_t n;
    if (argc != 3)
        return 2;
    uint8_t *bytes = read_all(argv[1], &n);
    Onnx__ModelProto *m = bytes ? onnx__model_proto__unpack(NULL, n, bytes) : NULL;
    free(bytes);
    if (!m || !m->graph)
        die(argv[1]);
    for (size_t i = 0; i < m->graph->n_node; i++)
        if (m->graph->node[i]->op_type && strcmp(m->graph->node[i]->op_type, "MatMul") == 0)
            tag(m->graph->node[i]);
    n = onnx__model_proto__get_packed_size(m);
    uint8_t *out = malloc(n);
    if (!out)
        die("memory");
    onnx__model_proto__pack(m, out);
    write_all(argv[2], out, n);
    _exit(0); /* without taking the message apart: that is no part of the work */
}
