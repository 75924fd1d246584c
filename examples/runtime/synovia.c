/* Where the functions of synovia.h are, in a program of several files. */
#define SYNOVIA_IMPLEMENTATION
#include "synovia.h"
