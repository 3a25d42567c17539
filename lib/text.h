/* Text of the public API and of the floors below, each as the other. */
#ifndef SACTAG_LIB_TEXT_H
#define SACTAG_LIB_TEXT_H

#include "ir/str.h"
#include "sactag.h"

static inline struct str str_from(struct sactag_text t)
{
    return (struct str){t.s, t.n};
}

/* Empty text is NULL there. */
static inline struct sactag_text text_of(struct str s)
{
    return (struct sactag_text){s.n ? s.s : NULL, s.n};
}

#endif
