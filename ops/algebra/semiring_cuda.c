/* semiring_cuda.c: semirings as kernels get them. */
#include "ops/algebra/semiring_cuda.h"

/* The operator that does to 0 and 1 of any type what this addition does to bools; -1: none. */
static int on_numbers(int add)
{
    switch (add) {
    case DCSR_BINARY_ANY:
        return DCSR_BINARY_ANY;
    case DCSR_BINARY_PLUS:
    case DCSR_BINARY_MAX:
    case DCSR_BINARY_LOR:
        return DCSR_BINARY_MAX;
    case DCSR_BINARY_TIMES:
    case DCSR_BINARY_MIN:
    case DCSR_BINARY_LAND:
        return DCSR_BINARY_MIN;
    case DCSR_BINARY_LXOR:
    case DCSR_BINARY_NE:
        return DCSR_BINARY_NE;
    case DCSR_BINARY_LXNOR:
    case DCSR_BINARY_EQ:
        return DCSR_BINARY_EQ;
    default:
        return -1;
    }
}

/* Whether the sum of ones is 1, however many there are. */
static bool keeps_one(int add, dcsr_type type)
{
    switch (add) {
    case DCSR_BINARY_ANY:
    case DCSR_BINARY_MIN:
    case DCSR_BINARY_MAX:
    case DCSR_BINARY_TIMES:
    case DCSR_BINARY_LOR:
    case DCSR_BINARY_LAND:
    case DCSR_BINARY_BIT_OR:
    case DCSR_BINARY_BIT_AND:
        return true;
    default:
        return add == DCSR_BINARY_PLUS && type == DCSR_BOOL;
    }
}

bool dcsr_i_cuda_semiring_of(dcsr_i_cuda_semiring *to, const dcsr_semiring *semiring, bool vector_first,
                             dcsr_type matrix_type)
{
    if (dcsr_i_semiring_is_users(semiring)) return false;
    const dcsr_semiring *flipped = vector_first ? dcsr_i_semiring_flipped(semiring) : semiring;
    const dcsr_semiring *s = flipped ? flipped : semiring;
    if (s->name >= 0 && flipped && matrix_type == DCSR_PATTERN) s = dcsr_i_semiring_of_ones(s);
    const dcsr_binary_op *multiply = s->multiply;
    const dcsr_monoid *add = s->add;
    *to = (dcsr_i_cuda_semiring){.type = multiply->xtype,
                                 .add = add->op->name,
                                 .multiply = multiply->name,
                                 .flipped = !flipped,
                                 .any = add->op->name == DCSR_BINARY_ANY,
                                 .terminal_kind = add->terminal_kind};
    if (to->any) to->terminal_kind = DCSR_I_ANY_TERMINAL;
    to->reads_matrix = to->flipped ? dcsr_i_reads_y(multiply) : dcsr_i_reads_x(multiply);
    to->reads_vector = to->flipped ? dcsr_i_reads_x(multiply) : dcsr_i_reads_y(multiply);
    if (multiply->ztype != multiply->xtype) to->add = on_numbers(to->add);
    dcsr_i_cast(to->type, &to->terminal, multiply->ztype, &add->terminal, 1);
    dcsr_i_cast(to->type, &to->identity, multiply->ztype, &add->identity, 1);
    dcsr_i_cast(to->type, &to->start, multiply->ztype, &add->start, 1);
    to->ones = !to->reads_matrix && !to->reads_vector && keeps_one(to->add, to->type);
    return to->add >= 0;
}
