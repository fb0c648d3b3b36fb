"""A folder in which a command of the program runs, and what may lie in it afterwards.

Every file that the command writes is there before, as an old one: after whatever happens each is the old one or a
whole new one, and nothing else has appeared, here or among the temporary files.
"""
import json
import os
import pathlib
import shutil
import subprocess

OLD = b"the old file\n"
SIZES = ["--dim", "batch=2", "--dim", "height=16", "--dim", "width=16"]


class Command:
    def __init__(self, name, arguments, outputs=(), heavy=False):
        self.name, self.arguments, self.outputs, self.heavy = name, arguments, outputs, heavy


def commands(m):
    """Each command with files that it writes; {m} is the folder of models."""
    net = f"{m}/network/model.onnx"
    return [
        Command("pack", ["pack", net, "-o", "out.sdx", "--plain"], ["out.sdx"]),
        Command("pack external", ["pack", f"{m}/external/model.onnx", "-o", "out.sdx", "--copy"],
                ["out.sdx"]),
        Command("run", ["run", net, "--random", "1", *SIZES, "--output", "results", "--threads", "2",
                        "--profile", "trace.json"], ["results/y.npy", "trace.json"]),
        Command("run pb", ["run", net, "--random", "1", *SIZES, "--output", "results", "--format", "pb"],
                ["results/y.pb"]),
        Command("plan", ["plan", net, *SIZES, "--slice", "off", "--csv", "plan.csv", "--svg", "plan.svg", "--html",
                         "plan.html"], ["plan.csv", "plan.svg", "plan.html"]),
        Command("plan csv", ["plan", f"{m}/problem.csv", "--strategy", "all", "--svg", "plan.svg"],
                ["plan.svg"]),
        Command("classify", ["classify", net, f"{m}/picture.jpg", f"{m}/picture.png", "--preset",
                             "torchvision"]),
        Command("inspect", ["inspect", net, "--json"]),
        Command("test", ["test", f"{m}/function"]),
        Command("bench", ["bench", net, *SIZES[2:], "--time", "0.05", "--warmup", "0", "--memory", "0",
                          "--rounds", "2", "--quiet", "--json", "b.json", "--csv", "b.csv", "--markdown",
                          "b.md", "--html", "b.html"], ["b.json", "b.csv", "b.md", "b.html"], True)]


class Workplace:
    def __init__(self, base, program, environment=()):
        self.folder, self.temporary = pathlib.Path(base) / "work", pathlib.Path(base) / "tmp"
        self.program = program
        self.environment = {**os.environ, "TMPDIR": str(self.temporary), **dict(environment)}
        self.whole = {}  # path: bytes of a run without faults, where they are always the same

    def clean(self, command):
        for folder in (self.folder, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        for path in command.outputs:
            (self.folder / path).parent.mkdir(exist_ok=True)
            (self.folder / path).write_bytes(OLD)

    def start(self, command, **more):
        return subprocess.Popen([self.program, *command.arguments], cwd=self.folder,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={**self.environment, **more.pop("env", {})}, **more)

    def run(self, command, **more):
        """Exit code and messages."""
        self.clean(command)
        process = self.start(command, **more)
        try:
            printed, messages = process.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return "hangs", ""
        if command.name == "test":  # which says there why a case failed
            messages += printed
        return process.returncode, messages.decode(errors="replace")

    def learn(self, command):
        """What the files are like when nothing fails: those that come out the same twice."""
        prints = []
        for _ in range(2):
            code, messages = self.run(command)
            if code != 0:
                raise SystemExit(f"{command.name} fails without faults, {code}: {messages}")
            prints.append({p: (self.folder / p).read_bytes() for p in command.outputs})
        self.whole = {p: b for p, b in prints[0].items() if prints[1][p] == b}

    def is_whole(self, path):
        content = (self.folder / path).read_bytes()
        if path in self.whole:
            return content == self.whole[path]
        if path.endswith(".json"):
            try:
                return bool(json.loads(content))
            except ValueError:
                return False
        return content.endswith(b"</html>\n") if path.endswith(".html") else content.endswith(b"\n")

    def problem(self, command, succeeded):
        """What is wrong with the files, or None."""
        for path in command.outputs:
            file = self.folder / path
            if not file.exists():
                return f"{path} is gone"
            old = file.read_bytes() == OLD
            if not old and not self.is_whole(path):
                return f"{path} is neither the old file nor a whole one"
            if old and succeeded:
                return f"{path} was not written, but the exit code is 0"
        known = {str(self.folder / p) for p in command.outputs}
        strays = [p for p in [*self.folder.rglob("*"), *self.temporary.rglob("*")]
                  if str(p) not in known and str(p.relative_to(p.anchor))
                  and not (p.is_dir() and p.parent == self.folder)]
        return f"left behind: {', '.join(str(p.name) for p in strays)}" if strays else None
