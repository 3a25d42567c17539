#include "schema/external.h"

#include "schema/onnx_read.h"
#include "tests/unit/box.h"
#include "tests/unit/pb.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- models by hand: a graph with tensors of external data */

static void put_external(struct pb *t, const char *name, const char *location, const char *offset,
                         const char *length)
{
    pb_int(t, 1, 2);
    pb_int(t, 2, 1);
    pb_text(t, 8, name);
    if (location)
        pb_entry(t, 13, "location", location);
    if (offset)
        pb_entry(t, 13, "offset", offset);
    if (length)
        pb_entry(t, 13, "length", length);
    pb_int(t, 14, 1);
}

struct model {
    struct pb bytes;
    struct ir_model m;
};

static void model_open(struct model *x, struct pb graph)
{
    struct pb node = {0};
    x->bytes = (struct pb){0};
    pb_text(&node, 2, "y");
    pb_text(&node, 4, "Op");
    pb_sub(&graph, 1, node);
    pb_sub(&x->bytes, 7, graph);
    ir_model_init(&x->m, NULL, 0);
    cr_assert_eq(onnx_read(&x->m, x->bytes.b, x->bytes.n, NULL, NULL), 0);
}

static void model_with(struct model *x, const char *location, const char *offset, const char *length)
{
    struct pb graph = {0}, t = {0};
    put_external(&t, "w", location, offset, length);
    pb_sub(&graph, 5, t);
    model_open(x, graph);
}

static void model_close(struct model *x)
{
    ir_model_free(&x->m);
    pb_free(&x->bytes);
}

/* Two folders, "in" with the model and "out". */
static void folders(struct box *b)
{
    box_open(b);
    cr_assert_eq(mkdir(in(b, "in"), 0755), 0);
    cr_assert_eq(mkdir(in(b, "out"), 0755), 0);
}

static int look(struct external *e, const struct model *x, const char *from, const char *to,
                enum external_how how, struct diag *d)
{
    return external_open(e, &x->m, &(struct external_task){.in = from, .out = to, .how = how}, d);
}

static int bring(struct box *b, const struct model *x, enum external_how how)
{
    char from[256], to[256];
    struct external e;
    snprintf(from, sizeof from, "%s/in/m.onnx", b->dir);
    snprintf(to, sizeof to, "%s/out/m.onnx", b->dir);
    int rc = look(&e, x, from, to, how, &b->d);
    if (rc == 0)
        rc = external_place(&e, NULL, &b->d);
    external_close(&e);
    return rc;
}

Test(external, nothing_to_bring)
{
    struct box b;
    struct model x;
    struct external e;
    struct pb graph = {0};
    folders(&b);
    model_open(&x, graph);
    cr_assert_eq(bring(&b, &x, EXTERNAL_REFUSE), 0);
    model_close(&x);
    /* In one folder, by whatever path. */
    model_with(&x, "../unsafe", "-1", NULL);
    char other[256];
    snprintf(other, sizeof other, "%s/out/../in/other.onnx", b.dir);
    cr_assert_eq(look(&e, &x, in(&b, "in/m.onnx"), other, EXTERNAL_REFUSE, &b.d), 0);
    cr_assert_eq(e.n, 0);
    external_close(&e);
    /* The caller will see to it. */
    cr_assert_eq(bring(&b, &x, EXTERNAL_KEEP), 0);
    cr_assert_eq(look(&e, &x, NULL, in(&b, "out/m.onnx"), EXTERNAL_KEEP, &b.d), 0);
    external_close(&e);
    cr_assert_eq(entries(in(&b, "out")), 0);
    model_close(&x);
    box_close(&b);
}

Test(external, refuses_with_a_hint)
{
    struct box b;
    struct model x;
    struct external e;
    folders(&b);
    put(in(&b, "in/w.bin"), "data");
    model_with(&x, "w.bin", NULL, NULL);
    cr_assert_eq(bring(&b, &x, EXTERNAL_REFUSE), IR_EUSAGE);
    says(&b.d, "say how to bring it along: copy, hardlink, symlink, or keep");
    cr_assert_eq(look(&e, &x, NULL, in(&b, "out/m.onnx"), EXTERNAL_COPY, &b.d), IR_EUSAGE);
    says(&b.d, "where they are is not known");
    external_close(&e);
    cr_assert_eq(entries(in(&b, "out")), 0);
    model_close(&x);
    box_close(&b);
}

Test(external, copies_links_and_symlinks)
{
    static const enum external_how hows[] = {EXTERNAL_COPY, EXTERNAL_HARDLINK, EXTERNAL_SYMLINK};
    for (size_t i = 0; i < 3; i++) {
        struct box b;
        struct model x;
        struct stat from, to, link;
        folders(&b);
        cr_assert_eq(mkdir(in(&b, "in/sub"), 0755), 0);
        put(in(&b, "in/sub/w.bin"), "0123456789");
        cr_assert_eq(chmod(b.path, 0640), 0);
        cr_assert_eq(stat(b.path, &from), 0);
        model_with(&x, "./sub//w.bin", "4", "6");
        for (int again = 0; again < 2; again++) { /* the second time it is there already */
            cr_assert_eq(bring(&b, &x, hows[i]), 0, "%s", b.d.n ? b.d.items[0].message : "");
            holds(in(&b, "out/sub/w.bin"), "0123456789");
            cr_assert_eq(stat(b.path, &to), 0);
            cr_assert_eq(lstat(b.path, &link), 0);
            cr_assert_eq(to.st_ino == from.st_ino, hows[i] != EXTERNAL_COPY);
            cr_assert_eq(S_ISLNK(link.st_mode), hows[i] == EXTERNAL_SYMLINK);
            cr_assert_eq(to.st_mode & 0777, 0640);
            cr_assert_eq(entries(in(&b, "out")), 1);
            cr_assert_eq(entries(in(&b, "out/sub")), 1);
        }
        model_close(&x);
        box_close(&b);
    }
}

/* Initializers, sparse ones, tensors in attributes, in nested graphs and functions: all refer to files. */
Test(external, finds_references_everywhere)
{
    struct box b;
    struct model x;
    struct pb graph = {0}, t = {0}, s = {0}, attr = {0}, node = {0}, body = {0}, inner = {0};
    folders(&b);
    put(in(&b, "in/a"), "aa");
    put(in(&b, "in/b"), "bb");
    put(in(&b, "in/c"), "cc");
    put(in(&b, "in/d"), "dd");
    put_external(&t, "w", "a", NULL, NULL);
    pb_sub(&graph, 5, t);
    t = (struct pb){0};
    put_external(&t, "v", "b", NULL, NULL);
    pb_sub(&s, 1, t);
    t = (struct pb){0};
    put_external(&t, "", "a", "1", "1");
    pb_sub(&s, 2, t);
    pb_int(&s, 3, 4);
    pb_sub(&graph, 15, s);
    t = (struct pb){0};
    put_external(&t, "", "c", NULL, NULL);
    pb_text(&attr, 1, "value");
    pb_sub(&attr, 5, t);
    pb_sub(&inner, 5, attr);
    pb_text(&inner, 2, "k");
    pb_text(&inner, 4, "Constant");
    pb_sub(&body, 1, inner);
    t = (struct pb){0};
    put_external(&t, "u", "d", "0", "2");
    pb_sub(&body, 5, t);
    attr = (struct pb){0};
    pb_text(&attr, 1, "then_branch");
    pb_sub(&attr, 6, body);
    pb_sub(&node, 5, attr);
    pb_text(&node, 2, "z");
    pb_text(&node, 4, "If");
    pb_sub(&graph, 1, node);
    model_open(&x, graph);
    cr_assert_eq(x.m.n_external, 5);
    cr_assert_eq(bring(&b, &x, EXTERNAL_COPY), 0, "%s", b.d.n ? b.d.items[0].message : "");
    cr_assert_eq(entries(in(&b, "out")), 4);
    holds(in(&b, "out/d"), "dd");
    model_close(&x);
    box_close(&b);
}

Test(external, unsafe_references_are_refused)
{
    char name_long[NAME_MAX + 2];
    memset(name_long, 'n', sizeof name_long - 1);
    name_long[sizeof name_long - 1] = '\0';
    const struct {
        const char *location, *offset, *length, *message;
    } cases[] = {
        {NULL, NULL, NULL, "has no location"},
        {"", NULL, NULL, "has no location"},
        {"/etc/passwd", NULL, NULL, "its location is an absolute path"},
        {"../secret", NULL, NULL, "its location has '..' in it"},
        {"sub/../../secret", NULL, NULL, "its location has '..' in it"},
        {"sub/..", NULL, NULL, "its location has '..' in it"},
        {".", NULL, NULL, "has a location that is no file"},
        {"sub/", NULL, NULL, "has a location that is no file"},
        {name_long, NULL, NULL, "has a location that is too long"},
        {"w.bin", "-1", NULL, "has an offset or length that is none"},
        {"w.bin", "0", "-4", "has an offset or length that is none"},
        {"w.bin", "9223372036854775807", "1", "has an offset or length that is none"},
        {"w.bin", "18446744073709551617", NULL, "has an offset or length that is none"},
        {"w.bin", "0x10", NULL, "has an offset or length that is none"},
        {"w.bin", "2", "3", "expected 5 bytes or more but found 4"},
        {"w.bin", "5", NULL, "expected 5 bytes or more but found 4"},
        {"w.bin", "922337203685477579", "922337203685477579",
         "expected 1844674407370955158 bytes or more but found 4"},
        {"sub", NULL, NULL, "is no regular file"},
        {"fifo", NULL, NULL, "is no regular file"},
        {"link.bin", NULL, NULL, "a part of its path is a symbolic link"},
        {"linked/w.bin", NULL, NULL, "a part of its path is a symbolic link"},
        {"w.bin/w.bin", NULL, NULL, "a part of its path is a symbolic link or no folder (cp -L makes a copy"},
    };
    struct box b;
    folders(&b);
    put(in(&b, "secret"), "secret");
    put(in(&b, "in/w.bin"), "data");
    cr_assert_eq(mkdir(in(&b, "in/sub"), 0755), 0);
    put(in(&b, "in/sub/w.bin"), "data");
    cr_assert_eq(mkfifo(in(&b, "in/fifo"), 0600), 0);
    cr_assert_eq(symlink("w.bin", in(&b, "in/link.bin")), 0);
    cr_assert_eq(symlink("sub", in(&b, "in/linked")), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model x;
        model_with(&x, cases[i].location, cases[i].offset, cases[i].length);
        cr_assert_eq(bring(&b, &x, EXTERNAL_COPY), IR_EINPUT, "case %zu", i);
        says(&b.d, cases[i].message);
        model_close(&x);
    }
    cr_assert_eq(entries(in(&b, "out")), 0);
    box_close(&b);
}

Test(external, what_is_not_there_cannot_be_read)
{
    static const char *const missing[] = {"none.bin", "none/w.bin"};
    struct box b;
    folders(&b);
    for (size_t i = 0; i < 2; i++) {
        struct model x;
        model_with(&x, missing[i], NULL, NULL);
        cr_assert_eq(bring(&b, &x, EXTERNAL_COPY), IR_EIO, "%s", missing[i]);
        says(&b.d, "No such file or directory");
        model_close(&x);
    }
    cr_assert_eq(entries(in(&b, "out")), 0);
    box_close(&b);
}

Test(external, a_location_with_a_nul)
{
    struct box b;
    struct model x;
    struct pb graph = {0}, t = {0}, e = {0};
    folders(&b);
    put(in(&b, "in/w.bin"), "data");
    pb_text(&e, 1, "location");
    pb_bytes(&e, 2, "w.bin\0.txt", 10);
    pb_sub(&t, 13, e);
    pb_int(&t, 14, 1);
    pb_text(&t, 8, "w");
    pb_sub(&graph, 5, t);
    model_open(&x, graph);
    cr_assert_eq(bring(&b, &x, EXTERNAL_COPY), IR_EINPUT);
    says(&b.d, "('w.bin\\x00.txt') has a location with a NUL in it");
    model_close(&x);
    box_close(&b);
}

Test(external, another_file_is_never_overwritten)
{
    static const char *const others[] = {"datA", "data and more", ""};
    struct box b;
    struct model x;
    folders(&b);
    put(in(&b, "in/w.bin"), "data");
    model_with(&x, "w.bin", NULL, NULL);
    for (size_t i = 0; i < 3; i++) {
        put(in(&b, "out/w.bin"), others[i]);
        cr_assert_eq(bring(&b, &x, EXTERNAL_COPY), IR_EIO);
        says(&b.d, "there is another 'w.bin' in");
        holds(in(&b, "out/w.bin"), others[i]);
    }
    /* The same content is good enough, and stays. */
    struct stat before, after;
    put(in(&b, "out/w.bin"), "data");
    cr_assert_eq(stat(b.path, &before), 0);
    cr_assert_eq(bring(&b, &x, EXTERNAL_HARDLINK), 0);
    cr_assert_eq(stat(in(&b, "out/w.bin"), &after), 0);
    cr_assert_eq(before.st_ino, after.st_ino);
    /* A link to it is no copy; a folder of that name is none either. */
    cr_assert_eq(unlink(b.path), 0);
    cr_assert_eq(symlink("../in/w.bin", b.path), 0);
    cr_assert_eq(bring(&b, &x, EXTERNAL_COPY), IR_EIO);
    says(&b.d, "there is another 'w.bin' in");
    cr_assert_eq(bring(&b, &x, EXTERNAL_SYMLINK), 0);
    cr_assert_eq(unlink(in(&b, "out/w.bin")), 0);
    cr_assert_eq(mkdir(b.path, 0755), 0);
    cr_assert_eq(bring(&b, &x, EXTERNAL_COPY), IR_EIO);
    says(&b.d, "there is another 'w.bin' in");
    model_close(&x);
    box_close(&b);
}

/* A link in the target folder must not lead the copy elsewhere. */
Test(external, the_target_follows_no_links)
{
    struct box b;
    struct model x;
    folders(&b);
    cr_assert_eq(mkdir(in(&b, "elsewhere"), 0755), 0);
    cr_assert_eq(mkdir(in(&b, "in/sub"), 0755), 0);
    put(in(&b, "in/sub/w.bin"), "data");
    cr_assert_eq(symlink("../elsewhere", in(&b, "out/sub")), 0);
    model_with(&x, "sub/w.bin", NULL, NULL);
    cr_assert_eq(bring(&b, &x, EXTERNAL_COPY), IR_EIO);
    says(&b.d, "a part of its path is a symbolic link");
    cr_assert_eq(entries(in(&b, "elsewhere")), 0);
    model_close(&x);
    box_close(&b);
}

/* One file can be brought, the next one cannot: nothing is left of the first one, nor of the folders made for
 * it. What was there before stays. */
Test(external, a_failure_undoes_what_was_made)
{
    struct box b;
    struct model x;
    struct pb graph = {0}, t = {0};
    folders(&b);
    cr_assert_eq(mkdir(in(&b, "in/p"), 0755), 0);
    cr_assert_eq(mkdir(in(&b, "in/p/q"), 0755), 0);
    cr_assert_eq(mkdir(in(&b, "in/p/q/r"), 0755), 0);
    put(in(&b, "in/p/q/r/one"), "1");
    put(in(&b, "in/p/q/two"), "2");
    put(in(&b, "in/same"), "same");
    put(in(&b, "in/three"), "3");
    cr_assert_eq(mkdir(in(&b, "out/p"), 0755), 0);
    put(in(&b, "out/same"), "same");
    put(in(&b, "out/three"), "another");
    const char *const locations[] = {"p/q/r/one", "same", "p/q/two", "three"};
    for (size_t i = 0; i < 4; i++) {
        put_external(&t, i == 0 ? "a" : i == 1 ? "b" : i == 2 ? "c" : "d", locations[i], NULL, NULL);
        pb_sub(&graph, 5, t);
        t = (struct pb){0};
    }
    model_open(&x, graph);
    cr_assert_eq(bring(&b, &x, EXTERNAL_COPY), IR_EIO);
    says(&b.d, "there is another 'three'");
    cr_assert_eq(entries(in(&b, "out/p")), 0);
    cr_assert_eq(entries(in(&b, "out")), 3);
    holds(in(&b, "out/same"), "same");
    model_close(&x);
    box_close(&b);
}

Test(external, the_model_is_not_written_over_its_data)
{
    struct box b;
    struct model x;
    struct external e;
    folders(&b);
    cr_assert_eq(mkdir(in(&b, "in/sub"), 0755), 0);
    put(in(&b, "in/sub/w.bin"), "data");
    put(in(&b, "in/m.onnx"), "model");
    model_with(&x, "sub/w.bin", NULL, NULL);
    char from[256];
    strcpy(from, in(&b, "in/m.onnx"));
    cr_assert_eq(look(&e, &x, from, in(&b, "in/sub/w.bin"), EXTERNAL_KEEP, &b.d), IR_EUSAGE);
    says(&b.d, "'sub/w.bin' is the model's external data: write it under another name");
    external_close(&e);
    model_close(&x);
    model_with(&x, "w.bin", NULL, NULL);
    cr_assert_eq(look(&e, &x, from, in(&b, "out/w.bin"), EXTERNAL_COPY, &b.d), IR_EUSAGE);
    says(&b.d, "'w.bin' is the model's external data");
    external_close(&e);
    model_close(&x);
    box_close(&b);
}

static void add(void *ctx, uint64_t n)
{
    *(uint64_t *)ctx += n;
}

Test(external, tells_how_much_will_be_copied)
{
    struct box b;
    struct model x;
    struct external e;
    uint64_t done = 0;
    char from[256];
    const struct file_copy progress = {add, &done};
    folders(&b);
    put(in(&b, "in/w.bin"), "0123456789");
    model_with(&x, "w.bin", NULL, "3");
    strcpy(from, in(&b, "in/m.onnx"));
    cr_assert_eq(
        external_open(&e, &x.m,
                      &(struct external_task){
                          .in = from, .out = in(&b, "out/m.onnx"), .how = EXTERNAL_COPY, .no_sync = true},
                      &b.d),
        0);
    cr_assert_eq(e.bytes, 10);
    cr_assert_eq(external_place(&e, &progress, &b.d), 0);
    cr_assert_eq(done, 10);
    external_undo(&e);
    cr_assert_eq(entries(in(&b, "out")), 0);
    external_close(&e);
    model_close(&x);
    box_close(&b);
}

/* Another file system cannot be linked to. (Needs root, in a mount name space of its own.) Everywhere: what
 * is the same file already is left as it is. */
Test(external, hard_links_stay_within_a_file_system)
{
    struct box b;
    struct model x;
    folders(&b);
    put(in(&b, "in/w.bin"), "data");
    model_with(&x, "w.bin", NULL, NULL);
    if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("none", in(&b, "out"), "tmpfs", 0, "size=128k") == 0) {
        cr_assert_eq(bring(&b, &x, EXTERNAL_HARDLINK), IR_EIO);
        says(&b.d, "it lies on another file system; copy it instead");
        cr_assert_eq(bring(&b, &x, EXTERNAL_COPY), 0);
        holds(in(&b, "out/w.bin"), "data");
        cr_assert_eq(umount(in(&b, "out")), 0);
    }
    cr_assert_eq(bring(&b, &x, EXTERNAL_HARDLINK), 0);
    cr_assert_eq(bring(&b, &x, EXTERNAL_COPY), 0);
    model_close(&x);
    box_close(&b);
}
