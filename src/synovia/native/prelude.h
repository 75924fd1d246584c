/* What the translated kernels need of C, and nothing else of Python. */
#ifndef SYNOVIA_PRELUDE_H
#define SYNOVIA_PRELUDE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ARRAYS(code, item) \
    typedef struct { item *p; int64_t n0; } code##_1; \
    typedef struct { item *p; int64_t n0, n1; } code##_2; \
    typedef struct { item *p; int64_t n0, n1, n2; } code##_3;
ARRAYS(f8, double)
ARRAYS(f4, float)
ARRAYS(i8, int64_t)
ARRAYS(i4, int32_t)
ARRAYS(b1, bool)

/* Kernels without a loop become part of their callers, so that the loops there are vector code. */
#ifdef _MSC_VER
#define INLINED static __forceinline
#else
#define INLINED static inline __attribute__((always_inline, unused))
#endif

/* Python's max(a, b) is a unless b is greater: so NaN stays where it is first. */
#define ORDER(code, item) \
    static inline item max_##code(item a, item b) { return b > a ? b : a; } \
    static inline item min_##code(item a, item b) { return b < a ? b : a; } \
    static inline item power_2_##code(item a) { return a * a; } \
    static inline item power_3_##code(item a) { return a * a * a; }
ORDER(f8, double)
ORDER(i8, int64_t)

static inline double abs_f8(double a) { return fabs(a); }
static inline int64_t abs_i8(int64_t a) { return a < 0 ? -a : a; }

static inline int64_t floor_quotient(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - ((a % b != 0) & ((a < 0) != (b < 0)));
}
static inline int64_t floor_remainder(int64_t a, int64_t b) {
    int64_t r = a % b;
    return r + ((r != 0) & ((r < 0) != (b < 0)) ? b : 0);
}

#endif
