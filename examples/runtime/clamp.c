/* Bring one rotation of one joint into its limit: clamp walk.limits.bin LeftArm w x y z

   cc -std=c99 -O2 clamp.c -lm -o clamp, with synovia.h from `synovia runtime -o .` beside it. */
#define SYNOVIA_IMPLEMENTATION
#include "synovia.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    static double bytes[1 << 20]; /* aligned as doubles; must outlive the limits */
    SynoviaLimits limits;
    FILE *file = argc == 7 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL) return fprintf(stderr, "usage: clamp FILE.limits.bin JOINT w x y z\n"), 2;
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    int error = synovia_load(&limits, bytes, size);
    if (error) return fprintf(stderr, "%s: %s\n", argv[1], synovia_error_text(error)), 2;
    int limit = synovia_find(&limits, argv[2]);
    if (limit < 0) return fprintf(stderr, "no limit for %s\n", argv[2]), 2;
    double rotation[4], legal[4];
    for (int k = 0; k < 4; k++) rotation[k] = atof(argv[3 + k]);
    double distance = synovia_project(&limits, limit, rotation, legal);
    printf("%.17g %.17g %.17g %.17g\n", legal[0], legal[1], legal[2], legal[3]);
    return distance <= 1e-9 ? 0 : 1; /* 1: it was outside */
}
