// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files that are read in parts, and those that change meanwhile.

#include "ashlar/Support/StableFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

#include <cstdio>
#include <string>
#include <unistd.h>

using namespace ashlar;
using support::StableFile;

namespace {

class StableFileTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("stable", "bin", path));
    write("0123456789");
  }
  void TearDown() override { llvm::sys::fs::remove(path); }

  void write(const std::string &text) {
    FILE *file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr);
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
  }

  llvm::SmallString<128> path;
};

TEST_F(StableFileTest, ReadsParts) {
  auto file = llvm::cantFail(StableFile::open(path));
  EXPECT_EQ(file->size(), 10u);
  char bytes[4];
  EXPECT_TRUE(file->read(3, bytes));
  EXPECT_EQ(llvm::StringRef(bytes, 4), "3456");
  EXPECT_FALSE(llvm::errorToBool(file->check()));
}

TEST_F(StableFileTest, ShorterFileIsAnError) {
  auto file = llvm::cantFail(StableFile::open(path));
  ASSERT_EQ(::truncate(path.c_str(), 5), 0);
  char bytes[4];
  EXPECT_FALSE(file->read(3, bytes));
  llvm::Error error = file->check();
  EXPECT_EQ(support::classify(error), ErrorClass::Malformed);
  EXPECT_NE(
      llvm::toString(std::move(error))
          .find("changed while it was read: it had 10 bytes, now it has 5"),
      std::string::npos);
}

TEST_F(StableFileTest, ReadBehindTheEndStaysAnError) {
  auto file = llvm::cantFail(StableFile::open(path));
  char bytes[4];
  EXPECT_FALSE(file->read(8, bytes));
  EXPECT_TRUE(llvm::errorToBool(file->check()));
}

TEST_F(StableFileTest, LongerFileIsAnError) {
  auto file = llvm::cantFail(StableFile::open(path));
  write("0123456789ab");
  EXPECT_TRUE(llvm::errorToBool(file->check()));
}

TEST_F(StableFileTest, FileThatAnotherReplacesIsStillThere) {
  auto file = llvm::cantFail(StableFile::open(path));
  ASSERT_FALSE(llvm::sys::fs::remove(path));
  write("another");
  char bytes[10];
  EXPECT_TRUE(file->read(0, bytes));
  EXPECT_EQ(llvm::StringRef(bytes, 10), "0123456789");
  EXPECT_FALSE(llvm::errorToBool(file->check()));
}

TEST_F(StableFileTest, OnlyRegularFiles) {
  for (const char *name : {"/", "/nothing/here"}) {
    auto file = StableFile::open(name);
    ASSERT_FALSE(static_cast<bool>(file));
    EXPECT_EQ(support::classify(file.takeError()), ErrorClass::Malformed);
  }
}

} // namespace
