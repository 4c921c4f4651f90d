#!/usr/bin/env bash
# Installs the Debian packages that baton needs. Running it again does nothing.
#   scripts/setup.sh           what it takes to build and run
#   scripts/setup.sh --test    and what the tests and cluster.sh take
set -euo pipefail

build_packages=(
  build-essential cmake ninja-build ccache git pkg-config ca-certificates
  libzookeeper-mt-dev libpoco-dev libmysqlcppconn-dev libmariadb-dev libsqlite3-dev
  libyaml-cpp-dev nlohmann-json3-dev libcli11-dev libspdlog-dev libfmt-dev libabsl-dev tzdata libical-dev
  prometheus-cpp-dev libssl-dev zlib1g-dev
)
test_packages=(
  libgtest-dev clang-format-14 clang-tidy-14
  zookeeper default-jre-headless mariadb-server mariadb-client
  libfaketime curl python3
)

usage() { sed -n '2,4s/^# \{0,1\}//p' "$0"; }

wanted=("${build_packages[@]}")
for argument in "$@"; do
  case "$argument" in
    --test) wanted+=("${test_packages[@]}") ;;
    -h|--help) usage; exit 0 ;;
    *) echo "setup.sh: unknown option $argument" >&2; usage >&2; exit 2 ;;
  esac
done

if ! command -v dpkg-query >/dev/null; then
  echo "setup.sh: this is no Debian system; baton needs what these packages hold: ${wanted[*]}" >&2
  exit 1
fi

# Prints the wanted packages that are not there. "half-configured" counts as there: its files are in
# place, and what failed is the start of a service that nothing here uses.
missing_packages() {
  local package status
  for package in "${wanted[@]}"; do
    status=$(dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | head -n 1 || true)
    case "$status" in
      installed|half-configured|triggers-pending|triggers-awaited) ;;
      *) echo "$package" ;;
    esac
  done
}

mapfile -t missing < <(missing_packages)
if [ "${#missing[@]}" -eq 0 ]; then
  echo "setup.sh: all ${#wanted[@]} packages are there"
  exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
  echo "setup.sh: ${#missing[@]} packages are missing and only root can install them; run as root:" >&2
  echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi

echo "setup.sh: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt_get=(apt-get -y -q -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold)
install() { "${apt_get[@]}" install --no-install-recommends "${missing[@]}"; }
if ! "${apt_get[@]}" update; then
  echo "setup.sh: apt-get update failed; trying with the package lists that are there" >&2
fi
# The services that come with some packages need not start (containers have no init): what counts is
# whether the packages are there afterwards.
install || echo "setup.sh: apt-get install reported errors; checking what is there" >&2
mapfile -t missing < <(missing_packages)
if [ "${#missing[@]}" -ne 0 ]; then
  echo "setup.sh: could not install: ${missing[*]}" >&2
  exit 1
fi
echo "setup.sh: done"
