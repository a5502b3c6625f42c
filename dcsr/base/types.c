/* types.c: sizes and names of value types, names of policies. */
#include <dcsr/matrix.h>

static const struct {
    const char *name;
    size_t size;
} types[DCSR_TYPE_COUNT] = {
    [DCSR_PATTERN] = {"pattern", 0},
#define DCSR_X(NAME, name, ctype, minimum, maximum) [DCSR_##NAME] = {#name, sizeof(ctype)},
#include <dcsr/types.def>
#undef DCSR_X
};

static const char *const policies[DCSR_POLICY_COUNT] = {
    [DCSR_POLICY_DEFAULT] = "default", [DCSR_POLICY_KEEP] = "keep", [DCSR_POLICY_SUM] = "sum",
    [DCSR_POLICY_MIN] = "min",         [DCSR_POLICY_MAX] = "max",   [DCSR_POLICY_LAST] = "last",
    [DCSR_POLICY_ANY] = "any",
};

size_t dcsr_type_size(dcsr_type type)
{
    return (unsigned)type < DCSR_TYPE_COUNT ? types[type].size : 0;
}

const char *dcsr_type_name(dcsr_type type)
{
    return (unsigned)type < DCSR_TYPE_COUNT ? types[type].name : NULL;
}

const char *dcsr_policy_name(dcsr_policy policy)
{
    return (unsigned)policy < DCSR_POLICY_COUNT ? policies[policy] : NULL;
}
