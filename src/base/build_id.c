/* SPDX-License-Identifier: Apache-2.0 */
/* The note that the linker left in the program or library that this code is part of. */
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/version.h"

#define ID_BYTES_MAX 32

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char id[2 * ID_BYTES_MAX + 1];

static size_t padded(size_t size)
{
    return (size + 3) / 4 * 4;
}

/* Notes are padded to four bytes each: head, name, description. */
static void read_notes(const uint8_t *at, size_t size)
{
    ElfW(Nhdr) note;
    while (size >= sizeof(note)) {
        memcpy(&note, at, sizeof(note));
        const size_t name = padded(note.n_namesz), description = padded(note.n_descsz);
        if (name > size - sizeof(note) || description > size - sizeof(note) - name) {
            return;
        }
        const uint8_t *bytes = at + sizeof(note) + name;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(at + sizeof(note), "GNU", 4) == 0 && note.n_descsz <= ID_BYTES_MAX) {
            for (size_t i = 0; i < note.n_descsz; i++) {
                (void)snprintf(id + 2 * i, 3, "%02x", bytes[i]);
            }
            return;
        }
        at = bytes + description;
        size -= sizeof(note) + name + description;
    }
}

static int look_at(struct dl_phdr_info *object, size_t size, void *ctx)
{
    const uintptr_t here = (uintptr_t)(void *)id;
    bool ours = false;
    (void)size;
    (void)ctx;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        const uintptr_t begin = object->dlpi_addr + segment->p_vaddr;
        ours = ours ||
               (segment->p_type == PT_LOAD && here >= begin && here - begin < segment->p_memsz);
    }
    for (size_t i = 0; ours && i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE && id[0] == '\0') {
            read_notes((const uint8_t *)(object->dlpi_addr + segment->p_vaddr), segment->p_memsz);
        }
    }
    return ours ? 1 : 0;
}

static void find(void)
{
    (void)dl_iterate_phdr(look_at, NULL);
    if (id[0] == '\0') {
        (void)snprintf(id, sizeof(id), "%s", vt_version_commit());
    }
}

const char *vt_build_id(void)
{
    (void)pthread_once(&once, find);
    return id;
}
