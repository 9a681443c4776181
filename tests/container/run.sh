#!/usr/bin/env bash
# Build docker/Dockerfile and run docker/compose.yaml, both as they are, without a registry; check that the result is the
# same bits as on this machine, and that nobody is let in. Needs root, debootstrap, podman, buildah, runc, netavark,
# aardvark-dns and podman-compose. Exit status 77: something of this is missing here.
#
#   tests/container/run.sh
#
# PYTHON                     interpreter that has scorecube (and podman-compose, unless that is on the PATH)
# SCORECUBE_CONTAINER_CACHE  keeps the base image and the layers between runs (~/.cache/scorecube-container)
# DEBIAN_MIRROR              where the base image's packages come from (the first one of this machine's apt)
set -euo pipefail
repo=$(cd "$(dirname "$0")/../.." && pwd)
PYTHON=${PYTHON:-python3}
cache=${SCORECUBE_CONTAINER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/scorecube-container}
base=$(sed -n 's/^ARG BASE=//p' "$repo/docker/Dockerfile")
trials=1000000 # enough for several blocks a worker
began=$SECONDS

skip() { echo "skipped: $*" >&2; exit 77; }
say() { printf '%4d s  %s\n' $((SECONDS - began)) "$*"; }
fail() { echo "FAILED: $*" >&2; exit 1; }

[ "$(id -u)" = 0 ] || skip "building and running containers here needs root"
for tool in debootstrap podman buildah runc; do
  command -v "$tool" > /dev/null || skip "$tool is not installed (see docker/README.md)"
done
[ -x /usr/lib/podman/netavark ] || command -v netavark > /dev/null || skip "netavark is not installed (see docker/README.md)"
if "$PYTHON" -c 'import podman_compose' 2> /dev/null; then
  compose=("$PYTHON" -m podman_compose)
elif command -v podman-compose > /dev/null; then
  compose=(podman-compose)
else
  skip "podman-compose is not installed (see docker/README.md)"
fi

work=$(mktemp -d /tmp/scorecube-container.XXXXXX)
project=scorecube-test-$$
export CONTAINERS_STORAGE_CONF=$work/storage.conf CONTAINERS_CONF=$work/containers.conf
mkdir -p "$cache"
cat > "$CONTAINERS_STORAGE_CONF" << CONF
[storage]
driver = "overlay"
runroot = "$cache/run"
graphroot = "$cache/graph"
CONF
# Limits below the hard ones of this machine; runc as crun refuses a mixture of cgroup versions.
cat > "$CONTAINERS_CONF" << 'CONF'
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
runtime = "runc"
[network]
network_backend = "netavark"
CONF

export STUDY=$work/study WORKERS=3 TRIALS=$trials SAMPLING=replacement SEED=1 SCORECUBE_IMAGE=localhost/scorecube:test
study() { "${compose[@]}" -p "$project" -f "$repo/docker/compose.yaml" "$@"; }
in_container() { podman exec -i "${project}_$1_1" "${@:2}"; }
end() {
  status=$?
  if [ $status != 0 ] && [ $status != 77 ]; then
    for name in certificates scorecube-scheduler worker driver; do
      echo "--- $name" >&2
      podman logs --tail 30 "${project}_${name}_1" >&2 2>&1 || true
    done
  fi
  study down --volumes > /dev/null 2>&1 || true
  rm -rf "$work"
  exit $status
}
trap end EXIT

# --- the base image, from Debian packages instead of a registry
if [ ! -s "$cache/base.tar" ]; then
  mirror=${DEBIAN_MIRROR:-$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb  *\(\[[^]]*\] *\)\{0,1\}\(http[^ ]*\).*/\2/p' \
    /etc/apt/sources.list.d/debian*.sources /etc/apt/sources.list 2> /dev/null | head -n 1)}
  [ -n "$mirror" ] || skip "no Debian mirror known; set DEBIAN_MIRROR"
  debootstrap --variant=minbase --include=python3,python3-venv,python3-pip,python-is-python3,ca-certificates \
    bookworm "$work/root" "$mirror" > "$work/debootstrap.log" 2>&1 || { tail -n 20 "$work/debootstrap.log" >&2; fail debootstrap; }
  tar -C "$work/root" --exclude='./var/cache/apt/archives/*.deb' -cf "$cache/base.tar.partial" .
  rm -rf "$work/root"
  mv "$cache/base.tar.partial" "$cache/base.tar"
fi
podman image exists "docker.io/library/$base" || podman import -q "$cache/base.tar" "docker.io/library/$base" > /dev/null
say "base image $base from Debian packages"

# --- the image; layers of earlier builds make this one fast, until there are too many of them
[ "$(du -sm "$cache/graph" | cut -f1)" -lt 10000 ] || podman image prune --force > /dev/null
certificates=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
buildah bud --format docker --isolation chroot --pull-never --layers --network host \
  -v "$certificates:/etc/ssl/certs/ca-certificates.crt:ro" \
  -t "$SCORECUBE_IMAGE" -f "$repo/docker/Dockerfile" "$repo" > "$work/build.log" 2>&1 || { tail -n 30 "$work/build.log" >&2; fail "the build"; }
megabytes=$(($(podman image inspect --format '{{.Size}}' "$SCORECUBE_IMAGE") / 1000000))
say "image built: $megabytes MB; $(grep -c 'left to its first use' "$work/build.log" || true) kernels left to their first use"

# --- the same analysis here
mkdir "$STUDY"
"$PYTHON" "$repo/tests/container/studies.py" make "$STUDY/study.zarr"
cp -r "$STUDY" "$work/here"
(cd "$work/here" && "$PYTHON" -c 'from scorecube.cli.program import main; main()' \
  swap study.zarr --sampling=$SAMPLING --trials=$trials --seed=1 2> "$work/here.log") || { cat "$work/here.log" >&2; fail "the analysis on this machine"; }
chmod -R a+rwX "$STUDY"
say "the analysis on this machine"

# --- the compose study
study up -d --no-build scorecube-scheduler worker > "$work/up.log" 2>&1 || { cat "$work/up.log" >&2; fail "compose up"; }
for _ in $(seq 240); do
  joined=$(podman logs "${project}_scorecube-scheduler_1" 2>&1 | grep -c 'Register worker' || true)
  [ "$joined" -ge $WORKERS ] && break
  sleep 0.25
done
[ "$joined" -ge $WORKERS ] || fail "only $joined of $WORKERS workers joined within a minute"
say "scheduler and $WORKERS workers are up"
study up -d --no-build --no-recreate driver >> "$work/up.log" 2>&1 || { cat "$work/up.log" >&2; fail "compose up driver"; }
status=$(timeout 300 podman wait "${project}_driver_1")
podman logs "${project}_driver_1" > "$work/driver.log" 2>&1
[ "$status" = 0 ] || { cat "$work/driver.log" >&2; fail "the driver ended with status $status"; }
grep -q "on $WORKERS workers" "$work/driver.log" || { cat "$work/driver.log" >&2; fail "the driver did not use $WORKERS workers"; }
say "the driver's analysis on $WORKERS workers"
"$PYTHON" "$repo/tests/container/studies.py" compare "$work/here/study.zarr" "$STUDY/study.zarr" || fail "the results differ"
say "same bits as on this machine"

# --- who may do what
[ "$(podman network inspect --format '{{.Internal}}' "${project}_internal")" = true ] || fail "the network is not internal"
for name in scorecube-scheduler worker; do
  in_container $name python -I /opt/scorecube/libexec/healthy.py || fail "$name is not healthy"
  # shellcheck disable=SC2016 # it is the shell in the container that expands
  in_container $name sh -c '[ "$(id -u)" != 0 ] && ! touch /opt/x /etc/x 2> /dev/null' || fail "$name is root, or can write to its image"
  in_container $name grep -q '^CapEff:[[:space:]]*0*$' /proc/1/status || fail "$name has capabilities"
  in_container $name grep -q '^NoNewPrivs:[[:space:]]*1$' /proc/1/status || fail "$name may gain privileges"
  in_container $name grep -q '^[^[:space:]]*[[:space:]]00000000' /proc/net/route && fail "$name has a way out of its network"
  in_container $name python - < "$repo/tests/container/listeners.py" || fail "$name listens without TLS"
done
left=$(in_container worker find /tmp/scorecube-cache -type f -name '*.nbc' | wc -l)
[ "$left" = 0 ] || fail "$left kernels were compiled anew on a worker"
for scheme in tcp tls; do
  podman run --rm -i --read-only --tmpfs /tmp --network "${project}_internal" "$SCORECUBE_IMAGE" \
    python - $scheme < "$repo/tests/container/stranger.py" > "$work/stranger.log" 2>&1 \
    || { cat "$work/stranger.log" >&2; fail "a client without this run's certificate ($scheme) was not refused"; }
done
say "no root, nothing written, no way out, strangers refused"

# --- supervision: dask's processes end with status 0 when they are told to, and must come back
restarts() { podman inspect --format '{{.RestartCount}}' "${project}_worker_1"; }
# shellcheck disable=SC2016
in_container worker sh -c 'for p in /proc/[0-9]*; do tr "\0" " " < $p/cmdline 2> /dev/null | grep -q "[b]in/dask worker" && kill -TERM "${p#/proc/}"; done; true'
for _ in $(seq 40); do
  [ "$(restarts)" -gt 0 ] && break
  sleep 0.5
done
# podman 4.3 with podman-compose leaves it "stopped", though it starts such a container again after a plain podman run.
if [ "$(restarts)" -gt 0 ]; then say "a worker that ended was started again"; else say "NOT SHOWN: a worker that ended was not started again by this podman"; fi
