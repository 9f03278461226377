#!/bin/bash
# make-image.sh DIRECTORY: makes DIRECTORY/kernel and DIRECTORY/initrd from Debian's kernel package, and downloads the package
# if necessary. On failure the last line on standard error is the reason.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
directory=$1
# crc32_generic: an undeclared dependency of rdma_rxe; without it "rdma link add" fails.
modules="crc32_generic virtio_pci virtio_net 9pnet_virtio 9p overlay ib_uverbs rdma_ucm rdma_rxe"

fail() {
  echo "$1" >&2
  exit 1
}

for tool in qemu-system-x86_64 busybox modprobe depmod cpio rdma dpkg-deb apt-get ibv_devices ib_write_lat; do
  PATH=$PATH:/usr/sbin:/sbin command -v $tool >/dev/null || fail "the program $tool is not installed"
done
export PATH=$PATH:/usr/sbin:/sbin
mkdir -p "$directory"
cd "$directory"

kernel_package() {
  apt-cache depends linux-image-amd64 2>/dev/null | awk '$1 == "Depends:" && $2 ~ /^linux-image-.*-amd64/ {print $2; exit}'
}

download() {
  package=$(kernel_package)
  [ -n "$package" ] || return 1
  timeout -k 5 200 apt-get download -q "$package" >download.log 2>&1
}

# The package list may be outdated.
if ! ls linux-image-*.deb >/dev/null 2>&1 && ! download; then
  if [ "$(id -u)" = 0 ]; then as_root=; else as_root="sudo -n"; fi
  $as_root apt-get update -q >update.log 2>&1 || true
  download || fail "apt-get could not download the kernel package of linux-image-amd64: $(tail -n 1 download.log 2>/dev/null || echo 'no such package')"
fi
deb=$(ls -t linux-image-*.deb | head -n 1)

if [ ! -e kernel ] || [ "$deb" -nt kernel ]; then
  rm -rf unpacked kernel
  dpkg-deb -x "$deb" unpacked || { rm -f "$deb"; fail "$deb cannot be unpacked"; }
  # Newer packages install everything below /usr.
  [ -d unpacked/lib/modules ] || { mkdir -p unpacked/lib && ln -s ../usr/lib/modules unpacked/lib/modules; }
  depmod -b unpacked "$(ls unpacked/lib/modules)"
  cp unpacked/boot/vmlinuz-* kernel.new
  touch kernel.new
  mv kernel.new kernel
fi

if [ ! -e initrd ] || [ kernel -nt initrd ] || [ "$here/init" -nt initrd ] || [ "$here/make-image.sh" -nt initrd ]; then
  release=$(ls unpacked/lib/modules)
  root=$(mktemp -d)
  trap 'rm -rf "$root"' EXIT
  mkdir -p "$root"/{modules,proc,sys,dev,host,upper,root}
  cp "$(command -v busybox)" "$root/busybox"
  for module in $modules; do
    # Modules built into the kernel need no file.
    modprobe -d "$directory/unpacked" -S "$release" --show-depends "$module" | awk '$1 == "insmod" {print $2}'
  done | awk '!seen[$0]++' >"$root/files"
  [ -s "$root/files" ] || fail "the kernel $release has none of the modules $modules"
  while read -r file; do
    case $file in
      *.xz) xz -dc "$file" >"$root/modules/$(basename "$file" .xz)" && basename "$file" .xz ;;
      *) cp "$file" "$root/modules/" && basename "$file" ;;
    esac
  done <"$root/files" >"$root/modules/order"
  cp "$here/init" "$root/init"
  chmod +x "$root/init"
  (cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >initrd.new
  mv initrd.new initrd
fi
