"""Disagreements in which the reference is the one that is wrong, each with its reason.

    @explained("Mod", ORT, "divides by zero instead of ...")
    def _(case, ours, theirs): return condition

An entry covers a case if the operator and the reference match and its function says so. `ours` and
`theirs` are lists of outputs; ours is a string, the error's text, where Sardonyx refused the case.
Entries live beside the generators, in families/. A full run fails if an entry covers nothing, so
that none outlives its cause. `shown_by` is the number of a case that shows a rare one, for each
operator or for all: a full run has it besides the first cases.
"""
ORT, REFERENCE = "ONNX Runtime", "onnx.reference"
ENTRIES = []


class Entry:
    def __init__(self, operator, domain, reference, reason, covers, shown_by):
        self.operator, self.domain, self.reference = operator, domain, reference
        self.reason, self.covers, self.hits = reason, covers, 0
        self.shown_by = shown_by.get(operator) if isinstance(shown_by, dict) else shown_by


def explained(operators, reference, reason, domain="", shown_by=None):
    names = [operators] if isinstance(operators, str) else operators

    def register(function):
        ENTRIES.extend(Entry(name, domain, reference, reason, function, shown_by)
                       for name in names)
        return function
    return register


def showing(domain, operator, beyond):
    """Numbers of the cases from `beyond` on that entries ask for."""
    return sorted({e.shown_by for e in ENTRIES if (e.domain, e.operator) == (domain, operator)
                   and e.shown_by is not None and e.shown_by >= beyond})


def find(case, reference, ours, theirs):
    """The entry that covers this disagreement, or None."""
    for entry in ENTRIES:
        if (entry.operator, entry.domain, entry.reference) != (case.operator, case.domain, reference):
            continue
        if entry.covers(case, ours, theirs):
            entry.hits += 1
            return entry
    return None
