#!/bin/sh
# install.sh OPTIONAL: installs the Debian packages needed by the virtual machines and by the driver's native library, if this
# user may (root, or sudo without a password). Otherwise prints the missing packages in one line and fails, unless OPTIONAL is
# "true". Needs no network when all packages are installed.
set -u
optional=${1:-false}
packages="qemu-system-x86 busybox-static kmod cpio iproute2 libibverbs1 ibverbs-providers librdmacm1 libibverbs-dev
librdmacm-dev gcc libc6-dev perftest ibverbs-utils rdmacm-utils"

missing() {
  for package in $packages; do
    dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || printf '%s ' "$package"
  done
}

give_up() {
  echo "rdma-vm: $1" >&2
  [ "$optional" = true ] && exit 0
  echo "rdma-vm: -Dlite.rdma.vm.optional=true builds without the virtual machines" >&2
  exit 1
}

[ "$(uname -s) $(uname -m)" = "Linux x86_64" ] || give_up "the virtual machines need Linux on x86_64, this is $(uname -sm)"
command -v dpkg-query >/dev/null && command -v apt-get >/dev/null || give_up "no apt-get here: the virtual machines need Debian packages"
lacking=$(missing)
[ -z "$lacking" ] && exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  as_root="sudo -n"
else
  give_up "not installed, and this user may not install them: $lacking"
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The second try updates the package lists first: the server may no longer have the listed versions.
for try in 1 2; do
  [ $try = 2 ] && { $as_root apt-get update -q >>"$log" 2>&1 || break; }
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive timeout -k 10 300 apt-get -o DPkg::Lock::Timeout=120 install -y -q \
    --no-install-recommends $lacking >>"$log" 2>&1 && break
done
lacking=$(missing)
[ -z "$lacking" ] && exit 0
tail -n 5 "$log" >&2
give_up "apt-get could not install: $lacking"
