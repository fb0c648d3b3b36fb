"""Disagreements in which the reference is the one that is wrong, each with its reason.

    @explained("Mod", ORT, "divides by zero instead of ...")
    def _(case, ours, theirs): return condition

An entry covers a case if the operator and the reference match and its function says so. `ours` and
`theirs` are lists of outputs; ours is a string, the error's text, where Sardonyx refused the case.
Entries live beside the generators, in families/. A full run fails if an entry covers nothing, so
that none outlives its cause.
"""
ORT, REFERENCE = "ONNX Runtime", "onnx.reference"
ENTRIES = []


class Entry:
    def __init__(self, operator, domain, reference, reason, covers):
        self.operator, self.domain, self.reference = operator, domain, reference
        self.reason, self.covers, self.hits = reason, covers, 0


def explained(operators, reference, reason, domain=""):
    names = [operators] if isinstance(operators, str) else operators

    def register(function):
        ENTRIES.extend(Entry(name, domain, reference, reason, function) for name in names)
        return function
    return register


def find(case, reference, ours, theirs):
    """The entry that covers this disagreement, or None."""
    for entry in ENTRIES:
        if (entry.operator, entry.domain, entry.reference) != (case.operator, case.domain, reference):
            continue
        if entry.covers(case, ours, theirs):
            entry.hits += 1
            return entry
    return None
