#!/usr/bin/env python3
"""Fails a cluster over, again and again, while a front end and four workers use it, and checks what they were promised.

    failover.py PROGRAM [N] [--seed S] [--kinds crash,kill,stop,cut,full,switch,clock] [--history FILE] [--keep]

PROGRAM is stategraph-failover. scripts/failover.sh builds it, installs what is missing, and calls this. Exit code 0: nothing that
was acknowledged with `sync` is lost, nothing that is to happen once happened twice, and everything continued.

    crash   kill -9 of the primary's PostgreSQL
    kill    kill -9 of the primary's PostgreSQL and Patroni, as if the machine had died; they start again afterwards
    stop    SIGSTOP of both, as if the machine were frozen; it wakes soon after another server has become the primary, or later
    cut     answers of the primary are lost on their way for a moment; then it is killed and the connections break
    full    the primary's disk is full, until another server has become the primary
    switch  a switch-over by Patroni, as patronictl asks for it
    clock   the clock of a standby jumps by up to 20 s; it becomes the primary; its clock jumps again, and back
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cluster import (Cluster, ETCD_ELECTION_MS, ETCD_HEARTBEAT_MS, LOOP_WAIT, RETRY_TIMEOUT, TTL, get)  # noqa: E402
from proxy import Proxies  # noqa: E402

KINDS = ("crash", "kill", "stop", "cut", "full", "switch", "clock")
ACKNOWLEDGED = ("run-sync", "submit", "store-sync")  # which are durable
# What the checker must not find, and what `async` may cost.
PROMISED = ("lost run-sync", "lost submit", "lost effect", "lost store-sync", "twice in a log", "twice effects of sync", "not drained")
COSTS = ("lost run-async", "lost store-async", "twice effects of async")
WORKERS = 4
LEADER_SECONDS = 120
PROGRESS_SECONDS = 120


def now_ms():
    return int(time.time() * 1000)


class Tail:
    """The lines of a journal, as they come: for each kind the times."""

    def __init__(self, path):
        self.path, self.offset, self.times = path, 0, collections.defaultdict(list)

    def read(self):
        if self.path.exists():
            with open(self.path, encoding="utf-8") as file:
                file.seek(self.offset)
                for line in iter(file.readline, ""):
                    if not line.endswith("\n"):
                        break
                    words = line.split()
                    self.times[words[1]].append(int(words[0]))
                    self.offset += len(line)
        return self.times

    def newest(self, kind):
        times = self.read()[kind]
        return times[-1] if times else 0

    def gap(self, kind, since):
        """The longest time between two lines of which the second came after `since`."""
        times = self.read()[kind]
        return max((b - a for a, b in zip(times, times[1:]) if b >= since), default=0)


class Trial:
    def __init__(self, program, folder, seed):
        self.program, self.folder = program, pathlib.Path(folder)
        self.random = random.Random(seed)
        self.cluster = Cluster(folder)
        self.processes = []
        self.front = None
        self.proxies = None
        self.rows = []
        self.faults = []

    # ------------------------------------------------------------------------------------------------- processes
    def start(self):
        self.cluster.start()
        journal = self.folder / "journal"
        journal.mkdir()
        self.acks, self.effects = Tail(journal / "acks"), Tail(journal / "effects")
        ports = [node.port for node in self.cluster.nodes]
        self.proxies = Proxies(ports)
        self.direct = self.cluster.conninfo(ports)
        through = self.cluster.conninfo(self.proxies.ports)
        subprocess.run([self.program, "setup", self.direct], check=True, timeout=120)
        for number in range(WORKERS):
            self.launch(f"worker{number}", "work", through if number % 2 else self.direct, journal, f"worker{number}")
        self.front = self.launch("front", "front", through, journal)
        self.await_progress(0)

    def launch(self, name, mode, *words):
        log = open(self.folder / f"{name}.log", "ab")
        process = subprocess.Popen([self.program, mode, *map(str, words)], stdout=log, stderr=log, start_new_session=True)
        self.processes.append((name, process))
        return process

    def stop(self):
        for _, process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.cluster.stop()

    def await_progress(self, since):
        """Waits until each kind of call was acknowledged, and an effect happened, after that."""
        def has_all():
            for name, process in self.processes:
                if process.poll() is not None:
                    raise RuntimeError(f"{name} has ended with {process.returncode}")
            return all(self.acks.newest(kind) > since for kind in ACKNOWLEDGED) and self.effects.newest("sync") > since
        self.cluster.wait(has_all, PROGRESS_SECONDS, "an acknowledgement of each kind and an effect")

    # ----------------------------------------------------------------------------------------------------- faults
    def await_leader(self, old):
        return self.cluster.wait(lambda: self.cluster.leader(but=old), LEADER_SECONDS, "another primary")

    def synchronous(self):
        names = [name for name, each in self.cluster.members().items() if each["role"] == "sync_standby"]
        return next(node for node in self.cluster.nodes if node.name in names)

    def switch_over(self, old, new):
        for _ in range(20):
            said = get(old.rest, "/switchover", {"leader": old.name, "candidate": new.name}, seconds=60)
            if said and "Successfully" in str(said.get("text", "")):
                return
            time.sleep(0.5)
        raise RuntimeError(f"no switch-over from {old.name} to {new.name}: {said}")

    def crash(self, old):
        old.signal(signal.SIGKILL, patroni=False)
        return self.await_leader(old)

    def kill(self, old):
        old.signal(signal.SIGKILL)
        new = self.await_leader(old)
        self.after = old.start
        return new

    def stop_node(self, old):
        old.signal(signal.SIGSTOP)
        wakes_early = self.random.random() < 0.5
        new = self.await_leader(old)
        if wakes_early:
            time.sleep(self.random.uniform(0, 3))
            old.signal(signal.SIGCONT)
        else:  # everything must continue without it
            self.after = lambda: old.signal(signal.SIGCONT)
        return new

    def cut(self, old):
        self.proxies.lose_answers()
        time.sleep(self.random.uniform(0.05, 1))
        old.signal(signal.SIGKILL, patroni=False)
        time.sleep(self.random.uniform(0, 0.5))
        self.proxies.cut()
        return self.await_leader(old)

    def full(self, old):
        try:
            old.fill_disk()
            return self.await_leader(old)
        finally:
            old.empty_disk()

    def switch(self, old):
        self.switch_over(old, self.synchronous())
        return self.await_leader(old)

    def clock(self, old):
        new = self.synchronous()
        def jump():
            new.set_clock(self.random.choice((-1, 1)) * self.random.randint(2, 20))
            time.sleep(self.random.uniform(1, 2))  # the server reads its clock's file each second
        jump()
        if self.random.random() < 0.5:
            old.signal(signal.SIGKILL, patroni=False)
        else:
            self.switch_over(old, new)
        found = self.await_leader(old)
        jump()
        self.after = lambda: new.set_clock(0)
        return found

    def fail_over(self, number, kind):
        old = self.cluster.wait(self.cluster.leader, 60, "the primary")
        self.after = lambda: None
        begun = now_ms()
        new = {"stop": self.stop_node}.get(kind, getattr(self, kind))(old)
        led = now_ms()
        self.faults.append((begun, led))
        self.await_progress(led)
        ended = now_ms()
        gaps = {what: self.acks.gap(what, begun) for what in ACKNOWLEDGED}
        gaps["effect"] = self.effects.gap("sync", begun)
        self.after()
        self.cluster.await_healthy(180)
        row = {"number": number, "kind": kind, "from": old.name, "to": new.name, "leader": led - begun, "all": ended - begun,
               "timeline": next(iter(self.cluster.members().values()), {}).get("timeline"), **gaps}
        self.rows.append(row)
        print(f"{number:4} {kind:7} {old.name} -> {new.name}  primary after {(led - begun) / 1000:5.1f} s, gaps: " +
              ", ".join(f"{what} {gap / 1000:.1f} s" for what, gap in gaps.items()) + f"; whole again after {(now_ms() - begun) / 1000:.1f} s", flush=True)

    def check(self):
        self.front.send_signal(signal.SIGTERM)
        self.front.wait(120)
        done = subprocess.run([self.program, "check", self.direct, self.folder / "journal"], stdout=subprocess.PIPE, text=True, check=True)
        for _, process in self.processes:
            process.send_signal(signal.SIGTERM)
        for name, process in self.processes:
            if process.wait(120) != 0:
                raise RuntimeError(f"{name} has ended with {process.returncode}")
        return json.loads(done.stdout)

    def windows(self):
        """For what was lost: how long before a fault it had been acknowledged, at most, in ms; 0: after it had begun."""
        found = collections.defaultdict(int)  # none is below 0
        path = self.folder / "journal/findings"
        for line in path.read_text().splitlines() if path.exists() else []:
            ms, what = line.split(" ", 1)
            what = what.split(":")[0]
            after = [begun for begun, led in self.faults if led >= int(ms)]
            if what.startswith("lost") and after:
                found[what] = max(found[what], after[0] - int(ms))
        return dict(found)


def kinds_of(wanted, count, trial):
    """Each kind as often as the others, in an order of chance."""
    kinds = [kind for kind in wanted if (kind != "full" or trial.cluster.has_disks) and (kind != "clock" or trial.cluster.has_clocks)]
    left_out = [kind for kind in wanted if kind not in kinds]
    if left_out:
        print("left out:", ", ".join(left_out), "(a full disk needs root for a tmpfs, clocks need faketime)", flush=True)
    if not kinds:
        sys.exit("error: none of these kinds can be tried here; name others with --kinds.")
    order = []
    while len(order) < count:
        part = list(kinds)
        trial.random.shuffle(part)
        order += part
    return order[:count]


def history(path, trial, seed, found, seconds):
    rows = trial.rows
    with open(path, "a", encoding="utf-8") as file:
        say = lambda text="": print(text, file=file)  # noqa: E731
        say(f"\n## {len(rows)} failovers, seed {seed}, {time.strftime('%Y-%m-%d %H:%M', time.gmtime())} UTC\n")
        say(f"`./scripts/failover.sh {len(rows)} --seed {seed}`; {trial.cluster.versions()}; {os.cpu_count()} cores, load {os.getloadavg()[1]:.0f} at the end; "
            f"{seconds:.0f} s.\n")
        say("| what was checked | number |\n|---|---|")
        rest = [what for what in found if what not in (*PROMISED, *COSTS, "examples")]
        for what in (*rest, *PROMISED, *COSTS):
            say(f"| {what} | {found.get(what, 0):,} |")
        for what, ms in trial.windows().items():
            say(f"| {what}: acknowledged before the fault, at most | {ms} ms |")
        say("\n| kind | failovers | another primary after, s: median, longest | longest gap, s: run with `sync` | submission | store with `sync` | effect of a worker |\n|---|---|---|---|---|---|---|")
        for kind in KINDS:
            of = [row for row in rows if row["kind"] == kind]
            if of:
                leaders = sorted(row["leader"] for row in of)
                gaps = " | ".join(f"{max(row[what] for row in of) / 1000:.1f}" for what in (*ACKNOWLEDGED, "effect"))
                say(f"| {kind} | {len(of)} | {leaders[len(leaders) // 2] / 1000:.1f}, {leaders[-1] / 1000:.1f} | {gaps} |")
        say("\n| | kind | from, to | timeline | another primary | run | submission | store | effect |\n|---|---|---|---|---|---|---|---|---|")
        for row in rows:
            say(f"| {row['number']} | {row['kind']} | {row['from']}, {row['to']} | {row['timeline']} | {row['leader'] / 1000:.1f} | " +
                " | ".join(f"{row[what] / 1000:.1f}" for what in (*ACKNOWLEDGED, "effect")) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("count", type=int, nargs="?", default=50)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--history")
    parser.add_argument("--keep", action="store_true", help="keep the folder with logs and journals")
    given = parser.parse_args()
    wanted = given.kinds.split(",")
    if given.count < 1 or not set(wanted) <= set(KINDS):
        parser.error(f"N is at least 1, and kinds are of {','.join(KINDS)}")
    seed = given.seed if given.seed is not None else int.from_bytes(os.urandom(3), "big")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(130))
    folder = tempfile.mkdtemp(prefix="stategraph-failover-")
    trial = None
    started = time.monotonic()
    is_good = was_ended = False
    try:
        trial = Trial(given.program, folder, seed)
        order = kinds_of(wanted, given.count, trial)
        print(f"seed {seed}, folder {folder}; {trial.cluster.versions()}\nttl {TTL} s, loop_wait {LOOP_WAIT} s, retry_timeout {RETRY_TIMEOUT} s; "
              f"etcd: heartbeat {ETCD_HEARTBEAT_MS} ms, election {ETCD_ELECTION_MS} ms", flush=True)
        trial.start()
        for number, kind in enumerate(order, 1):
            trial.fail_over(number, kind)
        found = trial.check()
        seconds = time.monotonic() - started
        print(json.dumps(found, indent=1), json.dumps(trial.windows()), flush=True)
        bad = {what: found[what] for what in PROMISED if found.get(what)}
        longest = max(max(row[what] for what in ACKNOWLEDGED) for row in trial.rows)
        print(f"{len(trial.rows)} failovers in {seconds:.0f} s; longest gap {longest / 1000:.1f} s; " + (f"BROKEN: {bad}" if bad else "every promise was kept"))
        if given.history:
            history(given.history, trial, seed, found, seconds)
        is_good = not bad
    except SystemExit:
        was_ended = True
        raise
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if trial:
            trial.stop()
        if (is_good or was_ended or not trial) and not given.keep:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"logs and journals are in {folder}")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
