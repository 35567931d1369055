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
    return (f"Measured on {manifest['processor']}, {manifest.get('threads', '?')} threads, {manifest['date']}, "
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


def main():
    out = PAPER / "build"
    out.mkdir(exist_ok=True)
    table, measured = inference_cpu()
    (out / "inference_cpu.tex").write_text(table)
    # A macro: captions are moving arguments, in which \input breaks.
    (out / "provenance.tex").write_text(rf"\newcommand{{\inferenceProvenance}}{{{measured}}}" + "\n")


if __name__ == "__main__":
    main()
