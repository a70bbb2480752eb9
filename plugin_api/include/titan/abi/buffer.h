/* SPDX-License-Identifier: BSD-3-Clause */
/* Flags of a model's buffers: what lives on, how values combine, over whom. */
#ifndef TITAN_ABI_BUFFER_H_
#define TITAN_ABI_BUFFER_H_

/* Neither of the first two: a constant, which nothing may accumulate into. A
 * value is fixed while a step runs; what `accumulate` adds is combined over the
 * step's microbatches and reduced over data ranks at the step boundary, once
 * under recompute too. A step that is not taken adds nothing. */
#define TITAN_BUFFER_PERSISTENT 1u /* in checkpoints; the step adds to it */
/* What the last step gave: replaced at each step boundary. In checkpoints,
 * since the next step may read it. */
#define TITAN_BUFFER_STATISTIC 2u
/* How values combine, over microbatches and ranks; a sum without. The maximum
 * of nothing is the least number. */
#define TITAN_BUFFER_MAX 4u
/* The last value holds, and replaces; every rank must give the same. */
#define TITAN_BUFFER_LAST 8u
/* Reduced over tensor-parallel ranks too: each counts its part (heads). */
#define TITAN_BUFFER_OVER_TENSOR 16u
/* Of a statistic: not in checkpoints. It is read in after_step (model.h) or for
 * display; forward must not, or a resumed run would differ. */
#define TITAN_BUFFER_UNSAVED 32u

#endif /* TITAN_ABI_BUFFER_H_ */
