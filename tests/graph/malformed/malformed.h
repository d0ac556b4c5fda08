/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Malformed models: a harness that opens one on the native engine, as far as a run would go up to
 * its first query, and says what is wrong with how it was refused.
 *
 * A complaint is printed and counted; the test goes on, so that one run tells all of them. What a
 * model takes in memory is bounded: an allocation that is larger than ALLOCATION_LIMIT is a
 * complaint. A model that takes longer than TIME_LIMIT_S ends the program.
 */
#ifndef VT_TEST_MALFORMED_H
#define VT_TEST_MALFORMED_H

#include "../onnx_writer.h"
#include "vatio/engine.h"

#define ALLOCATION_LIMIT ((size_t)64 << 20)
#define LIVE_LIMIT       ((size_t)256 << 20)
#define RUN_LIMIT        ((size_t)128 << 10) /* of inputs: a mutation that asks for more work is sound */
#define TIME_LIMIT_S     60u

struct tally {
    unsigned kinds;      /* of hand-made models */
    unsigned models;     /* of them in all, a file that is cut in 90 places being 90 */
    unsigned mutations;  /* of good models */
    unsigned opened;     /* mutations that are sound still */
    unsigned ran;        /* of those, run */
    unsigned complaints; /* of all these */
};
extern struct tally tally;

/* A model in memory. */
struct vt_graph_source source_of(const struct pb *bytes);

/*
 * The model (freed) is refused with a line that holds the words: what is wrong, and where. The
 * kind is counted when `kind` differs from that of the call before.
 */
void refused(const char *kind, struct pb bytes, const char *what, const char *where);
void refused_source(const char *kind, const struct vt_graph_source *source, const char *what,
                    const char *where);
/* The model opens or is refused with a line; where it opens it is run, with zeroes and with wild
 * numbers. */
void opens_or_is_refused(const char *kind, const struct pb *bytes);

/* The kinds, by what is wrong with them. */
void kinds_of_wire(void);     /* the protobuf, and the outermost message */
void kinds_of_tensors(void);  /* weights */
void kinds_of_external(void); /* weights in other files */
void kinds_of_graphs(void);   /* names, order, control flow */
void kinds_of_calls(void);    /* what unfolds, functions, sequences */
void kinds_of_operators(void);

/*
 * Mutations of the models in a folder: `each` of every file, of about `files` files. The
 * environment variable VT_TEST_ROUNDS multiplies them, for a longer search.
 */
void mutate_folder(const char *folder, unsigned each, unsigned files);

#endif
