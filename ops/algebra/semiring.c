/* semiring.c: built-in semirings that serve instead of others. */
#include "ops/algebra/semiring.h"

/* The built-in semiring of a monoid and an operator, both by name. */
static const dcsr_semiring *find(int add, int multiply, dcsr_type type)
{
    for (int name = 0; name < (int)DCSR_SEMIRING_NAMES; name++) {
        const dcsr_semiring *known = dcsr_semiring_of((dcsr_semiring_name)name, type);
        if (known && known->add->name == add && known->multiply->name == multiply) return known;
    }
    return NULL;
}

/* The operator with its operands in the other order. */
static int flipped(int multiply)
{
    switch (multiply) {
    case DCSR_BINARY_FIRST:
        return DCSR_BINARY_SECOND;
    case DCSR_BINARY_SECOND:
        return DCSR_BINARY_FIRST;
    default: /* the others that built-in semirings multiply with commute */
        return multiply;
    }
}

const dcsr_semiring *dcsr_i_semiring_flipped(const dcsr_semiring *semiring)
{
    if (semiring->name < 0) return NULL;
    int multiply = flipped(semiring->multiply->name);
    if (multiply == semiring->multiply->name) return semiring;
    return find(semiring->add->name, multiply, dcsr_i_monoid_type(semiring->add));
}

const dcsr_semiring *dcsr_i_semiring_of_ones(const dcsr_semiring *semiring)
{
    if (semiring->name < 0) return NULL;
    int add = semiring->add->name, multiply = semiring->multiply->name;
    if (multiply == DCSR_BINARY_TIMES || multiply == DCSR_BINARY_LAND) multiply = DCSR_BINARY_SECOND;
    if (multiply == DCSR_BINARY_FIRST) multiply = DCSR_BINARY_PAIR;
    if (add == DCSR_BINARY_LOR) add = DCSR_BINARY_PLUS; /* the same on bool */
    const dcsr_semiring *known = find(add, multiply, dcsr_i_monoid_type(semiring->add));
    return known ? known : semiring;
}
