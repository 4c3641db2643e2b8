// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random machines, storage types and views for the tests of code generation,
// and a second statement of where View says that elements lie.

#ifndef ASHLAR_TEST_CODEGEN_TESTSUPPORT_H
#define ASHLAR_TEST_CODEGEN_TESTSUPPORT_H

#include "ashlar/Analysis/Layout/View.h"
#include <functional>
#include <optional>
#include <random>

namespace ashlar::test {

/// a1-tiny with 16 partitions of `bytes` bytes: two exponent blocks of 8 fit.
machine::Description smallMachine(unsigned bytes);

/// Memory and linear address of an element.
struct Address {
  analysis::View::Memory memory;
  int64_t address;
  auto operator<=>(const Address &) const = default;
};

/// Address of element `index`, straight from the documentation of View.
Address elementAddress(const analysis::View &view, const analysis::Shape &index,
                       const machine::Description &machine);

/// Address of its exponent cell: in exponent memory for the state buffer.
Address cellAddress(const analysis::View &view, const analysis::Shape &index,
                    const machine::Description &machine);

/// Calls `body` for every index of `shape` in row-major order.
void forEachIndex(const analysis::Shape &shape,
                  const std::function<void(const analysis::Shape &)> &body);

/// A plain element type of `bytes` bytes.
analysis::StorageType plainType(int64_t bytes);
/// An encoded type with blocks of 8 along `axis`.
analysis::StorageType encodedType(int mantissa, int64_t axis);

class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  int64_t between(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <typename T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[between(0, choices.size() - 1)];
  }

  std::mt19937_64 engine;
};

} // namespace ashlar::test

#endif // ASHLAR_TEST_CODEGEN_TESTSUPPORT_H
