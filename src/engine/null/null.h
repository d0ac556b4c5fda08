/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The null engine: takes any model and answers every request at once with zeros of the right
 * shapes. What a run with it costs is the tool's own overhead.
 */
#ifndef VT_ENGINE_NULL_NULL_H
#define VT_ENGINE_NULL_NULL_H

#include "vatio/engine.h"

extern const struct vt_engine_ops vt_null_engine;

#endif
