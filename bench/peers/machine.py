"""What the figures were measured on, and what else the machine did meanwhile."""

import datetime
import os
import platform

FEATURES = ("sse4_2", "avx", "f16c", "fma", "avx2", "avx_vnni", "avx512f", "avx512_vnni",
            "avx512_bf16", "amx_tile", "asimd", "asimddp", "sve", "sve2")


def _fields(path):
    """The first value of each field of a file of `name: value` lines."""
    found = {}
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                name, colon, value = line.partition(":")
                if colon:
                    found.setdefault(name.strip(), value.strip())
    except OSError:
        pass
    return found


def describe():
    cpu, memory = _fields("/proc/cpuinfo"), _fields("/proc/meminfo")
    flags = (cpu.get("flags") or cpu.get("Features") or "").split()
    total = memory.get("MemTotal", "0 kB").split()[0]
    return {
        "date": datetime.date.today().isoformat(),
        "cpu": cpu.get("model name", platform.machine()),
        "family": f"{cpu.get('cpu family', '?')}/{cpu.get('model', '?')}",
        "cpus": len(os.sched_getaffinity(0)),
        "features": [name for name in FEATURES if name in flags],
        "memory_gb": round(int(total) * 1024 / 1e9, 1),
        "kernel": platform.release(),
    }


def as_text(facts):
    return (f"{facts['cpu']} (family/model {facts['family']}), {facts['cpus']} processors, "
            f"{' '.join(facts['features'])}; {facts['memory_gb']} GB; "
            f"Linux {facts['kernel']}; {facts['date']}")


class Load:
    """How busy the processors were with anything but the given runners, from now on."""

    def __init__(self, runners):
        self.runners = runners
        self.start = self._read()

    def _read(self):
        with open("/proc/stat", encoding="ascii") as file:
            numbers = [int(text) for text in file.readline().split()[1:9]]
        tick = os.sysconf("SC_CLK_TCK")
        idle = (numbers[3] + numbers[4]) / tick
        times = os.times()
        own = sum(runner.cpu_seconds() for runner in self.runners) + times.user + times.system
        return sum(numbers) / tick, idle, own

    def others(self):
        """Share of all processor time that went to somebody else, stolen time included."""
        total, idle, own = (b - a for a, b in zip(self.start, self._read()))
        return max(0.0, (total - idle - own) / total) if total > 0 else 0.0
