/* The kernels for browsers and Node: entries are called by number, with their slots in memory. */

#include "entry.h"

extern const Entry kernel_entries_baseline[];

#define EXPORTED(name) __attribute__((export_name(name)))
#define COUNT_ONE(number, name) +1
enum { COUNT = 0 KERNELS(COUNT_ONE) };

EXPORTED("allocate") void *synovia_allocate(int32_t bytes) { return malloc((size_t)bytes); }
EXPORTED("free") void synovia_free(void *memory) { free(memory); }
EXPORTED("count") int32_t synovia_count(void) { return COUNT; }

/* The name of an entry, and of a signature of it the types of slots, as text that ends in 0. */
EXPORTED("name") const char *synovia_name(int32_t entry) {
    return entry >= 0 && entry < COUNT ? kernel_entries_baseline[entry].name : NULL;
}
EXPORTED("types") const char *synovia_types(int32_t entry, int32_t signature) {
    if (entry < 0 || entry >= COUNT) return NULL;
    const Entry *found = &kernel_entries_baseline[entry];
    return signature >= 0 && signature < found->signatures ? found->signature[signature].types : NULL;
}

/* Run an entry. A slot has 32 bytes: a number, or an address and three sizes, 8 bytes each. */
EXPORTED("run") void synovia_run(int32_t entry, int32_t signature, const Slot *slots, Slot *results) {
    _Static_assert(sizeof(Slot) == 32, "slots have 32 bytes");
    if (synovia_types(entry, signature) == NULL) __builtin_trap();
    Arena arena = {NULL};
    kernel_entries_baseline[entry].signature[signature].run(&arena, slots, results);
    release(&arena);
}
