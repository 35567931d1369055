# SPDX-License-Identifier: Apache-2.0
"""The sources that kept rows depend on, by named parts, and a digest of each part.

In a checkout the digests are of the files in the working tree; those of an earlier revision come from git. A bundle
has no history: manifest() writes all digests that it needs into SOURCES.json.
"""
import hashlib
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
MANIFEST = "SOURCES.json"

PARTS = {
    "definitions": ["ir/core", "ir/graph", "ir/nest", "ir/ops", "ir/evaluate"],
    "emission": ["backends/codegen"],
    "cuda": ["backends/cuda", "backends/timing", "backends/division.cc", "backends/memory_planner.cc",
             "backends/prepare.cc", "backends/precision.cc"],
    "check": ["driver/measure"],
    "optimizer": ["rules", "egraph", "extract", "cost", "driver", "verifier"],
    "frontends": ["frontends"],
    "zoo": ["zoo"],
    "exchange": ["runtime"],
    "device-tests": ["tests/gpu", "tests/codegen/kernel_batch.cc", "tests/codegen/sample_kernels.cc",
                     "tests/backends/graph_compare.cc", "tests/backends/attention_block.cc",
                     "tests/backends/small_network.cc", "tests/backends/tail_network.cc"],
    "conformance-tests": ["tests/conformance"],
    "pytorch": ["experiments/inference-gpu/torch_peer.py", "experiments/lib/onnx_graph.py",
                "experiments/lib/torch_operators.py"],
    "ablations": ["experiments/gpu-ablations/run.py", "experiments/gpu-ablations/config.toml"],
    "fused-subgraphs": ["experiments/fused-subgraphs"],
}


def blob(content):
    """The name that git gives a file's content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def digest(blobs):
    """blobs: {path: name of its content}."""
    text = "".join(f"{path} {blobs[path]}\n" for path in sorted(blobs))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _git(root, *arguments):
    """Output, or None without git, a repository or the revision."""
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def _of_tree(root, paths):
    listed = _git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *paths)
    names = [name for name in (listed or "").split("\0") if name and (root / name).is_file()]
    return digest({name: blob((root / name).read_bytes()) for name in set(names)})


def _of_revision(root, revision, paths):
    listed = _git(root, "ls-tree", "-r", "-z", revision, "--", *paths)
    if listed is None:
        return None
    entries = [entry.split("\t", 1) for entry in listed.split("\0") if entry]
    return digest({path: about.split()[2] for about, path in entries})


class Sources:
    """now: {part: digest}; revision: that of this tree."""

    def __init__(self, now, revision, earlier=(), root=None):
        self.now, self.revision, self._earlier, self._root = now, revision, dict(earlier), root

    def of_revision(self, revision):
        """{part: digest} then, or None if that is not known here."""
        if revision not in self._earlier:
            known = self._root is not None and _git(self._root, "cat-file", "-e", f"{revision}^{{commit}}") is not None
            self._earlier[revision] = {part: _of_revision(self._root, revision, paths)
                                       for part, paths in PARTS.items()} if known else None
        return self._earlier[revision]

    def changed(self, parts, then, revision):
        """Those of `parts` that changed since a row was measured, with the digests `then` or, without, at `revision`."""
        then = then or self.of_revision(revision) or {}
        return [part for part in parts if then.get(part) != self.now[part]]

    def manifest(self, revisions):
        return {"revision": self.revision, "now": self.now,
                "earlier": {revision: self.of_revision(revision) for revision in sorted(revisions)}}


def read(root=ROOT):
    """Of the bundle at `root`, or of the checkout there."""
    file = root / MANIFEST
    if file.exists():
        known = json.loads(file.read_text())
        return Sources(known["now"], known["revision"], known["earlier"])
    revision = (_git(root, "rev-parse", "--short=8", "HEAD") or "unknown").strip()
    if _git(root, "status", "--porcelain"):
        revision += "+"  # and changes
    return Sources({part: _of_tree(root, paths) for part, paths in PARTS.items()}, revision, root=root)
