// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the option files of all tools share. A tool's file is the only place
// that lists its options: the parser, --help, suggestions, man pages and
// completions come from it.

#ifndef ASHLAR_SUPPORT_OPTIONS_TD
#define ASHLAR_SUPPORT_OPTIONS_TD

include "llvm/Option/OptParser.td"

// What a value is to the file system (ashlar/Support/FileUse.h).
def Reads : OptionFlag;
def ReadsNamed : OptionFlag;
def Writes : OptionFlag;
def ReadsDump : OptionFlag;
def WritesDump : OptionFlag;
// An option of the tool that the libraries (docs/Api.md) do not have.
def ToolOnly : OptionFlag;

// A group of --help. Groups are printed in the order of their numbers.
class HelpGroup<int order, string title> : OptionGroup<!cast<string>(order)> {
  let HelpText = title;
}

def general_group : HelpGroup<9, "general options">;

// --name
class Switch<string name> : Flag<["--", "-"], name>;

// --name=WHAT or --name WHAT
multiclass Value<string name> {
  def NAME : Joined<["--", "-"], name # "=">;
  def NAME # _separate : Separate<["--", "-"], name>,
                         Alias<!cast<Option>(NAME)>;
}

// -l WHAT or -l=WHAT
multiclass Letter<string name> {
  def NAME : Separate<["-", "--"], name>;
  def NAME # _joined : Joined<["-", "--"], name # "=">,
                       Alias<!cast<Option>(NAME)>;
}

def help : Switch<"help">, HelpText<"print this">, Group<general_group>,
           Flags<[ToolOnly]>;
def help_letter : Flag<["-"], "h">, Alias<help>;
def version : Switch<"version">, HelpText<"print the version">,
              Group<general_group>, Flags<[ToolOnly]>;

#endif // ASHLAR_SUPPORT_OPTIONS_TD
