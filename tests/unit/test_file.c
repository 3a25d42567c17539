#include "schema/file.h"

#include "tests/unit/box.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* System calls that are to fail, instead of libc's: the library is linked to these. Each counts down; the
 * call that gets to 0 fails. */
static int fsync_in, linkat_in, renameat_in;

int fsync(int fd)
{
    if (fsync_in && --fsync_in == 0) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, fd);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    if (linkat_in && --linkat_in == 0) {
        errno = EDQUOT;
        return -1;
    }
    return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    if (renameat_in && --renameat_in == 0) {
        errno = EROFS;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

static bool nameless_off, noreplace_off;

int openat(int dir, const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = va_arg(ap, mode_t);
    va_end(ap);
    if (nameless_off && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return (int)syscall(SYS_openat, dir, path, flags, mode);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    if (noreplace_off && flags) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

static int replace(const char *path, const char *text, struct diag *d)
{
    struct file_out o;
    int rc = file_out_open(&o, path, false, NULL, d);
    if (rc == 0) {
        cr_assert_eq(file_write_all(o.fd, text, strlen(text)), 0);
        rc = file_out_commit(&o, d);
    }
    return rc;
}

/* ---- input */

Test(file, maps_a_file)
{
    struct box b;
    struct file_in f;
    box_open(&b);
    put(in(&b, "m"), "bytes");
    cr_assert_eq(file_in_open(&f, b.path, &b.d), 0);
    cr_assert_eq(f.size, 5);
    cr_assert_eq(memcmp(f.bytes, "bytes", 5), 0);
    cr_assert_str_eq(f.path, b.path);
    int fd = open(b.path, O_RDWR);
    cr_assert(file_in_same(&f, fd));
    close(fd);
    cr_assert(!file_in_same(&f, 0));
    file_in_close(&f);
    cr_assert_eq(f.size, 0);
    file_in_close(&f);
    box_close(&b);
}

/* Within the last page no signal tells. */
Test(file, a_file_that_became_shorter_is_not_whole)
{
    struct box b;
    struct file_in f;
    box_open(&b);
    cr_assert_eq(file_in_whole(&(struct file_in){.fd = -1}, &b.d), 0);
    put(in(&b, "m"), "bytes");
    cr_assert_eq(file_in_open(&f, b.path, &b.d), 0);
    cr_assert_eq(file_in_whole(&f, &b.d), 0);
    cr_assert_eq(truncate(b.path, 6), 0);
    cr_assert_eq(file_in_whole(&f, &b.d), 0);
    cr_assert_eq(truncate(b.path, 4), 0);
    cr_assert_eq(file_in_whole(&f, &b.d), IR_EIO);
    cr_assert(strstr(b.d.items[0].message, "m: it became shorter while it was being read"));
    file_in_close(&f);
    box_close(&b);
}

Test(file, an_empty_file_has_bytes_to_point_to)
{
    struct box b;
    struct file_in f;
    box_open(&b);
    put(in(&b, "m"), "");
    cr_assert_eq(file_in_open(&f, b.path, &b.d), 0);
    cr_assert_eq(f.size, 0);
    cr_assert_not_null(f.bytes);
    file_in_close(&f);
    box_close(&b);
}

Test(file, a_missing_file_and_a_directory_are_errors)
{
    struct box b;
    struct file_in f;
    box_open(&b);
    cr_assert_eq(file_in_open(&f, in(&b, "none"), &b.d), IR_EIO);
    says(&b.d, "/none: No such file or directory");
    cr_assert_eq(file_in_open(&f, b.dir, &b.d), IR_EIO);
    says(&b.d, ": Is a directory");
    box_close(&b);
}

Test(file, what_is_no_regular_file_is_spooled)
{
    struct file_in f;
    int p[2];
    cr_assert_eq(pipe(p), 0);
    cr_assert_eq(write(p[1], "through a pipe", 14), 14);
    close(p[1]);
    cr_assert_eq(file_in_fd(&f, p[0], "stdin", NULL), 0);
    cr_assert_eq(f.size, 14);
    cr_assert_eq(memcmp(f.bytes, "through a pipe", 14), 0);
    cr_assert_eq(fcntl(p[0], F_GETFD), 0, "the descriptor stays the caller's");
    file_in_close(&f);
    close(p[0]);
}

Test(file, spooling_needs_a_place)
{
    struct diag d;
    struct file_in f;
    int p[2];
    diag_init(&d);
    cr_assert_eq(pipe(p), 0);
    close(p[1]);
    cr_assert_eq(setenv("TMPDIR", "/nowhere/at/all", 1), 0);
    cr_assert_eq(file_in_fd(&f, p[0], "stdin", &d), IR_EIO);
    says(&d, "cannot create a temporary file in /nowhere/at/all: No such file or directory");
    close(p[0]);
}

Test(file, a_descriptor_is_read_from_where_it_stands)
{
    struct box b;
    struct file_in f;
    box_open(&b);
    put(in(&b, "m"), "skip me");
    int fd = open(b.path, O_RDONLY);
    cr_assert_eq(lseek(fd, 5, SEEK_SET), 5);
    cr_assert_eq(file_in_fd(&f, fd, "stdin", &b.d), 0);
    cr_assert_eq(f.size, 2);
    cr_assert_eq(memcmp(f.bytes, "me", 2), 0);
    file_in_close(&f);
    close(fd);
    box_close(&b);
}

/* ---- output */

Test(file, a_new_file_honours_the_umask)
{
    struct box b;
    struct stat st;
    box_open(&b);
    umask(027);
    cr_assert_eq(replace(in(&b, "out"), "new", &b.d), 0);
    holds(b.path, "new");
    cr_assert_eq(stat(b.path, &st), 0);
    cr_assert_eq(st.st_mode & 07777, 0640);
    cr_assert_eq(entries(b.dir), 1);
    box_close(&b);
}

Test(file, an_existing_file_keeps_mode_and_owner)
{
    struct box b;
    struct stat st;
    box_open(&b);
    put(in(&b, "out"), "old");
    cr_assert_eq(chmod(b.path, 0604), 0);
    bool root = geteuid() == 0;
    if (root)
        cr_assert_eq(chown(b.path, 1234, 4321), 0);
    cr_assert_eq(replace(b.path, "new", &b.d), 0);
    holds(b.path, "new");
    cr_assert_eq(stat(b.path, &st), 0);
    cr_assert_eq(st.st_mode & 07777, 0604);
    cr_assert_eq(st.st_uid, root ? 1234 : geteuid());
    cr_assert_eq(st.st_gid, root ? 4321 : getegid());
    cr_assert_eq(entries(b.dir), 1);
    box_close(&b);
}

Test(file, until_the_commit_nothing_shows)
{
    struct box b;
    struct file_out o;
    box_open(&b);
    put(in(&b, "out"), "old");
    cr_assert_eq(file_out_open(&o, b.path, false, NULL, &b.d), 0);
    cr_assert_eq(file_write_all(o.fd, "new", 3), 0);
    holds(b.path, "old");
    file_out_abort(&o);
    holds(b.path, "old");
    cr_assert_eq(entries(b.dir), 1);
    file_out_abort(&o);
    box_close(&b);
}

Test(file, a_file_that_cannot_be_flushed_is_not_put_in_place)
{
    struct box b;
    box_open(&b);
    put(in(&b, "out"), "old");
    fsync_in = 1;
    cr_assert_eq(replace(b.path, "new", &b.d), IR_EIO);
    says(&b.d, "/out: Input/output error");
    holds(b.path, "old");
    cr_assert_eq(entries(b.dir), 1);
    box_close(&b);
}

/* The folder is flushed after the file is in its place: then it is too late to fail. */
Test(file, a_folder_that_cannot_be_flushed_is_a_warning)
{
    struct box b;
    box_open(&b);
    put(in(&b, "out"), "old");
    fsync_in = 2;
    cr_assert_eq(replace(b.path, "new", &b.d), 0);
    cr_assert_eq(b.d.items[0].level, DIAG_WARNING);
    says(&b.d, "cannot flush its folder: Input/output error");
    holds(b.path, "new");
    box_close(&b);
}

Test(file, a_name_that_cannot_be_given)
{
    struct box b;
    box_open(&b);
    put(in(&b, "out"), "old");
    int fd = open(b.dir, O_TMPFILE | O_RDWR, 0600);
    for (int call = 1; fd >= 0 && call <= 2; call++) { /* to the target itself, then to a temporary name */
        linkat_in = call;
        cr_assert_eq(replace(b.path, "new", &b.d), IR_EIO);
        says(&b.d, "/out: Disk quota exceeded");
        holds(b.path, "old");
        cr_assert_eq(entries(b.dir), 1);
    }
    close(fd);
    linkat_in = 0;
    renameat_in = 1;
    cr_assert_eq(replace(b.path, "new", &b.d), IR_EIO);
    says(&b.d, "/out: Read-only file system");
    holds(b.path, "old");
    cr_assert_eq(entries(b.dir), 1);
    box_close(&b);
}

static void told(void *ctx, const char *path)
{
    char *last = ctx;
    snprintf(last, 128, "%s", path ? path : "");
}

/* The way for file systems that know no nameless files. */
Test(file, with_a_named_temporary_file)
{
    struct box b;
    struct file_out o;
    char last[128] = "nothing told", want[128];
    struct file_watch watch = {told, last};
    box_open(&b);
    put(in(&b, "out"), "old");
    nameless_off = true;
    for (int commit = 0; commit < 2; commit++) {
        cr_assert_eq(file_out_open(&o, b.path, true, &watch, &b.d), 0);
        cr_assert_not_null(o.temp.name);
        cr_assert_eq(strncmp(o.temp.name, FILE_TEMP_PREFIX, strlen(FILE_TEMP_PREFIX)), 0);
        snprintf(want, sizeof want, "%s/%s", b.dir, o.temp.name);
        cr_assert_str_eq(last, want);
        cr_assert_eq(entries(b.dir), 2);
        cr_assert_eq(file_write_all(o.fd, "new", 3), 0);
        if (commit)
            cr_assert_eq(file_out_commit(&o, &b.d), 0);
        else
            file_out_abort(&o);
        holds(b.path, commit ? "new" : "old");
        cr_assert_eq(entries(b.dir), 1);
        cr_assert_str_eq(last, "");
    }
    box_close(&b);
}

/* New files there: not over another one, whether the kernel can promise that or not. */
Test(file, a_named_file_is_not_put_over_another_one)
{
    struct box b;
    struct file_temp t;
    box_open(&b);
    put(in(&b, "there"), "old");
    int dir = open(b.dir, O_RDONLY | O_DIRECTORY);
    nameless_off = true;
    for (int i = 0; i < 2; i++) {
        noreplace_off = i;
        cr_assert_eq(file_temp_open(&t, dir, b.dir, 0600, NULL), 0);
        cr_assert_eq(file_temp_publish(&t, "there", false), EEXIST);
        file_temp_close(&t);
        holds(b.path, "old");
        cr_assert_eq(file_temp_open(&t, dir, b.dir, 0600, NULL), 0);
        cr_assert_eq(file_temp_publish(&t, i ? "two" : "one", false), 0);
        file_temp_close(&t);
        cr_assert_eq(entries(b.dir), 2 + i);
    }
    close(dir);
    box_close(&b);
}

/* Replacing needs a name for a moment, which is told before it is there. */
Test(file, tells_of_temporary_names)
{
    struct box b;
    struct file_temp t;
    char last[128] = "nothing told";
    struct file_watch watch = {told, last};
    box_open(&b);
    put(in(&b, "out"), "old");
    int dir = open(b.dir, O_RDONLY | O_DIRECTORY);
    cr_assert_eq(file_temp_open(&t, dir, b.dir, 0600, &watch), 0);
    if (t.name)
        cr_assert_str_neq(last, "nothing told");
    cr_assert_eq(file_temp_publish(&t, "out", false), EEXIST);
    cr_assert_eq(file_temp_publish(&t, "none/out", true), ENOENT);
    file_temp_close(&t);
    cr_assert_eq(entries(b.dir), 1);
    holds(b.path, "old");
    strcpy(last, "nothing told");
    cr_assert_eq(file_temp_open(&t, dir, b.dir, 0600, &watch), 0);
    cr_assert_eq(file_temp_publish(&t, "out", true), 0);
    cr_assert_str_eq(last, "");
    file_temp_close(&t);
    cr_assert_eq(entries(b.dir), 1);
    holds(b.path, "");
    cr_assert_eq(file_temp_open(&t, dir, b.dir, 0600, &watch), 0);
    cr_assert_eq(file_temp_publish(&t, "new", false), 0);
    file_temp_close(&t);
    cr_assert_eq(entries(b.dir), 2);
    close(dir);
    box_close(&b);
}

Test(file, a_link_stays_and_its_target_is_replaced)
{
    struct box b;
    struct stat st;
    box_open(&b);
    cr_assert_eq(mkdir(in(&b, "sub"), 0755), 0);
    put(in(&b, "sub/real"), "old");
    cr_assert_eq(symlink("sub/real", in(&b, "one")), 0);
    cr_assert_eq(symlink("one", in(&b, "two")), 0);
    cr_assert_eq(replace(b.path, "new", &b.d), 0);
    cr_assert_eq(lstat(b.path, &st), 0);
    cr_assert(S_ISLNK(st.st_mode));
    holds(in(&b, "sub/real"), "new");
    cr_assert_eq(entries(in(&b, "sub")), 1);
    cr_assert_eq(entries(b.dir), 3);
    box_close(&b);
}

Test(file, a_dangling_link_makes_its_target)
{
    struct box b;
    box_open(&b);
    cr_assert_eq(symlink("target", in(&b, "link")), 0);
    cr_assert_eq(replace(b.path, "new", &b.d), 0);
    holds(in(&b, "target"), "new");
    box_close(&b);
}

Test(file, links_that_go_round_are_an_error)
{
    struct box b;
    box_open(&b);
    cr_assert_eq(symlink("b", in(&b, "a")), 0);
    cr_assert_eq(symlink("a", in(&b, "b")), 0);
    cr_assert_eq(replace(b.path, "new", &b.d), IR_EIO);
    says(&b.d, "Too many levels of symbolic links");
    box_close(&b);
}

Test(file, a_directory_is_no_target)
{
    struct box b;
    box_open(&b);
    cr_assert_eq(replace(b.dir, "new", &b.d), IR_EIO);
    says(&b.d, "Is a directory");
    cr_assert_eq(replace(in(&b, ""), "new", &b.d), IR_EIO);
    says(&b.d, "Is a directory");
    cr_assert_eq(replace(in(&b, "none/out"), "new", &b.d), IR_EIO);
    says(&b.d, "none/out: No such file or directory");
    cr_assert_eq(replace("", "new", &b.d), IR_EIO);
    cr_assert_eq(entries(b.dir), 0);
    box_close(&b);
}

Test(file, a_fifo_is_written_through)
{
    struct box b;
    struct stat st;
    char got[8] = "";
    box_open(&b);
    cr_assert_eq(mkfifo(in(&b, "fifo"), 0600), 0);
    int fd = open(b.path, O_RDONLY | O_NONBLOCK);
    cr_assert_eq(replace(b.path, "new", &b.d), 0);
    cr_assert_eq(read(fd, got, sizeof got - 1), 3);
    cr_assert_str_eq(got, "new");
    cr_assert_eq(stat(b.path, &st), 0);
    cr_assert(S_ISFIFO(st.st_mode));
    close(fd);
    box_close(&b);
}

Test(file, devices_are_written_through)
{
    struct diag d;
    diag_init(&d);
    cr_assert_eq(replace("/dev/null", "new", &d), 0);
    struct stat st;
    cr_assert_eq(stat("/dev/null", &st), 0);
    cr_assert(S_ISCHR(st.st_mode));
    struct file_out o;
    cr_assert_eq(file_out_open(&o, "/dev/full", false, NULL, &d), 0);
    cr_assert_eq(file_write_all(o.fd, "x", 1), ENOSPC);
    file_out_abort(&o);
    diag_free(&d);
}

Test(file, tells_what_will_be_written_through)
{
    struct box b;
    box_open(&b);
    put(in(&b, "regular"), "");
    cr_expect(!file_out_through(b.path));
    cr_expect(!file_out_through(b.dir));
    cr_expect(!file_out_through(in(&b, "none")));
    cr_expect(!file_out_through(in(&b, "none/none")));
    cr_expect(file_out_through("/dev/null"));
    cr_expect(file_out_through("/dev/stdout"));
    cr_expect(file_out_through("/dev/fd/7"));
    cr_assert_eq(symlink("/dev/null", in(&b, "link")), 0);
    cr_expect(file_out_through(b.path));
    box_close(&b);
}

/* What was written before us through the same descriptor stays. */
Test(file, a_descriptor_by_name_goes_on_where_it_stands)
{
    struct box b;
    char name[32];
    box_open(&b);
    int fd = open(in(&b, "log"), O_RDWR | O_CREAT, 0600);
    cr_assert_eq(write(fd, "head ", 5), 5);
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    cr_assert_eq(replace(name, "tail", &b.d), 0);
    holds(b.path, "head tail");
    cr_assert_eq(entries(b.dir), 1);
    close(fd);
    box_close(&b);
}

Test(file, the_input_stays_mapped_when_it_is_replaced)
{
    struct box b;
    struct file_in f;
    box_open(&b);
    put(in(&b, "m"), "old");
    cr_assert_eq(file_in_open(&f, b.path, &b.d), 0);
    cr_assert_eq(replace(b.path, "new content", &b.d), 0);
    cr_assert_eq(f.size, 3);
    cr_assert_eq(memcmp(f.bytes, "old", 3), 0);
    file_in_close(&f);
    holds(b.path, "new content");
    box_close(&b);
}

/* As somebody who may not: exit code of what `what` returned in a child without root's rights. */
static int as_nobody(int (*what)(struct box *), struct box *b)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(100);
        _exit(what(b));
    }
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int try_replace(struct box *b)
{
    struct diag d;
    diag_init(&d);
    int rc = replace(b->path, "new", &d);
    bool clear = d.n == 1 && strstr(d.items[0].message, "Permission denied");
    diag_free(&d);
    return rc == IR_EIO && clear ? 7 : rc == 0 ? 0 : 99;
}

Test(file, a_read_only_folder_is_left_alone)
{
    struct box b;
    box_open(&b);
    put(in(&b, "out"), "old");
    cr_assert_eq(chmod(b.path, 0666), 0);
    cr_assert_eq(chmod(b.dir, 0555), 0);
    cr_assert_eq(as_nobody(try_replace, &b), 7);
    holds(b.path, "old");
    cr_assert_eq(entries(b.dir), 1);
    cr_assert_eq(chmod(b.dir, 0755), 0);
    box_close(&b);
}

Test(file, a_read_only_file_is_not_replaced)
{
    struct box b;
    box_open(&b);
    put(in(&b, "out"), "old");
    cr_assert_eq(chmod(b.path, 0444), 0);
    cr_assert_eq(chmod(b.dir, 0777), 0);
    cr_assert_eq(as_nobody(try_replace, &b), 7);
    holds(b.path, "old");
    box_close(&b);
}

/* Our own file keeps all bits of its mode. Another's, in a folder that we may write to, is replaced but
 * cannot be given back to its owner: the set-user-id bit must not lend our rights then. (Only root can
 * prepare that.) */
Test(file, set_id_bits_stay_with_their_owner_alone)
{
    struct box b;
    struct stat st;
    box_open(&b);
    put(in(&b, "out"), "old");
    cr_assert_eq(chmod(b.path, 06777), 0);
    cr_assert_eq(replace(b.path, "new", &b.d), 0);
    cr_assert_eq(stat(b.path, &st), 0);
    cr_assert_eq(st.st_mode & 07777, 06777);
    if (geteuid() == 0) {
        cr_assert_eq(chown(b.path, 1234, 4321), 0);
        cr_assert_eq(chmod(b.path, 06777), 0);
        cr_assert_eq(chmod(b.dir, 0777), 0);
        cr_assert_eq(as_nobody(try_replace, &b), 0);
        cr_assert_eq(stat(b.path, &st), 0);
        cr_assert_eq(st.st_mode & 07777, 0777);
        cr_assert_eq(st.st_uid, 65534);
    }
    box_close(&b);
}

/* Writes more than fits; the old file must be left, and nothing else. */
static void overfill(struct box *b, int expected)
{
    static char big[300000];
    struct file_out o;
    put(in(b, "out"), "old");
    cr_assert_eq(file_out_open(&o, b->path, false, NULL, &b->d), 0);
    int err = file_write_all(o.fd, big, sizeof big);
    file_out_abort(&o);
    int left = entries(b->dir);
    holds(b->path, "old");
    cr_expect_eq(err, expected);
    cr_expect_eq(left, 1);
}

Test(file, a_file_too_big_leaves_the_old_one)
{
    struct box b;
    box_open(&b);
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){100000, 100000}), 0);
    overfill(&b, EFBIG);
    box_close(&b);
}

Test(file, a_full_disk_leaves_the_old_file)
{
    struct box b;
    box_open(&b);
    /* A real one needs root, in a mount name space of its own so that it goes with the process. */
    if (geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
        mount("none", b.dir, "tmpfs", 0, "size=128k") == 0) {
        overfill(&b, ENOSPC);
        cr_assert_eq(umount(b.dir), 0);
    }
    int fd = open("/dev/full", O_WRONLY);
    cr_assert_eq(file_write_all(fd, "x", 1), ENOSPC);
    close(fd);
    box_close(&b);
}

/* ---- copying */

static void add(void *ctx, uint64_t n)
{
    *(uint64_t *)ctx += n;
}

Test(file, copies_to_the_end)
{
    struct box b;
    uint64_t told = 0;
    struct file_copy how = {.progress = add, .ctx = &told};
    box_open(&b);
    put(in(&b, "a"), "0123456789");
    int from = open(b.path, O_RDONLY), to = open(in(&b, "b"), O_RDWR | O_CREAT, 0600);
    cr_assert_eq(lseek(from, 4, SEEK_SET), 4);
    cr_assert_eq(file_copy_all(from, to, &how), 0);
    holds(b.path, "456789");
    cr_assert_eq(told, 6);
    close(from);
    close(to);
    box_close(&b);
}

Test(file, copies_in_pieces_too)
{
    struct box b;
    box_open(&b);
    put(in(&b, "a"), "0123456789");
    int from = open(b.path, O_RDONLY), to = open(in(&b, "b"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    cr_assert_eq(file_copy_all(from, to, NULL), 0, "copy_file_range() refuses files in append mode");
    holds(b.path, "0123456789");
    cr_assert_eq(file_copy_all(to, to, NULL), EBADF);
    close(from);
    close(to);
    box_close(&b);
}

Test(file, copies_what_the_kernel_cannot_copy_by_itself)
{
    struct box b;
    int p[2];
    box_open(&b);
    cr_assert_eq(pipe(p), 0);
    cr_assert_eq(write(p[1], "piped", 5), 5);
    close(p[1]);
    int to = open(in(&b, "b"), O_RDWR | O_CREAT, 0600);
    cr_assert_eq(file_copy_all(p[0], to, NULL), 0);
    holds(b.path, "piped");
    close(p[0]);
    close(to);
    box_close(&b);
}
