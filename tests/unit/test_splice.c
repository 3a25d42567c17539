#include "schema/splice.h"

#include "tests/unit/pb.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Splices and returns the result. */
static struct pb spliced(struct splice *s)
{
    struct sink_mem mem;
    struct diag d;
    diag_init(&d);
    cr_assert_eq(splice_measure(s), 0);
    splice_end(s);
    sink_mem_init(&mem, &d);
    struct splice_cursor c = splice_begin(s);
    cr_assert_eq(splice_write(&c, s->size, &mem.sink), 0);
    cr_assert_eq(mem.n, s->out_size);
    cr_assert_eq(mem.sink.written, s->out_size);
    /* In any number of steps it is the same. */
    for (uint64_t step = 1; step < 9; step += 3) {
        struct sink_mem again;
        sink_mem_init(&again, &d);
        c = splice_begin(s);
        for (uint64_t at = 0; at < s->size + step; at += step)
            cr_assert_eq(splice_write(&c, at, &again.sink), 0);
        struct pb want = {mem.bytes, mem.n};
        pb_same(again.bytes, again.n, &want);
        sink_mem_free(&again);
    }
    diag_free(&d);
    return (struct pb){mem.bytes, mem.n};
}

static void insert(struct splice *s, uint64_t off, const char *text, uint32_t record)
{
    struct splice_edit e = {off, 0, (const uint8_t *)text, (uint32_t)strlen(text), record};
    cr_assert_eq(splice_edit(s, e), 0);
}

Test(splice, nothing_to_do_is_the_source)
{
    struct splice s;
    splice_init(&s, (const uint8_t *)"abc", 3);
    struct pb got = spliced(&s), want = {0};
    pb_raw(&want, "abc", 3);
    pb_same(got.b, got.n, &want);
    pb_free(&got);
    pb_free(&want);
    splice_free(&s);
}

Test(splice, empty_source)
{
    struct splice s;
    splice_init(&s, (const uint8_t *)"", 0);
    insert(&s, 0, "new", SPLICE_TOP);
    struct pb got = spliced(&s), want = {0};
    pb_raw(&want, "new", 3);
    pb_same(got.b, got.n, &want);
    pb_free(&got);
    pb_free(&want);
    splice_free(&s);
}

Test(splice, inserts_and_deletes_at_the_top)
{
    struct splice s;
    splice_init(&s, (const uint8_t *)"0123456789", 10);
    insert(&s, 10, "end", SPLICE_TOP);
    cr_assert_eq(splice_edit(&s, (struct splice_edit){2, 3, (const uint8_t *)"xy", 2, SPLICE_TOP}), 0);
    insert(&s, 0, "start", SPLICE_TOP);
    struct pb got = spliced(&s), want = {0};
    pb_raw(&want, "start01xy56789end", 17);
    pb_same(got.b, got.n, &want);
    pb_free(&got);
    pb_free(&want);
    splice_free(&s);
}

/* A record in a record in a record, each growing from 127 to 128 bytes or past, so that every prefix grows by
 * a byte because the one inside it did. */
Test(splice, prefixes_grow_all_the_way_up)
{
    char fill[128];
    memset(fill, 'f', sizeof fill);
    struct pb in = {0}, mid = {0}, out = {0}, src = {0};
    pb_bytes(&in, 3, fill, 121); /* 123 bytes: the next is 125, the next 127 */
    pb_sub(&mid, 2, in);
    pb_sub(&out, 1, mid);
    pb_sub(&src, 7, out);
    cr_assert_eq(src.n, 129); /* tag, 127, then 127 bytes: tag, 125, ... */

    struct splice s;
    splice_init(&s, src.b, src.n);
    uint32_t a = splice_record(&s, 2, 127, SPLICE_TOP);
    uint32_t b = splice_record(&s, 4, 125, a);
    uint32_t c = splice_record(&s, 6, 123, b);
    insert(&s, 129, "12345", c);
    struct pb got = spliced(&s), want = {0};
    in = mid = out = (struct pb){0};
    pb_bytes(&in, 3, fill, 121);
    pb_raw(&in, "12345", 5); /* 128: two bytes of prefix, so mid has 131 and out 134 */
    pb_sub(&mid, 2, in);
    pb_sub(&out, 1, mid);
    pb_sub(&want, 7, out);
    cr_assert_eq(want.n, 129 + 5 + 3);
    pb_same(got.b, got.n, &want);
    pb_free(&got);
    pb_free(&want);
    pb_free(&src);
    splice_free(&s);
}

Test(splice, of_edits_at_one_place_the_inner_comes_first)
{
    struct pb in = {0}, out = {0}, src = {0};
    pb_text(&in, 1, "x");
    pb_sub(&out, 1, in);
    pb_sub(&src, 1, out);
    struct splice s;
    splice_init(&s, src.b, src.n);
    uint32_t a = splice_record(&s, 2, 5, SPLICE_TOP);
    uint32_t b = splice_record(&s, 4, 3, a);
    insert(&s, src.n, "top", SPLICE_TOP);
    insert(&s, src.n, "out", a);
    insert(&s, src.n, "in", b);
    struct pb got = spliced(&s), want = {0};
    in = out = (struct pb){0};
    pb_text(&in, 1, "x");
    pb_raw(&in, "in", 2);
    pb_sub(&out, 1, in);
    pb_raw(&out, "out", 3);
    pb_sub(&want, 1, out);
    pb_raw(&want, "top", 3);
    pb_same(got.b, got.n, &want);
    pb_free(&got);
    pb_free(&want);
    pb_free(&src);
    splice_free(&s);
}

Test(splice, records_in_any_order)
{
    struct pb src = {0}, want = {0};
    pb_text(&src, 1, "first");
    pb_text(&src, 1, "second");
    pb_text(&src, 1, "");
    struct splice s;
    splice_init(&s, src.b, src.n);
    uint32_t third = splice_record(&s, 17, 0, SPLICE_TOP);
    uint32_t second = splice_record(&s, 9, 6, SPLICE_TOP);
    uint32_t first = splice_record(&s, 2, 5, SPLICE_TOP);
    insert(&s, 17, "3", third);
    insert(&s, 15, "2", second);
    insert(&s, 7, "1", first);
    struct pb got = spliced(&s);
    pb_text(&want, 1, "first1");
    pb_text(&want, 1, "second2");
    pb_text(&want, 1, "3");
    pb_same(got.b, got.n, &want);
    pb_free(&got);
    pb_free(&want);
    pb_free(&src);
    splice_free(&s);
}

Test(splice, wide_prefixes_become_short_unless_asked)
{
    struct pb src = {0}, want = {0};
    pb_bytes_wide(&src, 1, "ab", 2, 3);
    pb_bytes_wide(&src, 1, "cd", 2, 10);
    struct splice s;
    splice_init(&s, src.b, src.n);
    uint32_t a = splice_record(&s, 4, 2, SPLICE_TOP);
    uint32_t b = splice_record(&s, 17, 2, SPLICE_TOP);
    cr_assert_eq(s.records[a].width, 3);
    cr_assert_eq(s.records[b].width, 10);
    s.records[b].want = 4;
    insert(&s, 6, "+", a);
    insert(&s, 19, "-", b);
    struct pb got = spliced(&s);
    pb_text(&want, 1, "ab+");
    pb_bytes_wide(&want, 1, "cd-", 3, 4);
    pb_same(got.b, got.n, &want);
    pb_free(&got);
    pb_free(&want);
    pb_free(&src);
    splice_free(&s);
}

Test(splice, a_prefix_shrinks_when_its_record_does)
{
    char fill[200] = {0};
    struct pb src = {0}, want = {0};
    pb_bytes(&src, 1, fill, 200);
    struct splice s;
    splice_init(&s, src.b, src.n);
    uint32_t a = splice_record(&s, 3, 200, SPLICE_TOP);
    cr_assert_eq(splice_edit(&s, (struct splice_edit){3, 100, NULL, 0, a}), 0);
    struct pb got = spliced(&s);
    pb_bytes(&want, 1, fill, 100);
    pb_same(got.b, got.n, &want);
    pb_free(&got);
    pb_free(&want);
    pb_free(&src);
    splice_free(&s);
}

Test(splice, varints)
{
    static const struct {
        uint64_t n;
        uint8_t width;
    } cases[] = {{0, 1},     {127, 1},        {128, 2},        {16383, 2},
                 {16384, 3}, {UINT32_MAX, 5}, {1ull << 35, 6}, {UINT64_MAX, 10}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t got[SPLICE_PREFIX_MAX];
        struct pb want = {0};
        pb_varint(&want, cases[i].n);
        cr_assert_eq(splice_varint_width(cases[i].n), cases[i].width);
        uint8_t n = splice_varint(got, cases[i].n, 0);
        pb_same(got, n, &want);
        cr_assert_eq(splice_varint(got, cases[i].n, 200), SPLICE_PREFIX_MAX);
        pb_free(&want);
    }
}

/* ---- the descriptor sink */

static int temp(void)
{
    char name[] = "/tmp/sactag-test-XXXXXX";
    int fd = mkstemp(name);
    cr_assert_geq(fd, 0);
    unlink(name);
    return fd;
}

static void holds(int fd, const struct pb *want)
{
    uint8_t *got = malloc(want->n + 1);
    cr_assert_not_null(got);
    ssize_t n = pread(fd, got, want->n + 1, 0);
    cr_assert_geq(n, 0);
    pb_same(got, (size_t)n, want);
    free(got);
}

Test(splice, descriptor_sink_writes_pieces_of_all_sizes)
{
    static const size_t sizes[] = {1, 511, 512, 513, 70000, 3, 262144, 262143, 1, 1000000, 2};
    struct pb want = {0};
    struct sink_fd s;
    uint8_t *src = malloc(1000000);
    cr_assert_not_null(src);
    for (size_t i = 0; i < 1000000; i++)
        src[i] = (uint8_t)(i * 2654435761u >> 13);
    int fd = temp();
    cr_assert_eq(sink_fd_init(&s, fd, "out", -1, NULL), 0);
    for (int round = 0; round < 300; round++) {
        size_t n = sizes[(size_t)round % (sizeof sizes / sizeof *sizes)];
        size_t off = (size_t)round * 7 % (1000000 - n + 1);
        cr_assert_eq(sink_put(&s.sink, src + off, n, SINK_NEW), 0);
        pb_raw(&want, src + off, n);
    }
    cr_assert_eq(s.sink.finish(&s.sink), 0);
    cr_assert_eq(s.sink.written, want.n);
    holds(fd, &want);
    sink_fd_free(&s);
    close(fd);
    free(src);
    pb_free(&want);
}

/* A file system that can share blocks, for tests on those that cannot: 1 shares, 2 refuses; 0 is the real
 * one. */
static int sharing, shared;

int ioctl(int fd, unsigned long request, ...)
{
    va_list ap;
    va_start(ap, request);
    struct file_clone_range *r = va_arg(ap, struct file_clone_range *);
    va_end(ap);
    if (request != FICLONERANGE || !sharing)
        return (int)syscall(SYS_ioctl, fd, request, r);
    if (sharing == 2) {
        errno = EOPNOTSUPP;
        return -1;
    }
    cr_assert_eq(r->src_offset % 4096, 0);
    cr_assert_eq(r->src_length % 4096, 0);
    cr_assert_eq(r->dest_offset % 4096, 0);
    char *buf = malloc(r->src_length);
    ssize_t n = (ssize_t)r->src_length;
    cr_assert_eq(pread((int)r->src_fd, buf, r->src_length, (off_t)r->src_offset), n);
    cr_assert_eq(pwrite(fd, buf, r->src_length, (off_t)r->dest_offset), n);
    free(buf);
    shared++;
    return 0;
}

Test(splice, descriptor_sink_shares_runs_or_copies_them)
{
    struct pb src = {0}, want = {0};
    struct sink_fd s;
    src.n = 2800000;
    src.b = malloc(src.n);
    cr_assert_not_null(src.b);
    for (size_t i = 0; i < src.n; i++)
        src.b[i] = (uint8_t)(i * 2654435761u >> 13);
    int in = temp(), out = temp();
    cr_assert_eq(write(in, src.b, src.n), (ssize_t)src.n);
    for (int how = 0; how < 5; how++) {
        sharing = how < 3 ? how : 0;
        shared = 0;
        cr_assert_eq(ftruncate(out, 0), 0);
        cr_assert_eq(lseek(out, 0, SEEK_SET), 0);
        cr_assert_eq(sink_fd_init(&s, out, "out", in, NULL), 0);
        cr_assert(s.runs && s.share);
        s.runs = how != 3;   /* 3: written from where they lie */
        s.remote = how == 4; /* 4: copied by a server */
        want.n = 0;
        cr_assert_eq(sink_put(&s.sink, "start", 5, SINK_NEW), 0);
        pb_raw(&want, "start", 5);
        /* Both places on the same offset within a block, then not. */
        for (uint64_t shift = 0; shift < 2; shift++) {
            cr_assert_eq(sink_put(&s.sink, src.b + 4096 * 3 + 5, 2000000, 4096 * 3 + 5), 0);
            pb_raw(&want, src.b + 4096 * 3 + 5, 2000000);
            cr_assert_eq(sink_put(&s.sink, "between", 7, SINK_NEW), 0);
            pb_raw(&want, "between", 7);
        }
        cr_assert_eq(sink_put(&s.sink, src.b, src.n, 0), 0);
        pb_raw(&want, src.b, src.n);
        cr_assert_eq(s.sink.finish(&s.sink), 0);
        cr_assert_eq(lseek(out, 0, SEEK_CUR), (off_t)want.n);
        holds(out, &want);
        cr_assert_eq(shared, how == 1 ? 1 : 0); /* only the first run lies alike in both files */
        sink_fd_free(&s);
    }
    close(in);
    close(out);
    pb_free(&src);
    pb_free(&want);
}

Test(splice, descriptor_sink_goes_on_from_where_the_descriptor_stands)
{
    struct pb want = {0};
    struct sink_fd s;
    int fd = temp();
    cr_assert_eq(write(fd, "head", 4), 4);
    cr_assert_eq(sink_fd_init(&s, fd, "out", -1, NULL), 0);
    cr_assert_eq(sink_put(&s.sink, "tail", 4, SINK_NEW), 0);
    cr_assert_eq(s.sink.finish(&s.sink), 0);
    pb_raw(&want, "headtail", 8);
    holds(fd, &want);
    sink_fd_free(&s);
    close(fd);
    pb_free(&want);
}

/* Another process cuts the file that we have mapped: an error, not a signal. */
Test(splice, descriptor_sink_reports_a_truncated_source)
{
    struct diag d;
    struct sink_fd s;
    diag_init(&d);
    int in = temp(), out = temp();
    cr_assert_eq(ftruncate(in, 100000), 0);
    void *map = mmap(NULL, 100000, PROT_READ, MAP_PRIVATE, in, 0);
    cr_assert_neq(map, MAP_FAILED);
    cr_assert_eq(ftruncate(in, 0), 0);
    cr_assert_eq(sink_fd_init(&s, out, "out", in, &d), 0);
    cr_assert_eq(sink_put(&s.sink, map, 100000, 0), 0);
    cr_assert_eq(s.sink.finish(&s.sink), IR_EIO);
    cr_assert_str_eq(d.items[0].message, "the input was truncated while it was read");
    sink_fd_free(&s);
    munmap(map, 100000);
    close(in);
    close(out);
    diag_free(&d);
}

Test(splice, descriptor_sink_reports_a_source_that_is_shorter_than_a_run)
{
    struct diag d;
    struct sink_fd s;
    diag_init(&d);
    int in = temp(), out = temp();
    cr_assert_eq(ftruncate(in, 1500000), 0);
    void *map = mmap(NULL, 2000000, PROT_READ, MAP_PRIVATE, in, 0);
    cr_assert_neq(map, MAP_FAILED);
    cr_assert_eq(sink_fd_init(&s, out, "out", in, &d), 0);
    cr_assert_eq(sink_put(&s.sink, map, 2000000, 0), IR_EIO);
    cr_assert_str_eq(d.items[0].message, "the input was truncated while it was read");
    sink_fd_free(&s);
    munmap(map, 2000000);
    close(in);
    close(out);
    diag_free(&d);
}

/* Room is reserved for all that will come, but no more of it than is said, and none beyond the file's end
 * stays. */
static int reserving;
static off_t reserved;

int fallocate(int fd, int mode, off_t at, off_t n)
{
    cr_assert_eq(mode, FALLOC_FL_KEEP_SIZE);
    reserved = at + n;
    if (reserving) {
        errno = reserving;
        return -1;
    }
    return (int)syscall(SYS_fallocate, fd, mode, at, n);
}

Test(splice, descriptor_sink_reserves_room)
{
    static const int errors[] = {0, EOPNOTSUPP, ENOSPC, EDQUOT};
    uint8_t *src = calloc(1, 3000000);
    cr_assert_not_null(src);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        struct diag d;
        struct sink_fd s;
        diag_init(&d);
        int fd = temp();
        bool full = errors[i] == ENOSPC || errors[i] == EDQUOT;
        reserving = errors[i];
        reserved = 0;
        cr_assert_eq(write(fd, "head", 4), 4);
        cr_assert_eq(sink_fd_init(&s, fd, "out", -1, &d), 0);
        s.reserve = true; /* on whatever file system this test runs */
        s.sink.total = 3000000;
        cr_assert_eq(sink_put(&s.sink, src, 3000000, SINK_NEW), full ? IR_EIO : 0);
        if (!full)
            cr_assert_eq(s.sink.finish(&s.sink), 0);
        cr_assert_eq(reserved, 3000004);
        cr_assert_eq(lseek(fd, 0, SEEK_END), full ? 4 : 3000004, "nothing is written to a full disk");
        if (full)
            cr_assert_not_null(strstr(d.items[0].message, "cannot write out: "));
        sink_fd_free(&s);
        close(fd);
        diag_free(&d);
    }
    free(src);
}

/* A socket that must not block, with a small buffer: short writes, and "try again". */
Test(splice, descriptor_sink_waits_for_a_slow_reader)
{
    int pair[2];
    enum { SIZE = 3000000 };
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    cr_assert_eq(fcntl(pair[1], F_SETFL, O_NONBLOCK), 0);
    uint8_t *src = calloc(1, SIZE);
    cr_assert_not_null(src);
    pid_t pid = fork();
    if (pid == 0) {
        struct sink_fd s;
        int bad = sink_fd_init(&s, pair[1], "out", -1, NULL) || sink_put(&s.sink, src, SIZE, SINK_NEW) ||
                  s.sink.finish(&s.sink);
        _exit(bad != 0);
    }
    close(pair[1]);
    size_t got = 0;
    ssize_t n;
    while ((n = read(pair[0], src, 1000)) > 0)
        got += (size_t)n;
    cr_assert_eq(got, SIZE);
    close(pair[0]);
    free(src);
}

Test(splice, descriptor_sink_reports_a_full_disk)
{
    struct diag d;
    struct sink_fd s;
    diag_init(&d);
    int fd = open("/dev/full", O_WRONLY);
    cr_assert_geq(fd, 0);
    cr_assert_eq(sink_fd_init(&s, fd, "out.onnx", -1, &d), 0);
    cr_assert_eq(sink_put(&s.sink, "x", 1, SINK_NEW), 0);
    cr_assert_eq(s.sink.finish(&s.sink), IR_EIO);
    cr_assert_eq(d.n, 1);
    cr_assert_str_eq(d.items[0].message, "cannot write out.onnx: No space left on device");
    sink_fd_free(&s);
    close(fd);
    diag_free(&d);
}

static void count(void *ctx, uint64_t done, uint64_t total)
{
    uint64_t *last = ctx;
    cr_assert_geq(done, *last);
    cr_assert_eq(total, 600000);
    *last = done;
}

Test(splice, descriptor_sink_tells_progress)
{
    struct sink_fd s;
    uint64_t last = 0;
    uint8_t *src = calloc(1, 600000);
    int fd = temp();
    cr_assert_eq(sink_fd_init(&s, fd, "out", -1, NULL), 0);
    s.progress = count;
    s.progress_ctx = &last;
    s.sink.total = 600000;
    cr_assert_eq(sink_put(&s.sink, src, 600000, SINK_NEW), 0);
    cr_assert_gt(last, 0);
    cr_assert_eq(s.sink.finish(&s.sink), 0);
    cr_assert_eq(last, 600000);
    sink_fd_free(&s);
    close(fd);
    free(src);
}
