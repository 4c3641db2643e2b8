// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments of ashlar-run and the fitting of arrays to a program's inputs.

#include "ashlar/Container/Container.h"
#include "ashlar/Report/Runner.h"
#include "ashlar/Support/Error.h"
#include "gtest/gtest.h"

using namespace ashlar;
using namespace ashlar::report;
using container::TensorBinding;
using support::ElementType;
using support::HostTensor;
using support::NamedTensor;

namespace {

const std::vector<TensorBinding> bindings = {{"x", ElementType::F32, {2, 3}, 0},
                                             {"k", ElementType::I64, {2}, 64}};

NamedTensor named(const char *name, ElementType type,
                  llvm::ArrayRef<int64_t> shape) {
  return {name, HostTensor::zeros(type, shape)};
}

template <typename T>
std::string messageOf(llvm::Expected<T> result, ErrorClass kind) {
  if (result)
    return "accepted";
  llvm::Error error = result.takeError();
  EXPECT_EQ(support::classify(error), kind);
  return llvm::toString(std::move(error));
}

} // namespace

TEST(Arguments, Forms) {
  RunOptions o = llvm::cantFail(parseRunArguments(
      {"p.ash", "--input", "a=b=f.npy", "--input=x=y.npy", "-threads=3",
       "--max-memory=2G", "--random-inputs", "7", "--atol=1e-3", "--quiet"}));
  EXPECT_EQ(o.program, "p.ash");
  ASSERT_EQ(o.inputFiles.size(), 2u);
  EXPECT_EQ(o.inputFiles[0].first, "a=b");
  EXPECT_EQ(o.inputFiles[0].second, "f.npy");
  EXPECT_EQ(o.threads, 3u);
  EXPECT_EQ(o.maxMemory, uint64_t(2) << 30);
  EXPECT_EQ(o.randomSeed, 7u);
  EXPECT_EQ(o.atol, 1e-3);
  EXPECT_TRUE(o.quiet);
}

TEST(Arguments, Errors) {
  const std::vector<std::vector<std::string>> bad = {
      {},
      {"a", "b"},
      {"a", "--nonsense"},
      {"a", "--threads=0"},
      {"a", "--threads=-1"},
      {"a", "--threads=1025"},
      {"a", "--threads"},
      {"a", "--atol=nan"},
      {"a", "--rtol=-1"},
      {"a", "--max-memory=12Q"},
      {"a", "--max-memory=99999999999G"},
      {"a", "--random-inputs=x"},
      {"a", "--input=x"},
      {"a", "--quiet=1"},
      {"a", "--outputs="},
      {"a", "--functional", "--trace=t"}};
  for (const auto &args : bad)
    EXPECT_NE(messageOf(parseRunArguments(args), ErrorClass::Usage), "accepted")
        << (args.empty() ? "" : args.back());
  EXPECT_EQ(
      messageOf(parseRunArguments({"a", "--threads=0"}), ErrorClass::Usage),
      "option --threads is '0', expected 1 to 1024");
}

TEST(BindInputs, ExactAndBatched) {
  InputSet one = llvm::cantFail(
      bindInputs(bindings, {named("k", ElementType::I64, {2}),
                            named("x", ElementType::F32, {2, 3})}));
  EXPECT_EQ(one.samples, 1u);
  EXPECT_EQ(one.tensors[0].type, ElementType::F32);
  InputSet three = llvm::cantFail(
      bindInputs(bindings, {named("k", ElementType::I64, {6}),
                            named("x", ElementType::F32, {6, 3})}));
  EXPECT_EQ(three.samples, 3u);
}

TEST(BindInputs, Errors) {
  const NamedTensor k = named("k", ElementType::I64, {2});
  auto with = [&](const NamedTensor &x) {
    return bindInputs(bindings, {k, x});
  };
  EXPECT_EQ(messageOf(with(named("x", ElementType::F64, {2, 3})),
                      ErrorClass::Malformed),
            "input 'x' is f64[2x3], expected f32[2x3] or a multiple of it on "
            "axis 0");
  for (llvm::SmallVector<int64_t> shape :
       {llvm::SmallVector<int64_t>{3, 3}, llvm::SmallVector<int64_t>{2, 4},
        llvm::SmallVector<int64_t>{6}, llvm::SmallVector<int64_t>{0, 3},
        llvm::SmallVector<int64_t>{4, 3}})
    EXPECT_NE(messageOf(with(named("x", ElementType::F32, shape)),
                        ErrorClass::Malformed),
              "accepted");
  EXPECT_NE(messageOf(bindInputs(bindings, {k}), ErrorClass::Usage)
                .find("no array for input 'x'; the program's inputs are:\n"
                      "  x  f32[2x3]\n  k  i64[2]"),
            std::string::npos);
  EXPECT_NE(
      messageOf(with(named("y", ElementType::F32, {2, 3})), ErrorClass::Usage)
          .find("no input 'y'"),
      std::string::npos);
  EXPECT_NE(messageOf(bindInputs(bindings, {k, k}), ErrorClass::Usage)
                .find("given twice"),
            std::string::npos);
}

TEST(Samples, SplitAndStack) {
  HostTensor batch = HostTensor::zeros(ElementType::U8, {4, 2});
  for (size_t i = 0; i < batch.data.size(); ++i)
    batch.data[i] = static_cast<uint8_t>(i);
  HostTensor stacked;
  for (uint64_t i = 0; i < 2; ++i) {
    HostTensor sample = sampleOf(batch, 2, i);
    EXPECT_EQ(sample.shape, (llvm::SmallVector<int64_t>{2, 2}));
    appendSample(stacked, sample, 2);
  }
  EXPECT_EQ(stacked, batch);
  HostTensor scalars;
  for (int i = 0; i < 3; ++i)
    appendSample(scalars, HostTensor::zeros(ElementType::F32, {}), 3);
  EXPECT_EQ(scalars.shape, (llvm::SmallVector<int64_t>{3}));
}

TEST(RandomInput, SeededByName) {
  const HostTensor a = randomInput(bindings[0], 1);
  EXPECT_EQ(a, randomInput(bindings[0], 1));
  EXPECT_NE(a, randomInput(bindings[0], 2));
  TensorBinding other = bindings[0];
  other.name = "z";
  EXPECT_NE(a, randomInput(other, 1));
  for (uint64_t i = 0; i < a.numElements(); ++i) {
    EXPECT_GE(a.asDouble(i), -1);
    EXPECT_LT(a.asDouble(i), 1);
  }
}

// Tables are read at them, and masks multiply them.
TEST(RandomInput, WideIntegersAreZeroOrOne) {
  for (ElementType type : {ElementType::I32, ElementType::I64, ElementType::U32,
                           ElementType::U64}) {
    TensorBinding binding = bindings[0];
    binding.type = type;
    binding.shape = {64};
    const HostTensor a = randomInput(binding, 1);
    double sum = 0;
    for (uint64_t i = 0; i < a.numElements(); ++i) {
      EXPECT_TRUE(a.asDouble(i) == 0 || a.asDouble(i) == 1);
      sum += a.asDouble(i);
    }
    EXPECT_GT(sum, 0);
    EXPECT_LT(sum, 64);
  }
}

TEST(TopValues, PerSample) {
  HostTensor t = HostTensor::zeros(ElementType::U8, {2, 3});
  t.data = {5, 9, 9, 1, 0, 2};
  EXPECT_EQ(topValues(t, "y", 2), "output 'y' u8[2x3]\n"
                                  "  sample 0: [0,1]=9 [0,2]=9 [0,0]=5\n"
                                  "  sample 1: [0,2]=2 [0,0]=1 [0,1]=0\n");
}
