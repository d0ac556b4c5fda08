/* SPDX-License-Identifier: Apache-2.0 */
/* A workload as the sample library that load sees. */
#ifndef VT_RUN_QSL_H
#define VT_RUN_QSL_H

#include "core/query.h"
#include "run/session.h"

/* The session is borrowed as long as the library is used. */
void vt_qsl_init(struct vt_qsl *qsl, struct vt_session *session);

#endif
