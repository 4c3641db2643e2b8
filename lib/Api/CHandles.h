// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the opaque types of the C interface are. Both libraries know this.

#ifndef ASHLAR_LIB_API_CHANDLES_H
#define ASHLAR_LIB_API_CHANDLES_H

#include "ashlar/Api/C/Runtime.h"
#include "ashlar/Api/Program.h"

#include <cstring>
#include <new>
#include <optional>
#include <utility>

struct ashlar_error {
  ashlar::api::Error value;
};

struct ashlar_options {
  std::vector<std::pair<std::string, std::string>> values;
};

struct ashlar_program {
  ashlar::api::Program value;
};

struct ashlar_result {
  ashlar::api::RunResult value;
  std::optional<std::string> report;
};

namespace ashlar::detail {

/// Stores an error for the caller, and returns its code.
inline ashlar_code fail(ashlar_error **out, api::Error error) {
  const auto code = static_cast<ashlar_code>(error.code);
  if (out)
    *out = new (std::nothrow) ashlar_error{std::move(error)};
  return code;
}

/// A null pointer where there has to be an object.
inline ashlar_code failNull(ashlar_error **out, const char *what) {
  return fail(
      out, {api::ErrorCode::Usage, std::string(what) + " is a null pointer"});
}

/// Runs the body of a C function: nothing is thrown into C.
template <typename Function>
ashlar_code callFromC(ashlar_error **error, Function body) {
  if (error)
    *error = nullptr;
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return fail(error, {api::ErrorCode::Capacity, "out of memory"});
  } catch (const std::exception &problem) {
    return fail(error, {api::ErrorCode::Internal, problem.what()});
  }
}

/// The element type that a C caller wrote: any number, which C++ must not take
/// for a value of the enumeration. Out of range is 255, which is not a type.
inline api::ElementType readType(const ashlar_type &type) {
  static_assert(sizeof(ashlar_type) == sizeof(int));
  int number;
  std::memcpy(&number, &type, sizeof number);
  return static_cast<api::ElementType>(number < 0 || number > 255 ? 255
                                                                  : number);
}

/// Arrays of a C caller. An error names what is null or negative.
inline api::Result<std::vector<api::ArrayView>>
viewArrays(const ashlar_array *arrays, size_t count, const char *what) {
  const std::string name = what;
  if (count > 0 && !arrays)
    return api::Error{api::ErrorCode::Usage, name + " is a null pointer"};
  std::vector<api::ArrayView> views;
  for (size_t i = 0; i < count; ++i) {
    const ashlar_array &array = arrays[i];
    const std::string which = name + " " + std::to_string(i);
    if (!array.name)
      return api::Error{api::ErrorCode::Usage, which + " has no name"};
    if (array.rank < 0 || (array.rank > 0 && !array.shape))
      return api::Error{api::ErrorCode::Malformed, which + " has no shape"};
    api::ArrayView view;
    view.name = array.name;
    view.type = readType(array.type);
    view.shape = {array.shape, static_cast<size_t>(array.rank)};
    view.data = array.data;
    view.bytes = array.bytes;
    views.push_back(view);
  }
  return views;
}

} // namespace ashlar::detail

#endif // ASHLAR_LIB_API_CHANDLES_H
