/* cmd_spy.c: `dcsr spy`: a picture of where the entries are.
 *
 * The matrix is laid over a grid of at most one cell a pixel; the darker a cell, the more entries it has, on
 * a logarithmic scale. A matrix smaller than the picture has one cell an entry, several pixels wide. */
#include "cli/cli.h"
#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_SIZE = 1, LEAST_SIZE = 16, MOST_SIZE = 16384, BORDER = 2, CHANNELS = 3 };

static struct {
    uint64_t size;
} settings = {.size = 800};

static const struct argp_option options[] = {
    {"size", KEY_SIZE, "PIXELS", 0, "The longer side of the picture (default 800)", 0}, CLI_OP_OPTION, {0}};

static error_t take(cli_state *cli, int key, const char *value)
{
    if (key != KEY_SIZE) return cli_op_take(cli, key, value);
    return cli_take_number(cli, "--size", value, LEAST_SIZE, MOST_SIZE, &settings.size);
}

static const cli_file_kind png = {"a PNG picture", ".png", "\x89PNG\r\n\x1a\n", 8};

/* The picture: an inner area of the matrix's shape, cut into cells, and a border around it. */
typedef struct picture {
    uint64_t width, height; /* inner, in pixels */
    uint64_t across, down;  /* cells */
    uint64_t *count;        /* entries of each cell */
    uint64_t most;
    png_bytep pixels;
} picture;

static uint64_t scaled(uint64_t side, uint64_t longer)
{
    uint64_t inner = settings.size - 2 * BORDER;
    uint64_t pixels = longer ? (uint64_t)llround((double)side / (double)longer * (double)inner) : inner;
    return pixels ? pixels : 1;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool make_picture(picture *p, uint64_t rows, uint64_t cols)
{
    uint64_t longer = rows > cols ? rows : cols;
    *p = (picture){.width = scaled(cols, longer), .height = scaled(rows, longer)};
    p->across = smaller(p->width, cols ? cols : 1);
    p->down = smaller(p->height, rows ? rows : 1);
    p->count = calloc(p->across * p->down, sizeof *p->count);
    p->pixels = malloc((p->width + 2 * BORDER) * (p->height + 2 * BORDER) * CHANNELS);
    return p->count && p->pixels;
}

/* Counts the entries of each cell. */
static void count_entries(cli_state *cli, picture *p, const dcsr_csr *csr)
{
    for (uint64_t i = 0; i < csr->rows; i++) {
        if (!(i & 0xffff))
            cli_progress(cli, "counting: row %llu of %llu", (unsigned long long)i,
                         (unsigned long long)csr->rows);
        uint64_t *line = p->count + (uint64_t)((__uint128_t)i * p->down / csr->rows) * p->across;
        for (uint64_t e = csr->offsets[i]; e < csr->offsets[i + 1]; e++) {
            uint64_t *cell = line + csr->col_indices[e] * p->across / csr->cols;
            if (++*cell > p->most) p->most = *cell;
        }
    }
}

/* White for nothing; from a light blue that is still seen on white, to nearly black. */
static void shade(const picture *p, uint64_t count, png_bytep pixel)
{
    static const double ramp[][CHANNELS] = {{140, 180, 225}, {60, 125, 195}, {20, 70, 145}, {5, 15, 50}};
    enum { STEPS = sizeof ramp / sizeof *ramp - 1 };
    if (!count) {
        memset(pixel, 0xff, CHANNELS);
        return;
    }
    double at = p->most > 1 ? log((double)count) / log((double)p->most) * STEPS : STEPS;
    int step = at >= STEPS ? STEPS - 1 : (int)at;
    for (int c = 0; c < CHANNELS; c++) {
        pixel[c] = (png_byte)lround(ramp[step][c] + (at - step) * (ramp[step + 1][c] - ramp[step][c]));
    }
}

static void paint(picture *p)
{
    uint64_t line = (p->width + 2 * BORDER) * CHANNELS;
    memset(p->pixels, 0x90, line * (p->height + 2 * BORDER));
    for (uint64_t y = 0; y < p->height; y++) {
        const uint64_t *cells = p->count + y * p->down / p->height * p->across;
        png_bytep pixel = p->pixels + (y + BORDER) * line + BORDER * CHANNELS;
        for (uint64_t x = 0; x < p->width; x++, pixel += CHANNELS) {
            shade(p, cells[x * p->across / p->width], pixel);
        }
    }
}

static int write_picture(cli_state *cli, const picture *p, const char *path)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)(p->width + 2 * BORDER),
                       .height = (png_uint_32)(p->height + 2 * BORDER),
                       .format = PNG_FORMAT_RGB};
    png_alloc_size_t room = PNG_IMAGE_PNG_SIZE_MAX(image), length = room;
    void *bytes = malloc(room);
    int status = CLI_DONE;
    if (!bytes || !png_image_write_to_memory(&image, bytes, &length, 0, p->pixels, 0, NULL))
        status = cli_fail(cli, "%s: cannot be drawn: %s; use a smaller --size", path,
                          bytes ? image.message : "out of memory");
    else if (dcsr_file_write(cli->context, path, bytes, length))
        status = cli_fail_library(cli);
    free(bytes);
    return status;
}

static int print(cli_state *cli, const picture *p, const dcsr_csr *csr, const char *path)
{
    char rows[CLI_NUMBER], cols[CLI_NUMBER];
    cli_report report;
    cli_report_begin(&report, cli);
    cli_put_text(&report, "file", "written", path);
    cli_put_line(&report, "picture", "%llu x %llu pixels", (unsigned long long)p->width + 2 * BORDER,
                 (unsigned long long)p->height + 2 * BORDER);
    cli_put_count(&report, "width", NULL, p->width + 2 * BORDER);
    cli_put_count(&report, "height", NULL, p->height + 2 * BORDER);
    cli_put_line(&report, "matrix", "%s x %s", cli_grouped(rows, csr->rows), cli_grouped(cols, csr->cols));
    cli_put_count(&report, "rows", NULL, csr->rows);
    cli_put_count(&report, "cols", NULL, csr->cols);
    cli_put_count(&report, "nnz", "nonzeros", csr->nnz);
    cli_put_count(&report, "max_cell", "most in a cell", p->most);
    return cli_report_print(&report);
}

static int run_spy(cli_state *cli)
{
    const char *path = cli->arguments[1];
    dcsr_matrix *matrix = NULL;
    dcsr_view *view = NULL;
    dcsr_csr csr;
    picture p = {0};
    int status = cli_check_target(cli, path, &png);
    if (!status) status = cli_load_matrix(cli, &matrix, cli->arguments[0], NULL);
    if (status) return status;
    if (dcsr_view_create(&view, matrix, DCSR_LAYOUT_CSR, 0) || dcsr_view_get_csr_on_host(view, &csr)) {
        status = cli_fail_library(cli);
    } else if (!make_picture(&p, csr.rows, csr.cols)) {
        status = cli_fail(cli, "out of memory for the picture; use a smaller --size");
    } else {
        count_entries(cli, &p, &csr);
        paint(&p);
        status = write_picture(cli, &p, path);
        if (!status) status = print(cli, &p, &csr, path);
    }
    free(p.pixels);
    free(p.count);
    dcsr_view_destroy(view);
    dcsr_matrix_destroy(matrix);
    return status;
}

const cli_command cli_spy_command = {
    .name = "spy",
    .arguments = "MATRIX FILE.png",
    .summary = "Draw where the entries of a matrix are",
    .help =
        "The darker a spot, the more entries it stands for, on a logarithmic scale. FILE must "
        "end in .png; a picture that is there is replaced when the new one is whole, and nothing else is.\n\n"
        "Example:\n  dcsr spy rmat:16,16 rmat.png --size 1200\n",
    .least = 2,
    .most = 2,
    .options = options,
    .take = take,
    .run = run_spy,
};
