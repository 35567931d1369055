# SPDX-License-Identifier: Apache-2.0
"""Writes build/*.tex from the CSV files under experiments/results, one file a table."""
import csv
import dataclasses
import json
import pathlib
import sys
from collections.abc import Callable

PAPER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(PAPER.parent / "experiments"))
from lib import races  # noqa: E402, what experiments are judged by
RESULTS = PAPER.parent / "experiments" / "results"

SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
           **{character: "\\" + character for character in "_%&#${}"}}


def escaped(text):
    return "".join(SPECIAL.get(character, character) for character in text)


def load(experiment):
    """Rows, manifest and mode of the fullest run that is there, or None. Of tables that are kept for each kind of
    processor (results.on_this_processor) it is the one with the most rows."""
    folder = RESULTS / experiment
    for mode in ("full", "smoke"):
        names = [mode] if (folder / f"{mode}.csv").exists() else [t.stem for t in folder.glob(f"{mode}.*.csv")]
        found = []
        for name in sorted(names):
            with open(folder / f"{name}.csv", newline="") as file:
                found.append((list(csv.DictReader(file)), json.loads((folder / f"{name}.json").read_text()), mode))
        if found:
            return max(found, key=lambda table: len(table[0]))
    return None


def tabular(columns, rows):
    """columns: [(title, alignment, function of a row)]."""
    lines = [r"\begin{tabular}{" + "".join(alignment for _, alignment, _ in columns) + "}", r"\toprule",
             " & ".join(escaped(title) for title, _, _ in columns) + r" \\", r"\midrule"]
    lines += [" & ".join(escaped(str(cell(row))) for _, _, cell in columns) + r" \\" for row in rows]
    return "\n".join(lines + [r"\bottomrule", r"\end{tabular}"]) + "\n"


def threads_said(rows, manifest):
    """"1 thread", or "1 and 2 threads": as the manifest says, or each row."""
    of_rows = [row["threads"] for row in rows if row.get("threads")]
    counts = sorted({int(count) for count in ([manifest["threads"]] if "threads" in manifest else of_rows)})
    return " and ".join(map(str, counts)) + (" thread" if counts == [1] else " threads")


def provenance(rows, manifest, mode):
    if manifest.get("unfinished"):
        mode = "unfinished " + mode
    # Without an entry in the manifest, each row names its version.
    egret = manifest.get("egret") or ", ".join(sorted({row["egret"] for row in rows}))
    return (f"Measured on {manifest['processor']}, {threads_said(rows, manifest)}, {manifest['date']}, "
            f"Egret {egret}; {mode} run.")


def side_by_side(rows, same, different):
    """Rows that agree in the columns `same`, each group by what it says in the column `different`."""
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[column] for column in same), {})[row[different]] = row
    return list(groups.values())


def inference_cpu(rows):
    """One thread, batch 1, and the ratios of the other settings that were measured."""
    settings = sorted({(int(r["threads"]), int(r["batch"])) for r in rows})
    by_setting = {(r["model"], int(r["threads"]), int(r["batch"])): r for r in rows}
    first = [r for r in rows if (int(r["threads"]), int(r["batch"])) == settings[0]]

    def milliseconds(column):
        return lambda r: f"{float(r[column]):.2f}" if r.get(column) else "--"

    def ratio(setting):
        def cell(r):
            row = by_setting.get((r["model"], *setting))
            return f"{float(row['ratio']):.2f}" if row and row["ratio"] else "--"
        return cell

    columns = [("model", "l", lambda r: r["model"].removesuffix(".onnx")),
               ("operators", "r", lambda r: f"{r['operators_before']} to {r['operators_after']}"),
               ("original", "r", milliseconds("original_ms")), ("optimized", "r", milliseconds("optimized_ms")),
               ("ORT", "r", milliseconds("onnxruntime_ms")), ("OpenVINO", "r", milliseconds("openvino_ms")),
               ("PyTorch", "r", milliseconds("torch_ms"))]
    for threads, batch in settings:
        columns.append((f"{threads} thr., batch {batch}", "r", ratio((threads, batch))))
    return columns, first


def inference_parts(rows):
    names = ["plain", "layout", "fusion", "alone", "both", "starter", "generated", "default"]
    columns = [("model", "l", lambda r: r["model"].removesuffix(".onnx"))]
    columns += [(name, "r", lambda r, name=name: f"{float(r[name + '_ms']):.2f}") for name in names]
    return columns, rows


def kernel_ablation(rows):
    """Milliseconds, predicted for each way and measured for the last."""
    ways = [("original", "original"), ("algebra", "algebra"), ("fusion", "fusion"), ("sequential", "sequential"),
            ("joint", "joint"), ("original, measured", "original_measured"), ("joint, measured", "joint_measured")]
    columns = [("model", "l", lambda r: r["model"].split(":")[-1].removesuffix(".onnx"))]
    columns += [(title, "r", lambda r, name=name: f"{float(r[f'{name}_ms']):.2f}") for title, name in ways]
    columns += [("gap", "r", lambda r: f"{100 * float(r['joint_gap']):.1f} %")]
    return columns, rows


def precision_budget(rows):
    """A row for each model: how many times as fast as in f32, and the error on fresh samples."""
    def cell(way, budget=""):
        def of(by_way):
            row = by_way.get((way, budget))
            return f"{float(row['speedup']):.2f} ({float(row['fresh_error']):.1g})" if row else "--"
        return of

    models = {}
    for row in rows:
        models.setdefault(row["model"], {})[row["way"], row["budget"]] = row
    columns = [("model", "l", lambda m: next(iter(m.values()))["model"].removesuffix(".onnx")),
               ("f32, ms", "r", lambda m: f"{float(m['f32', '']['ms']):.2f}"),
               ("budget 0.01", "r", cell("extraction", "0.01")), ("budget 0.03", "r", cell("extraction", "0.03")),
               ("layers, 0.01", "r", cell("layers", "0.01")), ("bf16", "r", cell("bf16")), ("int8", "r", cell("int8"))]
    return columns, list(models.values())


def egraph_engine(rows):
    columns = [("workload", "l", lambda r: r["workload"]),
               ("e-nodes", "r", lambda r: f"{int(r['nodes']):,}"),
               ("seconds", "r", lambda r: f"{float(r['seconds']):.3f}"),
               ("search", "r", lambda r: f"{float(r['search_s']):.3f}"),
               ("apply", "r", lambda r: f"{float(r['apply_s']):.3f}"),
               ("rebuild", "r", lambda r: f"{float(r['rebuild_s']):.3f}"),
               ("bytes/node", "r", lambda r: f"{float(r['bytes_per_node']):.0f}"),
               ("egg s", "r", lambda r: f"{float(r['egg_seconds']):.2f}" if r["egg_seconds"] else "--"),
               ("ratio", "r", lambda r: f"{float(r['times_egg']):.1f}" if r["times_egg"] else "--"),
               ("egg bytes", "r", lambda r: f"{float(r['egg_bytes_per_node']):.0f}" if r["egg_seconds"] else "--")]
    if any(r["egglog_seconds"] for r in rows):
        columns.append(("egglog s", "r",
                        lambda r: f"{float(r['egglog_seconds']):.2f}" if r["egglog_seconds"] else "--"))
    return columns, rows


def is_below(a, b):
    return a < b - 1e-6 * max(1, abs(b))


def extraction(rows):
    exact = [row for row in rows if row["extractor"] == "auto"]
    families = [[row for row in exact if family in (row["family"], "all")]
                for family in sorted({row["family"] for row in exact}) + ["all"]]
    known = [[(float(row["cost"]), float(row["best_known"])) for row in some if row["best_known"]]
             for some in families]
    columns = [("family", "l", lambda f: f[0][0]["family"] if f[0] is not exact_all else "all"),
               ("files", "r", lambda f: len(f[0])),
               ("proven", "r", lambda f: sum(row["status"] == "optimal" for row in f[0])),
               ("in 10 s", "r", lambda f: sum(row["status"] == "optimal" and float(row["seconds"]) <= 10 for row in f[0])),
               ("proven before", "r", lambda f: sum(row["known_optimal"] == "yes" for row in f[0])),
               ("below known", "r", lambda f: sum(is_below(cost, best) for cost, best in f[1])),
               ("above known", "r", lambda f: sum(is_below(best, cost) for cost, best in f[1])),
               ("seconds", "r", lambda f: f"{sum(float(row['seconds']) for row in f[0]):.1f}")]
    exact_all = families[-1]
    return columns, list(zip(families, known))


def extractors(rows):
    by_extractor = [[row for row in rows if row["extractor"] == name] for name in
                    dict.fromkeys(row["extractor"] for row in rows)]

    def count(holds):
        return lambda some: sum(holds(float(row["cost"]), float(row["best_known"])) for row in some if row["best_known"])

    columns = [("extractor", "l", lambda some: some[0]["extractor"]),
               ("files", "r", len),
               ("proven", "r", lambda some: sum(row["status"] == "optimal" for row in some)),
               ("below known", "r", count(is_below)),
               ("above known", "r", count(lambda cost, best: is_below(best, cost))),
               ("longest s", "r", lambda some: f"{max(float(row['seconds']) for row in some):.1f}"),
               ("seconds", "r", lambda some: f"{sum(float(row['seconds']) for row in some):.1f}")]
    return columns, by_extractor


def cost_model(rows):
    def agreement(of, column):
        return lambda sets: f"{races.agreement(sets[of], column):.3f}"

    def in_order(of):
        return lambda sets: f"{races.share_in_order(sets[of], 'kernels_s'):.1%}"

    models = {}
    for row in rows:
        models.setdefault(row["model"], {}).setdefault(row["set"], []).append(row)
    columns = [("model", "l", lambda sets: sets["wide"][0]["model"]),
               ("graphs", "r", lambda sets: len(sets["wide"]))]
    for of in ("wide", "near"):
        columns += [(f"{of}: kernels", "r", agreement(of, "kernels_s")),
                    ("operators", "r", agreement(of, "predicted_s")),
                    ("a second race", "r", agreement(of, "again_by_original")),
                    ("pairs in order", "r", in_order(of))]
    return columns, list(models.values())


def extraction_models(rows):
    graphs = side_by_side(rows, ("rules", "model", "nodes"), "extractor")

    def share(extractor):
        return lambda graph: f"{float(graph[extractor]['cost']) / float(graph[extractor]['original']):.3f}"

    columns = [("rules", "l", lambda graph: graph["auto"]["rules"]),
               ("model", "l", lambda graph: graph["auto"]["model"]),
               ("e-nodes", "r", lambda graph: f"{int(graph['auto']['nodes']):,}"),
               ("tree-greedy", "r", share("tree-greedy")),
               ("dag-greedy", "r", share("dag-greedy")),
               ("exact", "r", share("auto")),
               ("gap %", "r", lambda graph: f"{100 * float(graph['auto']['gap']):.2f}"),
               ("seconds", "r", lambda graph: f"{float(graph['auto']['seconds']):.1f}")]
    return columns, graphs


def graph_search(rows):
    models = side_by_side(rows, ("model",), "method")

    def share(method):
        def of(model):
            row = model[method]
            return f"{float(row['cost']) / float(row['original']):.3f} ({float(row['seconds']):.0f})"
        return of

    columns = [("model", "l", lambda model: model["auto"]["model"]),
               ("saturation, exact", "r", share("auto")),
               ("TASO's search", "r", share("backtracking")),
               ("MetaFlow's search", "r", share("backtracking-split"))]
    return columns, models


def recomputation(rows):
    """Overheads in percent, by model and limit; of methods without a schedule a dash."""
    cells = side_by_side([row for row in rows if row["form"] == "kernels"], ("model", "share"), "method")
    cells = [cell for cell in cells if int(cell["search"]["share"]) in (80, 60, 40)]

    def overhead(method):
        def of(cell):
            row = cell[method]
            return f"{100 * float(row['overhead']):.1f}" if row["found"] == "True" else "--"
        return of

    columns = [("model", "l", lambda cell: cell["search"]["model"]),
               ("tasks", "r", lambda cell: cell["search"]["tasks"]),
               ("memory %", "r", lambda cell: cell["search"]["share"]),
               ("search", "r", overhead("search")),
               ("at least", "r", lambda cell: f"{100 * max(0.0, float(cell['search']['bound'])):.1f}"),
               ("DTR", "r", overhead("dtr")),
               ("segments", "r", overhead("segments"))]
    return columns, cells


def verifier(rows):
    sets = {}
    for row in rows:
        sets.setdefault(row["set"], []).append(row)

    def count(status):
        return lambda some: sum(row["status"] == status for row in some[1])

    def seconds(some):
        return sorted(float(row["seconds"] or 0) for row in some[1])

    columns = [("rules", "l", lambda some: some[0]),
               ("number", "r", lambda some: len(some[1])),
               ("proven", "r", count("proven")),
               ("refuted", "r", count("refuted")),
               ("proven under a condition", "r", lambda some: sum(r["under_condition"] == "proven" for r in some[1])),
               ("undecided", "r", count("undecided")),
               ("ill-formed", "r", count("ill-formed")),
               ("vacuous or trivial", "r", lambda some: sum(r["status"] in ("vacuous", "trivial") for r in some[1])),
               ("median s", "r", lambda some: f"{seconds(some)[len(some[1]) // 2]:.3f}"),
               ("longest s", "r", lambda some: f"{seconds(some)[-1]:.1f}")]
    return columns, list(sets.items())


def generator(rows):
    rows = [row for row in rows if row["operators"] == "all" or (row["operators"] and row["run"].startswith("taso"))]
    columns = [("space", "l", lambda r: r["run"]), ("operators", "r", lambda r: r["operators"])]
    columns += [(name, "r", lambda r, name=name: f"{int(r[name]):,}" if r[name] else "")
                for name in ("terms", "classes", "candidates", "derived", "proven", "conditional", "refuted", "undecided",
                             "kept")]
    columns += [("enumerate CPU s", "r", lambda r: r["enumeration_cpu_s"]), ("decide s", "r", lambda r: r["decision_s"]),
                ("MB", "r", lambda r: f"{int(r['enumeration_bytes']) / 1e6:.0f}")]
    return columns, rows


def pairs(values):
    """One value a tree, in the trees' order: "2 to 14"."""
    return " to ".join(values)


def layout(rows):
    trees = list(dict.fromkeys(row["tree"] for row in rows))
    last = [row for row in rows if row["tree"] == trees[-1]]  # it has all libraries
    by_folder = {row["folder"]: [] for row in last}
    for folder, found in by_folder.items():
        found += [next((r for r in rows if (r["tree"], r["folder"]) == (tree, folder)), None) for tree in trees]

    def number(column):
        return lambda found: pairs(f"{int(row[column]):,}" if row else "--" for row in found)

    def across(found):
        return pairs(f"{int(row['crossing']) / int(row['includes']):.0%}" if row and int(row["includes"]) else "--"
                     for row in found)

    columns = [("library", "l", lambda found: found[-1]["folder"]),
               ("rooms", "r", number("rooms")),
               ("files", "r", number("files")),
               ("largest room", "r", number("largest_room")),
               ("inner includes", "r", number("includes")),
               ("across rooms", "r", across),
               ("cycles", "r", number("cycles")),
               ("lines", "r", number("lines"))]
    return columns, list(by_folder.values())


def layout_provenance(rows, manifest, mode):
    totals = [row for row in rows if row["folder"] == "all"]

    def number(column):
        return pairs(f"{int(row[column]):,}" for row in totals)

    before = f" Before: commit {totals[0]['tree']}." if len(totals) > 1 else ""
    return (f"Longest class: {number('class_lines')} lines. Longest header: {number('header_lines')} lines. Documents "
            f"over the prose goals: " + pairs(f"{row['documents_over']} of {row['documents']}" for row in totals) + "."
            f"{before} Counted on {manifest['date']} at revision {manifest['revision']}; {mode} run.")


@dataclasses.dataclass
class Table:
    experiment: str
    macro: str  # of the provenance
    cells: Callable  # from the experiment's rows to columns and rows of the table
    threads: int | None = None  # where the manifest does not say
    peer: tuple[str, str] | None = None  # name, and the manifest's entry of its version
    provenance: Callable = provenance  # from rows, manifest and mode to a sentence

    def make(self):
        """The table and where its figures come from."""
        found = load(self.experiment)
        if found is None:
            return f"No result of \\texttt{{experiments/{self.experiment}}} is there.\n", ""
        rows, manifest, mode = found
        if self.threads is not None:
            manifest = dict(manifest, threads=self.threads)
        said = self.provenance(rows, manifest, mode) + (f" {self.peer[0]} {manifest[self.peer[1]]}." if self.peer else "")
        return tabular(*self.cells(rows)), escaped(said)


TABLES = [Table("generator", "generatorProvenance", generator, threads=2),
          Table("verifier", "verifierProvenance", verifier, threads=1),
          Table("inference-cpu", "inferenceProvenance", inference_cpu, peer=("ONNX Runtime", "onnxruntime")),
          Table("inference-parts", "partsProvenance", inference_parts),
          Table("kernel-ablation", "ablationProvenance", kernel_ablation),
          Table("precision-budget", "precisionProvenance", precision_budget),
          Table("egraph-engine", "engineProvenance", egraph_engine, peer=("egglog", "egglog")),
          Table("extraction", "extractionProvenance", extraction, threads=1),
          Table("extraction", "extractorsProvenance", extractors, threads=1),
          Table("cost-model", "costModelProvenance", cost_model),
          Table("graph-search", "graphSearchProvenance", graph_search, threads=1),
          Table("extraction-models", "extractionModelsProvenance", extraction_models, threads=1),
          Table("recomputation", "recomputationProvenance", recomputation),
          Table("layout", "layoutProvenance", layout, provenance=layout_provenance)]


def main():
    out = PAPER / "build"
    out.mkdir(exist_ok=True)
    macros = []
    for entry in TABLES:
        table, measured = entry.make()
        (out / f"{entry.cells.__name__}.tex").write_text(table)
        # A macro: captions are moving arguments, in which \input breaks.
        macros.append(rf"\newcommand{{\{entry.macro}}}{{{measured}}}" + "\n")
    (out / "provenance.tex").write_text("".join(macros))


if __name__ == "__main__":
    main()
