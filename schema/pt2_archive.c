/* The archive: which of its members are programs and lists of weights, and their text. */
#include "schema/pt2_reader.h"

#include "schema/zip_unpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#define FLAT_NAME     "serialized_exported_program.json"
#define WEIGHTS_DEPTH 16 /* objects and arrays in each other, in a list of weights */

/* ---- which members are programs ---- */

/* What comes after the first folder of a path. */
static struct str below_root(struct str name)
{
    ptrdiff_t slash = str_chr(name, '/');
    return slash < 0 ? ((struct str){0}) : str_sub(name, (size_t)slash + 1, name.n - (size_t)slash - 1);
}

static bool is_flat(struct str name)
{
    return str_is(name, FLAT_NAME) || str_ends(name, STR_LIT("/" FLAT_NAME));
}

static bool is_packaged(struct str name)
{
    struct str s = below_root(name);
    return str_starts(s, STR_LIT("models/")) && str_ends(s, STR_LIT(".json")) && s.n > strlen("models/.json");
}

/* What an archive without programs may be. */
static int no_program(struct pt2_reader *r)
{
    const char *what = "a zip archive, but not torch.export's";
    for (uint32_t i = 0; i < r->pt2.zip.n; i++) {
        struct str name = r->pt2.zip.members[i].name, s = below_root(name);
        if (str_starts(s, STR_LIT("code/")))
            return diag_error(r->d, IR_EINPUT,
                              "a TorchScript archive, not torch.export's: export the model with "
                              "torch.export.export and torch.export.save");
        if (str_is(s, "data.pkl"))
            what = "weights written by torch.save: they hold no graph";
        else if (str_ends(name, STR_LIT(".npy")))
            what = "a NumPy archive: it holds no graph";
        else if (str_starts(s, STR_LIT("data/aotinductor/")))
            what = "an archive of compiled code (AOTInductor): it holds no graph";
    }
    return diag_error(r->d, IR_EINPUT, "%s", what);
}

/* The file that tells a package apart says "pt2". */
static int check_format(struct pt2_reader *r)
{
    const struct zip_dir *z = &r->pt2.zip;
    for (uint32_t i = 0; i < z->n; i++) {
        const struct zip_member *f = &z->members[i];
        if (str_is(below_root(f->name), "archive_format") && f->method == 0 && f->size == 3 &&
            memcmp(r->m->bytes + f->data, "pt2", 3) == 0)
            return 0;
    }
    return diag_error(r->d, IR_EINPUT,
                      "a zip archive, but not torch.export's: \"archive_format\" is not \"pt2\"");
}

/* Fills programs with names and members. */
static int find_programs(struct pt2_reader *r)
{
    struct pt2 *p = &r->pt2;
    uint32_t flat = 0, packaged = 0;
    for (uint32_t i = 0; i < p->zip.n; i++) {
        flat += is_flat(p->zip.members[i].name);
        packaged += is_packaged(p->zip.members[i].name);
    }
    if (flat + packaged == 0)
        return no_program(r);
    if (flat > 1 || (flat && packaged))
        return diag_error(r->d, IR_EINPUT,
                          "the archive holds several programs in layouts that do not go together");
    int rc = flat ? 0 : check_format(r);
    if (rc != 0)
        return rc;
    p->programs = arena_alloc(&r->m->arena, flat + packaged, sizeof *p->programs);
    if (!p->programs)
        return pt2_no_memory(r);
    for (uint32_t i = 0; i < p->zip.n; i++) {
        struct str name = p->zip.members[i].name, s = below_root(name);
        if (flat ? is_flat(name) : is_packaged(name)) {
            size_t dir = strlen("models/"), ext = strlen(".json");
            p->programs[p->n_programs++] = (struct pt2_program){
                .member = i, .name = flat ? ((struct str){0}) : str_sub(s, dir, s.n - dir - ext)};
        }
    }
    return 0;
}

/* ---- the bytes of a program ---- */

static int unpack_fail(const struct pt2_reader *r, const struct zip_member *f, const char *message)
{
    return diag_error_at(r->d, IR_EINPUT, NULL, "zip", f->data, "member \"%.*s\": %s", STR_ARG(f->name),
                         message);
}

static int unpack(struct pt2_reader *r, struct pt2_program *prog)
{
    const struct zip_member *f = &r->pt2.zip.members[prog->member];
    const char *why;
    if (f->size > PT2_MAX_BASE && f->size - PT2_MAX_BASE > f->stored * PT2_MAX_RATIO)
        return unpack_fail(r, f, "unpacks to too many times its size");
    char *text = arena_alloc(&r->m->arena, f->size + 1, 1);
    if (!text)
        return pt2_no_memory(r);
    int rc = zip_unpack(r->m->bytes, r->m->size, f, text, &why);
    if (rc)
        return rc == IR_EMEM ? pt2_no_memory(r) : unpack_fail(r, f, why);
    prog->text = (struct str){text, f->size};
    return 0;
}

static int load_program(struct pt2_reader *r, struct pt2_program *prog)
{
    const struct zip_member *f = &r->pt2.zip.members[prog->member];
    prog->stored = f->method == 0;
    if (f->size > JSON_TEXT_MAX)
        return unpack_fail(r, f, "is over 2 GiB");
    if (!prog->stored)
        return unpack(r, prog);
    prog->text = (struct str){(const char *)r->m->bytes + f->data, f->size};
    if (crc32_z(0, r->m->bytes + f->data, f->size) != f->crc)
        return unpack_fail(r, f, "its checksum is wrong");
    return 0;
}

/* The list of a program's weights, packaged beside it: ROOT/data/weights/NAME_weights_config.json. */
static const struct zip_member *weights_list(const struct pt2_reader *r)
{
    const struct pt2_program *prog = &r->pt2.programs[r->program];
    struct str name = r->pt2.zip.members[prog->member].name;
    size_t root = name.n - below_root(name).n, n = root + prog->name.n + 64;
    char *path = prog->name.n ? malloc(n) : NULL;
    if (!path)
        return NULL;
    int len = snprintf(path, n, "%.*sdata/weights/%.*s_weights_config.json", (int)root, name.s,
                       STR_ARG(prog->name));
    uint32_t i = names_find(&r->member_index, (struct str){path, (size_t)len});
    free(path);
    return i == NAME_NONE ? NULL : &r->pt2.zip.members[i];
}

int pt2_weights(struct pt2_reader *r)
{
    const struct zip_member *f = weights_list(r);
    struct json json = {0}, *program = r->json;
    struct json_error e;
    if (!f || f->method != 0)
        return 0;
    struct str text = {(const char *)r->m->bytes + f->data, (size_t)f->size};
    int rc = json_parse(&json, text, WEIGHTS_DEPTH, r->m->arena.limit, &e);
    if (rc == IR_EMEM)
        return pt2_no_memory(r);
    if (rc != 0)
        return unpack_fail(r, f, "is not valid JSON");
    r->json = &json;
    rc = pt2_weights_read(r);
    json_free(&json);
    r->json = program;
    return rc;
}

static int index_members(struct pt2_reader *r)
{
    for (uint32_t i = 0; i < r->pt2.zip.n; i++)
        if (names_intern(&r->member_index, r->pt2.zip.members[i].name) == NAME_NONE) /* no two are the same */
            return pt2_no_memory(r);
    return 0;
}

int pt2_load_programs(struct pt2_reader *r)
{
    struct ir_model *m = r->m;
    int rc = find_programs(r);
    if (rc != 0)
        return rc;
    m->segs = arena_alloc(&m->arena, r->pt2.n_programs, sizeof *m->segs);
    if (!m->segs)
        return pt2_no_memory(r);
    m->n_segs = r->pt2.n_programs;
    rc = index_members(r);
    for (uint32_t i = 0; rc == 0 && i < m->n_segs; i++) {
        const struct zip_member *f = &r->pt2.zip.members[r->pt2.programs[i].member];
        m->segs[i] = (struct ir_seg){{f->data, f->stored}, IR_NONE};
        rc = load_program(r, &r->pt2.programs[i]);
    }
    return rc;
}
