#include "tests/unit/pt2_build.h"

static int read_dir(struct zip_dir *z, struct pb bytes, struct arena *a, struct diag *d)
{
    arena_init(a, 0);
    diag_init(d);
    return zip_dir_read(z, bytes.b, bytes.n, a, d);
}

/* Refused, with this message; frees the bytes. */
static void refuse(struct pb bytes, const char *message)
{
    struct zip_dir z;
    struct arena a;
    struct diag d;
    cr_expect_eq(read_dir(&z, bytes, &a, &d), IR_EINPUT, "%s", message);
    cr_expect_str_eq(first_error(&d), message);
    arena_free(&a);
    diag_free(&d);
    pb_free(&bytes);
}

/* An archive of one member, written with something wrong. */
static struct pb one(const char *name, struct zip_how how)
{
    struct zip_build z = {0};
    zip_add_how(&z, name, "data", 4, how);
    return zip_done(&z, false);
}

static void expect_member(const struct zip_dir *z, struct pb bytes, uint32_t i, const char *name,
                          const char *data)
{
    const struct zip_member *m = &z->members[i];
    cr_expect(str_is(m->name, name));
    cr_expect_eq(m->size, strlen(data));
    cr_expect_eq(m->stored, strlen(data));
    cr_expect_arr_eq(bytes.b + m->data, data, strlen(data));
    cr_expect_arr_eq(bytes.b + m->local, "PK\3\4", 4);
    cr_expect_arr_eq(bytes.b + m->central, "PK\1\2", 4);
}

Test(zip_dir, finds_everything)
{
    for (int wide = 0; wide < 2; wide++)
        for (int padded = 0; padded < 2; padded++) {
            struct zip_build b = {0};
            struct zip_how how = {.padded = padded, .wide = wide, .wide_local = wide && !padded};
            zip_add_how(&b, "a/one", "first", 5, how);
            zip_add_how(&b, "a/two", "", 0, how);
            zip_add_how(&b, "b", "third one", 9, how);
            struct pb bytes = zip_done(&b, wide);
            struct zip_dir z;
            struct arena a;
            struct diag d;
            cr_assert_eq(read_dir(&z, bytes, &a, &d), 0, "%s", first_error(&d));
            cr_expect_eq(z.n, 3);
            expect_member(&z, bytes, 0, "a/one", "first");
            expect_member(&z, bytes, 1, "a/two", "");
            expect_member(&z, bytes, 2, "b", "third one");
            for (uint32_t i = 0; i < 3; i++) {
                const struct zip_member *m = &z.members[i];
                cr_expect_eq(z.by_offset[i], i);
                cr_expect_eq(m->desc, padded ? ZIP_DESC_32 : ZIP_DESC_NONE);
                cr_expect_eq(m->end, m->data + m->size + (padded ? 16 : 0));
                cr_expect_eq(m->pad != ZIP_NONE, padded);
                cr_expect(!padded || (m->data % 64 == 0 && m->data == m->pad + 4 + m->pad_len));
            }
            cr_expect_eq(z.end64 != ZIP_NONE, wide);
            cr_expect_arr_eq(bytes.b + z.end, "PK\5\6", 4);
            arena_free(&a);
            diag_free(&d);
            pb_free(&bytes);
        }
}

Test(zip_dir, an_empty_archive)
{
    struct zip_build b = {0};
    struct pb bytes = zip_done(&b, false);
    struct zip_dir z;
    struct arena a;
    struct diag d;
    cr_expect_eq(read_dir(&z, bytes, &a, &d), 0);
    cr_expect_eq(z.n, 0);
    arena_free(&a);
    diag_free(&d);
    pb_free(&bytes);
}

Test(zip_dir, a_comment_that_looks_like_an_end_record)
{
    struct pb bytes = one("a", (struct zip_how){0});
    static const char comment[] = "PK\5\6 this is no end record, only a comment";
    bytes.b[bytes.n - 2] = sizeof comment - 1;
    pb_raw(&bytes, comment, sizeof comment - 1);
    struct zip_dir z;
    struct arena a;
    struct diag d;
    cr_expect_eq(read_dir(&z, bytes, &a, &d), 0, "%s", first_error(&d));
    cr_expect_eq(z.n, 1);
    arena_free(&a);
    diag_free(&d);
    pb_free(&bytes);
}

Test(zip_dir, refuses_names_that_lead_astray)
{
    refuse(one("/etc/passwd", (struct zip_how){0}), "member \"/etc/passwd\": its name is an absolute path");
    refuse(one("\\x", (struct zip_how){0}), "member \"\\\\x\": its name is an absolute path");
    refuse(one("C:x", (struct zip_how){0}), "member \"C:x\": its name is an absolute path");
    refuse(one("a/../../b", (struct zip_how){0}), "member \"a/../../b\": its name leads outside (\"..\")");
    refuse(one("..", (struct zip_how){0}), "member \"..\": its name leads outside (\"..\")");
    refuse(one("a\\..", (struct zip_how){0}), "member \"a\\\\..\": its name leads outside (\"..\")");
    refuse(one("a\nb", (struct zip_how){0}), "member \"a\\nb\": control character in its name");
    refuse(one("", (struct zip_how){0}), "a member has no name");
}

Test(zip_dir, names_that_only_look_so_are_fine)
{
    static const char *const names[] = {"a..b", "..a",     "a../b", ".hidden", "model/.data/version",
                                        "a b",  "\xc3\xa9"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct pb bytes = one(names[i], (struct zip_how){0});
        struct zip_dir z;
        struct arena a;
        struct diag d;
        cr_expect_eq(read_dir(&z, bytes, &a, &d), 0, "%s", names[i]);
        arena_free(&a);
        diag_free(&d);
        pb_free(&bytes);
    }
}

Test(zip_dir, refuses_members_that_disagree)
{
    refuse(one("a", (struct zip_how){.flags = 1}), "member \"a\": is encrypted");
    refuse(one("a", (struct zip_how){.size_add = 1}), "member \"a\": is stored, yet its two sizes differ");
    refuse(one("a", (struct zip_how){.size_add = 1, .method = 8}),
           "member \"a\": its local header disagrees with the central directory");
    refuse(one("a", (struct zip_how){.local_add = 1}),
           "member \"a\": its local header is not where the central directory says");
    refuse(one("a", (struct zip_how){.local_add = 0x7fffffff}),
           "member \"a\": its local header is not where the central directory says");
}

/* A member whose bytes are changed at an offset from the start of the archive or of its directory. */
static struct pb patched(struct zip_how how, bool directory, size_t at, uint8_t value)
{
    struct pb bytes = one("a", how);
    size_t base = directory ? bytes.n - 22 - 46 - 1 - (how.wide ? 28 : 0) : 0;
    bytes.b[base + at] = value;
    return bytes;
}

Test(zip_dir, refuses_headers_that_disagree)
{
    struct zip_how plain = {0}, padded = {.padded = true}, wide = {.wide = true};
    refuse(patched(plain, false, 30, 'b'),
           "member \"a\": its local header disagrees with the central directory");
    refuse(patched(plain, false, 8, 8),
           "member \"a\": its local header disagrees with the central directory");
    refuse(patched(plain, false, 14, 9),
           "member \"a\": its local header disagrees with the central directory");
    refuse(patched(plain, false, 18, 9),
           "member \"a\": its local header disagrees with the central directory");
    refuse(patched(plain, false, 27, 9), "member \"a\": passes the central directory");
    refuse(patched(plain, false, 0, 'Q'),
           "member \"a\": its local header is not where the central directory says");
    refuse(patched(padded, false, 64 + 4, 'Q'),
           "member \"a\": its data descriptor disagrees with the central directory");
    refuse(patched(padded, false, 64 + 4 + 8, 9),
           "member \"a\": its data descriptor disagrees with the central directory");
    refuse(patched(plain, true, 0, 'Q'), "expected a header of the central directory");
    refuse(patched(plain, true, 29, 9), "a header passes the end of the central directory");
    refuse(patched(plain, true, 32, 9), "a header passes the end of the central directory");
    refuse(patched(plain, true, 34, 1), "member \"a\": lies in another volume");
    refuse(patched(wide, true, 46 + 1 + 2, 8), "member \"a\": its zip64 field is too short");
}

Test(zip_dir, refuses_end_records_that_disagree)
{
    static const struct {
        int from_end;
        uint8_t value;
        const char *message;
    } cases[] = {
        {22, 'Q', "no end record: the archive is cut short, or not a zip archive"},
        {18, 1, "the archive is in several volumes"},
        {14, 2, "the archive is in several volumes"},
        {10, 9, "the central directory does not lie right before the end record"},
        {6, 9, "the central directory does not lie right before the end record"},
        {3, 0xff, "the central directory does not lie right before the end record"},
        {2, 1, "no end record: the archive is cut short, or not a zip archive"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct pb bytes = one("a", (struct zip_how){0});
        bytes.b[bytes.n - (size_t)cases[i].from_end] = cases[i].value;
        refuse(bytes, cases[i].message);
    }
    struct pb bytes = one("a", (struct zip_how){0}); /* more members than there is room for */
    bytes.b[bytes.n - 14] = bytes.b[bytes.n - 12] = 200;
    refuse(bytes, "the central directory is too small for the number of members");
    bytes = one("a", (struct zip_how){0}); /* none, yet a header */
    bytes.b[bytes.n - 14] = bytes.b[bytes.n - 12] = 0;
    refuse(bytes, "the central directory holds more than its members");
}

Test(zip_dir, refuses_zip64_records_that_disagree)
{
    static const struct {
        int from_end; /* of 22 + 20 + 56 bytes */
        uint8_t value;
        const char *message;
    } cases[] = {
        {22 + 12, 0xff, "the zip64 locator does not point to a zip64 end record"},
        {22 + 20 + 52, 99, "the zip64 end record does not end at its locator"},
        {22 + 4, 2, "the archive is in several volumes"},
        {22 + 20 + 32, 2, "the archive is in several volumes"},
        {22 + 20 + 9, 0xff, "the central directory does not lie right before the end record"},
        {22 + 20 + 1, 0xff, "the central directory does not lie right before the end record"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct zip_build b = {0};
        zip_add(&b, "a", "data");
        struct pb bytes = zip_done(&b, true);
        bytes.b[bytes.n - (size_t)cases[i].from_end] = cases[i].value;
        refuse(bytes, cases[i].message);
    }
}

Test(zip_dir, refuses_two_members_of_one_name)
{
    struct zip_build b = {0};
    zip_add(&b, "a", "1");
    zip_add(&b, "b", "2");
    zip_add(&b, "a", "3");
    refuse(zip_done(&b, false), "member \"a\": two members have this name");
}

Test(zip_dir, refuses_members_that_overlap)
{
    struct zip_build b = {0}; /* one member's data are another member: how zip bombs nest */
    zip_add(&b, "outer", "0123456789012345678901234567890123456789");
    zip_add(&b, "b", "2");
    struct pb bytes = zip_done(&b, false);
    size_t inner = 30 + 5, central = bytes.n - 22 - 46 - 5 - 46 - 1;
    memcpy(bytes.b + inner, bytes.b + inner + 40, 32); /* a local header of "b" inside the data of "outer" */
    bytes.b[central + 46 + 5 + 42] = (uint8_t)inner;
    refuse(bytes, "member \"b\": overlaps the member before it");
}

Test(zip_dir, bytes_before_the_archive_are_refused)
{
    struct pb bytes = {0}, rest = one("a", (struct zip_how){0});
    pb_raw(&bytes, "#!", 2);
    pb_raw(&bytes, rest.b, rest.n);
    pb_free(&rest);
    refuse(bytes, "the central directory does not lie right before the end record");
}

/* No cut of an archive, and no change of any byte, is read wrongly: refused, or all members lie inside. */
Test(zip_dir, every_cut_and_every_changed_byte)
{
    int accepted = 0, refused = 0;
    for (int kind = 0; kind < 2; kind++) {
        struct zip_build b = {0};
        struct zip_how how = {.padded = kind, .wide = !kind};
        zip_add_how(&b, "a", "data", 4, how);
        zip_add_how(&b, "b", "more", 4, how);
        struct pb whole = zip_done(&b, true);
        for (size_t i = 0; i < whole.n * 4; i++) {
            struct pb bytes = {0};
            pb_raw(&bytes, whole.b, i < whole.n ? i : whole.n);
            if (i >= whole.n)
                bytes.b[i % whole.n] ^= i < whole.n * 2 ? 0xff : i < whole.n * 3 ? 1 : 0x80;
            struct zip_dir z;
            struct arena a;
            struct diag d;
            int rc = read_dir(&z, bytes, &a, &d);
            cr_expect(rc == 0 || (rc == IR_EINPUT && d.n == 1));
            for (uint32_t k = 0; rc == 0 && k < z.n; k++)
                cr_expect(z.members[k].end <= z.central && z.members[k].data <= z.members[k].end);
            rc == 0 ? accepted++ : refused++;
            arena_free(&a);
            diag_free(&d);
            pb_free(&bytes);
        }
        pb_free(&whole);
    }
    cr_expect_gt(accepted, 100); /* dates, versions, padding, data: nothing that matters */
    cr_expect_gt(refused, 1000);
}
