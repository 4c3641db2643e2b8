// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models whose large tensors stay in their files, and constants that are made
// when they are read.

#include "lib/Frontend/Onnx/Files/TensorFiles.h"
#include "dialects/NN/NNDeferred.h"
#include "dialects/NN/NNDialect.h"
#include "dialects/NN/NNElements.h"
#include "lib/Frontend/Onnx/Tensors.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <unistd.h>

using namespace ashlar;
using namespace ashlar::frontend;

namespace {

constexpr size_t kCount = 20000;

class TensorFilesTest : public testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<nn::NNDialect>();
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tensors", folder));
    for (size_t i = 0; i < kCount; ++i)
      values.push_back(static_cast<float>(i) / 8);
    bytes.assign(reinterpret_cast<const char *>(values.data()),
                 values.size() * sizeof(float));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string write(llvm::StringRef name, const std::string &content) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    FILE *file = std::fopen(path.c_str(), "w");
    EXPECT_NE(file, nullptr);
    std::fwrite(content.data(), 1, content.size(), file);
    std::fclose(file);
    return path.str().str();
  }

  static onnx::TensorProto floats(llvm::StringRef name, size_t count) {
    onnx::TensorProto tensor;
    tensor.set_name(name.str());
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(static_cast<int64_t>(count));
    return tensor;
  }

  onnx::TensorProto external() {
    write("weights", std::string(64, 'x') + bytes);
    onnx::TensorProto tensor = floats("w", kCount);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    for (auto [key, value] :
         {std::pair{"location", "weights"}, std::pair{"offset", "64"}}) {
      onnx::StringStringEntryProto *entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    return tensor;
  }

  mlir::MLIRContext context;
  llvm::SmallString<128> folder;
  std::vector<float> values;
  std::string bytes;
};

/// All of a message but the raw data of large initialisers is there, and these
/// are where the skimmed model says.
TEST_F(TensorFilesTest, SkimmedModelIsTheModel) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("somebody");
  onnx::GraphProto &graph = *model.mutable_graph();
  for (int i = 0; i < 4; ++i) {
    onnx::TensorProto &tensor = *graph.add_initializer();
    const size_t count = i % 2 ? 3 : kCount;
    tensor = floats("t" + std::to_string(i), count);
    tensor.set_raw_data(bytes.substr(0, count * sizeof(float)));
    tensor.set_doc_string("after the data");
  }
  graph.add_node()->set_op_type("Relu");
  graph.add_output()->set_name("y");
  const std::string text = model.SerializeAsString();
  auto file =
      llvm::cantFail(support::StableFile::open(write("model.onnx", text)));
  auto skimmed = skimModel(*file);
  ASSERT_TRUE(skimmed);
  EXPECT_LT(skimmed->message.size(), 1000u);
  ASSERT_EQ(skimmed->large.size(), 2u);
  onnx::ModelProto back;
  ASSERT_TRUE(back.ParseFromString(skimmed->message));
  for (const SkimmedModel::Large &large : skimmed->large) {
    std::string raw(large.bytes, '\0');
    ASSERT_TRUE(file->read(large.offset, {raw.data(), raw.size()}));
    back.mutable_graph()
        ->mutable_initializer(static_cast<int>(large.initializer))
        ->set_raw_data(raw);
  }
  EXPECT_EQ(back.SerializeAsString(), text);
}

/// Whatever is no such message is for the parser to refuse.
TEST_F(TensorFilesTest, SkimmingNeverReadsOutsideTheFile) {
  onnx::ModelProto model;
  onnx::TensorProto &tensor = *model.mutable_graph()->add_initializer();
  tensor.set_raw_data(bytes);
  const std::string text = model.SerializeAsString();
  for (size_t length : {0ul, 1ul, 3ul, 7ul, 12ul, 5000ul, text.size() - 1}) {
    auto file = llvm::cantFail(
        support::StableFile::open(write("short", text.substr(0, length))));
    EXPECT_EQ(skimModel(*file).has_value(), length == 0) << length;
  }
  for (unsigned i = 0; i < 12; ++i)
    for (int flip : {1, 8, 0x80}) {
      std::string changed = text.substr(0, 9000);
      changed[i] = static_cast<char>(changed[i] ^ flip);
      auto file =
          llvm::cantFail(support::StableFile::open(write("flip", changed)));
      (void)skimModel(*file);
    }
}

TEST_F(TensorFilesTest, ExternalDataIsReadWhenItIsAsked) {
  onnx::TensorProto tensor = external();
  TensorFiles files(folder);
  auto &deferred = nn::DeferredElements::of(&context);
  deferred.setEnabled(true);
  auto elements =
      llvm::cantFail(convertTensor(tensor, files, "w", 1 << 28, &context));
  EXPECT_TRUE(nn::hasElements(elements));
  EXPECT_EQ(nn::floatElements(elements), values);
  auto scaled = nn::scaledElements(elements, {2, 0.5}, 3, "scaled");
  std::vector<float> wanted = values;
  for (size_t i = 0; i < kCount; ++i)
    wanted[i] *= i / 3 % 2 ? 0.5f : 2.0f;
  EXPECT_EQ(nn::floatElements(scaled), wanted);
  auto columns = nn::scaledElements(scaled, {1, 2, 3, 4, 5}, 1, "columns");
  for (size_t i = 0; i < kCount; ++i)
    wanted[i] *= static_cast<float>(1 + i % 5);
  nn::ElementStorage storage;
  auto raw = nn::rawElements(columns, storage);
  ASSERT_TRUE(raw);
  EXPECT_EQ(std::memcmp(raw->data(), wanted.data(), raw->size()), 0);
  EXPECT_FALSE(llvm::errorToBool(deferred.runChecks()));
}

/// A part has the bytes that the whole has there, wherever runs of a factor
/// begin; factors that binary32 does not have round once.
TEST_F(TensorFilesTest, PartsOfScaledConstants) {
  onnx::TensorProto tensor = external();
  TensorFiles files(folder);
  nn::DeferredElements::of(&context).setEnabled(true);
  auto elements =
      llvm::cantFail(convertTensor(tensor, files, "w", 1 << 28, &context));
  for (int64_t run : {1, 3, 64})
    for (double factor : {0.75, 1.0 / 3}) {
      auto scaled = nn::scaledElements(elements, {factor, 2, 5}, run, "scaled");
      const std::vector<float> whole = nn::floatElements(scaled);
      const double factors[] = {factor, 2, 5};
      for (size_t i = 0; i < kCount; ++i)
        ASSERT_EQ(whole[i],
                  static_cast<float>(values[i] * factors[i / run % 3]))
            << i;
      for (size_t first : {size_t(0), size_t(1), size_t(100), kCount - 7}) {
        std::vector<float> part(7);
        ASSERT_TRUE(nn::copyPart(
            scaled, first * sizeof(float),
            {reinterpret_cast<char *>(part.data()), 7 * sizeof(float)}));
        EXPECT_EQ(llvm::ArrayRef(part), llvm::ArrayRef(whole).slice(first, 7))
            << run << " " << first;
      }
    }
}

TEST_F(TensorFilesTest, FactsOfConstants) {
  auto type =
      mlir::RankedTensorType::get({1 << 15}, mlir::Float32Type::get(&context));
  auto factsWith = [&](float odd) {
    std::vector<float> numbers(1 << 15, 1.5f);
    numbers[12345] = odd;
    return *nn::factsOf(nn::makeElements(
        type,
        std::string(reinterpret_cast<const char *>(numbers.data()),
                    numbers.size() * sizeof(float)),
        "facts"));
  };
  EXPECT_FALSE(factsWith(1).hasZeros);
  EXPECT_TRUE(factsWith(0.0f).hasZeros);
  EXPECT_TRUE(factsWith(-0.0f).hasZeros);
  EXPECT_FALSE(factsWith(0x1p-149f).hasZeros);
  EXPECT_TRUE(factsWith(-0.0f).isFinite);
  EXPECT_FALSE(factsWith(std::numeric_limits<float>::infinity()).isFinite);
  EXPECT_FALSE(factsWith(std::numeric_limits<float>::quiet_NaN()).isFinite);
  auto splatOf = [&](float value) {
    return llvm::cast<mlir::ElementsAttr>(
        mlir::DenseElementsAttr::get(type, value));
  };
  EXPECT_TRUE(nn::factsOf(splatOf(0))->hasZeros);
  std::vector<char> part(5);
  ASSERT_TRUE(nn::copyPart(splatOf(1), 2, part));
  EXPECT_EQ(part, (std::vector<char>{char(0x80), 0x3f, 0, 0, char(0x80)}));
}

TEST_F(TensorFilesTest, FileThatBecameShorter) {
  onnx::TensorProto tensor = external();
  TensorFiles files(folder);
  auto &deferred = nn::DeferredElements::of(&context);
  deferred.setEnabled(true);
  auto elements =
      llvm::cantFail(convertTensor(tensor, files, "w", 1 << 28, &context));
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "weights");
  ASSERT_EQ(::truncate(path.c_str(), 100), 0);
  EXPECT_TRUE(nn::floatElements(elements).empty());
  nn::ElementStorage storage;
  EXPECT_FALSE(nn::rawElements(elements, storage));
  llvm::Error error = deferred.runChecks();
  EXPECT_EQ(support::classify(error), ErrorClass::Malformed);
  EXPECT_NE(llvm::toString(std::move(error)).find("changed while it was read"),
            std::string::npos);
}

/// A module that may be printed has its elements.
TEST_F(TensorFilesTest, WithoutDeferringElementsAreThere) {
  onnx::TensorProto tensor = external();
  TensorFiles files(folder);
  auto elements =
      llvm::cantFail(convertTensor(tensor, files, "w", 1 << 28, &context));
  auto resource = llvm::cast<mlir::DenseResourceElementsAttr>(elements);
  ASSERT_NE(resource.getRawHandle().getBlob(), nullptr);
  EXPECT_EQ(resource.getRawHandle().getBlob()->getData().size(), bytes.size());
}

} // namespace
