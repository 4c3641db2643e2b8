// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text to tokens, and draws of tokens.

#include "ashlar/Support/Error.h"
#include "lib/Report/Generate/Sampler.h"
#include "lib/Report/Generate/Tokenizer.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstdio>
#include <limits>

using namespace ashlar;
using namespace ashlar::report;

namespace {

using Tokens = std::vector<int64_t>;

llvm::Expected<Tokenizer> read(const std::string &text) {
  llvm::SmallString<128> path;
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("tokenizer", "json", path));
  FILE *file = std::fopen(path.c_str(), "w");
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
  auto result = Tokenizer::read(path);
  llvm::sys::fs::remove(path);
  return result;
}

/// Letters first, then what merges make, in the order of the merges. A space is
/// the letter U+0120, a newline U+010A.
std::string bytePairs(const std::string &before, const std::string &merges) {
  return R"({"added_tokens": [{"id": 20, "content": "<end>"},
                              {"id": 21, "content": "<end>!"}],
   "pre_tokenizer": {"type": "ByteLevel", )" +
         before + R"(},
   "model": {"vocab": {"h": 0, "e": 1, "l": 2, "o": 3, "\u0120": 4, "1": 5,
     "2": 6, "'": 7, "s": 8, "\u010a": 9, "ll": 10, "he": 11, "hell": 12,
     "hello": 13, "\u0120h": 14, "\u0120he": 15, "\u0120hell": 16, "12": 17,
     "'s": 18, "\u0120\u0120": 19, "<end>": 20, "<end>!": 21},
   "merges": [)" +
         merges + "]}}";
}

constexpr const char *kMerges =
    R"("l l", "h e", "he ll", "hell o", "\u0120 h", "\u0120h e", "\u0120he ll",
       "1 2", "' s", "\u0120 \u0120")";

Tokenizer pairs(const std::string &before) {
  return llvm::cantFail(read(bytePairs(before, kMerges)));
}

TEST(BytePairTokenizer, JoinsByRank) {
  Tokenizer tokenizer = pairs(R"("add_prefix_space": false)");
  auto encode = [&](llvm::StringRef text) {
    return llvm::cantFail(tokenizer.encode(text));
  };
  EXPECT_EQ(encode("hello"), (Tokens{13}));
  // "h e" has a better rank than "U+0120 h": the word is U+0120, he, ll, o.
  EXPECT_EQ(encode("hello hello"), (Tokens{13, 4, 13}));
  EXPECT_EQ(encode("lll"), (Tokens{10, 2}));
  EXPECT_EQ(encode("llll"), (Tokens{10, 10}));
  EXPECT_EQ(encode("ehl"), (Tokens{1, 0, 2}));
  EXPECT_EQ(encode(""), Tokens());
}

TEST(BytePairTokenizer, WordsAreCutFirst) {
  Tokenizer tokenizer = pairs(R"("add_prefix_space": false)");
  auto encode = [&](llvm::StringRef text) {
    return llvm::cantFail(tokenizer.encode(text));
  };
  // A digit ends a word, and a contraction is one of its own.
  EXPECT_EQ(encode("he12he"), (Tokens{11, 17, 11}));
  EXPECT_EQ(encode("he's"), (Tokens{11, 18}));
  // The last space belongs to the word.
  EXPECT_EQ(encode("o   h"), (Tokens{3, 19, 14}));
  EXPECT_EQ(encode("o  "), (Tokens{3, 19}));
  EXPECT_EQ(encode("o\nh"), (Tokens{3, 9, 0}));
}

TEST(BytePairTokenizer, OptionsOfTheFile) {
  EXPECT_EQ(llvm::cantFail(pairs(R"("add_prefix_space": true)").encode("h")),
            (Tokens{14}));
  // Without words merges reach over spaces and digits.
  Tokenizer whole = pairs(R"("add_prefix_space": false, "use_regex": false)");
  EXPECT_EQ(llvm::cantFail(whole.encode("o   h")), (Tokens{3, 19, 14}));
  const std::string newer = R"(["l", "l"], ["h", "e"])";
  Tokenizer both =
      llvm::cantFail(read(bytePairs(R"("add_prefix_space": false)", newer)));
  EXPECT_EQ(llvm::cantFail(both.encode("hello")), (Tokens{11, 10, 3}));
}

TEST(BytePairTokenizer, AddedTokensComeFirst) {
  Tokenizer tokenizer = pairs(R"("add_prefix_space": false)");
  EXPECT_EQ(llvm::cantFail(tokenizer.encode("he<end>!<end>he")),
            (Tokens{11, 21, 20, 11}));
}

TEST(BytePairTokenizer, TextComesBack) {
  Tokenizer tokenizer = pairs(R"("add_prefix_space": false)");
  const std::string text = "hello  hell 12's\n<end>";
  std::string back;
  for (int64_t token : llvm::cantFail(tokenizer.encode(text)))
    back += tokenizer.decode(token).value();
  EXPECT_EQ(back, text);
  EXPECT_FALSE(tokenizer.decode(22));
  EXPECT_FALSE(tokenizer.decode(-1));
}

TEST(BytePairTokenizer, Refusals) {
  Tokenizer tokenizer = pairs(R"("add_prefix_space": false)");
  auto kind = [](auto result) { return support::classify(result.takeError()); };
  EXPECT_EQ(kind(tokenizer.encode("z")), ErrorClass::Malformed);
  EXPECT_EQ(kind(tokenizer.encode("h\xc3\xa9")), ErrorClass::Unsupported);
  const std::string before = R"("add_prefix_space": false)";
  EXPECT_EQ(kind(read(bytePairs(before, R"("ll")"))), ErrorClass::Malformed);
  EXPECT_EQ(kind(read(bytePairs(before, "7"))), ErrorClass::Malformed);
  EXPECT_EQ(kind(read(R"({"model": {"vocab": {"a": 0}}})")),
            ErrorClass::Unsupported);
  EXPECT_EQ(kind(read("[]")), ErrorClass::Malformed);
  EXPECT_EQ(kind(read(R"(["a", 7])")), ErrorClass::Malformed);
}

TEST(Sampler, GreedyTakesTheFirstLargest) {
  Sampler sampler(0, 0, 1);
  const double nan = std::nan("");
  EXPECT_EQ(sampler.next({1, 3, 3, 2}), 1);
  EXPECT_EQ(sampler.next({nan, -1, nan, 0}), 3);
  EXPECT_EQ(sampler.next({nan}), 0);
}

TEST(Sampler, DrawsHaveTheProbabilitiesOfTheLogits) {
  const std::vector<double> shares = {0.5, 0.05, 0.3, 0.15};
  for (double temperature : {1.0, 2.0}) {
    std::vector<double> logits, expected;
    double sum = 0;
    for (double share : shares) {
      logits.push_back(std::log(share) + 7);
      sum += expected.emplace_back(std::pow(share, 1 / temperature));
    }
    Sampler sampler(temperature, 0, 42);
    constexpr int count = 40000;
    std::vector<double> found(shares.size());
    for (int i = 0; i < count; ++i)
      ++found[static_cast<size_t>(sampler.next(logits))];
    for (size_t i = 0; i < shares.size(); ++i) {
      const double p = expected[i] / sum;
      EXPECT_NEAR(found[i] / count, p, 4 * std::sqrt(p * (1 - p) / count)) << i;
    }
  }
}

TEST(Sampler, TopKLeavesTheOthersOut) {
  Sampler sampler(5, 2, 3);
  std::vector<int> found(4);
  for (int i = 0; i < 2000; ++i)
    ++found[static_cast<size_t>(sampler.next({1, 2, 4, 3}))];
  EXPECT_EQ(found[0], 0);
  EXPECT_EQ(found[1], 0);
  EXPECT_GT(found[2], 1000);
  EXPECT_GT(found[3], 700);
}

TEST(Sampler, SeedsAndSpecialLogits) {
  const std::vector<double> logits = {0, 0.5, 1, 0.2, 0.9};
  auto draws = [&](uint64_t seed) {
    Sampler sampler(1, 0, seed);
    Tokens tokens;
    for (int i = 0; i < 50; ++i)
      tokens.push_back(sampler.next(logits));
    return tokens;
  };
  EXPECT_EQ(draws(5), draws(5));
  EXPECT_NE(draws(5), draws(6));
  Sampler sampler(1, 0, 9);
  const double infinite = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 100; ++i) {
    const int64_t token = sampler.next({-infinite, 1, std::nan(""), 0});
    EXPECT_TRUE(token == 1 || token == 3) << token;
  }
}

} // namespace
