"""Operators on text."""
import numpy as np

from case import Case, generator
from explained import ORT, REFERENCE, explained


def _texts(random, shape, words):
    """A tensor of texts, each of a few pieces."""
    count = int(np.prod(shape, dtype=int))
    flat = ["".join(random.choice(words) for _ in range(random.integer(0, 5))) for _ in range(count)]
    return np.array(flat, dtype=object).reshape(shape)


@generator("StringConcat")
def string_concat(random, schema):
    shape = random.shape()
    a, b = random.array(object, shape), random.array(object, random.broadcastable(shape))
    return Case([b, a] if random.chance(0.3) else [a, b])


@generator("StringSplit")
def string_split(random, schema):
    attributes = {}
    delimiter = random.choice([None, "", ",", " ", "ab", "--", "日", "é"])
    if delimiter is not None:
        attributes["delimiter"] = delimiter
    if random.chance(0.5):
        attributes["maxsplit"] = random.integer(0, 4)
    # Whitespace beyond ASCII is left to the engine by the standard, so there is none.
    words = ["a", "b", "ab", ",", ",,", "-", "--", "日本", "é", " ", "  ", "\t", "x", delimiter or " "]
    return Case([_texts(random, random.shape(high=3), words)], attributes, outputs=2)


@explained("StringSplit", ORT,
           "without a delimiter a text is split at whitespace; ONNX Runtime splits at spaces alone, "
           "not at tabs")
def _splits_at_spaces(case, ours, theirs):
    return (not case.attributes.get("delimiter")
            and any("\t" in s for s in case.inputs[0].ravel()))


@explained("StringSplit", REFERENCE,
           "whitespace at the end is removed if no delimiter is given; the evaluator uses Python's "
           "split, which keeps it after the last part that maxsplit allows")
def _keeps_space(case, ours, theirs):
    return (not case.attributes.get("delimiter") and "maxsplit" in case.attributes
            and any(s != s.rstrip() for s in case.inputs[0].ravel()))


@explained("StringSplit", ORT,
           "a text without the delimiter is one substring, also if it is empty (only splitting at "
           "whitespace drops empty substrings); ONNX Runtime counts none")
def _nothing_is_nothing(case, ours, theirs):
    return bool(case.attributes.get("delimiter")) and any(s == "" for s in case.inputs[0].ravel())


ATOMS = ["a", "b", "ab", ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", "[a-c]", "[^a]", "[[:alpha:]]",
         "[0-9x]", "é", "日", r"\.", "-", "(a|b)", "(?:ab|x)", "(?P<n>a)", "(?i:AB)", r"[\d_]", r"\x61"]
REPEATS = ["", "", "", "*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "+?", "??"]


def _pattern(random):
    """Of the syntax that RE2 takes."""
    parts = [random.choice(ATOMS) + random.choice(REPEATS) for _ in range(random.integer(1, 4))]
    if sum("?P<n>" in p for p in parts) > 1:
        parts = [p.replace("?P<n>", "") for p in parts]  # names are unique
    pattern = "".join(parts)
    if random.chance(0.2):
        pattern += "|" + random.choice(ATOMS)
    if random.chance(0.1):
        pattern = "^" + pattern + "$"
    if random.chance(0.1):
        pattern = r"\b" + pattern
    return random.choice(["(?i)", "(?s)"]) + pattern if random.chance(0.2) else pattern


@generator("RegexFullMatch")
def regex_full_match(random, schema):
    pattern = _pattern(random)
    words = ["a", "b", "ab", "A", "x", "1", "23", ".", "-", "_", " ", "é", "日", "c", "\n"]
    return Case([_texts(random, random.shape(high=3), words)], {"pattern": pattern})


@explained("RegexFullMatch", REFERENCE,
           "the pattern is in RE2's syntax; the evaluator uses Python's re, which has no classes such "
           "as [[:alpha:]]")
def _no_posix_classes(case, ours, theirs):
    return "[[:" in case.attributes["pattern"]


@explained("RegexFullMatch", REFERENCE,
           r"in RE2 \w, \d, \s and \b are of ASCII; the evaluator uses Python's re, where they cover "
           "the letters and digits of all scripts")
def _classes_of_unicode(case, ours, theirs):
    return (any(c in case.attributes["pattern"].lower() for c in (r"\w", r"\d", r"\s", r"\b"))
            and not all(str(s).isascii() for s in case.inputs[0].ravel()))


@generator("StringNormalizer")
def string_normalizer(random, schema):
    # ß has no upper case of one letter, and how a locale treats it is not said.
    words = ["a", "A", "B", "abc", "Abc", "ABC", "zeta", "Zeta", "x y", "é", "É", "日本", "10", "Monday"]
    if random.chance(0.7):
        words = [w for w in words if w.isascii()]
    if random.chance(0.3):
        words.append("")
    count = random.integer(1, 6)
    shape = (count,) if random.chance() else (1, count)
    attributes = {}
    if random.chance(0.7):
        attributes["case_change_action"] = random.choice(["LOWER", "UPPER", "NONE"])
    if random.chance(0.6):
        attributes["is_case_sensitive"] = random.integer(0, 1)
    if random.chance(0.7):
        attributes["stopwords"] = [random.choice(words) for _ in range(random.integer(1, 4))]
    if random.chance(0.8):
        # Which locales there are depends on the machine; this one is in every C library.
        attributes["locale"] = "C.UTF-8"
    flat = [random.choice(words) for _ in range(count)]
    return Case([np.array(flat, dtype=object).reshape(shape)], attributes)


@explained("StringNormalizer", REFERENCE, "the evaluator takes the accents off letters, of which the "
           "standard says nothing")
def _strips_accents(case, ours, theirs):
    return any("\u00c0" <= c <= "\u017f" for s in case.inputs[0].ravel() for c in s)


@explained("StringNormalizer", REFERENCE,
           "elements are dropped that are stop words; the evaluator drops all empty ones, too")
def _drops_empty_texts(case, ours, theirs):
    return any(s == "" for s in case.inputs[0].ravel())


@explained("StringNormalizer", REFERENCE,
           "stop words are compared with whole elements; the evaluator splits elements at spaces and "
           "compares the parts, so that it never finds a stop word with a space in it")
def _splits_elements(case, ours, theirs):
    return any(" " in s for s in case.attributes.get("stopwords", []))


@explained("StringNormalizer", REFERENCE,
           "unless is_case_sensitive is set, stop words are found in any case; the evaluator finds "
           "them so only if it changes the case as well")
def _finds_exact_case_only(case, ours, theirs):
    return (not case.attributes.get("is_case_sensitive")
            and case.attributes.get("case_change_action", "NONE") == "NONE")


@generator("TfIdfVectorizer")
def tfidf_vectorizer(random, schema):
    dtype = random.choice([np.dtype(object), np.dtype(np.int32), np.dtype(np.int64)])
    words = ["a", "b", "c", "日", ""] if dtype == object else [1, 2, 3, -4, 2**31 - 1]
    longest = random.integer(1, 4)
    pool, starts, grams = [], [], 0
    for length in range(1, longest + 1):
        starts.append(len(pool))
        seen = set()
        for _ in range(random.integer(0 if length < longest else 1, 4)):
            gram = tuple(random.choice(words) for _ in range(length))
            if gram not in seen:  # the same one twice has no meaning
                seen.add(gram)
                pool.extend(gram)
                grams += 1
    indexes = random.permutation(grams) if random.chance(0.5) else list(range(grams))
    if random.chance(0.2):
        indexes = [i + random.integer(0, 2) * grams for i in indexes]  # leaves holes
    low = random.integer(1, longest)
    attributes = {"mode": random.choice(["TF", "IDF", "TFIDF"]), "ngram_counts": starts,
                  "ngram_indexes": indexes, "min_gram_length": low,
                  "max_gram_length": random.integer(low, longest),
                  "max_skip_count": random.integer(0, 3)}
    attributes["pool_strings" if dtype == object else "pool_int64s"] = pool
    if random.chance():
        attributes["weights"] = [random.uniform(0.5, 2) for _ in range(grams)]
    shape = random.shape(1, 2, largest=9)
    flat = [random.choice(words) for _ in range(int(np.prod(shape, dtype=int)))]
    return Case([np.array(flat, dtype=dtype).reshape(shape)], attributes)


@explained("TfIdfVectorizer", REFERENCE,
           "weights[i] belongs to the i-th n-gram of the pool; the evaluator multiplies by the weight "
           "at the place in the output, which is another if ngram_indexes is not 0, 1, 2 ..")
def _weights_by_place(case, ours, theirs):
    indexes = case.attributes["ngram_indexes"]
    return "weights" in case.attributes and indexes != list(range(len(indexes)))
