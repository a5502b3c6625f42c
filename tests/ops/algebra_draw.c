/* algebra_draw.c: the objects of random problems: sizes, values, vectors in each form, matrices in each
 * state, masks. */
#include "tests/ops/algebra.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

uint64_t draw_below(problem *p, uint64_t n)
{
    return test_random_below(&p->random, n);
}

bool draw_once_in(problem *p, uint64_t n)
{
    return test_random_once_in(&p->random, n);
}

uint64_t draw_size(problem *p)
{
    static const uint64_t edges[] = {0, 1, 2, 31, 32, 33, 63, 64, 65};
    if (p->large) return 250 + draw_below(p, 150);
    if (draw_once_in(p, 2)) return edges[draw_below(p, sizeof edges / sizeof *edges)];
    return draw_once_in(p, 12) ? 70 + draw_below(p, 130) : 1 + draw_below(p, 24);
}

dcsr_type draw_type(problem *p)
{
    return p->type != DCSR_TYPE_COUNT ? p->type : (dcsr_type)(1 + draw_below(p, DCSR_TYPE_COUNT - 1));
}

uint64_t draw_length(problem *p)
{
    return p->large ? 40000 + draw_below(p, 40000) : draw_size(p) * (draw_once_in(p, 8) ? 20 : 1);
}

/* Small integers, and halves where there are such; a quarter are 0. Where odd ones are wanted, half of them
 * are. */
dcsr_i_scalar draw_value(problem *p, dcsr_type type)
{
    dcsr_i_scalar value = {0};
    const bool is_signed = (type >= DCSR_INT8 && type <= DCSR_INT64) || type >= DCSR_FP32;
    double number = draw_once_in(p, 4) ? 0 : (double)draw_below(p, 9);
    if (is_signed && draw_once_in(p, 2)) number = -number;
    if (type >= DCSR_FP32 && draw_once_in(p, 3)) number /= 2;
    if (p->odd && type >= DCSR_FP32 && draw_once_in(p, 2))
        number = draw_once_in(p, 2) ? (double)NAN : draw_once_in(p, 2) ? (double)INFINITY : -(double)INFINITY;
    if (type == DCSR_BOOL) number = number != 0;
    test_encode(type, p->constant ? 3 : number, &value);
    return value;
}

/* The share of places that are to have an entry, in parts of 1000. */
static uint64_t draw_density(problem *p)
{
    static const uint64_t shares[] = {0, 5, 30, 100, 300, 800, 1000};
    return shares[draw_below(p, sizeof shares / sizeof *shares)];
}

/* Vectors */

static void build(problem *p, subject *s, uint64_t size)
{
    const uint64_t share = draw_density(p);
    const size_t bytes = dcsr_type_size(s->holds.type);
    uint64_t *index = test_allocate(size, sizeof *index), n = 0;
    unsigned char *values = test_allocate(size, bytes);
    const bool backwards = draw_once_in(p, 3);
    for (uint64_t k = 0; k < size; k++) {
        if (draw_below(p, 1000) >= share) continue;
        index[n] = backwards ? size - 1 - k : k;
        grid_set(&s->holds, index[n], draw_value(p, s->holds.type));
        memcpy(values + n * bytes, &s->holds.value[index[n]], bytes);
        n++;
    }
    TEST_OK(dcsr_vector_build(s->vector, n, index, values, DCSR_POLICY_DEFAULT));
    free(index);
    free(values);
}

static void release_array(void *values, void *user)
{
    (void)user;
    free(values);
}

/* A vector around an array of the test's, which the vector frees. */
static void import(problem *p, subject *s, uint64_t size)
{
    const size_t bytes = dcsr_type_size(s->holds.type);
    unsigned char *values = test_allocate(size, bytes);
    for (uint64_t k = 0; k < size; k++) {
        grid_set(&s->holds, k, draw_value(p, s->holds.type));
        memcpy(values + k * bytes, &s->holds.value[k], bytes);
    }
    TEST_OK(dcsr_vector_import(&s->vector, p->context, s->holds.type, size, values, release_array, NULL));
}

static void draw_vector(problem *p, subject *s, uint64_t size)
{
    *s = (subject){.holds = grid_create(draw_type(p), size, 1)};
    if (draw_once_in(p, 8)) {
        import(p, s, size);
    } else {
        TEST_OK(dcsr_vector_create(&s->vector, p->context, s->holds.type, size));
        build(p, s, size);
    }
    if (draw_once_in(p, 2))
        TEST_OK(
            dcsr_vector_set_format(s->vector, draw_once_in(p, 2) ? DCSR_VECTOR_DENSE : DCSR_VECTOR_SPARSE));
}

void draw_output_vector(problem *p, uint64_t size)
{
    draw_vector(p, &p->out, size);
    p->w = p->out.vector;
}

/* Counts an input, and makes it too long where it is the one that must not fit. */
static uint64_t fit(problem *p, uint64_t size)
{
    if (p->inputs++ != p->misfit) return size;
    p->misfits = true;
    return size + 1;
}

void draw_input_vector(problem *p, subject *s, uint64_t size)
{
    size = fit(p, size);
    if (p->out.vector && p->out.holds.rows == size && draw_once_in(p, 6))
        *s = (subject){.holds = grid_copy(&p->out.holds), .vector = p->out.vector, .borrowed = true};
    else
        draw_vector(p, s, size);
    if (s == &p->a)
        p->u = s->vector;
    else
        p->v = s->vector;
}

/* Matrices */

enum { MOST_ENTRIES = 60000 };

/* Entries all over; or half of them in one row; or in a band; with rows that have none. */
static uint64_t draw_entries(problem *p, uint64_t rows, uint64_t cols, uint64_t *row, uint64_t *col)
{
    const uint64_t cells = rows * cols, shape = draw_below(p, 4), favourite = cells ? draw_below(p, rows) : 0;
    const uint64_t most = p->large ? MOST_ENTRIES - 3 : 1500, share = draw_density(p);
    uint64_t n = cells * share / 1000 + (share ? draw_below(p, 3) : 0);
    if (n > most) n = most;
    if (!cells) n = 0;
    for (uint64_t k = 0; k < n; k++) {
        row[k] = shape == 1 && k % 2 ? favourite : draw_below(p, rows);
        col[k] = draw_below(p, cols);
        if (shape == 2) col[k] = (row[k] + col[k] % 3) % cols;
        if (shape == 3) row[k] -= row[k] % 4 % (row[k] + 1);
    }
    return n;
}

static void insert(problem *p, dcsr_matrix *matrix, oracle *model, bool remove)
{
    const size_t bytes = dcsr_type_size(model->type);
    uint64_t *row = test_allocate(MOST_ENTRIES, sizeof *row), *col = test_allocate(MOST_ENTRIES, sizeof *col);
    unsigned char *values = test_allocate(MOST_ENTRIES, bytes);
    const uint64_t n = draw_entries(p, model->rows, model->cols, row, col);
    for (uint64_t k = 0; bytes && k < n; k++) {
        dcsr_i_scalar value = draw_value(p, model->type);
        memcpy(values + k * bytes, &value, bytes);
    }
    if (remove) {
        TEST_OK(dcsr_matrix_remove(matrix, n, row, col, NULL));
        oracle_remove(model, n, row, col);
    } else {
        TEST_OK(dcsr_matrix_insert(matrix, n, row, col, bytes ? values : NULL, NULL));
        oracle_insert(model, n, row, col, values);
    }
    free(row), free(col), free(values);
}

static void grid_of_oracle(grid *g, const oracle *model)
{
    for (uint64_t i = 0; i < model->rows; i++)
        for (size_t k = 0; k < model->row[i].length; k++) {
            const size_t cell = grid_at(g, i, model->row[i].entry[k].column);
            dcsr_i_scalar value = {.word = model->row[i].entry[k].value};
            if (g->present[cell])
                value.word = oracle_combine(g->type, DCSR_POLICY_SUM, g->value[cell].word, value.word);
            grid_set(g, cell, value);
        }
}

/* Whether an operation may be shown what stands twice as two entries: others than products combine them. */
static bool may_stand_twice(const problem *p, dcsr_type type)
{
    return !p->product || (p->distributes && type == p->type && !p->constant && !p->odd);
}

static dcsr_policy draw_policy(problem *p, dcsr_type type)
{
    if (p->constant) return DCSR_POLICY_LAST;
    const dcsr_policy policy = (dcsr_policy)draw_below(p, DCSR_POLICY_COUNT);
    return policy == DCSR_POLICY_KEEP && !may_stand_twice(p, type) ? DCSR_POLICY_SUM : policy;
}

/* A matrix with a history: batches with duplicates, removals, defragmentation, and for an output perhaps
 * changes that are still queued. */
static void draw_matrix(problem *p, subject *s, uint64_t rows, uint64_t cols)
{
    const dcsr_type type = draw_once_in(p, 5) ? DCSR_PATTERN : draw_type(p);
    const dcsr_matrix_options options = {
        .policy = draw_policy(p, type),
        .segments = (int[]){0, 2, 3, 8}[draw_below(p, 4)],
        .defragmentation = draw_once_in(p, 4) ? DCSR_DEFRAGMENT_AUTO : DCSR_DEFRAGMENT_OFF,
        .maintain_transpose = draw_once_in(p, 4),
    };
    oracle model;
    *s = (subject){.holds = grid_create(type, rows, cols)};
    TEST_OK(dcsr_matrix_create(&s->matrix, p->context, type, rows, cols, &options));
    oracle_create(&model, type, options.policy, rows, cols);
    const uint64_t batches = draw_below(p, 5);
    for (uint64_t b = 0; b < batches; b++) {
        insert(p, s->matrix, &model, b && draw_once_in(p, 3));
        if (draw_once_in(p, 2)) TEST_OK(dcsr_matrix_wait(s->matrix));
        if (draw_once_in(p, 6))
            TEST_OK(dcsr_matrix_defragment(
                s->matrix, draw_once_in(p, 2) ? DCSR_DEFRAGMENT_WHOLE : DCSR_DEFRAGMENT_SELECTED, NULL));
    }
    grid_of_oracle(&s->holds, &model);
    oracle_destroy(&model);
}

static dcsr_view *draw_view(problem *p, dcsr_matrix *matrix)
{
    static const dcsr_layout layouts[] = {DCSR_LAYOUT_SEGMENTS, DCSR_LAYOUT_CSR, DCSR_LAYOUT_CSC};
    const dcsr_layout layout = layouts[draw_below(p, sizeof layouts / sizeof *layouts)];
    unsigned flags = draw_once_in(p, 3) ? DCSR_VIEW_SORTED : 0;
    TEST_OK(dcsr_matrix_wait(matrix));
    const dcsr_matrix_info info = test_info(matrix);
    if (draw_once_in(p, 3) && may_stand_twice(p, info.type) &&
        (!p->product || info.policy == DCSR_POLICY_SUM || info.policy == DCSR_POLICY_KEEP))
        flags |= DCSR_VIEW_DUPLICATES;
    return test_view(matrix, layout, flags);
}

void draw_output_matrix(problem *p, uint64_t rows, uint64_t cols)
{
    draw_matrix(p, &p->out, rows, cols);
    p->C = p->out.matrix;
}

void draw_output_array(problem *p, dcsr_type type, uint64_t rows, uint64_t cols)
{
    const size_t bytes = dcsr_type_size(type);
    p->out = (subject){.holds = grid_create(type, rows, cols)};
    p->array = test_allocate(rows * cols, bytes);
    for (size_t c = 0; c < rows * cols; c++) {
        grid_set(&p->out.holds, c, draw_value(p, type));
        memcpy((unsigned char *)p->array + c * bytes, &p->out.holds.value[c], bytes);
    }
}

static dcsr_view *input_view(problem *p, subject *s, uint64_t rows, uint64_t cols)
{
    const grid *out = &p->out.holds;
    if (p->out.matrix && out->rows == rows && out->cols == cols && draw_once_in(p, 6)) {
        *s = (subject){.holds = grid_copy(out), .matrix = p->out.matrix, .borrowed = true};
        return s->view = draw_view(p, s->matrix);
    }
    draw_matrix(p, s, rows, cols);
    s->view = draw_view(p, s->matrix);
    if (draw_once_in(p, 4)) { /* changes that the view does not show */
        oracle unseen;
        oracle_create(&unseen, s->holds.type, DCSR_POLICY_LAST, rows, cols);
        insert(p, s->matrix, &unseen, draw_once_in(p, 2));
        oracle_destroy(&unseen);
    }
    return s->view;
}

void draw_input_matrix(problem *p, subject *s, uint64_t rows, uint64_t cols, bool transposed)
{
    rows = fit(p, rows);
    cols = fit(p, cols);
    dcsr_view *view = transposed ? input_view(p, s, cols, rows) : input_view(p, s, rows, cols);
    if (s == &p->a)
        p->A = view;
    else
        p->B = view;
}

grid input_a(const problem *p)
{
    return p->desc.transpose_a && p->A ? grid_transposed(&p->a.holds) : grid_copy(&p->a.holds);
}

grid input_b(const problem *p)
{
    return p->desc.transpose_b && p->B ? grid_transposed(&p->b.holds) : grid_copy(&p->b.holds);
}

void subject_free(problem *p, subject *s)
{
    (void)p;
    dcsr_view_destroy(s->view);
    if (!s->borrowed) {
        dcsr_vector_destroy(s->vector);
        dcsr_matrix_destroy(s->matrix);
    }
    grid_free(&s->holds);
    *s = (subject){0};
}

/* Masks and places */

void draw_mask(problem *p)
{
    const uint64_t rows = p->whole_mask ? p->out.holds.rows : p->mask_rows;
    p->desc.mask_complement = draw_once_in(p, 3);
    p->desc.mask_structure = draw_once_in(p, 3);
    p->desc.replace = draw_once_in(p, 2);
    if (draw_once_in(p, 3) && p->misfit < 0) return;
    if (p->operation->output == OUTPUT_MATRIX && p->whole_mask) {
        const uint64_t height = fit(p, rows), width = fit(p, p->out.holds.cols);
        p->mask_view = input_view(p, &p->mask, height, width);
    } else {
        const uint64_t size = fit(p, rows);
        if (p->out.vector && p->out.holds.rows == size && draw_once_in(p, 6))
            p->mask = (subject){.holds = grid_copy(&p->out.holds), .vector = p->out.vector, .borrowed = true};
        else
            draw_vector(p, &p->mask, size);
        p->mask_vector = p->mask.vector;
    }
}

void draw_places(problem *p, places *to, uint64_t bound, bool distinct)
{
    *to = (places){NULL, bound};
    if (draw_once_in(p, 4)) return;
    to->n = bound ? draw_below(p, distinct ? bound + 1 : bound + 9) : 0;
    if (draw_once_in(p, 3) && to->n > 5) to->n = 5;
    to->index = test_allocate(bound > to->n ? bound : to->n, sizeof *to->index);
    for (uint64_t k = 0; k < bound && distinct; k++) to->index[k] = k;
    for (uint64_t k = 0; k < to->n; k++) {
        const uint64_t other = distinct ? k + draw_below(p, bound - k) : 0, kept = to->index[k];
        to->index[k] = distinct ? to->index[other] : draw_below(p, bound);
        if (distinct) to->index[other] = kept;
    }
    if (draw_once_in(p, 3)) /* a run of neighbours */
        for (uint64_t k = 0; k < to->n && to->n <= bound; k++) to->index[k] = bound - to->n + k;
}
