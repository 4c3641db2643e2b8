// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequences and optionals: lists of names, of a length that is known.

#include "FlowNode.h"

#include "llvm/ADT/StringSwitch.h"

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;

namespace {

/// The place that operand `input` names in a list, or `otherwise` without one.
/// `capacity` places are allowed.
Expected<int64_t> placeIn(FlowNode &n, size_t input, int64_t length,
                          int64_t capacity, int64_t otherwise) {
  if (!n.hasInput(input))
    return otherwise;
  Expected<int64_t> given = n.knownOne(n.flat().inputs[input], "the position");
  if (!given)
    return given;
  const int64_t place = *given < 0 ? *given + length : *given;
  if (place < 0 || place >= capacity)
    return makeError(ErrorClass::Malformed,
                     "position {} is out of range for a sequence of {}", *given,
                     length);
  return place;
}

Expected<Names> firstList(FlowNode &n) {
  Expected<std::string> name = n.input(0);
  return name ? n.list(*name) : name.takeError();
}

Error construct(FlowNode &n) {
  for (size_t i = 0; i < n.flat().inputs.size(); ++i)
    if (Expected<std::string> tensor = n.input(i); !tensor)
      return tensor.takeError();
  n.setList(0, n.flat().inputs);
  return Error::success();
}

Error insert(FlowNode &n) {
  Expected<Names> list = firstList(n);
  if (!list)
    return list.takeError();
  Expected<std::string> tensor = n.input(1);
  if (!tensor)
    return tensor.takeError();
  const auto length = static_cast<int64_t>(list->size());
  Expected<int64_t> place = placeIn(n, 2, length, length + 1, length);
  if (!place)
    return place.takeError();
  list->insert(list->begin() + *place, *tensor);
  n.setList(0, std::move(*list));
  return Error::success();
}

Error erase(FlowNode &n) {
  Expected<Names> list = firstList(n);
  if (!list)
    return list.takeError();
  const auto length = static_cast<int64_t>(list->size());
  Expected<int64_t> place = placeIn(n, 1, length, length, length - 1);
  if (!place)
    return place.takeError();
  if (list->empty())
    return makeError(ErrorClass::Malformed, "the sequence is empty");
  list->erase(list->begin() + *place);
  n.setList(0, std::move(*list));
  return Error::success();
}

Error at(FlowNode &n) {
  Expected<Names> list = firstList(n);
  if (!list)
    return list.takeError();
  const auto length = static_cast<int64_t>(list->size());
  Expected<std::string> position = n.input(1);
  if (!position)
    return position.takeError();
  Expected<int64_t> place = placeIn(n, 1, length, length, 0);
  if (!place)
    return place.takeError();
  return n.setAlias(0, (*list)[*place]);
}

Error length(FlowNode &n) {
  Expected<Names> list = firstList(n);
  if (!list)
    return list.takeError();
  Expected<std::string> count =
      n.integers({static_cast<int64_t>(list->size())}, /*scalar=*/true);
  return count ? n.setAlias(0, *count) : count.takeError();
}

Error concat(FlowNode &n) {
  Expected<Names> list = firstList(n);
  if (!list)
    return list.takeError();
  if (list->empty())
    return makeError(ErrorClass::Malformed, "the sequence is empty");
  const int64_t axis = n.getInt("axis", 0);
  Expected<std::string> whole =
      n.getInt("new_axis", 0)
          ? n.stack(*list, axis)
          : n.make("Concat", *list, {intAttribute("axis", axis)});
  return whole ? n.setAlias(0, *whole) : whole.takeError();
}

/// Sizes of the parts of a split: the operand's list, its number repeated, or
/// ones.
Expected<std::vector<int64_t>> partSizes(FlowNode &n, int64_t extent) {
  if (!n.hasInput(1))
    return std::vector<int64_t>(extent, 1);
  Expected<OperandKind> kind = n.kind(n.flat().inputs[1]);
  if (!kind)
    return kind.takeError();
  Expected<std::vector<int64_t>> given =
      n.known(n.flat().inputs[1], "the lengths of the parts");
  if (!given || !kind->shape.empty())
    return given;
  const int64_t size = given->front();
  if (size < 1)
    return makeError(ErrorClass::Malformed, "parts of {} elements", size);
  std::vector<int64_t> sizes(extent / size, size);
  if (extent % size)
    sizes.push_back(extent % size);
  return sizes;
}

Error split(FlowNode &n) {
  Expected<std::string> x = n.input(0);
  if (!x)
    return x.takeError();
  Expected<OperandKind> kind = n.kind(*x);
  if (!kind)
    return kind.takeError();
  const auto rank = static_cast<int64_t>(kind->shape.size());
  const int64_t given = n.getInt("axis", 0),
                axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank)
    return makeError(ErrorClass::Malformed,
                     "axis {} is out of range for rank {}", given, rank);
  const int64_t extent = kind->shape[axis];
  Expected<std::vector<int64_t>> sizes = partSizes(n, extent);
  if (!sizes)
    return sizes.takeError();
  int64_t sum = 0;
  for (int64_t size : *sizes) {
    if (size < 0 || size > extent - sum)
      return makeError(ErrorClass::Malformed,
                       "the parts do not fill {} elements", extent);
    sum += size;
  }
  if (sum != extent)
    return makeError(ErrorClass::Malformed, "the parts do not fill {} elements",
                     extent);
  const bool drop = !n.hasInput(1) && n.getInt("keepdims", 1) == 0;
  Names parts;
  int64_t start = 0;
  for (int64_t size : *sizes) {
    Names operands = {*x};
    for (int64_t number : {start, start + size, axis}) {
      Expected<std::string> one = n.integers({number});
      if (!one)
        return one.takeError();
      operands.push_back(*one);
    }
    Expected<std::string> part = drop ? n.element(*x, start, axis)
                                      : n.make("Slice", std::move(operands));
    if (!part)
      return part.takeError();
    parts.push_back(*part);
    start += size;
  }
  n.setList(0, std::move(parts));
  return Error::success();
}

Error optional(FlowNode &n) {
  if (n.hasInput(0))
    return n.setAlias(0, n.flat().inputs[0]);
  n.setAbsent(0);
  return Error::success();
}

Error hasElement(FlowNode &n) {
  const bool there = n.hasInput(0) && !n.isAbsent(n.flat().inputs[0]);
  Expected<std::string> answer = n.integers({there}, true, /*boolean=*/true);
  return answer ? n.setAlias(0, *answer) : answer.takeError();
}

Error getElement(FlowNode &n) {
  Expected<std::string> value = n.input(0);
  if (!value)
    return value.takeError();
  if (n.isAbsent(*value))
    return makeError(ErrorClass::Malformed, "the optional '{}' is empty",
                     printable(*value));
  return n.setAlias(0, *value);
}

} // namespace

Error ashlar::frontend::runList(FlowNode &n) {
  using Rule = Error (*)(FlowNode &);
  const Rule rule = llvm::StringSwitch<Rule>(n.flat().op)
                        .Case("SequenceEmpty", construct)
                        .Case("SequenceConstruct", construct)
                        .Case("SequenceInsert", insert)
                        .Case("SequenceErase", erase)
                        .Case("SequenceAt", at)
                        .Case("SequenceLength", length)
                        .Case("ConcatFromSequence", concat)
                        .Case("SplitToSequence", split)
                        .Case("Optional", optional)
                        .Case("OptionalHasElement", hasElement)
                        .Case("OptionalGetElement", getElement)
                        .Case("Identity", optional)
                        .Default(nullptr);
  if (rule)
    return rule(n);
  return makeError(ErrorClass::Unsupported,
                   "an operand is a sequence or an empty optional");
}
