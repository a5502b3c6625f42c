/* dcsr.h: the store in one include: contexts, matrices, views, conversions, files, generators. */
#ifndef DCSR_DCSR_H
#define DCSR_DCSR_H

#include <dcsr/status.h>
#include <dcsr/context.h>
#include <dcsr/matrix.h>
#include <dcsr/names.h>
#include <dcsr/vector.h>
#include <dcsr/view.h>
#include <dcsr/diff.h>
#include <dcsr/coo.h>
#include <dcsr/convert.h>
#include <dcsr/reader.h>
#include <dcsr/generate.h>

#endif
