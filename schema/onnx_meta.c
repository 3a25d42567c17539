/* Nodes' metadata, as far as passes ask it of every node: noted while the record is at hand. Of lists of
 * scopes there are fewer than nodes, and of lists of classes very few. */
#include "schema/onnx_reader.h"

#include "ir/pylist.h"

/* Numbers of equal heads are equal. 0: no number. Nodes of one module stand together: most have the list of
 * the node before. */
static int list_number(struct onnx_reader *r, uint32_t *number, struct str list)
{
    *number = r->last_list_id;
    if (pylist_has_head(list, r->last_list))
        return 0;
    struct str head = pylist_head(list);
    *number = 0;
    if (head.n == 0)
        return 0;
    uint32_t id = names_intern(&r->list_index, head);
    if (id == NAME_NONE)
        return onnx_no_memory(r);
    r->last_list = head;
    r->last_list_id = *number = id + 1;
    return 0;
}

/* Room for the node being read; those before it that have none are told so. */
static int note_number(struct onnx_reader *r, uint32_t number)
{
    struct ir_model *m = r->m;
    if (r->n_lists == r->node && r->n_lists < r->cap_lists) { /* every node has a list */
        m->scope_lists[r->n_lists++] = number;
        return 0;
    }
    int rc = onnx_room(r, &m->scope_lists, &r->cap_lists, (size_t)r->node + 1, sizeof *m->scope_lists);
    if (rc)
        return rc;
    while (r->n_lists <= r->node)
        m->scope_lists[r->n_lists++] = IR_NONE;
    m->scope_lists[r->node] = number;
    return 0;
}

static bool has_number(const struct onnx_reader *r)
{
    return r->n_lists > r->node;
}

/* The last entry of a key wins. (Not inlined, so that most entries are done with in a few instructions.) */
__attribute__((noinline)) static int note_scopes(struct onnx_reader *r, struct str list)
{
    uint32_t number = 0;
    bool broken = has_number(r) && r->m->scope_lists[r->node] == 0;
    int rc = broken ? 0 : list_number(r, &number, list);
    r->node_scopes = list;
    return rc ? rc : note_number(r, number);
}

static inline int note_entry(struct onnx_reader *r, struct str key, struct str value)
{
    if (str_eq(key, STR_LIT(ONNX_SCOPE_KEY)))
        return note_scopes(r, value);
    if (str_eq(key, STR_LIT(ONNX_CLASS_KEY)))
        r->node_classes = value;
    return 0;
}

/* An entry that is malformed: who asks for it is told. */
__attribute__((noinline)) static int note_other(struct onnx_reader *r, struct str entry)
{
    struct str key, value;
    const uint8_t *bad;
    return onnx_entry_walk(&key, &value, entry, &bad) == 0 ? note_entry(r, key, value) : note_number(r, 0);
}

int onnx_note_metadata(struct onnx_reader *r, struct str entry)
{
    struct str key, value;
    return wire_pair(&key, &value, entry) ? note_entry(r, key, value) : note_other(r, entry);
}

/* Lists of classes differ in how long they are, and in their last element but one. */
static struct onnx_class *recent_class(struct onnx_reader *r, struct str head)
{
    size_t last = head.n > 5 ? (unsigned char)head.s[head.n - 5] : 0; /* before "', '" */
    return &r->recent_classes[(head.n + 3 * last) % RECENT_CLASSES];
}

/* The class of a node's module: of lists that begin alike, the text of the first. Where the list has another
 * form, *kept is false: who asks for it reads it. */
static int known_class(struct onnx_reader *r, struct str list, uint32_t *cls, bool *kept)
{
    struct ir_model *m = r->m;
    struct str head = pylist_head(list), text;
    struct onnx_class *recent = recent_class(r, head);
    *cls = head.n ? recent->cls : IR_NONE;
    *kept = head.n || !pylist_before_last(list, &text);
    if (head.n == 0 || str_eq(recent->head, head))
        return 0;
    *cls = names_intern(&r->class_index, head);
    if (*cls == NAME_NONE)
        return onnx_no_memory(r);
    int rc = onnx_room(r, &m->classes, &r->cap_classes, (size_t)*cls + 1, sizeof *m->classes);
    if (rc)
        return rc;
    if (*cls == m->n_classes)
        m->classes[m->n_classes++] = pylist_before_last(list, &text) ? text : (struct str){0};
    *recent = (struct onnx_class){head, *cls};
    return 0;
}

int onnx_note_list(struct onnx_reader *r)
{
    struct ir_model *m = r->m;
    uint32_t number = has_number(r) ? m->scope_lists[r->node] : 0;
    if (number == 0 || number == IR_NONE || (number < r->n_kept && m->lists[number].node != IR_NONE))
        return 0;
    struct ir_scope_list list = {.node = r->node};
    struct str module = {0};
    bool kept = true;
    int rc = onnx_room(r, &m->lists, &r->cap_kept, (size_t)number + 1, sizeof *m->lists);
    if (rc == 0)
        rc = known_class(r, r->node_classes, &list.cls, &kept);
    if (!pylist_before_last(r->node_scopes, &module))
        module = (struct str){0};
    else if (rc == 0)
        rc = onnx_keep_text(r, &module);
    if (rc)
        return rc;
    if (!str_ref(&list.module, module) || !kept)
        list.node = IR_NONE;
    while (r->n_kept <= number)
        m->lists[r->n_kept++] = (struct ir_scope_list){.node = IR_NONE};
    m->lists[number] = list;
    return 0;
}
