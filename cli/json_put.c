#include "cli/json_put.h"

#include <stdlib.h>

json_t *text_to_json(struct sactag_text t)
{
    char room[256], *big = NULL;

    if (t.n == 0)
        return json_null();
    size_t n = sactag_escape(room, sizeof room, t);
    if (n >= sizeof room) {
        big = malloc(n + 1);
        if (!big)
            return NULL;
        sactag_escape(big, n + 1, t);
    }
    json_t *j = json_stringn(big ? big : room, n);
    free(big);
    return j;
}

void json_set(json_t *object, const char *key, json_t *value, bool *ok)
{
    if (json_object_set_new(object, key, value) != 0)
        *ok = false;
}

/* Straight to the stream: json_dumps() does not look whether a key found room in its buffer, and leaves it
 * out when memory runs short just there. */
bool json_put(FILE *f, json_t *object, bool ok)
{
    ok = ok && object && (json_dumpf(object, f, 0) == 0 || ferror(f));
    json_decref(object);
    return ok;
}
