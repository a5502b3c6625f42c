/* refresh_rule.c: whether a plan brings its format up to date after a change, or builds it anew. */
#include "ops/spmv/portfolio/refresh_rule.h"

enum { LONGEST_PAUSE = 64 };

void dcsr_i_refresh_begin(dcsr_i_refresh_rule *rule, double seconds)
{
    *rule = (dcsr_i_refresh_rule){.building = seconds, .built = 1};
}

void dcsr_i_refresh_built(dcsr_i_refresh_rule *rule, double seconds)
{
    rule->building = seconds;
    if (rule->built < UINT32_MAX) rule->built++;
}

/* Whether what was found applies to a refresh of so many rows; one less is left then. */
static bool applies(dcsr_i_refresh_rule *rule, uint64_t changed)
{
    if (!rule->found || changed < rule->least || !rule->left) return false;
    rule->left--;
    return true;
}

dcsr_i_refresh_advice dcsr_i_refresh_at_all(dcsr_i_refresh_rule *rule)
{
    if (!applies(rule, 0)) return DCSR_I_REFRESH;
    return rule->unfit ? DCSR_I_BUILD_AS_FOUND_UNFIT : DCSR_I_BUILD_AS_FOUND_CHEAPER;
}

dcsr_i_refresh_advice dcsr_i_refresh_rows(dcsr_i_refresh_rule *rule, uint64_t changed, uint64_t rows)
{
    if (rule->built < 2 && changed > rows / 2) return DCSR_I_BUILD_AS_MOST_CHANGED;
    return applies(rule, changed) ? DCSR_I_BUILD_AS_FOUND_CHEAPER : DCSR_I_REFRESH;
}

/* It does not pay for so many rows: once more, or newly. */
static void find(dcsr_i_refresh_rule *rule, uint64_t least, bool unfit)
{
    const bool confirmed = rule->found && rule->unfit == unfit && least >= rule->least;
    if (!confirmed) {
        rule->least = least;
        rule->pause = 1;
    } else if (rule->pause < LONGEST_PAUSE) {
        rule->pause *= 2;
    }
    rule->found = true;
    rule->unfit = unfit;
    rule->left = rule->pause;
}

void dcsr_i_refresh_took(dcsr_i_refresh_rule *rule, uint64_t changed, double seconds)
{
    if (seconds > rule->building)
        find(rule, changed, false);
    else if (changed >= rule->least)
        rule->found = false;
}

void dcsr_i_refresh_did_not_fit(dcsr_i_refresh_rule *rule)
{
    find(rule, 0, true);
}
