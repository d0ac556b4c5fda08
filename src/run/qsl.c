/* SPDX-License-Identifier: Apache-2.0 */
#include "run/qsl.h"

static const char *qsl_name(void *ctx)
{
    struct vt_session *session = ctx;
    return session->info.name;
}

static enum vt_status qsl_load(void *ctx, const uint64_t *indices, size_t n, struct vt_error *err)
{
    struct vt_session *session = ctx;
    return session->workload_ops->load(session->workload, indices, n, err);
}

static void qsl_unload(void *ctx, const uint64_t *indices, size_t n)
{
    struct vt_session *session = ctx;
    session->workload_ops->unload(session->workload, indices, n);
}

void vt_qsl_init(struct vt_qsl *qsl, struct vt_session *session)
{
    *qsl = (struct vt_qsl){
        .api_version = VT_LOAD_API_VERSION,
        .struct_size = sizeof(struct vt_qsl),
        .name = qsl_name,
        .total_count = session->info.total_count,
        .performance_count = session->info.performance_count,
        .load = qsl_load,
        .unload = qsl_unload,
        .ctx = session,
    };
}
