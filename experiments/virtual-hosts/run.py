# SPDX-License-Identifier: Apache-2.0
"""Plans run by several hosts: network namespaces with links of a known rate and delay (scripts/virtual_hosts.sh).

Each plan is made for a machine whose links are those, run once and trained by a rank on each host, and compared with
one process. What its steps take longer than between processes of one host, without links, is what communication took.
"""
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from lib import egret, ranks, results, settings, small_models, virtual_hosts

HERE = pathlib.Path(__file__).resolve().parent
KEY = ["model", "plan", "hosts", "rate", "delay"]
COLUMNS = [*KEY, "collectives", "sent_bytes", "predicted_s", "measured_s", "step_s", "one_host_s", "loss_error",
           "left_error", "run_error"]


def train(run, plan, steps):
    """`run` starts egret with these arguments; the first steps also make connections."""
    done = virtual_hosts.document(run("train-step", plan, "--steps", steps, "--check", "--json", "--progress=never"))
    return done, statistics.median(done["step_seconds"][2:])


def seconds(delay):
    unit = delay.lstrip("0123456789.")
    return float(delay[:len(delay) - len(unit)]) * {"s": 1, "ms": 1e-3, "us": 1e-6}[unit] if delay else 0


def machine(folder, device, count, rate, delay):
    path = folder / "machine.toml"
    rates = "\n".join(f"{name} = {value}" for name, value in device.items())
    path.write_text(f'name = "hosts"\n[device]\n{rates}\n[[axis]]\nname = "x"\nsize = {count}\nsteps = "direct"\n'
                    f"latency_s = {seconds(delay)}\nbytes_per_second = {float(rate.removesuffix('mbit')) * 1e6 / 8}\n")
    return path


def solve(table, folder, config, key):
    """On hosts that are up."""
    form = config["model"][key["model"]]
    model, plan = folder / f"{key['model']}.onnx", folder / "plan.json"
    target = ["--machine", machine(folder, config["device"], key["hosts"], key["rate"], key["delay"]),
              "--sharded-inputs", "--extract-time", config["limit_time"],
              *(["--strategy", key["plan"]] if key["plan"] != "best" else []), "-o", plan]

    def across(*arguments):
        return virtual_hosts.script("run", key["hosts"], egret.PROGRAM, *arguments, timeout=300)

    egret.call("plan", model, *target)
    once = virtual_hosts.document(across("run", plan, "--check", "--json", "--progress=never"))
    found = egret.call("plan", model, "--train", "--loss", "mse", "--optimizer", form["optimizer"], *target)
    trained, step = train(across, plan, config["steps"])
    alone = train(lambda *words: ranks.run(key["hosts"], *words).stdout, plan, config["steps"])[1]
    sent = found["communication"]
    table.add(**key, collectives=" ".join(f"{one['count']}x{one['collective']}" for one in sent),
              sent_bytes=sum(one["bytes"] for one in sent), predicted_s=sum(one["time_s"] for one in sent),
              measured_s=step - alone, step_s=step, one_host_s=alone, loss_error=trained["loss_error"],
              left_error=trained["left_error"], run_error=once["max_error"] / once["bound"])


# One byte there and back, so many times; and the other side.
PING = """import socket, statistics, time
with socket.create_connection(("10.87.0.2", 5000)) as to:
    to.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    times = []
    for _ in range(50):
        start = time.monotonic()
        to.sendall(b"x")
        to.recv(1)
        times.append(time.monotonic() - start)
print(statistics.median(times))"""
PONG = """import socket
with socket.create_server(("", 5000)) as server:
    print("ready", flush=True)
    with server.accept()[0] as peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while byte := peer.recv(1):
            peer.sendall(byte)"""


def round_trip(rate, delay):
    """Seconds between two hosts of their own."""
    def on(host, program):
        return ["ip", "netns", "exec", host, sys.executable, "-c", program]
    with (virtual_hosts.hosts(2, rate, delay),
          subprocess.Popen(on("egret1", PONG), stdout=subprocess.PIPE, text=True) as pong):
        pong.stdout.readline()
        return float(subprocess.run(on("egret0", PING), capture_output=True, text=True, check=True, timeout=60).stdout)


def solve_all(table, config, forms):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model in {model for model, _ in forms["plans"]}:
            small_models.WRITE[model](folder, **config["model"][model]["sizes"])
        for count in forms["hosts"]:
            for rate in forms["rates"]:
                for delay in forms["delays"]:
                    keys = [{"model": model, "plan": plan, "hosts": count, "rate": rate, "delay": delay}
                            for model, plan in forms["plans"]]
                    left = [key for key in keys if not table.has(**key)]
                    if left:
                        with virtual_hosts.hosts(count, rate, delay):
                            for key in left:
                                solve(table, folder, config, key)


def left_behind():
    """Namespaces, links and processes of hosts that are down; the processes see a moment later that they are."""
    time.sleep(0.5)
    said = subprocess.run("ip netns list; ip -o link; ps -eo args", shell=True, capture_output=True, text=True,
                          check=True).stdout
    return sum("egret-br" in line or line.startswith("egret") and line[5:6].isdigit() for line in said.splitlines())


def measure(rows):
    """Ratios where communication is worth measuring; how many pairs that differ by a fifth are in the right order."""
    times = [(float(row["predicted_s"]), float(row["measured_s"])) for row in rows]
    times = [(predicted, measured) for predicted, measured in times if predicted > 5e-3]
    ratios = [measured / predicted for predicted, measured in times]
    pairs = [(a, b) for a in times for b in times if a[0] > 1.2 * b[0]]
    return {"compared": len(times), "least_over_predicted": min(ratios),
            "median_over_predicted": statistics.median(ratios), "most_over_predicted": max(ratios),
            "pairs_in_order": sum(a[1] > b[1] for a, b in pairs) / len(pairs) if pairs else 1,
            **{name: max(float(row[name]) for row in rows) for name in ("loss_error", "left_error", "run_error")}}


def main():
    mode, config = settings.read(__doc__, HERE)
    table = results.Table("virtual-hosts", mode, COLUMNS, KEY,
                          {"egret": egret.version(), **{k: config[k] for k in ("steps", "limit_time", "device")}})
    try:
        with virtual_hosts.exclusively():
            solve_all(table, config, config[mode])
            trips = {f"{rate} {delay}".strip(): round_trip(rate, delay)
                     for rate in config[mode]["rates"] for delay in config[mode]["delays"]}
            left = left_behind()
    except virtual_hosts.NoHosts as reason:
        print("skipped:", reason)
        return 0
    table.manifest["round_trips_s"] = trips
    table.finish()
    table.print()
    over_delay = [trip / 2 / seconds(name.split()[1]) for name, trip in trips.items() if " " in name]
    measured = dict(measure(table.rows), left_behind=left, round_trip_over_delay=min(over_delay),
                    round_trip_without_delay=max((trip for name, trip in trips.items() if " " not in name), default=0))
    print(", ".join(f"{name} {value:.3g}" for name, value in measured.items()))
    return results.judge(HERE / "expected.json", mode, measured)


if __name__ == "__main__":
    sys.exit(main())
