/* What the translated kernels need of C, and nothing else of Python. */
#ifndef SYNOVIA_PRELUDE_H
#define SYNOVIA_PRELUDE_H

#include <math.h>
#ifndef __wasm__
#include <setjmp.h>
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
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
ARRAYS(u1, uint8_t)

/* Kernels without a loop become part of their callers, so that the loops there are vector code. */
#define INLINED static inline __attribute__((always_inline))

/* Python's max(a, b) is a unless b is greater: so NaN stays where it is first. */
#define ORDER(code, item) \
    static inline item max_##code(item a, item b) { return b > a ? b : a; } \
    static inline item min_##code(item a, item b) { return b < a ? b : a; } \
    static inline item power_2_##code(item a) { return a * a; } \
    static inline item power_3_##code(item a) { return a * a * a; } \
    static inline item power_4_##code(item a) { return (a * a) * (a * a); }
ORDER(f8, double)
ORDER(f4, float)
ORDER(i8, int64_t)

static inline double abs_f8(double a) { return fabs(a); }
static inline float abs_f4(float a) { return fabsf(a); }
static inline int64_t abs_i8(int64_t a) { return a < 0 ? -a : a; }

static inline int64_t floor_quotient_i8(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - ((a % b != 0) & ((a < 0) != (b < 0)));
}
static inline int64_t floor_remainder_i8(int64_t a, int64_t b) {
    int64_t r = a % b;
    return r + ((r != 0) & ((r < 0) != (b < 0)) ? b : 0);
}
static inline double floor_quotient_f8(double a, double b) { return floor(a / b); }
static inline double floor_remainder_f8(double a, double b) {
    double r = fmod(a, b);
    return (r != 0.0) & ((r < 0.0) != (b < 0.0)) ? r + b : r;
}

static inline int64_t bits_of(double a) {
    int64_t bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}

/* Arrays whose size is not known before live until the entry returns. */
typedef struct Chunk { struct Chunk *before; } Chunk;
#ifdef __wasm__ /* which has no way out of a function but its end, or a trap */
typedef struct { Chunk *last; } Arena;
#define EXHAUSTED(arena) __builtin_trap()
#else
typedef struct { Chunk *last; jmp_buf *exhausted; } Arena;
#define EXHAUSTED(arena) longjmp(*(arena)->exhausted, 1)
#endif

static inline void *allocate(Arena *arena, int64_t count, size_t size) {
    size_t bytes = (size_t)(count > 0 ? count : 0) * size;
    Chunk *chunk = malloc(64 + bytes);
    if (chunk == NULL) EXHAUSTED(arena);
    chunk->before = arena->last;
    arena->last = chunk;
    return (char *)chunk + 64;
}
static inline void release(Arena *arena) {
    while (arena->last != NULL) {
        Chunk *before = arena->last->before;
        free(arena->last);
        arena->last = before;
    }
}

/* An entry: how it is called, for each signature that it has. */
typedef union {
    double number;
    int64_t integer;
    struct { void *p; int64_t n[3]; } array;
} Slot;

typedef struct {
    const char *types;   /* of each slot: a letter of the buffer protocol, and its dimensions */
    const char *returns; /* a letter for each number that comes back */
    void (*run)(Arena *arena, const Slot *slots, Slot *results);
} Signature;

typedef struct {
    const char *name;
    const char *const *parameters; /* the name of each slot */
    const char *writes;            /* of each slot: 1 if it is written to */
    const int *members;            /* of each argument: how many slots a bundle has, 0 for no bundle */
    int arguments, slots, signatures;
    const Signature *signature;
} Entry;

#define SLOTS 48

#endif
