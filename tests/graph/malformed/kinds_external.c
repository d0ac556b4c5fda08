/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights in other files. A folder is made with the model's own folder in it, and beside that what
 * no model may read.
 */
#include "malformed.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

static char outer[64];

static char *path_of(const char *name)
{
    static char path[2][512];
    static int which;
    which = 1 - which;
    (void)snprintf(path[which], sizeof(path[which]), "%s/%s", outer, name);
    return path[which];
}

static void write_file(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void make_folders(void)
{
    static const char secret[64] = "SECRETSECRETSECRETSECRET";
    (void)snprintf(outer, sizeof(outer), "/tmp/vt_malformed_XXXXXX");
    assert_non_null(mkdtemp(outer));
    assert_int_equal(mkdir(path_of("in"), 0700), 0);
    assert_int_equal(mkdir(path_of("in/sub"), 0700), 0);
    assert_int_equal(mkdir(path_of("in2"), 0700), 0);
    write_file("secret", secret, sizeof(secret));
    write_file("in2/secret", secret, sizeof(secret));
    write_file("in/data", secret, 32);
    write_file("in/empty", "", 0);
    write_file("in/short", secret, 8);
    write_file("in/closed", secret, 32);
    assert_int_equal(chmod(path_of("in/closed"), 0), 0);
    assert_int_equal(mkfifo(path_of("in/pipe"), 0600), 0);
    assert_int_equal(symlink("../secret", path_of("in/link")), 0);
    assert_int_equal(symlink("link", path_of("in/second")), 0);
    assert_int_equal(symlink("..", path_of("in/up")), 0);
    assert_int_equal(symlink("../in2", path_of("in/beside")), 0);
    assert_int_equal(symlink("round", path_of("in/round")), 0);
    assert_int_equal(symlink("nothing", path_of("in/dangling")), 0);
    assert_int_equal(symlink("/dev/zero", path_of("in/zero")), 0);
    assert_int_equal(symlink("/proc/self/mem", path_of("in/self")), 0);
}

static void remove_folders(void)
{
    static const char *const names[] = {
        "in/m.onnx", "in/data",    "in/empty",  "in/short", "in/closed",   "in/pipe", "in/link",
        "in/second", "in/up",      "in/beside", "in/round", "in/dangling", "in/zero", "in/self",
        "in/sub",    "in2/secret", "in2",       "in",       "secret"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)remove(path_of(names[i]));
    }
    assert_int_equal(remove(outer), 0);
}

static struct pb external_tensor(const char *location, const char *offset, const char *length)
{
    const char *const pairs[][2] = {{"location", location}, {"offset", offset}, {"length", length}};
    struct pb tensor = ox_tensor("w", VT_F32, 1, (int64_t[]){4});
    for (int i = 0; i < 3; i++) {
        struct pb entry = {NULL, 0, 0};
        if (pairs[i][1] != NULL) {
            pb_text(&entry, 1, pairs[i][0]);
            pb_text(&entry, 2, pairs[i][1]);
            pb_message(&tensor, 13, &entry);
        }
    }
    pb_varint(&tensor, 14, 1);
    return tensor;
}

static struct pb model_of(struct pb tensor)
{
    struct pb graph = {NULL, 0, 0}, node = ox_node("Relu", "w", "y");
    struct pb y = ox_value("y", VT_F32, -1, NULL);
    pb_message(&graph, OX_INITIALIZER, &tensor);
    pb_message(&graph, OX_NODE, &node);
    pb_message(&graph, OX_OUTPUT, &y);
    return ox_model(17, &graph);
}

static void refused_file(const char *kind, struct pb bytes, const char *what)
{
    write_file("in/m.onnx", bytes.bytes, bytes.size);
    pb_free(&bytes);
    const struct vt_graph_source source = {.name = "m", .path = path_of("in/m.onnx")};
    refused_source(kind, &source, what, "m.onnx");
}

struct external_case {
    const char *kind, *location, *offset, *length, *what;
};

static void locations(void)
{
    static const struct external_case cases[] = {
        {"external: up and out", "../secret", NULL, NULL, "model's folder"},
        {"external: down, up and out", "sub/../../secret", NULL, NULL, "model's folder"},
        {"external: up and back in", "../in/data", NULL, NULL, "model's folder"},
        {"external: a path from the root", "/etc/passwd", NULL, NULL, "model's folder"},
        {"external: slashes", "///etc/passwd", NULL, NULL, "model's folder"},
        {"external: up at the end", "sub/..", NULL, NULL, "model's folder"},
        {"external: nothing but up", "..", NULL, NULL, "model's folder"},
        {"external: the folder itself", ".", NULL, NULL, "no file"},
        {"external: an empty location", "", NULL, NULL, "model's folder"},
        {"external: a folder", "sub", NULL, NULL, "no file"},
        {"external: a folder with a slash", "sub/", NULL, NULL, "no file"},
        {"external: a file as a folder", "data/more", NULL, NULL, "no such file"},
        {"external: nothing there", "nothing", NULL, NULL, "no such file"},
        {"external: a link out", "link", NULL, NULL, "inside the model's folder"},
        {"external: a link to a link out", "second", NULL, NULL, "inside the model's folder"},
        {"external: a linked folder above", "up/secret", NULL, NULL, "inside the model's folder"},
        {"external: a linked folder beside", "beside/secret", NULL, NULL, "model's folder"},
        {"external: a link to itself", "round", NULL, NULL, "round"},
        {"external: a link to nothing", "dangling", NULL, NULL, "no such file"},
        {"external: a pipe", "pipe", NULL, NULL, "no file"},
        {"external: a device", "zero", NULL, NULL, "no file"},
        {"external: the process's memory", "self", NULL, NULL, "no file"},
        {"external: backslashes", "..\\secret", NULL, NULL, "no such file"},
        {"external: an address", "https://example.com/w.bin", NULL, NULL, "no such file"},
        {"external: a line break", "da\nta", NULL, NULL, "no such file"},
        {"external: escapes of a terminal", "\x1b[2Jdata", NULL, NULL, "no such file"},
        {"external: not UTF-8", "\xff\xfe\x80", NULL, NULL, "no such file"},
        {"external: no location", NULL, "0", "16", "without a location"},
        {"external: an empty file", "empty", NULL, NULL, "which has 0"},
        {"external: a short file", "short", NULL, NULL, "which has 8"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct external_case *c = &cases[i];
        refused_file(c->kind, model_of(external_tensor(c->location, c->offset, c->length)),
                     c->what);
    }
    char *name = malloc(1 << 20);
    assert_non_null(name);
    memset(name, 'n', (1 << 20) - 1);
    name[(1 << 20) - 1] = '\0';
    refused_file("external: a location of a megabyte", model_of(external_tensor(name, NULL, NULL)),
                 "nnn");
    free(name);
    if (geteuid() != 0) {
        refused_file("external: a file that may not be read",
                     model_of(external_tensor("closed", NULL, NULL)), "closed");
    }
}

static void places(void)
{
    static const struct external_case cases[] = {
        {"external: an offset behind the end", "data", "33", NULL, "which has 32"},
        {"external: an offset near the end", "data", "20", NULL, "which has 32"},
        {"external: an offset of 2^63", "data", "9223372036854775808", NULL, "which has 32"},
        {"external: an offset of 2^64-1", "data", "18446744073709551615", NULL, "which has 32"},
        {"external: offset and length wrap", "data", "18446744073709551600", "16", "which has 32"},
        {"external: an offset of 2^64", "data", "18446744073709551616", NULL, "whole numbers"},
        {"external: an offset of 40 digits", "data", "1000000000000000000000000000000000000000",
         NULL, "whole numbers"},
        {"external: a negative offset", "data", "-4", NULL, "whole numbers"},
        {"external: an offset with a sign", "data", "+4", NULL, "whole numbers"},
        {"external: an offset in hexadecimal", "data", "0x4", NULL, "whole numbers"},
        {"external: an offset with a blank", "data", " 4", NULL, "whole numbers"},
        {"external: an offset with a point", "data", "4.0", NULL, "whole numbers"},
        {"external: an empty offset", "data", "", NULL, "whole numbers"},
        {"external: a length beyond the file", "data", "0", "64", "16 bytes"},
        {"external: a length below the shape", "data", "0", "8", "16 bytes"},
        {"external: a length of 0", "data", "0", "0", "16 bytes"},
        {"external: a negative length", "data", "0", "-16", "whole numbers"},
        {"external: a length of 2^64", "data", "0", "18446744073709551616", "whole numbers"},
        {"external: a length in words", "data", "0", "sixteen", "whole numbers"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct external_case *c = &cases[i];
        refused_file(c->kind, model_of(external_tensor(c->location, c->offset, c->length)),
                     c->what);
    }
    struct pb tensor = ox_tensor("w", VT_F32, 1, (int64_t[]){4});
    pb_varint(&tensor, 14, 1);
    refused_file("external: no description", model_of(tensor), "without a location");
    tensor = external_tensor("data", NULL, NULL);
    pb_bytes(&tensor, 13, "\x0a\x7f", 2);
    refused_file("external: a description that is cut off", model_of(tensor), "byte");
    tensor = external_tensor("data", NULL, NULL);
    pb_varint(&tensor, 13, 1);
    refused_file("external: a number for a description", model_of(tensor), "byte");
    tensor = ox_tensor("w", VT_F32, 1, (int64_t[]){(int64_t)1 << 40});
    struct pb entry = {NULL, 0, 0};
    pb_text(&entry, 1, "location");
    pb_text(&entry, 2, "data");
    pb_message(&tensor, 13, &entry);
    pb_varint(&tensor, 14, 1);
    refused_file("external: 4 TiB of a file of 32 bytes", model_of(tensor), "which has 32");
    refused("external: of a model in memory", model_of(external_tensor("data", NULL, NULL)),
            "in memory", "\"w\"");
}

static void model_files(void)
{
    static const char *const names[][3] = {{"a pipe as the model", "in/pipe", "pipe"},
                                           {"a folder as the model", "in/sub", "sub"},
                                           {"a device as the model", "in/zero", "zero"},
                                           {"no such model", "in/nothing", "nothing"},
                                           {"a model that links to itself", "in/round", "round"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct vt_graph_source source = {.name = "m", .path = path_of(names[i][1])};
        refused_source(names[i][0], &source, "", names[i][2]);
    }
}

void kinds_of_external(void)
{
    make_folders();
    locations();
    places();
    model_files();
    remove_folders();
}
