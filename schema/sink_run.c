/* Long runs of the source on their way into a regular file: shared with it where the file system can do that,
 * else copied by the file server if there is one, else read and written in pieces.
 *
 * What tags are inserted before a run moves it off the block it began on, and a kernel that copies between
 * pages that do not line up splits each in two: copy_file_range() then takes 1.4 times what it takes for
 * `cp`. A piece that is read and written while it lies in the processor's cache takes the same wherever it
 * goes, and so do none of the pages of the source that stay mapped. */
#include "schema/file.h"
#include "schema/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    RUN_PIECE = 256 * 1024,          /* fits the cache next to the processor */
    SHARE_ALIGN = 4096,              /* file systems share whole blocks */
    SERVER_PIECE = 64 * 1024 * 1024, /* a server's copy, between two reports of progress */
};

/* Of <linux/magic.h>, those that it lacks. */
#define CIFS_MAGIC     0xff534d42L
#define CEPH_MAGIC     0x00c36400L
#define FUSE_MAGIC     0x65735546L
#define ZFS_MAGIC      0x2fc12fc1L
#define BCACHEFS_MAGIC 0xca451a4eL

/* File systems whose data lie elsewhere: who has them can copy them without sending them here and back. */
static bool is_remote(long type)
{
    return type == NFS_SUPER_MAGIC || type == SMB2_SUPER_MAGIC || type == CIFS_MAGIC || type == CEPH_MAGIC ||
           type == FUSE_MAGIC;
}

/* Where reserving room costs more than it saves: what is overwritten is written anew elsewhere, or
 * compression is given up for it, or there is no disk. */
static bool is_cheap_unreserved(long type)
{
    return type == BTRFS_SUPER_MAGIC || type == BCACHEFS_MAGIC || type == ZFS_MAGIC || type == TMPFS_MAGIC ||
           type == RAMFS_MAGIC;
}

void sink_fd_choose(struct sink_fd *s, const struct stat *to)
{
    struct stat from;
    struct statfs fs;
    long type = fstatfs(s->fd, &fs) == 0 ? (long)fs.f_type : 0;
    bool remote = is_remote(type);
    s->runs = s->source >= 0 && fstat(s->source, &from) == 0 && S_ISREG(from.st_mode);
    s->share = s->runs && from.st_dev == to->st_dev;
    s->remote = s->share && remote;
    s->reserve = !remote && !is_cheap_unreserved(type);
}

static int cannot_read(const struct sink_fd *s, int err)
{
    return diag_error(s->d, IR_EIO, "cannot read the input: %s", strerror(err));
}

/* The next n bytes of the source; short only at a failure, reported. */
static int read_piece(struct sink_fd *s, uint64_t src, size_t n)
{
    for (size_t have = 0; have < n;) {
        ssize_t k = pread(s->source, s->piece + have, n - have, (off_t)(src + have));
        if (k == 0)
            return sink_fd_fail(s, EFAULT);
        if (k < 0 && errno != EINTR)
            return cannot_read(s, errno);
        if (k > 0)
            have += (size_t)k;
    }
    return 0;
}

static int write_piece(struct sink_fd *s, size_t n)
{
    int err = file_write_all(s->fd, s->piece, n);
    if (err)
        return sink_fd_fail(s, err);
    sink_fd_advanced(s, n);
    return 0;
}

/* Pieces end where blocks of the output do. */
static int copy_pieces(struct sink_fd *s, uint64_t src, uint64_t n)
{
    if (!s->piece && !(s->piece = malloc(RUN_PIECE)))
        return diag_error(s->d, IR_EMEM, "cannot write %s: out of memory", s->name);
    while (n) {
        uint64_t k = RUN_PIECE - s->at % RUN_PIECE;
        k = k < n ? k : n;
        int rc = read_piece(s, src, (size_t)k);
        if (rc == 0)
            rc = write_piece(s, (size_t)k);
        if (rc)
            return rc;
        src += k;
        n -= k;
    }
    return 0;
}

/* Has the server copy up to n bytes. Returns how many it did. */
static uint64_t copy_at_server(struct sink_fd *s, uint64_t src, uint64_t n)
{
    uint64_t done = 0;
    while (done < n) {
        loff_t from = (loff_t)(src + done), to = (loff_t)s->at;
        size_t want = n - done < SERVER_PIECE ? (size_t)(n - done) : SERVER_PIECE;
        ssize_t k = copy_file_range(s->source, &from, s->fd, &to, want, 0);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0) {
            s->remote = false;
            break;
        }
        done += (uint64_t)k;
        sink_fd_advanced(s, (uint64_t)k);
    }
    return done;
}

/* Shares up to n bytes of the source, both places at the start of a block. Returns how many were shared. */
static uint64_t share_blocks(struct sink_fd *s, uint64_t src, uint64_t n)
{
    struct file_clone_range r = {s->source, src, n - n % SHARE_ALIGN, s->at};
    if (r.src_length == 0 || ioctl(s->fd, FICLONERANGE, &r) != 0) {
        s->share = false;
        return 0;
    }
    sink_fd_advanced(s, r.src_length);
    return r.src_length;
}

int sink_fd_run(struct sink_fd *s, uint64_t src, uint64_t n)
{
    uint64_t head = (SHARE_ALIGN - s->at % SHARE_ALIGN) % SHARE_ALIGN, done = 0;
    if (s->share && head < n && (src + head) % SHARE_ALIGN == 0) {
        int rc = copy_pieces(s, src, head);
        if (rc)
            return rc;
        done = head + share_blocks(s, src + head, n - head);
    }
    if (s->remote)
        done += copy_at_server(s, src + done, n - done);
    if (lseek(s->fd, (off_t)s->at, SEEK_SET) < 0)
        return sink_fd_fail(s, errno);
    return copy_pieces(s, src + done, n - done);
}
