# SPDX-License-Identifier: Apache-2.0
"""How wrong times are that are interpolated from measured operators of other shapes, beside the plain roofline: each
operator from all others, and each model from the other models."""
import pathlib
import sys
import tempfile

from lib import egret, models, results, settings

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ["left_out", "operator", "entries", "predicted", "median_error", "p90_error", "roofline_median_error",
           "roofline_p90_error", "free", "free_predicted"]


def profile(model, folder, config):
    """A database with the model's operators; None where there is no such model."""
    database = folder / f"{model.split(':', 1)[1]}.sqlite"
    with models.located(model, folder) as path:
        if path is None:
            return None
        answer = egret.call("costs", "profile", path, "--cost-db", database, "--threads", config["threads"],
                            "--profile-time", f"{config['profile_s']}s", "--limit-nodes", config["nodes"],
                            *models.bind_flags(config["bind"].get(model, {})))
    print(f"{model}: {answer['measured']} of {answer['operators']} operators measured, {answer['left']} left, "
          f"{answer['noisy']} noisy", flush=True)
    return database


def merged(databases, path):
    egret.call("costs", "merge", *databases, "--cost-db", path)
    return path


def check(config, database, *options):
    return egret.call("costs", "check", "--cost-db", database, "--threads", config["threads"], *options)


def rows_of(left_out, answer, by_operator):
    """The row of all operators, and one for each where these are asked for."""
    listed = [dict(answer["all"], operator="all", free=answer["free"], free_predicted=answer["free_predicted"])]
    listed += answer["operators"] if by_operator else []
    return [{name: f"{value:.3f}" if name.endswith("_error") else value
             for name, value in {**row, "left_out": left_out}.items()} for row in listed]


def main():
    mode, forms = settings.read(__doc__, HERE)
    config = {**forms, **forms[mode]}
    table = results.Table("cost-interpolation", mode, COLUMNS, ["left_out", "operator"],
                          {"egret": egret.version(), "threads": config["threads"], "profile_s": config["profile_s"]})
    table.rows = []  # databases are of this run alone
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        profiled = {model: profile(model, folder, config) for model in config["models"]}
        databases = {model: path for model, path in profiled.items() if path is not None}
        everything = merged(databases.values(), folder / "everything.sqlite")
        each = check(config, everything)
        for row in rows_of("each operator", each, by_operator=True):
            table.add(**row)
        by_model = []
        for number, (model, database) in enumerate(databases.items()):
            others = [path for other, path in databases.items() if other != model]
            known = merged(others, folder / f"others{number}.sqlite")
            answer = check(config, database, "--known-db", known)
            by_model.append(answer["all"])
            for row in rows_of(model.split(":", 1)[1], answer, by_operator=False):
                table.add(**row)
    table.finish()
    table.print()
    better = [row["median_error"] < row["roofline_median_error"] for row in by_model if row["predicted"] > 0]
    return results.judge(HERE / "expected.json", mode, {
        "entries": each["all"]["entries"],
        "predicted_share": each["all"]["predicted"] / max(1, each["all"]["entries"]),
        "operator_median_error": each["all"]["median_error"],
        "operator_gain": each["all"]["roofline_median_error"] / max(1e-9, each["all"]["median_error"]),
        "models_better_than_roofline": sum(better) / max(1, len(better))})


if __name__ == "__main__":
    sys.exit(main())
