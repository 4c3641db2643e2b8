// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Error measures. Only reports come out of here, so the host's logarithm is
// good enough.

#include "ashlar/Report/Comparison.h"
#include "ashlar/Support/Error.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace ashlar;
using namespace ashlar::report;
using support::HostTensor;

namespace {

/// Distance of two elements; infinite where one is not a number or not finite
/// and the other differs.
double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return 0;
  const double difference = std::fabs(a - b);
  return std::isfinite(difference) ? difference
                                   : std::numeric_limits<double>::infinity();
}

} // namespace

llvm::Expected<Comparison> report::compare(const HostTensor &found,
                                           const HostTensor &expected,
                                           double atol, double rtol) {
  const bool sameKind =
      found.type == expected.type ||
      (support::isFloat(found.type) && support::isFloat(expected.type));
  if (!sameKind || found.shape != expected.shape)
    return makeError(ErrorClass::Malformed,
                     "the output is {}, the expected array is {}",
                     support::describe(found), support::describe(expected));
  Comparison result;
  result.elements = found.numElements();
  const unsigned width = support::byteSize(found.type);
  const bool exactBytes = found.type == expected.type &&
                          !support::isFloat(found.type) && width == 8;
  double signal = 0, noise = 0;
  for (uint64_t i = 0; i < result.elements; ++i) {
    const double a = found.asDouble(i), b = expected.asDouble(i);
    double error = distance(a, b);
    // Neighbours beyond 2^53 are the same double.
    if (error == 0 && exactBytes &&
        std::memcmp(&found.data[i * width], &expected.data[i * width], width))
      error = 1;
    if (std::isfinite(b))
      signal += b * b;
    noise += error * error;
    if (error > result.maxError) {
      result.maxError = error;
      result.maxErrorAt = i;
    }
    const double limit = atol + (std::isfinite(b) ? rtol * std::fabs(b) : 0.0);
    if (error > limit && result.wrong++ == 0)
      result.firstWrong = i;
  }
  if (noise == 0)
    result.snrDb = std::numeric_limits<double>::infinity();
  else if (signal == 0 || !std::isfinite(noise))
    result.snrDb = -std::numeric_limits<double>::infinity();
  else
    result.snrDb = 10 * std::log10(signal / noise);
  return result;
}

std::string report::indexText(uint64_t flat, llvm::ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t dim : llvm::reverse(shape)) {
    const uint64_t size = dim > 0 ? static_cast<uint64_t>(dim) : 1;
    text = std::to_string(flat % size) + (text.empty() ? "" : ",") + text;
    flat /= size;
  }
  return fmt::format("[{}]", text);
}

std::string report::describe(const Comparison &comparison,
                             llvm::ArrayRef<int64_t> shape) {
  std::string text = comparison.passed() ? "PASS  " : "FAIL  ";
  text += comparison.maxError == 0
              ? std::string("identical")
              : fmt::format("SNR {:.1f} dB, max error {:.6g} at {}",
                            comparison.snrDb, comparison.maxError,
                            indexText(comparison.maxErrorAt, shape));
  if (!comparison.passed())
    text += fmt::format(", {} of {} elements outside the tolerance, first {}",
                        comparison.wrong, comparison.elements,
                        indexText(comparison.firstWrong, shape));
  return text;
}
