#!/usr/bin/env python3
"""Failing calls beneath the library: the sweep of faults.c over own models and ONNX's tests.

usage: library.py FAULTS CONFORMANCE [--all] [--most N] [--part K/N]
--all: every one of ONNX's tests of operators at two levels, every call; else a choice, at most N calls of a kind.
--part 1/8: every eighth scenario from the first on; all parts together are the whole.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Subgraphs, sequences, strings, recurrences, decoders, functions, classical models, random numbers, gradients.
CHOSEN = """loop11 loop13_seq loop16_seq_none scan_sum scan9_multi_state if if_seq if_opt sequence_map_add_2_sequences
sequence_insert_at_back split_to_sequence_1 optional_get_element_sequence string_split_basic string_concat
strnormalizer_export_monday_casesensintive_lower tfidfvectorizer_tf_batch_uniandbigrams_skip5 regex_full_match_basic
lstm_with_peepholes gru_seq_length rnn_seq_length image_decoder_decode_jpeg_rgb image_decoder_decode_png_rgb
image_decoder_decode_webp_rgb image_decoder_decode_tiff_rgb image_decoder_decode_jpeg2k_rgb
image_decoder_decode_bmp_rgb image_decoder_decode_pnm_rgb unique_sorted_with_axis nonzero_example einsum_batch_matmul dft
attention_4d_gqa_expanded attention_4d layer_normalization_2d_axis0_expanded sce_NCd1_mean_weight_negative_ii_expanded
ai_onnx_ml_tree_ensemble_single_tree ai_onnx_ml_label_encoder_string_int bernoulli_seed
resize_upsample_sizes_cubic top_k nonmaxsuppression_two_batches roialign_aligned_true convtranspose
qlinearconv deform_conv_with_mask_bias adam momentum_multiple range_int32_type_negative_delta_expanded""".split()


def fragile(case):
    """Libraries that crash where their own malloc fails, before a caller could see to it, are swept with the caller's
    allocator alone: OpenJPEG 2.5.0 in opj_decode, libtiff 4.5.0 in TIFFReadDirectory (LZW) beneath TIFFClientOpen."""
    return "jpeg2k" in case.name or case.suffix in (".jp2", ".tif")


def own(folder):
    net = folder / "network"
    yield from (f"run:{net}", f"run:{net}:threads=4", f"run:{net}:level=0", f"run:{net}:copy",
                f"run:{net}:slice=2", f"run:{net}:slice=2:threads=2",
                f"run:{net}:slice=2:threads=2:allocator", f"run:{net}:slice=-1", f"run:{net}:memory",
                f"run:{net}:allocator", f"run:{net}:allocator:threads=4:copy:level=0",
                f"run:{folder}/external", f"run:{folder}/external:copy:allocator",
                f"pack:{net}", f"pack:{net}:threads=4:allocator", f"pack:{folder}/external:copy",
                f"describe:{net}:slice=2", f"describe:{net}:slice=2:allocator",
                f"run:{folder}/function", f"run:{folder}/function:level=0:allocator",
                f"pack:{folder}/function", f"plan:{folder}/problem.csv",
                f"plan:{folder}/problem.csv:allocator")
    for name in ("floats", "turned", "strings", "half"):
        yield f"files:{folder}/{name}.npy"
    yield f"files:{folder}/floats.npy:allocator"
    for image in sorted(folder.glob("picture.*")):
        if not fragile(image):
            yield f"image:{image}"
        yield f"image:{image}:allocator"


def of_onnx(conformance, every):
    if not every:
        cases = [conformance / "node" / f"test_{name}" for name in CHOSEN]
        missing = [c.name for c in cases if not (c / "model.onnx").exists()]
        if missing:
            print("no such tests any more:", *missing)
        for case in cases:
            if case.name not in missing:
                if not fragile(case):
                    yield f"run:{case}"
                yield f"run:{case}:level=0:allocator"
        return
    for kind in ("node", "simple", "pytorch-operator"):
        for case in sorted((conformance / kind).glob("test_*")):
            if (case / "test_data_set_0" / "input_0.pb").exists() or not list(case.glob("*/input*")):
                if not fragile(case):
                    yield f"run:{case}"
                yield f"pack:{case}:level=0:allocator"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("faults")
    parser.add_argument("conformance", type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--part", default="1/1")
    options = parser.parse_args()
    if not (options.conformance / "node").is_dir():
        print(f"skipped: {options.conformance} is missing")
        return 77
    points = failed = count = 0
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        scratch = folder / "scratch"
        scratch.mkdir()
        subprocess.run([sys.executable, HERE / "models.py", folder], check=True)
        scenarios = [s for s in [*own(folder), *of_onnx(options.conformance, options.all)]
                     if options.only in s]
        part, parts = map(int, options.part.split("/"))
        scenarios = scenarios[part - 1::parts]
        for first in range(0, len(scenarios), 50):
            command = [options.faults, *(["--most", str(options.most)] if options.most else []),
                       str(scratch), *scenarios[first:first + 50]]
            ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, errors="replace")
            last = re.match(r"(\d+) scenarios, (\d+) points.* (\d+) scenarios wrong",
                            (ran.stdout.splitlines() or [""])[-1])
            wrong = ran.returncode or not last
            print(ran.stdout if wrong else ran.stdout.splitlines()[-1], end="\n")
            if not last:
                print(f"it ended with {ran.returncode}")
            count += int(last[1]) if last else 0
            points += int(last[2]) if last else 0
            failed += bool(wrong)
        left = [p.name for p in scratch.iterdir() if p.name not in ("packed.sdx", "tensor.npy", "tensor.pb")]
        if left:
            print("files left behind:", *left)
            failed += 1
    print(f"{count} scenarios, {points} points: {'all well' if not failed else 'failed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
