"""`bench remote-parts`: a rado as printed drowns the asker's features, and sealed equals plain."""

import numpy as np

from benchmarks.studies.remote_parts import measure
from harness.keys import toy_key


def test_a_printed_rado_drowns_the_features_and_a_divided_one_does_not() -> None:
    full, printed, divided, mean, nothing = measure(toy_key(bits=768), seeds=3, sealed=1)
    for row in (printed, divided):
        assert row["sealed as plain"] == "3 of 3"
    errors = [
        [float(str(row[f"error, {peer} asks"])) for peer in ("alice", "bob", "carol")]
        for row in (full, printed, divided, mean, nothing)
    ]
    assert max(errors[0]) < 0.11
    # Whoever asks: with a whole rado every row gets one label, whatever its own features are.
    assert printed["rows of one label"] == "100%, 100%, 100%"
    assert "100%" not in str(divided["rows of one label"])
    assert len(set(errors[1])) == 1
    assert np.mean(errors[2]) < np.mean(errors[4])
