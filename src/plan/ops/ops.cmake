# SPDX-License-Identifier: Apache-2.0
# The operators that can be carried out, one file a family; src/plan/CMakeLists.txt includes this.
set(VT_PLAN_OPS
  ops/conv.c
  ops/elementwise.c
  ops/find.c
  ops/gather.c
  ops/linear.c
  ops/loss.c
  ops/matmul.c
  ops/matmul_plain.c
  ops/move.c
  ops/norm.c
  ops/place.c
  ops/pool.c
  ops/quant.c
  ops/quant_product.c
  ops/recurrent.c
  ops/reduce.c
  ops/resize.c
  ops/sample.c
  ops/select.c
  ops/shape.c
  ops/signal.c
  ops/softmax.c
  ops/support.c
  ops/window.c
  )
