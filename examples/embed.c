/* Decides and tags a model that is already in memory, as an export pipeline would: embed IN OUT.
 * See examples/README.md for how it is compiled. */
#include <sactag.h>
#include <stdio.h>
#include <stdlib.h>

/* The whole file, to be freed; NULL when it cannot be read. */
static void *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    long size = f && !fseek(f, 0, SEEK_END) ? ftell(f) : -1;
    void *bytes = size > 0 ? malloc((size_t)size) : NULL;
    if (bytes && (rewind(f), fread(bytes, 1, (size_t)size, f) != (size_t)size)) {
        free(bytes);
        bytes = NULL;
    }
    if (f)
        fclose(f);
    *n = bytes ? (size_t)size : 0;
    return bytes;
}

/* Into *out and *out_n, to be freed. 0, or a negative enum sactag_status. */
static int tag(void **out, size_t *out_n, const void *in, size_t in_n, sactag_diag *diag)
{
    const char *const fqns[] = {"moe.router.gate"};
    struct sactag_options options;
    sactag_options_init(&options);
    options.fqns = fqns;
    options.n_fqns = 1;

    sactag_model *model = NULL;
    sactag_plan *plan = NULL;
    int status = sactag_open_buffer(&model, in, in_n, NULL, diag);
    if (!status)
        status = sactag_decide(&plan, model, &options, diag);
    if (!status) {
        struct sactag_summary sum;
        sactag_plan_summary(plan, &sum);
        printf("%u mms: %u saved, %u recomputed, %u of them forced\n", sum.rows, sum.saved, sum.recomputed,
               sum.forced);
        status = sactag_tag_buffer(model, plan, out, out_n, NULL, diag);
    }
    sactag_plan_free(plan);
    sactag_close(model);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: embed IN OUT\n");
        return 2;
    }
    size_t in_n, out_n = 0;
    void *in = slurp(argv[1], &in_n), *out = NULL;
    sactag_diag *diag = sactag_diag_new();
    int status = in ? tag(&out, &out_n, in, in_n, diag) : SACTAG_EIO;
    FILE *f = status ? NULL : fopen(argv[2], "wb");
    if (!status && (!f || fwrite(out, 1, out_n, f) != out_n || fclose(f)))
        status = SACTAG_EIO;
    if (status)
        fprintf(stderr, "embed: %s\n",
                *sactag_diag_error(diag) ? sactag_diag_error(diag) : "cannot read or write");
    sactag_diag_free(diag);
    free(in);
    free(out);
    return sactag_exit_code(status);
}
