#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calibration error of models by the book on documents that they have not learned, without and with a calibration.

    calibration.py BUILD [--set NAME=VALUE]... [--parts | --folds N] [--mail | --text] INDEX

BUILD has bayesd and bayesc; INDEX has lines 'label<TAB>path[<TAB>train|test]'. Each setting of `calibration` is a run of
`bayesc evaluate`: ten-fold cross-validation, or with --parts what the third column says. ECE is the expected calibration
error over 15 bins of equal width of the winner's probability (Guo et al. 2017).
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measure import Server  # noqa: E402  (needs the path above)

FIGURES = ("accuracy", "ece", "log_loss", "brier")


def evaluate(args, url, method):
    """The figures of one setting, over all documents that were tested."""
    how = ["--parts"] if args.parts else ["--folds", str(args.folds)]
    how += ["--mail"] if args.mail else ["--text"] if args.text else []
    settings = ["preset=book", *args.set, "calibration=" + method]
    command = [os.path.join(args.build, "bayesc"), "evaluate", "--json", "--url", url, "--format", "index", *how,
               *(part for setting in settings for part in ("--set", setting)), args.index]
    ran = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return json.loads(ran.stdout)["windows"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the models")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--parts", action="store_true", help="the third column tells what is trained and what tested")
    parser.add_argument("--mail", action="store_true", help="files are mails")
    parser.add_argument("--text", action="store_true", help="files are texts")
    parser.add_argument("build")
    parser.add_argument("index")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bayesd-bench-") as folder, \
            Server(os.path.join(args.build, "bayesd"), "--data", folder, "--listen", "127.0.0.1:0") as server:
        print("calibration  documents " + " ".join(f"{name:>9}" for name in FIGURES))
        for method in ("none", "platt", "isotonic"):
            got = evaluate(args, f"http://127.0.0.1:{server.port}", method)
            print(f"{method:11} {got['documents']:10} " + " ".join(f"{got[name]:9.4f}" for name in FIGURES), flush=True)


if __name__ == "__main__":
    main()
