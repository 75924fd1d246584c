/* Animate a character beyond its limits, and project every frame: game_loop walk.limits.bin

   A game keeps the bytes of the file for as long as it uses the limits, and calls
   synovia_project_pose once a frame, between animation and skinning. */
#include "synovia.h" /* the implementation is in another file of the program */

#include <math.h>
#include <stdio.h>

enum { JOINTS = 256, FRAMES = 120 };
static double bytes[1 << 20], pose[4 * JOINTS], distances[JOINTS];

static void animate(int joints, double time) {
    for (int j = 0; j < joints; j++) { /* each joint swings about a different axis */
        double angle = 1.5 * sin(2.0 * time + j), axis = 0.7 * j;
        pose[4 * j] = cos(0.5 * angle);
        pose[4 * j + 1] = sin(0.5 * angle) * cos(axis);
        pose[4 * j + 2] = sin(0.5 * angle) * sin(axis);
        pose[4 * j + 3] = 0.0;
    }
}

int main(int argc, char **argv) {
    SynoviaLimits limits;
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL) return fprintf(stderr, "usage: game_loop FILE.limits.bin\n"), 2;
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    int error = synovia_load(&limits, bytes, size);
    if (error) return fprintf(stderr, "%s: %s\n", argv[1], synovia_error_text(error)), 2;
    int joints = synovia_joint_count(&limits), corrected = 0, left = 0;
    if (joints > JOINTS) return fprintf(stderr, "too many joints\n"), 2;
    for (int frame = 0; frame < FRAMES; frame++) {
        animate(joints, frame / 60.0);
        corrected += synovia_project_pose(&limits, pose, distances);
        left += synovia_project_pose(&limits, pose, distances); /* expected: none */
    }
    printf("%d frames, %d corrections, %d left outside\n", FRAMES, corrected, left);
    return left > 0;
}
