/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job: everything a user can ask of `vatio run`, as one struct and the options table that fills
 * it from a command line or a section of a job file.
 */
#ifndef VT_RUN_JOB_H
#define VT_RUN_JOB_H

#include "base/options.h"
#include "core/query.h"
#include "run/energy/places.h"

struct vt_job {
    /* what to run */
    const char *scenario; /* "all", or names joined by commas */
    int mode;             /* enum vt_job_mode */
    bool official;
    const char *round;
    const char *benchmark; /* NULL: the model's name */
    const char *mlperf_conf;
    const char *user_conf;
    const char *audit_conf;
    const char *tests; /* of vatio audit; NULL: none */
    int64_t duration_ns;
    int64_t max_duration_ns;
    int64_t min_query_count; /* 0: what early stopping needs */
    int64_t samples_per_query;
    /* the model and its engine */
    const char *model;   /* key of a job file; on the command line the positional argument */
    const char *weights; /* file for a name of the zoo; NULL: random ones */
    const char *engine;
    struct vt_text_list engine_options;
    struct vt_text_list shapes;
    int64_t batch; /* 0: chosen by measuring */
    int64_t lanes; /* 0: the engine's best */
    int64_t threads;
    int64_t batch_delay_us;
    int precision;       /* enum vt_precision_wish */
    double quality_loss; /* percent of fp32's, of --precision auto */
    /* the load */
    double target_qps; /* 0: searched for */
    int64_t max_latency_ns;
    int64_t spin_us; /* -1: chosen */
    int64_t timeout_ns;
    const char *arrivals;     /* "poisson", "constant", "trace:FILE" */
    struct vt_text_list sets; /* KEY=VALUE of load/setting_table.h */
    int64_t issue_threads;
    bool coalesce;
    bool tokens;
    int64_t ttft_latency_ns;
    int64_t tpot_latency_ns;
    int bounded_method;   /* enum vt_bounded_method */
    int stages;           /* enum vt_job_stages */
    int64_t memory_limit; /* bytes of records; 0: any */
    const char *spill_dir;
    int64_t fifo;    /* priority; 0: none */
    const char *pin; /* CPUs */
    /* the energy */
    const char *meters; /* "auto", "none", or names joined by commas */
    int64_t idle_ns;    /* 0: idle power is not measured */
    struct vt_meter_places places;
    int64_t ranging_ns; /* of PTDaemon; 0: automatic ranges */
    struct vt_text_list caps;
    bool allow_reboot;
    /* the data */
    const char *workload;
    const char *dataset;
    const char *labels;
    int64_t sample_count;
    int64_t performance_count;
    int64_t seed;
    bool skip_bad;
    const char *preprocess;
    const char *mean;
    const char *std;
    const char *scale;
    const char *channels;
    const char *resize;
    const char *crop;
    const char *label_offset;
    struct vt_text_list inputs;
    struct vt_text_list expects;
    double rtol;
    double atol;
    /* the result */
    const char *output;
    bool json;
    bool trace;
};

/* Of the native engine; the first ones are enum vt_precision. */
enum vt_precision_wish {
    VT_WISH_FP32,
    VT_WISH_FP16W,
    VT_WISH_BF16,
    VT_WISH_INT8, /* calibrated on the job's data */
    VT_WISH_AUTO, /* the fastest whose quality holds */
    VT_WISH_COUNT,
};

enum vt_job_mode {
    VT_JOB_PERFORMANCE,
    VT_JOB_ACCURACY,
    VT_JOB_BOTH,
    VT_JOB_SUBMISSION, /* as one test, as LoadGen's SubmissionRun */
    VT_JOB_FIND_PEAK,
};

enum vt_job_stages {
    VT_JOB_STAGES_AUTO,
    VT_JOB_STAGES_ON,
    VT_JOB_STAGES_OFF,
};

/* The options of `vatio run` and of a job file's section. Static storage. */
VT_API const struct vt_option_table *vt_job_options(void);

/*
 * The scenarios of job->scenario in MLPerf's order (Offline, Server, SingleStream, MultiStream),
 * each once. VT_ERR_USAGE for a name that is none.
 */
enum vt_status vt_job_scenarios(const struct vt_job *job, struct vt_error *err,
                                bool ret_wanted[VT_SCENARIO_COUNT]) VT_NODISCARD;

#endif
