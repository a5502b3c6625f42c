/* test_cfa.c: control-flow analysis against a fixed point over plain sets, and against what can be said of programs. */
#include "algos/cfa/cfa_solution.h"
#include "dcsr/base/alloc.h"
#include <dcsr/extend.h>
#include "tests/support/support.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const dcsr_status format = DCSR_ERROR_FORMAT;

static dcsr_cfa *analysis(dcsr_context *context, const char *text)
{
    dcsr_cfa *cfa;
    TEST_OK(dcsr_cfa_create(&cfa, context));
    TEST_OK(dcsr_cfa_add_text(cfa, "p", text, strlen(text)));
    return cfa;
}

/* ---- A fixed point over plain sets ---- */

typedef struct sets {
    const dcsr_cfa *cfa;
    bool *store, *reached;
    bool grows;
} sets;

static bool *cell(const sets *s, uint64_t address, uint64_t value)
{
    return &s->store[address * s->cfa->values.count + value];
}
static void put(sets *s, uint64_t address, uint64_t value)
{
    s->grows |= !*cell(s, address, value);
    *cell(s, address, value) = true;
}
static void reach(sets *s, uint32_t state)
{
    s->grows |= !s->reached[state];
    s->reached[state] = true;
}
static const dcsr_i_cfa_value *value_at(const sets *s, uint64_t v)
{
    return DCSR_I_CFA_AT(s->cfa->values, dcsr_i_cfa_value, v);
}
static uint32_t argument_at(const sets *s, const dcsr_i_cfa_state *state, uint32_t i)
{
    return *DCSR_I_CFA_AT(s->cfa->arguments, uint32_t, state->arguments + i);
}

/* Every function of `count` parameters at the address gets, as its i-th, what is at `from`, or a constant. */
static void bind(sets *s, uint32_t at, uint32_t count, uint32_t i, int64_t from, unsigned constants)
{
    for (uint64_t f = 0; f < s->cfa->values.count; f++) {
        const dcsr_i_cfa_value *function = value_at(s, f);
        if (!*cell(s, at, f) || function->kind != DCSR_I_CFA_LAMBDA || function->count != count) continue;
        if (constants || from >= 0) reach(s, function->body);
        for (uint64_t v = 0; v < s->cfa->values.count; v++)
            if (from >= 0 ? *cell(s, (uint64_t)from, v) : (v < DCSR_I_CFA_CONSTANTS && (constants >> v & 1)))
                put(s, function->parameters + i, v);
    }
}

static void take(sets *s, const dcsr_i_cfa_state *state)
{
    const unsigned all = (1u << DCSR_I_CFA_CONSTANTS) - 1;
    switch (state->kind) {
    case DCSR_I_CFA_CALL:
        for (uint32_t i = 0; i < state->count; i++)
            bind(s, state->function, state->count, i, argument_at(s, state, i), 0);
        for (uint64_t f = 0; f < s->cfa->values.count && !state->count; f++)
            if (*cell(s, state->function, f) && value_at(s, f)->kind == DCSR_I_CFA_LAMBDA &&
                value_at(s, f)->count == 0)
                reach(s, value_at(s, f)->body);
        if (s->cfa->unknown && *cell(s, state->function, s->cfa->unknown - 1) && state->count)
            bind(s, argument_at(s, state, state->count - 1), 1, 0, -1, all);
        break;
    case DCSR_I_CFA_PRIMITIVE:
        bind(s, state->function, 1, 0, -1, dcsr_i_cfa_primitive_at(state->primitive)->results);
        break;
    case DCSR_I_CFA_IF:
        for (uint64_t v = 0; v < s->cfa->values.count; v++)
            if (*cell(s, state->function, v))
                reach(s, v == DCSR_I_CFA_IS_FALSE ? state->when_false : state->when_true);
        break;
    case DCSR_I_CFA_SET:
        for (uint64_t v = 0; v < s->cfa->values.count; v++)
            if (*cell(s, argument_at(s, state, 1), v)) put(s, argument_at(s, state, 0), v);
        bind(s, state->function, 1, 0, -1, 1u << DCSR_I_CFA_IS_VOID);
        break;
    case DCSR_I_CFA_HALT:
        break;
    }
}

static sets solve_plainly(const dcsr_cfa *cfa)
{
    sets s = {.cfa = cfa,
              .store = test_allocate(cfa->addresses.count * cfa->values.count, sizeof(bool)),
              .reached = test_allocate(cfa->states.count, sizeof(bool))};
    memset(s.store, 0, cfa->addresses.count * cfa->values.count * sizeof(bool));
    memset(s.reached, 0, cfa->states.count * sizeof(bool));
    for (uint64_t v = 0; v < cfa->values.count; v++) put(&s, value_at(&s, v)->address, v);
    for (uint64_t l = 0; l < cfa->links.count; l++) {
        const dcsr_i_cfa_link *link = DCSR_I_CFA_AT(cfa->links, dcsr_i_cfa_link, l);
        put(&s, link->address, link->value);
    }
    for (uint64_t n = 1; n < cfa->symbols.count; n++) {
        const dcsr_i_cfa_symbol *symbol = DCSR_I_CFA_AT(cfa->symbols, dcsr_i_cfa_symbol, n);
        for (uint64_t v = 0; v < cfa->values.count && symbol->is_unbound; v++)
            if (v < DCSR_I_CFA_CONSTANTS || v + 1 == cfa->unknown) put(&s, symbol->global - 1, v);
    }
    reach(&s, cfa->first);
    do {
        s.grows = false;
        for (uint64_t n = 0; n < cfa->states.count; n++)
            if (s.reached[n]) take(&s, DCSR_I_CFA_AT(cfa->states, dcsr_i_cfa_state, n));
    } while (s.grows);
    return s;
}

static void expect_plain_solution(dcsr_cfa *cfa, const char *text)
{
    dcsr_cfa_result result;
    dcsr_i_cfa_array row = {.size = sizeof(uint32_t)};
    TEST_OK(dcsr_cfa_solve(cfa, &result));
    sets s = solve_plainly(cfa);
    uint64_t nnz = 0, reached = 0;
    for (uint64_t a = 0; a < cfa->addresses.count; a++) {
        uint64_t n, wanted = 0;
        const uint32_t *values = dcsr_i_cfa_row(cfa, (uint32_t)a, &row, &n);
        for (uint64_t v = 0; v < cfa->values.count; v++) wanted += *cell(&s, a, v);
        for (uint64_t i = 0; i < n; i++)
            cr_assert(*cell(&s, a, values[i]), "value %u at address %llu in\n%s", values[i],
                      (unsigned long long)a, text);
        cr_assert(n == wanted, "%llu values at address %llu, not %llu, in\n%s", (unsigned long long)n,
                  (unsigned long long)a, (unsigned long long)wanted, text);
        nnz += wanted;
    }
    for (uint64_t n = 0; n < cfa->states.count; n++) reached += s.reached[n];
    cr_assert(result.store_nnz == nnz && result.reachable == reached && result.states == cfa->states.count &&
              result.values == cfa->values.count && result.addresses == cfa->addresses.count);
    dcsr_context_free(cfa->context, row.items, row.capacity, row.size);
    free(s.store);
    free(s.reached);
}

/* ---- Random programs ---- */

typedef struct writer {
    char text[1 << 16];
    size_t length;
    test_random random;
    int names; /* in sight */
} writer;

static void say(writer *w, const char *format_, ...) __attribute__((format(printf, 2, 3)));
static void say(writer *w, const char *format_, ...)
{
    va_list list;
    va_start(list, format_);
    w->length += (size_t)vsnprintf(w->text + w->length, sizeof w->text - w->length, format_, list);
    va_end(list);
    cr_assert_lt(w->length, sizeof w->text);
}

static unsigned draw(writer *w, unsigned below)
{
    return (unsigned)(test_random_next(&w->random) % below);
}

static void say_expression(writer *w, int depth);

static void say_many(writer *w, int depth, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        say(w, " ");
        say_expression(w, depth);
    }
}

/* A new name is in sight in what follows. */
static int new_name(writer *w)
{
    return w->names++;
}

static void say_binding_form(writer *w, int depth, const char *form)
{
    const int before = w->names;
    say(w, "(%s (", form);
    for (unsigned i = 0, n = draw(w, 3); i < n; i++) {
        const int seen = w->names;
        if (!strncmp(form, "letrec", 6)) w->names = seen + 1;
        say(w, "(v%d ", seen);
        say_expression(w, depth);
        say(w, ")");
        w->names = seen + 1;
    }
    say(w, ")");
    say_many(w, depth, 1 + draw(w, 2));
    say(w, ")");
    w->names = before;
}

static void say_expression(writer *w, int depth)
{
    static const char *const atoms[] = {"1",    "#t", "#f",     "'a", "'(1 2)", "\"s\"",
                                        "list", "+",  "nobody", "g0", "g1"};
    static const char *const binding[] = {"let", "let*", "letrec", "letrec*"};
    const int before = w->names;
    if (depth <= 0 || draw(w, 8) == 0) {
        if (w->names && draw(w, 2))
            say(w, "v%u", draw(w, (unsigned)w->names));
        else
            say(w, "%s", atoms[draw(w, sizeof atoms / sizeof *atoms)]);
        return;
    }
    switch (draw(w, 12)) {
    case 0:
    case 1:
        say(w, "(lambda (");
        for (unsigned i = 0, n = draw(w, 3); i < n; i++) say(w, "v%d ", new_name(w));
        say(w, ")");
        say_many(w, depth - 1, 1 + draw(w, 2));
        say(w, ")");
        break;
    case 2:
        say_binding_form(w, depth - 1, binding[draw(w, 4)]);
        break;
    case 3:
        say(w, "(if");
        say_many(w, depth - 1, 2 + draw(w, 2));
        say(w, ")");
        break;
    case 4:
        say(w, "(%s", draw(w, 2) ? "and" : "or");
        say_many(w, depth - 1, draw(w, 4));
        say(w, ")");
        break;
    case 5:
        say(w, "(cond (");
        say_expression(w, depth - 1);
        say_many(w, depth - 1, draw(w, 2));
        say(w, ") (else");
        say_many(w, depth - 1, 1);
        say(w, "))");
        break;
    case 6:
        say(w, "(cons");
        say_many(w, depth - 1, 2);
        say(w, ")");
        break;
    case 7:
        if (w->names)
            say(w, "(set! v%u ", draw(w, (unsigned)w->names));
        else
            say(w, "(set! g0 ");
        say_expression(w, depth - 1);
        say(w, ")");
        break;
    case 8:
        say(w, "(let v%d ((v%d ", w->names + 1, w->names);
        say_expression(w, depth - 1);
        say(w, "))");
        w->names += 2;
        say_many(w, depth - 1, 1);
        say(w, ")");
        break;
    default:
        say(w, "(");
        say_expression(w, depth - 1);
        say_many(w, depth - 1, draw(w, 3));
        say(w, ")");
    }
    w->names = before;
}

static void say_program(writer *w, uint64_t seed, unsigned forms)
{
    *w = (writer){.random = {seed}};
    for (unsigned i = 0; i < forms; i++) {
        if (draw(w, 2)) {
            say(w, "(define (g%u v0)", draw(w, 3));
            w->names = 1;
            say_many(w, 3, 1);
            w->names = 0;
            say(w, ")\n");
        } else {
            say_expression(w, 4);
            say(w, "\n");
        }
    }
}

Test(cfa, agrees_with_plain_sets)
{
    dcsr_context *context = test_context(2);
    static writer w;
    for (uint64_t seed = 1; seed <= (test_on_emulator() ? 10 : 150); seed++) {
        say_program(&w, seed, 4);
        dcsr_cfa *cfa = analysis(context, w.text);
        expect_plain_solution(cfa, w.text);
        dcsr_cfa_destroy(cfa);
    }
    test_close(context);
}

Test(cfa, goes_on_from_a_solution)
{
    dcsr_context *context = test_context(1);
    static writer w, more;
    for (uint64_t seed = 1; seed <= (test_on_emulator() ? 5 : 60); seed++) {
        dcsr_cfa_result step, whole;
        say_program(&w, seed, 3);
        say_program(&more, seed + 1000, 3);
        dcsr_cfa *cfa = analysis(context, w.text), *other = analysis(context, w.text);
        TEST_OK(dcsr_cfa_add_text(other, "p", more.text, more.length));
        expect_plain_solution(cfa, w.text);
        TEST_OK(dcsr_cfa_add_text(cfa, "p", more.text, more.length));
        expect_plain_solution(cfa, more.text);
        TEST_OK(dcsr_cfa_solve(cfa, &step));
        TEST_OK(dcsr_cfa_solve(other, &whole));
        cr_assert(step.states == whole.states && step.values == whole.values &&
                  step.addresses == whole.addresses);
        /* What nothing has bound stays unknown. */
        cr_assert(step.store_nnz >= whole.store_nnz && step.reachable >= whole.reachable);
        dcsr_cfa_destroy(cfa);
        dcsr_cfa_destroy(other);
    }
    test_close(context);
}

/* ---- What can be said of programs ---- */

/* A file that a call has written, in memory. */
static char *written(dcsr_cfa *cfa, dcsr_status (*write)(dcsr_cfa *cfa, const char *path))
{
    char path[] = "/tmp/dcsr-test-cfa-XXXXXX";
    const int descriptor = mkstemp(path);
    cr_assert(descriptor >= 0);
    close(descriptor);
    TEST_OK(write(cfa, path));
    FILE *file = fopen(path, "r");
    char *text = test_allocate(1 << 16, 1);
    text[fread(text, 1, (1 << 16) - 1, file)] = 0;
    fclose(file);
    remove(path);
    return text;
}

static void expect_text(dcsr_cfa *cfa, dcsr_status (*write)(dcsr_cfa *cfa, const char *path),
                        const char *wanted)
{
    char *text = written(cfa, write);
    cr_assert_str_eq(text, wanted);
    free(text);
}

Test(cfa, names_what_calls_may_reach)
{
    dcsr_context *context = test_context(1);
    dcsr_cfa *cfa = analysis(context, "(define (twice f) (lambda (x) (f (f x))))\n"
                                      "(define inc (lambda (n) (+ n 1)))\n"
                                      "((twice inc) 5)\n");
    TEST_OK(dcsr_cfa_solve(cfa, NULL));
    expect_text(cfa, dcsr_cfa_write_calls,
                "p:1:34\tf\tinc p:2:13\n"
                "p:1:31\tf\tinc p:2:13\n"
                "p:3:2\ttwice\ttwice p:1:1\n"
                "p:3:1\ta result\tlambda p:1:19\n");
    expect_text(cfa, dcsr_cfa_write_flows,
                "twice p:1:10\ttwice p:1:1\n"
                "f p:1:16\tinc p:2:13\n"
                "x p:1:28\t5\n"
                "inc p:2:9\tinc p:2:13\n"
                "n p:2:22\tinteger\n"
                "n p:2:22\t5\n");
    expect_text(cfa, dcsr_cfa_write_dot,
                "digraph calls {\n"
                "    \"program\" -> \"twice p:1:1\";\n"
                "    \"program\" -> \"lambda p:1:19\";\n"
                "    \"lambda p:1:19\" -> \"inc p:2:13\";\n"
                "}\n");
    dcsr_cfa_destroy(cfa);
    test_close(context);
}

Test(cfa, takes_programs_in_continuation_passing_style)
{
    static const char text[] = "((lambda (f k) (f f k))\n"
                               " (lambda (g k2) (prim + 1 2 (lambda (v)\n"
                               "   (set!/k g v (lambda (z) (if g (k2 g) (halt)))))))\n"
                               " (lambda (r) (halt)))";
    dcsr_context *context = test_context(1);
    dcsr_cfa *cfa = analysis(context, text);
    dcsr_cfa_result result;
    expect_plain_solution(cfa, text);
    TEST_OK(dcsr_cfa_solve(cfa, &result));
    /* 3 calls, prim, set!/k, if, 2 halts; 5 lambdas, 2 literals and 6 constants; 7 parameters. The first integer may be
       #f for all that is known of it, but no #f reaches g. */
    cr_assert(result.states == 8 && result.reachable == 7 && result.values == 13 && result.addresses == 20);
    TEST_REFUSED(format, "nothing can be added", dcsr_cfa_add_text(cfa, "q", "(halt)", 6));
    dcsr_cfa_destroy(cfa);
    test_close(context);
}

Test(cfa, says_what_is_wrong)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"(f (g 1)", "p:1:1: the list that begins here is not closed; expected ')'"},
        {"(f\n  ]", "p:2:3: ']' does not match; expected ')'"},
        {"f)", "p:1:2: ')' closes nothing"},
        {"\"abc", "p:1:1: the string that begins here has no end"},
        {"#| abc #| |#", "p:1:1: the comment that begins here has no end"},
        {"(quote a b)", "p:1:10: quote takes one datum; expected ')'"},
        {"'", "p:1:2: the text ends here; expected what is quoted"},
        {"'(a ]", "p:1:5: ']' does not match; expected ')'"},
        {"`(a ,b)", "p:1:1: '`' is not known here"},
        {"#(1 2)", "# is not understood; quote data"},
        {"(lambda x x)", "p:1:9: expected a list of parameters"},
        {"(lambda (a . b) a)", "p:1:12: a function of any number of arguments"},
        {"(lambda (a a) a)", "p:1:12: two parameters have this name"},
        {"(lambda (a))", "p:1:1: expected an expression in the body"},
        {"(lambda (1) 1)", "p:1:10: expected the name of a parameter"},
        {"(if)", "p:1:1: expected (if test then else)"},
        {"(if 1 2 3 4)", "p:1:11: an if has one more expression than it may"},
        {"(let ((a 1)))", "p:1:1: expected (let ((name expression) ...) body ...)"},
        {"(let ((a)) a)", "p:1:7: expected (name expression)"},
        {"(letrec (a) a)", "p:1:10: expected (name expression)"},
        {"(define)", "p:1:1: expected (define name expression)"},
        {"(define a 1 2)", "p:1:1: expected (define name expression)"},
        {"(+ 1 (define a 1))", "p:1:6: a define stands at the beginning of a body"},
        {"(set! 1 2)", "p:1:1: expected (set! name expression)"},
        {"(cond 1)", "p:1:7: expected (test body ...)"},
        {"(cond (else 1) (2 3))", "p:1:7: expected (else body ...), and no clause after it"},
        {"(cond (1 => f))", "p:1:10: => is not known here"},
        {"(begin)", "p:1:1: expected an expression in it"},
        {"()", "p:1:1: () is no expression"},
        {"(car 1 2)", "p:1:1: car has 2 arguments here; expected 1"},
        {"(vector-set! 1)", "p:1:1: vector-set! has 1 arguments here; expected 3"},
        {"(f if)", "p:1:4: if is not a value"},
        {"(case 1)", "p:1:1: case is not known here"},
        {"(f (halt))", "p:1:4: expected a variable, a constant or a lambda in this style"},
        {"(prim nonsense 1 f)", "p:1:1: expected (prim operator argument ... continuation)"},
        {"(prim + 1 f) (halt)", "p:1:14: a program in continuation-passing style is one call"},
        {"((lambda () (halt) (halt)))", "p:1:20: a body is one call here"},
    };
    dcsr_context *context = test_context(1);
    dcsr_cfa *cfa;
    TEST_OK(dcsr_cfa_create(&cfa, context));
    TEST_STATUS(DCSR_ERROR_INVALID_ARGUMENT, dcsr_cfa_solve(cfa, NULL));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        TEST_REFUSED(format, wrong[i].says,
                     dcsr_cfa_add_text(cfa, "p", wrong[i].text, strlen(wrong[i].text)));
    TEST_STATUS(DCSR_ERROR_IO, dcsr_cfa_add_file(cfa, "/nonexistent/p.scm"));
    /* Nothing of all this is left. */
    static const char right[] = "((lambda (f) (f a)) (lambda (x) x))";
    TEST_OK(dcsr_cfa_add_text(cfa, "q", right, sizeof right - 1));
    expect_plain_solution(cfa, right);
    dcsr_cfa *other = analysis(context, right);
    dcsr_cfa_result result, wanted;
    TEST_OK(dcsr_cfa_solve(cfa, &result));
    TEST_OK(dcsr_cfa_solve(other, &wanted));
    cr_assert(result.states == wanted.states && result.values == wanted.values &&
              result.addresses == wanted.addresses && result.store_nnz == wanted.store_nnz &&
              result.unbound == 1);
    const char *name, *file;
    uint64_t line, column;
    TEST_OK(dcsr_cfa_get_unbound(cfa, 0, &name, &file, &line, &column));
    cr_assert(!strcmp(name, "a") && !strcmp(file, "q") && line == 1 && column == 17);
    TEST_STATUS(DCSR_ERROR_INDEX_OUT_OF_RANGE, dcsr_cfa_get_unbound(cfa, 1, &name, &file, &line, &column));
    dcsr_cfa_destroy(other);
    dcsr_cfa_destroy(cfa);
    test_close(context);
}

/* Neither depth nor length is bounded by the stack. */
Test(cfa, takes_deep_and_long_programs)
{
    enum { DEEP = TEST_EMULATOR ? 500 : 10000 };
    static const struct {
        const char *begin, *middle, *end;
    } forms[] = {{"(car ", "x", ")"},       {"(let ((a ", "1", ")) a)"},
                 {"(lambda () ", "1", ")"}, {"(if 1 2 ", "3", ")"},
                 {"(if ", "1", " 2 3)"},    {"(and 1 ", "2", ")"},
                 {"(begin 1 ", "2", ")"},   {"'(", "a", ")"},
                 {"(f ", "f", " 1)"},       {"((lambda (x) ", "x", ") 1)"},
                 {"#;(", "", ")"},          {"(cond (1 2) (else ", "3", "))"}};
    dcsr_context *context = test_context(1);
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        char *text = test_allocate(DEEP * 32, 1), *at = text;
        for (int i = 0; i < DEEP; i++) at = stpcpy(at, forms[k].begin);
        at = stpcpy(at, forms[k].middle);
        for (int i = 0; i < DEEP; i++) at = stpcpy(at, forms[k].end);
        dcsr_cfa *cfa;
        TEST_OK(dcsr_cfa_create(&cfa, context));
        const dcsr_status status = dcsr_cfa_add_text(cfa, "deep", text, (size_t)(at - text));
        cr_assert(!status || (forms[k].begin[0] == '#' && status == format), "%s: %s", forms[k].begin,
                  dcsr_thread_error());
        if (!status) TEST_OK(dcsr_cfa_solve(cfa, NULL));
        dcsr_cfa_destroy(cfa);
        free(text);
    }
    test_close(context);
}

/* Whatever allocation fails, what was there before is there, and a further call goes on. */
Test(cfa, may_lack_memory)
{
    static const char one[] = "(define (f x) (if x (g x) 1)) (define g (lambda (y) (f y))) (f nobody)",
                      two[] = "(let loop ((i 0)) (if (< i 9) (loop (+ i 1)) (f g)))";
    dcsr_context *context = test_context(1);
    dcsr_cfa *cfa = NULL;
    dcsr_status status = DCSR_ERROR_OUT_OF_MEMORY;
    const char *const texts[] = {one, two};
    for (int first = 0; status; first++) {
        dcsr_i_fail_allocations_after(first);
        status = dcsr_cfa_create(&cfa, context);
        dcsr_i_fail_allocations_after(-1);
    }
    for (int k = 0; k < 2; k++) {
        status = DCSR_ERROR_OUT_OF_MEMORY;
        for (int first = 0; status; first++) {
            dcsr_i_fail_allocations_after(first);
            status = dcsr_cfa_add_text(cfa, "p", texts[k], strlen(texts[k]));
            dcsr_i_fail_allocations_after(-1);
            cr_assert(!status || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        }
        status = DCSR_ERROR_OUT_OF_MEMORY;
        for (int first = 0; status; first++) {
            dcsr_i_fail_allocations_after(first);
            status = dcsr_cfa_solve(cfa, NULL);
            dcsr_i_fail_allocations_after(-1);
            cr_assert(!status || status == DCSR_ERROR_OUT_OF_MEMORY, "%s", dcsr_thread_error());
        }
        expect_plain_solution(cfa, texts[k]);
    }
    dcsr_cfa_destroy(cfa);
    test_close(context);
}

static void note(void *user, uint64_t done, uint64_t total)
{
    uint64_t *rounds = user;
    cr_assert(done > *rounds && !total);
    *rounds = done;
}

Test(cfa, tells_how_far_it_has_come)
{
    static const char program[] =
        "(define (f x) (g x)) (define (g x) (h x)) (define (h x) x) (f (lambda (y) y))";
    dcsr_context *context = test_context(1);
    dcsr_cfa *cfa;
    dcsr_cfa_result result;
    uint64_t rounds = 0;
    TEST_OK(dcsr_cfa_create(&cfa, context));
    TEST_OK(dcsr_cfa_add_text(cfa, "p", program, sizeof program - 1));
    TEST_OK(dcsr_cfa_set_progress(cfa, note, &rounds));
    TEST_OK(dcsr_cfa_solve(cfa, &result));
    cr_assert(rounds > 2 && rounds <= result.iterations);
    TEST_REFUSED(DCSR_ERROR_INVALID_ARGUMENT, "NULL", dcsr_cfa_set_progress(NULL, note, &rounds));
    dcsr_cfa_destroy(cfa);
    test_close(context);
}
