# SPDX-License-Identifier: Apache-2.0
"""Egret rewrites tensor graphs into equal, faster ones.

    import egret

    result = egret.optimize("model.onnx", at={"batch": 1, "seq": 128})
    print(result)                                   # the closing table
    result.save("faster.onnx")

    session = egret.Session(result.model)
    outputs = session.run({"x": x})                 # NumPy or DLPack in, NumPy out

    rules = egret.Rules("rule relu-of-relu relu(relu(?x)) => relu(?x)")
    print(rules.verify())
    egret.optimize(model, rules=egret.rules.default + rules)

Options are keyword arguments with the names of the command line's flags ("_" for "-"); docs/python.md
describes the package.
"""

import os as _os

# libgomp reads the environment once, when it is loaded: its threads then sleep after 2,000 spins, which
# is better beside other processes (experiments/busy-machine).
_spins = "GOMP_SPINCOUNT" not in _os.environ and "OMP_WAIT_POLICY" not in _os.environ
if _spins:
    _os.environ["GOMP_SPINCOUNT"] = "2000"
try:
    from . import _egret
except ImportError as error:
    if "cannot open shared object file" not in str(error):
        raise
    raise ImportError(
        f"{error}. Egret needs libraries of the system; on Debian 12: apt install coinor-libcbc3 "
        "libboost-json1.81.0 libcvc5-1 libdnnl2 libprotobuf-lite32 libsqlite3-0 libz3-4 libzip4"
    ) from error
finally:
    if _spins:
        del _os.environ["GOMP_SPINCOUNT"]

from . import rules
from ._certificates import CertificateCheck, check_certificate
from ._egraph import EGraph, Extracted, Run
from ._egret import version as __version__
from ._errors import (
    BadInput,
    Error,
    Internal,
    Limit,
    Mismatch,
    RankFailed,
    Unavailable,
    Unsupported,
    Usage,
)
from ._extensions import (
    EGraphView,
    Scheduler,
    TensorType,
    cost_model,
    extractor,
    rule_source,
)
from ._optimize import Result, optimize
from ._planning import Plan, plan
from ._progress import Progress
from ._session import Comparison, Input, Session, compare, run
from ._cluster_planning import ClusterPlan, plan_cluster
from ._offload_planning import OffloadPlan, plan_offload
from ._pipeline_planning import PipelinePlan, plan_pipeline
from ._simulation import Simulation, simulate
from ._training import TrainingStep, train_step
from .rules import Rules

__all__ = [
    "BadInput",
    "CertificateCheck",
    "Comparison",
    "EGraph",
    "EGraphView",
    "Error",
    "Extracted",
    "Input",
    "Internal",
    "Limit",
    "Mismatch",
    "PipelinePlan",
    "Plan",
    "Progress",
    "RankFailed",
    "Result",
    "Rules",
    "Run",
    "Scheduler",
    "Session",
    "Simulation",
    "TensorType",
    "TrainingStep",
    "Unavailable",
    "Unsupported",
    "Usage",
    "__version__",
    "check_certificate",
    "compare",
    "cost_model",
    "extractor",
    "optimize",
    "plan",
    "rule_source",
    "rules",
    "run",
    "plan_cluster",
    "plan_offload",
    "plan_pipeline",
    "simulate",
    "train_step",
]
