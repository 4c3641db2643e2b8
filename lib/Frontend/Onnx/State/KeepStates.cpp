// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results of the module that replace arguments for the next run.

#include "../Importer.h"
#include "States.h"

#include "ashlar/Support/Error.h"
#include "dialects/NN/NNKept.h"

using namespace ashlar;
using namespace ashlar::frontend;
using llvm::Error;
using llvm::Expected;

/// A name that no input, output or value of the model has.
std::string Importer::freshName(std::string name) const {
  while (values.contains(name) || initializers.contains(name) ||
         readNames.contains(name))
    name += "_";
  return name;
}

Value Importer::filledRows() {
  if (position)
    return position;
  const std::string name = freshName("kept_rows");
  auto attribute = builder.getDictionaryAttr(
      builder.getNamedAttr(nn::nameAttr, builder.getStringAttr(name)));
  auto type = mlir::RankedTensorType::get({1}, builder.getI64Type());
  const unsigned last = function.getNumArguments();
  if (mlir::failed(
          function.insertArgument(last, type, attribute, nameLoc(name))))
    return nullptr;
  return position = function.getArgument(last);
}

bool Importer::isKept(Value input) const {
  return llvm::any_of(states, [&](const StatePair &pair) {
    return values.lookup(pair.input) == input;
  });
}

/// Place p of a cache with `capacity` rows before the new ones, as a position.
Expected<Value> Importer::positionOf(const std::string &name,
                                     int64_t capacity) {
  Value &known = positions[{name, capacity}];
  if (known)
    return known;
  Expected<Value> place = lookup(name);
  if (!place || !*place)
    return place;
  Emitter e(builder, nameLoc(name), options.maxElements, model.budget,
            /*useHost=*/false);
  const Shape one(rankOf(*place), 1);
  Value moved =
      e.binary<nn::SubOp>(e.reshape(filledRows(), one),
                          e.integers(capacity, one, builder.getI64Type()));
  moved = e.binary<nn::AddOp>(*place, e.cast(moved, elementOf(*place)));
  Value old = e.compare(nn::CompareKind::Less, *place,
                        e.integers(capacity, one, elementOf(*place)));
  known = e.where(old, *place, moved);
  if (e.failed())
    return makeError(e.errorClass(), "'{}': {}", printable(name),
                     e.errorMessage());
  return known;
}

/// The argument that tells how many rows of the caches are filled, and the
/// number of the result that gives it back.
Value Importer::positionArgument(SmallVector<Value> &results,
                                 SmallVector<mlir::DictionaryAttr> &attributes,
                                 int64_t &index) {
  filledRows();
  index = llvm::find(results, position) - results.begin();
  if (index < static_cast<int64_t>(results.size()))
    return position;
  results.push_back(position);
  attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
      nn::nameAttr, builder.getStringAttr(freshName("kept_rows.used")))));
  return position;
}

/// Number of the result `value` as a position; one more is added for it.
int64_t Importer::positionResult(Value value, SmallVector<Value> &results,
                                 SmallVector<mlir::DictionaryAttr> &attributes,
                                 StringRef of) {
  results.push_back(value);
  attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
      nn::nameAttr, builder.getStringAttr(freshName(of.str() + ".position")))));
  return static_cast<int64_t>(results.size()) - 1;
}

Error Importer::keepStates(SmallVector<Value> &results,
                           SmallVector<mlir::DictionaryAttr> &attributes) {
  SmallVector<JoinedCache> caches;
  SmallVector<CacheShape> shapes;
  for (const StatePair &pair : states) {
    const auto &outputs = model.proto.graph().output();
    const auto index = static_cast<size_t>(
        llvm::find_if(outputs,
                      [&](const auto &o) { return o.name() == pair.output; }) -
        outputs.begin());
    auto past =
        mlir::dyn_cast_or_null<mlir::BlockArgument>(values.lookup(pair.input));
    if (!past)
      return makeError(ErrorClass::Usage,
                       "--state names input '{}', which --constant fixes",
                       printable(pair.input));
    Expected<StateUpdate> update =
        updateOf(pair, past, results[index], model.updates);
    if (!update)
      return update.takeError();
    int64_t place = -1;
    if (update->position)
      place =
          positionResult(update->position, results, attributes, pair.output);
    if (update->joined) {
      positionArgument(results, attributes, place);
      caches.push_back(
          {update->joined, update->axis, shapeOf(past)[update->axis]});
      shapes.push_back({pair.input, pair.output, update->axis,
                        static_cast<int64_t>(shapeOf(past).size()),
                        shapeOf(past)[update->axis]});
    }
    results[index] = update->rows;
    mlir::NamedAttrList list(attributes[index]);
    list.set(nn::keptAttr,
             nn::Kept{past.getArgNumber(), update->axis, place}.toAttribute(
                 builder.getContext()));
    attributes[index] = list.getDictionary(builder.getContext());
  }
  if (Error error = refuseCapacityAsData(
          model, shapes,
          [&](const std::string &name) { return integers(name); },
          neededPlaces))
    return error;
  if (Error error = maskUnfilled(caches, position, builder, model.budget))
    return error;
  if (!states.empty())
    (*module)->setAttr(
        nn::modelChecksumAttr,
        builder.getI64IntegerAttr(static_cast<int64_t>(model.checksum)));
  return Error::success();
}
