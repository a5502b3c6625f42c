/* test_vector_ops_random.c: random operations on random vectors against a loop over single elements. */
#include "ops/algebra/operator.h"
#include <dcsr/vector_ops.h>
#include "tests/support/support.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- A vector that is too simple to be wrong ---- */

typedef struct plain {
    dcsr_type type;
    uint64_t size;
    bool *has;
    dcsr_i_scalar *value;
} plain;

static plain plain_of(dcsr_type type, uint64_t size)
{
    return (plain){type, size, test_allocate(size, 1), test_allocate(size, sizeof(dcsr_i_scalar))};
}

static void plain_free(plain *p)
{
    free(p->has);
    free(p->value);
}

static plain plain_copy(const dcsr_vector *vector)
{
    dcsr_vector_info info;
    TEST_OK(dcsr_vector_get_info(vector, &info));
    plain p = plain_of(info.type, info.size);
    for (uint64_t i = 0; i < info.size; i++) TEST_OK(dcsr_vector_get(vector, i, &p.value[i], &p.has[i]));
    return p;
}

static dcsr_i_scalar cast(dcsr_type to, dcsr_type from, dcsr_i_scalar x)
{
    dcsr_i_scalar z = {0};
    dcsr_i_cast(to, &z, from, &x, 1);
    return z;
}

/* op(x, y), whose types are given, as a value of type z. */
static dcsr_i_scalar binary(const dcsr_binary_op *op, dcsr_type z, dcsr_type xtype, dcsr_i_scalar x,
                            dcsr_type ytype, dcsr_i_scalar y)
{
    dcsr_i_scalar a = cast(op->xtype, xtype, x), b = cast(op->ytype, ytype, y), c = {0};
    cr_assert(dcsr_i_apply_binary(op, &c, &a, &b, 1));
    return cast(z, op->ztype, c);
}

/* As dcsr/desc.h has it; `named` says which elements an assignment names, NULL: all. */
static void plain_write(plain *w, const plain *mask, const dcsr_binary_op *accum, const dcsr_desc *desc,
                        const plain *T, const bool *named)
{
    for (uint64_t i = 0; i < w->size; i++) {
        bool m = !mask || (mask->has[i] &&
                           (desc->mask_structure || cast(DCSR_BOOL, mask->type, mask->value[i]).as_bool));
        bool has = w->has[i];
        dcsr_i_scalar value = w->value[i];
        if (T->has[i]) {
            value = accum && has ? binary(accum, w->type, w->type, value, T->type, T->value[i])
                                 : cast(w->type, T->type, T->value[i]);
            has = true;
        } else if (!accum && (!named || named[i])) {
            has = false;
        }
        if (m != desc->mask_complement) {
            w->has[i] = has;
            w->value[i] = value;
        } else if (desc->replace) {
            w->has[i] = false;
        }
    }
}

static bool same(const dcsr_vector *vector, const plain *p, char why[TEST_WHY])
{
    uint64_t nvals = 0, count = 0;
    for (uint64_t i = 0; i < p->size; i++) {
        dcsr_i_scalar value = {0};
        bool has;
        TEST_OK(dcsr_vector_get(vector, i, &value, &has));
        count += p->has[i];
        bool nan = p->type == DCSR_FP64
                       ? value.as_fp64 != value.as_fp64 && p->value[i].as_fp64 != p->value[i].as_fp64
                       : p->type == DCSR_FP32 && value.as_fp32 != value.as_fp32 &&
                             p->value[i].as_fp32 != p->value[i].as_fp32;
        if (has == p->has[i] && (!has || nan || !memcmp(&value, &p->value[i], dcsr_type_size(p->type))))
            continue;
        snprintf(why, TEST_WHY, "element %llu of %llu (%s): %d %llx, not %d %llx", (unsigned long long)i,
                 (unsigned long long)p->size, dcsr_type_name(p->type), has, (unsigned long long)value.word,
                 p->has[i], (unsigned long long)p->value[i].word);
        return false;
    }
    TEST_OK(dcsr_vector_get_nvals(vector, &nvals));
    snprintf(why, TEST_WHY, "nvals is %llu, not %llu", (unsigned long long)nvals, (unsigned long long)count);
    return nvals == count;
}

/* ---- What is drawn ---- */

static dcsr_type random_type(test_random *random)
{
    return (dcsr_type)(1 + test_random_below(random, DCSR_TYPE_COUNT - 1));
}

static dcsr_vector *random_vector(test_random *random, dcsr_context *context, uint64_t size)
{
    static const unsigned per_thousand[] = {0, 1, 10, 50, 300, 900, 1000};
    dcsr_type type = random_type(random);
    dcsr_vector *vector;
    TEST_OK(dcsr_vector_create(&vector, context, type, size));
    TEST_OK(dcsr_vector_set_format(vector, (dcsr_vector_format)test_random_below(random, 3)));
    unsigned density = per_thousand[test_random_below(random, 7)];
    uint64_t *indices = test_allocate(size, sizeof *indices), n = 0;
    char *values = test_allocate(size, 8);
    for (uint64_t i = 0; i < size; i++) {
        if (test_random_below(random, 1000) >= density) continue;
        indices[n] = i;
        test_encode(type, (double)test_random_below(random, 4), values + n * dcsr_type_size(type));
        n++;
    }
    TEST_OK(dcsr_vector_build(vector, n, indices, values, DCSR_POLICY_DEFAULT));
    free(indices);
    free(values);
    return vector;
}

static bool users_minus(void *z, const void *x, const void *y, void *user)
{
    int32_t a;
    double b, *to = z;
    (void)user;
    memcpy(&a, x, sizeof a);
    memcpy(&b, y, sizeof b);
    *to = a - b;
    return true;
}

static const dcsr_binary_op *random_binary(test_random *random, const dcsr_binary_op *users)
{
    if (test_random_once_in(random, 5)) return users;
    const dcsr_binary_op *op = NULL;
    while (!op)
        op = dcsr_binary_op_of((dcsr_binary_name)test_random_below(random, DCSR_BINARY_NAMES),
                               random_type(random));
    return op;
}

/* n indices below `size`: in any order and several times, or ascending. */
static uint64_t *random_indices(test_random *random, uint64_t n, uint64_t size)
{
    uint64_t *indices = test_allocate(n, sizeof *indices);
    bool ascending = n && n <= size && test_random_once_in(random, 2);
    for (uint64_t k = 0; k < n; k++) indices[k] = ascending ? k * size / n : test_random_below(random, size);
    return indices;
}

/* ---- One operation ---- */

enum { VECTORS = 4 };

typedef struct scene {
    dcsr_context *context;
    test_random random;
    const dcsr_binary_op *users;
    dcsr_vector *vector[VECTORS]; /* of one size; any of them may be input, output, mask */
    plain plain[VECTORS];
    uint64_t size;
} scene;

/* The operations on w and u, and v, of one size; T is what they compute. */
static dcsr_status elementwise(scene *s, int kind, int w, const dcsr_vector *mask,
                               const dcsr_binary_op *accum, const dcsr_desc *desc, plain *T)
{
    int u = (int)test_random_below(&s->random, VECTORS), v = (int)test_random_below(&s->random, VECTORS);
    const plain *a = &s->plain[u], *b = &s->plain[v];
    const dcsr_binary_op *op = random_binary(&s->random, s->users);
    const dcsr_unary_op *unary = dcsr_unary_op_of(
        (dcsr_unary_name)test_random_below(&s->random, DCSR_UNARY_BIT_NOT), random_type(&s->random));
    const dcsr_index_op *index = dcsr_index_op_of(
        (dcsr_index_name)test_random_below(&s->random, DCSR_INDEX_NAMES), random_type(&s->random));
    dcsr_i_scalar scalar = {0};
    dcsr_type scalar_type = kind == 3 ? op->xtype : kind == 4 ? op->ytype : index->thunk;
    test_encode(scalar_type, (double)test_random_below(&s->random, 3), &scalar);
    T->type = kind < 2 || kind == 3 || kind == 4 ? op->ztype
              : kind == 2                        ? unary->ztype
              : kind == 5                        ? index->ztype
                                                 : a->type;
    for (uint64_t i = 0; i < s->size; i++) {
        dcsr_i_scalar x = a->value[i], y = b->value[i], z = {0};
        T->has[i] = kind == 0 ? a->has[i] || b->has[i] : kind == 1 ? a->has[i] && b->has[i] : a->has[i];
        if (!T->has[i]) continue;
        if (kind < 2)
            z = !a->has[i]   ? cast(op->ztype, b->type, y)
                : !b->has[i] ? cast(op->ztype, a->type, x)
                             : binary(op, op->ztype, a->type, x, b->type, y);
        if (kind == 2) {
            x = cast(unary->xtype, a->type, x);
            dcsr_i_apply_unary(unary, &z, &x, 1);
        }
        if (kind == 3) z = binary(op, op->ztype, op->xtype, scalar, a->type, x);
        if (kind == 4) z = binary(op, op->ztype, a->type, x, op->ytype, scalar);
        if (kind >= 5) {
            x = cast(index->xtype, a->type, x);
            dcsr_i_apply_index(index, &z, &x, &(dcsr_i_positions){.i0 = i}, &scalar, 1);
        }
        if (kind == 6) {
            T->has[i] = cast(DCSR_BOOL, index->ztype, z).as_bool;
            z = a->value[i];
        }
        T->value[i] = z;
    }
    dcsr_vector *to = s->vector[w];
    const dcsr_vector *U = s->vector[u], *V = s->vector[v];
    switch (kind) {
    case 0:
        return dcsr_vector_ewise_add(to, mask, accum, op, U, V, desc);
    case 1:
        return dcsr_vector_ewise_mult(to, mask, accum, op, U, V, desc);
    case 2:
        return dcsr_vector_apply(to, mask, accum, unary, U, desc);
    case 3:
        return dcsr_vector_apply_first(to, mask, accum, op, &scalar, U, desc);
    case 4:
        return dcsr_vector_apply_second(to, mask, accum, op, U, &scalar, desc);
    case 5:
        return dcsr_vector_apply_index(to, mask, accum, index, U, &scalar, desc);
    default:
        return dcsr_vector_select(to, mask, accum, index, U, &scalar, desc);
    }
}

/* The operations that take indices. */
static dcsr_status by_index(scene *s, int kind, int w, const dcsr_vector *mask, const dcsr_binary_op *accum,
                            const dcsr_desc *desc, plain *T, bool *named)
{
    /* The other vector has as many elements as there are indices; it may be one of the scene's. */
    bool all = test_random_once_in(&s->random, 4),
         own = all || kind == 7 || test_random_once_in(&s->random, 2);
    uint64_t n = own || !s->size ? s->size : test_random_below(&s->random, s->size * 2);
    uint64_t *indices = random_indices(&s->random, n, s->size), *given = all ? NULL : indices;
    dcsr_vector *other =
        own ? s->vector[test_random_below(&s->random, VECTORS)] : random_vector(&s->random, s->context, n);
    plain u = plain_copy(other);
    dcsr_i_scalar scalar = {0};
    dcsr_type type = kind == 9 ? random_type(&s->random) : u.type;
    test_encode(type, 2, &scalar);
    T->type = type;
    for (uint64_t k = 0; k < n; k++) {
        uint64_t i = given ? given[k] : k;
        named[i] = true;
        uint64_t to = kind == 7 ? k : i, from = kind == 7 ? i : k;
        if (kind == 7) T->has[to] = false;
        if (kind != 9 && !u.has[from]) continue;
        T->has[to] = true;
        T->value[to] = kind == 9 ? scalar : u.value[from];
    }
    dcsr_vector *to = s->vector[w];
    dcsr_status status =
        kind == 7   ? dcsr_vector_extract(to, mask, accum, other, TEST_LIST(given, n), desc)
        : kind == 8 ? dcsr_vector_assign(to, mask, accum, other, TEST_LIST(given, n), desc)
                    : dcsr_vector_assign_scalar(to, mask, accum, &scalar, type, TEST_LIST(given, n), desc);
    if (!own) dcsr_vector_destroy(other);
    plain_free(&u);
    free(indices);
    return status;
}

static void one_operation(scene *s, uint64_t seed, int round)
{
    int kind = (int)test_random_below(&s->random, 10), w = (int)test_random_below(&s->random, VECTORS);
    int m = (int)test_random_below(&s->random, VECTORS * 2);
    const dcsr_vector *mask = m < VECTORS ? s->vector[m] : NULL;
    const dcsr_binary_op *accum =
        test_random_once_in(&s->random, 2) ? random_binary(&s->random, s->users) : NULL;
    dcsr_desc desc = {.mask_complement = test_random_once_in(&s->random, 3),
                      .mask_structure = test_random_once_in(&s->random, 2),
                      .replace = test_random_once_in(&s->random, 3)};
    plain T = plain_of(DCSR_FP64, s->size);
    bool *named = test_allocate(s->size, 1);
    TEST_OK(kind < 7 ? elementwise(s, kind, w, mask, accum, &desc, &T)
                     : by_index(s, kind, w, mask, accum, &desc, &T, named));
    plain_write(&s->plain[w], mask ? &s->plain[m] : NULL, accum, &desc, &T, kind >= 8 ? named : NULL);
    char why[TEST_WHY];
    cr_assert(same(s->vector[w], &s->plain[w], why),
              "seed %llu, round %d, kind %d, w %d, mask %d%s%s%s, accum %s: %s", (unsigned long long)seed,
              round, kind, w, mask ? m : -1, desc.mask_complement ? " complement" : "",
              desc.mask_structure ? " structure" : "", desc.replace ? " replace" : "",
              accum ? accum->text : "none", why);
    plain_free(&T);
    free(named);
}

static void run_scene(uint64_t seed, uint64_t size, int rounds)
{
    dcsr_binary_op *users;
    TEST_OK(dcsr_binary_op_create(&users, "minus of several types", DCSR_FP64, DCSR_INT32, DCSR_FP64,
                                  users_minus, NULL));
    scene s = {.context = test_context(3), .random = {seed}, .users = users, .size = size};
    test_seed_begins(seed);
    for (int i = 0; i < VECTORS; i++) {
        s.vector[i] = random_vector(&s.random, s.context, size);
        s.plain[i] = plain_copy(s.vector[i]);
    }
    for (int round = 0; round < rounds; round++) {
        one_operation(&s, seed, round);
        if (!test_random_once_in(&s.random, 4)) continue;
        int i = (int)test_random_below(&s.random, VECTORS);
        dcsr_vector_destroy(s.vector[i]);
        plain_free(&s.plain[i]);
        s.vector[i] = random_vector(&s.random, s.context, size);
        s.plain[i] = plain_copy(s.vector[i]);
    }
    for (int i = 0; i < VECTORS; i++) {
        dcsr_vector_destroy(s.vector[i]);
        plain_free(&s.plain[i]);
    }
    dcsr_binary_op_destroy(users);
    test_close(s.context);
}

Test(vector_ops_random, short_vectors)
{
    static const uint64_t sizes[] = {0, 1, 10, 63, 64, 65, 200};
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(300, 60, 10));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.rounds; seed++)
        run_scene(seed, sizes[seed % 7], 40);
}

Test(vector_ops_random, several_blocks)
{
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(40, 10, 2));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.rounds; seed++)
        run_scene(seed, 1000 + seed * 97 % 4000, 20);
}

/* Long enough for several threads. */
Test(vector_ops_random, long_vectors)
{
    test_seeds seeds = test_seeds_from_environment((uint64_t)TEST_SIZE(4, 2, 2));
    for (uint64_t seed = seeds.first; seed < seeds.first + seeds.rounds; seed++)
        run_scene(seed, 600000 + seed * 1001, TEST_VARIANT(20, 6, 6));
}
