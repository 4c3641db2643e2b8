// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of decisions from their parts.

#include "dialects/Ashlar/Decision.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

using namespace mlir;

namespace ashlar::records {

Facts &Facts::set(llvm::StringRef name, Attribute value) {
  entries.set(name, value);
  return *this;
}

Facts &Facts::set(llvm::StringRef name, int64_t value) {
  return set(name, Builder(context).getI64IntegerAttr(value));
}

Facts &Facts::set(llvm::StringRef name, double value) {
  return set(name, Builder(context).getF64FloatAttr(value));
}

Facts &Facts::set(llvm::StringRef name, const llvm::Twine &text) {
  return set(name, StringAttr::get(context, text));
}

Facts &Facts::erase(llvm::StringRef name) {
  entries.erase(name);
  return *this;
}

Decision::Decision(MLIRContext *context, const llvm::Twine &choice,
                   const llvm::Twine &reason)
    : Decision(context) {
  choose(choice).because(reason);
}

Decision::Decision(DecisionAttr attr)
    : Decision(attr.getContext(), attr.getChoice().getValue(),
               attr.getReason().getValue()) {
  if (DictionaryAttr known = attr.getAlternatives())
    cycles.entries.append(known.begin(), known.end());
  if (DictionaryAttr known = attr.getFacts())
    facts.entries.append(known.begin(), known.end());
}

Decision &Decision::choose(const llvm::Twine &name) {
  choice = StringAttr::get(facts.context, name);
  return *this;
}

Decision &Decision::because(const llvm::Twine &text) {
  reason = StringAttr::get(facts.context, text);
  return *this;
}

Decision &Decision::alternative(llvm::StringRef name, int64_t count) {
  cycles.set(name, count);
  return *this;
}

std::optional<int64_t> Decision::cyclesOf(llvm::StringRef alternative) const {
  auto number = dyn_cast_or_null<IntegerAttr>(cycles.entries.get(alternative));
  return number ? std::optional(number.getInt()) : std::nullopt;
}

DecisionAttr Decision::get() const {
  auto some = [](const Facts &from) {
    return from.empty() ? DictionaryAttr() : from.get();
  };
  return DecisionAttr::get(facts.context, choice, reason, some(cycles),
                           some(facts));
}

void Decision::record(Operation *op, llvm::StringRef name) const {
  op->setAttr(name, get());
}

} // namespace ashlar::records
