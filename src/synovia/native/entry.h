/* Entries, as Python calls them, and the memory that kernels ask for. */
#ifndef SYNOVIA_ENTRY_H
#define SYNOVIA_ENTRY_H

#include "prelude.h"
#include <setjmp.h>
#include <stdlib.h>

/* Arrays whose size is not known before live until the entry returns. */
typedef struct Chunk { struct Chunk *before; } Chunk;
typedef struct { Chunk *last; jmp_buf *exhausted; } Arena;

static inline void *allocate(Arena *arena, int64_t count, size_t size) {
    size_t bytes = (size_t)(count > 0 ? count : 0) * size;
    Chunk *chunk = malloc(64 + bytes);
    if (chunk == NULL) longjmp(*arena->exhausted, 1);
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

/* Names that end with the name of the build: a function is compiled for several processors. */
#define JOIN(a, b) a##b
#define NAMED(a, b) JOIN(a, b)

#endif
