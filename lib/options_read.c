#include "lib/options_read.h"

#include "lib/options_json.h"
#include "lib/reason.h"

enum option_key {
    FQNS,
    FORCE_SHAPES,
    MATCH,
    PROFILE,
    BLOCKS,
    MM_RULE,
    MM_OPS,
    ORDER,
    STRICT,
    SPECIALIZE,
    N_KEYS
};

static const char *const keys[N_KEYS] = {"fqns",    "force_shapes", "match", "profile", "blocks",
                                         "mm_rule", "mm_ops",       "order", "strict",  "specialize"};

static int no_memory(struct json_reader *r)
{
    return diag_nomem(r->d);
}

static int read_array(struct json_reader *r, const char *where, uint32_t t, size_t *n)
{
    if (json_kind(&r->j, t) != JSON_KIND_ARRAY)
        return json_expected(r, where, "an array", t);
    *n = json_count(&r->j, t);
    return 0;
}

static int read_names(struct json_reader *r, const char *where, uint32_t list, const char *const **out,
                      size_t *n)
{
    size_t i = 0;
    int e = read_array(r, where, list, n);

    if (e)
        return e;
    const char **names = arena_alloc(r->arena, *n + 1, sizeof *names);
    if (!names)
        return no_memory(r);
    for (uint32_t t = json_first(&r->j, list); t != JSON_NONE; t = json_next(&r->j, list, t)) {
        struct str s;
        if ((e = json_read_text(r, where, t, false, &s)) != 0)
            return e;
        if (s.n == 0 || str_chr(s, '\0') >= 0)
            return json_expected(r, where, "a name", t);
        names[i++] = s.s; /* there is a NUL behind it */
    }
    *out = names;
    return 0;
}

static int read_shapes(struct json_reader *r, const char *where, uint32_t list, struct sactag_options *o)
{
    size_t i = 0;
    int e = read_array(r, where, list, &o->n_force_shapes);

    if (e)
        return e;
    struct sactag_shape *shapes = arena_alloc(r->arena, o->n_force_shapes + 1, sizeof *shapes);
    if (!shapes)
        return no_memory(r);
    for (uint32_t t = json_first(&r->j, list); t != JSON_NONE; t = json_next(&r->j, list, t)) {
        struct str s = json_raw(&r->j, t);
        struct mm_shape x;
        if (json_kind(&r->j, t) != JSON_KIND_STRING || !shape_parse(&x, &s) || s.n || x.k < 1 || x.n < 1)
            return json_expected(r, where, "KxN, such as 4096x64", t);
        shapes[i++] = (struct sactag_shape){x.k, x.n};
    }
    o->force_shapes = shapes;
    return 0;
}

static int read_profile(struct json_reader *r, uint32_t t, size_t *out)
{
    *out = SACTAG_PROFILE_NONE;
    if (json_kind(&r->j, t) == JSON_KIND_NULL)
        return 0;
    if (json_kind(&r->j, t) != JSON_KIND_STRING || !str_is(json_raw(&r->j, t), "titan"))
        return json_expected(r, "options.profile", "titan or null", t);
    *out = SACTAG_PROFILE_TITAN;
    return 0;
}

static int read_words(struct json_reader *r, const uint32_t *at, struct sactag_options *o)
{
    size_t match = 0, rule = 0, order = 0, profile = 0;
    int e = json_read_word(r, "options.match", at[MATCH], match_words, 3, &match);

    if (!e)
        e = read_profile(r, at[PROFILE], &profile);
    if (!e)
        e = json_read_word(r, "options.mm_rule", at[MM_RULE], rule_words, 2, &rule);
    if (!e)
        e = json_read_word(r, "options.order", at[ORDER], order_words, 2, &order);
    if (!e)
        e = json_read_bool(r, "options.strict", at[STRICT], &o->strict);
    if (!e)
        e = json_read_bool(r, "options.specialize", at[SPECIALIZE], &o->specialize);
    o->match = (enum sactag_match)(SACTAG_MATCH_EXACT + match);
    o->mm_rule = (enum sactag_mm_rule)(SACTAG_MM_ONNX + rule);
    o->order = (enum sactag_order)(SACTAG_ORDER_AUTO + order);
    o->profile = (enum sactag_profile)profile;
    return e;
}

int options_from_json(struct sactag_options *out, struct json_reader *r, uint32_t object)
{
    /* An option that we do not know may change any decision: not to be passed over. */
    static const struct json_object want = {keys, N_KEYS, .all = true, .others = false};
    uint32_t at[N_KEYS];
    int e = json_members(r, "options", object, &want, at);

    sactag_options_init(out);
    if (!e)
        e = read_names(r, "options.fqns", at[FQNS], &out->fqns, &out->n_fqns);
    if (!e)
        e = read_shapes(r, "options.force_shapes", at[FORCE_SHAPES], out);
    if (!e)
        e = read_names(r, "options.blocks", at[BLOCKS], &out->blocks, &out->n_blocks);
    if (!e)
        e = read_names(r, "options.mm_ops", at[MM_OPS], &out->mm_ops, &out->n_mm_ops);
    return e ? e : read_words(r, at, out);
}

/* ---- from the passes' form ---- */

static int api_names(const char *const **out, size_t *n_out, const struct str *list, uint32_t n,
                     struct arena *a)
{
    const char **names = arena_alloc(a, (size_t)n + 1, sizeof *names);

    if (!names)
        return IR_EMEM;
    for (uint32_t i = 0; i < n; i++)
        names[i] = list[i].s; /* copied by the plan, with a NUL */
    *out = names;
    *n_out = n;
    return 0;
}

int options_to_api(struct sactag_options *out, const struct policy_options *o, struct arena *a)
{
    const struct str word = o->whole ? STR_LIT("whole") : STR_LIT("auto");
    struct sactag_shape *shapes = arena_alloc(a, (size_t)o->n_force + 1, sizeof *shapes);

    sactag_options_init(out);
    if (!shapes || api_names(&out->fqns, &out->n_fqns, o->fqns, o->n_fqns, a) ||
        api_names(&out->mm_ops, &out->n_mm_ops, o->mm_ops, o->n_mm_ops, a) ||
        api_names(&out->blocks, &out->n_blocks, o->n_blocks ? o->blocks : &word,
                  o->n_blocks ? o->n_blocks : 1, a))
        return IR_EMEM;
    for (uint32_t i = 0; i < o->n_force; i++)
        shapes[i] = (struct sactag_shape){o->force[i].k, o->force[i].n};
    out->force_shapes = shapes;
    out->n_force_shapes = o->n_force;
    out->match = (enum sactag_match)(SACTAG_MATCH_EXACT + (int)o->match);
    out->mm_rule = o->rule == MM_TORCH ? SACTAG_MM_TORCH : SACTAG_MM_ONNX;
    out->profile = o->titan ? SACTAG_PROFILE_TITAN : SACTAG_PROFILE_NONE;
    out->order = o->file_order ? SACTAG_ORDER_FILE : SACTAG_ORDER_AUTO;
    out->strict = o->strict;
    out->specialize = o->specialize;
    return 0;
}
