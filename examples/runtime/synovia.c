/* The implementation of synovia.h, in a program of several files. */
#define SYNOVIA_IMPLEMENTATION
#include "synovia.h"
