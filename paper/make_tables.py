# SPDX-License-Identifier: Apache-2.0
"""Writes build/*.tex from the CSV files under experiments/results, one file a table."""
import csv
import json
import pathlib

PAPER = pathlib.Path(__file__).resolve().parent
RESULTS = PAPER.parent / "experiments" / "results"

SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
           **{character: "\\" + character for character in "_%&#${}"}}


def escaped(text):
    return "".join(SPECIAL.get(character, character) for character in text)


def load(experiment):
    """Rows and manifest of the fullest run that is there, or None."""
    for mode in ("full", "smoke"):
        table, manifest = RESULTS / experiment / f"{mode}.csv", RESULTS / experiment / f"{mode}.json"
        if table.exists() and manifest.exists():
            with open(table, newline="") as file:
                return list(csv.DictReader(file)), json.loads(manifest.read_text()), mode
    return None


def tabular(columns, rows):
    """columns: [(title, alignment, function of a row)]."""
    lines = [r"\begin{tabular}{" + "".join(alignment for _, alignment, _ in columns) + "}", r"\toprule",
             " & ".join(title for title, _, _ in columns) + r" \\", r"\midrule"]
    lines += [" & ".join(escaped(str(cell(row))) for _, _, cell in columns) + r" \\" for row in rows]
    return "\n".join(lines + [r"\bottomrule", r"\end{tabular}"]) + "\n"


def provenance(manifest, mode):
    if manifest.get("unfinished"):
        mode = "unfinished " + mode
    threads = manifest.get("threads", "?")
    return (f"Measured on {manifest['processor']}, {threads} thread{'' if threads == 1 else 's'}, {manifest['date']}, "
            f"Egret {manifest['egret']}; {mode} run.")


def inference_cpu():
    found = load("inference-cpu")
    if found is None:
        return "No result of \\texttt{experiments/inference-cpu} is there.\n", ""
    rows, manifest, mode = found
    columns = [("model", "l", lambda r: r["model"].removesuffix(".onnx")),
               ("operators", "r", lambda r: f"{r['operators_before']} to {r['operators_after']}"),
               ("original", "r", lambda r: f"{float(r['original_ms']):.2f}"),
               ("optimized", "r", lambda r: f"{float(r['optimized_ms']):.2f}"),
               ("ratio", "r", lambda r: f"{float(r['speedup']):.2f}"),
               ("ORT", "r", lambda r: f"{float(r['onnxruntime_ms']):.2f}" if r["onnxruntime_ms"] else "--")]
    return tabular(columns, rows), escaped(provenance(manifest, mode) + f" ONNX Runtime {manifest['onnxruntime']}.")


def egraph_engine():
    found = load("egraph-engine")
    if found is None:
        return "No result of \\texttt{experiments/egraph-engine} is there.\n", ""
    rows, manifest, mode = found
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
    return tabular(columns, rows), escaped(provenance(manifest, mode) + f" egglog {manifest['egglog']}.")


def is_below(a, b):
    return a < b - 1e-6 * max(1, abs(b))


def extraction():
    found = load("extraction")
    if found is None:
        return "No result of \\texttt{experiments/extraction} is there.\n", ""
    rows, manifest, mode = found
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
    return tabular(columns, list(zip(families, known))), escaped(provenance(dict(manifest, threads=1), mode))


def extraction_models():
    found = load("extraction-models")
    if found is None:
        return "No result of \\texttt{experiments/extraction-models} is there.\n", ""
    rows, manifest, mode = found
    graphs = {}
    for row in rows:
        graphs.setdefault((row["model"], row["limit_nodes"]), {})[row["extractor"]] = row

    def share(extractor):
        return lambda graph: f"{float(graph[extractor]['cost']) / float(graph[extractor]['original']):.3f}"

    columns = [("model", "l", lambda graph: graph["auto"]["model"]),
               ("e-nodes", "r", lambda graph: f"{int(graph['auto']['nodes']):,}"),
               ("tree-greedy", "r", share("tree-greedy")),
               ("dag-greedy", "r", share("dag-greedy")),
               ("exact", "r", share("auto")),
               ("gap %", "r", lambda graph: f"{100 * float(graph['auto']['gap']):.2f}"),
               ("seconds", "r", lambda graph: f"{float(graph['auto']['seconds']):.1f}")]
    return tabular(columns, list(graphs.values())), escaped(provenance(dict(manifest, threads=1), mode))


def graph_search():
    found = load("graph-search")
    if found is None:
        return "No result of \\texttt{experiments/graph-search} is there.\n", ""
    rows, manifest, mode = found
    models = {}
    for row in rows:
        models.setdefault(row["model"], {})[row["method"]] = row

    def share(method):
        def of(model):
            row = model[method]
            return f"{float(row['cost']) / float(row['original']):.3f} ({float(row['seconds']):.0f})"
        return of

    columns = [("model", "l", lambda model: model["auto"]["model"]),
               ("saturation, exact", "r", share("auto")),
               ("TASO's search", "r", share("backtracking")),
               ("MetaFlow's search", "r", share("backtracking-split"))]
    return tabular(columns, list(models.values())), escaped(provenance(dict(manifest, threads=1), mode))


def verifier():
    found = load("verifier")
    if found is None:
        return "No result of \\texttt{experiments/verifier} is there.\n", ""
    rows, manifest, mode = found
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
    return tabular(columns, list(sets.items())), escaped(provenance(dict(manifest, threads=1), mode))


def generator():
    found = load("generator")
    if found is None:
        return "No result of \\texttt{experiments/generator} is there.\n", ""
    rows, manifest, mode = found
    rows = [row for row in rows if row["operators"] == "all" or (row["operators"] and row["run"].startswith("taso"))]
    columns = [("space", "l", lambda r: r["run"]), ("operators", "r", lambda r: r["operators"])]
    columns += [(name, "r", lambda r, name=name: f"{int(r[name]):,}" if r[name] else "")
                for name in ("terms", "classes", "candidates", "derived", "proven", "conditional", "refuted", "undecided",
                             "kept")]
    columns += [("enumerate CPU s", "r", lambda r: r["enumeration_cpu_s"]), ("decide s", "r", lambda r: r["decision_s"]),
                ("MB", "r", lambda r: f"{int(r['enumeration_bytes']) / 1e6:.0f}")]
    return tabular(columns, rows), escaped(provenance(dict(manifest, threads=2), mode))


TABLES = {"generator": ("generatorProvenance", generator),
          "verifier": ("verifierProvenance", verifier),
          "inference_cpu": ("inferenceProvenance", inference_cpu),
          "egraph_engine": ("engineProvenance", egraph_engine),
          "extraction": ("extractionProvenance", extraction),
          "graph_search": ("graphSearchProvenance", graph_search),
          "extraction_models": ("extractionModelsProvenance", extraction_models)}


def main():
    out = PAPER / "build"
    out.mkdir(exist_ok=True)
    macros = []
    for name, (macro, make) in TABLES.items():
        table, measured = make()
        (out / f"{name}.tex").write_text(table)
        # A macro: captions are moving arguments, in which \input breaks.
        macros.append(rf"\newcommand{{\{macro}}}{{{measured}}}" + "\n")
    (out / "provenance.tex").write_text("".join(macros))


if __name__ == "__main__":
    main()
