"""Runs the commands of the Dockerfile in a fresh folder, without Docker: `make dockerfile`.

Each COPY and RUN happens in a temporary folder that stands for the root of the image. Then the entry point is started,
where possible as the image's user and in a network namespace that has nothing but loopback, and the health check and
one request are made. What is not run: the base image itself, and `useradd`, which would change this machine.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REQUEST = """
import json, urllib.request
body = json.dumps({"context": ["Do you want tea?"], "response": "Yes, with milk please."}).encode()
print(json.load(urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:8000/score", body))))
"""


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Each instruction with its arguments; lines that end in a backslash are joined."""
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if line.strip() and not line.startswith("#"):
            word, _, rest = line.strip().partition(" ")
            yield word, rest


class Image:
    """A folder that stands for the root of the image."""

    def __init__(self, root: Path) -> None:
        self.root, self.place, self.user = root, root, 0
        self.found: dict[str, list[str]] = {}
        self.environment: dict[str, str] = {}

    def inside(self, text: str) -> str:
        """The text with the image's own folders replaced by those in the temporary one."""
        return re.sub(r"(?<![\w.])/(opt/rejoinder|source)", rf"{self.root}/\1", text)

    def build(self, text: str) -> None:
        """Follow all instructions."""
        for word, rest in instructions(text):
            print(f"{word} {rest}", flush=True)
            if word == "WORKDIR":
                self.place = Path(self.inside(rest))
                self.place.mkdir(parents=True)
            elif word == "COPY" and not rest.startswith("--from"):
                *sources, target = rest.split()
                for name in sources:
                    copy_into(ROOT / name, self.place / target)
            elif word == "RUN" and "useradd" in rest:
                print("  (not run: it would change this machine)")
            elif word == "RUN":
                subprocess.run(["sh", "-c", self.inside(rest)], cwd=self.place, check=True)
            elif word == "USER":
                self.user = int(rest)
            elif word == "ENV":
                self.environment |= dict(part.split("=", 1) for part in shlex.split(self.inside(rest)))
            elif word in {"ENTRYPOINT", "CMD", "HEALTHCHECK"}:
                self.found[word] = json.loads(self.inside(rest[rest.index("[") :]))

    def command(self) -> list[str]:
        """What starts the service, as the image's user where that is allowed."""
        start = [*self.found["ENTRYPOINT"], *self.found["CMD"]]
        if os.geteuid() or not shutil.which("setpriv"):
            return start
        return ["setpriv", "--reuid", str(self.user), "--regid", str(self.user), "--clear-groups", *start]


def copy_into(source: Path, target: Path) -> None:
    """What COPY does: files go into the target, the content of a folder becomes the target's."""
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"), dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


def check(image: Image) -> None:
    """Start the service, wait until it is healthy, and score a reply."""
    namespace = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    alone = os.geteuid() == 0 and subprocess.run([*namespace, "true"], capture_output=True).returncode == 0
    script = f"""{shlex.join(image.command())} & server=$!
for second in $(seq 120); do
  if {shlex.join(image.found["HEALTHCHECK"])} 2>/dev/null; then healthy=yes; break; fi
  sleep 1
done
{shlex.join([image.found["ENTRYPOINT"][0].replace("rejoinder/bin/rejoinder", "rejoinder/bin/python"), "-c", REQUEST])}
kill $server; wait $server; code=$?
test "$healthy" = yes && test $code = 0"""
    print(f"starting the service{' without a network' if alone else ''}", flush=True)
    start = time.monotonic()
    environment = {**image.environment, "PATH": os.environ["PATH"]}
    subprocess.run([*(namespace if alone else []), "sh", "-c", script], env=environment, check=True, cwd=image.root)
    print(f"healthy, answered and ended with exit code 0 after {time.monotonic() - start:.0f} s")


def main() -> None:
    """Build and check."""
    with tempfile.TemporaryDirectory(prefix="image-") as folder:
        os.chmod(folder, 0o755)  # for the image's user
        image = Image(Path(folder))
        image.build((ROOT / "Dockerfile").read_text(encoding="utf-8"))
        check(image)


if __name__ == "__main__":
    sys.exit(main())
