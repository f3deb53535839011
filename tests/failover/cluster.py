"""Three PostgreSQL servers under Patroni with one etcd, on ports of 127.0.0.1, in a folder that is removed at the end."""
import contextlib
import glob
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

# For a slow machine that others share. Patroni needs ttl >= loop_wait + 2 * retry_timeout. Raise them if servers lose their place
# although nothing has failed.
TTL, LOOP_WAIT, RETRY_TIMEOUT = 10, 1, 4
ETCD_HEARTBEAT_MS, ETCD_ELECTION_MS = 500, 5000
SYNCHRONOUS_MODE = {"synchronous_mode": True, "synchronous_mode_strict": True}
DISK = "500m"  # of each server: a tmpfs, so that fsync costs nothing and a disk can be filled
PARAMETERS = {
    "max_connections": 150, "shared_buffers": "32MB", "wal_log_hints": "on", "wal_recycle": "off", "max_wal_size": "48MB",
    "min_wal_size": "2MB", "wal_keep_size": "64MB", "max_slot_wal_keep_size": "160MB", "checkpoint_timeout": "1min",
    "wal_sender_timeout": "5s", "wal_receiver_timeout": "5s", "wal_receiver_status_interval": "1s", "max_wal_senders": 10,
    "max_replication_slots": 10, "wal_level": "replica", "hot_standby": "on",
}


def binaries():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"), key=lambda name: int(name.split("/")[4]))
    return os.path.dirname(found[-1] if found else shutil.which("postgres"))


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def get(port, path, data=None, seconds=2.0):
    """The answer of a Patroni as JSON; None if none comes."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", None if data is None else json.dumps(data).encode(),
                                     {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:
            text = answer.read().decode()
    except urllib.error.HTTPError as error:
        text = error.read().decode()
    except (OSError, ValueError):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return {"text": text}


class Node:
    """A server and its Patroni."""

    def __init__(self, cluster, name, port, rest):
        self.cluster, self.name, self.port, self.rest = cluster, name, port, rest
        self.folder = cluster.folder / name
        self.patroni = None

    def make(self):
        self.folder.mkdir()
        if self.cluster.has_disks:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=755", "tmpfs", self.folder], check=True)
        config = self.folder / "patroni.json"
        hba = ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
        users = {"username": "postgres", "password": "postgres"}
        config.write_text(json.dumps({
            "scope": "failover", "name": self.name,
            "restapi": {"listen": f"127.0.0.1:{self.rest}", "connect_address": f"127.0.0.1:{self.rest}"},
            "etcd3": {"host": f"127.0.0.1:{self.cluster.etcd_port}"},
            "bootstrap": {
                "dcs": {"ttl": TTL, "loop_wait": LOOP_WAIT, "retry_timeout": RETRY_TIMEOUT, "maximum_lag_on_failover": 1 << 26,
                        "primary_start_timeout": 0, **SYNCHRONOUS_MODE,
                        "postgresql": {"use_pg_rewind": True, "use_slots": True, "parameters": PARAMETERS}},
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, {"auth": "trust"}, "data-checksums", {"wal-segsize": "1"}]},
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}", "connect_address": f"127.0.0.1:{self.port}", "bin_dir": str(self.cluster.bin),
                "data_dir": str(self.folder / "data"), "pgpass": str(self.folder / "pgpass"), "pg_hba": hba,
                "remove_data_directory_on_rewind_failure": True, "remove_data_directory_on_diverged_timelines": True,
                "authentication": {"superuser": users, "replication": users, "rewind": users},
                "parameters": {"unix_socket_directories": str(self.folder)}}}))
        self.set_clock(0)
        self.cluster.give(self.folder, config)

    def set_clock(self, seconds):
        (self.folder / "clock").write_text(f"{seconds:+d}\n")

    def start(self):
        log = open(self.folder.parent / f"{self.name}.log", "ab")
        self.patroni = subprocess.Popen(["/usr/bin/python3", shutil.which("patroni") or "/usr/bin/patroni", str(self.folder / "patroni.json")],
                                        stdout=log, stderr=log, cwd=self.folder, start_new_session=True, **self.cluster.user)

    def postmaster(self):
        try:
            return int((self.folder / "data/postmaster.pid").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return None

    def processes(self):
        """PostgreSQL's: the first one and its children."""
        first = self.postmaster()
        if first is None or not self.is_postgres(first):
            return []
        children = []
        for path in glob.glob("/proc/[0-9]*/stat"):
            with contextlib.suppress(OSError):
                text = pathlib.Path(path).read_text()
                if int(text.rsplit(")", 1)[1].split()[1]) == first:
                    children.append(int(path.split("/")[2]))
        return [first, *children]

    def is_postgres(self, pid):
        with contextlib.suppress(OSError):
            return os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "postgres" and os.readlink(f"/proc/{pid}/cwd") == str(self.folder / "data")
        return False

    def signal(self, number, patroni=True):
        """To PostgreSQL, twice, because the first process may start others meanwhile, and to Patroni."""
        if patroni and self.patroni and self.patroni.poll() is None:
            self.patroni.send_signal(number)
        for _ in range(2):
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        if number == signal.SIGKILL and patroni and self.patroni:
            self.patroni.wait()

    def fill_disk(self):
        with contextlib.suppress(OSError), open(self.folder / "filler", "wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))
        with contextlib.suppress(OSError), open(self.folder / "filler", "ab", buffering=0) as file:
            while True:
                file.write(bytes(512))

    def empty_disk(self):
        with contextlib.suppress(OSError):
            (self.folder / "filler").unlink()


class Cluster:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.is_root = os.geteuid() == 0
        self.user = {"user": "postgres", "group": "postgres", "extra_groups": []} if self.is_root else {}
        self.has_disks = self.is_root and self.can_mount()
        self.has_clocks = bool(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1"))
        self.bin = self.make_binaries()
        self.etcd_port, peer, *ports = free_ports(8)
        self.peer_port = peer
        self.nodes = [Node(self, name, ports[2 * i], ports[2 * i + 1]) for i, name in enumerate("abc")]
        self.etcd = None

    def can_mount(self):
        probe = self.folder / "probe"
        probe.mkdir()
        try:
            mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", probe], check=False, stderr=subprocess.DEVNULL)
            return mounted.returncode == 0
        finally:
            subprocess.run(["umount", "-l", probe], check=False, stderr=subprocess.DEVNULL)

    def give(self, *paths):
        for path in paths:
            if self.is_root:
                shutil.chown(path, "postgres", "postgres")

    def make_binaries(self):
        """PostgreSQL's programs; the server's clock is what the file `clock` of its folder says."""
        folder = self.folder / "bin"
        folder.mkdir()
        for program in glob.glob(binaries() + "/*"):
            (folder / os.path.basename(program)).symlink_to(program)
        if self.has_clocks:
            library = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")[0]
            server = folder / "postgres"
            real = os.path.realpath(server)
            server.unlink()
            server.write_text("#!/bin/sh\n"
                              'for word; do case $word in */data | --pgdata=*/data) folder=${word#--pgdata=}; esac; done\n'
                              f'[ -n "$folder" ] && [ -e "$folder/../clock" ] || exec {real} "$@"\n'
                              f'exec env LD_PRELOAD={library} FAKETIME_TIMESTAMP_FILE="$folder/../clock" FAKETIME_CACHE_DURATION=1 '
                              f'FAKETIME_DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1 {real} "$@"\n')
            server.chmod(0o755)
        return folder

    def start(self):
        self.folder.chmod(0o755)
        log = open(self.folder / "etcd.log", "ab")
        data = self.folder / "etcd"
        data.mkdir(mode=0o700)
        self.give(data)
        url, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{self.peer_port}"
        self.etcd = subprocess.Popen([
            "etcd", "--name", "one", "--data-dir", str(data), "--listen-client-urls", url, "--advertise-client-urls", url,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"one={peer}",
            "--heartbeat-interval", str(ETCD_HEARTBEAT_MS), "--election-timeout", str(ETCD_ELECTION_MS), "--logger", "zap"],
            stdout=log, stderr=log, cwd=data, start_new_session=True, **self.user)
        for node in self.nodes:
            node.make()
        self.nodes[0].start()
        self.wait(lambda: self.leader(), 120, "the first server")
        for node in self.nodes[1:]:
            node.start()
        self.await_healthy(180)

    def stop(self):
        for node in self.nodes:
            if node.patroni:
                node.signal(signal.SIGKILL)
        if self.etcd:
            self.etcd.kill()
            self.etcd.wait()
        if self.has_disks:
            for node in self.nodes:
                for _ in range(50):
                    if not os.path.ismount(node.folder) or subprocess.run(["umount", node.folder], check=False, stderr=subprocess.DEVNULL).returncode == 0:
                        break
                    time.sleep(0.1)
                else:
                    subprocess.run(["umount", "-l", node.folder], check=False)

    @staticmethod
    def wait(condition, seconds, what):
        end = time.monotonic() + seconds
        while True:
            found = condition()
            if found:
                return found
            if time.monotonic() > end:
                raise TimeoutError(f"{what} did not come within {seconds} s")
            time.sleep(0.1)

    def leader(self, but=None):
        """The server that is the primary, and says so itself; not `but`."""
        for node in self.nodes:
            if node is but:
                continue
            said = get(node.rest, "/primary", seconds=1.0)
            if said and said.get("role") in ("master", "primary") and said.get("state") == "running" and not self.is_stopped(node):
                return node
        return None

    @staticmethod
    def is_stopped(node):
        with contextlib.suppress(OSError):
            return pathlib.Path(f"/proc/{node.patroni.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"
        return False

    def members(self):
        """By name: role, state and timeline, as the primary sees them."""
        node = self.leader()
        said = get(node.rest, "/cluster") if node else None
        return {each["name"]: each for each in (said or {}).get("members", [])}

    def is_healthy(self):
        members = self.members()
        timelines = {each.get("timeline") for each in members.values()}
        return (len(members) == 3 and len(timelines) == 1 and all(each.get("state") in ("running", "streaming") for each in members.values())
                and any(each["role"] == "sync_standby" for each in members.values()))

    def await_healthy(self, seconds):
        self.wait(self.is_healthy, seconds, "a primary with two standbys, one of them synchronous,")

    def conninfo(self, ports):
        return (f"host={','.join(['127.0.0.1'] * len(ports))} port={','.join(map(str, ports))} user=postgres dbname=postgres "
                "target_session_attrs=read-write connect_timeout=2")

    def versions(self):
        def first(*command):
            return subprocess.run(command, capture_output=True, text=True, check=False).stdout.split("\n")[0]
        return ", ".join([first(binaries() + "/postgres", "--version"), first("/usr/bin/python3", "/usr/bin/patroni", "--version"),
                          first("etcd", "--version"), "Linux " + os.uname().release])
