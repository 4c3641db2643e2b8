// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which program of several runs, and on what.

#include "lib/Report/Buckets/Buckets.h"
#include "ashlar/Support/Error.h"

#include "gtest/gtest.h"

#include <cstring>
#include <numeric>

using namespace ashlar;
using namespace ashlar::report;
using support::ElementType;
using support::HostTensor;
using support::NamedTensor;

namespace {

container::Program program(int64_t size, bool mask = true) {
  container::Program result;
  result.modelName = std::to_string(size);
  result.inputs.push_back({"ids", ElementType::I32, {1, size}});
  if (mask)
    result.inputs.push_back({"attention_mask", ElementType::I32, {1, size}});
  result.inputs.push_back({"scale", ElementType::I32, {2}});
  result.outputs.push_back({"hidden", ElementType::I32, {1, 2, size, 2}});
  result.outputs.push_back({"pooled", ElementType::I32, {1, 3}});
  return result;
}

NamedTensor counted(const std::string &name, llvm::SmallVector<int64_t> shape) {
  HostTensor tensor = HostTensor::zeros(ElementType::I32, shape);
  std::vector<int32_t> values(tensor.numElements());
  std::iota(values.begin(), values.end(), 1);
  std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  return {name, tensor};
}

std::vector<int32_t> valuesOf(const HostTensor &tensor) {
  std::vector<int32_t> values(tensor.numElements());
  std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

std::vector<container::Program> programs() {
  std::vector<container::Program> list;
  for (int64_t size : {4, 16, 8})
    list.push_back(program(size));
  return list;
}

TEST(Buckets, SmallestThatFitsWithZeros) {
  std::vector<NamedTensor> arrays = {counted("ids", {1, 6}),
                                     counted("attention_mask", {1, 6}),
                                     counted("scale", {2})};
  auto buckets = llvm::cantFail(Buckets::choose(programs(), arrays));
  EXPECT_EQ(buckets.program.modelName, "8");
  const std::vector<int32_t> filled = {1, 2, 3, 4, 5, 6, 0, 0};
  EXPECT_EQ(valuesOf(arrays[0].tensor), filled);
  EXPECT_EQ(valuesOf(arrays[1].tensor), filled);
  EXPECT_EQ(arrays[2].tensor.shape[0], 2);
  EXPECT_EQ(buckets.note, "the program for 8 runs on 6 elements and 2 zeros");
  EXPECT_TRUE(buckets.warning.empty());
  std::vector<NamedTensor> outputs = {counted("hidden", {1, 2, 8, 2}),
                                      counted("pooled", {1, 3})};
  buckets.cut(outputs);
  EXPECT_EQ(outputs[0].tensor.shape[2], 6);
  std::vector<int32_t> kept(24);
  std::iota(kept.begin(), kept.begin() + 12, 1);
  std::iota(kept.begin() + 12, kept.end(), 17);
  EXPECT_EQ(valuesOf(outputs[0].tensor), kept);
  EXPECT_EQ(valuesOf(outputs[1].tensor), (std::vector<int32_t>{1, 2, 3}));
}

TEST(Buckets, SizesThatAreThereStayAsTheyAre) {
  std::vector<NamedTensor> arrays = {counted("ids", {1, 16}),
                                     counted("attention_mask", {1, 16})};
  auto buckets = llvm::cantFail(Buckets::choose(programs(), arrays));
  EXPECT_EQ(buckets.program.modelName, "16");
  EXPECT_TRUE(buckets.note.empty());
}

TEST(Buckets, WithoutArraysTheLargest) {
  std::vector<NamedTensor> arrays;
  auto buckets = llvm::cantFail(Buckets::choose(programs(), arrays));
  EXPECT_EQ(buckets.program.modelName, "16");
}

TEST(Buckets, WithoutMaskAWarning) {
  std::vector<container::Program> list;
  list.push_back(program(4, /*mask=*/false));
  list.push_back(program(8, /*mask=*/false));
  std::vector<NamedTensor> arrays = {counted("ids", {1, 3})};
  auto buckets = llvm::cantFail(Buckets::choose(std::move(list), arrays));
  EXPECT_NE(buckets.warning.find("no input called mask"), std::string::npos);
}

TEST(Buckets, Refusals) {
  auto refusal = [](std::vector<container::Program> list,
                    std::vector<NamedTensor> arrays) {
    auto result = Buckets::choose(std::move(list), arrays);
    EXPECT_FALSE(static_cast<bool>(result));
    return result ? ErrorClass::Internal
                  : support::classify(result.takeError());
  };
  EXPECT_EQ(refusal(programs(), {counted("ids", {1, 17})}),
            ErrorClass::Malformed);
  EXPECT_EQ(refusal(programs(), {counted("ids", {1, 6}),
                                 counted("attention_mask", {1, 7})}),
            ErrorClass::Malformed);
  std::vector<container::Program> other = programs();
  other[1].inputs[0].name = "tokens";
  EXPECT_EQ(refusal(std::move(other), {}), ErrorClass::Malformed);
  // An output that is not as long as the dimension cannot be cut.
  std::vector<container::Program> longer = programs();
  for (container::Program &one : longer)
    ++one.outputs[0].shape[2];
  EXPECT_EQ(refusal(std::move(longer), {counted("ids", {1, 6})}),
            ErrorClass::Unsupported);
}

} // namespace
