/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam of caps: limits of power or clocks that are set for a while and always put back.
 *
 * A cap kind is one interface (a GPU's power limit, RAPL, the frequency of processors); it has
 * domains: what can be limited apart. The kinds stand in one table, in cap_table.c.
 *
 * Nobody sets through a kind itself: a *hold* does. It writes what was there to a record file and
 * starts a guardian process before the first set, so that the previous values come back however
 * this process ends (cap_hold.c).
 */
#ifndef VT_POWER_CAP_H
#define VT_POWER_CAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vatio/status.h"

#define VT_CAP_API_VERSION 1
/* Domains of one kind: a policy of cpufreq may be there for every CPU. */
#define VT_CAP_DOMAINS_MAX 1024
/* Numbers that hold what a domain had before. */
#define VT_CAP_RAW 2

struct vt_cap_domain {
    char name[48];   /* "gpu0", "package-1", "policy0"; once in a kind */
    char device[80]; /* "NVIDIA H200", "socket 1" */
    char id[64];     /* what stays when names are given anew: a UUID; else the name */
    char note[160];  /* what a reader must know; "" */
};

/* In the unit of the kind; NAN where it is not known. */
struct vt_cap_value {
    double value, minimum, maximum, standard; /* now, its bounds, what the maker sets */
};

/* What a domain had, exactly: the kind's own numbers. */
struct vt_cap_raw {
    int64_t number[VT_CAP_RAW];
};

/* Where caps are looked for; NULL: the machine's own place. For tests and containers. */
struct vt_cap_places {
    const char *sysfs;         /* "/sys" */
    const char *nvml_library;  /* "libnvidia-ml.so.1", as dlopen finds it */
    const char *nvpmodel;      /* the program, "nvpmodel" as PATH finds it */
    const char *nvpmodel_conf; /* "/etc/nvpmodel.conf" */
    /* The folder of the record files; else the environment's VATIO_CAP_RECORDS, for root
     * /run/vatio, for others XDG_RUNTIME_DIR/vatio, else /tmp/vatio-UID. */
    const char *records;
    bool allow_reboot; /* a mode of nvpmodel that needs a restart of the machine may have it */
};

struct vt_cap_ops {
    uint32_t api_version; /* VT_CAP_API_VERSION */
    uint32_t struct_size; /* sizeof(struct vt_cap_ops) */
    const char *name;     /* required; "rapl" */
    const char *summary;  /* required; one line */
    const char *unit;     /* required; "W", "kHz", "MHz", "mode" */
    const void *family;   /* the kind's own: kinds of one sort share their functions */
    /* So far may what is enforced be from what was asked, relative, and still count as it. */
    double tolerance;
    bool survives_restart; /* of the machine */
    /*
     * Required. VT_OK, or why nothing can be capped here and the exact remedy:
     * VT_ERR_UNAVAILABLE, VT_ERR_READ. Sets nothing. The places live until close.
     */
    enum vt_status (*open)(const struct vt_cap_ops *self, const struct vt_cap_places *places,
                           struct vt_error *err, void **ret_cap);
    /* Required. Owned by the kind, valid until close; never more than VT_CAP_DOMAINS_MAX. */
    const struct vt_cap_domain *(*domains)(const void *cap, uint32_t *ret_n);
    /* Required. May block for as long as the hardware takes. */
    enum vt_status (*get)(void *cap, uint32_t domain, struct vt_error *err,
                          struct vt_cap_value *ret_value);
    /* Required. VT_OK, or VT_ERR_WRITE with the right that this user lacks, as far as can be seen
     * without setting. */
    enum vt_status (*may_set)(void *cap, struct vt_error *err);
    /* Optional. A value that has a name: a mode. False when there is none of that name. */
    bool (*named)(void *cap, const char *text, double *ret_value);
    /* Required. Everything that set changes. */
    enum vt_status (*save)(void *cap, uint32_t domain, struct vt_error *err,
                           struct vt_cap_raw *ret_raw);
    /*
     * Required. The value lies within the bounds of get. VT_ERR_UNSUPPORTED: this hardware has no
     * such limit; VT_ERR_WRITE: refused, with the right that is missing.
     */
    enum vt_status (*set)(void *cap, uint32_t domain, double value, struct vt_error *err);
    /* Required. What the hardware keeps to now. */
    enum vt_status (*enforced)(void *cap, uint32_t domain, struct vt_error *err, double *ret_value);
    /* Required. Puts back what save gave; VT_OK only when it reads back so. Numbers may come from
     * a file and be anything: VT_ERR_FORMAT for what save never gives. */
    enum vt_status (*restore)(void *cap, uint32_t domain, const struct vt_cap_raw *raw,
                              struct vt_error *err);
    /*
     * Optional, together: the kind that is taken where the set is VT_ERR_UNSUPPORTED, and the
     * value there that stands for one here (NAN: none).
     */
    const struct vt_cap_ops *fallback;
    double (*fallback_value)(void *cap, uint32_t domain, double value);
    /* Required. Accepts NULL. */
    void (*close)(void *cap);
};

/* All kinds. Static storage. */
const struct vt_cap_ops *const *vt_cap_table(size_t *ret_n);
/* VT_ERR_USAGE with the nearest name. */
enum vt_status vt_cap_find(const char *name, struct vt_error *err,
                           const struct vt_cap_ops **ret) VT_NODISCARD;

/* One wish: "nvml=300", "rapl/package-0=120W", "cpufreq=2.4GHz", "nvpmodel=MAXN", "300W". */
struct vt_cap_wish {
    const struct vt_cap_ops *kind; /* NULL: watts, of whatever limits them here */
    char domain[48];               /* "": all */
    char text[48];                 /* the value as it was given, for modes by name */
    double value;                  /* in the unit of the kind; NAN: only a name can be meant */
};
/* VT_ERR_USAGE says what is wrong. Looks at nothing but the text. */
enum vt_status vt_cap_wish_parse(const char *text, struct vt_error *err,
                                 struct vt_cap_wish *ret) VT_NODISCARD;

/* --- the hold ------------------------------------------------------------------------------ */

struct vt_cap_hold;

/* What a hold has set in one domain. */
struct vt_cap_held {
    const struct vt_cap_ops *kind;
    char domain[48], device[80];
    double asked, enforced;
    double previous; /* NAN: cannot be read, as of locked clocks */
    char note[256];  /* what a reader must know; "" */
    bool restored;   /* since the release */
};

/*
 * Takes the machine's caps: one hold at a time, VT_ERR_UNAVAILABLE while another process has them.
 * Puts back first what a dead process left (vt_cap_hold_note tells). Nothing is changed
 * otherwise.
 *
 * Forks the guardian, so it belongs before the threads of an engine. All calls on a hold come from
 * one thread. The places are borrowed until vt_cap_hold_free.
 */
enum vt_status vt_cap_hold_new(const struct vt_cap_places *places, struct vt_error *err,
                               struct vt_cap_hold **ret_hold) VT_NODISCARD;
/* One line about what was put back on the way, "" for nothing. Owned by the hold. */
const char *vt_cap_hold_note(const struct vt_cap_hold *hold);
/*
 * Sets a kind ("rapl") in one domain, or in all for NULL and "". What was there is recorded before
 * the first set of a domain. VT_OK only when the hardware enforces it, a moment later at most:
 * VT_ERR_ENGINE when it does not stick. Where some domains fail, those before them stay set. Of
 * several domains *ret_enforced is the least; it may be NULL.
 */
enum vt_status vt_cap_hold_set(struct vt_cap_hold *hold, const char *kind, const char *domain,
                               double value, struct vt_error *err,
                               double *ret_enforced) VT_NODISCARD;
/* The same as a wish says it; a bare number of watts goes to nvml where that is, else to rapl. */
enum vt_status vt_cap_hold_ask(struct vt_cap_hold *hold, const char *wish, struct vt_error *err,
                               double *ret_enforced) VT_NODISCARD;
/* What it has set until now, a row a domain. Owned by the hold; the next set may move it. */
const struct vt_cap_held *vt_cap_hold_list(const struct vt_cap_hold *hold, uint32_t *ret_n);
/*
 * Puts everything back, verifies it, removes the record and ends the guardian. On failure the
 * record stays for `vatio caps restore`, and the rows say which were restored. The hold can still
 * be asked for its list, and set no more. A second call does nothing.
 */
enum vt_status vt_cap_hold_release(struct vt_cap_hold *hold, struct vt_error *err) VT_NODISCARD;
/* Releases first where that is not done. Accepts NULL. */
void vt_cap_hold_free(struct vt_cap_hold *hold);

/* --- what dead processes left -------------------------------------------------------------- */

enum vt_cap_leftover_state {
    VT_CAP_LEFTOVER_HELD,     /* its process lives: not touched */
    VT_CAP_LEFTOVER_WAITS,    /* to be put back */
    VT_CAP_LEFTOVER_RESTORED, /* put back, the record is gone */
    VT_CAP_LEFTOVER_GONE,     /* from before a restart of the machine, which reset everything */
    VT_CAP_LEFTOVER_FAILED,   /* it says why */
};

struct vt_cap_leftover {
    char file[320]; /* the record */
    int64_t owner;  /* process id; 0: not readable */
    enum vt_cap_leftover_state state;
    uint32_t n_caps;
    char text[512]; /* what it holds, or why it failed */
};

struct vt_cap_leftovers {
    struct vt_cap_leftover *items;
    uint32_t n;
};
/*
 * The records of the folder. With `restore`, those whose process is dead are replayed, verified
 * and removed. VT_ERR_READ when the folder cannot be trusted; a record that cannot be read is an
 * item. The caller releases the list.
 */
enum vt_status vt_cap_leftovers(const struct vt_cap_places *places, bool restore,
                                struct vt_error *err, struct vt_cap_leftovers *ret) VT_NODISCARD;
void vt_cap_leftovers_release(struct vt_cap_leftovers *leftovers); /* accepts a zeroed one */

extern const struct vt_cap_ops vt_cap_nvml;
extern const struct vt_cap_ops vt_cap_nvml_clocks;
extern const struct vt_cap_ops vt_cap_rapl;
extern const struct vt_cap_ops vt_cap_cpufreq;
extern const struct vt_cap_ops vt_cap_nvpmodel;
extern const struct vt_cap_ops vt_cap_acpi;
extern const struct vt_cap_ops vt_cap_amdgpu;

#endif
