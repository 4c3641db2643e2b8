# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# lit configuration of the functional tests. Unit tests have their own suite in
# test/Unit. docs/TestingGuide.md lists the substitutions and features.

import glob
import importlib.util
import os
import shutil
import subprocess
import sys

import lit.formats

config.name = "Ashlar"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test", ".asm", ".td", ".onnxtxt"]
config.excludes = ["Inputs", "corpus", "CMakeLists.txt", "README.md"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.ashlar_obj_root, "test")

# The tools of this build come first, then FileCheck, not, split-file of the
# pinned LLVM; the rest of the caller's PATH serves cat, cmp and friends.
config.environment["PATH"] = os.path.pathsep.join(
    [config.ashlar_tools_dir, config.llvm_tools_dir, os.environ.get("PATH", "")]
)
# Captured variables end with their CHECK-LABEL and a prefix that no line uses
# is a mistake in the test.
config.environment["FILECHECK_OPTS"] = (
    "-enable-var-scope --allow-unused-prefixes=false"
)
# MLIR's allocator poisons what it has not handed out, but only where our build
# sees it: the dylib has no instrumentation and writes on.
config.environment["ASAN_OPTIONS"] = "allow_user_poisoning=0"
for name in ("HOME", "UBSAN_OPTIONS", "ASAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# Proofs are kept in the build, not in the home of whoever runs the tests.
config.environment["XDG_CACHE_HOME"] = os.path.join(
    config.ashlar_obj_root, "test", "cache")
# Bytecode of Python too: a test compiles no module that another has compiled, and
# the source tree stays as it is.
config.environment["PYTHONPYCACHEPREFIX"] = os.path.join(
    config.ashlar_obj_root, "test", "pycache")
config.environment["ASHLAR_BUILD"] = config.ashlar_obj_root

source_root = config.ashlar_src_root
reference = os.path.join(source_root, "test", "reference")
integration = os.path.join(source_root, "test", "Integration")
scripts = os.path.join(source_root, "tools", "scripts")

config.substitutions.append(("%python", config.python_executable))
config.substitutions.append(("%src_root", source_root))
config.substitutions.append(("%obj_root", config.ashlar_obj_root))
config.substitutions.append(("%reference", reference))
config.substitutions.append(("%integration", integration))
config.substitutions.append(("%scripts", scripts))
config.substitutions.append(("%demo", os.path.join(source_root, "tools", "demo-network")))
config.substitutions.append(("%testdata", config.onnx_testdata))
config.substitutions.append(("%llvm_tools", config.llvm_tools_dir))

# ASHLAR_VERIFY_ROUNDTRIP=1 turns every ashlar-opt of the suite into a check
# that what it prints parses back to the same module.
if os.environ.get("ASHLAR_VERIFY_ROUNDTRIP"):
    config.substitutions.append(
        (r"(?<![\w./-])ashlar-opt(?![\w.-])", "ashlar-opt --verify-roundtrip")
    )

# Features: what a test may REQUIRE. config.ashlar_feature_reasons says, for
# each one that is absent, why; the summary prints it next to every skip.
reasons = {}


def feature(name, present, reason):
    if present:
        config.available_features.add(name)
    else:
        reasons[name] = reason


# Trained networks with labelled inputs if they are there, else networks that the build
# drew with seeded weights: enough for tests that compare executions of one network.
models = os.environ.get("ASHLAR_MODELS", config.ashlar_models)
trained = os.path.isdir(os.path.join(models, "data"))
drawn = os.path.join(config.ashlar_obj_root, "drawn")
if not trained and os.path.exists(os.path.join(drawn, "load.py")):
    models = drawn
feature(
    "models",
    trained,
    "the trained models are not there (set ASHLAR_MODELS to their folder)",
)
feature(
    "networks",
    os.path.exists(os.path.join(models, "load.py")),
    "neither trained nor drawn networks are there (build the target ashlar-drawn)",
)
config.substitutions.append(("%models", models))
config.environment["ASHLAR_MODELS"] = models

ort = os.environ.get(
    "ASHLAR_ORT", os.path.join(config.ashlar_obj_root, "ort")
)
feature(
    "onnxruntime",
    os.path.exists(
        os.path.join(ort, "node_modules", "onnxruntime-node", "package.json")
    ),
    "onnxruntime-node is not installed in the build folder (needs npm and a network)",
)
config.substitutions.append(("%ort", ort))
config.environment["ASHLAR_ORT"] = ort

feature(
    "pybind11",
    bool(glob.glob(os.path.join(config.ashlar_obj_root, "python", "ashlar", "_ashlar.*.so"))),
    "pybind11-dev or python3-dev was not there when the build was configured",
)
feature(
    "dpkg-dev",
    shutil.which("dpkg-shlibdeps") is not None and shutil.which("cpack") is not None,
    "the Debian package dpkg-dev is not installed",
)
feature(
    "onnx-testdata",
    os.path.isdir(config.onnx_testdata),
    "the Debian package libonnx-testdata is not installed",
)
feature(
    "chromium",
    shutil.which("chromium") is not None,
    "the Debian package chromium is not installed",
)
feature(
    "sphinx",
    shutil.which("sphinx-build") is not None
    and importlib.util.find_spec("myst_parser") is not None,
    "the Debian packages python3-sphinx and python3-myst-parser are not installed",
)
sys.path.insert(0, config.test_source_root)
sys.dont_write_bytecode = True  # the source tree stays as it is
import probes  # noqa: E402


def first_line_of(*command):
    """What a probe says: why something cannot be done here, or nothing."""
    return subprocess.run([config.python_executable, *command], capture_output=True,
                          text=True).stdout.strip()


root_probe = os.path.join(config.test_source_root, "Api", "Root", "empty_root.py")
roots = os.path.join(config.ashlar_obj_root, "roots")
reason = probes.remembered(config.test_exec_root, "empty-root", [os.path.isdir(roots)],
                           lambda: first_line_of(root_probe, "--probe", roots))
feature("empty-root", not reason, reason)

slurm_probe = os.path.join(integration, "Sweeps", "slurm_node.py")
slurm_tools = [shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")
               for name in ("munged", "slurmctld", "slurmd", "sbatch")]
reason = "the Debian package slurm-wlm is not installed"
if all(slurm_tools):
    reason = probes.remembered(config.test_exec_root, "slurm", slurm_tools,
                               lambda: first_line_of(slurm_probe, "--temporary", "--probe"))
feature("slurm", not reason, reason)
witness = os.path.join(config.ashlar_obj_root, "rtl", "rtl-witness")
feature(
    "rtl",
    os.access(witness, os.X_OK),
    "Verilator was not found when the build was configured",
)
config.substitutions.append(("%rtl_witness", witness))
feature(
    "long",
    bool(os.environ.get("ASHLAR_TEST_LONG")),
    "only in the long run (tools/test --long)",
)
feature(
    "asan",
    "-fsanitize=address" in config.ashlar_cxx_flags,
    "only in a build of the asan preset",
)
feature(
    "clang-format",
    bool(config.clang_format) and not config.clang_format.endswith("NOTFOUND"),
    "clang-format-22 is not installed",
)
config.substitutions.append(("%clang_format", config.clang_format or "clang-format-22"))

# A tool that this configuration does not build takes its tests out of the run
# rather than failing them.
for tool in ("ashlarc", "ashlar-run", "ashlar-opt", "ashlar-as", "ashlar-dis",
             "ashlar-translate", "ashlar-tblgen", "ashlar-reduce",
             "ashlar-prune", "ashlar-tiles", "ashlar-lsp-server",
             "ashlar-reference", "ashlar-eval", "ashlar-sweep", "ashlar"):
    present = os.access(os.path.join(config.ashlar_tools_dir, tool), os.X_OK)
    feature(tool, present, "this build has no " + tool)

config.ashlar_feature_reasons = reasons
if reasons_file := os.environ.get("ASHLAR_SKIP_REASONS"):
    with open(reasons_file, "w", encoding="utf-8") as out:
        for name in sorted(reasons):
            out.write(f"{name}\t{reasons[name]}\n")
