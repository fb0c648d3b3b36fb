"""What is printed, and kept as Markdown and JSON: tables, notes, and figures beside their targets."""

import json
import operator

RELATIONS = {"≥": operator.ge, "≤": operator.le, "<": operator.lt}


class Report:
    def __init__(self, silent=False):
        self.lines, self.data, self.checks = [], {"figures": []}, []
        self.silent = silent

    def line(self, text=""):
        self.lines.append(text)
        if not self.silent:
            print(text, flush=True)

    def heading(self, text):
        self.line()
        self.line(f"## {text}")
        self.line()

    def table(self, head, rows):
        """Columns are padded, so that the Markdown reads well in a terminal too."""
        cells = [[str(cell) for cell in row] for row in [head, *rows]]
        widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
        for number, row in enumerate(cells):
            padded = [cell.ljust(width) if i == 0 else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(row, widths))]
            self.line("| " + " | ".join(padded) + " |")
            if number == 0:
                self.line("|" + "|".join("-" * (width + 2) if i == 0 else "-" * (width + 1) + ":"
                                         for i, width in enumerate(widths)) + "|")
        self.line()

    def figure(self, suite, **facts):
        """A raw figure, for JSON."""
        self.data["figures"].append({"suite": suite, **facts})

    def check(self, suite, what, value, relation, target, interval=None, unit=""):
        """Holds a figure against its target. Whether it is met is decided by the figure itself;
        an interval that reaches across the target is mentioned."""
        met = value is not None and RELATIONS[relation](value, target)
        near = interval is not None and interval[0] <= target <= interval[1]
        self.checks.append({"suite": suite, "what": what, "value": value, "relation": relation,
                            "target": target, "interval": interval, "unit": unit,
                            "met": met, "within_noise": near})
        return met

    def unmeasured(self, suite, what, reason):
        self.checks.append({"suite": suite, "what": what, "value": None, "met": None,
                            "reason": reason})

    def verdicts(self, suite):
        """The table of all checks of one suite."""
        rows = []
        for check in (c for c in self.checks if c["suite"] == suite):
            if check["met"] is None:
                rows.append([check["what"], "", "", f"not measured: {check['reason']}"])
                continue
            shown = "none" if check["value"] is None else f"{check['value']:.3g}"
            if check["interval"]:
                shown += " ({:.3g}–{:.3g})".format(*check["interval"])
            state = "met" if check["met"] else "missed"
            if check["within_noise"]:
                state += ", within noise"
            rows.append([check["what"], shown + check["unit"],
                         f"{check['relation']} {check['target']:g}{check['unit']}", state])
        if rows:
            self.table(["target", "figure", "wanted", ""], rows)

    def missed(self):
        return [check for check in self.checks if check["met"] is False]

    def summary(self):
        met = sum(check["met"] is True for check in self.checks)
        unmeasured = sum(check["met"] is None for check in self.checks)
        self.line(f"{met} targets met, {len(self.missed())} missed, {unmeasured} not measured")

    def write(self, markdown=None, json_file=None):
        if markdown:
            markdown.write_text("\n".join(self.lines).strip() + "\n", encoding="utf-8")
        if json_file:
            json_file.write_text(json.dumps({**self.data, "checks": self.checks}, indent=1,
                                            ensure_ascii=False) + "\n", encoding="utf-8")
