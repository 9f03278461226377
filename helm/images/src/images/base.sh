#!/usr/bin/env bash
# Makes a base image as a tarball, from Debian's packages and without a registry: base.sh TARBALL
# It has what a JVM needs, the libraries of RDMA, and a shell for the chart's initial container.
set -euo pipefail
target=$1
if [ -f "$target" ]; then
  exit 0 # made by an earlier build
fi
packages=libc6,zlib1g,libgcc-s1,ca-certificates,tzdata,dash,coreutils,sed,libibverbs1,librdmacm1,ibverbs-providers
if ! command -v mmdebstrap >/dev/null; then
  apt-get update -q
  apt-get install -y -q --no-install-recommends mmdebstrap
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
sources=/etc/apt/sources.list.d/debian.sources
[ -f "$sources" ] || sources=/etc/apt/sources.list
mmdebstrap --quiet --variant=extract --mode=root --include="$packages" \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  "$release" "$work/root" "$sources"
# Nothing was configured, only unpacked: what the packages' scripts would have made.
rm -rf "$work"/root/usr/share/{doc,man,locale,info} "$work"/root/var/{cache,lib/apt} "$work"/root/dev/*
[ -e "$work/root/bin/sh" ] || ln -s dash "$work/root/bin/sh"
mkdir -p "$work"/root/{proc,sys,run,tmp,opt/lite,var/lib/lite}
chmod 1777 "$work/root/tmp"
cat > "$work/root/etc/passwd" <<'USERS'
root:x:0:0:root:/root:/bin/sh
lite:x:10001:10001:LITE:/opt/lite:/bin/sh
USERS
cat > "$work/root/etc/group" <<'GROUPS'
root:x:0:
lite:x:10001:
GROUPS
find /usr/share/ca-certificates -name '*.crt' -exec cat {} + > "$work/root/etc/ssl/certs/ca-certificates.crt" 2>/dev/null || true
mkdir -p "$work/image/layer"
tar --create --file "$work/image/layer/layer.tar" --directory "$work/root" --sort=name --mtime=@1 --numeric-owner .
sum=$(sha256sum "$work/image/layer/layer.tar" | cut -d' ' -f1)
printf '{"architecture":"amd64","os":"linux","created":"1970-01-01T00:00:01Z","config":{"Env":["PATH=/usr/bin:/bin"]},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]},"history":[{"created":"1970-01-01T00:00:01Z"}]}' \
  "$sum" > "$work/image/config.json"
printf '[{"Config":"config.json","RepoTags":["lite-base:latest"],"Layers":["layer/layer.tar"]}]' > "$work/image/manifest.json"
mkdir -p "$(dirname "$target")"
tar --create --file "$target.part" --directory "$work/image" manifest.json config.json layer
mv "$target.part" "$target"
