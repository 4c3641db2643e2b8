// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options of the C interface, read into those of C++.

#ifndef ASHLAR_LIB_API_COPTIONS_H
#define ASHLAR_LIB_API_COPTIONS_H

#include "CHandles.h"

#include <charconv>

namespace ashlar::detail {

/// Hands each option to `set`, which says what it expected; "unknown" if there
/// is no such option.
template <typename Set>
std::optional<api::Error> readOptions(const ashlar_options *options,
                                      const char *known, Set set) {
  if (!options)
    return std::nullopt;
  for (const auto &[name, value] : options->values) {
    const std::string problem = set(name, value);
    if (problem == "unknown")
      return api::Error{api::ErrorCode::Usage, "unknown option '" + name +
                                                   "', expected one of " +
                                                   known};
    if (!problem.empty())
      return api::Error{api::ErrorCode::Usage,
                        "option '" + name + "' is '" + value + "', " + problem};
  }
  return std::nullopt;
}

template <typename Number>
std::string readNumber(const std::string &text, Number &number) {
  const char *end = text.data() + text.size();
  auto [last, problem] = std::from_chars(text.data(), end, number);
  return problem == std::errc() && last == end && !text.empty()
             ? ""
             : "expected a number";
}

std::optional<api::Error> readLoad(const ashlar_options *options,
                                   api::LoadOptions &load);
std::optional<api::Error> readRun(const ashlar_options *options,
                                  api::RunOptions &run);

} // namespace ashlar::detail

#endif // ASHLAR_LIB_API_COPTIONS_H
