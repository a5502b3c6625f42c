/* rebuild.h: a setup in a thread beside, while updates and solves go on with the levels that there are (internal). */
#ifndef DCSR_AMG_REBUILD_H
#define DCSR_AMG_REBUILD_H

#include "amg/hierarchy.h"
#include <dcsr/desc.h>

/* update.c: follows rows of A, which is the version to follow to, in a hierarchy that was set up for another one;
 * *count gets how many of them differ. *why as in follow.h. */
dcsr_status dcsr_i_amg_follow_list(dcsr_i_amg_hierarchy *h, dcsr_view *A, const dcsr_index_list *rows,
                                   uint64_t *count, const char **why);

/* amg.c: levels for A in place of those that there are; `like` as in dcsr_i_amg_build(). */
dcsr_status dcsr_i_amg_replace(dcsr_amg *amg, dcsr_view *A, const dcsr_i_amg_hierarchy *like,
                               uint64_t *changed);

/* Starts a setup for amg->view, unless there is one. */
dcsr_status dcsr_i_amg_rebuild_start(dcsr_amg *amg);
/* Notes rows that are about to change, if there is one. */
dcsr_status dcsr_i_amg_rebuild_log(dcsr_amg *amg, const dcsr_index_list *rows);
/* Takes the new levels over if they are ready, and are so after they have followed what has changed since. With
 * `wait` it first waits until the thread has copied the view, which the caller may then destroy. */
void dcsr_i_amg_rebuild_take(dcsr_amg *amg, bool wait);
/* Waits for the thread, and drops what it made. */
void dcsr_i_amg_rebuild_drop(dcsr_amg *amg);

#endif
