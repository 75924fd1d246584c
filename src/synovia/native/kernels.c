/* Kernels, translated: compiled for every processor, for those with AVX2, and the hottest of them
   for those with AVX-512. */

#include "entry.h"

#define JOIN(a, b) a##b
#define NAMED(a, b) JOIN(a, b)
#define ENTRIES NAMED(kernel_entries_, BUILD)

#include "kernels.h"
