// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How commands end, and where their text goes.

#include "ashlar/Support/Subprocess.h"
#include "ashlar/Support/FileIO.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

#include <chrono>
#include <thread>

using namespace ashlar::support;

namespace {

class SubprocessTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("subprocess", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string file(const char *name) {
    return (folder.str() + "/" + name).str();
  }
  ProcessEnd run(const std::string &command, double seconds = 30) {
    auto end = runShell(command, file("out"), file("err"), seconds);
    EXPECT_TRUE(!!end);
    return end ? *end : ProcessEnd();
  }
  std::string text(const char *name) {
    auto buffer = readFile(file(name));
    return buffer ? (*buffer)->getBuffer().str()
                  : llvm::toString(buffer.takeError());
  }

  llvm::SmallString<128> folder;
};

TEST_F(SubprocessTest, ExitCode) {
  EXPECT_TRUE(run("true").succeeded());
  EXPECT_EQ(run("exit 3").code, 3);
  EXPECT_EQ(describe(run("exit 3")), "exit code 3");
}

TEST_F(SubprocessTest, SignalCountsAsInAShell) {
  ProcessEnd end = run("kill -SEGV $$");
  EXPECT_EQ(end.code, 139);
  EXPECT_EQ(describe(end), "signal 11");
  EXPECT_EQ(end, run("sh -c 'kill -SEGV $$'; exit $?"));
}

TEST_F(SubprocessTest, StreamsAreApart) {
  run("echo one; echo two >&2; cat");
  EXPECT_EQ(text("out"), "one\n");
  EXPECT_EQ(text("err"), "two\n");
}

TEST_F(SubprocessTest, CommandBeginsWhenItsGroupIsKnown) {
  const std::string marker = file("marker");
  int calls = 0;
  auto started = [&](pid_t group) {
    ++calls;
    if (group == 0)
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_FALSE(llvm::sys::fs::exists(marker));
  };
  auto end = runShell(": > " + marker + "; test ! -e /dev/fd/3", file("out"),
                      file("err"), 30, started);
  ASSERT_TRUE(!!end);
  EXPECT_TRUE(end->succeeded());
  EXPECT_TRUE(llvm::sys::fs::exists(marker));
  EXPECT_EQ(calls, 2);
}

TEST_F(SubprocessTest, TimeLimitEndsTheWholeGroup) {
  const auto begin = std::chrono::steady_clock::now();
  ProcessEnd end = run("sleep 60 | cat", 0.2);
  EXPECT_TRUE(end.timedOut);
  EXPECT_EQ(describe(end), "no end within the time limit");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_NE(end, run("true"));
}

} // namespace
