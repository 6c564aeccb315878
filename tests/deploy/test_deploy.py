"""The examples for operators are looked at: units, container and compose file."""

import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from sottovoce import cli
from sottovoce.node.coordinator import monitor

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted((DEPLOY / "systemd").iterdir())


def commands() -> list[tuple[str, list[str]]]:
    """Every call of our command in the examples, with the file that it stands in."""
    collected = []
    for unit in UNITS:
        for line in re.findall(r"^ExecStart=(.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE):
            words = shlex.split(line.replace("$(", "").replace(")", ""))
            words = shlex.split(words[2]) if words[0] == "/bin/sh" else words
            collected.append((unit.name, words[words.index("sottovoce") + 1 :]))
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    collected += [(f"compose {name}", service["command"]) for name, service in services.items()]
    return collected


@pytest.mark.parametrize(("where", "words"), commands(), ids=lambda value: str(value)[:40])
def test_every_option_in_the_examples_is_one(where: str, words: list[str]) -> None:
    options = [word for word in words if word.startswith("--")]
    output = CliRunner().invoke(cli.app, [words[0], "--help"], env={"COLUMNS": "200"})
    assert output.exit_code == 0, where
    for option in options:
        assert option in output.stdout, (where, option)


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_units_are_understood(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    # An instance has a name, and the user of the units is not on this machine.
    name = unit.name.replace("@.", "@s-1.")
    for other in UNITS:
        text = other.read_text(encoding="utf-8")
        (tmp_path / other.name.replace("@.", "@s-1.")).write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--recursive-errors=no", "--man=no", str(tmp_path / name)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    complaints = [line for line in done.stderr.splitlines() if unit.stem.split("@")[0] in line]
    assert not [
        complaint
        for complaint in complaints
        if re.search(r"Unknown|Failed to parse|not valid", complaint)
    ]


def test_services_are_hardened_and_not_root() -> None:
    for name in ("sottovoce-serve.service", "sottovoce-join@.service"):
        text = (DEPLOY / "systemd" / name).read_text(encoding="utf-8")
        for line in ("User=sottovoce", "NoNewPrivileges=yes", "ProtectSystem=strict", "UMask=0077"):
            assert line in text.splitlines(), (name, line)


def test_units_need_no_program_that_a_minimal_system_lacks() -> None:
    """Debian without recommendations has no /bin/kill, and nobody makes the folder of backups."""
    texts = [unit.read_text(encoding="utf-8") for unit in UNITS]
    programs = {
        name for text in texts for name in re.findall(r"^Exec\w+=(\S+)", text, re.MULTILINE)
    }
    assert programs <= {"/bin/sh", "/bin/systemctl", "/usr/bin/env", "/usr/bin/install"}
    backup = (DEPLOY / "systemd" / "sottovoce-backup.service").read_text(encoding="utf-8")
    (folder,) = re.findall(r"sottovoce backup (\S+)/", backup)
    assert backup.index(f"install --directory --mode=700 {folder}\n") < backup.index("ExecStart=")


def test_the_container_runs_as_somebody_who_is_not_root() -> None:
    lines = (DEPLOY / "Containerfile").read_text(encoding="utf-8").splitlines()
    instructions = [line.split()[0] for line in lines if re.match(r"[A-Z]+ ", line)]
    assert set(instructions) <= {
        "FROM", "WORKDIR", "COPY", "ARG", "RUN",
        "ENV", "USER", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD",
    }  # fmt: skip
    assert "USER 10001:10001" in lines
    assert lines.index("USER 10001:10001") > max(
        at for at, line in enumerate(lines) if line.startswith("RUN ")
    )
    assert not [line for line in lines if line.startswith("FROM") and ":latest" in line]
    root = DEPLOY.parent
    extras = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    for given in re.findall(r"EXTRAS=(\S+)", "\n".join(lines)):
        assert set(given.split(",")) <= set(extras["optional-dependencies"]), given
    for line in lines:
        if line.startswith("COPY ") and "--from" not in line:
            assert all((root / name).exists() for name in line.split()[1:-1]), line


def test_every_container_of_the_example_is_read_only_and_has_a_home_of_its_own() -> None:
    settings = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    homes = set()
    for name, service in settings["services"].items():
        assert service["read_only"] is True, name
        assert service["user"] == "10001:10001"
        assert service["cap_drop"] == ["ALL"]
        homes.add(service["volumes"][0].split(":")[0])
    assert homes == set(settings["volumes"])
    assert all(
        port.startswith("127.0.0.1:") for port in settings["services"]["coordinator"]["ports"]
    )


PAGE = (DEPLOY.parent / "docs" / "operating.md").read_text(encoding="utf-8")


def test_every_option_on_the_page_is_one() -> None:
    matches = re.findall(r"`?(join|serve|backup|restore)\b[^`\n]*? (--[a-z-]+)", PAGE)
    assert {"--monitor", "--notify", "--cluster"} <= {option for _, option in matches}
    for command, option in matches:
        output = CliRunner().invoke(cli.app, [command, "--help"], env={"COLUMNS": "200"})
        assert option in output.stdout, (command, option)


def test_the_settings_on_the_page_are_settings(tmp_path: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "sottovoce.toml").write_text(block, encoding="utf-8")
    # A wrong setting would be told before there is a study to look for.
    done = CliRunner().invoke(cli.app, ["status", "--home", str(tmp_path)])
    assert str(done.exception) == f"{tmp_path}: there is no study in this folder"


def test_the_metrics_of_the_page_are_those_that_are_served() -> None:
    source = Path(monitor.__file__).read_text(encoding="utf-8")
    for name in re.findall(r"`(sottovoce_[a-z_]+?)(?:_total)?(?:\{[a-z]+\})?`", PAGE):
        assert f'"{name}"' in source, name
