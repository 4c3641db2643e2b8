// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix product in binary64 in index order: every result is the sum over
// ascending k of a[m][k] * b[k][n], starting from 0, without contraction. The
// blocking changes which results are computed together, never the order of a
// sum, so the compiler may fold constants with it (docs/Numerics.md 6).

#ifndef ASHLAR_LIB_REFERENCE_GEMM_H
#define ASHLAR_LIB_REFERENCE_GEMM_H

#include <cstdint>

namespace ashlar::reference {

/// c[m][n] = sum_k a[m][k] * b[k][n]; `lda`, `ldb`, `ldc` are row strides in
/// elements. Previous contents of `c` are overwritten.
void gemm(int64_t m, int64_t n, int64_t k, const double *a, int64_t lda,
          const double *b, int64_t ldb, double *c, int64_t ldc);

/// The same in int64, modulo 2^64.
void gemmInt(int64_t m, int64_t n, int64_t k, const int64_t *a, int64_t lda,
             const int64_t *b, int64_t ldb, int64_t *c, int64_t ldc);

} // namespace ashlar::reference

#endif // ASHLAR_LIB_REFERENCE_GEMM_H
