// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ai.onnx.ml: preparation of features, and linear models.

#include "Scores.h"
#include "lib/Frontend/Onnx/Registry.h"

#include <cmath>

using namespace ashlar;
using namespace ashlar::frontend;
using namespace ashlar::nn;

Value ashlar::frontend::featuresOf(Node &n, bool keepDouble) {
  Value x = n.input(0);
  if (!x)
    return nullptr;
  if (rankOf(x) == 1)
    x = n.reshape(x, {1, shapeOf(x)[0]});
  if (rankOf(x) != 2)
    return n.unsupported("the features are {}, expected [N, C] or [C]",
                         typeText(x));
  if (keepDouble && elementOf(x).isF64())
    return x;
  return n.cast(x, mlir::Float32Type::get(n.context()));
}

Value ashlar::frontend::transformScores(Node &n, Value scores) {
  const std::string name = n.getString("post_transform", "NONE");
  if (!scores || name == "NONE")
    return scores;
  const bool softmax = name == "SOFTMAX", logistic = name == "LOGISTIC";
  if (!softmax && !logistic)
    return n.unsupported("post_transform is '{}', only NONE, SOFTMAX and "
                         "LOGISTIC are known",
                         printable(name));
  // Runtimes leave a single score as it is, ONNX does not say so.
  if (shapeOf(scores)[1] < 2)
    return n.unsupported("post_transform is {} for one score, which runtimes "
                         "leave out; use a node of its own",
                         name);
  return softmax ? n.softmax(scores, 1, /*logarithm=*/false)
                 : n.unary(UnaryFunction::Sigmoid, scores);
}

ClassLabels ashlar::frontend::readClassLabels(Node &n, StringRef integers) {
  ClassLabels labels;
  labels.numbers = n.getInts(integers);
  const std::vector<std::string> names = n.getStrings("classlabels_strings");
  labels.strings = !names.empty();
  labels.count = labels.strings ? names.size() : labels.numbers.size();
  if (names.empty() == labels.numbers.empty())
    n.malformed("there are {} labels in {} and {} in classlabels_strings, "
                "expected one list",
                labels.numbers.size(), integers.str(), names.size());
  else if (labels.strings && n.outputUsed(0))
    n.unsupported("the labels are strings; use the scores, output 1, or export "
                  "the model with integer labels");
  return labels;
}

void ashlar::frontend::setLargestLabel(Node &n, const ClassLabels &labels,
                                       Value scores) {
  if (labels.strings || !scores || n.failed())
    return;
  Value best = n.argReduce(ArgKind::Max, scores, 1, /*keepdims=*/false,
                           /*selectLast=*/false);
  const auto count = static_cast<int64_t>(labels.count);
  n.setOutput(0, takeRows(n, n.integers(labels.numbers, {count}, n.indexType()),
                          0, best));
}

void ashlar::frontend::setBinaryLabel(Node &n, const ClassLabels &labels,
                                      Value positive) {
  if (labels.strings || !positive || n.failed())
    return;
  Value label =
      n.where(positive, n.integers(labels.numbers[1], {}, n.indexType()),
              n.integers(labels.numbers[0], {}, n.indexType()));
  n.setOutput(0, n.reshape(label, {shapeOf(label)[0]}));
}

namespace {

/// One number, or one per feature.
Value perFeature(Node &n, ArrayRef<double> numbers, Value x, StringRef name) {
  if (!x)
    return nullptr;
  const auto count = static_cast<int64_t>(numbers.size());
  if (count != 1 && count != shapeOf(x)[1])
    return n.malformed("attribute '{}' has {} numbers for {} features",
                       name.str(), count, shapeOf(x)[1]);
  return n.floats(numbers, {count}, elementOf(x));
}

/// Sets output 0 in the shape of the input, of which x is the matrix.
void setLike(Node &n, Value y) {
  if (y)
    n.setOutput(0, n.reshape(y, shapeOf(n.input(0))));
}

void scaler(Node &n) {
  const SmallVector<double> offset = n.getFloats("offset"),
                            scale = n.getFloats("scale");
  Value x = featuresOf(n);
  Value centred = n.binary<SubOp>(x, perFeature(n, offset, x, "offset"));
  setLike(n, n.binary<MulOp>(centred, perFeature(n, scale, x, "scale")));
}

/// A row divided by its largest element or by its norm, unless that is 0.
void normalizer(Node &n) {
  const std::string norm = n.getString("norm", "MAX");
  Value x = featuresOf(n), size;
  if (norm == "MAX")
    size = n.reduce(ReduceKind::Max, x, {1}, true);
  else if (norm == "L1")
    size = n.reduce(ReduceKind::Sum, n.unary(UnaryFunction::Abs, x), {1}, true);
  else if (norm == "L2")
    size = n.unary(UnaryFunction::Sqrt,
                   n.reduce(ReduceKind::Sum, n.binary<MulOp>(x, x), {1}, true));
  else
    n.malformed("norm is '{}', expected MAX, L1 or L2", printable(norm));
  if (!size || n.failed())
    return;
  Value none = n.splat(0, elementOf(x));
  size = n.where(n.compare(CompareKind::Equal, size, none),
                 n.splat(1, elementOf(x)), size);
  setLike(n, n.binary<DivOp>(x, size));
}

void binarizer(Node &n) {
  const double threshold = n.getFloat("threshold", 0);
  Value x = n.input(0);
  if (!x)
    return;
  const Type element = elementOf(x);
  Value limit = isFloatElement(x)
                    ? n.splat(threshold, element)
                    : n.splat(threshold, mlir::Float32Type::get(n.context()));
  Value wide = isFloatElement(x) ? x : n.cast(x, elementOf(limit));
  n.setOutput(0, n.cast(n.compare(CompareKind::Greater, wide, limit), element));
}

/// Elements that are missing, NaN or a number, become the mean that was seen.
void imputer(Node &n) {
  const SmallVector<double> floats = n.getFloats("imputed_value_floats");
  const SmallVector<int64_t> integers = n.getInts("imputed_value_int64s");
  const double missing = n.getFloat("replaced_value_float", 0);
  const int64_t missingInteger = n.getInt("replaced_value_int64", 0);
  Value x = n.input(0);
  if (!x || n.failed())
    return;
  const bool isFloat = isFloatElement(x);
  const size_t count = isFloat ? floats.size() : integers.size();
  if (rankOf(x) != 2 || count == 0 ||
      (count != 1 && static_cast<int64_t>(count) != shapeOf(x)[1])) {
    n.malformed("there are {} imputed values for {}", count, typeText(x));
    return;
  }
  const Shape shape = {static_cast<int64_t>(count)};
  Value fill = isFloat ? n.floats(floats, shape, elementOf(x))
                       : n.integers(integers, shape, elementOf(x));
  Value gone;
  if (isFloat && std::isnan(missing))
    gone = n.unary(UnaryFunction::Not, n.compare(CompareKind::Equal, x, x));
  else
    gone = n.compare(CompareKind::Equal, x,
                     isFloat ? n.splat(missing, elementOf(x))
                             : n.integers(missingInteger, {}, elementOf(x)));
  n.setOutput(0, n.where(gone, fill, x));
}

void featureVectorizer(Node &n) {
  const SmallVector<int64_t> widths = n.getInts("inputdimensions");
  SmallVector<Value> parts;
  for (size_t i = 0; i < n.numInputs() && !n.failed(); ++i) {
    Value x = n.input(i);
    if (!x)
      return;
    if (rankOf(x) == 1)
      x = n.reshape(x, {shapeOf(x)[0], 1});
    if (rankOf(x) != 2 || (!widths.empty() && (i >= widths.size() ||
                                               shapeOf(x)[1] != widths[i]))) {
      n.malformed("operand {} is {}, expected a matrix of the columns that "
                  "inputdimensions states",
                  i, typeText(x));
      return;
    }
    parts.push_back(n.cast(x, mlir::Float32Type::get(n.context())));
  }
  n.setOutput(0, n.concat(parts, 1));
}

/// Elements of the last axis.
void arrayFeatureExtractor(Node &n) {
  Value x = n.input(0), indices = n.input(1);
  if (!x || !indices || n.failed())
    return;
  if (rankOf(x) == 0) {
    n.malformed("the operand is a scalar");
    return;
  }
  Value flat = n.reshape(indices, {elementCount(shapeOf(indices))});
  Value y = takeRows(n, x, rankOf(x) - 1, flat);
  // A vector gives a row.
  n.setOutput(0, y && rankOf(x) == 1 ? n.reshape(y, {1, shapeOf(y)[0]}) : y);
}

/// x * coefficients' + intercepts, [N, rows].
Value linearScores(Node &n, int64_t rows) {
  const SmallVector<double> coefficients = n.getFloats("coefficients"),
                            intercepts = n.getFloats("intercepts");
  Value x = featuresOf(n);
  if (!x || n.failed())
    return nullptr;
  const int64_t features = shapeOf(x)[1];
  if (rows < 1 || features < 1 ||
      static_cast<int64_t>(coefficients.size()) / features != rows ||
      static_cast<int64_t>(coefficients.size()) % features != 0 ||
      (!intercepts.empty() && static_cast<int64_t>(intercepts.size()) != rows))
    return n.malformed("{} coefficients and {} intercepts for {} features and "
                       "{} scores",
                       coefficients.size(), intercepts.size(), features, rows);
  SmallVector<double> columns(coefficients.size());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < features; ++i)
      columns[i * rows + row] = coefficients[row * features + i];
  Value y = n.matmul(x, n.floats(columns, {features, rows}, elementOf(x)));
  return intercepts.empty()
             ? y
             : n.binary<AddOp>(y, n.floats(intercepts, {rows}, elementOf(x)));
}

void linearRegressor(Node &n) {
  n.setOutput(0, transformScores(n, linearScores(n, n.getInt("targets", 1))));
}

/// A single score is that of the second of two classes.
void linearClassifier(Node &n) {
  const ClassLabels labels = readClassLabels(n, "classlabels_ints");
  n.ignore("multi_class"); // Scores are independent either way.
  const auto rows = static_cast<int64_t>(n.getFloats("intercepts").size());
  const bool binary = rows == 1 && labels.count == 2;
  if (!binary && rows != static_cast<int64_t>(labels.count))
    n.malformed("{} intercepts for {} labels", rows, labels.count);
  Value scores = linearScores(n, rows);
  if (!scores || n.failed())
    return;
  if (!binary) {
    setLargestLabel(n, labels, scores);
    n.setOutput(1, transformScores(n, scores));
    return;
  }
  if (n.getString("post_transform", "NONE") != "NONE") {
    n.unsupported("post_transform for one score of two classes");
    return;
  }
  setBinaryLabel(
      n, labels,
      n.compare(CompareKind::Greater, scores, n.splat(0, elementOf(scores))));
  n.setOutput(
      1,
      n.concat({n.binary<SubOp>(n.splat(1, elementOf(scores)), scores), scores},
               1));
}

} // namespace

std::vector<OperatorRow> ashlar::frontend::linearModelRows() {
  return {
      {"ArrayFeatureExtractor",
       {1},
       arrayFeatureExtractor,
       "one operation; indices as for Gather",
       mlDomain},
      {"Binarizer", {1}, binarizer, "a comparison", mlDomain},
      {"FeatureVectorizer", {1}, featureVectorizer, "one operation", mlDomain},
      {"Imputer", {1}, imputer, "a comparison and a choice", mlDomain},
      {"LinearClassifier",
       {1},
       linearClassifier,
       "a product and a sum; integer labels, post_transform NONE, SOFTMAX and "
       "LOGISTIC",
       mlDomain},
      {"LinearRegressor",
       {1},
       linearRegressor,
       "a product and a sum; post_transform NONE, SOFTMAX and LOGISTIC",
       mlDomain},
      {"Normalizer", {1}, normalizer, "a reduction and a division", mlDomain},
      {"Scaler", {1}, scaler, "a difference and a product", mlDomain},
  };
}
