import json
import pickle
import tracemalloc
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from hearsay.collector.limits import SNAPSHOT_JSON_BYTES
from hearsay.collector.survey.survey import Survey
from hearsay.collector.wire.rejections import RejectedCount, Rejections
from hearsay.estimator.errors import SnapshotError
from hearsay.estimator.snapshots.content import Content, compose
from hearsay.estimator.snapshots.files import checksum, publish, remove_survey, remove_window, windows, write
from hearsay.estimator.snapshots.loading import load
from hearsay.mechanisms.questions import answer, parse_text
from tests.estimator.surveys import colours, state_of

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "snapshot.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
NOW = datetime(2025, 1, 31, 13, 30, tzinfo=UTC)


def content(survey: Survey | None = None, reports: int = 500, **options: Any) -> Content:
    survey = survey or colours()
    return compose(survey, "all", state_of(survey, reports), now=NOW, **options)


def snapshot_json(directory: Path) -> dict[str, Any]:
    document = json.loads((directory / "snapshot.json").read_text())
    VALIDATOR.validate(document)
    return document


class TestDirectory:
    def test_the_exact_state_comes_back_and_answers_alike(self, tmp_path: Path) -> None:
        survey, written = colours(), content(rejected=Rejections(malformed=RejectedCount(2, 7)))
        read = load(write(tmp_path / "out", written))
        assert read.survey == survey
        assert read.metadata["reports"] == 500
        assert read.metadata["rejected"] == {"malformed": {"entries": 2, "reports": 7}}
        for name, array in written.state.items():
            assert np.array_equal(read.state[name], array)
        assert written.estimate is not None
        query = parse_text("frequencies")
        assert answer(query, read.estimate()) == answer(query, written.estimate)

    def test_the_json_fits_its_schema(self, tmp_path: Path) -> None:
        VALIDATOR.check_schema(SCHEMA)
        document = snapshot_json(write(tmp_path, content()))
        assert document["status"] == "final"
        assert document["generated_at"] == "2025-01-31T13:30:00.000Z"
        assert [found["query"] for found in document["answers"]] == ["top 10"] * 3
        assert {array["name"] for array in document["arrays"]} == {"estimate", "stderr", "state/sum", "state/count"}

    def test_a_window_has_its_bounds(self, tmp_path: Path) -> None:
        survey = colours(window={"every": "1h"})
        document = compose(survey, "20250131T130000Z", state_of(survey, 200), final=False, now=NOW).document()
        VALIDATOR.validate(document)
        assert document["window_start"] == "2025-01-31T13:00:00.000Z"
        assert document["window_end"] == "2025-01-31T14:00:00.000Z"
        assert document["status"] == "partial"

    def test_withheld_says_nothing_and_holds_no_state(self, tmp_path: Path) -> None:
        written = content(colours(answers={"minimum_reports": 501}))
        document = snapshot_json(write(tmp_path, written))
        assert document["withheld"] is True
        assert (document["answers"], document["arrays"]) == ([], [])
        with np.load(tmp_path / "arrays.npz", allow_pickle=False) as arrays:
            assert set(arrays) == set()
        with pytest.raises(SnapshotError, match="is withheld: answers need at least 501 reports, it has 500"):
            load(tmp_path)

    def test_no_reports_is_withheld(self) -> None:
        assert content(reports=0).withheld

    def test_a_copy_for_redis_is_small_and_fits_the_schema(self) -> None:
        short = json.loads(content().short_json())
        VALIDATOR.validate(short)
        assert "definition" not in short
        labels = [str(i) * 20_000 for i in range(5)]
        survey = colours(domain={"kind": "categorical", "categories": labels})
        encoded = compose(survey, "all", state_of(survey, 50)).short_json()
        assert len(encoded) <= SNAPSHOT_JSON_BYTES
        VALIDATOR.validate(json.loads(encoded))
        assert json.loads(encoded)["shortened"] is True


class TestPublish:
    def test_a_link_is_swapped_and_the_previous_generation_stays(self, tmp_path: Path) -> None:
        folder = tmp_path / "colours"
        for version in range(1, 5):
            assert publish(tmp_path, content(version=version))
            assert snapshot_json(folder / "all")["version"] == version
            assert (folder / "all").is_symlink()
        assert sorted(path.name for path in (folder / ".generations").iterdir()) == ["all.3", "all.4"]
        assert sorted(path.name for path in folder.iterdir()) == [".generations", "all"]

    def test_the_same_version_is_written_once(self, tmp_path: Path) -> None:
        assert publish(tmp_path, content(version=3, final=False))
        assert not publish(tmp_path, content(version=3, final=False))
        assert publish(tmp_path, content(version=3, final=True))

    def test_one_that_is_no_longer_the_newest_does_not_win(self, tmp_path: Path) -> None:
        publish(tmp_path, content(version=6))
        assert not publish(tmp_path, content(version=5), still_newest=lambda: False)
        assert load(tmp_path / "colours" / "all").metadata["version"] == 6

    def test_a_reader_in_the_middle_of_a_swap_can_finish(self, tmp_path: Path) -> None:
        publish(tmp_path, content(version=1))
        begun = (tmp_path / "colours" / "all").resolve()
        publish(tmp_path, content(version=2))
        assert load(begun).metadata["version"] == 1

    def test_a_damaged_snapshot_is_replaced(self, tmp_path: Path) -> None:
        publish(tmp_path, content(version=1))
        (tmp_path / "colours" / "all" / "snapshot.json").write_text("{")
        assert publish(tmp_path, content(version=1))
        assert snapshot_json(tmp_path / "colours" / "all")["version"] == 1

    def test_windows_and_surveys_can_be_removed(self, tmp_path: Path) -> None:
        survey = colours(window={"every": "1h"})
        names = ["20250131T130000Z", "20250131T140000Z"]
        for name in names:
            publish(tmp_path, compose(survey, name, state_of(survey, 20)))
        assert windows(tmp_path, "colours") == names
        remove_window(tmp_path, "colours", names[0])
        assert windows(tmp_path, "colours") == names[1:]
        assert [path.name for path in (tmp_path / "colours" / ".generations").iterdir()] == [f"{names[1]}.1"]
        remove_survey(tmp_path, "colours")
        assert windows(tmp_path, "colours") == []

    def test_a_place_that_cannot_be_written_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "colours").write_text("in the way")
        with pytest.raises(SnapshotError, match=r"cannot be written to .*colours"):
            publish(tmp_path, content())


class TestRefusals:
    def refuse(self, directory: Path, says: str) -> None:
        with pytest.raises(SnapshotError, match=says) as caught:
            load(directory)
        assert len(str(caught.value).splitlines()) == 1

    def test_missing(self, tmp_path: Path) -> None:
        self.refuse(tmp_path / "nowhere", "does not exist")

    def test_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "age.toml").touch()
        self.refuse(tmp_path / "age.toml", "age.toml is a file; a snapshot is a directory, as ")

    def test_not_a_snapshot(self, tmp_path: Path) -> None:
        self.refuse(tmp_path, r"has no snapshot\.json$")

    def test_the_directory_above_snapshots_names_them(self, tmp_path: Path) -> None:
        publish(tmp_path, content())
        self.refuse(tmp_path / "colours", r"has no snapshot\.json; snapshots in it: all$")
        for name in ("a", "b", "c", "d"):
            write(tmp_path / "many" / name, content())
        self.refuse(tmp_path / "many", r"; snapshots in it: a, b, c and 1 more$")

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "1"}', "\xff", '{"format": 1}', "null"])
    def test_other_json(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "snapshot.json").write_text(text)
        self.refuse(tmp_path, "is not a snapshot")

    def test_a_newer_format(self, tmp_path: Path) -> None:
        (tmp_path / "snapshot.json").write_text('{"format": 2}')
        self.refuse(tmp_path, "snapshot format 2, this version reads up to 1")

    def test_missing_arrays(self, tmp_path: Path) -> None:
        write(tmp_path, content())
        (tmp_path / "arrays.npz").unlink()
        self.refuse(tmp_path, "is not a snapshot")

    @pytest.mark.parametrize("keep", [0, 10, 200, -1])
    def test_truncated_arrays(self, tmp_path: Path, keep: int) -> None:
        write(tmp_path, content())
        whole = (tmp_path / "arrays.npz").read_bytes()
        (tmp_path / "arrays.npz").write_bytes(whole[:keep])
        self.refuse(tmp_path, "is not a snapshot")

    def test_no_window(self, tmp_path: Path) -> None:
        write(tmp_path, content())
        document = json.loads((tmp_path / "snapshot.json").read_text())
        del document["window"]
        (tmp_path / "snapshot.json").write_text(json.dumps(document))
        self.refuse(tmp_path, "is not a snapshot: 'window'")

    @pytest.mark.parametrize(("place", "octet"), [(6, 1), (8, 99)], ids=["encrypted", "packed"])
    def test_arrays_with_a_wrong_flag(self, tmp_path: Path, place: int, octet: int) -> None:
        write(tmp_path, content())
        whole = bytearray((tmp_path / "arrays.npz").read_bytes())
        for header, shift in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
            whole[whole.index(header) + place + shift] = octet
        (tmp_path / "arrays.npz").write_bytes(whole)
        self.refuse(tmp_path, "is not a snapshot")

    def test_pickled_arrays(self, tmp_path: Path) -> None:
        write(tmp_path, content())
        with zipfile.ZipFile(tmp_path / "arrays.npz", "w") as archive:
            for name in ("sum", "count"):
                with archive.open(f"state/{name}.npy", "w") as member:
                    np.lib.format.write_array(member, np.array([{}, None], dtype=object), allow_pickle=True)
        self.refuse(tmp_path, "is not a snapshot")
        (tmp_path / "arrays.npz").write_bytes(pickle.dumps({"state/sum": 1}))
        self.refuse(tmp_path, "is not a snapshot")

    def test_a_state_of_another_size(self, tmp_path: Path) -> None:
        write(tmp_path, content())
        self.repack(tmp_path, {name: np.tile(array, 1_000) for name, array in content().arrays().items()})
        self.refuse(tmp_path, "array state/sum must have 32 bytes, got 32128")

    def test_a_state_of_another_shape_or_kind(self, tmp_path: Path) -> None:
        write(tmp_path, content())
        changed = {name: array.reshape(2, -1) for name, array in content().arrays().items() if name.startswith("state")}
        self.repack(tmp_path, changed, keep_checksum=False)
        self.refuse(tmp_path, r"array state/sum must be int64 \[4\], got int64 \[2, 2\]")

    def repack(self, directory: Path, arrays: dict[str, Any], keep_checksum: bool = True) -> None:
        """Other arrays, with or without the checksum that belongs to them."""
        with zipfile.ZipFile(directory / "arrays.npz", "w") as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w") as member:
                    np.lib.format.write_array(member, array)
        if not keep_checksum:
            document = json.loads((directory / "snapshot.json").read_text())
            document["checksum"] = checksum(document, directory / "arrays.npz")
            (directory / "snapshot.json").write_text(json.dumps(document))

    def test_a_small_file_that_unpacks_to_much(self, tmp_path: Path) -> None:
        write(tmp_path, content())
        with zipfile.ZipFile(tmp_path / "arrays.npz", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("state/sum.npy", bytes(300 << 20))
            archive.writestr("state/count.npy", bytes(300 << 20))
        assert (tmp_path / "arrays.npz").stat().st_size < 2 << 20
        tracemalloc.start()
        self.refuse(tmp_path, "array state/[a-z]+ is compressed; snapshots are not")
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
        tracemalloc.stop()

    @pytest.mark.parametrize(
        ("name", "value", "says"),
        [
            ("epsilon", 0.1, "epsilon is 0.1, but 2.0 in its definition"),
            ("tag", "0" * 64, "tag is '0000"),
            ("mechanism", "grr", "mechanism is 'grr', but 'hrr' in its definition"),
            ("minimum_reports", 0, "minimum_reports is 0, but 1"),
            ("reports", 5_000, "its checksum does not match"),
            ("answers", [], "its checksum does not match"),
            ("checksum", "sha256:0", "its checksum does not match"),
        ],
    )
    def test_what_was_changed_is_not_believed(self, tmp_path: Path, name: str, value: object, says: str) -> None:
        write(tmp_path, content())
        document = json.loads((tmp_path / "snapshot.json").read_text())
        (tmp_path / "snapshot.json").write_text(json.dumps({**document, name: value}))
        self.refuse(tmp_path, says)

    def test_a_changed_definition_has_another_tag(self, tmp_path: Path) -> None:
        write(tmp_path, content())
        document = json.loads((tmp_path / "snapshot.json").read_text())
        document["definition"]["epsilon"] = document["epsilon"] = 0.1
        (tmp_path / "snapshot.json").write_text(json.dumps(document))
        self.refuse(tmp_path, "tag is ")

    def test_reports_that_the_state_does_not_hold(self, tmp_path: Path) -> None:
        write(tmp_path, content())
        document = json.loads((tmp_path / "snapshot.json").read_text()) | {"reports": 5_000}
        document["checksum"] = checksum(document, tmp_path / "arrays.npz")
        (tmp_path / "snapshot.json").write_text(json.dumps(document))
        self.refuse(tmp_path, "says 5000 reports, its state holds 500")

    def test_a_changed_state(self, tmp_path: Path) -> None:
        write(tmp_path, content())
        self.repack(tmp_path, {name: array + 1 for name, array in content().arrays().items()})
        self.refuse(tmp_path, "its checksum does not match")
