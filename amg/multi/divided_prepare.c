/* divided_prepare.c: what cycles over a level that several devices have parts of need besides its matrices: what
 * prepare.c makes on one device. */
#include "amg/multi/levels.h"
#include <dcsr/apply.h>
#include <stdio.h>

/* ---- What a device has alone ---- */

typedef struct preparing {
    dcsr_i_divided *d;
    int number;
} preparing;

static dcsr_status take_vectors(dcsr_i_amg_hierarchy *own, dcsr_i_amg_level *level, bool first)
{
    const bool again = !first && own->options.cycle != DCSR_I_AMG_V,
               kept = !first || own->options.precision == DCSR_I_AMG_FP32;
    const struct {
        dcsr_i_amg_array *array;
        bool wanted;
    } vector[] = {{&level->d, true},
                  {&level->b, kept},
                  {&level->best[0], again},
                  {&level->best[1], again && own->options.cycle == DCSR_I_AMG_K},
                  {&level->best[2], again}};
    for (size_t v = 0; v < sizeof vector / sizeof *vector; v++)
        if (vector[v].wanted)
            DCSR_I_AMG_TRY(own->engine->take(vector[v].array, own, level->rows, sizeof(double)));
    return DCSR_OK;
}

static dcsr_status prepare_part(void *user, uint64_t k)
{
    const preparing *p = user;
    dcsr_i_amg_hierarchy *own = p->d->own[k];
    dcsr_i_amg_level *level = &own->level[p->number];
    if (!level->rows) return DCSR_OK;
    DCSR_I_AMG_TRY(own->engine->open(own));
    dcsr_status status = take_vectors(own, level, !p->number);
    if (!status)
        status = dcsr_i_amg_prepare_level(own, level, own->options.smoother == DCSR_I_AMG_GAUSS_SEIDEL);
    dcsr_status closed = own->engine->close(own, "multi amg setup");
    return status ? status : closed;
}

/* ---- Matrices of all in fp32 ---- */

typedef struct narrowing {
    dcsr_multi_view *from;
    dcsr_matrix *part[DCSR_MAX_DEVICES];
} narrowing;

static dcsr_status narrow_part(void *user, uint64_t k)
{
    narrowing *n = user;
    dcsr_view *part;
    dcsr_view_shape shape;
    DCSR_I_AMG_TRY(dcsr_multi_view_get_part(n->from, k, &part));
    DCSR_I_AMG_TRY(dcsr_view_get_shape(part, &shape));
    DCSR_I_AMG_TRY(dcsr_matrix_create(&n->part[k], shape.context, DCSR_FP32, shape.rows, shape.cols, NULL));
    return dcsr_matrix_apply(n->part[k], NULL, NULL, dcsr_unary_op_of(DCSR_UNARY_IDENTITY, DCSR_FP32), part,
                             NULL);
}

/* columns: where vectors of them are cut; NULL: as rows are. */
static dcsr_status narrow(dcsr_multi_matrix **matrix, dcsr_multi_view **view, const dcsr_i_divided *d,
                          dcsr_multi_view *from, const uint64_t *columns, dcsr_layout layout)
{
    narrowing n = {.from = from};
    char said[512];
    dcsr_status status = dcsr_multi_run(d->devices, narrow_part, &n);
    if (!status) status = dcsr_multi_matrix_from_parts(matrix, d->devices, n.part, columns);
    if (!status) return dcsr_multi_view_create(view, *matrix, layout, 0);
    snprintf(said, sizeof said, "%s", dcsr_thread_error());
    for (uint64_t k = 0; k < d->parts; k++) dcsr_matrix_destroy(n.part[k]);
    return dcsr_thread_fail(status, "%s", said);
}

static dcsr_status narrow_across(dcsr_i_across *across, const dcsr_i_divided *d, const uint64_t *columns)
{
    dcsr_i_across made = {0};
    if (!across->view) return DCSR_OK;
    dcsr_status status = narrow(&made.matrix, &made.view, d, across->view, columns, DCSR_LAYOUT_SEGMENTS);
    if (status) {
        dcsr_i_across_free(&made);
        return status;
    }
    dcsr_i_across_free(across);
    *across = made;
    return DCSR_OK;
}

/* ---- All of it ---- */

dcsr_status dcsr_i_divided_make_vector(dcsr_multi_vector **vector, dcsr_multi_view *like, dcsr_type type)
{
    static const double zero = 0; /* of any type */
    dcsr_multi_vector_destroy(*vector);
    *vector = NULL;
    DCSR_I_AMG_TRY(dcsr_multi_vector_create(vector, like, type, false));
    return dcsr_multi_vector_fill(*vector, &zero);
}

dcsr_status dcsr_i_divided_prepare(dcsr_i_divided *d, int number)
{
    dcsr_i_divided_level *level = &d->level[number];
    const bool fp32 = d->type == DCSR_FP32;
    if (number || fp32) DCSR_I_AMG_TRY(dcsr_i_divided_make_vector(&level->x, level->A, d->type));
    if (level->R.view) DCSR_I_AMG_TRY(dcsr_i_divided_make_vector(&level->y, level->R.view, d->type));
    if (fp32) {
        DCSR_I_AMG_TRY(dcsr_i_divided_make_vector(&level->q, level->A, d->type));
        DCSR_I_AMG_TRY(narrow(&level->narrow_matrix, &level->narrow_A, d, level->A, NULL, DCSR_LAYOUT_CSR));
        DCSR_I_AMG_TRY(narrow_across(&level->P, d, d->border[number + 1]));
        DCSR_I_AMG_TRY(narrow_across(&level->R, d, d->border[number]));
    }
    return dcsr_multi_run(d->devices, prepare_part, &(preparing){d, number});
}
