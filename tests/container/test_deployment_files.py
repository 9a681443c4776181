"""Image, compose file and Kubernetes resources: what linters and schemas say, what pods may do, and names that must agree."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from scorecube import __version__
from scorecube.execute.certificates import FILES
from scorecube.execute.clusters import configuration
from scorecube.execute.profiles import make_profile, read_profile
from scorecube.workflow.sweep_file import read_sweep

REPO = Path(__file__).parents[2]
DOCKER, KUBERNETES = REPO / "docker", REPO / "cluster" / "kubernetes"
KUBERNETES_VERSION = "1.33"
SCHEDULER_SETTINGS = (
    "comm.timeouts.connect",
    "comm.timeouts.tcp",
    "scheduler.allowed-failures",
    "scheduler.worker-ttl",
)
CHECKS = {
    "hadolint": (("docker/Dockerfile",), ["hadolint"]),
    "check-jsonschema": (
        ("docker/compose.yaml",),
        ["check-jsonschema", "--builtin-schema", "vendor.compose-spec"],
    ),
    "kubernetes-validate": (
        (
            "cluster/kubernetes/*.yaml",
            "cluster/kubernetes/job/*.yaml",
            "cluster/kubernetes/parts/*.yaml",
            "cluster/kubernetes/nightly/*.yaml",
        ),
        ["kubernetes-validate", "--strict", "-k", KUBERNETES_VERSION],
    ),
    "yamllint": (
        (
            "docker/*.yaml",
            "cluster/*.yaml",
            "cluster/kubernetes/*.yaml",
            "cluster/kubernetes/job/*.yaml",
            "cluster/kubernetes/parts/*.yaml",
            "cluster/kubernetes/nightly/*.yaml",
        ),
        ["yamllint", "--strict", "-d", "{extends: relaxed, rules: {line-length: disable}}"],
    ),
    "shellcheck": (
        (
            "docker/*.sh",
            "tests/container/*.sh",
            "tests/cluster/*.sh",
            "cluster/slurm/*.sbatch",
            ".ci/run",
        ),
        ["shellcheck"],
    ),
}
"""Tool -> files it reads, and its command."""
BROKEN = {
    "hadolint": ("Dockerfile", "FROM python\nRUN sudo pip install numpy\n"),
    "check-jsonschema": ("compose.yaml", "services:\n  worker:\n    image: x\n    read_only: 5\n"),
    "kubernetes-validate": (
        "x.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec:\n  replicas: two\n"
        "  selector: {matchLabels: {a: b}}\n  template: {metadata: {labels: {a: b}}}\n",
    ),
    "yamllint": ("x.yaml", "a: 1\na: 2\n"),
    "shellcheck": ("x.sh", "#!/bin/sh\nrm -rf $1/$unset\n"),
}


def lint(tool: str, files: list[Path]) -> subprocess.CompletedProcess[str]:
    beside = Path(sys.executable).parent
    program = shutil.which(tool, path=f"{beside}{os.pathsep}{os.environ.get('PATH', '')}")
    if program is None:
        pytest.skip(f"{tool} is not installed (there is no package of it for this kind of machine)")
    command = [program, *CHECKS[tool][1][1:], *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("tool", CHECKS)
def test_linter_finds_nothing(tool: str) -> None:
    files = sorted(path for pattern in CHECKS[tool][0] for path in REPO.glob(pattern))
    assert files
    done = lint(tool, files)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("tool", CHECKS)
def test_linter_finds_what_is_broken(tool: str, tmp_path: Path) -> None:
    name, text = BROKEN[tool]
    (tmp_path / name).write_text(text)
    assert lint(tool, [tmp_path / name]).returncode != 0


def resources() -> list[dict[str, Any]]:
    files = [
        path for path in sorted(KUBERNETES.rglob("*.yaml")) if path.name != "kustomization.yaml"
    ]
    return [each for path in files for each in yaml.safe_load_all(path.read_text())]


def of_kind(kind: str) -> list[dict[str, Any]]:
    return [each for each in resources() if each["kind"] == kind]


def pods() -> dict[str, dict[str, Any]]:
    """Every pod that the resources make: template with labels and spec."""
    found = {
        f"{each['kind']}/{each['metadata']['name']}": each["spec"]["template"]
        for each in resources()
        if "template" in each.get("spec", {})
    }
    found |= {
        f"CronJob/{each['metadata']['name']}": each["spec"]["jobTemplate"]["spec"]["template"]
        for each in of_kind("CronJob")
    }
    (cluster,) = of_kind("DaskCluster")
    return found | {
        f"DaskCluster/{part}": cluster["spec"][part] for part in ("scheduler", "worker")
    }


PODS = pods()


def refused_of_container(container: dict[str, Any]) -> Iterator[str]:
    """Say what one container may do that it need not."""
    context, resources = container.get("securityContext", {}), container.get("resources", {})
    if context.get("allowPrivilegeEscalation") is not False:
        yield "may gain privileges"
    if context.get("readOnlyRootFilesystem") is not True:
        yield "writes to its image"
    if context.get("capabilities") != {"drop": ["ALL"]}:
        yield "has capabilities"
    if not {"cpu", "memory"} <= resources.get("requests", {}).keys():
        yield "asks for no processor or memory"
    if "memory" not in resources.get("limits", {}):
        yield "has no limit of memory"


def refused(pod: dict[str, Any]) -> Iterator[str]:
    """Say what a pod may do that it need not: what the standard "restricted" forbids, and writing to its image."""
    if pod.get("automountServiceAccountToken") is not False:
        yield "holds a token of the API server"
    if pod.get("enableServiceLinks") is not False:
        yield "is told all services by its environment"
    own = pod.get("securityContext", {})
    if own.get("runAsNonRoot") is not True or own.get("runAsUser") != 10001:
        yield "may run as root"
    if own.get("seccompProfile") != {"type": "RuntimeDefault"}:
        yield "has no seccomp profile"
    for container in pod["containers"]:
        yield from refused_of_container(container)
    for volume in pod.get("volumes", []):
        if not volume.keys() - {"name"} <= {
            "secret",
            "configMap",
            "emptyDir",
            "persistentVolumeClaim",
        }:
            yield f"mounts {volume}"


@pytest.mark.parametrize("name", PODS)
def test_pods_are_restricted(name: str) -> None:
    assert list(refused(PODS[name]["spec"])) == []


def test_the_check_of_pods_finds_everything() -> None:
    bad = {"containers": [{"resources": {}}], "volumes": [{"name": "x", "hostPath": {"path": "/"}}]}
    assert len(list(refused(bad))) == 10


@pytest.mark.parametrize("name", PODS)
def test_labels_are_those_that_policies_name(name: str) -> None:
    labels = PODS[name]["metadata"]["labels"]
    assert labels["app.kubernetes.io/name"] == "scorecube"
    assert labels["app.kubernetes.io/component"] in {"scheduler", "worker", "driver"}


@pytest.mark.parametrize("kind", ["Deployment", "DaskCluster"])
def test_scheduler_and_workers_listen_with_certificates_and_answer_to_probes(kind: str) -> None:
    profile = read_profile(REPO / "cluster" / "kubernetes.yaml")
    chosen = [pod["spec"] for name, pod in PODS.items() if name.startswith(f"{kind}/")]
    assert len(chosen) == 2
    for pod in chosen:
        (container,) = pod["containers"]
        words = container["args"]
        assert {"--no-dashboard", "--dashboard-address=127.0.0.1:8787"} <= set(words)
        options = ("--tls-ca-file", "--tls-cert", "--tls-key")
        assert [
            f"{option}={profile.tls}/{file}" for option, file in zip(options, FILES, strict=True)
        ] == [word for word in words if word.startswith("--tls")]
        assert profile.address in words if words[1] == "worker" else "--protocol=tls" in words
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            assert container[probe]["exec"]["command"][-1] == "/opt/scorecube/libexec/healthy.py"
        assert {"name": "tls", "mountPath": profile.tls, "readOnly": True} in container[
            "volumeMounts"
        ]


def test_policies_open_the_ports_that_are_listened_on_and_no_others() -> None:
    policies = {each["metadata"]["name"]: each["spec"] for each in of_kind("NetworkPolicy")}
    closed = policies.pop("scorecube-nothing-but-names")
    assert closed["podSelector"] == {"matchLabels": {"app.kubernetes.io/name": "scorecube"}}
    assert closed["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in closed
    assert {port["port"] for rule in closed["egress"] for port in rule["ports"]} == {53}
    for part in ("scheduler", "worker"):
        (container,) = PODS[f"Deployment/scorecube-{part}"]["spec"]["containers"]
        listened = {port["containerPort"] for port in container["ports"]}
        opened = [
            port["port"]
            for spec in policies.values()
            if spec["podSelector"]["matchLabels"].get("app.kubernetes.io/component") == part
            for rule in spec.get("ingress", [])
            for port in rule["ports"]
        ]
        assert set(opened) == listened
        for port in listened:
            assert any(word.endswith(f"port={port}") for word in container["args"])


def test_the_service_is_the_address_of_the_profile() -> None:
    profile = read_profile(REPO / "cluster" / "kubernetes.yaml")
    (service,) = of_kind("Service")
    (port,) = service["spec"]["ports"]
    assert profile.address == f"tls://{service['metadata']['name']}:{port['port']}"
    (cluster,) = of_kind("DaskCluster")
    assert (
        f"{cluster['metadata']['name']}-scheduler" == service["metadata"]["name"]
    )  # as the operator names it


def test_kustomizations_name_files_that_are_there_and_the_version_of_the_package() -> None:
    listed: set[Path] = set()
    for path in KUBERNETES.rglob("kustomization.yaml"):
        content = yaml.safe_load(path.read_text())
        listed |= {path.parent / name for name in content["resources"]}
        assert content["namespace"] == "scorecube"
        assert all(image["newTag"] == __version__ for image in content["images"])
    others = {KUBERNETES / "object-store.yaml", KUBERNETES / "daskcluster.yaml"}
    assert listed | others == {
        path for path in KUBERNETES.rglob("*.yaml") if path.name != "kustomization.yaml"
    }


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_builds_the_kustomizations() -> None:
    for folder in (KUBERNETES, KUBERNETES / "job", KUBERNETES / "parts", KUBERNETES / "nightly"):
        done = subprocess.run(
            ["kubectl", "kustomize", folder], capture_output=True, text=True, timeout=60, check=True
        )
        built = list(yaml.safe_load_all(done.stdout))
        assert built
        assert all(
            each["kind"] == "Namespace" or each["metadata"]["namespace"] == "scorecube"
            for each in built
        )


def test_parts_of_the_dask_cluster_are_what_kubernetes_knows(tmp_path: Path) -> None:
    """The validator has no schema of the operator's resource; what is inside are a service and pods."""
    (cluster,) = of_kind("DaskCluster")
    assert set(cluster["spec"]) == {"scheduler", "worker"}
    inside: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": part, **cluster["spec"][part]["metadata"]},
            "spec": spec,
        }
        for part in ("scheduler", "worker")
        for spec in [cluster["spec"][part]["spec"]]
    ]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "x"},
        "spec": cluster["spec"]["scheduler"]["service"],
    }
    path = tmp_path / "inside.yaml"
    path.write_text(yaml.safe_dump_all([*inside, service]))
    done = lint("kubernetes-validate", [path])
    assert done.returncode == 0, done.stdout + done.stderr


def run_with_stand_in(folder: Path, command: list[str], **environment: str) -> str:
    """Run a command where `scorecube` prints its arguments; return what it prints."""
    program = folder / "bin" / "scorecube"
    program.parent.mkdir(exist_ok=True)
    program.write_text('#!/bin/sh\necho "scorecube $*"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, env={"PATH": path, **environment}, capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_the_array_job_sweeps_the_part_of_its_task(tmp_path: Path) -> None:
    command = ["bash", str(REPO / "cluster/slurm/parts.sbatch"), "my sweep.toml", "--memory=4GB"]
    task = {"SLURM_ARRAY_TASK_ID": "7", "SLURM_CPUS_PER_TASK": "4"}
    said = run_with_stand_in(tmp_path, command, SLURM_ARRAY_TASK_COUNT="100", **task)
    assert said == "scorecube sweep my sweep.toml --memory=4GB --part 7/100 --workers 4\n"
    again = run_with_stand_in(tmp_path, command, SLURM_ARRAY_TASK_COUNT="2", PARTS="100", **task)
    assert again == said
    assert "submit this script with sbatch --array=1-PARTS" in run_with_stand_in(tmp_path, command)


def test_the_indexed_job_sweeps_every_part_once(tmp_path: Path) -> None:
    (job,) = [each for each in of_kind("Job") if each["metadata"]["name"] == "scorecube-parts"]
    assert job["spec"]["completionMode"] == "Indexed"
    (container,) = job["spec"]["template"]["spec"]["containers"]
    said = [
        run_with_stand_in(tmp_path, container["args"], JOB_COMPLETION_INDEX=str(index))
        for index in (0, job["spec"]["completions"] - 1)
    ]
    assert said == [
        f"scorecube sweep /etc/sweep/sweep.toml --part {number}/100 --workers 4\n"
        for number in (1, 100)
    ]
    assert container["resources"]["requests"]["cpu"] == "4"
    sweep = read_sweep(KUBERNETES / "parts/sweep.toml")
    assert sweep.study == "s3://bucket/study.zarr"
    assert all(entry.seed is not None for entry in sweep.entries)


@pytest.mark.parametrize(("status", "ended"), [(0, 0), (3, 3)])
def test_the_nightly_job_sweeps_and_then_checks_its_condition(
    tmp_path: Path, status: int, ended: int
) -> None:
    (job,) = of_kind("CronJob")
    assert job["spec"]["concurrencyPolicy"] == "Forbid"
    inner = job["spec"]["jobTemplate"]["spec"]
    (rule,) = inner["podFailurePolicy"]["rules"]
    assert (rule["action"], rule["onExitCodes"]["values"]) == ("FailJob", [3])
    (container,) = inner["template"]["spec"]["containers"]
    assert rule["onExitCodes"]["containerName"] == container["name"]
    given = {each["name"]: each["value"] for each in container["env"]}
    program = tmp_path / "scorecube"
    program.write_text(f'#!/bin/sh\necho scorecube "$@"\n[ "$1" = sweep ] || exit {status}\n')
    program.chmod(0o755)
    done = subprocess.run(
        container["args"],
        env=given | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == ended
    assert done.stdout.splitlines() == [
        "scorecube sweep /etc/sweep/nightly.toml --workers 4 --progress json",
        f"scorecube show {given['STUDY']} swap --fail-if required_difference>0.1",
    ]
    sweep = read_sweep(KUBERNETES / "nightly/nightly.toml")
    assert sweep.study == given["STUDY"]
    assert "swap" in {entry.analysis.name for entry in sweep.entries}
    assert all(entry.seed is not None for entry in sweep.entries)


def compose() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    return content


@pytest.mark.parametrize("name", compose()["services"])
def test_compose_services_are_restricted(name: str) -> None:
    service = compose()["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service.get("networks") == ["internal"] or service.get("network_mode") == "none"
    assert not service.keys() & {"ports", "privileged", "cap_add", "devices", "pid", "ipc"}
    assert compose()["networks"] == {"internal": {"internal": True}}


def test_compose_services_use_the_address_and_certificates_of_the_image_s_profile() -> None:
    profile, services = read_profile(REPO / "cluster" / "kubernetes.yaml"), compose()["services"]
    assert profile.address in services["worker"]["command"]
    assert "scorecube-scheduler" in services
    for name in ("scorecube-scheduler", "worker"):
        assert services[name]["restart"] == "unless-stopped"
        assert {f"--tls-key={profile.tls}/tls.key", "--dashboard-address=127.0.0.1:8787"} <= set(
            services[name]["command"]
        )


def test_settings_inside_the_image_are_those_of_profiles() -> None:
    inside = yaml.safe_load((DOCKER / "distributed.yaml").read_text())["distributed"]
    shipped = configuration(make_profile({"kind": "scheduler", "address": "tls://x:8786"}))
    for setting in SCHEDULER_SETTINGS:
        value: Any = inside
        for word in setting.split("."):
            value = value[word]
        assert value == shipped[f"distributed.{setting}"], setting


def test_dockerfile_installs_from_the_lock_and_leaves_root() -> None:
    text = (DOCKER / "Dockerfile").read_text()
    assert "requirements.lock > versions.txt" in text
    assert re.findall(r"^USER (.*)$", text, re.MULTILINE) == ["10001:10001"]
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {"${BASE}"}
    assert len(re.findall(r"^ARG BASE=\S+:\S+$", text, re.MULTILINE)) == 1


def test_every_base_image_can_be_pinned_by_a_digest() -> None:
    """Without an edit of the file; it says how, and holds no digest that nobody has checked."""
    text = (DOCKER / "Dockerfile").read_text()
    assert "--build-arg BASE=python:3.11-slim-bookworm@sha256:DIGEST" in text
    before, _, after = text.partition("\nARG BASE=")
    assert "\nFROM " not in before
    assert after.count("\nFROM ${BASE}") == 2
    assert not re.search("sha256:[0-9a-f]{64}", text)


@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="other processors are compiled for themselves"
)
@pytest.mark.parametrize(
    ("flags", "asked", "target"),
    [
        ("fpu avx2 bmi1 bmi2 f16c fma abm movbe", None, "x86-64-v3"),
        ("fpu bmi1 bmi2 f16c fma abm movbe avx512", None, None),
        ("fpu avx2 bmi1 bmi2 f16c fma abm movbe", "host", None),
        ("fpu", "znver3", "znver3"),
    ],
)
def test_kernels_are_compiled_for_many_machines_or_anew(
    tmp_path: Path, flags: str, asked: str | None, target: str | None
) -> None:
    (tmp_path / "cpuinfo").write_text(f"flags\t\t: {flags}\n")
    (tmp_path / "built" / "numba" / "kernels_1").mkdir(parents=True)
    (tmp_path / "built" / "numba" / "kernels_1" / "swap.nbc").write_text("code")
    text = (DOCKER / "entrypoint.sh").read_text()
    for place, other in (("/proc/cpuinfo", "cpuinfo"), ("/opt/scorecube/cache", "built")):
        assert place in text
        text = text.replace(place, str(tmp_path / other))
    environment = {"PATH": os.environ["PATH"], "SCORECUBE_CACHE": str(tmp_path / "cache")}
    environment |= {} if asked is None else {"NUMBA_CPU_NAME": asked}
    done = subprocess.run(
        ["sh", "-c", text, "entrypoint.sh", "env"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"NUMBA_CACHE_DIR={tmp_path}/cache/numba" in done.stdout
    assert re.findall(r"^NUMBA_CPU_NAME=(.*)$", done.stdout, re.MULTILINE) == (
        [] if target is None else [target]
    )
    assert ("lacks avx2" in done.stderr) == ("avx2" not in flags and asked is None)
    link = tmp_path / "cache" / "numba" / "kernels_1" / "swap.nbc"
    assert link.is_symlink()
    assert link.read_text() == "code"


def test_entrypoint_says_what_to_do_without_a_place_to_write() -> None:
    environment = {"PATH": os.environ["PATH"], "SCORECUBE_CACHE": "/proc/nothing"}
    command = ["sh", str(DOCKER / "entrypoint.sh"), "env"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "--tmpfs /tmp" in done.stderr
