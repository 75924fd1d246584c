/* answers LIMITS ROTATIONS OUT: of each limit, for all rotations, what was projected, the distances,
   and how far the turn from the rotation before is legal; then each rotation as a whole pose. Last,
   of eight rotations softened by each limit, of eight poses that look at a point or reach for it.
   answers LIMITS COUNT: so many mutated files are loaded and used.
   answers LIMITS sweep CHANGES: files with one number changed are loaded and used, by positions and
   values. */
#define SYNOVIA_IMPLEMENTATION
#include "synovia.h"

#include <stdio.h>
#include <stdlib.h>

static double *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    double *bytes = malloc(*size);
    if (fread(bytes, 1, *size, file) != *size) exit(3);
    fclose(file);
    return bytes;
}

static uint64_t state = 88172645463325252u;
static uint64_t random_bits(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}
static double random_number(void) { return (double)(random_bits() >> 11) / 9007199254740992.0; }

static double odd_number(void) {
    static const double odd[] = {0, -1, 1, 2, 0.5, 1e9, -1e9, 1e300, NAN, INFINITY, -INFINITY, 3, 7};
    return odd[random_bits() % (sizeof odd / sizeof *odd)];
}

static void change(double *numbers, const double *original, int64_t count) {
    /* Mostly where counts and places are: the header, and the beginnings of limits. */
    int64_t at = 1 + (int64_t)(random_number() * (double)(count - 1));
    if (random_bits() % 4 == 0) at = 1 + (int64_t)(random_bits() % 60);
    if (random_bits() % 2 == 0) {
        int64_t row = (int64_t)original[10] + 6 * (int64_t)(random_number() * original[5]);
        at = (int64_t)original[row + 2] + (int64_t)(random_bits() % 90);
    }
    if (original[11] > 0.0 && random_bits() % 3 == 0) { /* rows of pairs, and what they point to */
        int64_t row = (int64_t)original[12] + 5 * (int64_t)(random_number() * original[11]);
        at = row + (int64_t)(random_bits() % 5);
        if (random_bits() % 2) at = (int64_t)original[row + 3] + (int64_t)(random_bits() % 30);
    }
    at %= count; /* of a file that was cut */
    switch (random_bits() % 5) {
    case 0: numbers[at] = odd_number(); break;
    case 1: numbers[at] += (double)(random_bits() % 3) - 1.0; break;
    case 2: numbers[at] = floor(random_number() * (double)count); break;
    case 3: numbers[at] = numbers[(int64_t)(random_number() * (double)count)]; break;
    default: memcpy(&numbers[at], &(uint64_t){random_bits()}, 8);
    }
}

/* Load files in which numbers were changed, with a checksum that is right, and use those that load.
   Only how many did is printed; sanitizers watch. */
static int mutate(const char *path, int rounds) {
    size_t size;
    double *original = read_file(path, &size);
    int loaded = 0;
    for (int k = 0; k < rounds; k++) {
        size_t length = random_bits() % 20 == 0 ? 8 * (random_bits() % (size / 8 + 1)) : size;
        double *bytes = malloc(length > 0 ? length : 1); /* of this size, so that more is seen */
        memcpy(bytes, original, length);
        f8_1 whole = {bytes, (int64_t)(length / 8)};
        if (length >= 8 * 13) {
            for (uint64_t n = random_bits() % 3 + 1; n > 0; n--) change(bytes, original, whole.n0);
            memcpy(&bytes[0], &original[0], 8);
            if (random_bits() % 8) bytes[1] = original[1], bytes[2] = (double)whole.n0;
            bytes[3] = runtime_file_checksum(whole);
        }
        SynoviaLimits limits;
        if (synovia_load(&limits, bytes, length) == SYNOVIA_OK) {
            loaded++;
            int count = synovia_limit_count(&limits), joints = synovia_joint_count(&limits);
            double *pose = malloc(32 * (size_t)joints + 8), *away = malloc(8 * (size_t)count + 8);
            for (int j = 0; j < 4 * joints; j++) pose[j] = 2.0 * random_number() - 1.0;
            for (int limit = 0; limit < count; limit++) {
                double q[8] = {1, 0, 0, 0, 0.5, 0.5, -0.5, 0.5}, out[8], distance[2];
                for (int j = 0; j < 8 && k % 2; j++) q[j] = 2.0 * random_number() - 1.0;
                if (k % 7 == 0) q[random_bits() % 8] = k % 3 ? INFINITY : NAN;
                for (int turn = 0; turn < 2 && k % 2; turn++) {
                    double *a = q + 4 * turn, length = 0.0;
                    for (int j = 0; j < 4; j++) length += a[j] * a[j];
                    for (int j = 0; j < 4; j++) a[j] /= sqrt(length);
                }
                synovia_project_many(&limits, limit, q, out, distance, 2);
                synovia_distance(&limits, limit, q);
                synovia_first_exit(&limits, limit, q, q + 4);
                int name;
                if (synovia_joint_name(&limits, synovia_limit_joint(&limits, limit), &name)[name ? name - 1 : 0] == 1)
                    return 5;
            }
            synovia_project_pose(&limits, pose, away);
            double point[9], soft[4];
            for (int j = 0; j < 9; j++) point[j] = k % 5 ? random_number() : odd_number();
            for (int j = 0; j < 4 * joints && k % 3; j++) pose[j] = 2.0 * random_number() - 1.0;
            if (count) synovia_soften(&limits, k % count, pose, point[0], point[1], soft);
            if (k % 7 < 2) /* under sanitizers these two take most of the time */
                synovia_look_at(&limits, pose, k % 2, joints - 1, point, point + 3, point + 6, away);
            if (k % 7 > 4)
                synovia_two_bone(&limits, pose, joints - 1 - k % 3, point, point + 3, point + 6, away);
            free(pose), free(away);
        }
        free(bytes);
    }
    free(original);
    printf("%d\n", loaded);
    return 0;
}

enum { ROTATIONS = 32 };

/* Load a file that may be damaged, and use it if it loads; return whether it does. */
static int use(const double *numbers, int64_t count) {
    static double rotations[4 * ROTATIONS], out[4 * ROTATIONS], distances[ROTATIONS];
    if (rotations[0] == 0.0)
        for (int k = 0; k < ROTATIONS; k++) {
            double *q = rotations + 4 * k, square = 0.0;
            for (int j = 0; j < 4; j++) q[j] = 2.0 * random_number() - 1.0, square += q[j] * q[j];
            for (int j = 0; j < 4; j++) q[j] /= sqrt(square);
        }
    SynoviaLimits limits;
    if (synovia_load(&limits, numbers, 8 * (size_t)count) != SYNOVIA_OK) return 0;
    int limited = synovia_limit_count(&limits), joints = synovia_joint_count(&limits);
    for (int limit = 0; limit < limited; limit++) {
        synovia_project_many(&limits, limit, rotations, out, distances, ROTATIONS);
        synovia_distance_many(&limits, limit, rotations, distances, ROTATIONS);
    }
    double *pose = malloc(32 * (size_t)joints + 8), *away = malloc(8 * (size_t)limited + 8);
    for (int j = 0; j < 4 * joints; j++) pose[j] = rotations[j % (4 * ROTATIONS)];
    synovia_project_pose(&limits, pose, away);
    free(pose), free(away);
    return 1;
}

/* Set one number at a time, by a file of positions and values, with a checksum that is right, and
   use what loads. Prints how many files were made, and how many loaded. */
static int sweep(const char *path, const char *changes_path) {
    size_t size, length;
    double *original = read_file(path, &size), *changes = read_file(changes_path, &length);
    int made = 0, loaded = 0;
    for (double *change = changes; change < changes + length / 8; change += 2) {
        double *numbers = malloc(size); /* of this size, so that sanitizers see what is beyond */
        memcpy(numbers, original, size);
        f8_1 whole = {numbers, (int64_t)(size / 8)};
        numbers[(int64_t)change[0]] = change[1];
        if (change[0] != 3.0) numbers[3] = runtime_file_checksum(whole);
        loaded += use(numbers, whole.n0), made++;
        free(numbers);
    }
    free(original), free(changes);
    printf("%d %d\n", made, loaded);
    return 0;
}

int main(int argc, char **argv) {
    size_t size, length;
    if (argc == 4 && strcmp(argv[2], "sweep") == 0) return sweep(argv[1], argv[3]);
    if (argc == 3) return mutate(argv[1], atoi(argv[2]));
    if (argc != 4) return 2;
    double *bytes = read_file(argv[1], &size), *rotations = read_file(argv[2], &length);
    SynoviaLimits limits;
    int error = synovia_load(&limits, bytes, size);
    if (error) return fprintf(stderr, "%s\n", synovia_error_text(error)), 2;
    size_t count = length / 32;
    double *out = malloc(length), *distances = malloc(length / 4), *exits = malloc(length / 4);
    FILE *file = fopen(argv[3], "wb");
    for (int limit = 0; limit < synovia_limit_count(&limits); limit++) {
        synovia_project_many(&limits, limit, rotations, out, distances, count);
        for (size_t k = 0; k < count; k++) {
            double one[4], away = synovia_project(&limits, limit, rotations + 4 * k, one);
            if (fabs(away - distances[k]) > 1e-12) return 4;
            exits[k] = synovia_first_exit(&limits, limit, out + 4 * (k > 0 ? k - 1 : 0),
                                          rotations + 4 * k);
        }
        double *away = malloc(length / 4);
        synovia_distance_many(&limits, limit, rotations, away, count);
        for (size_t k = 0; k < count; k++) {
            if ((away[k] <= 1e-9) != (distances[k] <= 1e-9)) return 5;
            if (away[k] > 1e-9 && fabs(away[k] - distances[k]) > 1e-12) return 6;
            distances[k] = away[k];
        }
        free(away);
        fwrite(out, 1, length, file);
        fwrite(distances, 1, length / 4, file);
        fwrite(exits, 1, length / 4, file);
    }
    int joints = synovia_joint_count(&limits);
    double *pose = malloc(32 * (size_t)joints), *away = malloc(8 * (size_t)joints);
    for (size_t k = 0; k < 8; k++) {
        for (int j = 0; j < 4 * joints; j++) pose[j] = rotations[(4 * joints * k + j) % (4 * count)];
        synovia_project_pose(&limits, pose, away);
        fwrite(pose, 32, (size_t)joints, file);
    }
    for (int limit = 0; limit < synovia_limit_count(&limits); limit++) {
        for (size_t k = 0; k < 8; k++)
            synovia_soften(&limits, limit, rotations + 4 * k, 0.2, 0.7, out + 4 * k);
        fwrite(out, 32, 8, file);
    }
    static const double axis[3] = {0, 0, 1}, point[3] = {0.1, 0, 0}, pole[3] = {0, 1, 0};
    for (size_t k = 0; k < 8; k++) {
        double target[3] = {1.0, 0.25 * (double)k, 0.5};
        for (int j = 0; j < 4 * joints; j++) pose[j] = j % 4 == 0;
        double left = synovia_look_at(&limits, pose, 1, joints - 1, axis, NULL, target, away);
        fwrite(&left, 8, 1, file);
        fwrite(pose, 32, (size_t)joints, file);
        int end = 2 + (int)k % 3; /* to near where it is at rest */
        double near[3] = {0.03, 0.02, -0.01 * (double)k}, offset[3];
        for (int j = end; j >= 0; j = synovia_joint_parent(&limits, j)) {
            synovia_joint_offset(&limits, j, offset);
            for (int i = 0; i < 3; i++) near[i] += offset[i];
        }
        for (int j = 0; j < 4 * joints; j++) pose[j] = j % 4 == 0;
        left = synovia_two_bone(&limits, pose, end, point, near, k % 2 ? pole : NULL, away);
        fwrite(&left, 8, 1, file);
        fwrite(pose, 32, (size_t)joints, file);
    }
    if (synovia_look_at(&limits, pose, 3, 2, axis, NULL, point, away) != -1.0) return 7;
    if (synovia_two_bone(&limits, pose, joints, NULL, point, NULL, away) != -1.0) return 8;
    fclose(file);
    free(pose), free(away), free(out), free(distances), free(exits), free(bytes), free(rotations);
    return 0;
}
