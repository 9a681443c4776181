#!/bin/sh
# Run a command with the kernels that were compiled when the image was built.
#
# numba wants a cache it can write to, and the image is read-only: a folder of links into the image costs nothing, is
# read like the image, and takes what has to be compiled anew.
set -eu
built=/opt/scorecube/cache
cache=${SCORECUBE_CACHE:-/tmp/scorecube-cache}

if ! mkdir -p "$cache/numba" "$cache/matplotlib" 2> /dev/null || [ ! -w "$cache/numba" ]; then
  echo "scorecube: cannot write to $cache; give the container a writable /tmp (docker run --tmpfs /tmp) or set SCORECUBE_CACHE" >&2
  exit 1
fi
if [ "$cache" != "$built" ] && [ -d "$built" ]; then
  cp -rsn "$built/." "$cache"
fi
export NUMBA_CACHE_DIR="$cache/numba" MPLCONFIGDIR="$cache/matplotlib"

# One target for all machines instead of the one that built the image, so that the kernels fit every worker.
if [ "${NUMBA_CPU_NAME:-}" = host ]; then
  unset NUMBA_CPU_NAME NUMBA_CPU_FEATURES
elif [ -z "${NUMBA_CPU_NAME:-}" ] && [ "$(uname -m)" = x86_64 ]; then
  export NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES=
  for needed in avx2 bmi1 bmi2 f16c fma abm movbe; do
    if ! grep -q -m1 "^flags.* $needed\( \|\$\)" /proc/cpuinfo; then
      echo "scorecube: this processor lacks $needed, so kernels are compiled anew as they are needed (a minute in all)" >&2
      unset NUMBA_CPU_NAME NUMBA_CPU_FEATURES
      break
    fi
  done
fi
exec "$@"
