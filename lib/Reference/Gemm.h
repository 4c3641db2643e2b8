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

/// Extents of c[m][n] = sum over k of a[m][k] * b[k][n].
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
};

/// A row-major matrix whose rows are `stride` elements apart.
template <typename T>
struct MatrixRows {
  T *data = nullptr;
  int64_t stride = 0;

  T *row(int64_t index) const { return data + index * stride; }
};

/// The product; previous contents of `c` are overwritten.
void gemm(const GemmShape &shape, MatrixRows<const double> a,
          MatrixRows<const double> b, MatrixRows<double> c);

/// The same in int64, modulo 2^64.
void gemm(const GemmShape &shape, MatrixRows<const int64_t> a,
          MatrixRows<const int64_t> b, MatrixRows<int64_t> c);

} // namespace ashlar::reference

#endif // ASHLAR_LIB_REFERENCE_GEMM_H
