/* All kernels, translated: compiled once for every processor, and once for those with AVX2. */

#include "entry.h"

#define JOIN(a, b) a##b
#define NAMED(a, b) JOIN(a, b)
#define ENTRIES NAMED(kernel_entries_, BUILD)

#include "kernels.h"
