/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives a fuzz target every file of the folders that are named, and some damaged versions of
 * each: cut short, and with single bytes changed. Works with any compiler.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Damaged versions of one file at most, of each kind. */
#define DAMAGED_MAX 64

/* The target gets a copy of exactly `size` bytes, so that a sanitizer sees a read behind it. */
static void give(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) {
        (void)fprintf(stderr, "out of memory\n");
        exit(1);
    }
    if (size > 0) {
        memcpy(copy, bytes, size);
    }
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void give_damaged(uint8_t *bytes, size_t size)
{
    const size_t step = size / DAMAGED_MAX + 1;
    for (size_t i = 0; i < size; i += step) {
        give(bytes, i);
        const uint8_t before = bytes[i];
        bytes[i] ^= (uint8_t)(1U << (i % 8));
        give(bytes, size);
        bytes[i] = 0xff;
        give(bytes, size);
        bytes[i] = before;
    }
}

/* Whether the file could be read. */
static int replay_file(const char *path)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode)) {
        (void)fprintf(stderr, "%s: cannot be read\n", path);
        if (file != NULL) {
            (void)fclose(file);
        }
        return 0;
    }
    const size_t size = (size_t)info.st_size;
    uint8_t *bytes = malloc(size + 1);
    const int whole = bytes != NULL && fread(bytes, 1, size, file) == size;
    if (whole) {
        give(bytes, size);
        give_damaged(bytes, size);
    }
    free(bytes);
    (void)fclose(file);
    return whole;
}

/* The number of files replayed, -1 on an error. */
static int replay_folder(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    if (dir == NULL) {
        (void)fprintf(stderr, "%s: no such folder\n", folder);
        return -1;
    }
    for (struct dirent *entry = readdir(dir); entry != NULL && n >= 0; entry = readdir(dir)) {
        char path[4096];
        if (entry->d_name[0] == '.') {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        n = replay_file(path) ? n + 1 : -1;
    }
    (void)closedir(dir);
    return n;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const int n = replay_folder(argv[i]);
        if (n <= 0) {
            (void)fprintf(stderr, "%s: nothing was replayed\n", argv[i]);
            return 1;
        }
        (void)printf("%s: %d files replayed\n", argv[i], n);
    }
    return argc > 1 ? 0 : 1;
}
