/* refresh_rule.h: whether a plan brings its format up to date after a change, or builds it anew (internal).
 *
 * Both give the same format; so what each has taken may decide. A format is brought up to date, unless that has been
 * seen not to pay:
 *
 *      - it has taken longer for r rows than building did last: that speaks for building where r rows or more have
 *        changed;
 *      - the format had no room for the rows as they are now: that speaks for building at once.
 *
 * Such a finding is doubted after 1 refresh to which it applies, and where it is confirmed after 2, 4, ... 64 further
 * ones: so what is tried in vain costs little, and what was measured while the machine was busy does not last. Where
 * more than half of the rows have changed, and building has been timed only once, it is timed again: the first time a
 * device also brings the kernels to itself. */
#ifndef DCSR_REFRESH_RULE_H
#define DCSR_REFRESH_RULE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct dcsr_i_refresh_rule {
    double building; /* seconds that it took last */
    uint32_t built;  /* so often */
    bool found;      /* that refreshing `least` rows or more does not pay; `unfit`: as there was no room */
    bool unfit;
    uint64_t least;
    uint32_t pause, left; /* refreshes to which that is to apply, and of these still to come */
} dcsr_i_refresh_rule;

/* Another format has been built for the first time, or this one again, in so many seconds. */
void dcsr_i_refresh_begin(dcsr_i_refresh_rule *rule, double seconds);
void dcsr_i_refresh_built(dcsr_i_refresh_rule *rule, double seconds);

typedef enum dcsr_i_refresh_advice {
    DCSR_I_REFRESH,
    DCSR_I_BUILD_AS_MOST_CHANGED,
    DCSR_I_BUILD_AS_FOUND_CHEAPER,
    DCSR_I_BUILD_AS_FOUND_UNFIT
} dcsr_i_refresh_advice;

/* Whether it is not worth while to find out which rows have changed. Asked once for each refresh, before the next. */
dcsr_i_refresh_advice dcsr_i_refresh_at_all(dcsr_i_refresh_rule *rule);
/* What to do if `changed` rows of `rows` have. Asked once for each refresh. */
dcsr_i_refresh_advice dcsr_i_refresh_rows(dcsr_i_refresh_rule *rule, uint64_t changed, uint64_t rows);

/* How that went: it took so many seconds, finding out included; there was no room. */
void dcsr_i_refresh_took(dcsr_i_refresh_rule *rule, uint64_t changed, double seconds);
void dcsr_i_refresh_did_not_fit(dcsr_i_refresh_rule *rule);

#endif
