#include "schema/zip_unpack.h"

#include <errno.h>
#include <minizip/unzip.h>
#include <string.h>

/* ---- a file in memory, as minizip wants to see it */

struct memory {
    const uint8_t *bytes;
    uint64_t size, at;
};

static void *mem_open(void *opaque, const void *name, int mode)
{
    (void)name;
    (void)mode;
    return opaque;
}

static uLong mem_read(void *opaque, void *stream, void *buf, uLong n)
{
    struct memory *m = stream;
    uint64_t left = m->size - m->at;
    uLong k = n < left ? n : (uLong)left;
    (void)opaque;
    memcpy(buf, m->bytes + m->at, k);
    m->at += k;
    return k;
}

static uLong mem_write(void *opaque, void *stream, const void *buf, uLong n)
{
    (void)opaque;
    (void)stream;
    (void)buf;
    (void)n;
    return 0;
}

static ZPOS64_T mem_tell(void *opaque, void *stream)
{
    (void)opaque;
    return ((struct memory *)stream)->at;
}

static long mem_seek(void *opaque, void *stream, ZPOS64_T offset, int origin)
{
    struct memory *m = stream;
    uint64_t from = origin == ZLIB_FILEFUNC_SEEK_SET ? 0 : origin == ZLIB_FILEFUNC_SEEK_CUR ? m->at : m->size;
    (void)opaque;
    if (offset > m->size - from)
        return -1;
    m->at = from + offset;
    return 0;
}

static int mem_close(void *opaque, void *stream)
{
    (void)opaque;
    (void)stream;
    return 0;
}

static const zlib_filefunc64_def mem_functions = {
    .zopen64_file = mem_open,
    .zread_file = mem_read,
    .zwrite_file = mem_write,
    .ztell64_file = mem_tell,
    .zseek64_file = mem_seek,
    .zclose_file = mem_close,
    .zerror_file = mem_close,
};

/* ---- unpacking */

/* Reads all of the open member, which must end where it says. */
static int read_all(unzFile zip, char *to, uint64_t n)
{
    enum { PIECE = 1 << 30 };
    char past;
    for (uint64_t have = 0; have < n;) {
        int k = unzReadCurrentFile(zip, to + have, (unsigned)(n - have < PIECE ? n - have : PIECE));
        if (k <= 0)
            return k == 0 ? UNZ_CRCERROR : k;
        have += (uint64_t)k;
    }
    return unzReadCurrentFile(zip, &past, 1) == 0 ? UNZ_OK : UNZ_CRCERROR;
}

/* What minizip finds at the member's place in the directory must be what we found. */
static int unpack_member(unzFile zip, const struct zip_member *f, char *to)
{
    int rc = unzSetOffset64(zip, f->central);
    if (rc == UNZ_OK)
        rc = unzOpenCurrentFile(zip);
    if (rc != UNZ_OK)
        return rc;
    rc = unzGetCurrentFileZStreamPos64(zip) == f->data ? read_all(zip, to, f->size) : UNZ_BADZIPFILE;
    int closed = unzCloseCurrentFile(zip); /* compares the checksum */
    return rc == UNZ_OK ? closed : rc;
}

int zip_unpack(const uint8_t *archive, uint64_t size, const struct zip_member *f, char *to, const char **why)
{
    if (f->method && f->method != Z_DEFLATED) { /* minizip may know more, and would call it damaged */
        *why = "is compressed in a way that is not understood";
        return IR_EINPUT;
    }
    struct memory m = {archive, size, 0};
    zlib_filefunc64_def functions = mem_functions;
    functions.opaque = &m;
    errno = 0;
    unzFile zip = unzOpen2_64("", &functions);
    int rc = zip ? unpack_member(zip, f, to) : errno == ENOMEM ? UNZ_INTERNALERROR : UNZ_BADZIPFILE;
    unzClose(zip);
    if (rc == UNZ_OK)
        return 0;
    *why = "cannot be unpacked: its size or checksum is wrong";
    return rc == UNZ_INTERNALERROR || rc == Z_MEM_ERROR ? IR_EMEM : IR_EINPUT;
}
