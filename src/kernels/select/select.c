/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/select/select.h"

bool vt_is_nonzero(enum vt_dtype dtype, const void *x, int64_t i)
{
    switch (dtype) {
    case VT_F32:
        return ((const float *)x)[i] != 0.0f;
    case VT_F64:
        return ((const double *)x)[i] != 0.0;
    case VT_F16:
    case VT_BF16:
        return (((const uint16_t *)x)[i] & 0x7fff) != 0;
    default:
        break;
    }
    switch (vt_dtype_bytes(dtype)) {
    case 1:
        return ((const uint8_t *)x)[i] != 0;
    case 2:
        return ((const uint16_t *)x)[i] != 0;
    case 4:
        return ((const uint32_t *)x)[i] != 0;
    default:
        return ((const uint64_t *)x)[i] != 0;
    }
}

static int64_t elements(const struct vt_tensor *x)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < x->rank; i++) {
        n *= x->dim[i];
    }
    return n;
}

int64_t vt_nonzero_count(const struct vt_tensor *x)
{
    int64_t found = 0;
    for (int64_t i = 0; i < elements(x); i++) {
        found += vt_is_nonzero(x->dtype, x->data, i);
    }
    return found;
}

void vt_nonzero_run(const struct vt_tensor *x, int64_t found, int64_t *ret)
{
    int64_t at = 0;
    for (int64_t i = 0; i < elements(x) && at < found; i++) {
        if (!vt_is_nonzero(x->dtype, x->data, i)) {
            continue;
        }
        int64_t rest = i;
        for (uint32_t axis = x->rank; axis-- > 0;) {
            ret[axis * found + at] = rest % x->dim[axis];
            rest /= x->dim[axis];
        }
        at++;
    }
}

struct corners {
    float y1, x1, y2, x2;
};

static struct corners corners_of(const struct vt_nms *nms, const float *box)
{
    struct corners c;
    if (nms->centre) {
        c.x1 = box[0] - box[2] / 2;
        c.x2 = box[0] + box[2] / 2;
        c.y1 = box[1] - box[3] / 2;
        c.y2 = box[1] + box[3] / 2;
        return c;
    }
    c.y1 = box[0] < box[2] ? box[0] : box[2];
    c.y2 = box[0] < box[2] ? box[2] : box[0];
    c.x1 = box[1] < box[3] ? box[1] : box[3];
    c.x2 = box[1] < box[3] ? box[3] : box[1];
    return c;
}

static bool overlaps(const struct vt_nms *nms, const float *a, const float *b)
{
    const struct corners p = corners_of(nms, a), q = corners_of(nms, b);
    const float top = p.y1 > q.y1 ? p.y1 : q.y1, bottom = p.y2 < q.y2 ? p.y2 : q.y2;
    const float left = p.x1 > q.x1 ? p.x1 : q.x1, right = p.x2 < q.x2 ? p.x2 : q.x2;
    if (bottom <= top || right <= left) {
        return false;
    }
    const float common = (bottom - top) * (right - left);
    const float all = (p.y2 - p.y1) * (p.x2 - p.x1) + (q.y2 - q.y1) * (q.x2 - q.x1) - common;
    return common > nms->iou * all;
}

int64_t vt_nms_run(const struct vt_nms *nms, const float *boxes, const float *scores,
                   int64_t capacity, int64_t *ret_triples, int64_t *workspace)
{
    int64_t count = 0;
    struct vt_top_k order = {
        .dtype = VT_F32, .outer = 1, .n = nms->boxes, .inner = 1, .k = nms->boxes, .largest = true};
    if (nms->max_per_class <= 0) {
        return 0;
    }
    for (int64_t pair = 0; pair < nms->batches * nms->classes; pair++) {
        const float *score = scores + pair * nms->boxes;
        const float *box = boxes + pair / nms->classes * nms->boxes * 4;
        int64_t kept = 0;
        /* Sorted in place: the workspace is the heap, and in the end the order. */
        vt_top_k_run(&order, score, NULL, NULL, NULL, workspace);
        for (int64_t i = 0; i < nms->boxes && kept < nms->max_per_class; i++) {
            const int64_t at = workspace[i];
            bool free = !nms->has_score || score[at] > nms->score;
            /* The chosen ones stand at the front of the workspace. */
            for (int64_t k = 0; free && k < kept; k++) {
                free = !overlaps(nms, box + at * 4, box + workspace[k] * 4);
            }
            if (!free) {
                continue;
            }
            workspace[kept++] = at;
            if (count == capacity) {
                return count;
            }
            ret_triples[3 * count] = pair / nms->classes;
            ret_triples[3 * count + 1] = pair % nms->classes;
            ret_triples[3 * count + 2] = at;
            count++;
        }
    }
    return count;
}
