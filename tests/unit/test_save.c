#include "lib/save.h"

#include "schema/onnx_read.h"
#include "tests/unit/box.h"
#include "tests/unit/pb.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A model in a file of its own folder, with external data when asked for, and a plan that tags its one node.
 */
struct job {
    struct box b;
    char path[256];
    struct pb bytes;
    struct file_in file;
    struct ir_model m;
    struct plan p;
    struct sactag_write_options o;
    struct save s;
};

static void job_open(struct job *j, const char *location)
{
    struct pb graph = {0}, node = {0}, t = {0};
    *j = (struct job){0};
    box_open(&j->b);
    cr_assert_eq(mkdir(in(&j->b, "in"), 0755), 0);
    cr_assert_eq(mkdir(in(&j->b, "out"), 0755), 0);
    pb_text(&node, 1, "x");
    pb_text(&node, 1, "w");
    pb_text(&node, 2, "y");
    pb_text(&node, 4, "MatMul");
    pb_sub(&graph, 1, node);
    if (location) {
        pb_int(&t, 1, 2);
        pb_int(&t, 2, 1);
        pb_text(&t, 8, "w");
        pb_entry(&t, 13, "location", location);
        pb_int(&t, 14, 1);
        pb_sub(&graph, 5, t);
    }
    pb_sub(&j->bytes, 7, graph);
    strcpy(j->path, in(&j->b, "in/m.onnx"));
    FILE *f = fopen(j->path, "w");
    cr_assert_eq(fwrite(j->bytes.b, 1, j->bytes.n, f), j->bytes.n);
    fclose(f);
    cr_assert_eq(file_in_open(&j->file, j->path, NULL), 0);
    ir_model_init(&j->m, NULL, 0);
    cr_assert_eq(onnx_read(&j->m, j->file.bytes, j->file.size, NULL, NULL), 0);
    arena_init(&j->p.arena, 0);
    j->p.rows = arena_alloc(&j->p.arena, 1, sizeof *j->p.rows);
    j->p.blocks = arena_alloc(&j->p.arena, 1, sizeof *j->p.blocks);
    j->p.blocks[0].fqn = STR_LIT("layers.0");
    j->p.n_blocks = 1;
    j->p.rows[0] = (struct plan_row){.block = 0, .policy = POLICY_SAVE, .reason = STR_LIT("odd:1")};
    j->p.n_rows = 1;
    j->s = (struct save){&j->m, &j->file, &j->p, &j->o, 0};
}

static void job_close(struct job *j)
{
    arena_free(&j->p.arena);
    ir_model_free(&j->m);
    file_in_close(&j->file);
    pb_free(&j->bytes);
    box_close(&j->b);
}

/* What the tagged model is, through memory. */
static struct pb expected(struct job *j)
{
    void *bytes;
    struct pb p = {0};
    cr_assert_eq(save_buffer(&j->s, &bytes, &p.n, NULL), 0);
    p.b = bytes;
    cr_assert_gt(p.n, j->bytes.n);
    return p;
}

static void file_is(const char *path, const struct pb *want)
{
    struct file_in f;
    cr_assert_eq(file_in_open(&f, path, NULL), 0);
    pb_same(f.bytes, (size_t)f.size, want);
    file_in_close(&f);
}

Test(save, to_a_new_file_and_back)
{
    struct job j;
    job_open(&j, NULL);
    struct pb want = expected(&j);
    cr_assert_eq(save_file(&j.s, in(&j.b, "out/t.onnx"), &j.b.d), 0);
    file_is(j.b.path, &want);
    j.s.plan = NULL;
    cr_assert_eq(save_file(&j.s, in(&j.b, "out/s.onnx"), &j.b.d), 0);
    file_is(j.b.path, &j.bytes);
    cr_assert_eq(entries(in(&j.b, "out")), 2);
    pb_free(&want);
    job_close(&j);
}

Test(save, in_place)
{
    struct job j;
    job_open(&j, "w.bin"); /* never opened: it is not there */
    struct pb want = expected(&j);
    for (int sync = 0; sync < 2; sync++) {
        j.o.no_sync = !sync;
        cr_assert_eq(save_file(&j.s, j.path, &j.b.d), 0);
        file_is(j.path, &want);
    }
    cr_assert_eq(entries(in(&j.b, "in")), 1);
    cr_assert_eq(j.b.d.n, 0);
    pb_free(&want);
    job_close(&j);
}

Test(save, through_a_link)
{
    struct job j;
    struct stat st;
    job_open(&j, "w.bin");
    struct pb want = expected(&j);
    cr_assert_eq(symlink("../out/real", in(&j.b, "in/link")), 0);
    cr_assert_eq(save_file(&j.s, j.b.path, &j.b.d), 0, "data are looked for from where the link is");
    cr_assert_eq(lstat(j.b.path, &st), 0);
    cr_assert(S_ISLNK(st.st_mode));
    file_is(in(&j.b, "out/real"), &want);
    pb_free(&want);
    job_close(&j);
}

Test(save, to_a_fifo_and_a_device)
{
    struct job j;
    job_open(&j, "w.bin"); /* no file: nothing is brought along */
    struct pb want = expected(&j);
    uint8_t *got = malloc(want.n + 1);
    cr_assert_eq(mkfifo(in(&j.b, "out/fifo"), 0600), 0);
    int fd = open(j.b.path, O_RDONLY | O_NONBLOCK);
    cr_assert_eq(save_file(&j.s, j.b.path, &j.b.d), 0);
    cr_assert_eq(read(fd, got, want.n + 1), (ssize_t)want.n);
    pb_same(got, want.n, &want);
    close(fd);
    free(got);
    cr_assert_eq(save_file(&j.s, "/dev/null", &j.b.d), 0);
    cr_assert_eq(save_file(&j.s, "/dev/full", &j.b.d), IR_EIO);
    says(&j.b.d, "cannot write /dev/full: No space left on device");
    pb_free(&want);
    job_close(&j);
}

Test(save, to_a_descriptor)
{
    struct job j;
    job_open(&j, NULL);
    struct pb want = expected(&j);
    int fd = open(in(&j.b, "out/t.onnx"), O_WRONLY | O_CREAT, 0600);
    cr_assert_eq(save_fd(&j.s, fd, &j.b.d), 0);
    close(fd);
    file_is(j.b.path, &want);
    fd = open("/dev/full", O_WRONLY);
    cr_assert_eq(save_fd(&j.s, fd, &j.b.d), IR_EIO);
    says(&j.b.d, "No space left on device");
    close(fd);
    pb_free(&want);
    job_close(&j);
}

/* Writing through to the mapped input would change it while it is read. */
Test(save, never_into_the_input)
{
    struct job j;
    char name[32];
    job_open(&j, NULL);
    int fd = open(j.path, O_RDWR);
    cr_assert_eq(save_fd(&j.s, fd, &j.b.d), IR_EUSAGE);
    says(&j.b.d, "the output is the input file");
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    cr_assert_eq(save_file(&j.s, name, &j.b.d), IR_EUSAGE);
    says(&j.b.d, "the output is the input file");
    close(fd);
    file_is(j.path, &j.bytes);
    job_close(&j);
}

struct count {
    uint64_t done, total;
};

static void progress(void *ctx, uint64_t done, uint64_t total)
{
    struct count *c = ctx;
    cr_assert_geq(done, c->done);
    cr_assert_leq(done, total);
    c->done = done;
    c->total = total;
}

Test(save, external_data_come_along)
{
    struct job j;
    struct count c = {0};
    job_open(&j, "sub/w.bin");
    struct pb want = expected(&j);
    cr_assert_eq(save_file(&j.s, in(&j.b, "out/t.onnx"), &j.b.d), IR_EUSAGE);
    says(&j.b.d, "the model has data in other files, which are not in");
    j.o.external = SACTAG_EXTERNAL_COPY;
    cr_assert_eq(save_file(&j.s, in(&j.b, "out/t.onnx"), &j.b.d), IR_EIO);
    says(&j.b.d, "external data 'sub/w.bin' in");
    cr_assert_eq(entries(in(&j.b, "out")), 0);
    cr_assert_eq(mkdir(in(&j.b, "in/sub"), 0755), 0);
    put(in(&j.b, "in/sub/w.bin"), "0123456789");
    j.o.progress = progress;
    j.o.progress_ctx = &c;
    cr_assert_eq(save_file(&j.s, in(&j.b, "out/t.onnx"), &j.b.d), 0);
    file_is(j.b.path, &want);
    holds(in(&j.b, "out/sub/w.bin"), "0123456789");
    cr_assert_eq(c.done, want.n + 10);
    cr_assert_eq(c.total, want.n + 10);
    pb_free(&want);
    job_close(&j);
}

/* The model cannot be written: the data that came along go again, and what was there is left. */
Test(save, a_failure_leaves_nothing_behind)
{
    struct job j;
    job_open(&j, "sub/w.bin");
    cr_assert_eq(mkdir(in(&j.b, "in/sub"), 0755), 0);
    put(in(&j.b, "in/sub/w.bin"), "0123456789");
    j.o.external = SACTAG_EXTERNAL_COPY;
    cr_assert_eq(mkdir(in(&j.b, "out/t.onnx"), 0755), 0);
    cr_assert_eq(save_file(&j.s, j.b.path, &j.b.d), IR_EIO);
    says(&j.b.d, "out/t.onnx: Is a directory");
    cr_assert_eq(entries(in(&j.b, "out")), 1);
    /* Two policies for one node: known only when tags are made, after the output was opened. */
    put(in(&j.b, "out/old.onnx"), "old");
    j.p.n_varies = 1;
    cr_assert_eq(save_file(&j.s, j.b.path, &j.b.d), IR_EPOLICY);
    diag_free(&j.b.d);
    holds(j.b.path, "old");
    cr_assert_eq(entries(in(&j.b, "out")), 2);
    job_close(&j);
}
