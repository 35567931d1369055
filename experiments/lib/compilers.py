# SPDX-License-Identifier: Apache-2.0
"""Engines in a Python environment of their own, which experiments/inference-cpu/compilers.py makes: TVM and IREE, which
compile a model before they run it, and PyTorch 2, since Debian has an older one. The sessions are those of lib/peers.py,
and run in that environment.

Sizes are fixed when inputs are bound, and the model is compiled then, for this processor.
"""
import functools
import os
import pathlib
import subprocess
import sys
import tempfile

ENVIRONMENTS = pathlib.Path(__file__).resolve().parents[2] / "build" / "peers"
SECONDS = float(os.environ.get("EGRET_PEER_SECONDS", "300"))  # for all of a compilation


def interpreter(name):
    return ENVIRONMENTS / name / "bin" / "python"


def interpreter_of(engine):
    """That of its environment. PyTorch without one is what this Python finds."""
    own = interpreter(ENVIRONMENT_OF.get(engine, engine))
    return own if engine in COMPILERS or own.exists() else pathlib.Path(sys.executable)


@functools.cache
def version(name):
    """Of an environment's engine, or "not installed"."""
    package = PACKAGES[name]
    if not interpreter(name).exists():
        return "not installed"
    done = subprocess.run([interpreter(name), "-c", f"import importlib.metadata as m; print(m.version('{package}'))"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or "not installed"


def installed():
    return [name for name in COMPILERS if version(name) != "not installed"]


class _Compiler:
    def __init__(self, path, threads):
        import onnx
        self.threads = threads
        self.model = onnx.load(str(path))
        constants = {tensor.name for tensor in self.model.graph.initializer}
        self.inputs = []
        for value in self.model.graph.input:
            kind = value.type.tensor_type
            if value.name not in constants:
                real = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type).kind == "f"
                self.inputs.append((value.name, [d.dim_param or d.dim_value for d in kind.shape.dim], real))

    def _fix_sizes(self, given):
        """Shapes that the model states of other values may still name open sizes, so they go."""
        for value in self.model.graph.input:
            if value.name in given:
                for dimension, size in zip(value.type.tensor_type.shape.dim, given[value.name].shape):
                    dimension.dim_value = size
        del self.model.graph.value_info[:]
        for value in self.model.graph.output:
            for dimension in value.type.tensor_type.shape.dim:
                if dimension.dim_param:
                    dimension.Clear()


class Tvm(_Compiler):
    """TVM's default pipeline for CPUs, which fuses operators and leaves loops as they are: to schedule them is left to
    its search, which takes half an hour for a small model (README.md of inference-cpu)."""

    package = "apache-tvm"

    def bind(self, given):
        os.environ["TVM_NUM_THREADS"] = str(self.threads)
        import tvm
        from tvm import relax
        from tvm.relax.frontend.onnx import from_onnx
        from tvm.target.codegen import llvm_get_system_cpu
        self._fix_sizes(given)
        module = from_onnx(self.model, shape_dict={name: list(value.shape) for name, value in given.items()})
        target = tvm.target.Target({"kind": "llvm", "mcpu": llvm_get_system_cpu(), "num-cores": self.threads})
        pipeline = relax.backend.cpu_generic.get_default_pipeline(target)
        compiled = tvm.compile(module, target, relax_pipeline=pipeline)
        self.machine = relax.VirtualMachine(compiled, tvm.cpu())
        self.given = [tvm.runtime.tensor(given[name]) for name, _, _ in self.inputs]
        self.main = self.machine["main"]

    def run(self):
        self.results = self.main(*self.given)

    def outputs(self):
        single = hasattr(self.results, "numpy")
        return [output.numpy() for output in ([self.results] if single else self.results)]


class Iree(_Compiler):
    """IREE with its optimizations for CPUs and data tiling."""

    package = "iree-base-compiler"
    OPSET = 17  # the oldest that it takes as it is
    FLAGS = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
             "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3", "--iree-opt-data-tiling"]

    def bind(self, given):
        import iree.runtime as runtime
        import onnx
        self._fix_sizes(given)
        programs = pathlib.Path(sys.executable).parent
        with tempfile.TemporaryDirectory() as folder:
            model, text, binary = (pathlib.Path(folder) / f"model.{kind}" for kind in ("onnx", "mlir", "vmfb"))
            onnx.save(self.model, model)
            older = any(opset.domain in ("", "ai.onnx") and opset.version < self.OPSET for opset in self.model.opset_import)
            self.model = None
            self._call(programs / "iree-import-onnx", model, "-o", text,
                       *([f"--opset-version={self.OPSET}"] if older else []))
            self._call(programs / "iree-compile", text, "-o", binary, *self.FLAGS)
            code = binary.read_bytes()
        runtime.flags.parse_flags(f"--task_topology_group_count={self.threads}")
        config = runtime.Config("local-task")
        context = runtime.SystemContext(config=config)
        module = runtime.VmModule.copy_buffer(context.instance, code)
        context.add_vm_module(module)
        [self.main] = [context.modules[module.name][name] for name in module.function_names
                       if not name.startswith("__") and not name.endswith("$async")]
        self.context = context
        self.given = [runtime.asdevicearray(config.device, given[name]) for name, _, _ in self.inputs]

    def _call(self, *command):
        """Raises RuntimeError with the first error that the program prints. It ends with this process, whose alarm is
        the only limit of time (peer_process.py)."""
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if "error:" in line] or done.stderr.strip().splitlines()
            raise RuntimeError((said or [f"exit code {done.returncode}"])[0].split("error:")[-1].strip()[:200])

    def run(self):
        self.results = self.main(*self.given)

    def outputs(self):
        many = isinstance(self.results, (tuple, list))
        return [output.to_host() for output in (self.results if many else [self.results])]


COMPILERS = {"tvm": Tvm, "iree": Iree}
PACKAGES = {**{name: engine.package for name, engine in COMPILERS.items()}, "torch": "torch"}  # by environment
ENVIRONMENT_OF = {"torch_eager": "torch", "torch_compile": "torch"}  # where the name of the engine is another
