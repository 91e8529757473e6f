# SPDX-License-Identifier: Apache-2.0
"""What is compared of the models that a version has stored: the documents, the counts, and the scores by the book. What
the other decisions say may get better, and is not asked."""
import hashlib
import json

MODELS = ("book", "default", "fields", "several", "child")
CONFIG = {"store": {"superseded_seconds": 315360000}}  # what is taken back is still there in ten years
UNDONE = "imported"  # the source whose changes are taken back
PROBES = ("the invoice of march is attached", "cheap pills, no prescription, click here", "lunch at noon?",
          "Stromrechnung für März: 84,20 €", "nothing of this was ever learned: qzxv", "click the meeting of the board")


def documents_of(client, path):
    """Every document of a model as its dump has it, with names for the numbers of its labels and words."""
    labels, words, documents = [], {}, []
    for line in client.get(path + "/export").ok().lines:
        labels = line.get("labels", labels)
        if "words" in line:
            first = line["words"]["first_row"]
            words.update({first + i: word for i, word in enumerate(line["words"]["texts"])})
        if "document" in line:
            document = line["document"]
            if document.get("label") is not None:
                document["label"] = labels[document["label"]]
            document["rows"] = sorted(zip((words[row] for row in document["rows"]), document.pop("counts")))
            documents.append(document)
    return sorted(documents, key=lambda document: document["id"])


def scores_of(client, name):
    """By the book: logarithms, or the probability of each of several labels."""
    more = {"values": {"country": "DE", "size": 7.5}} if name == "fields" else {}
    got = [client.post(f"/v1/models/{name}/classify", {"text": text, **more}).ok().json for text in PROBES]
    return [row["probabilities" if name == "several" else "log_scores"] for row in got]


def picture(client, name):
    row = client.get(f"/v1/models/{name}").ok().json
    documents = json.dumps(documents_of(client, f"/v1/models/{name}"), sort_keys=True)
    return {"documents": row["documents"], "vocabulary": row["vocabulary"], "labels": row["labels"],
            "sha256": hashlib.sha256(documents.encode()).hexdigest(), "scores": scores_of(client, name)}


def pictures(client, names=MODELS):
    return {name: picture(client, name) for name in names}


def undo(client, names=MODELS):
    for name in names:
        client.post(f"/v1/models/{name}/undo", {"source": UNDONE}).ok()
